"""Memory of a device for tensors, which is counted and whose small pieces are cached; pinned memory of the host.

A request to the driver's pool takes 1.9 us, a fifth of the time of a small op (H100); a cached piece takes less.  A
freed piece may be used again immediately: all work goes to one stream, so the next use of the piece runs after the
previous one.  Once there is a second stream, only the driver's pool orders the uses, and nothing is cached here.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNIT = 512  # bytes that the driver's pool rounds to
# Bytes of the largest piece that is cached: an op on a larger piece runs for longer than a request to the pool takes.
SMALL = 1 << 20


class Piece:
    """A piece of memory, which returns with its last reference."""

    __slots__ = ("address", "memory", "pieces", "size")

    def __init__(self, pieces: Pieces, size: int, memory: Any, address: int) -> None:
        self.pieces, self.size, self.memory, self.address = pieces, size, memory, address

    # The default is bound here because globals may be gone when the last tensors are freed at interpreter shutdown.
    def __del__(self, small: int = SMALL) -> None:
        pieces, size = self.pieces, self.size
        pieces.allocated -= size
        if size <= small and pieces.keeps:
            same = pieces.kept.get(size)
            if same is None:
                pieces.kept[size] = [(self.memory, self.address)]
            else:
                same.append((self.memory, self.address))


class Pieces:
    """Manage the memory of one device.

    request: a function that returns memory from the pool; the memory returns to the pool with its last reference.
    allocated, peak: the number of bytes in use, and its maximum so far.
    kept: the cached pieces of memory by size.
    keeps: whether pieces are cached, which requires that there is only one stream.
    """

    def __init__(self, request: Callable[[int], Any]) -> None:
        self.request = request
        self.allocated = self.peak = 0
        self.kept: dict[int, list[tuple[Any, int]]] = {}
        self.keeps = True

    def take(self, nbytes: int) -> Piece:
        """Return memory of at least `nbytes` bytes; errors of `request` are passed on."""
        size = (nbytes + UNIT - 1) // UNIT * UNIT or UNIT
        try:
            memory, address = self.kept[size].pop()
        except (KeyError, IndexError):
            memory = self.request(size)
            address = int(memory.handle)
        allocated = self.allocated + size
        self.allocated = allocated
        if allocated > self.peak:
            self.peak = allocated
        return Piece(self, size, memory, address)

    def release(self) -> None:
        """Return cached pieces to the pool."""
        self.kept.clear()

    def share(self) -> None:
        """Stop caching, because there is another stream from now on."""
        self.keeps = False
        self.release()


# ---- pinned host memory: which memory is pinned, and which copies still read it --------------------------------------


class HostBlock:
    """A piece of pinned memory that NumPy arrays refer to. owner: frees the memory."""

    def __init__(self, owner: Any, address: int, nbytes: int) -> None:
        self.owner = owner
        self.__array_interface__ = {"data": (address, False), "shape": (nbytes,), "typestr": "|u1", "version": 3}


class Pins:
    """The pinned memory of a runtime.

    reads: copies that may not have ended yet: the event of their end and the array that they read.
    """

    def __init__(self) -> None:
        self.ends: dict[int, int] = {}  # maps the address of a block to its end
        self.reads: deque[tuple[Any, NDArray[Any]]] = deque()

    def array(self, owner: Any, address: int, nbytes: int) -> NDArray[np.uint8]:
        """Return a block as an array, and register it for `holds`."""
        block = HostBlock(owner, address, nbytes)
        self.ends[address] = address + nbytes
        weakref.finalize(block, self.ends.pop, address, None)
        return np.asarray(block)

    def holds(self, array: NDArray[Any]) -> bool:
        """Return whether all of an array is pinned."""
        first = array.ctypes.data
        return any(begin <= first and first + array.nbytes <= end for begin, end in list(self.ends.items()))

    def keep(self, event: Any, array: NDArray[Any]) -> None:
        """Keep an array alive until a copy has ended."""
        self.reads.append((event, array))
        while self.reads and self.reads[0][0].is_done:
            self.reads.popleft()
