"""Small storages that are used again as whole objects: a call plan keeps the last two that it made.

A small op spends a fifth of its time on making the storage of its result and on returning the memory.  If only the plan
refers to one of its last two storages, the next result takes this storage instead: 90 ns instead of 325 (Zen 5, Python
3.11).  Reference counts decide, so memory that a tensor, a saved value or a NumPy view can still reach
is never taken.

CPython switches threads at calls and at backward jumps only, and there is neither between reading a field of a `Pair`
and counting the references to its value, nor between the assignments that change a pair.  So no two threads take one
storage: the second one counts the reference of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from sys import getrefcount
from types import SimpleNamespace
from typing import Any
from weakref import ref

SMALL = 16 << 10  # the largest number of bytes of a storage that a plan keeps
MOST = 32 << 20  # the largest number of bytes that all plans keep

references = getrefcount


class Pair:
    """The two storages that a plan keeps, or None.

    A plan keeps nothing at its first call, because a plan of a shape that never returns would only occupy memory.

    calls: the number of storages that the plan has made, up to 2.
    ref: a weak reference to the pair, from the second call on.  It is the `keeper` of a storage while the pair refers
    to the storage, so that code which counts references to a storage can subtract this one.
    """

    __slots__ = ("__weakref__", "calls", "first", "ref", "second")

    def __init__(self) -> None:
        self.first: Any = None
        self.second: Any = None
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
        old = self.second
        self.second = self.first
        self.first = made
        made.keeper = self.ref
        if old is not None:
            old.keeper = None
        else:
            allocator.count_kept(made.buffer.nbytes)

    def clear(self) -> None:
        """Keep nothing, so that unused storages return to their allocator."""
        kept = self.first, self.second
        self.first = self.second = None
        for made in kept:
            if made is not None:
                made.keeper = None

    __del__ = clear  # when the plan is discarded


def release(storage: Any) -> None:
    """Let a storage die with the last tensor on it, because a weak reference is about to follow its life."""
    pair = storage.keeper and storage.keeper()
    if pair is not None:
        pair.clear()


def counts(pair: Any) -> tuple[int, int]:
    """Return the references to the first storage of a pair and to its buffer, as the functions below count them."""
    made = pair.first
    return references(made), references(made.buffer)


# The references that counting itself adds depend on the version of Python.
UNUSED, UNSHARED = counts(SimpleNamespace(first=SimpleNamespace(buffer=object())))


def recycling(allocator: Any, make: Callable[[], Any], kind: type[Any]) -> Callable[[], Any]:
    """Return a function that makes a storage per call, as `make`, or takes one that nothing else refers to.

    A storage with a weak reference is not taken, because this reference has to die with the contents.  Neither is a
    storage whose class is no longer `kind`.
    """
    pair = Pair()

    def take() -> Any:
        made = pair.first
        if (
            references(made) != UNUSED
            or made.__class__ is not kind
            or made.__weakref__ is not None
            or references(made.buffer) != UNSHARED
        ):
            made = pair.second
            if (
                references(made) != UNUSED
                or made.__class__ is not kind
                or made.__weakref__ is not None
                or references(made.buffer) != UNSHARED
            ):
                made = make()
                if allocator.recycles:
                    pair.keep(made, allocator)
                return made
        made.version = 0
        made.tracked = False
        allocator._allocations += 1
        allocator._frees += 1
        if allocator._fill is not None:
            allocator._scribble(made.buffer, made.dtype)
        return made

    return take


def unused(pairs: Iterable[Pair]) -> Iterator[Any]:
    """Yield the storages that only pairs refer to."""
    for pair in pairs:
        for name in ("first", "second"):
            made = getattr(pair, name)
            if made is not None and references(made) == UNUSED:
                yield made
