"""Backends run the loops: one interface, and one implementation per device.

`cudnn` and the names of `switches` are PyTorch's switches, which scripts set at their beginning; they are
imported at their first use.
"""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """Import one of the modules of switches."""
    if name == "cudnn":
        return importlib.import_module(f"{__name__}.{name}")
    if name in ("cuda", "mkl", "mkldnn", "mps", "openmp"):
        return getattr(importlib.import_module(f"{__name__}.switches"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
