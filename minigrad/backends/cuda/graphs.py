"""Lists of launches as CUDA graphs: the driver receives all launches of a graph by one call.

A list exists as data, so its graph is made node by node, without capturing a stream.  The nodes are a chain.  Between
two calls only addresses change: those of arguments, and of results and temporaries if the pool returns other memory.
The nodes that use such an address receive new parameters.  A call of a library is between two graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from minigrad.backends.cuda.runtime import DeviceBuffer, GridKernel, Runtime, RuntimeGraph
from minigrad.backends.listing import Call, Location, written


def listed(runtime: Runtime, calls: Sequence[Call], part: Callable[..., Any]) -> Callable[[Sequence[Any]], None]:
    """Return the function that runs some calls on the buffers that it receives."""
    pieces: list[Callable[[Sequence[Any]], None]] = []
    for is_kernel, group in groupby(calls, lambda call: isinstance(call.kernel, GridKernel)):
        run = list(group)
        pieces.append(GraphOfCalls(runtime, run) if is_kernel else written(run, part))

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
            graph = self.runtime.graph([
                (call.kernel, [addresses[k] for k in used]) for call, used in zip(self.calls, self.arguments)
            ])  # fmt: skip
        else:
            moved = {k for k, (now, before) in enumerate(zip(addresses, self.addresses)) if now != before}
            for node, used in enumerate(self.arguments):
                if not moved.isdisjoint(used):
                    graph.change(node, [addresses[k] for k in used])
        self.graph, self.addresses = graph, addresses
        graph.launch()
