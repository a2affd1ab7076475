"""Layers and losses as classes.  Each file contains one family; its `__all__` lists the names that `mg.nn` exports."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from minigrad.runtime.changes import changes as changes

FILES = (
    "module", "containers", "parameter_containers", "linear", "conv", "pooling", "padding", "rearranging", "upsampling",
    "batchnorm", "sync_batchnorm", "normalization", "dropout", "activation", "embedding", "distance", "loss",
    "adaptive", "cells", "recurrent", "attention", "transformer", "lazy", "data_parallel",
)  # fmt: skip


def public() -> dict[str, Any]:
    """Return the public classes of all files by name."""
    parts = [import_module(f"{__name__}.{file}") for file in FILES]
    return {name: getattr(part, name) for part in parts for name in part.__all__}


globals().update(public())
import_module(f"{__name__}.utils")  # an attribute of this package, as in PyTorch

# Files of PyTorch that have another name here.  Each of these modules contains every layer, so imports from it work.
for _name in ("container", "flatten", "fold", "instancenorm", "pixelshuffle", "rnn", "sparse"):
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _file = ModuleType(f"{__name__}.{_name}", __doc__)
    _file.__dict__.update(public())
