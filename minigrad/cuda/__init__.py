"""Functions for CUDA itself: availability, memory in use, streams, seeds, and custom kernels.

Tensors on a GPU need only `device="cuda"`, and none of these functions.  Names follow `torch.cuda`.  With
MINIGRAD_CUDA=simulator, or `mg.override(cuda="simulator")`, all of them work without a GPU.  `kernel` makes a custom
kernel of a function.
"""

import importlib
from typing import Any

from minigrad.cuda.facts import (
    current_device,
    device_count,
    empty_cache,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_available,
    is_bf16_supported,
    manual_seed,
    manual_seed_all,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_peak_memory_stats,
    set_device,
    synchronize,
)
from minigrad.cuda.order import Event, Stream, current_stream, default_stream, deterministic, set_stream, stream
from minigrad.cuda.own import Kernel, kernel
from minigrad.declare.advice import absent
from minigrad.declare.manual import document_all
from minigrad.declare.names import listed

__all__ = [
    "Event", "Kernel", "Stream", "current_device", "current_stream", "default_stream", "deterministic", "device_count",
    "empty_cache", "get_device_capability", "get_device_name", "get_device_properties", "is_available",
    "is_bf16_supported", "kernel", "manual_seed", "manual_seed_all",
    "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved",
    "memory_stats", "reset_peak_memory_stats", "set_device", "set_stream", "stream", "synchronize",
]  # fmt: skip
__dir__ = listed(__all__)
document_all({name: globals()[name] for name in __all__})


def __getattr__(name: str) -> Any:
    """Return `amp`, or one of PyTorch's old constructors of tensors on the device, such as `FloatTensor`."""
    if name == "amp":
        return importlib.import_module(f"{__name__}.amp")
    if name.endswith("Tensor"):
        from minigrad.api.legacy import NAMES, typed

        if name in NAMES:
            globals().update(typed("cuda"))
            return globals()[name]
    raise absent(__name__, name)
