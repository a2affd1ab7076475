"""Is CUDA there, what is the device, and how much of its memory is in use?"""

from __future__ import annotations

import gc
from typing import Any

from minigrad.backends.cuda.family import Family
from minigrad.backends.cuda.presence import driver, fault
from minigrad.backends.cuda.runtime import DeviceMemory, Properties, Runtime
from minigrad.backends.registry import backend_of, started
from minigrad.config import settings
from minigrad.core.device import as_device
from minigrad.errors import DeviceError


def is_available() -> bool:
    """Return whether `device="cuda"` can be used, on a real device or in the simulator.

    `python -m minigrad doctor` prints why not.  This calls the driver, which starts CUDA: processes forked later
    cannot use it.
    """
    return settings.cuda == "simulator" or started("cuda") is not None or not fault()


def device_count() -> int:
    """Return the number of CUDA devices, 1 in the simulator; minigrad uses only the first, "cuda:0"."""
    if settings.cuda == "simulator" or started("cuda") is not None:
        return 1
    return 0 if fault() else driver().devices


def current_runtime(device: Any = None) -> Runtime:
    """Return the runtime of a device.  Raises DeviceError for a missing component, or for a device of another kind."""
    where = as_device("cuda" if device is None else device)
    if where.kind != "cuda" or where.index:
        raise DeviceError(f"{where} cannot be used here: only the first CUDA device can, cuda:0", device=str(where))
    backend: Any = backend_of(where)
    if not isinstance(backend, Family):
        raise DeviceError(f"{where} is served by {type(backend).__name__}, which has no runtime", device=str(where))
    return backend.runtime


def get_device_properties(device: Any = None) -> Properties:
    """Return name, compute capability, multiprocessors and memory of the device."""
    return current_runtime(device).properties


def get_device_name(device: Any = None) -> str:
    """Return the device's own name, or "simulator"."""
    return current_runtime(device).properties.name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the major and minor number of the compute capability."""
    return current_runtime(device).properties.capability


def synchronize(device: Any = None) -> None:
    """Wait until all work of the device has ended."""
    current_runtime(device).synchronize()


# ---- memory ---------------------------------------------------------------------------------------------------------


def memory_stats(device: Any = None) -> DeviceMemory:
    """Return the bytes in use, the reserved and the free bytes, and the peak."""
    return current_runtime(device).memory()


def memory_allocated(device: Any = None) -> int:
    """Return the bytes that tensors have now."""
    return current_runtime(device).memory().allocated_bytes


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that tensors had since the start or the last `reset_peak_memory_stats`."""
    return current_runtime(device).memory().peak_bytes


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that were taken from the device: those in use and those cached for reuse."""
    return current_runtime(device).memory().reserved_bytes


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes that were reserved."""
    return current_runtime(device).memory().peak_reserved_bytes


def reset_peak_memory_stats(device: Any = None) -> None:
    """Restart the peaks at the bytes in use now."""
    current_runtime(device).reset_peak()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the free and the total bytes of the device; other processes are included."""
    now = current_runtime(device).memory()
    return now.free_bytes, now.total_bytes


def empty_cache() -> None:
    """Return memory that is cached for reuse to the device, for other processes; memory in use stays."""
    gc.collect()
    current_runtime().empty_cache()
