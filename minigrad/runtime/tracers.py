"""Values that carry a transform: forward mode, batching, tracing and others.

A `Tracer` looks like a Tensor to users and has no storage.  The fast paths accept plain tensors only, so a call with a
tracer takes the general path, and `dispatch.apply` hands it to the innermost `Transform` among the operands.  A
transform computes an op on its values, mostly by calling ops on the values inside them; plain calls pay nothing for it.

The transforms that run are on a stack, one for each thread.  An op asks only its operands which transform is innermost;
the stack serves calls without operands, such as random numbers, and reverse mode, which is a transform only among
others.
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

Self = TypeVar("Self", bound="Transform")
_depths = itertools.count(1)


class _Stack(threading.local):
    """transforms: those of this thread that are at work, the deepest last."""

    def __init__(self) -> None:
        self.transforms: list[Transform] = []


stack = _Stack()


@contextmanager
def among_transforms(transforms: list[Transform]) -> Iterator[None]:
    """A block in which these transforms are at work in this thread: those of a run that is repeated among others."""
    before, stack.transforms = stack.transforms, list(transforms)
    try:
        yield
    finally:
        stack.transforms = before


class Transform(ABC):
    """One transform at work, in a `with` block.

    depth: that of transforms that were entered later is larger; the deepest is asked first.

    alive: False once the transform has ended; a value that outlives it raises where it is used.
    differentiates: whether its values carry a derivative with them.
    inside: the attribute of its values in which they have what they wrap, None for a transform that does not show it.
    """

    inside: str | None = None
    differentiates = True

    def __init__(self, depth: int | None = None) -> None:
        # One count for all threads: what a thread computes inside of another's transform lies deeper than that.
        self.depth = next(_depths) if depth is None else depth
        self.alive = True

    def __enter__(self: Self) -> Self:
        stack.transforms.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stack.transforms.remove(self)
        self.alive = False

    @abstractmethod
    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        """What the op gives for operands of which one at least is this transform's."""

    @abstractmethod
    def detached(self, x: Any) -> Tensor:
        """A value of this transform without history, and without the derivatives that the transform carries with it."""

    def derives(self, x: Any, recorded: bool) -> bool:
        """Whether a derivative may be asked of what is computed from a value of this transform: see `derives`."""
        return True

    def elements(self, x: Any) -> Tensor | None:
        """Return a tensor with the elements of a value of this transform; None where they are many at once."""
        return None

    def drawn_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of random numbers that the call `name` asks for as `shape` while this transform runs."""
        return shape

    def drawn(self, x: Tensor) -> Tensor:
        """Random numbers of such a shape as a value of this transform."""
        return x


class Tracer(Tensor):
    """A value of a transform.  layout, dtype and device are those that an op sees; there is no memory behind them."""

    __slots__ = ("transform",)

    def __init__(self, transform: Transform, layout: Any, dtype: Any, device: Any) -> None:
        self.id = next(ids)
        self.transform, self.layout, self.dtype, self.device = transform, layout, dtype, device
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
        """The same values without history: what that is, the transform says."""
        return self.transform.detached(self)


def derives(x: Tensor, recorded: bool = True) -> bool:
    """Whether a derivative may be asked of what is computed from x; recorded: whether calls on plain tensors are."""
    return x.transform.derives(x, recorded) if isinstance(x, Tracer) else recorded and x.requires_grad


def derivatives_on(x: Any) -> set[Transform]:
    """The transforms whose derivatives a value carries."""
    result: set[Transform] = set()
    while isinstance(x, Tracer) and x.transform.inside is not None:
        if x.transform.differentiates:
            result.add(x.transform)
        x = getattr(x, x.transform.inside)
    return result


def with_elements(x: Tensor) -> Tensor:
    """A tensor with the elements that x stands for; x itself, whose storage raises, where there are many at once."""
    y = x
    while isinstance(y, Tracer):
        elements = y.transform.elements(y)
        if elements is None:
            return x
        y = elements
    return y


def transform_of(op: Op, operands: tuple[Tensor, ...]) -> Transform | None:
    """The deepest transform among the operands, or None.  Raises GradientError for a value of one that has ended."""
    result: Transform | None = None
    for x in operands:
        if isinstance(x, Tracer):
            transform = x.transform
            if transform is result:
                continue
            if not transform.alive:
                raise GradientError(
                    f"{op.label}: {describe(x)} belongs to a transform that has ended; return it from the function "
                    f"that is transformed instead of keeping it",
                    op=op.label,
                )
            if result is None or transform.depth > result.depth:
                result = transform
    return result


def through(
    transform: Transform, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any], out: Tensor | None
) -> Any:
    """Call an op with a tracer among its operands, by the transform of that."""
    if out is not None:
        raise no_way_out(op)
    if op.writes:
        raise GradientError(
            f"{op.label}: its kernel writes into {', '.join(op.writes)}, and a transform has no memory to write; call "
            f"it outside of the transform", op=op.label,
        )  # fmt: skip
    return transform.call(op, operands, canonical(op, operands, params) if params else params)


def no_way_out(op: Op) -> GradientError:
    """The error for `out=` of a call with a value that carries a transform."""
    return GradientError(f"{op.label}: a value that carries a transform cannot be written into out=", op=op.label)
