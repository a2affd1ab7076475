"""The CUDA backend: minigrad's own loop nests over a device's memory, one module per kernel family.

A family has its loops, as templates, beside the function that chooses among them; `kernels/cuda` has the loops of the
larger families.  `lowering/` composes requests that the backend does not implement.  `runtime.py` is the interface of a
device; `device.py` and `simulator.py` implement it, and `choose` returns one of them.  Only `device.py` uses cuda-
core, and only `compile.py` uses numba-cuda.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends import switches
from minigrad.backends.cuda import conv, elementwise, filling, indexing, joining, masks, pool, rows, scan, sorting
from minigrad.backends.cuda.family import CudaBackend as CudaBackend
from minigrad.backends.cuda.runtime import Runtime
from minigrad.config import settings


def __getattr__(name: str) -> Any:
    """Return one of PyTorch's switches: this package hides those of `minigrad.backends` once it is imported."""
    if hasattr(switches.cuda, name):
        return getattr(switches.cuda, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def choose() -> Runtime:
    """Return the runtime that `settings.cuda` names.  Raise DeviceError if a real device cannot be used."""
    if settings.cuda == "simulator":
        from minigrad.backends.cuda.simulator import Simulator

        return Simulator()
    from minigrad.backends.cuda.presence import require

    require()
    from minigrad.backends.cuda.device import CudaRuntime

    return CudaRuntime()
