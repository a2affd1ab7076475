"""Allocators: they provide flat buffers of memory and take them back.

There is one `Allocator` per kind of device. The allocator for the CPU caches returned blocks and uses them again, so a
loop over the same shapes calls the system once. It takes no lock: a finalizer may enter it at any allocation, when a
lock could be held by the same thread, or by a thread that does not exist after a fork. `storage` is its only regular
caller.

Under the GIL, CPython switches threads at calls and at backward jumps only. Every counter here is updated in a
statement that contains neither, and lists and dicts are changed by single operations. This makes the allocator
thread-safe.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from sys import getrefcount
from typing import Any
from weakref import ref

import numpy as np

from minigrad.config import announce
from minigrad.core.device import as_device
from minigrad.core.dtype import ALL, DType
from minigrad.core.host_memory import LARGE, aligned, heap_trimmer, last_try
from minigrad.core.recycling import MOST, SMALL, Pair, recycling, unused
from minigrad.errors import ArgumentError, DeviceError, StorageError

SLACK = 2 << 20  # bytes of cached blocks beyond the peak of the memory in use, when a large block is fetched

Buffer = Any


@dataclass(frozen=True)
class MemoryStats:
    """Store the counters of an allocator. Bytes are counted in whole blocks.

    Attributes:
        allocated_bytes: bytes in use now.
        cached_bytes: bytes of returned blocks, which are cached for the next allocation.
        peak_bytes: the maximum of `allocated_bytes` so far.  Storages that call plans keep for their next results, of
            at most 16 KB each, count as in use here.
        allocations, frees: number of calls of `allocate` and of `free`.
        hits, misses: number of allocations served from the cache, and from the system.
        live: number of blocks in use now.
    """

    allocated_bytes: int
    cached_bytes: int
    peak_bytes: int
    allocations: int
    frees: int
    hits: int
    misses: int
    live: int


class Allocator(ABC):
    """Base class of the allocators, each of which serves one kind of device."""

    __slots__ = ()

    @abstractmethod
    def allocate(self, numel: int, dtype: DType) -> Buffer:
        """Return a flat buffer of at least `numel` elements of `dtype`, with undefined contents."""

    @abstractmethod
    def free(self, buffer: Buffer) -> None:
        """Take back a buffer that `allocate` returned. It is called once per buffer."""

    def stats(self) -> MemoryStats:
        """Return the counters; an allocator that does not count raises DeviceError."""
        raise DeviceError(
            f"{type(self).__name__} does not count its allocations; use the default allocator for statistics"
        )

    def empty_cache(self) -> None:
        """Return the cached blocks to the system. An allocator without a cache does nothing."""


class _Probe:
    """An object that frees a buffer in the way a storage does, to measure the buffer's reference count in that call."""

    __slots__ = ("allocator", "buffer")

    def __init__(self, buffer: object) -> None:
        self.allocator = self
        self.buffer = buffer

    def free(self, buffer: object, references: Callable[[object], int] = getrefcount) -> int:
        return references(buffer)

    def release(self) -> int:
        return self.allocator.free(self.buffer)

    def release_inside(self, references: Callable[[object], int] = getrefcount) -> int:
        buffer = self.buffer
        return references(buffer)


_UNSHARED = _Probe(object()).release()
_UNSHARED_INSIDE = _Probe(object()).release_inside()


class Key(int):
    """The size of a block as `CpuAllocator` stores it, with the number of elements that were requested."""

    numel: int

    @classmethod
    def of(cls, value: int, numel: int) -> Key:
        """Return a key with this value and this number of elements."""
        key = cls(value)
        key.numel = numel
        return key


class Block:
    """Own a buffer that returns to its allocator after the last use; `Storage` is a block with a dtype and a device.

    key: the key of the buffer's size in `CpuAllocator.storages`; 0 for a buffer of `allocate` and for a buffer without
        an allocator.
    """

    __slots__ = ("allocator", "buffer", "key")
    allocator: Any
    buffer: Any
    key: int

    # The two defaults are bound here because globals may be gone when the last storages are freed at interpreter
    # shutdown.
    def __del__(self, references: Callable[[object], int] = getrefcount, unshared: int = _UNSHARED_INSIDE) -> None:
        try:
            key = self.key
            allocator = self.allocator
        except AttributeError:
            # __init__ was called with wrong arguments, so there is no memory.
            return
        if key:
            # This repeats the body of `CpuAllocator.free` to save a call; this buffer needs no lookup.
            buffer = self.buffer
            if references(buffer) > unshared:
                return allocator._lose(key)
            allocator._frees += 1
            allocated = allocator._allocated - (key & -64)
            allocator._allocated = allocated
            if allocated < allocator._floor:
                allocator._keep_some(key, buffer)
            else:
                try:
                    allocator._free[key].append(buffer)
                except KeyError:
                    allocator._keep(key, buffer)
        elif allocator is not None:
            allocator.free(self.buffer)


class CpuAllocator(Allocator):
    """Allocate host memory and cache it: buffers are 64-byte aligned, flat arrays in `dtype.storage`.

    Sizes are rounded up to whole blocks of 64 bytes and the array has the rounded length, so `buffer.size` may exceed
    the requested size. Returned blocks are cached per dtype and size and reused last in, first out: the next tensor of
    that size gets memory that is still in the CPU's cache. If another object, such as a NumPy view, refers to a buffer,
    the allocator drops the buffer and never reuses it. An empty buffer is shared and not counted.

    Attributes:
        fill: None, or "zero" or "junk" to fill each new buffer with zeros, or with nan (floats) and 0xCD bytes
            (integers); for finding bugs.
        cache_limit: the maximum number of bytes in the cache; the sizes seen first are released first.
        pairs: the small storages that call plans keep, see `recycling.py`.
        recycles: whether call plans keep storages now.
    """

    __slots__ = (
        "_allocated", "_allocations", "_cache_limit", "_empty", "_exact", "_fill", "_floor", "_free", "_frees", "_kept",
        "_live", "_misses", "_peak", "pairs", "recycles",
    )  # fmt: skip

    def __init__(self, cache_limit: int = 512 << 20, fill: str | None = None) -> None:
        self.fill = fill
        self._free: dict[int, list[np.ndarray[Any, Any]]] = {}
        self._live: dict[int, int] = {}
        self._empty = {dtype.storage_code: np.empty(0, dtype.storage) for dtype in ALL}
        self._allocated = self._peak = self._allocations = self._frees = self._misses = 0
        # The cache exceeds the limit as soon as the allocated bytes fall below this floor: owned bytes minus the limit.
        # So the test in `free` is one comparison; the slow paths, which change the owned bytes, move the floor.
        self._cache_limit = cache_limit
        self._floor = -cache_limit
        self.pairs: set[ref[Pair]] = set()
        self._exact = self._kept = 0
        self.recycles = cache_limit >= SMALL

    @property
    def cache_limit(self) -> int:
        """The maximum number of bytes in the cache."""
        return self._cache_limit

    @cache_limit.setter
    def cache_limit(self, limit: int) -> None:
        self._floor += self._cache_limit - limit
        self._cache_limit = limit
        self.decide_recycling()
        self._trim(limit)

    @property
    def fill(self) -> str | None:
        """The contents of new buffers: None for undefined contents, "zero" or "junk"."""
        return self._fill

    @fill.setter
    def fill(self, fill: str | None) -> None:
        if fill not in (None, "zero", "junk"):
            raise ArgumentError(
                f"CpuAllocator: fill must be None, 'zero' or 'junk', got {fill!r}; pass fill=None", fill=fill
            )
        self._fill = fill

    def allocate(self, numel: int, dtype: DType) -> np.ndarray[Any, Any]:
        """Return a flat array of at least `numel` elements of `dtype`."""
        if numel <= 0:
            return self._nothing(numel, dtype)
        key = self.key(numel, dtype)
        buffer = self._pop_or_fetch(key, dtype)
        self._live[id(buffer)] = key
        self._allocations += 1
        allocated = self._allocated + (key & -64)
        self._allocated = allocated
        if allocated > self._peak:
            self._peak = allocated
        if self._fill is not None:
            self._scribble(buffer, dtype)
        return buffer

    def key(self, numel: int, dtype: DType) -> int:
        """Return the size of the block in bytes, with NumPy's id of the dtype in the six low bits.

        These bits are 0 after the rounding.
        """
        return (numel * dtype.itemsize + 63) & -64 | dtype.storage_code

    def storages(self, numel: int, dtype: DType, device: Any, kind: type[Any]) -> Callable[[], Any]:
        """Return a function that makes one storage of a fixed size per call, for a call plan.

        kind: the class of the storage, a subclass of Block.
        The function combines `allocate` and `Storage.__init__` in one call, and the values that depend on the size are
        computed in advance. Without this function, these steps would take a third of the time of a small op.
        """
        key = Key.of(self.key(numel, dtype), numel)
        nbytes = key & -64
        pop = self._free.get(key, []).pop
        new: Any = kind.__new__

        def make() -> Any:
            nonlocal pop
            try:
                buffer = pop()
            except IndexError:
                # A trim may have removed the list, or replaced it by another list.
                pop = self._free.setdefault(key, []).pop
                buffer = self._pop_or_fetch(key, dtype)
            self._allocations += 1
            allocated = self._allocated + nbytes
            self._allocated = allocated
            if allocated > self._peak:
                self._peak = allocated
            if self._fill is not None:
                self._scribble(buffer, dtype)
            made = new(kind)
            made.key = key
            made.allocator = self
            made.buffer = buffer
            made.dtype = dtype
            made.device = device
            made.version = 0
            made.keeper = None
            made.tracked = False
            return made

        return recycling(self, make, kind) if nbytes <= SMALL else make

    def free(
        self,
        buffer: np.ndarray[Any, Any],
        references: Callable[[object], int] = getrefcount,
        unshared: int = _UNSHARED,
    ) -> None:
        """Take a buffer back. The caller may keep one reference and must not use it.

        Raises StorageError if the buffer is not in use: another allocator made it, or it was freed before.
        """
        key = self._live.pop(id(buffer), 0)
        if not key:
            return self._refuse(buffer)
        if references(buffer) > unshared:
            return self._lose(key)
        self._frees += 1
        self._allocated -= key & -64
        if self._allocated < self._floor:
            self._keep_some(key, buffer)
        else:
            self._keep(key, buffer)

    def decide_recycling(self) -> None:
        """Let call plans keep small storages, unless the cache is too small or `exact` is open."""
        self.recycles = not self._exact and self._cache_limit >= SMALL
        if not self.recycles:
            self.release_pairs()

    def count_kept(self, nbytes: int) -> None:
        """Count the bytes of one more storage that a plan keeps, and take all of them back if these are too many."""
        self._kept += nbytes
        if self._kept > MOST:
            self.release_pairs()

    def release_pairs(self) -> None:
        """Take back the storages that call plans keep."""
        self._kept = 0
        for pair in self.present():
            pair.clear()

    def present(self) -> list[Pair]:
        """Return the pairs of all plans.  Other threads may add pairs meanwhile, so the set is copied in one step."""
        return [pair for each in list(self.pairs) if (pair := each()) is not None]

    @contextmanager
    def exact(self) -> Iterator[None]:
        """Open a block in which `peak_bytes` is exact, because call plans keep no storages."""
        self._exact += 1
        self.decide_recycling()
        try:
            yield
        finally:
            self._exact -= 1
            self.decide_recycling()

    def empty_cache(self) -> None:
        """Return all cached blocks to the system, and also the free memory in the C library's heap."""
        self.release_pairs()
        self._trim(0)
        if (trim := heap_trimmer()) is not None:
            trim(0)

    def stats(self) -> MemoryStats:
        """Return the counters at this moment."""
        kept = [made.key & -64 for made in unused(self.present())]
        allocated, frees = self._allocated - sum(kept), self._frees + len(kept)
        return MemoryStats(
            allocated_bytes=allocated,
            cached_bytes=self._floor + self._cache_limit - allocated,
            peak_bytes=self._peak,
            allocations=self._allocations,
            frees=frees,
            hits=self._allocations - self._misses,
            misses=self._misses,
            live=self._allocations - frees,
        )

    def reset_peak(self) -> None:
        """Set the peak to the number of bytes in use now."""
        self._peak = self._allocated

    # ---- the slow paths

    def _nothing(self, numel: int, dtype: DType) -> np.ndarray[Any, Any]:
        if numel < 0:
            raise ArgumentError(
                f"allocate: numel must be 0 or more, got {numel} for {dtype}; pass a number that is not negative",
                numel=numel,
            )
        return self._empty[dtype.storage_code]

    def _pop_or_fetch(self, key: int, dtype: DType) -> np.ndarray[Any, Any]:
        try:
            return self._free[key].pop()
        except (KeyError, IndexError):
            return self._fetch(key & -64, dtype)

    def _fetch(self, nbytes: int, dtype: DType) -> np.ndarray[Any, Any]:
        if nbytes >= LARGE:
            # Release cached large blocks of other sizes first. Then a forward and a backward pass of different sizes
            # take little more memory than the peak of the memory in use.
            goal = max(self._peak - self._allocated - nbytes, 0) + SLACK
            if self._cached() > goal:
                self._trim(goal, LARGE)
        try:
            buffer = aligned(nbytes, dtype.storage)
        except (MemoryError, ValueError):
            # Cached blocks of other sizes may occupy the memory that is missing.
            self.empty_cache()
            buffer = last_try(nbytes, dtype)
        self._misses += 1
        self._floor += nbytes
        return buffer

    def _lose(self, key: int) -> None:
        """Update the counters for a buffer that another object refers to and now owns."""
        self._frees += 1
        self._allocated -= key & -64
        self._floor -= key & -64

    def _cached(self) -> int:
        return self._floor + self._cache_limit - self._allocated

    def _keep(self, key: int, buffer: np.ndarray[Any, Any]) -> None:
        while True:
            # A trim in another thread may remove an empty list again, hence the loop.
            self._free.setdefault(key, [])
            try:
                return self._free[key].append(buffer)
            except KeyError:
                continue

    def _keep_some(self, key: int, buffer: np.ndarray[Any, Any]) -> None:
        nbytes = key & -64
        if nbytes > self._cache_limit:
            self._floor -= nbytes
            return
        self._keep(key, buffer)
        # The cache shrinks below the limit, so that not every call of `free` has to trim it.
        self._trim(self._cache_limit * 3 // 4)

    def _trim(self, goal: int, least: int = 0) -> None:
        """Return cached blocks of at least `least` bytes to the system until the cache has `goal` bytes."""
        for key in list(self._free):
            nbytes = key & -64
            while self._cached() > goal and nbytes >= least:
                try:
                    self._free[key].pop(0)
                except (KeyError, IndexError):
                    break
                self._floor -= nbytes
            try:
                if not self._free[key]:
                    del self._free[key]
            except KeyError:
                continue

    def _refuse(self, buffer: np.ndarray[Any, Any]) -> None:
        if buffer.size:
            raise StorageError(
                f"free: expected a buffer that this allocator has provided, got {buffer.nbytes} bytes at "
                f"{buffer.ctypes.data:#x}, which belong to other memory or were freed before; free each buffer once"
            )

    def _scribble(self, buffer: np.ndarray[Any, Any], dtype: DType) -> None:
        if self._fill == "zero":
            buffer.fill(0)
        elif dtype.is_inexact:
            buffer.view(dtype.numpy).fill(np.nan)
        elif dtype.is_int:
            buffer.view(np.uint8).fill(0xCD)
        else:
            # A bool that is neither 0 nor 1 would be undefined behaviour in a kernel, not a visible bug.
            buffer.fill(True)


_allocators: dict[str, Allocator] = {}


def set_allocator(kind: str, allocator: Allocator) -> None:
    """Set the allocator of all devices of this kind.

    Existing storages return their buffers to the allocator that made them.
    """
    _allocators[kind] = allocator
    announce()


def get_allocator(kind: str) -> Allocator:
    """Return the allocator of a kind of device.

    Raises DeviceError if no allocator is set for this kind.
    """
    try:
        return _allocators[kind]
    except KeyError:
        raise DeviceError(
            f"get_allocator: no allocator is set for the device kind {kind!r}; register an allocator with "
            f"set_allocator({kind!r}, allocator)",
            kind=kind,
        ) from None


# The reference device uses the same memory with other functions.
set_allocator("cpu", CpuAllocator())
set_allocator("reference", get_allocator("cpu"))


def memory_stats(device: str = "cpu") -> MemoryStats:
    """Return the counters of a device's allocator, as `MemoryStats`."""
    return get_allocator(as_device(device).kind).stats()


def empty_cache(device: str = "cpu") -> None:
    """Return the device's cached blocks to the system; memory in use is not affected."""
    get_allocator(as_device(device).kind).empty_cache()
