"""Storages: memory with a dtype and a device, and a count of the writes to it.

A `Storage` is a flat buffer with a dtype and a device; a tensor and its views share one storage.  Its version counts
writes, so that backward can detect a saved value that has changed.  When the last reference to a storage disappears,
the buffer returns to its allocator immediately, by reference counting alone.
"""

from __future__ import annotations

import operator
import os
import weakref
from collections.abc import Callable, Sequence
from sys import getrefcount
from threading import Lock
from typing import Any

import numpy as np

from minigrad.core.allocator import Allocator, Block, CpuAllocator, Key
from minigrad.core.device import CPU, Device
from minigrad.core.dtype import (
    DType,
    DTypeLike,
    as_dtype,
    bool_,
    cast_array,
    default_complex,
    default_float,
    fit_number,
    int64,
    to_logical,
    uint8,
)
from minigrad.core.host_memory import aligned
from minigrad.errors import DeviceError, IndexOutOfRange, StorageError

SEATED = 1  # counts as true, but is a different object from True


class Storage(Block):
    """Own a buffer with a dtype and a device until it returns to its allocator, and count the writes to it.

    tracked: whether a gradient may flow through a tensor on this storage.  The value never returns to False, so that
        writes to detached tensors are checked too.  SEATED means that gradients flow only through a placeholder of a
        transform.

    keeper: a weak reference to the `Pair` of the call plan that keeps the storage for a later result, or None.

    The buffer may be larger than the requested number of elements.  No tensor may contain the additional elements,
    because they may have values of freed tensors.  `numel` does not count them.
    """

    # `others`: weak references to the storages over this memory with another dtype, by dtype; set by `seen_as`.
    __slots__ = ("__weakref__", "device", "dtype", "file", "keeper", "others", "tracked", "version")
    others: dict[DType, Any]
    file: str  # the path of a file whose memory is shared; set by `from_file`

    def __init__(
        self, buffer: Any, dtype: DType | None = None, device: Device = CPU, allocator: Allocator | None = None,
        numel: int | None = None,
    ) -> None:  # fmt: skip
        """Own a buffer.  As in PyTorch, users pass a number of elements or a sequence of numbers: `mg.Storage(3)`."""
        if dtype is None:
            dtype = default_float()
            buffer = (
                Storage.of(*buffer, dtype=dtype).buffer
                if isinstance(buffer, Sequence)
                else aligned(operator.index(buffer) * dtype.itemsize, dtype.storage, spread=False)
            )
        self.key = 0 if numel is None else Key.of(0, numel)
        self.allocator = allocator
        self.buffer = buffer
        self.dtype = dtype
        self.device = device
        self.version = 0
        self.keeper: Any = None
        self.tracked: int = False

    def __call__(self) -> Storage:
        """Return the storage itself: `x.storage()` is a method in PyTorch, and `x.storage` is an attribute here."""
        return self

    def tolist(self) -> list[Any]:
        """Return all elements as Python numbers, as PyTorch's `x.storage().tolist()`."""
        return [self[k] for k in range(self.numel)]

    @staticmethod
    def maker(numel: int, dtype: DType, device: Device, allocator: Allocator) -> Callable[[], Storage]:
        """Return a function that makes one uninitialised storage of this size per call, for a call plan."""
        if not isinstance(allocator, CpuAllocator) or numel <= 0:
            return lambda: Storage(allocator.allocate(numel, dtype), dtype, device, allocator, numel)
        return allocator.storages(numel, dtype, device, Storage)

    @staticmethod
    def of(*numbers: bool | int | float | complex, dtype: DTypeLike | None = None) -> Storage:
        """Return a new storage on the CPU that contains exactly these numbers.

        >>> Storage.of(1, 2, 3, dtype="f32")[2]
        3.0
        """
        wanted = _common_dtype(numbers) if dtype is None else as_dtype(dtype)
        fitted = [fit_number(number, wanted) for number in numbers]
        logical = np.array(fitted, dtype=np.float64 if wanted.is_float else wanted.numpy)
        values = cast_array(logical, wanted)
        buffer = aligned(values.nbytes, wanted.storage, spread=False)
        buffer[:] = values
        return Storage(buffer, wanted, CPU)

    @staticmethod
    def from_buffer(data: Any, dtype: DTypeLike, device: Device = CPU) -> Storage:
        """Return a storage over the memory of another object: a bytearray, an array or a memory map.

        Writes change the memory of that object.

        Raises StorageError if the memory is read-only, or its size is not a multiple of the element size.
        """
        wanted = as_dtype(dtype)
        view = memoryview(data)
        if view.readonly:
            raise StorageError(
                "from_buffer: expected writable memory, got read-only memory; copy it first, for example with "
                "bytearray(buffer)"
            )
        if not view.c_contiguous or view.nbytes % wanted.itemsize:
            raise StorageError(
                f"from_buffer: expected one contiguous run of {wanted} elements of {wanted.itemsize} bytes, got "
                f"{view.nbytes} bytes; copy the memory or pass another dtype", dtype=wanted, nbytes=view.nbytes,
            )  # fmt: skip
        return Storage(np.frombuffer(view, wanted.storage), wanted, device)

    @staticmethod
    def from_file(path: str | os.PathLike[str], dtype: DTypeLike, numel: int | None = None, *, shared: bool) -> Storage:
        """Return a storage over a memory-mapped file: its first `numel` elements, or all elements.

        shared: whether writes change the file, which then grows to `numel` elements or is created; if False, only this
        process sees its writes.

        Raises StorageError if the file is empty or too short, or its size is not a multiple of the element size.
        """
        wanted = as_dtype(dtype)
        if shared and numel is not None:
            with open(path, "ab") as file:
                file.truncate(max(numel * wanted.itemsize, os.path.getsize(path)))
        size = os.path.getsize(path)
        needed = size if numel is None else numel * wanted.itemsize
        if not 0 < needed <= size or needed % wanted.itemsize:
            raise StorageError(
                f"from_file: expected {'whole' if numel is None else numel} {wanted} elements of {wanted.itemsize} "
                f"bytes, but {os.fspath(path)} has {size} bytes; pass another dtype or a smaller size",
                dtype=wanted,
                nbytes=size,
            )
        mapped = np.memmap(path, wanted.storage, "r+" if shared else "c", shape=(needed // wanted.itemsize,))
        storage = Storage.from_buffer(mapped, wanted)
        if shared:
            storage.file = os.fspath(path)
        return storage

    @property
    def filename(self) -> str | None:
        """The path of the file that writes change, or None."""
        return getattr(self.memory, "file", None)

    @property
    def numel(self) -> int:
        """The number of elements that were requested; the memory behind them belongs to no tensor."""
        key = self.key
        return key.numel if isinstance(key, Key) else int(self.buffer.size)

    def size(self) -> int:
        """Return the number of elements, as `numel`."""
        return self.numel

    @property
    def memory(self) -> Storage:
        """The storage that owns the memory: itself, unless it shows the memory of another one with another dtype."""
        return self

    def seen_as(self, dtype: DType) -> Storage:
        """Return the storage over the same memory with another dtype; all views with this dtype share it."""
        whole = self.memory
        if whole.dtype is dtype:
            return whole
        with _others:
            made = getattr(whole, "others", {})
            shown = made[dtype]() if dtype in made else None
            if shown is None:
                shown = OtherDtype(whole, dtype)
                whole.others = made | {dtype: weakref.ref(shown)}
        return shown

    def read_as(self, dtype: DType) -> Storage:
        """Return the storage for elements of a dtype: the bytes of other elements are read as such elements."""
        bytes_of_others = self.dtype is uint8 and self.memory is not self
        return self.seen_as(dtype) if bytes_of_others and self.numel % dtype.itemsize == 0 else self

    def clone(self) -> Storage:
        """Return a copy of a storage on the host."""
        return Storage(self.buffer[: self.numel].copy(), self.dtype, self.device)

    def untyped(self) -> Storage:
        """Return the storage as bytes, as `x.untyped_storage()` does."""
        return self.seen_as(uint8)

    @property
    def nbytes(self) -> int:
        """The number of bytes of the buffer, including the memory behind its elements."""
        return int(self.buffer.nbytes)

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        for name in ("__array_interface__", "__cuda_array_interface__"):
            interface = getattr(self.buffer, name, None)
            if interface is not None:
                return int(interface["data"][0])
        raise DeviceError(
            f"data_ptr: a storage on {self.device} has no address; copy the tensor to the CPU first", device=self.device
        )

    def use_count(self) -> int:
        """Return how many variables, tensors and containers refer to this storage."""
        return getrefcount(self) - (self.keeper is not None) - _CALL_REFERENCES

    def bump(self) -> None:
        """Count a change of the contents."""
        self.version += 1

    def __sizeof__(self) -> int:
        """Return the number of bytes of the object and of its elements, for `sys.getsizeof`."""
        return super().__sizeof__() + self.numel * self.dtype.itemsize

    def __len__(self) -> int:
        """Return the number of elements."""
        return self.numel

    def __getitem__(self, index: Any) -> Any:
        """Return one element as a Python number, or a list of the elements of a slice.

        The index is checked.  This is slow and meant for inspection.
        """
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(self.numel))]
        if not isinstance(self.buffer, np.ndarray):
            raise DeviceError(
                f"storage: the elements of a storage on {self.device} cannot be read one by one; copy the tensor with "
                ".cpu() first"
            )
        size = self.numel
        if not -size <= index < size:
            raise IndexOutOfRange(
                f"storage: index must be from {-size} to {size - 1} for {size} elements, got {index}; pass a smaller "
                "index",
                index=index,
                size=size,
            )
        number: bool | int | float | complex = (
            to_logical(self.buffer[index : index + 1 or None], self.dtype).astype(self.dtype.compute)[0].item()
        )
        return number

    def __repr__(self) -> str:
        return f"Storage({self.numel} x {self.dtype}, device={self.device}, version={self.version})"


def _common_dtype(numbers: tuple[bool | int | float | complex, ...]) -> DType:
    if numbers and all(isinstance(number, bool) for number in numbers):
        return bool_
    if numbers and all(isinstance(number, int) for number in numbers):
        return int64
    return default_complex() if any(isinstance(number, complex) for number in numbers) else default_float()


_others = Lock()  # two threads that see one memory with another dtype share the storage
_CALL_REFERENCES = 0
_held_once = Storage(np.empty(0, np.bool_), bool_, CPU)
# A method call adds references; their number depends on the Python version.
_CALL_REFERENCES = _held_once.use_count() - 1
del _held_once


class OtherDtype(Storage):
    """The memory of a storage with another dtype: for views of the parts of complex numbers.

    The count of writes and the mark of tracking are those of the whole storage, so that a write through either is
    seen by both.
    """

    __slots__ = ("whole",)

    def __init__(self, whole: Storage, dtype: DType) -> None:
        self.whole = whole
        super().__init__(whole.buffer.view(dtype.storage), dtype, whole.device)

    @property
    def memory(self) -> Storage:
        return self.whole

    def clone(self) -> Storage:
        """Return a copy of the whole with the dtype of this view, so that bytes can be read as elements again."""
        return self.whole.clone().seen_as(self.dtype)

    @property
    def numel(self) -> int:
        """The number of elements in those of the whole."""
        return self.whole.numel * self.whole.dtype.itemsize // self.dtype.itemsize

    def __del__(self, *defaults: Any) -> None:
        self.buffer = None  # the allocator takes the memory of the whole back only if no array refers to it

    @property
    def version(self) -> int:
        return self.whole.version

    @version.setter
    def version(self, count: int) -> None:
        if count:  # the constructor sets 0
            self.whole.version = count

    @property
    def tracked(self) -> int:
        return self.whole.tracked

    @tracked.setter
    def tracked(self, value: int) -> None:
        if value:
            self.whole.tracked = value


class ConstantStorage(Storage):
    """A storage that many results may share, such as that of the number 2.0 in `x * 2.0`; no op may write into it."""

    __slots__ = ()
