"""Memory of the simulator: every access is checked before it is made.

The simulator reports an index beyond the end, a read of an unwritten element, and a race: two threads access one
element without a barrier between them, and one of them writes.  An access is identified by its launch, its block, the
counts of earlier barriers of the block and of the warp, and its thread.
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any, NamedTuple

import numpy as np

from minigrad.errors import KernelError

REMEDIES = {  # the end of the message of a fault, by kind
    "bounds": "compare the index with the size first",
    "unwritten": "write the element before this read",
    "race": "call cuda.syncthreads() between the two accesses",
    "misaligned": "use an index that is a multiple of the width",
    "divergence": "let all threads reach the same barrier",
}
POISON = 0xAB  # byte that fills unwritten memory: -1.2e-12 as a float32


class Access(NamedTuple):
    """Progress of a thread: launch, block and its barriers so far, warp and its barriers, the thread itself."""

    launch: int
    block: int
    barriers: int
    warp: int
    syncs: int
    thread: int

    def meets(self, other: Access) -> bool:
        """Return whether the order of two accesses is undefined."""
        if self.launch != other.launch or self[1:] == other[1:]:
            return False
        if self.block != other.block:
            return True
        same_warp = self.warp == other.warp
        ordered = self.barriers != other.barriers or (same_warp and self.syncs != other.syncs)
        return not ordered and self.thread != other.thread

    def __str__(self) -> str:
        return f"thread {self.thread} of block {self.block}"


class Notice(KernelError):
    """A fault that the simulator reports. kind: "bounds", "unwritten", "race", "misaligned" or "divergence"."""


class Trace:
    """The last accesses to an element: the last write, whether this write was atomic, and the reads after the write."""

    __slots__ = ("atomic", "reads", "write")

    def __init__(self) -> None:
        self.write: Access | None = None
        self.atomic = False
        self.reads: dict[tuple[int, int], Access] = {}


class Region:
    """A piece of memory, its written elements, and the last accesses to them.

    address: the address of foreign memory, which counts as written.
    """

    def __init__(self, nbytes: int, name: str, address: int = 0) -> None:
        if address:
            self.bytes = np.frombuffer(memoryview((ctypes.c_uint8 * nbytes).from_address(address)), np.uint8)
        else:
            block = np.full(nbytes + 256, POISON, np.uint8)
            start = -block.ctypes.data % 256
            self.bytes = block[start : start + nbytes]
        self.address = int(self.bytes.ctypes.data)
        self.stamps = np.full(nbytes, int(address != 0), np.int64)  # the launch that wrote each byte, 1 for the host
        self.traces: dict[int, Trace] = {}
        self.launch = 0  # the launch that made these traces
        self.name = name

    def part(self, start: int, nbytes: int, name: str) -> Region:
        """Return some of the bytes as a region; a write into it is also a write into this region."""
        result = Region.__new__(Region)
        result.bytes, result.stamps = self.bytes[start : start + nbytes], self.stamps[start : start + nbytes]
        result.address, result.name = self.address + start, name
        result.traces, result.launch = {}, 0
        return result

    def fill(self, values: np.ndarray[Any, Any], launch: int) -> None:
        """Copy values from the host."""
        data = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
        self.bytes[: data.size] = data
        self.stamps[: data.size] = max(1, launch)


class Cells:
    """Elements of a region as a kernel sees them: a pointer, or an array of some shape."""

    def __init__(self, region: Region, dtype: np.dtype[Any], words: Any, shape: tuple[int, ...] = ()):
        self.region, self.dtype, self.words, self.shape = region, dtype, words, shape
        self.size = region.bytes.size // dtype.itemsize
        self.elements = region.bytes[: self.size * dtype.itemsize].view(dtype)

    def position(self, index: Any) -> int:
        """Return the flat position of an index.  Raise Notice if it does not exist."""
        if not self.shape and not isinstance(index, tuple) and 0 <= index < self.size:
            return int(index)
        indices = index if isinstance(index, tuple) else (index,)
        sizes = self.shape or (self.size,)
        if len(indices) != len(sizes):
            raise self.notice("bounds", f"has {len(sizes)} dims, but the index has {len(indices)} entries")
        position = 0
        for i, size in zip(indices, sizes, strict=True):
            if not 0 <= i < size:
                raise self.notice("bounds", f"has {size} elements{self.along(indices)}, and {int(i)} is not among them")
            position = position * size + int(i)
        return position

    @staticmethod
    def along(indices: tuple[Any, ...]) -> str:
        return " along one dim" if len(indices) > 1 else ""

    def __getitem__(self, index: Any) -> Any:
        position = self.position(index)
        self.reading(position)
        return self.elements[position]

    def __setitem__(self, index: Any, value: Any) -> None:
        position = self.position(index)
        self.writing(position)
        self.elements[position] = value

    def load(self, index: Any, width: int) -> tuple[Any, ...]:
        """Return neighbours that one wide load reads."""
        self.aligned(index, width)
        return tuple(self[index + k] for k in range(width))

    def store(self, index: Any, values: tuple[Any, ...]) -> None:
        """Store neighbours by one wide store."""
        self.aligned(index, len(values))
        for k, value in enumerate(values):
            self[index + k] = value

    def promise(self, index: Any) -> None:
        """Record a pending copy to an element; no thread may read the element before."""
        position = self.position(index)
        self.writing(position)
        self.region.stamps[position * self.dtype.itemsize] = 0

    def aligned(self, index: Any, width: int) -> None:
        """Raise Notice for a wide access whose address is not a multiple of its size."""
        size = self.dtype.itemsize
        if (self.region.address + int(index) * size) % (width * size):
            raise self.notice("misaligned", f"is read or written {width} elements at once at {int(index)}")

    def add(self, index: Any, value: Any) -> Any:
        """Add atomically, and return the previous value."""
        return self.update(index, lambda old: old + value)

    def update(self, index: Any, function: Any) -> Any:
        """Apply a function atomically, and return the previous value."""
        position = self.position(index)
        self.reading(position, atomic=True)
        self.writing(position, atomic=True)
        old = self.elements[position]
        self.elements[position] = function(old)
        return old

    def reading(self, position: int, atomic: bool = False) -> None:
        """Record a read.  Raise Notice for an element that was never written or that another thread writes."""
        at = position * self.dtype.itemsize
        if not self.region.stamps[at]:
            raise self.notice("unwritten", f"is read at {position}, which was never written")
        now: Access = self.words.access
        trace = self.trace(at)
        if trace.write is not None and not (atomic and trace.atomic) and now.meets(trace.write):
            raise self.notice("race", f"is read at {position}, where {trace.write} has written since the last barrier")
        if not atomic:
            trace.reads[now.block, now.thread] = now

    def writing(self, position: int, atomic: bool = False) -> None:
        """Record a write.

        Raise Notice for an element that another thread reads or writes.
        """
        at = position * self.dtype.itemsize
        launch = self.words.launch
        self.region.stamps[at : at + self.dtype.itemsize] = launch
        now: Access = self.words.access
        trace = self.trace(at)
        if trace.write is not None and not (atomic and trace.atomic) and now.meets(trace.write):
            raise self.notice(
                "race", f"is written at {position}, where {trace.write} has written since the last barrier"
            )
        for read in trace.reads.values():
            if now.meets(read):
                raise self.notice("race", f"is written at {position}, where {read} has read since the last barrier")
        trace.write, trace.atomic = now, atomic
        trace.reads.clear()

    def trace(self, at: int) -> Trace:
        """Return the last accesses to an element in this launch."""
        region = self.region
        if region.launch != self.words.launch:
            region.traces, region.launch = {}, self.words.launch
        result = region.traces.get(at)
        if result is None:
            result = region.traces[at] = Trace()
        return result

    def notice(self, kind: str, what: str) -> Notice:
        """Return the error for a fault at these elements."""
        return Notice(
            f"{self.words.kernel}: {self.region.name} {what} ({self.words.access}); {REMEDIES[kind]}", kind=kind
        )


NOWHERE = Region(0, "a local array")  # the region of arrays whose elements are Python objects, without bytes


class Own(Cells):
    """An array that only one thread can access: its bounds and unwritten elements are checked, races are not."""

    def __init__(self, dtype: np.dtype[Any], words: Any, shape: tuple[int, ...]):
        self.region, self.dtype, self.words, self.shape = NOWHERE, dtype, words, shape
        self.size = prod(shape)
        self.items: list[Any] = [None] * self.size

    def __getitem__(self, index: Any) -> Any:
        position = index if not isinstance(index, tuple) and 0 <= index < self.size else self.position(index)
        result = self.items[position]
        if result is None:
            raise self.notice("unwritten", f"is read at {int(position)}, which was never written")
        return result

    def __setitem__(self, index: Any, value: Any) -> None:
        position = index if not isinstance(index, tuple) and 0 <= index < self.size else self.position(index)
        self.items[position] = self.dtype.type(value)

    def update(self, index: Any, function: Any) -> Any:
        old = self[index]
        self[index] = function(old)
        return old
