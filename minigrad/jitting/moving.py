"""Tensors of a recording: those that are moved to a twin, those that each call makes, and the ends of graphs."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeGuard

from minigrad.backends.registry import backend_of
from minigrad.core.device import Device
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.errors import MinigradError
from minigrad.jitting.program import Program
from minigrad.runtime.changes import rebind
from minigrad.runtime.dispatch import apply
from minigrad.runtime.recording import recording_on
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.var import Var


class Made(NamedTuple):
    """A tensor that each call makes, on the memory of a slot."""

    slot: int
    layout: Layout
    dtype: DType


class ViewOf(NamedTuple):
    """A result that is a view of an existing tensor with a graph: each call applies the views to that tensor again.

    source: an argument or an outside tensor.  steps: the views and their parameters, from the source to the result.
    """

    source: Tensor
    steps: list[tuple[Op, dict[str, Any]]]

    def of(self, x: Any) -> Any:
        """Return the view of a tensor."""
        for op, params in self.steps:
            x = apply(op, (x,), params)
        return x


class Pass(NamedTuple):
    """A recorded backward pass.

    which: the indices of the results that it starts from, among those with a graph.
    targets: the tensors whose gradients it computes.
    pulled: these gradients.
    error: the reason why the pass cannot run: the function overwrites a value that it needs.
    """

    which: tuple[int, ...]
    items: list[Any]
    targets: list[Tensor]
    pulled: list[Made]
    error: MinigradError | None = None


class Moved:
    """A tensor that is on a twin during a recording, and its earlier state.

    grad: the earlier gradient of a Var, or of a frozen Var.
    now: the gradient that replaces it during the recording.
    """

    __slots__ = ("base", "grad", "layout", "now", "op", "storage", "x")

    def __init__(self, x: Tensor) -> None:
        self.x, self.storage, self.layout, self.op, self.base = x, x.storage, x.layout, x.op, x.base
        self.grad: Tensor | None = x._grad if stores_gradient(x) else None
        self.now: Tensor | None = None

    def back(self) -> None:
        """Restore the earlier state of the tensor."""
        x: Any = self.x
        rebind(x, self.storage, self.layout)
        x.op, x.base = self.op, self.base
        if stores_gradient(x):
            x._grad = self.grad


def stores_gradient(x: Any) -> TypeGuard[Var]:
    """Return whether a tensor is a Var, or was one before `requires_grad_(False)`: optimizers read its `.grad`."""
    return hasattr(x, "_grad")


def fixed_offset(layout: Layout, dtype: DType, device: Device) -> int:
    """Return the part of the offset of an argument, in elements, on which its program depends.

    The part is the distance from the lowest element of the tensor to its first element, which is not 0 for negative
    strides.  On a device that reads several elements together, the part also includes the distance from the last
    aligned element to the lowest element.
    """
    lowest, _ = layout.span()
    return layout.offset - lowest + lowest % max(1, backend_of(device).alignment // dtype.itemsize)


def stand_in(leaf: Var, program: Program) -> Any:
    """Return the op of a tensor with a graph while it is recorded: that of a copy that no call makes."""
    count = len(program.items)
    with recording_on():
        op = leaf.clone().op
    del program.items[count:]
    return op


def ends_of(x: Tensor, moved: dict[int, Moved]) -> list[Tensor]:
    """Return the leaves of the graph that a tensor had before the recording."""
    from minigrad.autodiff.engine import reachable

    op = moved[id(x)].op
    return [] if op is None else reachable([op])[1]


def contents_of(container: Any) -> list[Any]:
    """Return the objects in a list or dict."""
    return [*container, *container.values()] if isinstance(container, dict) else list(container)


def containers_of(value: Any) -> list[tuple[Any, list[Any]]]:
    """Return the lists and dicts in nested arguments, each with its contents."""
    if not isinstance(value, (tuple, list, dict)):
        return []
    parts = value.values() if isinstance(value, dict) else value
    inner = [pair for part in parts for pair in containers_of(part)]
    return inner if isinstance(value, tuple) else [(value, contents_of(value)), *inner]


def walkable(x: Tensor) -> bool:
    """Return whether a backward pass from a tensor could still run: its graph has its saved values."""
    from minigrad.autodiff.checks import node_of
    from minigrad.autodiff.engine import reachable

    return all(node.saved is not None for node in reachable([node_of(x)])[0])
