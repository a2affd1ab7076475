"""Replace the memory or the layout of a tensor that exists already.

Few functions do this: `resize_`, views in place, the conversions of modules, and the recorder of `mg.jit`.  Each of
them calls `rebind`, which counts its calls.  A plan that refers to many tensors compares this count, and compares the
storages and layouts of all its tensors only if the count has changed.
"""

from __future__ import annotations

from typing import Any

from minigrad.core.layout import Layout
from minigrad.core.storage import Storage

count = 0  # number of calls of `rebind` in this process


def rebind(x: Any, storage: Storage, layout: Layout) -> None:
    """Make a tensor show another storage or another layout; the object stays the same."""
    global count
    x.storage, x.layout, x.dtype, x.device = storage, layout, storage.dtype, storage.device
    # The count rises after the change.  So a thread that reads the new count also sees the new memory.
    count += 1
