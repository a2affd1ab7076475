"""The CUDA backend without its kernel families: a cache of loaded kernels, and the binding of scalar arguments.

A family is a module with functions that serve requests, as on the CPU.  They call `kernel` for the kernel of a writer,
and `bind` for a launch on a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.backends.cuda import graphs
from minigrad.backends.cuda.memory import Memory
from minigrad.backends.cuda.runtime import THREADS, GridKernel, Program, Runtime, Size
from minigrad.backends.launch import Launch
from minigrad.backends.listing import Call
from minigrad.config import settings
from minigrad.core.op import Spec
from minigrad.core.requests import Request, SelectPut
from minigrad.kernels.store import watchers

WAVES = 8  # blocks per multiprocessor that run at the same time; more blocks would start only later


class CudaBackend(Memory):
    """Compiled loops over the memory of a CUDA device, or of the simulator.

    kernels: the kernels that the runtime has loaded, by the writer and its arguments.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.kernels: dict[Any, Any] = {}
        self.most = WAVES * self.runtime.properties.multiprocessors

    # ---- launches

    def prepare(self, request: Request, outs: Spec | tuple[Spec, ...], *operands: Spec) -> Launch:
        launch = super().prepare(request, outs, *operands)
        if isinstance(request, SelectPut):  # this request leaves the other elements of its result unchanged
            return launch
        return self.runtime.watched(launch, outs if isinstance(outs, tuple) else (outs,))

    def listed(self, calls: Sequence[Call]) -> Callable[[Sequence[Any]], None]:
        if settings.cuda_graphs and self.runtime.has_graphs:
            return graphs.listed(self.runtime, calls, self.part)
        return super().listed(calls)

    def kernel(self, writer: Callable[..., Program], *args: Any) -> Any:
        """Return the kernel that `writer(*args)` writes, loaded by the runtime once per process."""
        result = self.kernels.get((writer, args))
        if result is None:
            result = self.kernels[writer, args] = self.runtime.load(writer(*args))
        for seen in watchers:
            seen.append(result.path)
        return result

    def blocks(self, units: int, threads: int = THREADS) -> int:
        """Return the number of blocks for units of work, one per thread; the loops continue in strides of the grid."""
        return max(1, min(-(-units // threads), self.most))

    def bind(self, kernel: Any, grid: Size, block: Size, numbers: Sequence[int]) -> GridKernel:
        """Return one kernel on a grid, with its scalar arguments."""
        return GridKernel(self.runtime, kernel, grid, block, tuple(numbers))


def line(blocks: int, threads: int = THREADS) -> tuple[Size, Size]:
    """Return the grid and the block of a loop over one run."""
    return (blocks, 1, 1), (threads, 1, 1)
