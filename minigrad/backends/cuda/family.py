"""What every kernel family of the CUDA backend shares: the kernels loaded so far, binding numbers to them.

A family is a class with preparers, as on the CPU; `CudaBackend` inherits them all.  Each asks `kernel` for what a
writer writes, and `bind` for a launch on a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.backends.base import Launch
from minigrad.backends.cuda.memory import Memory
from minigrad.backends.cuda.runtime import THREADS, DeviceBuffer, Program, Runtime, Size, choose
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.requests import Copy, Request, SelectPut
from minigrad.kernels.store import watchers

WAVES = 8  # blocks a multiprocessor: as many as it holds at once, and more would only be started later


class Family(Memory):
    """Base of the kernel families.

    kernels: what the runtime has loaded, by the writer and its arguments.
    """

    def __init__(self, runtime: Runtime | None = None) -> None:
        self.runtime = choose() if runtime is None else runtime
        self.kernels: dict[Any, Any] = {}
        self.most = WAVES * self.runtime.properties.multiprocessors

    # ---- launches

    def prepare(self, request: Request, outs: Spec | tuple[Spec, ...], *operands: Spec) -> Launch:
        launch = super().prepare(request, outs, *operands)
        results = outs if isinstance(outs, tuple) else (outs,)
        if isinstance(request, SelectPut):  # which leaves the rest of its result as it is
            return launch
        launch = self.runtime.watched(launch, results)
        if isinstance(request, Copy) and is_plain(results[0], operands[0]):
            launch.plain = True  # type: ignore[attr-defined]
        return launch

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


def is_plain(out: Spec, a: Spec) -> bool:
    """Whether a copy is one of bytes, from the beginning of a buffer to that of another."""
    return a.dtype is out.dtype and a.layout is out.layout is Layout.contiguous(out.shape)


def nothing(*buffers: Any) -> None:
    """The launch of a loop without elements."""


def line(blocks: int, threads: int = THREADS) -> tuple[Size, Size]:
    """The grid and the block of a loop over one run."""
    return (blocks, 1, 1), (threads, 1, 1)
