"""The CPU backend: Numba loops over host memory, one module per kernel family.

The loops themselves are beside the choice among them, or in `kernels/cpu`.  A family determines how the work is
divided, which loop runs and which numbers it receives; `CpuSteps.run` (`family.py`) derives the rest.
"""

from __future__ import annotations

from minigrad.backends.cpu import (
    chained,
    conv,
    elementwise,
    factors,
    filling,
    groups,
    indexing,
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
    selecting,
    sorting,
)
from minigrad.backends.cpu.family import CpuBackend as CpuBackend
