"""Small storages that are used again as whole objects: a call plan keeps the last two that it made.

A small op spends a fifth of its time on making the storage of its result and on returning the memory.  If only the plan
refers to one of its last two storages, the next result takes this storage instead: 100 ns instead of 325 (Zen 5, Python
3.11).  Reference counts decide, so memory that a tensor, a saved value or a NumPy view can still reach is never taken.

CPython switches threads at calls and at backward jumps only, and there is neither between reading an item of
`Pair.kept` and counting the references to it.  So no two threads take one storage: the second one counts the reference
of the first.  A storage that a pair no longer contains has another reference until its `keeper` is reset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from sys import getrefcount as references
from types import SimpleNamespace
from typing import Any
from weakref import ref

SMALL = 16 << 10  # the largest number of bytes of a storage that a plan keeps
MOST = 32 << 20  # the largest number of bytes that all plans keep


class Pair:
    """The storages that a plan keeps: the last two that it made, the newest first.

    A plan keeps nothing at its first call, because a plan of a shape that never returns would only occupy memory.

    calls: the number of storages that the plan has made, up to 2.
    ref: a weak reference to the pair, from the second call on.  It is the `keeper` of a storage while the pair contains
    the storage, so that code which counts references to a storage can subtract this one.
    """

    __slots__ = ("__weakref__", "calls", "kept", "ref")

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.calls = 0
        self.ref: ref[Pair] | None = None

    def keep(self, made: Any, allocator: Any) -> None:
        """Keep a new storage instead of the older one."""
        if self.ref is None:
            self.calls += 1
            if self.calls < 2:
                return
            self.ref = ref(self, allocator.pairs.discard)
            allocator.pairs.add(self.ref)
        made.keeper = self.ref
        self.kept.insert(0, made)
        if len(self.kept) > 2:
            self.kept.pop().keeper = None
        else:
            allocator.count_kept(made.buffer.nbytes)

    def clear(self) -> None:
        """Keep nothing, so that unused storages return to their allocator."""
        kept = self.kept[:]
        self.kept[:] = []
        for made in kept:
            made.keeper = None

    __del__ = clear  # when the plan is discarded


def release(storage: Any) -> None:
    """Let a storage die with the last tensor on it, because a weak reference is about to follow its life."""
    pair = storage.keeper and storage.keeper()
    if pair is not None:
        pair.clear()


def counts(kept: list[Any]) -> tuple[int, int]:
    """Return the references to the first item of a list and to its buffer, as the functions below count them."""
    for made in kept:
        return references(made), references(made.buffer)
    raise ValueError("counts: the list must not be empty")


# The references that counting itself adds depend on the version of Python.
UNUSED, UNSHARED = counts([SimpleNamespace(buffer=object())])


def recycling(allocator: Any, make: Callable[[], Any], kind: type[Any]) -> Callable[[], Any]:
    """Return a function that makes a storage per call, as `make`, or takes one that nothing else refers to.

    A storage with a weak reference is not taken, because this reference has to die with the contents.  Neither is a
    storage whose class is no longer `kind`.
    """
    pair = Pair()
    kept = pair.kept

    def take() -> Any:
        for made in kept:
            if (
                references(made) == UNUSED
                and made.__class__ is kind
                and made.__weakref__ is None
                and references(made.buffer) == UNSHARED
            ):
                made.version = 0
                made.tracked = False
                allocator._allocations += 1
                allocator._frees += 1
                if allocator._fill is not None:
                    allocator._scribble(made.buffer, made.dtype)
                return made
        made = make()
        if allocator.recycles:
            pair.keep(made, allocator)
        return made

    return take


def unused(pairs: Iterable[Pair]) -> Iterator[Any]:
    """Yield the storages that only pairs refer to."""
    for pair in pairs:
        for made in pair.kept:
            if references(made) == UNUSED:
                yield made
