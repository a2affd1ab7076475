"""The CUDA backend without its kernel families: a cache of loaded kernels, and the binding of scalar arguments.

A family is a module with loops and with functions that serve requests, as on the CPU.  The functions call
`CudaSteps.run`, which writes the kernel of a loop, loads it and binds it to a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from minigrad.backends.cuda.memory import Memory
from minigrad.backends.cuda.runtime import THREADS, DeviceBuffer, GridKernel, Program, Runtime, RuntimeGraph, Size
from minigrad.backends.launch import Launch
from minigrad.backends.listing import Call, Location
from minigrad.backends.listing import written as one_by_one
from minigrad.backends.steps import Steps, Value
from minigrad.config import settings
from minigrad.core.dtype import DType
from minigrad.core.op import Spec
from minigrad.core.requests import Request, SelectPut
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.fields import Loop
from minigrad.kernels.pasting import Late
from minigrad.kernels.specialize import NOTHING, write_loop
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
            return in_graphs(self.runtime, calls, self.part)
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


class CudaSteps(Steps):
    """The record of a request on CUDA, with a method that runs templates."""

    backend: CudaBackend

    def run(
        self, template: Callable[..., Any], *values: Value | None, words: Mapping[str, Any] | Late = NOTHING,
        form: str = "", compute: np.dtype[Any] | None = None, dtypes: Sequence[DType | np.dtype[Any]] | None = None,
        elements: int = 1, threads: int = 1, grid: tuple[Size, Size] | None = None,
        groups: Sequence[Any] = (), **numbers: Any,
    ) -> None:  # fmt: skip
        """Add a step that writes, loads and runs a template of a kernel on some values, its arguments.

        The dtypes of the values determine its conversions and its name, the lists among the numbers its ranks.  A
        number of the template that has the name of one of its arguments is the offset of that value.

        values: None for an array that this kernel does not have.
        elements: their count, or that of other units of work, each of `threads` threads; it determines the grid.
        grid: instead the counts of blocks and of threads per block.
        groups: the numbers of each result and operand.  numbers: the other numbers by name.
        form: the name of the kernel, in which `{}` stands for the dtypes; by default the template's name and these.
        words, compute: as for `write_loop`.  dtypes: instead of those of the values.
        """
        loop: Loop = template.loop  # type: ignore[attr-defined]
        for name, k in loop.begins:
            if name not in numbers and (value := values[k]) is not None:
                numbers[name] = value.layout.offset
        kinds = tuple([each and each.dtype for each in values] if dtypes is None else dtypes)
        lengths = tuple(loop.fields.lengths(groups, numbers).items())
        meanings = words if isinstance(words, Late) else tuple(words.items())
        kernel = self.backend.kernel(written, template, kinds, meanings, form, compute, lengths)
        if grid is None:
            grid = (self.backend.blocks(elements, THREADS // threads), 1, 1), (THREADS, 1, 1)
        launch = self.backend.bind(kernel, *grid, loop.fields.packed(groups, numbers))
        self.then(launch, *[each for each in values if each is not None])


CudaBackend.record = CudaSteps


def written(
    template: Callable[..., Any], dtypes: Any, words: Any, form: str, compute: np.dtype[Any] | None,
    lengths: Sequence[tuple[str, int]],
) -> Program:  # fmt: skip
    """Write the kernel of a template: see `write_loop`; its ranks are the end of its name."""
    name = "_".join([form or f"{template.__name__}_{{}}", *[str(n) for _, n in lengths]])
    meanings = words if isinstance(words, Late) else dict(words)
    return Program(*write_loop(template, dtypes, meanings, name, compute, CUDA, dict(lengths)))


def by(width: int) -> str:
    """Return the end of the name of a kernel whose loads have this number of elements."""
    return f"_by{width}" if width > 1 else ""


def line(blocks: int, threads: int = THREADS) -> tuple[Size, Size]:
    """Return the grid and the block of a loop over one run."""
    return (blocks, 1, 1), (threads, 1, 1)


# ---- lists of launches as CUDA graphs --------------------------------------------------------------------------------
#
# The driver receives all launches of a graph by one call.  A list exists as data, so its graph is made node by node,
# without capturing a stream.  The nodes are a chain.  Between two calls only addresses change: those of arguments, and
# of results and temporaries if the pool returns other memory.  The nodes that use such an address receive new
# parameters.  A call of a library is between two graphs.


def in_graphs(runtime: Runtime, calls: Sequence[Call], part: Callable[..., Any]) -> Callable[[Sequence[Any]], None]:
    """Return the function that runs some calls on the buffers that it receives."""
    pieces: list[Callable[[Sequence[Any]], None]] = []
    for is_kernel, group in groupby(calls, lambda call: isinstance(call.kernel, GridKernel)):
        run = list(group)
        pieces.append(GraphOfCalls(runtime, run) if is_kernel else one_by_one(run, part))

    def run_pieces(buffers: Sequence[Any]) -> None:
        for piece in pieces:
            piece(buffers)

    return run_pieces


class GraphOfCalls:
    """Run a sequence of kernels as a CUDA graph, which the first call makes.

    locations: the memory that the kernels use; each location occurs once.
    arguments: for each kernel the indices of its locations.
    addresses: the current addresses of the locations in the nodes.
    """

    def __init__(self, runtime: Runtime, calls: Sequence[Call]) -> None:
        self.runtime, self.calls = runtime, calls
        self.locations: list[Any] = []
        numbers: dict[Any, int] = {}
        self.arguments: list[list[int]] = []
        for call in calls:
            keys = [("slot", x.slot) if isinstance(x, Location) else ("buffer", id(x)) for x in call.locations]
            for key, location in zip(keys, call.locations):
                if key not in numbers:
                    numbers[key] = len(self.locations)
                    self.locations.append(location)
            self.arguments.append([numbers[key] for key in keys])
        self.graph: RuntimeGraph | None = None
        self.addresses: list[int] = []

    def __call__(self, buffers: Sequence[DeviceBuffer]) -> None:
        """Launch the graph on the memory of a call."""
        addresses = [
            buffers[x.position].address + x.start if isinstance(x, Location) else x.address for x in self.locations
        ]
        graph, self.graph = self.graph, None  # a graph whose update fails is made again
        if graph is None:
            graph = self.runtime.graph(
                [(call.kernel, [addresses[k] for k in used]) for call, used in zip(self.calls, self.arguments)]
            )
        else:
            moved = {k for k, (now, before) in enumerate(zip(addresses, self.addresses)) if now != before}
            for node, used in enumerate(self.arguments):
                if not moved.isdisjoint(used):
                    graph.change(node, [addresses[k] for k in used])
        self.graph, self.addresses = graph, addresses
        graph.launch()
