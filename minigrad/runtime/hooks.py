"""Hooks of a node: functions that see the gradient of a result when it is complete, and may replace it.

They are kept with the node, by the number of the result, in the order in which they came.  `autodiff/hooks.py` runs
them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from minigrad.errors import ArgumentError

Hook = Callable[[Any], Any]
_numbers = itertools.count()


class HookHandle:
    """What a registration gives: `remove()` takes the hook away again."""

    __slots__ = ("_hooks", "_number")

    def __init__(self, hooks: dict[int, Hook], hook: Hook) -> None:
        self._hooks, self._number = hooks, next(_numbers)
        hooks[self._number] = hook

    def remove(self) -> None:
        """Take the hook away; once is enough, twice does no harm."""
        self._hooks.pop(self._number, None)


def add_hook(node: Any, k: int, hook: Hook) -> HookHandle:
    """Register a hook for the k-th result of a node.  Raises ArgumentError for what cannot be called."""
    if not callable(hook):
        raise ArgumentError(f"register_hook: a hook of {node!r} must be a function of the gradient, got {hook!r}")
    if node.hooks is None:
        node.hooks = {}
    return HookHandle(node.hooks.setdefault(k, {}), hook)
