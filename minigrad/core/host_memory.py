"""Memory from the system: flat arrays that begin at whole cache lines, and at offsets that spread large blocks."""

from __future__ import annotations

import mmap
from contextlib import suppress
from functools import cache
from itertools import count
from typing import Any

import numpy as np

from minigrad.core.dtype import DType
from minigrad.errors import StorageError

ALIGNMENT = 64
# At least GAP bytes before a buffer belong to no other buffer.  LLVM tests whether the result of a loop begins less
# than one vector step (at most 4 vectors of 64 bytes) after an operand.  If it does, the loop runs without vectors and
# sums in another order: the gradient of `cross_entropy` of (3, 8) differed in a bit in 166 of 1.4 million calls.
GAP = 256
# Blocks of LARGE bytes and more begin at offsets that rotate through a WINDOW of memory.  If the operands and the
# result of an op are a multiple of the WINDOW apart, their lines map to the same cache sets and memory banks.  1e6
# float32 added on two cores of a Zen 4: 84 us if they share sets and banks, 71 us if each is one STEP after the last.
# A STEP is a huge page of most systems: a block that began inside a huge page would keep all of it in memory.
LARGE, WINDOW, STEP = 3 << 20, 8 << 20, 2 << 20


def last_try(nbytes: int, dtype: DType) -> np.ndarray[Any, Any]:
    """Return a buffer from the smallest block that holds it.  Raise StorageError if the system has no memory."""
    try:
        return aligned(nbytes, dtype.storage, spread=False)
    except (MemoryError, ValueError):  # NumPy raises ValueError for more bytes than an address can count
        raise StorageError(
            f"allocate: the system has no memory for {nbytes // dtype.itemsize} elements of {dtype} ({nbytes} bytes); "
            "use a smaller shape or dtype", nbytes=nbytes,
        ) from None  # fmt: skip


@cache
def heap_trimmer() -> Any:
    """Return the function malloc_trim of the C library, or None if the library (not glibc) has no such function.

    malloc_trim returns free memory to the operating system. Without it, the heap returns only the memory above
    its last block in use: after tensors of 12,000 sizes, a process with an empty cache still used 452 MB.
    """
    import ctypes  # ctypes is imported at the first use, because few programs empty the cache

    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library than glibc, or Windows
        return None


_turns = count()


def aligned(nbytes: int, storage: np.dtype[Any], spread: bool = True) -> np.ndarray[Any, Any]:
    """Return a buffer at a multiple of ALIGNMENT; a large one, with `spread`, is at its offset in the WINDOW."""
    large = spread and nbytes >= LARGE
    # The addresses before the buffer of a large block are not used, so they take no memory.
    block: Any = _mapped(nbytes + GAP + WINDOW) if large else np.empty(nbytes + GAP + ALIGNMENT, np.uint8).data
    first = np.frombuffer(block, np.uint8, 1).ctypes.data + GAP
    start = GAP + ((next(_turns) * STEP - first) % WINDOW if large else -first % ALIGNMENT)
    # The array is made from a memoryview or a map, so that a NumPy view of the buffer has the buffer as its base, not
    # the block. Then `free` can detect the view by the reference count of the buffer.
    return np.frombuffer(block, storage, nbytes // storage.itemsize, start)


def _mapped(nbytes: int) -> mmap.mmap:
    """Map memory directly from the system.

    Pages that are not written use only addresses, whereas a C library writes metadata before each block.
    """
    try:
        if hasattr(mmap, "MAP_ANONYMOUS"):
            block = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        else:
            block = mmap.mmap(-1, nbytes)
    except (OSError, OverflowError) as error:
        raise MemoryError(str(error)) from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system without huge pages raises OSError
            block.madvise(mmap.MADV_HUGEPAGE)
    return block
