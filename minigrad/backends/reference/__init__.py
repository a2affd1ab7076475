"""The executable specification: every loop of the backend interface in plain Python.

Elements are collected in the order of the layout, computed one at a time by the declaration's own scalar function, and
written back in the same order; conversions are those of `core.dtype.cast_array`.  Nothing is compiled, merged or
reordered, so the results of this backend define an op.  `tests/backends` compares every other backend with it.  It is a
separate device, `reference`, which uses host memory.
"""

from __future__ import annotations

from minigrad.backends.reference.conv import Conv
from minigrad.backends.reference.factors import Factors
from minigrad.backends.reference.filling import Filling
from minigrad.backends.reference.indexing import Indexing
from minigrad.backends.reference.loops import Loops
from minigrad.backends.reference.masks import Masks
from minigrad.backends.reference.pool import Pool
from minigrad.backends.reference.products import Products
from minigrad.backends.reference.reduction import Reductions
from minigrad.backends.reference.rotations import Rotations
from minigrad.backends.reference.rows import Rows
from minigrad.backends.reference.scan import Scan
from minigrad.backends.reference.sorting import Sorting
from minigrad.backends.reference.tuples import Tuples


class ReferenceBackend(
    Loops, Conv, Factors, Reductions, Indexing, Filling, Masks, Pool, Products, Rotations, Rows, Scan, Sorting, Tuples
):
    """The functions that `Backend` requires, one element at a time."""
