"""Observers of records: savers of values, scopes, and the check of saved values under `mg.debug()`.

A record calls `noted` only if the flag `settings.noting` is set, because an observer needs it.  Savers are on a stack,
one stack per thread or task; the innermost saver owns the saved values.  Under `mg.debug()` a table maps each storage
to the nodes that have saved it, so that the error of a write can name them before the write happens.  Without the
table, backward detects a stale value by its version, and the line of the write is unknown.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from minigrad.core.storage import Storage
from minigrad.errors import StorageError
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.observers import Observer, attach, detach, observed
from minigrad.runtime.recording import user_line
from minigrad.runtime.tensor import Tensor, describe


class Saver(Protocol):
    """An object that decides how the saved values of a node are stored."""

    def keep(self, node: BackpropOp, operands: Sequence[Tensor]) -> None:
        """Process a node that was just recorded; this may replace its `saved` values."""


class _Savers:
    """stack: the savers of this thread or task; the tuple is replaced, never changed."""

    stack: Any = property(lambda self: _stack.get(), lambda self, stack: _stack.set(stack))  # type: ignore[arg-type]


_stack: ContextVar[tuple[Saver, ...]] = ContextVar("savers", default=())


class _Name(str):
    """The name of one block; it is distinguished from equal names of other blocks by identity."""

    __slots__ = ()


class _Scopes:
    """names: the scopes that this thread or task is in."""

    names: Any = property(lambda self: _names.get(), lambda self, names: _names.set(names))  # type: ignore[arg-type]


_names: ContextVar[tuple[str, ...]] = ContextVar("scopes", default=())


class Anomaly:
    """Two switches of this process: `on` for checks of each gradient, `check_nan` for checks for nan in addition."""

    on = False
    check_nan = True


savers = _Savers()
scopes = _Scopes()
scope_of: weakref.WeakKeyDictionary[BackpropOp, tuple[str, ...]] = weakref.WeakKeyDictionary()
anomaly = Anomaly()
# The references are weak on both sides, because a Var outlives the nodes of every step that saved it.
_holders: weakref.WeakKeyDictionary[Storage, weakref.WeakSet[BackpropOp]] = weakref.WeakKeyDictionary()


class Saving(Observer):
    """Observer that passes the records of a thread to the innermost of its savers."""

    def recorded(self, node: BackpropOp, operands: Sequence[Tensor]) -> None:
        if savers.stack:
            node.read = None  # a saver decides which values are kept
            savers.stack[-1].keep(node, operands)


class Scoping(Observer):
    """Observer that stores the scopes in which a node was recorded."""

    def recorded(self, node: BackpropOp, operands: Sequence[Tensor]) -> None:
        if scopes.names:
            scope_of[node] = scopes.names


_saving, _scoping = Saving(), Scoping()


def noted(node: BackpropOp, operands: Sequence[Tensor]) -> str | None:
    """Pass a complete node to the observers; return the user's line if one of them needs it."""
    line = None
    for tell in observed.recorded:
        line = tell(node, operands) or line
    return line


def hold(node: BackpropOp) -> None:
    """Record which memory a node has saved, for `check_unsaved`."""
    for value in node.saved or ():
        _holders.setdefault(value.storage, weakref.WeakSet()).add(node)


def repeating() -> bool:
    """Return whether this thread runs a function again to restore values that a checkpoint has dropped."""
    return any(getattr(each, "repeats", False) for each in savers.stack)


@contextmanager
def saving(saver: Saver | None) -> Iterator[None]:
    """Open a block in which `saver` is on top of this thread's savers; with None there are no savers in the block."""
    before = savers.stack
    if saver is None:
        savers.stack = ()
    else:
        begin_saving(saver)
    try:
        yield
    finally:
        if saver is None:
            savers.stack = before
        else:
            end_saving(saver)


def begin_saving(saver: Saver) -> None:
    """Put a saver on top of this thread's savers."""
    savers.stack = (*savers.stack, saver)
    attach(_saving)


def end_saving(saver: Saver) -> None:
    """Remove the topmost entry of a saver, if there is one; blocks inside generators may end in any order."""
    kept = list(savers.stack)
    for k in reversed(range(len(kept))):
        if kept[k] is saver:
            del kept[k]
            savers.stack = tuple(kept)
            detach(_saving)
            return


@contextmanager
def savers_restored() -> Iterator[None]:
    """Open a block after which this thread's savers are those from before, for a user's function in a backward pass."""
    before = savers.stack
    try:
        yield
    finally:
        added = len(savers.stack) - len(before)
        savers.stack = before
        for _ in range(abs(added)):
            (detach if added > 0 else attach)(_saving)


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Open a block whose ops, if they run in this thread, `viz.graph` draws as one group with a name.

    Blocks may be nested.  If the names of consecutive blocks differ only in a number, such as "layer 1" and "layer 2",
    and the blocks contain the same ops, `viz.graph` draws one group with a count.
    """
    here = _Name(name)
    scopes.names = (*scopes.names, here)
    attach(_scoping)
    try:
        yield
    finally:
        # Blocks inside generators may end in any order, so each block removes only its own name.
        scopes.names = tuple([each for each in scopes.names if each is not here])
        detach(_scoping)


def check_unsaved(name: str, storage: Storage) -> None:
    """Raise StorageError if a write would change a value that a node has saved; freed nodes do not count."""
    for node in sorted(_holders.get(storage, ()), key=lambda node: node.id):
        for value, version in zip(node.saved or (), node.versions):
            if value.storage is storage and version == storage.version:
                raise StorageError(
                    f"{name} at {user_line()}: this write would change {describe(value)}, which "
                    f"{node.name}{node.shape} of {node.source} saved for its gradient at version {version}; clone() "
                    "the tensor before the change",
                    op=name,
                )
