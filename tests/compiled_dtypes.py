"""The dtypes in which tests compile kernels of each family.

uint16 and uint64 are read, computed and stored by the texts of the other unsigned integers.  They run everywhere on the
reference device; `tests/ops/test_unsigned.py` compiles the kernels whose text depends on a sign.
`tests/ops/test_complex.py` compiles those of complex dtypes.
"""

from __future__ import annotations

from minigrad.core import dtype as engine

ALL = tuple(dtype for dtype in engine.ALL if dtype not in (engine.uint16, engine.uint64, *engine.COMPLEXES))
INTS = tuple(dtype for dtype in ALL if dtype.is_int)
