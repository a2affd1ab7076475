"""The memory in which a worker makes the arrays of a batch, so that they need no copy when they are sent.

While the function that combines samples runs in a worker, an arena is active in its thread.  `empty` then returns
arrays in the segment that the worker shares with the loader's process.
"""

from __future__ import annotations

import math
import threading
import weakref
from typing import Any, Final

import numpy as np

from minigrad.data.memory import Segment, padded


class _Active(threading.local):
    """The arena that is active in a thread."""

    arena: Arena | None = None


_active: Final = _Active()


def empty(shape: tuple[int, ...], arrays: list[Any]) -> Any:
    """Return an uninitialized array for the elements of `arrays` in the active arena.

    Returns None if no arena is active or has space, or if the arrays have different dtypes.
    """
    arena = _active.arena
    if arena is None:
        return None
    dtypes = {array.dtype for array in arrays}
    return arena.empty(shape, *dtypes) if len(dtypes) == 1 else None


def rows(array: Any, indices: Any) -> Any:
    """Return a new array with the rows of an array that have the given indices."""
    out = empty((len(indices), *array.shape[1:]), [array]) if array.flags.c_contiguous and array.ndim else None
    n = len(array)
    if out is None or indices.min() < -n or indices.max() >= n:
        return array[indices]
    # With mode="raise", NumPy would write to a buffer first, and would copy the buffer.
    return np.take(array, indices, 0, out, "wrap")


class Arena:
    """Arrays of one batch in a segment, one after another; `with arena:` activates it in the thread."""

    def __init__(self, segment: Segment) -> None:
        self.size = segment.size
        self.whole = np.frombuffer(segment.map, np.uint8)  # each array of the arena refers to this array
        self.address = address_of(self.whole)
        self.used = 0
        self.made: set[int] = set()  # the addresses of arrays

    def __enter__(self) -> None:
        _active.arena = self

    def __exit__(self, *raised: object) -> None:
        _active.arena = None

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return an uninitialized array, or None if there is no space for it."""
        size, at = math.prod(shape) * dtype.itemsize, self.used
        end = at + padded(size)
        if not size or end > self.size or dtype.hasobject or not dtype.isnative:
            return None
        self.used = end
        self.made.add(self.address + at)
        return np.ndarray(shape, dtype, self.whole, at)

    def arrange(self, buffers: list[memoryview]) -> list[tuple[int, int]] | None:
        """Return the offset and the length of each buffer; copy those that are not yet in the segment.

        Each array of the arena is used for one buffer, so that no two arrays of the batch share memory.  Returns None
        if there is not enough space.
        """
        spans = []
        for raw in buffers:
            size = raw.nbytes
            address = address_of(raw) if size else 0
            if address in self.made:
                self.made.remove(address)
                spans.append((address - self.address, size))
                continue
            at, self.used = self.used, self.used + padded(size)
            if self.used <= self.size:
                self.whole[at : at + size] = np.asarray(raw)
            spans.append((at, size))
        return spans if self.used <= self.size else None

    def release(self) -> bool:
        """End the use of the arena; return whether nothing refers to its arrays anymore."""
        alive = weakref.ref(self.whole)
        del self.whole
        return alive() is None


def address_of(buffer: Any) -> int:
    """Return the address of the first byte of a buffer."""
    address: int = np.asarray(buffer).__array_interface__["data"][0]
    return address
