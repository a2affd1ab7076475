"""Anonymous shared memory, and batches in it.

A segment is an open file without a path that two processes map.  The system frees the segment when neither process
maps it anymore, also after a crash.  It is not in /dev/shm, so the limit that containers set for /dev/shm does not
apply.  A batch is pickled with out-of-band buffers (protocol 5), and these buffers are in the segment.  The program
receives a copy, or the arrays in the segment themselves: then the segment is lent until the last array is freed.  A
child process that the program forks moves lent arrays to private memory at the same addresses.
"""

from __future__ import annotations

import ctypes
import io
import itertools
import math
import mmap
import os
import pickle
import threading
import weakref
from multiprocessing import reduction
from typing import Any, Final

import numpy as np

from minigrad.ops.creation import from_numpy
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor

ALIGNMENT: Final = 64  # alignment in bytes, the size of a cache line
LARGE: Final = 1 << 12  # minimum size in bytes of an array that processes share
SEGMENTS: Final = hasattr(os, "memfd_create")  # True on Linux; on other systems, batches are sent through pipes


def new_file(size: int) -> int:
    """Return the descriptor of a new file in memory; raise OSError if there is not enough memory.

    The bytes are reserved.  Otherwise the first write to missing memory would end the process with SIGBUS.
    """
    number = os.memfd_create("minigrad")
    try:
        os.posix_fallocate(number, 0, size)
    except OSError:
        os.close(number)
        raise
    return number


class Segment:
    """Memory that two processes share through the descriptor of its file."""

    def __init__(self, number: int, size: int) -> None:
        self.map = mmap.mmap(number, size)
        self.size = size
        self.loan: weakref.ref[Any] | None = None

    def write(self, buffers: list[Any]) -> list[tuple[int, int]]:
        """Write buffers one after another; return the offset and the length of each."""
        view, spans = memoryview(self.map), spans_of(buffers)
        for raw, (at, length) in zip(buffers, spans):
            view[at : at + length] = raw
        view.release()
        return spans

    def read(self, spans: list[tuple[int, int]]) -> list[Any]:
        """Return copies of the buffers, which are writable and share one allocation."""
        end = end_of(spans)
        copy = np.empty(end, np.uint8)
        copy[:] = np.frombuffer(self.map, np.uint8, end)
        return [copy[at : at + length] for at, length in spans]

    def lend(self, spans: list[tuple[int, int]]) -> list[Any]:
        """Return the buffers without a copy; the segment is lent until nothing refers to them anymore."""
        whole = np.frombuffer(self.map, np.uint8)  # each array on the segment refers to this array
        self.loan = weakref.ref(whole, returned)
        loans[id(self.loan)] = self
        return [whole[at : at + length] for at, length in spans]

    @property
    def lent(self) -> bool:
        """Return whether an array of the program is in this memory."""
        return self.loan is not None and self.loan() is not None

    def close(self) -> None:
        """Unmap the memory."""
        self.map.close()


def new_segment(size: int) -> tuple[int, Segment]:
    """Return the descriptor of a new file, and the file as a segment; raise OSError if there is not enough memory."""
    number = new_file(size)
    try:
        return number, Segment(number, size)
    except OSError:
        os.close(number)
        raise


loans: dict[int, Segment] = {}  # the lent segments by the id of their loan


def returned(loan: weakref.ref[Any]) -> None:
    """Forget a loan whose last array was freed."""
    loans.pop(id(loan), None)


def spans_of(buffers: list[memoryview]) -> list[tuple[int, int]]:
    """Return the offset and the length of each buffer, if buffers are written one after another."""
    ends = itertools.accumulate((padded(raw.nbytes) for raw in buffers), initial=0)
    return [(at, raw.nbytes) for at, raw in zip(ends, buffers)]


def end_of(spans: list[tuple[int, int]]) -> int:
    """Return the offset behind the last byte of buffers with the given offsets and lengths, in any order."""
    return max((at + length for at, length in spans), default=0)


def padded(size: int) -> int:
    """Round a size up to a multiple of ALIGNMENT, so that the next buffer is aligned."""
    return -(-size // ALIGNMENT) * ALIGNMENT


class Packer(pickle.Pickler):
    """A pickler that stores tensors and arrays out of band, including dtypes without the buffer protocol."""

    def reducer_override(self, obj: Any) -> Any:
        """Return the function and arguments that rebuild a CPU tensor or an array."""
        if type(obj) is Tensor and obj.device.kind == "cpu":
            return from_numpy, (host_array(obj.detach()),)
        if type(obj) is np.ndarray and not obj.dtype.hasobject and obj.dtype.isbuiltin == 2:
            flat = np.ascontiguousarray(obj).reshape(-1).view(np.uint8)
            return restored, (flat, obj.dtype, obj.shape)
        if type(obj) is np.ndarray and not obj.flags.c_contiguous and not obj.dtype.hasobject:
            return np.ascontiguousarray(obj).__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return NotImplemented


class ProcessPacker(Packer, reduction.ForkingPickler):
    """A packer for the arguments of a new process, including locks and queues."""


class Parcel:
    """An object that is sent to new processes, which map its large arrays copy-on-write, so the arrays exist once.

    Call `close` when all processes have started.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        self.number, self.size = -1, 0

    def __reduce__(self) -> Any:
        buffers: list[memoryview] = []
        file = io.BytesIO()
        ProcessPacker(file, pickle.HIGHEST_PROTOCOL, True, lambda buffer: put_aside(buffer, buffers)).dump(self.value)
        spans = spans_of(buffers)
        try:
            if buffers and SEGMENTS and self.number < 0:
                self.fill(buffers)
        except OSError:
            pass  # without shared memory, each process receives its own copy
        if self.number < 0:
            return unpacked, (file.getvalue(), [bytearray(buffer) for buffer in buffers])
        return delivered, (file.getvalue(), reduction.DupFd(self.number), self.size, spans)

    def fill(self, buffers: list[memoryview]) -> None:
        """Write the arrays to shared memory."""
        size = sum(padded(buffer.nbytes) for buffer in buffers)
        self.number, segment = new_segment(size)
        self.size = size
        segment.write(buffers)
        segment.close()

    def close(self) -> None:
        """Close the file; the processes have mapped it."""
        if self.number >= 0:
            os.close(self.number)
            self.number = -1


def put_aside(buffer: pickle.PickleBuffer, buffers: list[memoryview]) -> bool:
    """Store a large buffer out of band; return whether it stays in the pickle."""
    raw = buffer.raw()
    if raw.nbytes < LARGE:
        return True
    buffers.append(raw)
    return False


def delivered(data: bytes, file: Any, size: int, spans: list[tuple[int, int]]) -> Any:
    """Return the object of a parcel, in a new process."""
    number = file.detach()
    view = memoryview(mmap.mmap(number, size, mmap.MAP_PRIVATE))
    os.close(number)
    return unpacked(data, [view[at : at + length] for at, length in spans])


def restored(flat: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return bytes as an array with a given dtype and shape."""
    return flat.view(dtype).reshape(shape)


def packed(value: Any) -> tuple[bytes, list[memoryview]]:
    """Return a batch as a pickle and out-of-band buffers."""
    buffers: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    Packer(file, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append).dump(value)
    return file.getvalue(), [buffer.raw() for buffer in buffers]


def unpacked(data: bytes, buffers: list[Any]) -> Any:
    """Return the batch that a pickle and its buffers contain."""
    return pickle.loads(data, buffers=buffers)


# ---- lent segments when the program forks ----------------------------------------------------------------------------

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


# ---- arena -----------------------------------------------------------------------------------------------------------


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
    return np.asarray(buffer).__array_interface__["data"][0]
