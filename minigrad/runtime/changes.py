"""The count of changes that code which was specialised to a structure of modules must detect."""

from __future__ import annotations


class Changes:
    """count: how often an attribute, a hook or the mode of any module has changed, or a Var was frozen or thawed.

    A compiled step compares one number: as long as it is the same, no module has changed since.  Values that are
    written into parameters and buffers do not count.
    hooks: how often a hook of anything was registered or removed.
    """

    count = 0
    hooks = 0


changes = Changes()
