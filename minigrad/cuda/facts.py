"""Availability of CUDA, and properties and memory of the device."""

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


def is_available() -> bool:
    """Return whether `device="cuda"` can be used, on a real device or in the simulator.

    Returns
    -------
    bool
        True if a call on the device can run.

    Notes
    -----
    The call starts the CUDA driver. A process that is forked later cannot use CUDA. `python -m minigrad doctor` prints
    why CUDA is not available.

    Examples
    --------
    >>> with mg.override(cuda="simulator"):
    ...     mg.cuda.is_available()
    True
    """
    return cuda_is_available()


def device_count() -> int:
    """Return the number of CUDA devices.

    Returns
    -------
    int
        Zero without a device; 1 in the simulator. minigrad uses only the first device, "cuda:0".

    Examples
    --------
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


def current_runtime(device: Any = None) -> Runtime:
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
    """Return the index of the CUDA device that is used.

    Returns
    -------
    int
        Always 0, because minigrad uses only the first device, "cuda:0".

    Raises
    ------
    DeviceError
        If a component of CUDA is missing.

    Examples
    --------
    >>> with mg.override(cuda="simulator"):
    ...     mg.cuda.current_device()
    0
    """
    current_runtime()
    return 0


def set_device(device: Any) -> None:
    """Choose the CUDA device; only the first one, "cuda:0", can be chosen.

    Parameters
    ----------
    device : Device, str or int
        CUDA device or its index, 0.

    Raises
    ------
    DeviceError
        If a component of CUDA is missing, or `device` is not the first CUDA device.

    Examples
    --------
    >>> with mg.override(cuda="simulator"):
    ...     mg.cuda.set_device(0)
    """
    current_runtime(device)


def get_device_properties(device: Any = None) -> Properties:
    """Return the properties of a device.

    Parameters
    ----------
    device : Device, str or int, optional
        CUDA device or its index; by default the first one, "cuda:0", which is the only one that minigrad uses.

    Returns
    -------
    Properties
        Fields `name`, `capability` (major and minor version), `multiprocessors` (a count) and `memory` (bytes).

    Raises
    ------
    DeviceError
        If a component of CUDA is missing, or `device` is not the first CUDA device.
    """
    return current_runtime(device).properties


def get_device_name(device: Any = None) -> str:
    """Return the name of a device.

    Parameters
    ----------
    device : Device, str or int, optional
        CUDA device or its index; by default the first one, "cuda:0", which is the only one that minigrad uses.

    Returns
    -------
    str
        The name that the driver reports, or "simulator".

    Raises
    ------
    DeviceError
        If a component of CUDA is missing, or `device` is not the first CUDA device.

    Examples
    --------
    >>> with mg.override(cuda="simulator"):
    ...     mg.cuda.get_device_name()
    'simulator'
    """
    return current_runtime(device).properties.name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the compute capability of a device.

    Parameters
    ----------
    device : Device, str or int, optional
        CUDA device or its index; by default the first one, "cuda:0", which is the only one that minigrad uses.

    Returns
    -------
    tuple[int, int]
        Major and minor version, such as (9, 0).

    Raises
    ------
    DeviceError
        If a component of CUDA is missing, or `device` is not the first CUDA device.
    """
    return current_runtime(device).properties.capability


def synchronize(device: Any = None) -> None:
    """Wait until all work of a device has ended.

    Parameters
    ----------
    device : Device, str or int, optional
        CUDA device or its index; by default the first one, "cuda:0", which is the only one that minigrad uses.

    Raises
    ------
    DeviceError
        If a component of CUDA is missing, or `device` is not the first CUDA device.
    """
    current_runtime(device).synchronize()


# ---- memory ---------------------------------------------------------------------------------------------------------


def memory_now(device: Any) -> DeviceMemory:
    """Return the statistics of a device; as in PyTorch, all of them are 0 if there is no device."""
    where = expect_first(device)
    return current_runtime(where).memory() if is_available() else DeviceMemory(0, 0, 0, 0, 0, 0)


def memory_stats(device: Any = None) -> DeviceMemory:
    """Return how many bytes of the memory of a device are used and free.

    Parameters
    ----------
    device : Device, str or int, optional
        CUDA device or its index; by default the first one, "cuda:0", which is the only one that minigrad uses.

    Returns
    -------
    DeviceMemory
        Fields in bytes: `allocated_bytes` and `peak_bytes` of tensors, `reserved_bytes` and `peak_reserved_bytes` of
        the pool, `free_bytes` and `total_bytes` of the device. All are 0 without a CUDA device.

    Raises
    ------
    DeviceError
        If `device` is not the first CUDA device.
    """
    return memory_now(device)


def memory_allocated(device: Any = None) -> int:
    """Return the number of bytes of device memory that tensors use now.

    Parameters
    ----------
    device : Device, str or int, optional
        CUDA device or its index; by default the first one, "cuda:0", which is the only one that minigrad uses.

    Returns
    -------
    int
        Number of bytes; 0 without a CUDA device.

    Raises
    ------
    DeviceError
        If `device` is not the first CUDA device.
    """
    return memory_now(device).allocated_bytes


def max_memory_allocated(device: Any = None) -> int:
    """Return the largest number of bytes of a device's memory that tensors have used.

    Parameters
    ----------
    device : Device, str or int, optional
        CUDA device or its index; by default the first one, "cuda:0", which is the only one that minigrad uses.

    Returns
    -------
    int
        Largest number of bytes since the start or the last call of `reset_peak_memory_stats`; 0 without a CUDA device.

    Raises
    ------
    DeviceError
        If `device` is not the first CUDA device.
    """
    return memory_now(device).peak_bytes


def memory_reserved(device: Any = None) -> int:
    """Return how many bytes the memory pool has reserved on a device.

    Parameters
    ----------
    device : Device, str or int, optional
        CUDA device or its index; by default the first one, "cuda:0", which is the only one that minigrad uses.

    Returns
    -------
    int
        Number of bytes, in use or cached for reuse; 0 without a CUDA device.

    Raises
    ------
    DeviceError
        If `device` is not the first CUDA device.
    """
    return memory_now(device).reserved_bytes


def max_memory_reserved(device: Any = None) -> int:
    """Return the largest number of bytes that the memory pool has reserved on a device.

    Parameters
    ----------
    device : Device, str or int, optional
        CUDA device or its index; by default the first one, "cuda:0", which is the only one that minigrad uses.

    Returns
    -------
    int
        Largest number of bytes since the start or the last call of `reset_peak_memory_stats`; 0 without a CUDA device.

    Raises
    ------
    DeviceError
        If `device` is not the first CUDA device.
    """
    return memory_now(device).peak_reserved_bytes


def reset_peak_memory_stats(device: Any = None) -> None:
    """Set both memory peaks of a device, of tensors and of the pool, to the numbers of bytes that are in use now.

    Parameters
    ----------
    device : Device, str or int, optional
        CUDA device or its index; by default the first one, "cuda:0", which is the only one that minigrad uses.

    Raises
    ------
    DeviceError
        If a component of CUDA is missing, or `device` is not the first CUDA device.
    """
    current_runtime(device).reset_peak()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the free and the total memory of a device.

    Parameters
    ----------
    device : Device, str or int, optional
        CUDA device or its index; by default the first one, "cuda:0", which is the only one that minigrad uses.

    Returns
    -------
    tuple[int, int]
        Free and total bytes. The memory of other processes counts as used.

    Raises
    ------
    DeviceError
        If a component of CUDA is missing, or `device` is not the first CUDA device.
    """
    now = current_runtime(device).memory()
    return now.free_bytes, now.total_bytes


def empty_cache() -> None:
    """Give the memory that the pool caches for reuse back to the device, so that other processes can use it.

    Notes
    -----
    The memory of tensors that still exist stays in the pool. Without a CUDA device, the function does nothing.
    """
    gc.collect()
    if is_available():
        current_runtime().empty_cache()
