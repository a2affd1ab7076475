"""Counts of changes that code must detect if it was specialised to modules or tensors."""

from __future__ import annotations

from typing import Any

from minigrad.core.layout import Layout
from minigrad.core.storage import Storage


class Changes:
    """Count changes of modules and hooks in this process.

    count: how often an attribute, a hook or the mode of any module has changed, or `requires_grad` of a Var.  A
    compiled step compares this number: while it is the same, no module has changed.  Values that are written into
    parameters and buffers do not count.
    hooks: how often a hook of any object was registered or removed.
    memory: how often the storage or the layout of an existing tensor was replaced, by `rebind`.
    """

    count = 0
    hooks = 0
    memory = 0


changes = Changes()


def rebind(x: Any, storage: Storage, layout: Layout) -> None:
    """Make a tensor show another storage or another layout, while it stays the same object.

    `resize_`, views in place, the conversions of modules and the recorder of `mg.jit` do this.
    """
    x.storage, x.layout, x.dtype, x.device = storage, layout, storage.dtype, storage.device
    # The count rises after the change, so a thread that reads the new count also sees the new memory.
    changes.memory += 1
