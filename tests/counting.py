"""A transform that records the ops that are called on its values, built only from the public interface."""

from __future__ import annotations

from typing import Any

from minigrad.core.op import Op
from minigrad.runtime.dispatch import apply
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer, Transform


class Counted(Tracer):
    """A tensor whose ops are recorded in a list."""

    __slots__ = ("inner",)

    def __init__(self, transform: Transform, inner: Tensor) -> None:
        super().__init__(transform, inner.layout, inner.dtype, inner.device)
        self.inner = inner


class Counting(Transform):
    """calls: (op, parameters, what went in, what came out), one after another."""

    def __init__(self, depth: int = 0) -> None:
        super().__init__(depth)
        self.calls: list[tuple[Op, dict[str, Any], tuple[Tensor, ...], tuple[Tensor, ...]]] = []

    @property
    def seen(self) -> list[str]:
        """Return the labels of the ops."""
        return [op.label for op, *_ in self.calls]

    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        given = tuple(x.inner if isinstance(x, Counted) and x.transform is self else x for x in operands)
        found = apply(op, given, params)
        results = (found,) if op.result is None else tuple(found)
        self.calls.append((op, params, given, results))
        counted = [Counted(self, y) for y in results]
        return counted[0] if op.result is None else op.result(*counted)

    def detached(self, x: Any) -> Tensor:
        return Counted(self, x.inner.detach())


def both(x: Tensor) -> tuple[Counting, Counted]:
    """Return a transform, and x inside it."""
    transform = Counting()
    return transform, Counted(transform, x)
