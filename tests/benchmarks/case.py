"""One row of the benchmark: what is computed, on which data, and how much memory or arithmetic that takes.

minigrad's names are PyTorch's, so one function serves both: it is given the library `m` and its tensors.  NumPy has a
function of its own where it has the operation at all.  The data is made when the row is reached, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Callable[[np.random.Generator], Sequence[NDArray[Any]]]
Run = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """group, name: where the row stands.  arrays: makes the operands.

    fn: the operation, `fn(m, *tensors)`.  numpy: the same on arrays, or None.
    tracks: how many of the first operands want a gradient; with any, the row runs forward and backward.
    build: for rows that are more than one call: build(m, *tensors) -> a function without arguments.
    nbytes, flops: memory that must be moved and arithmetic that must be done at the least.
    goal: the ratio torch / minigrad that the project asks of this row; on a GPU see `cases/device.py`.
    rtol: how far the results may be apart before the row is refused, relative to the largest value.
    cublas: on a GPU, whether cuBLAS multiplies or this package's kernels; None for a row that does not ask.
    host: on a GPU, timed by the host's clock until the call returns.  peak: its peak of memory is told.
    """

    group: str
    name: str
    arrays: Arrays
    fn: Callable[..., Any] | None = None
    numpy: Callable[..., Any] | None = None
    tracks: int = 0
    build: Callable[..., Run] | None = None
    nbytes: int = 0
    flops: int = 0
    goal: float | None = None
    rtol: float = 2e-5
    cublas: bool | None = None
    host: bool = False
    peak: bool = False

    @property
    def title(self) -> str:
        return f"{self.group}/{self.name}"


@dataclass
class Table:
    """Collects the rows of a module."""

    group: str
    cases: list[Case] = field(default_factory=list)

    def add(self, name: str, arrays: Arrays, fn: Callable[..., Any] | None = None, **more: Any) -> None:
        """One row."""
        self.cases.append(Case(self.group, name, arrays, fn, **more))

    def both(self, name: str, arrays: Arrays, fn: Callable[..., Any], *, tracks: int = 1, **more: Any) -> None:
        """A row for the forward pass and one for forward with backward (`goal2` is its goal)."""
        second = more.pop("goal2", None)
        self.add(name, arrays, fn, **more)
        self.add(f"{name}, backward", arrays, fn, tracks=tracks, goal=second, rtol=more.get("rtol", 2e-5))


def normal(*shapes: tuple[int, ...], dtype: str = "float32") -> Arrays:
    """Operands of normally distributed numbers."""
    return lambda rng: [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def uniform(low: float, high: float, *shapes: tuple[int, ...], dtype: str = "float32") -> Arrays:
    """Operands of evenly distributed numbers."""
    return lambda rng: [rng.uniform(low, high, shape).astype(dtype) for shape in shapes]
