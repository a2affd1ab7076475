"""Layers and losses as classes.  Each file contains one family; `mg.nn` exports all classes without an underscore."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from minigrad.declare.advice import defined_above
from minigrad.runtime.changes import changes as changes

FILES = (
    "module", "containers", "parameter_containers", "linear", "conv", "pooling", "rearranging", "batchnorm",
    "normalization", "dropout", "activation", "embedding", "loss", "adaptive", "cells", "recurrent", "attention",
    "transformer", "lazy", "data_parallel",
)  # fmt: skip
INSIDE = ("LazyModuleMixin",)  # in PyTorch, it is a name of its file only


def public() -> dict[str, Any]:
    """Return the layers of all files by name: the modules that a file defines, except those with an underscore."""
    parts = [import_module(f"{__name__}.{file}") for file in FILES]
    own = {name: x for part in parts for name, x in vars(part).items() if getattr(x, "__module__", "") == part.__name__}
    return {name: x for name, x in own.items() if isinstance(x, type) and issubclass(x, parts[0].Module)
            and name[0] != "_" and name not in INSIDE}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import the layer that computes in several processes, and thus is defined in `dist`, at its first use."""
    if name != "SyncBatchNorm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return defined_above("dist.sync_batchnorm", name)


_layers = public()
globals().update(_layers)
import_module(f"{__name__}.utils")  # an attribute of this package, as in PyTorch

# Files of PyTorch that have another name here.  Each of these modules contains every layer, so imports from it work.
for _name in (
    "container", "distance", "flatten", "fold", "instancenorm", "padding", "pixelshuffle", "rnn", "sparse",
    "upsampling",
):  # fmt: skip
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _file = ModuleType(f"{__name__}.{_name}", __doc__)
    _file.__dict__.update(_layers, __getattr__=__getattr__)
