"""The journal of `mg.debug()`: the tensors that each result was computed from, even if no gradient can follow.

The graph stores only the recorded ops, and only backwards.  It does not contain the reason why a gradient did not
arrive: a detach(), a block of no_grad, an op with integer results.  While debug is on, an observer receives every call
and writes it into the journal.  An entry lives as long as its result, or a result computed from it, so the journal of a
step is freed with the step.  The calls of a backward pass are not entered.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from minigrad.config import followers, settings
from minigrad.core.dtype import DType
from minigrad.core.storage import Storage
from minigrad.runtime.data import host_array, watchers, wide
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.noting import check_unsaved, hold
from minigrad.runtime.observers import Observer, attach, detach
from minigrad.runtime.recording import mode, user_line
from minigrad.runtime.tensor import Tensor

ENGINE = "minigrad.autodiff.engine"
# Modules that return numbers to Python, or that copy numbers into new tensors.
HANDING = (
    "minigrad.runtime.journal", "minigrad.api.python", "minigrad.api.interop.arrays", "minigrad.runtime.data",
    "minigrad.ops.creation", "minigrad.runtime.var",
)  # fmt: skip


class Entry:
    """Store what debug mode records about a tensor: the op that made it, and its operands.

    op: the name of the op, "detach", or "" for a tensor that was not made under debug mode.
    differentiable: for each operand, whether the op has a derivative rule.
    enabled: whether calls were recorded when the tensor was made.
    tracked: whether a gradient can reach the tensor.
    parents: the entries of the operands.
    children: the entries of results that were computed from the tensor, while these results exist.
    finite: whether no element is nan or infinite.
    number: the value of a tensor without dims, otherwise None.
    source: the user's line of code.
    left: how and where Python read elements of the tensor, or of a result computed from it, as numbers.  Such a read
    ends the graph.
    """

    __slots__ = (
        "__weakref__", "children", "differentiable", "dtype", "enabled", "finite", "left", "number", "op", "parents",
        "shape", "source", "tensor", "tracked",
    )  # fmt: skip

    def __init__(self, x: Tensor, op: str, parents: tuple[Entry, ...], source: str | None) -> None:
        self.tensor = weakref.ref(x)
        self.op, self.parents, self.source = op, parents, source
        self.shape: tuple[int, ...] = x.shape
        self.dtype: DType = x.dtype
        self.enabled, self.tracked = mode.enabled, x.requires_grad
        self.differentiable: tuple[bool, ...] = ()
        self.number: complex | None = wide(host_array(x)).item() if x.shape == () else None
        self.finite = not x.dtype.is_inexact or bool(np.isfinite(host_array(x)).all())
        self.children: weakref.WeakSet[Entry] = weakref.WeakSet()
        self.left: dict[str, None] = {}
        for parent in parents:
            parent.children.add(self)


# The duration of recorded calls, in seconds.
seconds: weakref.WeakKeyDictionary[BackpropOp, float] = weakref.WeakKeyDictionary()
_made: weakref.WeakKeyDictionary[BackpropOp, weakref.ref[Entry]] = weakref.WeakKeyDictionary()
_entries: dict[int, tuple[weakref.ref[Tensor], Entry]] = {}  # maps the id of a tensor to its entry


def entry_of(x: Tensor) -> Entry | None:
    """Return the entry of a tensor, or None."""
    entry = _entries.get(x.id)
    return None if entry is None else entry[1]


def entry_of_node(node: BackpropOp) -> Entry | None:
    """Return the entry of the result of a recorded op; for several results, that of the last one."""
    reference = _made.get(node)
    return None if reference is None else reference()


def keep(x: Tensor, entry: Entry) -> Entry:
    """Store an entry as long as its tensor lives."""
    key = x.id
    _entries[key] = weakref.ref(x, lambda _: _entries.pop(key, None)), entry
    return entry


def known(x: Tensor) -> Entry:
    """Return the entry of a tensor; create an entry without parents if there is none."""
    return entry_of(x) or keep(x, Entry(x, "", (), None))


def note(op: Any, operands: tuple[Tensor, ...], result: Any, took: float) -> None:
    """Enter a call and its duration in the journal."""
    if inside(ENGINE):
        return
    source, parents = user_line(), tuple([known(x) for x in operands])
    for y in (result,) if op.result is None else tuple(result):
        entry = keep(y, Entry(y, op.label, parents, source))
        node: Any = y.op
        if node is not None:
            node = node.node if isinstance(node, Output) else node
            seconds[node], _made[node] = took, weakref.ref(entry)
        entry.differentiable = tuple([op.rules[0 if op.variadic else k] is not None for k in range(len(operands))])


def note_left(x: Tensor, how: str) -> None:
    """Record in the journal that the user's code read the elements of x as numbers.

    The function has an effect only in debug mode.  The read is stored in the entries of all tensors from which x was
    computed, because x itself is often freed immediately.
    """
    if not (settings.debugging and settings.debug) or next(
        name for name in callers() if name not in HANDING
    ).startswith("minigrad."):
        return
    position, seen, stack = f"{how}() at {user_line()}", set(), [known(x)]
    while stack:
        entry = stack.pop()
        if entry not in seen:
            seen.add(entry)
            entry.left[position] = None
            stack += entry.parents


def note_copied(data: Any, name: str) -> None:
    """Record in the journal that `mg.tensor` or `mg.Var` copied the tensors in nested data."""
    if isinstance(data, Tensor):
        note_left(data, f"mg.{name}")
    elif isinstance(data, (list, tuple)):
        for item in data:
            note_copied(item, name)


def callers() -> Iterator[str]:
    """Iterate over the modules whose functions are on the call stack, the nearest first."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        yield frame.f_globals.get("__name__", "")
        frame = frame.f_back


def inside(module: str) -> bool:
    """Return whether a function of a module is on the call stack between the user's line and this one."""
    return module in takewhile(lambda name: name.startswith("minigrad."), callers())


def asked_by() -> str:
    """Return the nearest module on the call stack outside this layer: the user's, or another module of this package."""
    return next((name for name in callers() if not name.startswith("minigrad.runtime.")), "")


class Debugging(Observer):
    """The observer of debug mode: it enters calls, stores lines and saved memory of nodes, and checks writes.

    It is attached while any thread or task debugs, and checks whether the current one does.
    """

    attached = False

    def called(self, op: Any, operands: tuple[Tensor, ...], result: Any, seconds: float) -> None:
        if settings.debug:
            note(op, operands, result, seconds)

    def recorded(self, node: BackpropOp, operands: Sequence[Tensor]) -> str | None:
        if not settings.debug:
            return None
        hold(node)
        return user_line()

    def writing(self, name: str, storage: Storage) -> None:
        if settings.debug:
            check_unsaved(name, storage)

    def detached(self, x: Tensor, y: Tensor) -> None:
        if settings.debug and (x.op is not None or x.is_variable) and not asked_by().startswith("minigrad."):
            keep(y, Entry(y, "detach", (known(x),), user_line()))


_debugging = Debugging()


def follow() -> None:
    """Attach the observer and the watcher while debug is on in any thread, and detach them otherwise."""
    if settings.debugging != _debugging.attached:
        _debugging.attached = settings.debugging
        (attach if settings.debugging else detach)(_debugging)
        (watchers.append if settings.debugging else watchers.remove)(note_copied)


followers.append(follow)
follow()
