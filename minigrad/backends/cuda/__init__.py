"""The CUDA backend: minigrad's own loop nests over a device's memory, one module per kernel family.

The loops themselves are in `kernels/cuda`, one file per family as here and as for the CPU.  `lowering/` composes
requests that the backend does not implement.  `runtime.py` is the interface of a device; `device.py` and `simulator.py`
implement it.  Only `device.py` uses cuda-core, and only `compile.py` uses numba-cuda.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.backends.cuda import graphs
from minigrad.backends.cuda.conv import Conv
from minigrad.backends.cuda.elementwise import Elementwise
from minigrad.backends.cuda.filling import Filling
from minigrad.backends.cuda.indexing import Indexing
from minigrad.backends.cuda.joining import Joining
from minigrad.backends.cuda.masks import Masks
from minigrad.backends.cuda.pool import Pool
from minigrad.backends.cuda.reduction import Reduction
from minigrad.backends.cuda.rows import Rows
from minigrad.backends.cuda.scan import Scan
from minigrad.backends.cuda.sorting import Sorting
from minigrad.backends.listing import Call
from minigrad.config import settings


class CudaBackend(Conv, Elementwise, Filling, Indexing, Joining, Masks, Pool, Reduction, Rows, Scan, Sorting):
    """The functions that `Backend` requires, on a CUDA device or in the simulator."""

    def listed(self, calls: Sequence[Call]) -> Callable[[Sequence[Any]], None]:
        if settings.cuda_graphs and self.runtime.has_graphs:
            return graphs.listed(self.runtime, calls, self.part)
        return super().listed(calls)
