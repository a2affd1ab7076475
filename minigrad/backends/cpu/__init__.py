"""The CPU backend: Numba loops over host memory, one module per kernel family.

The loops themselves are in `kernels/cpu`, one file per family as here.  A family determines how the work is divided,
which kernel runs and which scalar arguments it receives; the kernel and these arguments are bound to a launch.
"""

from __future__ import annotations

from minigrad.backends.cpu.around import Around
from minigrad.backends.cpu.chained import Chained
from minigrad.backends.cpu.conv import Conv
from minigrad.backends.cpu.elementwise import Elementwise
from minigrad.backends.cpu.factors import Factors
from minigrad.backends.cpu.filling import Filling
from minigrad.backends.cpu.groups import Groups
from minigrad.backends.cpu.indexing import Indexing
from minigrad.backends.cpu.joining import Joining
from minigrad.backends.cpu.many import ManyTensors
from minigrad.backends.cpu.masks import Masks
from minigrad.backends.cpu.matmul import Matmul
from minigrad.backends.cpu.pairs import Pairs
from minigrad.backends.cpu.picks import Picks
from minigrad.backends.cpu.pool import Pool
from minigrad.backends.cpu.reduction import Reduction
from minigrad.backends.cpu.resampling import Resampling
from minigrad.backends.cpu.rotations import Rotations
from minigrad.backends.cpu.rows import Rows
from minigrad.backends.cpu.sampling import Sampling
from minigrad.backends.cpu.scan import Scan
from minigrad.backends.cpu.sorting import Sorting


class CpuBackend(
    Around, Chained, Conv, Elementwise, Factors, Filling, Groups, Indexing, Joining, ManyTensors, Masks, Matmul, Pairs,
    Picks, Pool, Reduction, Resampling, Rotations, Rows, Sampling, Scan, Sorting,
):  # fmt: skip
    """The functions that `Backend` requires, on the threads of the host."""
