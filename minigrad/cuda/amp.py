"""PyTorch's older names for mixed precision on CUDA: `autocast` without a device type, and `GradScaler`."""

from __future__ import annotations

from typing import Any

from minigrad.amp import GradScaler as GradScaler
from minigrad.amp import autocast as of_device
from minigrad.declare.advice import present


class autocast(of_device):
    """Open a block of `mg.autocast("cuda", ...)`, which does not cast tensors on other devices.

    enabled: Whether the block casts.
    dtype: The 16-bit dtype; by default float16.
    """

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


present(globals(), {"GradScaler": GradScaler, "autocast": autocast})
