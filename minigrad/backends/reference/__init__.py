"""The executable specification: four loops in plain Python, from which `lowering/` composes every other request.

Elements are collected in the order of the layout, computed one at a time by the declaration's own scalar function, and
written back in the same order; conversions are those of `core.dtype.cast_array`.  Nothing is compiled, merged or
reordered, so the results of this backend define an op.  `tests/backends` compares every other backend with it: their
kernels and these loops with the lowerings are two independent implementations.  It is a separate device, `reference`,
which uses host memory.
"""

from __future__ import annotations

from minigrad.backends.reference import indexing, loops
from minigrad.backends.reference.loops import ReferenceBackend as ReferenceBackend
