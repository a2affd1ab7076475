"""Neural networks: modules such as `Linear`, and `functional`, the ops of layers under PyTorch's names.

The modules are imported when the first of them is used, so programs that use only functions do not wait for them.
"""

import importlib
from typing import Any

from minigrad.declare.advice import absent, defined_above
from minigrad.declare.manual import document_all
from minigrad.nn import functional as functional

PARTS = ("attention", "functional", "grad", "init", "modules", "parallel", "parameter", "utils")
LATER = dict.fromkeys(("Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"), "parameter")
ABOVE = {"SyncBatchNorm": "dist.sync_batchnorm", "summary": "diagnostics.summarizing"}


def __getattr__(name: str) -> Any:
    """Import a part of this package, or the modules, at the first use."""
    if name in PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in LATER:
        result = globals()[name] = getattr(importlib.import_module(f"{__name__}.{LATER[name]}"), name)
        document_all({name: result})
        return result
    if name in ABOVE:
        result = globals()[name] = defined_above(ABOVE[name], name)
        return result
    if name == "__all__":
        return sorted({*PARTS, *LATER, *ABOVE, *layers()})
    if not name.startswith("__") and name in layers():
        return globals()[name]
    raise absent(__name__, name)


def layers() -> dict[str, Any]:
    """Return the classes of `modules` by name, and add them to this module's names."""
    public: dict[str, Any] = importlib.import_module(f"{__name__}.modules").public()
    globals().update(public)
    document_all(public)
    return public


def __dir__() -> list[str]:
    """Return the public names."""
    return __getattr__("__all__")
