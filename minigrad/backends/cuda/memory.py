"""Memory of a device: its tensors, copies to and from the host, and memory shared with other libraries.

A copy between host and device moves the whole span of a layout.  If the span is much larger than the elements, only the
elements are moved, packed.  A storage over foreign memory begins at the multiple of 16 bytes before it, and its layout
has the offset.  So the address determines the width of a load, as the offset of a view does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Backend
from minigrad.backends.cuda.runtime import LEGACY, DeviceBuffer, Runtime
from minigrad.backends.dlpack import Foreign, capsule_of
from minigrad.backends.host import pace
from minigrad.backends.launch import Launch, as_launch
from minigrad.core.allocator import Allocator
from minigrad.core.device import CPU, Device
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.requests import Copy
from minigrad.core.storage import Storage
from minigrad.errors import DeviceError, DTypeError, StorageError

ALIGNMENT = 16  # bytes of the widest load; every storage begins at a multiple of it
# Maximum number of unused elements that are copied too; with more of them, a kernel gathers the elements first.
SLACK = 4096


class DeviceAllocator(Allocator):
    """The allocator of one device.  The pool of the device gets a buffer back when its last reference disappears."""

    __slots__ = ("runtime",)

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    def allocate(self, numel: int, dtype: DType) -> Any:
        return self.runtime.allocate(numel, dtype.storage)

    def free(self, buffer: Any) -> None:
        """Do nothing: reference counting of the buffer's owner frees the memory."""


class Memory(Backend):
    """The part of the backend for memory on a CUDA device."""

    runtime: Runtime
    # The alignment of parts of a buffer in bytes; the offset of an argument determines the width of loads.
    alignment = ALIGNMENT
    dlpack_device = 2

    def allocate(self, numel: int, dtype: DType, device: Device) -> Storage:
        if device.kind == "cuda" and device.index:
            raise DeviceError(
                f"{device} cannot be used, because minigrad supports only the first CUDA device; pass device='cuda:0'",
                device=str(device),
            )
        return Storage(self.allocator.allocate(numel, dtype), dtype, device, self.allocator)

    @cached_property
    def allocator(self) -> DeviceAllocator:
        """The allocator of all storages except those over memory of other libraries."""
        return DeviceAllocator(self.runtime)

    def from_host(self, values: NDArray[Any], dtype: DType, device: Device) -> Storage:
        storage = self.allocate(values.size, dtype, device)
        self.runtime.copy_to_device(storage.buffer, values)
        return storage

    def to_host(self, storage: Storage) -> NDArray[Any]:
        return self.runtime.copy_to_host(storage.buffer)

    def synchronize(self) -> None:
        self.runtime.synchronize()

    def part(self, buffer: DeviceBuffer, start: int, numel: int | None, dtype: DType) -> DeviceBuffer:
        if not start and numel is None:
            return buffer
        size = (buffer.nbytes - start) // dtype.itemsize if numel is None else numel
        return self.runtime.part(buffer, start, size, dtype.storage)

    def apart(self, buffer: DeviceBuffer, others: Sequence[DeviceBuffer]) -> DeviceBuffer:
        if all(other.owner is not buffer.owner for other in others):
            return buffer
        result = self.runtime.allocate(buffer.size, buffer.dtype)
        self.runtime.copy_to_device(result, self.runtime.copy_to_host(buffer))
        return result

    # ---- copies to and from the host

    def seen(self, storage: Storage, layout: Layout) -> tuple[NDArray[Any], Layout]:
        spec = Spec(layout, storage.dtype)
        return self.bring(storage.buffer, spec), self.sent(spec).layout

    def sent(self, spec: Spec) -> Spec:
        layout = spec.layout
        if scattered(layout):
            return Spec(Layout.contiguous(layout.shape), spec.dtype)
        return Spec(Layout.make(layout.shape, layout.strides, layout.offset - layout.span()[0]), spec.dtype)

    def taken(self, spec: Spec) -> Spec:
        return self.sent(spec)

    def bring(self, buffer: DeviceBuffer, spec: Spec) -> NDArray[Any]:
        """Copy the memory that the layout of `sent(spec)` describes to the host."""
        if not scattered(spec.layout):
            return self.runtime.copy_to_host(buffer, *spec.layout.span())
        row = self.runtime.allocate(spec.layout.numel, spec.dtype.storage)
        self.prepare(Copy(), self.sent(spec), spec)(buffer, row)
        return self.runtime.copy_to_host(row)

    def sending(self, launch: Launch, specs: tuple[Spec, ...]) -> Launch:
        """Return a launch that copies its operands to the host first."""

        def run(*buffers: Any) -> Any:
            *operands, out = buffers
            return launch.call(*[self.bring(buffer, spec) for buffer, spec in zip(operands, specs, strict=True)], out)

        return as_launch(run, launch.arguments, "copy_to_host")

    def receiving(self, launch: Launch, specs: tuple[Spec, ...]) -> Launch:
        """Return a launch that copies its operands from the host first.

        A plain copy goes directly to its target.
        """

        def position(array: NDArray[Any], out: Any) -> None:
            self.runtime.copy_to_device(out, part_of(array, specs[0].layout), pace.waits)

        arguments = launch.arguments
        if is_plain_copy(launch):
            return as_launch(position, arguments, "copy_to_device")

        def run(*buffers: Any) -> Any:
            *operands, out = buffers
            moved = []
            for array, spec in zip(operands, specs, strict=True):
                part = part_of(array, spec.layout)
                buffer = self.runtime.allocate(part.size, part.dtype)
                self.runtime.copy_to_device(buffer, part, pace.waits)
                moved.append(buffer)
            return launch.call(*moved, out)

        return as_launch(run, arguments, "copy_to_device")

    def pinned(self, numel: int, dtype: DType) -> Storage:
        return Storage(self.runtime.pinned(numel * dtype.itemsize).view(dtype.storage), dtype, CPU)

    def is_pinned(self, storage: Storage) -> bool:
        pins = self.runtime.pins
        return isinstance(storage.buffer, np.ndarray) and pins.holds(storage.buffer)

    # ---- other libraries

    def capsule(self, storage: Storage, layout: Layout, *, stream: Any, versioned: bool, readonly: bool) -> Any:
        """Return the DLPack capsule of device memory.

        stream: DLPack's number of the consumer's stream; None is the legacy default stream, -1 requests no order.
        """
        if stream == 0:
            raise StorageError(
                "__dlpack__: stream must not be 0, because 0 can mean two different streams; pass 1 for the legacy "
                "default stream, or 2 for the default stream of each thread",
                op="dlpack",
            )
        ours = self.runtime.stream
        if stream != -1 and (stream or LEGACY) != int(ours.handle):
            self.runtime.foreign_stream(stream or LEGACY).wait(self.runtime.timed(ours, False))
        buffer = storage.buffer
        return capsule_of(
            buffer, buffer.address, layout, storage.dtype, (self.dlpack_device, storage.device.index),
            versioned=versioned, readonly=readonly,
        )  # fmt: skip

    def array_interface(self, storage: Storage, layout: Layout) -> dict[str, Any] | None:
        dtype = storage.dtype
        if dtype.name == "bfloat16":
            return None  # the protocol `__cuda_array_interface__` has no name for bfloat16
        size = dtype.itemsize
        return {
            "shape": layout.shape, "strides": tuple(s * size for s in layout.strides), "typestr": dtype.numpy.str,
            "data": (storage.buffer.address + layout.offset * size, storage.tracked is True), "version": 3,
            "stream": int(self.runtime.stream.handle),
        }  # fmt: skip

    def adopt(self, source: Any, device: Device) -> tuple[Storage, Layout]:
        if hasattr(source, "__dlpack__"):
            arguments = {"stream": int(self.runtime.stream.handle)}
            try:
                capsule = source.__dlpack__(max_version=(1, 0), **arguments)
            except TypeError:  # the producer implements a version of DLPack before 1.0
                capsule = source.__dlpack__(**arguments)
            result = Foreign(capsule)
            return self.adopted(result, result.address, result.layout, result.dtype, result.readonly, device)
        interface = source.__cuda_array_interface__
        stream = interface.get("stream")
        if stream is not None and stream != int(self.runtime.stream.handle):
            theirs = self.runtime.foreign_stream(stream)
            self.runtime.stream.wait(self.runtime.timed(theirs, False))
        typed = np.dtype(interface["typestr"])
        if not typed.isnative or interface.get("mask") is not None:
            raise DTypeError(
                "from_dlpack: expected an array in native byte order and without a mask, got another array; copy the "
                "array first",
                op="from_dlpack",
            )
        dtype, shape = as_dtype(typed), tuple(interface["shape"])
        steps = interface.get("strides")
        if steps is not None and any(s % dtype.itemsize for s in steps):
            raise StorageError(
                f"from_dlpack: byte strides must be multiples of {dtype.itemsize}, got {steps}; copy the array first"
            )
        strides = None if steps is None else tuple(s // dtype.itemsize for s in steps)
        layout = Layout.contiguous(shape) if strides is None else Layout.make(shape, strides, 0)
        address, readonly = interface["data"]
        return self.adopted(source, address, layout, dtype, readonly, device)

    def adopted(
        self, owner: Any, address: int, layout: Layout, dtype: DType, readonly: bool, device: Device
    ) -> tuple[Storage, Layout]:
        """Return a storage over foreign memory, and the layout of the elements at the address."""
        size = dtype.itemsize
        if readonly:
            raise StorageError(
                "from_dlpack: expected writable memory, got read-only memory; copy the array first", readonly=True
            )
        if not layout.numel:
            return self.allocate(0, dtype, device), Layout.contiguous(layout.shape)
        low, end = layout.span()
        first = address + low * size
        before = first % ALIGNMENT
        if before % size:
            raise StorageError(
                f"from_dlpack: the address of {dtype} memory must be a multiple of {size}, got {address:#x}; copy the "
                "array first"
            )
        count = before // size + end - low
        buffer = self.runtime.adopt(owner, first - before, count, dtype.storage)
        return Storage(buffer, dtype, device), Layout.make(layout.shape, layout.strides, before // size - low)


def is_plain_copy(launch: Launch) -> bool:
    """Return whether a launch copies bytes, from the beginning of one buffer to the beginning of another."""
    if len(launch.parts) != 1 or not isinstance(launch.parts[0].request, Copy):
        return False
    a, out = launch.parts[0].specs
    return a.dtype is out.dtype and a.layout is out.layout is Layout.contiguous(out.shape)


def scattered(layout: Layout) -> bool:
    """Return whether a layout spans so much more memory than its elements that they are gathered first."""
    low, end = layout.span()
    return end - low > 2 * layout.numel + SLACK


def part_of(array: NDArray[Any], layout: Layout) -> NDArray[Any]:
    """Return the part of host memory that the layout of `taken` describes."""
    low, end = layout.span()
    if not scattered(layout):
        return array[low:end]
    steps = tuple(s * array.itemsize for s in layout.strides)
    shown = np.lib.stride_tricks.as_strided(array[layout.offset :], layout.shape, steps)
    return np.ascontiguousarray(shown).reshape(-1)
