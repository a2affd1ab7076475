"""Availability of CUDA, properties and memory of the device, and seeds."""

from __future__ import annotations

import gc
from typing import Any

from minigrad.backends.cuda.family import CudaBackend
from minigrad.backends.cuda.presence import driver, fault
from minigrad.backends.cuda.runtime import DeviceMemory, Properties, Runtime
from minigrad.backends.registry import backend_of, cuda_is_available, started
from minigrad.config import settings
from minigrad.core.device import Device, as_device
from minigrad.errors import DeviceError
from minigrad.ops.random import manual_seed as restart


def is_available() -> bool:
    """Return whether `device="cuda"` can be used, on a real device or in the simulator.

    The call starts the CUDA driver. A process that is forked later cannot use CUDA. `python -m minigrad doctor` prints
    why CUDA is not available.

    >>> with mg.override(cuda="simulator"):
    ...     mg.cuda.is_available()
    True
    """
    return cuda_is_available()


def device_count() -> int:
    """Return the number of CUDA devices, which is 1 in the simulator and 0 if there is no device.

    minigrad uses only the first device, "cuda:0".

    >>> with mg.override(cuda="simulator"):
    ...     mg.cuda.device_count()
    1
    """
    if settings.cuda == "simulator" or started("cuda") is not None:
        return 1
    return 0 if fault() else driver().devices


def expect_first(device: Any) -> Device:
    """Return the first CUDA device; raise DeviceError for any other device."""
    where = as_device("cuda" if device is None else device)
    if where.kind != "cuda" or where.index:
        raise DeviceError(
            f"{where} cannot be used, because minigrad supports only the first CUDA device; pass device='cuda:0'",
            device=str(where),
        )
    return where


def current_runtime(device: Device | str | int | None = None) -> Runtime:
    """Return the runtime of a device; raise DeviceError if a component is missing, or for another kind of device."""
    where = expect_first(device)
    backend: Any = backend_of(where).preparer  # the backend of the device, also while a function is recorded
    if not isinstance(backend, CudaBackend):
        raise DeviceError(
            f"current_runtime: expected the CUDA backend of minigrad on {where}, got {type(backend).__name__}; remove "
            "the registration of your own backend for 'cuda'",
            device=str(where),
        )
    return backend.runtime


def current_device() -> int:
    """Return the index of the CUDA device that is used: always 0, because minigrad uses only the first device.

    Raises DeviceError if a component of CUDA is missing.

    >>> with mg.override(cuda="simulator"):
    ...     mg.cuda.current_device()
    0
    """
    current_runtime()
    return 0


def set_device(device: Device | str | int) -> None:
    """Choose the CUDA device; only the first one, "cuda:0", can be chosen.

    Raises DeviceError if a component of CUDA is missing, or `device` is not the first CUDA device.

    >>> with mg.override(cuda="simulator"):
    ...     mg.cuda.set_device(0)
    """
    current_runtime(device)


def get_device_properties(device: Device | str | int | None = None) -> Properties:
    """Return the properties of a device.

    Returns:
        Properties
            Fields `name`, `capability` (major and minor version), `multiprocessors` (a count) and `memory` (bytes).

    Raises DeviceError if a component of CUDA is missing, or `device` is not the first CUDA device.
    """
    return current_runtime(device).properties


def get_device_name(device: Device | str | int | None = None) -> str:
    """Return the name of a device that the driver reports, or "simulator".

    Raises DeviceError if a component of CUDA is missing, or `device` is not the first CUDA device.

    >>> with mg.override(cuda="simulator"):
    ...     mg.cuda.get_device_name()
    'simulator'
    """
    return current_runtime(device).properties.name


def get_device_capability(device: Device | str | int | None = None) -> tuple[int, int]:
    """Return the compute capability of a device, its major and minor version, such as (9, 0).

    Raises DeviceError if a component of CUDA is missing, or `device` is not the first CUDA device.
    """
    return current_runtime(device).properties.capability


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether a CUDA device is available: kernels convert bfloat16 if the device has no such instructions.

    including_emulation: False asks for these instructions, which a compute capability of at least 8.0 has.
    """
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def synchronize(device: Device | str | int | None = None) -> None:
    """Wait until all work of a device has ended.

    Raises DeviceError if a component of CUDA is missing, or `device` is not the first CUDA device.
    """
    current_runtime(device).synchronize()


# ---- memory ---------------------------------------------------------------------------------------------------------


def memory_now(device: Any) -> DeviceMemory:
    """Return the statistics of a device; as in PyTorch, all of them are 0 if there is no device."""
    where = expect_first(device)
    return current_runtime(where).memory() if is_available() else DeviceMemory(0, 0, 0, 0, 0, 0)


def memory_stats(device: Device | str | int | None = None) -> DeviceMemory:
    """Return how many bytes of the memory of a device are used and free.

    Returns:
        DeviceMemory
            Fields in bytes: `allocated_bytes` and `peak_bytes` of tensors, `reserved_bytes` and `peak_reserved_bytes`
            of the pool, `free_bytes` and `total_bytes` of the device. All are 0 without a CUDA device.

    Raises DeviceError if `device` is not the first CUDA device.
    """
    return memory_now(device)


def memory_allocated(device: Device | str | int | None = None) -> int:
    """Return the number of bytes of device memory that tensors use now; 0 without a CUDA device.

    Raises DeviceError if `device` is not the first CUDA device.
    """
    return memory_now(device).allocated_bytes


def max_memory_allocated(device: Device | str | int | None = None) -> int:
    """Return the largest number of bytes of a device's memory that tensors have used.

    It counts from the start or the last call of `reset_peak_memory_stats`, and is 0 without a CUDA device.

    Raises DeviceError if `device` is not the first CUDA device.
    """
    return memory_now(device).peak_bytes


def memory_reserved(device: Device | str | int | None = None) -> int:
    """Return the number of bytes that the memory pool has reserved on a device; 0 without a CUDA device.

    They are in use, or cached for reuse.

    Raises DeviceError if `device` is not the first CUDA device.
    """
    return memory_now(device).reserved_bytes


def max_memory_reserved(device: Device | str | int | None = None) -> int:
    """Return the largest number of bytes that the memory pool has reserved on a device.

    It counts from the start or the last call of `reset_peak_memory_stats`, and is 0 without a CUDA device.

    Raises DeviceError if `device` is not the first CUDA device.
    """
    return memory_now(device).peak_reserved_bytes


def reset_peak_memory_stats(device: Device | str | int | None = None) -> None:
    """Set both memory peaks of a device, of tensors and of the pool, to the numbers of bytes that are in use now.

    Raises DeviceError if a component of CUDA is missing, or `device` is not the first CUDA device.
    """
    current_runtime(device).reset_peak()


def mem_get_info(device: Device | str | int | None = None) -> tuple[int, int]:
    """Return the numbers of free and of all bytes of a device's memory; other processes' memory counts as used.

    Raises DeviceError if a component of CUDA is missing, or `device` is not the first CUDA device.
    """
    now = current_runtime(device).memory()
    return now.free_bytes, now.total_bytes


def empty_cache() -> None:
    """Give the memory that the pool caches for reuse back to the device, so that other processes can use it.

    The memory of tensors that still exist stays in the pool. Without a CUDA device, the function does nothing.
    """
    gc.collect()
    if is_available():
        current_runtime().empty_cache()


# ---- seeds: one generator serves all devices ------------------------------------------------------------------------


def manual_seed(seed: int) -> None:
    """Seed the default generator, as `mg.manual_seed` does.

    One generator serves all devices, so a program without a CUDA device can call this function too.
    """
    restart(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the default generator, as `mg.manual_seed` does.

    One generator serves all devices, so this is the same function as `manual_seed`.
    """
    restart(seed)
