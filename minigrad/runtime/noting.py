"""Who looks at what is recorded: savers of values, the user's line, and under `mg.debug()` the watch on what was saved.

A record calls `noted` when `settings.noting` says that somebody wants to see it, which is one look at a flag otherwise.
Savers stand on a stack, one for each thread or task; the innermost owns what is saved.  Under `mg.debug()` it is known
which nodes have saved what lies in a storage, so that a write can name them before it happens.  Without it a stale
value is noticed at backward, by its version, and the line of the write is not known any more.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from minigrad.config import settings
from minigrad.core.storage import Storage
from minigrad.errors import StorageError
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.recording import user_line
from minigrad.runtime.tensor import Tensor, describe


class Saver(Protocol):
    """What decides how the values that a node saved are kept."""

    def keep(self, node: BackpropOp, operands: Sequence[Tensor]) -> None:
        """Look at a node that has just been recorded; it may be given other values for `saved`."""


class _Savers:
    """stack: the savers of this thread or task, which is never changed in place."""

    stack: Any = property(lambda self: _stack.get(), lambda self, stack: _stack.set(stack))  # type: ignore[arg-type]


_stack: ContextVar[tuple[Saver, ...]] = ContextVar("savers", default=())


class _Name(str):
    """The name of one block, which is told from equal names of others by identity."""

    __slots__ = ()


class _Scopes:
    """names: the scopes that this thread or task is in."""

    names: Any = property(lambda self: _names.get(), lambda self, names: _names.set(names))  # type: ignore[arg-type]


_names: ContextVar[tuple[str, ...]] = ContextVar("scopes", default=())


class Anomaly:
    """Whether each gradient is looked at in this process, and for what."""

    on = False
    check_nan = True


savers = _Savers()
scopes = _Scopes()
scope_of: weakref.WeakKeyDictionary[BackpropOp, tuple[str, ...]] = weakref.WeakKeyDictionary()
anomaly = Anomaly()
_counting = threading.Lock()
# Weak on both sides: a Var outlives the nodes of every step that saved it.
_holders: weakref.WeakKeyDictionary[Storage, weakref.WeakSet[BackpropOp]] = weakref.WeakKeyDictionary()


def watch(change: int) -> None:
    """One more, or one less, that wants to see records."""
    with _counting:
        settings.watchers += change


def noted(node: BackpropOp, operands: Sequence[Tensor]) -> str | None:
    """Show a node that is complete to who wants to see it; gives the user's line, if that is wanted."""
    debug = settings.debugging and settings.debug
    if debug:
        for value in node.saved or ():
            _holders.setdefault(value.storage, weakref.WeakSet()).add(node)
    line = user_line() if debug or anomaly.on else None
    if scopes.names:
        scope_of[node] = scopes.names
    if savers.stack:
        savers.stack[-1].keep(node, operands)
    return line


@contextmanager
def saving(saver: Saver | None) -> Iterator[None]:
    """A block in which this thread's savers are `saver` on top of those that are there; None: none at all."""
    before = savers.stack
    savers.stack = () if saver is None else (*before, saver)
    watch(1)
    try:
        yield
    finally:
        # Blocks of generators end in any order: each takes out its own saver alone.
        savers.stack = before if saver is None else tuple([each for each in savers.stack if each is not saver])
        watch(-1)


@contextmanager
def scope(name: str) -> Iterator[None]:
    """A block whose ops, in this thread, are drawn together under a name: see `viz.graph`.  Blocks may stand in blocks.

    With a number in the name, as "layer 1", blocks of the same ops that follow each other are drawn once.
    """
    here = _Name(name)
    scopes.names = (*scopes.names, here)
    watch(1)
    try:
        yield
    finally:
        # Blocks of generators end in any order: each takes out its own name alone.
        scopes.names = tuple([each for each in scopes.names if each is not here])
        watch(-1)


def check_unsaved(name: str, storage: Storage) -> None:
    """Raise StorageError if a write would make stale what a node, alive and not freed, has saved."""
    for node in sorted(_holders.get(storage, ()), key=lambda node: node.id):
        for value, version in zip(node.saved or (), node.versions):
            if value.storage is storage and version == storage.version:
                raise StorageError(
                    f"{name} at {user_line()}: would change {describe(value)}, which {node.name}{node.shape} of "
                    f"{node.source} has saved for its gradient at version {version}; clone() it before the change",
                    op=name,
                )
