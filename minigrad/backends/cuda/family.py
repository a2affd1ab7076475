"""What every kernel family of the CUDA backend shares: memory, the kernels loaded so far, binding numbers to them.

A family is a class with preparers, as on the CPU; `CudaBackend` inherits them all.  Each asks `kernel` for what a
writer writes, and `bind` for a launch on a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from minigrad.backends.base import Backend, Launch
from minigrad.backends.cuda.runtime import THREADS, DeviceBuffer, Program, Runtime, Size, choose
from minigrad.core.device import Device
from minigrad.core.dtype import DType
from minigrad.core.op import Spec
from minigrad.core.requests import Request
from minigrad.core.storage import Storage
from minigrad.errors import DeviceError
from minigrad.kernels.store import watchers

WAVES = 8  # blocks a multiprocessor: as many as it holds at once, and more would only be started later


class Family(Backend):
    """Base of the kernel families.

    kernels: what the runtime has loaded, by the writer and its arguments.
    """

    def __init__(self, runtime: Runtime | None = None) -> None:
        self.runtime = choose() if runtime is None else runtime
        self.kernels: dict[Any, Any] = {}
        self.most = WAVES * self.runtime.properties.multiprocessors

    # ---- memory

    def allocate(self, numel: int, dtype: DType, device: Device) -> Storage:
        if device.kind == "cuda" and device.index:
            raise DeviceError(f"{device} cannot be used: only the first device is, cuda:0", device=str(device))
        return Storage(self.runtime.allocate(numel, dtype.storage), dtype, device)

    def from_host(self, values: NDArray[Any], dtype: DType, device: Device) -> Storage:
        storage = self.allocate(values.size, dtype, device)
        self.runtime.copy_to_device(storage.buffer, values)
        return storage

    def to_host(self, storage: Storage) -> NDArray[Any]:
        return self.runtime.copy_to_host(storage.buffer)

    def synchronize(self) -> None:
        self.runtime.synchronize()

    def sending(self, launch: Launch) -> Launch:
        """Operands are brought to the host."""

        def run(*buffers: Any) -> Any:
            *operands, out = buffers
            return launch(*[self.runtime.copy_to_host(buffer) for buffer in operands], out)

        return run

    def receiving(self, launch: Launch) -> Launch:
        """Operands come from the host."""

        def run(*buffers: Any) -> Any:
            *operands, out = buffers
            moved = [self.runtime.allocate(array.size, array.dtype) for array in operands]
            for buffer, array in zip(moved, operands, strict=True):
                self.runtime.copy_to_device(buffer, array)
            return launch(*moved, out)

        return run

    # ---- launches

    def prepare(self, request: Request, outs: Spec | tuple[Spec, ...], *operands: Spec) -> Launch:
        launch = super().prepare(request, outs, *operands)
        return self.runtime.watched(launch, outs if isinstance(outs, tuple) else (outs,))

    def kernel(self, writer: Callable[..., Program], *args: Any) -> Any:
        """What the runtime makes of the kernel that `writer(*args)` writes; once a process."""
        found = self.kernels.get((writer, args))
        if found is None:
            found = self.kernels[writer, args] = self.runtime.load(writer(*args))
        for seen in watchers:
            seen.append(found.path)
        return found

    def blocks(self, units: int, threads: int = THREADS) -> int:
        """How many blocks for so many units of work, one a thread; the loops go on in strides of the grid."""
        return max(1, min(-(-units // threads), self.most))

    def bind(self, kernel: Any, grid: Size, block: Size, numbers: Sequence[int]) -> Launch:
        """A launch of one kernel on buffers, in their order."""
        run = self.runtime.launcher(kernel, grid, block, numbers)

        def launch(*buffers: DeviceBuffer) -> None:
            run(*[buffer.address for buffer in buffers])

        return launch


def nothing(*buffers: Any) -> None:
    """The launch of a loop without elements."""


def line(blocks: int, threads: int = THREADS) -> tuple[Size, Size]:
    """The grid and the block of a loop over one run."""
    return (blocks, 1, 1), (threads, 1, 1)
