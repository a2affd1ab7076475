"""The CPU backend: Numba loops over host memory, one module per kernel family.

The loops themselves are beside the choice among them, or in `kernels/cpu`.  A family determines how the work is
divided, which loop runs and which numbers it receives; `CpuSteps.run` (`family.py`) derives the rest.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from minigrad.backends.cpu.family import CpuBackend as CpuBackend

for _family in iter_modules(__path__, f"{__name__}."):
    import_module(_family.name)
