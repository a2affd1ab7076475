"""Under `mg.debug()`: which nodes have saved what lies in a storage, so that a write can name them before it happens.

Without it a stale value is noticed at backward, by its version, and the line of the write is not known any more.
"""

from __future__ import annotations

import weakref

from minigrad.core.storage import Storage
from minigrad.errors import StorageError
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.recording import user_line
from minigrad.runtime.tensor import describe

_savers: weakref.WeakKeyDictionary[Storage, list[weakref.ref[BackpropOp]]] = weakref.WeakKeyDictionary()


def noted(node: BackpropOp) -> str | None:
    """The user's line for a node that is complete; from now on its saved values are watched."""
    for value in node.saved or ():
        _savers.setdefault(value.storage, []).append(weakref.ref(node))
    return user_line()


def check_unsaved(name: str, storage: Storage) -> None:
    """Raise StorageError if a write would make stale what a node, alive and not freed, has saved."""
    for ref in _savers.pop(storage, ()):
        node = ref()
        if node is None or node.saved is None:
            continue
        _savers.setdefault(storage, []).append(ref)
        for value, version in zip(node.saved, node.versions):
            if value.storage is storage and version == storage.version:
                raise StorageError(
                    f"{name} at {user_line()}: would change {describe(value)}, which {node.name}{node.shape} of "
                    f"{node.source} has saved for its gradient at version {version}; clone() it before the change",
                    op=name,
                )
