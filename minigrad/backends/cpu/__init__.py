"""The CPU backend: Numba loops over host memory, one module per kernel family.

The loops themselves are beside the choice among them, or in `kernels/cpu`.  A family determines how the work is divided,
which kernel runs and which scalar arguments it receives; the kernel and these arguments are bound to a launch.
"""

from __future__ import annotations

from minigrad.backends.cpu import (
    around,
    chained,
    conv,
    elementwise,
    factors,
    filling,
    groups,
    indexing,
    joining,
    many,
    masks,
    matmul,
    pairs,
    picks,
    pool,
    reduction,
    resampling,
    rotations,
    rows,
    sampling,
    scan,
    sorting,
)
from minigrad.backends.cpu.family import CpuBackend

__all__ = [
    "CpuBackend", "around", "chained", "conv", "elementwise", "factors", "filling", "groups", "indexing", "joining",
    "many", "masks", "matmul", "pairs", "picks", "pool", "reduction", "resampling", "rotations", "rows", "sampling",
    "scan", "sorting",
]  # fmt: skip
