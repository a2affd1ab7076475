"""Counts of changes that code must detect if it was specialised to modules or tensors."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
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
    states: how often an entry of a `CountedDict`, such as the state of an optimizer, was set or deleted.
    """

    count = 0
    hooks = 0
    memory = 0
    states = 0


changes = Changes()


def rebind(x: Any, storage: Storage, layout: Layout) -> None:
    """Make a tensor show another storage or another layout, while it stays the same object.

    `resize_`, views in place, the conversions of modules and the recorder of `mg.jit` do this.
    """
    x.storage, x.layout, x.dtype, x.device = storage, layout, storage.dtype, storage.device
    # The count rises after the change, so a thread that reads the new count also sees the new memory.
    changes.memory += 1


def move(x: Any, storage: Storage, layout: Layout) -> None:
    """Make a tensor show another storage, as a write: a graph that saved the tensor detects it."""
    version, tracked = x.storage.version + 1, x.is_variable
    rebind(x, storage, layout)
    x.base = None
    storage.version = max(storage.version, version)
    storage.tracked = storage.tracked or tracked


def counted(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of a dict that counts a change, even if it raises an error."""

    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        finally:
            changes.states += 1

    return run


class CountedDict(defaultdict[Any, Any]):
    """A dict that counts its changes in `changes.states`; without a `default_factory` it is like a plain dict."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(dict(self))


for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(CountedDict, _name, counted(getattr(defaultdict, _name)))
