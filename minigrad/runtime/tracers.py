"""Values that carry a transform: forward mode, batching, tracing and others.

A `Tracer` looks like a Tensor to users and has no storage.  The fast paths accept plain tensors only, so a call with a
tracer takes the general path, and `dispatch.apply` hands it to the innermost `Transform` among the operands.  A
transform computes an op on its values, mostly by calling ops on the values inside them; plain calls pay nothing for it.

The transforms that run are on a stack, one for each thread.  An op reads the innermost transform from its operands.
The stack serves calls without operands, such as random numbers.  It also serves reverse mode, which is a transform only
inside other transforms.
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
    """transforms: those that run in this thread, the deepest last."""

    def __init__(self) -> None:
        self.transforms: list[Transform] = []


stack = _Stack()


@contextmanager
def among_transforms(transforms: list[Transform]) -> Iterator[None]:
    """Open a block in which these transforms run in this thread: those of a run that is repeated inside others."""
    before, stack.transforms = stack.transforms, list(transforms)
    try:
        yield
    finally:
        stack.transforms = before


class Transform(ABC):
    """One running transform, in a `with` block.

    depth: larger for transforms that were entered later; the deepest handles a call first.

    alive: False once the transform has ended; a value that outlives it raises where it is used.
    differentiates: whether its values carry a derivative with them.
    inside: the attribute of its values that has the inner value, None for a transform that does not show it.
    """

    inside: str | None = None
    differentiates = True

    def __init__(self, depth: int | None = None) -> None:
        # One count for all threads: a transform that a thread enters inside another one has a greater depth.
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
        """Run the op on operands of which at least one is a value of this transform, and return the result."""

    @abstractmethod
    def detached(self, x: Any) -> Tensor:
        """Return a value of this transform without history, and without the derivatives that the transform carries."""

    def derives(self, x: Any, recorded: bool) -> bool:
        """Return whether results computed from a value of this transform may be differentiated: see `derives`."""
        return True

    def elements(self, x: Any) -> Tensor | None:
        """Return a tensor with the elements of a value of this transform; None where they are many at once."""
        return None

    def drawn_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape to draw for a call `name` of random numbers with `shape` while this transform runs."""
        return shape

    def drawn(self, x: Tensor) -> Tensor:
        """Return random numbers of such a shape as a value of this transform."""
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
            f"{describe(self)} belongs to a transform and has no elements that can be read or written; compute new "
            f"tensors, for example with mg.where, instead of reading a number or writing in place"
        )

    def backward(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: it would leave gradients behind, which transforms do not."""
        raise GradientError(
            f"backward: {describe(self)} belongs to a transform, and transforms leave no .grad behind; compute the "
            f"derivative inside it with mg.func.grad or mg.func.vjp",
            op="backward",
        )

    def detach(self) -> Tensor:
        """Return the same values without history, as the transform defines it."""
        return self.transform.detached(self)


def derives(x: Tensor, recorded: bool = True) -> bool:
    """Return whether results computed from x may be differentiated; recorded: whether plain calls are recorded."""
    return x.transform.derives(x, recorded) if isinstance(x, Tracer) else recorded and x.requires_grad


def derivatives_on(x: Any) -> set[Transform]:
    """Return the transforms whose derivatives a value carries."""
    result: set[Transform] = set()
    while isinstance(x, Tracer) and x.transform.inside is not None:
        if x.transform.differentiates:
            result.add(x.transform)
        x = getattr(x, x.transform.inside)
    return result


def with_elements(x: Tensor) -> Tensor:
    """Return a tensor with the elements of x; x itself, whose storage raises, for a value that is many at once."""
    y = x
    while isinstance(y, Tracer):
        elements = y.transform.elements(y)
        if elements is None:
            return x
        y = elements
    return y


def transform_of(op: Op, operands: tuple[Tensor, ...]) -> Transform | None:
    """Return the deepest transform among the operands, or None.  Raises GradientError if a transform has ended."""
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
    """Call an op with a tracer among its operands, by the transform of the tracer."""
    if out is not None:
        raise no_way_out(op)
    if op.writes:
        raise GradientError(
            f"{op.label}: its kernel writes into {', '.join(op.writes)}, and a transform has no memory to write; call "
            f"it outside the transform", op=op.label,
        )  # fmt: skip
    return transform.call(op, operands, canonical(op, operands, params) if params else params)


def no_way_out(op: Op) -> GradientError:
    """Return the error for `out=` of a call with a value that carries a transform."""
    return GradientError(f"{op.label}: a value that carries a transform cannot be written into out=", op=op.label)
