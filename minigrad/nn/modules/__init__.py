"""Layers and losses as classes.  Each file contains one family; its `__all__` lists the names that `mg.nn` exports."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from minigrad.declare.advice import defined_above
from minigrad.runtime.changes import changes as changes

FILES = (
    "module", "containers", "parameter_containers", "linear", "conv", "pooling", "padding", "rearranging", "upsampling",
    "batchnorm", "normalization", "dropout", "activation", "embedding", "distance", "loss",
    "adaptive", "cells", "recurrent", "attention", "transformer", "lazy", "data_parallel",
)  # fmt: skip


def public() -> dict[str, Any]:
    """Return the public classes of all files by name."""
    parts = [import_module(f"{__name__}.{file}") for file in FILES]
    return {name: getattr(part, name) for part in parts for name in part.__all__}


def __getattr__(name: str) -> Any:
    """Import the layer that computes in several processes, and thus is defined in `dist`, at its first use."""
    if name != "SyncBatchNorm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return defined_above("dist.sync_batchnorm", name)


globals().update(public())
import_module(f"{__name__}.utils")  # an attribute of this package, as in PyTorch

# Files of PyTorch that have another name here.  Each of these modules contains every layer, so imports from it work.
for _name in ("container", "flatten", "fold", "instancenorm", "pixelshuffle", "rnn", "sparse"):
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _file = ModuleType(f"{__name__}.{_name}", __doc__)
    _file.__dict__.update(public(), __getattr__=__getattr__)
