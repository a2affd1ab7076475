"""Pinned host memory, which a device reads directly: which memory is pinned, and which copies still read it."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
