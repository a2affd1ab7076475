"""`DataParallel`: PyTorch's wrapper for several GPUs in one process, of which minigrad uses one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.errors import DeviceError
from minigrad.nn.modules.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Call a module on one device; `mg.dist.DistributedDataParallel` uses several processes.

    Parameters
    ----------
    module : Module
        The module, whose keys get "module." in front.
    device_ids : sequence, optional
        At most one device.
    output_device : Device or int, optional
        Accepted; results are on the device of the module.
    dim : int, default 0
        Accepted; with one device nothing is divided.

    Raises
    ------
    DeviceError
        If more than one device is named.

    Examples
    --------
    >>> import minigrad as mg
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
                f"DataParallel: expected one device, got {len(device_ids)}; use mg.dist.DistributedDataParallel with "
                f"one process for each"
            )
        self.module = module
        self.device_ids, self.output_device, self.dim = list(device_ids or ()), output_device, dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)
