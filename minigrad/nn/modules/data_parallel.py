"""`DataParallel`: PyTorch's wrapper for several GPUs in one process; minigrad supports only one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.errors import DeviceError
from minigrad.nn.modules.module import Module


class DataParallel(Module):
    """Call a module on its device; for several devices, use `mg.dist.DistributedDataParallel`.

    module: The module to call. Its keys in the state dict start with "module.".
    device_ids: At most one device. It is stored, and has no effect.
    output_device (Device or int): Has no effect; results are on the device of the module.
    dim: Has no effect, because the batch is not divided.

    Raises DeviceError if `device_ids` contains more than one device.

    >>> list(mg.nn.DataParallel(mg.nn.Linear(2, 1, bias=False)).state_dict())
    ['module.weight']
    """

    module: Module

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise DeviceError(
                f"DataParallel: device_ids must contain one device, got {len(device_ids)} devices; use "
                "mg.dist.DistributedDataParallel with one process per device"
            )
        self.module = module
        self.device_ids, self.output_device, self.dim = list(device_ids or ()), output_device, dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the wrapped module."""
        return self.module(*inputs, **kwargs)
