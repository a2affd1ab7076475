"""Backends run the loops: one interface, and one implementation per device.

`cudnn` and `mps` are PyTorch's switches, which scripts set at their beginning; they are imported at their first use.
"""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """Import one of the modules of switches."""
    if name in ("cudnn", "mps"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
