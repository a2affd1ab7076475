"""Host memory: allocation and copies, which the CPU and the reference backend share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from minigrad.backends.base import Backend
from minigrad.core.allocator import get_allocator
from minigrad.core.device import Device
from minigrad.core.dtype import DType
from minigrad.core.storage import Storage


class HostMemory(Backend):
    """The functions for host memory, which the CPU and the reference backend share."""

    def allocate(self, numel: int, dtype: DType, device: Device) -> Storage:
        allocator = get_allocator(device.kind)
        return Storage(allocator.allocate(numel, dtype), dtype, device, allocator, numel)

    def maker(self, numel: int, dtype: DType, device: Device) -> Callable[[], Storage]:
        return Storage.maker(numel, dtype, device, get_allocator(device.kind))

    def from_host(self, values: NDArray[Any], dtype: DType, device: Device) -> Storage:
        storage = self.allocate(values.size, dtype, device)
        storage.buffer[: values.size] = values
        return storage

    def to_host(self, storage: Storage) -> NDArray[Any]:
        return storage.buffer
