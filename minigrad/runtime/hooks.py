"""Storage of hooks: functions that receive a complete gradient and may replace it.

A hook of a tensor is registered with the node and result index that the tensor has at that time, or with the leaf.  A
node has hooks of its own, which run before and after its rules.  `retain_grad` belongs to the tensor itself.
`autodiff/hooks.py` runs all hooks.  For a graph without hooks, the only cost is reading one flag.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any, Self

from minigrad.errors import ArgumentError
from minigrad.runtime.changes import changes
from minigrad.runtime.recording import mode, pause_casts, resume_casts

Hook = Callable[..., Any]
BEFORE, AFTER = "before", "after"
_numbers = itertools.count()
LAST = 1 << 60  # added to the numbers of hooks that run after all others of a leaf


class Walks:
    """State of all backward passes. hooked: whether a node has had hooks of its own."""

    hooked = False


class Passes(threading.local):
    """ends: functions to call at the end of the running backward pass of this thread; the argument is whether the pass
    has succeeded."""

    def __init__(self) -> None:
        self.ends: list[Callable[[bool], None]] = []


walks, passes = Walks(), Passes()


class BackwardPass:
    """Open the block of a backward pass: ops are recorded only with `create`, and no op is cast.

    At its end, the functions that `passes.ends` has received inside are called.
    """

    __slots__ = ("before", "casts", "create", "ends")

    def __init__(self, create: bool) -> None:
        self.create = create

    def __enter__(self) -> None:
        self.before, mode.enabled, self.casts = mode.enabled, self.create, pause_casts()
        self.ends = len(passes.ends)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        mode.enabled = self.before
        resume_casts(self.casts)
        while len(passes.ends) > self.ends:
            passes.ends.pop()(kind is None)


# Three tables by the id of a living tensor: hooks of leaves, hooks after accumulation, and retained gradients.
leaf_hooks: dict[int, dict[int, Hook]] = {}
late_hooks: dict[int, dict[int, Hook]] = {}
retained: dict[int, Retained] = {}


class HookHandle:
    """The handle of a registered hook: `remove()` or the end of a `with` block removes the hook."""

    __slots__ = ("_hooks", "_number")

    def __init__(self, hooks: dict[int, Hook], hook: Hook, last: bool = False, prepend: bool = False) -> None:
        self._hooks, self._number = hooks, next(_numbers) + LAST * last
        hooks[self._number] = hook
        for number in [*hooks][:-1] if prepend else ():
            hooks[number] = hooks.pop(number)
        changes.hooks += 1

    def remove(self) -> None:
        """Remove the hook; a second call has no effect."""
        self._hooks.pop(self._number, None)
        changes.hooks += 1

    @property
    def id(self) -> int:
        """The number of the hook, which no other hook has."""
        return self._number

    def hooks_dict_ref(self) -> dict[int, Hook]:
        """Return the hooks that were registered with the same object and are not removed, by their numbers."""
        return self._hooks

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: Any) -> None:
        self.remove()


class Retained:
    """The gradient of an intermediate value, which is stored with the tensor."""

    __slots__ = ("grad", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.tensor: Callable[[], Any] = weakref.ref(tensor)
        self.grad: Any = None


def add_hook(node: Any, k: int | str, hook: Hook) -> HookHandle:
    """Register a hook for result `k` of a node, or for the node itself if `k` is BEFORE or AFTER (its rules)."""
    check_hook("register_prehook" if k == BEFORE else "register_hook", node, hook)
    if node.hooks is None:
        node.hooks = {}
    if k in (BEFORE, AFTER):
        walks.hooked = True
    return HookHandle(node.hooks.setdefault(k, {}), hook)


def add_leaf_hook(
    table: dict[int, dict[int, Hook]], name: str, leaf: Any, hook: Hook, last: bool = False
) -> HookHandle:
    """Register a hook of a leaf in a table, where it stays while the leaf lives; `last` hooks belong to its node."""
    check_hook(name, leaf, hook)
    if leaf.id not in table:
        table[leaf.id] = {}
        weakref.finalize(leaf, table.pop, leaf.id, None)
    return HookHandle(table[leaf.id], hook, last)


def in_sequence(hooks: dict[int, Hook], of_node: bool = True) -> list[Hook]:
    """Return the hooks of a leaf in the order in which they run; of_node: whether those of its node are included."""
    return [hook for number, hook in sorted(hooks.items()) if of_node or number < LAST]


def retain(tensor: Any) -> Retained:
    """Return the record of a tensor's gradient; create it if there is none."""
    if tensor.id not in retained:
        retained[tensor.id] = Retained(tensor)
        retained[tensor.id].grad = vars(tensor).pop("grad", None)  # one that a user has set
        weakref.finalize(tensor, retained.pop, tensor.id, None)
    return retained[tensor.id]


def check_hook(name: str, owner: Any, hook: Hook) -> None:
    """Raise ArgumentError for a hook that cannot be called."""
    if not callable(hook):
        what = repr(owner) if name == "register_prehook" or not hasattr(owner, "layout") else f"a tensor {owner.shape}"
        raise ArgumentError(
            f"{name}: a hook of {what} must be a function of the gradient, got {hook!r}; pass a function such as "
            "`lambda g: 2 * g`"
        )
