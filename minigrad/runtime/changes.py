"""Counts of changes that code must detect if it was specialised to a structure of modules."""

from __future__ import annotations


class Changes:
    """Count changes of modules and hooks in this process.

    count: how often an attribute, a hook or the mode of any module has changed, or `requires_grad` of a Var.  A
    compiled
    step compares this number: while it is the same, no module has changed.  Values that are written into parameters and
    buffers do not count.
    hooks: how often a hook of any object was registered or removed.
    """

    count = 0
    hooks = 0


changes = Changes()
