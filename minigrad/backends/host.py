"""Host memory: allocation and copies, which the CPU and the reference backend share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Backend
from minigrad.config import listeners
from minigrad.core.allocator import get_allocator
from minigrad.core.device import Device
from minigrad.core.dtype import DType, as_dtype, casts_as_numpy
from minigrad.core.storage import Storage

FEW = 4096  # for storages of at most this many elements, the functions that make them are cached


@lru_cache(maxsize=512)
def maker_of(numel: int, dtype: DType, device: Device) -> Callable[[], Storage]:
    """Return a function that makes a storage, which takes a third of the time of `Storage()`."""
    return Storage.maker(numel, dtype, device, get_allocator(device.kind))


listeners.append(maker_of.cache_clear)


class HostMemory(Backend):
    """The functions for host memory, which the CPU and the reference backend share."""

    def allocate(self, numel: int, dtype: DType, device: Device) -> Storage:
        if numel <= FEW:
            return maker_of(numel, dtype, device)()
        allocator = get_allocator(device.kind)
        return Storage(allocator.allocate(numel, dtype), dtype, device, allocator, numel)

    def maker(self, numel: int, dtype: DType, device: Device) -> Callable[[], Storage]:
        return Storage.maker(numel, dtype, device, get_allocator(device.kind))

    def from_host(self, values: NDArray[Any], dtype: DType, device: Device) -> Storage:
        storage = self.allocate(values.size, dtype, device)
        storage.buffer[: values.size] = values
        return storage

    def converted(self, values: NDArray[Any], dtype: DType, device: Device) -> Storage:
        if values.dtype is dtype.storage or not casts_as_numpy(as_dtype(values.dtype), dtype):
            return super().converted(values, dtype, device)
        storage = self.allocate(values.size, dtype, device)
        # An element that overflows becomes inf, without a warning.  None overflows in a wider dtype except float16.
        # A real number becomes a part of a complex dtype, which has half of its size.
        safe = values.itemsize <= dtype.itemsize > 2 and (values.dtype.kind == "c" or not dtype.is_complex)
        with nullcontext() if safe else np.errstate(all="ignore"):
            np.copyto(storage.buffer[: values.size].view(dtype.numpy), values, casting="unsafe")
        return storage

    def to_host(self, storage: Storage) -> NDArray[Any]:
        return storage.buffer


class Pace(threading.local):
    """waits: whether copies of this thread wait for their end where the host could see a difference: see `to`."""

    waits = True


pace = Pace()


def without_waiting(run: Callable[..., Any], *args: Any, **more: Any) -> Any:
    """Call a function whose copies do not wait."""
    before, pace.waits = pace.waits, False
    try:
        return run(*args, **more)
    finally:
        pace.waits = before
