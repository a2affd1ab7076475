"""Transfers between the memory of a device, host memory and other libraries.

The defaults are for host memory, where nothing has to be done; a device with separate memory overrides them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from minigrad.backends.launch import Launch
from minigrad.core.device import Device
from minigrad.core.dtype import DType, cast_array, to_logical
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.storage import Storage
from minigrad.errors import DeviceError


class Transfers:
    """The part of a backend that copies to and from other devices and libraries."""

    from_host: Any  # the backend's function that copies from the host
    to_host: Any

    def constant(self, values: NDArray[Any], dtype: DType, device: Device) -> Storage:
        """Return storage as `from_host` does, for memory that is never written.

        Many calls may read this memory.
        """
        return self.from_host(values, dtype, device)

    def converted(self, values: NDArray[Any], dtype: DType, device: Device) -> Storage:
        """Return storage with the elements of a flat array of any dtype, converted by `cast_array`."""
        return self.from_host(cast_array(values, dtype), dtype, device)

    # ---- transfers to other devices, through host memory

    def sent(self, spec: Spec) -> Spec:
        """Return the spec of an operand after `sending`: its layout in host memory."""
        return spec

    def taken(self, spec: Spec) -> Spec:
        """Return the spec of an operand after `receiving`, given its spec in host memory."""
        return spec

    def sending(self, launch: Launch, specs: tuple[Spec, ...]) -> Launch:
        """Return a launch on operands of this device, given a backend's launch on host memory."""
        return launch

    def receiving(self, launch: Launch, specs: tuple[Spec, ...]) -> Launch:
        """Return a launch of this backend on operands in host memory; the result is in memory of the backend."""
        return launch

    def seen(self, storage: Storage, layout: Layout) -> tuple[NDArray[Any], Layout]:
        """Return host memory with at least the elements of a view, and the layout of the view in this memory."""
        return self.to_host(storage), layout

    def element(self, storage: Storage, layout: Layout) -> Any:
        """Return the only element that a layout shows, as a Python number."""
        stored, layout = self.seen(storage, layout)
        if storage.dtype.storage is not storage.dtype.numpy:
            stored = to_logical(stored, storage.dtype)
        return stored.item(layout.offset)

    def array(self, storage: Storage, layout: Layout) -> NDArray[Any]:
        """Return the elements that a layout shows, as an array in the logical dtype; host memory is shared."""
        stored, layout = self.seen(storage, layout)
        buffer = to_logical(stored, storage.dtype)
        if layout.is_contiguous:  # a reshaped slice takes a tenth of the time of as_strided
            return buffer[layout.offset : layout.offset + layout.numel].reshape(layout.shape)
        view = buffer[layout.offset : layout.offset + 1] if layout.numel else buffer[:0]
        return as_strided(view, layout.shape, tuple(s * buffer.itemsize for s in layout.strides))

    # ---- other libraries; host memory needs nothing here, since NumPy opens it

    dlpack_device = 1  # DLPack's number for the kind of memory: 1 is the memory of the CPU

    def apart(self, buffer: Any, others: Sequence[Any]) -> Any:
        """Return a buffer, or a copy of it if it shares memory with one of the others."""
        return buffer.copy() if any(np.may_share_memory(buffer, other) for other in others) else buffer

    def adopt(self, source: Any, device: Device) -> tuple[Storage, Layout]:
        """Share memory of another library: of an object with DLPack or this device's array protocol."""
        raise DeviceError(
            f"from_dlpack: {device} cannot share memory of other libraries; copy the data with mg.tensor(array, "
            f"device='{device}')",
            op="from_dlpack",
        )

    def capsule(self, storage: Storage, layout: Layout, *, stream: Any, versioned: bool, readonly: bool) -> Any:
        """Return the DLPack capsule of device memory, safe to use in the order of the consumer's stream."""
        raise DeviceError(
            f"__dlpack__: memory on {storage.device} cannot be shared with other libraries; export x.cpu()", op="dlpack"
        )

    def array_interface(self, storage: Storage, layout: Layout) -> dict[str, Any] | None:
        """Return the description of memory for this device's array protocol, or None if there is no such protocol."""
        return None

    def pinned(self, numel: int, dtype: DType) -> Storage:
        """Return storage in the host memory that is fastest for copies to and from this device."""
        raise DeviceError(
            f"pin_memory: {type(self).__name__} copies without pinned memory; remove the call of pin_memory()",
            op="pin_memory",
        )

    def is_pinned(self, storage: Storage) -> bool:
        """Return whether `pinned` returned this storage."""
        return False
