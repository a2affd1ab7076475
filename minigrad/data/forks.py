"""Lent segments when the program forks: each process has the arrays for itself afterwards, like all other memory.

A batch may be in memory that a worker shares.  The child process moves the arrays to private memory at the same
addresses.  Then it may keep a batch longer than its parent, and neither process sees what the other one writes.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from typing import Any, Final

import numpy as np

from minigrad.data.memory import SEGMENTS, Segment, loans

FIXED: Final = 0x10  # Linux's MAP_FIXED, which the module mmap lacks: replace the memory at the given address
PRIVATE: Final = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | FIXED if SEGMENTS else 0


class _Copies(threading.local):
    """The contents of the lent segments while a thread forks."""

    def __init__(self) -> None:
        self.of: list[tuple[Segment, Any]] = []


_copies: Final = _Copies()


def before() -> None:
    """Copy the lent segments.  The parent and its workers may write to an array before the child has moved it."""
    _copies.of = [(each, np.frombuffer(each.map, np.uint8).copy()) for each in list(loans.values()) if each.lent]


def after_in_parent() -> None:
    """Free the copies."""
    _copies.of.clear()


def after_in_child() -> None:
    """Replace the memory of each lent segment by private memory with the same contents."""
    for segment, copy in _copies.of:
        whole = np.frombuffer(segment.map, np.uint8)
        address = whole.__array_interface__["data"][0]
        if _mmap(address, segment.size, mmap.PROT_READ | mmap.PROT_WRITE, PRIVATE, -1, 0) != address:
            raise OSError(ctypes.get_errno(), "DataLoader: cannot move a batch to private memory")
        whole[:] = copy
    _copies.of.clear()
    loans.clear()


if SEGMENTS and hasattr(os, "register_at_fork"):
    # The child must not load libraries: another thread of its parent may have held the lock of the loader.
    _mmap: Any = ctypes.CDLL(None, use_errno=True).mmap
    _mmap.restype = ctypes.c_void_p
    _mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_ssize_t
    os.register_at_fork(before=before, after_in_parent=after_in_parent, after_in_child=after_in_child)
