"""Batching as a level: a value that is many at once, each call on all of them by `batching.py`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from minigrad.autodiff.batching import batched
from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.errors import GradientError
from minigrad.runtime.graph import ids
from minigrad.runtime.levels import Level, Wrapped, derives
from minigrad.runtime.tensor import Tensor


@lru_cache(maxsize=4096)
def behind(layout: Layout) -> Layout:
    """The layout of one of a batch, which is the first dim."""
    return layout.select(0, 0) if layout.shape[0] else Layout.contiguous(layout.shape[1:])


class Batched(Wrapped):
    """One of a batch, to the eyes of the function.  value: all of them, outside of the level, batch dim first."""

    __slots__ = ("value",)

    def __init__(self, value: Tensor, level: BatchLevel) -> None:
        # Field by field, as many are made.
        self.id = next(ids)
        self.level, self.value = level, value
        self.layout, self.dtype, self.device = behind(value.layout), value.dtype, value.device
        self.op = None


class BatchLevel(Level):
    """`vmap` at work.  size: of the batch.  randomness: what random functions do, "error", "same" or "different"."""

    def __init__(self, size: int, randomness: str = "error") -> None:
        super().__init__()
        self.size, self.randomness = size, randomness

    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        inner: list[Tensor] = []
        flags: list[bool] = []
        ranks = set()
        for x in operands:
            mine = x.__class__ is Batched and x.level is self
            inner.append(x.value if mine else x)  # type: ignore[attr-defined]
            flags.append(mine)
            if mine or x.layout.shape:
                ranks.add(len(x.layout.shape))
        if op.kind == "elementwise" and len(ranks) == 1:
            # Of one rank, beside scalars that all share: as for one of them, and by the fast lane.
            return Batched(op.public(*inner), self)  # type: ignore[misc]
        found = batched(op, params, inner, flags)
        if op.result is None:
            return Batched(found, self)
        return op.result(*[Batched(y, self) for y in found])

    def whole(self, y: Any) -> Tensor | None:
        """All of a result, batch dim first; None for one that is the same for all."""
        return y.value if isinstance(y, Batched) and y.level is self else None

    def detached(self, x: Any) -> Tensor:
        return Batched(x.value.detach(), self)

    def derives(self, x: Any) -> bool:
        return derives(x.value)

    def drawn_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        if self.randomness == "error":
            raise GradientError(
                f"{name}: random numbers under vmap need to know whether each of the batch gets its own; pass "
                f'randomness="different" to vmap, or "same" for the same numbers in all',
                op=name,
            )
        return (self.size, *shape) if self.randomness == "different" else shape

    def drawn(self, x: Tensor) -> Tensor:
        return Batched(x, self) if self.randomness == "different" else x
