"""Values that carry a transform: forward mode, batching, tracing and more.

A `Tracer` looks like a Tensor to users and has no storage.  The fast paths accept plain tensors only, so a call with a
tracer takes the general path, and `dispatch.apply` passes it to the innermost `Transform` among the operands.  A
transform computes an op on its values, mostly by calling ops on the values inside them.  Calls without tracers have no
additional cost.

The running transforms are on a stack, one stack per thread.  An op reads the innermost transform from its operands.
The stack is needed for calls without operands, such as random numbers, and for reverse mode, which is a transform only
inside other transforms.
"""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from minigrad.backends.registry import backend_of
from minigrad.config import assigned
from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.errors import GradientError
from minigrad.runtime.graph import ids
from minigrad.runtime.operands import canonical
from minigrad.runtime.tensor import Tensor, describe

Self = TypeVar("Self", bound="Transform")
_depths = itertools.count(1)


class _Stack(threading.local):
    """transforms: the transforms that run in this thread, the deepest last."""

    def __init__(self) -> None:
        self.transforms: list[Transform] = []


stack = _Stack()


def readable(x: Tensor) -> bool:
    """Return whether values can be read: not while a transform runs, or `mg.jit` records.

    The backend that records has another one, which is `real`.
    """
    return not stack.transforms and not hasattr(backend_of(x.device), "real")


def among_transforms(transforms: list[Transform]) -> AbstractContextManager[None]:
    """Open a block in which exactly these transforms run in this thread, to repeat a run inside them."""
    return assigned(stack, "transforms", list(transforms))


class Transform(ABC):
    """Define the base class of the transforms; an object is one running transform, in a `with` block.

    depth: larger for a transform that was entered later; the deepest transform handles a call first.
    alive: False after the transform has ended; the use of one of its values then raises an error.
    differentiates: whether the values of the transform carry a derivative.
    inside: the name of the attribute in which the values of the transform store the inner value, or None.
    """

    inside: str | None = None
    differentiates = True
    writable = False  # whether its values can be written

    def __init__(self, depth: int | None = None) -> None:
        # There is one count for all threads: a transform that a thread enters inside another transform has a greater
        # depth.
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
        """Return whether results computed from a value of this transform may be differentiated."""
        return True

    def elements(self, x: Any) -> Tensor | None:
        """Return a tensor with the elements of a value of this transform, or None if the value is a batch of values."""
        return None

    def collected(self, draw: Any) -> Tensor | None:
        """Return a placeholder for random numbers if this object collects the calls of a function; otherwise None.

        draw: the recipe of the numbers.
        """
        return None

    def constant(self, x: Tensor) -> Tensor:
        """Return new memory as a value of this transform, so that the function may write its values there."""
        return x

    def shows(self, x: Any, y: Tensor) -> bool:
        """Return whether a write into y, a view of x, is a write into x."""
        return x.base is None or x.base.__class__ is ViewOf

    def drawn_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape to draw for a call `name` of random numbers with `shape` while this transform runs."""
        return shape

    def drawn(self, x: Tensor) -> Tensor:
        """Return random numbers of the shape `drawn_shape` as a value of this transform."""
        return x


class ViewOf(NamedTuple):
    """The `base` of a view inside a transform: the value of this transform that it shows, and the op of the view.

    A write into the view is a write into a part of `source`.
    """

    source: Tensor
    op: Op
    params: dict[str, Any]

    def layout(self) -> Layout:
        """Return the layout of the view, if `source` were contiguous."""
        return self.op.prepare(Layout.contiguous(self.source.shape), **self.params)  # type: ignore[misc]


class Carrier(Tensor):
    """A tensor whose calls its `transform` runs."""

    __slots__ = ("transform",)
    transform: Transform


class Tracer(Carrier):
    """A value of a transform.  An op sees its layout, dtype and device; there is no memory behind it."""

    __slots__ = ()

    def __init__(self, transform: Transform, layout: Any, dtype: Any, device: Any) -> None:
        self.id = next(ids)
        self.transform, self.layout, self.dtype, self.device = transform, layout, dtype, device
        self.op = self.base = None

    @property
    def storage(self) -> Any:  # type: ignore[override]
        raise GradientError(
            f"{describe(self)} belongs to a transform and has no elements that can be read or written; use mg.where "
            "instead of reading a number, and new tensors instead of writing in place"
        )

    def backward(self, *args: Any, **kwargs: Any) -> Any:
        """Raise GradientError: `backward` would store `.grad`, and transforms do not."""
        raise GradientError(
            f"backward: backward() cannot be called inside a transform, got {describe(self)}, because a transform "
            "leaves no .grad; use mg.func.grad or mg.func.vjp inside the transform"
        )

    def detach(self) -> Tensor:
        """Return the same values without history, as the transform defines this."""
        return self.transform.detached(self)


def derives(x: Tensor, recorded: bool = True) -> bool:
    """Return whether results computed from x may be differentiated; `recorded` is whether plain calls are recorded."""
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
    """Return a tensor with the elements of x.

    If x is a batch of values, the result is x itself, whose storage raises an error.
    """
    y = x
    while isinstance(y, Tracer):
        elements = y.transform.elements(y)
        if elements is None:
            return x
        y = elements
    return y


def constant_like(x: Tensor, y: Tensor) -> Tensor:
    """Return y, which was made for a function with the argument x, as a value of the transforms of x.

    Values of these transforms can then be written into y.
    """
    transforms: list[Transform] = []
    if isinstance(x, Tracer) and not isinstance(y, Tracer) and not y.requires_grad:
        while isinstance(x, Tracer) and x.transform.inside is not None:
            transforms.append(x.transform)
            x = getattr(x, x.transform.inside)
    for transform in reversed(transforms):
        y = transform.constant(y)
    return y


def transform_of(op: Op, operands: tuple[Tensor, ...]) -> Transform | None:
    """Return the deepest transform among the operands, or None.  Raise GradientError if a transform has ended."""
    result: Transform | None = None
    for x in operands:
        if isinstance(x, Carrier):
            transform = x.transform
            if transform is result:
                continue
            if not transform.alive:
                raise GradientError(
                    f"{op.label}: {describe(x)} belongs to a transform that has ended; return the tensor from the "
                    "transformed function instead of storing it elsewhere"
                )
            if result is None or transform.depth > result.depth:
                result = transform
    return result


def through(
    transform: Transform, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any], out: Tensor | None
) -> Any:
    """Call an op with a tracer among its operands, by the transform of that tracer."""
    if out is not None:
        raise no_way_out(op)
    if op.writes:
        raise GradientError(
            f"{op.label}: this op writes into {', '.join(op.writes)}, which has no memory inside a transform; call "
            f"{op.label} outside the transform"
        )
    return called_by(transform, op, operands, canonical(op, operands, params) if params else params)


def called_by(transform: Transform, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
    """Return the result of `transform.call`; the result of a view has the value that it shows as its `base`."""
    result = transform.call(op, operands, params)
    if op.kind == "view" and transform.writable and isinstance(result, Carrier) and result.transform is transform:
        x: Any = operands[0]
        if result.dtype is x.dtype and transform.shows(x, result):
            result.base = ViewOf(x, op, params)
    return result


def no_way_out(op: Op) -> GradientError:
    """Return the error for `out=` of a call with a value that carries a transform."""
    return GradientError(f"{op.label}: a value that carries a transform cannot be written into out=; omit out")
