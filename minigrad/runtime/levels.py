"""Values that carry a transform: the door in the road for forward mode, batching, tracing and whatever comes.

A `Wrapped` is a Tensor to a user's eyes and has no storage.  The fast paths know plain tensors only, so a call with one
takes the long road, and `dispatch.apply` hands it to the innermost `Level` among the operands.  A level says what an op
means for its values, mostly by calling ops on what they wrap; plain calls pay nothing for it.

Levels stand on a stack, one for each thread, while their function runs.  An op asks its operands alone which level is
to be asked; the stack is for what has no operands, such as random numbers, and for reverse mode, which is a level only
where there are others.
"""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from minigrad.core.op import Op
from minigrad.errors import GradientError
from minigrad.runtime.graph import ids
from minigrad.runtime.operands import canonical
from minigrad.runtime.tensor import Tensor, describe

Self = TypeVar("Self", bound="Level")
_depths = itertools.count(1)


class _Stack(threading.local):
    """levels: those of this thread that are at work, the deepest last."""

    def __init__(self) -> None:
        self.levels: list[Level] = []


stack = _Stack()


@contextmanager
def among_levels(levels: list[Level]) -> Iterator[None]:
    """A block in which these levels are at work in this thread: those of a run that is repeated among others."""
    before, stack.levels = stack.levels, list(levels)
    try:
        yield
    finally:
        stack.levels = before


class Level(ABC):
    """One transform at work, in a `with` block.  depth: levels that were entered later lie deeper; the deepest is asked
    first.

    alive: False once the transform has ended; a value that outlives it raises where it is used.
    differentiates: whether its values carry a derivative with them.
    inside: the attribute of its values in which they have what they wrap, None for a level that does not show it.
    """

    inside: str | None = None
    differentiates = True

    def __init__(self, depth: int | None = None) -> None:
        # One count for all threads: what a thread computes inside of another's transform lies deeper than that.
        self.depth = next(_depths) if depth is None else depth
        self.alive = True

    def __enter__(self: Self) -> Self:
        stack.levels.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stack.levels.remove(self)
        self.alive = False

    @abstractmethod
    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        """What the op gives for operands of which one at least is this level's."""

    @abstractmethod
    def detached(self, x: Any) -> Tensor:
        """A value of this level without history, and without the derivatives that the level carries with it."""

    def derives(self, x: Any, recorded: bool) -> bool:
        """Whether a derivative may be asked of what is computed from a value of this level: see `derives`."""
        return True

    def elements(self, x: Any) -> Tensor | None:
        """What has the elements of a value of this level, for Python to look at; None where they are many at once."""
        return None

    def drawn_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of random numbers that are asked for as `shape` while this level lasts; `name`: by which call."""
        return shape

    def drawn(self, x: Tensor) -> Tensor:
        """Random numbers of such a shape as a value of this level."""
        return x


class Wrapped(Tensor):
    """A value of a level.  layout, dtype and device are those that an op sees; there is no memory behind them."""

    __slots__ = ("level",)

    def __init__(self, level: Level, layout: Any, dtype: Any, device: Any) -> None:
        self.id = next(ids)
        self.level, self.layout, self.dtype, self.device = level, layout, dtype, device
        self.op = self.base = None

    @property
    def storage(self) -> Any:  # type: ignore[override]
        raise GradientError(
            f"{describe(self)} belongs to a transform and has no elements that could be looked at or written while it "
            f"lasts; compute new tensors, as with mg.where, instead of asking for a number or writing into one"
        )

    def backward(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: it would leave gradients behind, which transforms do not."""
        raise GradientError(
            f"backward: {describe(self)} belongs to a transform, and transforms leave no .grad behind; ask for a "
            f"derivative inside of it with mg.func.grad or mg.func.vjp",
            op="backward",
        )

    def detach(self) -> Tensor:
        """The same values without history: what that is, the level says."""
        return self.level.detached(self)


def derives(x: Tensor, recorded: bool = True) -> bool:
    """Whether a derivative may be asked of what is computed from x; recorded: whether calls on plain tensors are."""
    return x.level.derives(x, recorded) if isinstance(x, Wrapped) else recorded and x.requires_grad


def derivatives_on(x: Any) -> set[Level]:
    """The levels whose derivatives a value carries."""
    found: set[Level] = set()
    while isinstance(x, Wrapped) and x.level.inside is not None:
        if x.level.differentiates:
            found.add(x.level)
        x = getattr(x, x.level.inside)
    return found


def with_elements(x: Tensor) -> Tensor:
    """A tensor with the elements that x stands for; x itself, whose storage raises, where there are many at once."""
    y = x
    while isinstance(y, Wrapped):
        found = y.level.elements(y)
        if found is None:
            return x
        y = found
    return y


def level_of(op: Op, operands: tuple[Tensor, ...]) -> Level | None:
    """The deepest level among the operands, or None.  Raises GradientError for a value of one that has ended."""
    found: Level | None = None
    for x in operands:
        if isinstance(x, Wrapped):
            level = x.level
            if level is found:
                continue
            if not level.alive:
                raise GradientError(
                    f"{op.label}: {describe(x)} belongs to a transform that has ended; return it from the function "
                    f"that is transformed instead of keeping it",
                    op=op.label,
                )
            if found is None or level.depth > found.depth:
                found = level
    return found


def through(level: Level, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any], out: Tensor | None) -> Any:
    """A call with a value that carries a transform, whose level says what the op gives."""
    if out is not None:
        raise no_way_out(op)
    return level.call(op, operands, canonical(op, operands, params) if params else params)


def no_way_out(op: Op) -> GradientError:
    """The error for `out=` of a call with a value that carries a transform."""
    return GradientError(f"{op.label}: a value that carries a transform cannot be written into out=", op=op.label)
