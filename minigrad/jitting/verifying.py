"""Verification: a call runs the function eagerly, restores the state, runs the program, and compares bits.

A snapshot stores the memory that the function can reach: that of arguments, of outside tensors and their gradients, of
the optimizers and schedules that it steps, and the positions of generators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minigrad.errors import RecordingError
from minigrad.func.trees import flatten
from minigrad.jitting.entry import Entry
from minigrad.jitting.moving import stores_gradient
from minigrad.jitting.program import HostCall, defined_at
from minigrad.jitting.replay import elements_of, store_elements
from minigrad.runtime.tensor import Tensor, describe

DEPTH = 5  # maximum number of containers between an optimizer and a tensor of its state


class Snapshot:
    """Store the state before a call, so that the function can run again from the same state.

    memory: the storages, with copies of their elements.
    containers: the dicts and lists, each with a copy.
    gradients: the current `.grad` of each Var of `variables`.
    streams: the generators, with their seeds and offsets.
    """

    def __init__(self, entry: Entry, tensors: Sequence[Tensor]) -> None:
        self.memory: dict[Any, Any] = {}
        self.containers: list[tuple[Any, Any]] = []
        self.seen: set[int] = set()
        outside = [moved.x for moved in entry.recording.moved.values()]
        self.variables = [x for x in dict.fromkeys([*tensors, *outside]) if stores_gradient(x)]
        self.gradients = [x._grad for x in self.variables]
        for x in (*tensors, *outside, *self.gradients):
            self.visit(x, 0)
        for item in entry.program.items:
            if isinstance(item, HostCall):
                for owner in getattr(item.function, "args", ()):
                    self.visit(vars(owner), 0)
        self.streams = [(stream := generator.in_use(), stream.seed, stream.offset) for generator in entry.program.taken]

    def visit(self, x: Any, depth: int) -> None:
        """Store a tensor, or a container with all its contents."""
        if isinstance(x, Tensor):
            if x.storage not in self.memory:
                self.memory[x.storage] = np.array(elements_of(x.storage))
        elif isinstance(x, (dict, list)) and id(x) not in self.seen and depth <= DEPTH:
            self.seen.add(id(x))
            self.containers.append((x, x.copy()))
            for value in x.values() if isinstance(x, dict) else x:
                self.visit(value, depth + 1)
        elif isinstance(x, tuple):
            for value in x:
                self.visit(value, depth + 1)
        elif type(x).__module__.startswith("minigrad.optim") and hasattr(x, "__dict__"):
            self.visit(vars(x), depth + 1)

    def restore(self) -> None:
        """Restore the stored state."""
        for storage, elements in self.memory.items():
            store_elements(storage, elements)
        for container, before in self.containers:
            container.clear()
            container.extend(before) if isinstance(container, list) else container.update(before)
        for x, g in zip(self.variables, self.gradients):
            x._grad = g
        for stream, seed, offset in self.streams:
            stream.seed, stream.offset = seed, offset

    def values(self) -> Iterator[tuple[str, bytes]]:
        """Yield the values that may have changed, by name."""
        for storage in self.memory:
            yield f"a tensor of {storage.numel} elements of {storage.dtype}", bits(elements_of(storage))
        for x in self.variables:
            yield f"the gradient of {describe(x)}", b"" if x._grad is None else bits(x._grad.detach().numpy())


def bits(array: Any) -> bytes:
    """Return the elements of an array as bytes."""
    return np.ascontiguousarray(array).tobytes()


def leaves_of(result: Any) -> list[tuple[str, bytes]]:
    """Return the tensors of a result as bytes, by name."""
    tensors = [x for x in flatten(result)[0] if isinstance(x, Tensor)]
    return [(f"result {k}, {describe(x)},", bits(x.detach().numpy())) for k, x in enumerate(tensors)]


def verified(
    entry: Entry, function: Callable[..., Any], picked: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return the result of the program, after it has been compared with the function's.

    Raises RecordingError for the first tensor whose bits differ.
    """
    snapshot = Snapshot(entry, [x for x in picked if isinstance(x, Tensor)])
    try:
        wanted = [*leaves_of(function(*args, **kwargs)), *snapshot.values()]
    finally:
        snapshot.restore()
    result = entry.call(*picked)
    for (name, a), (_, b) in zip(wanted, [*leaves_of(result), *snapshot.values()], strict=True):
        if a != b:
            raise RecordingError(
                f"{defined_at(function)}jit: {name} differs in at least one bit from the result in eager mode; the "
                "function reads a value that a program does not read again (a clock, an element of a NumPy array, or "
                "a variable of another module), so pass this value as a 0-d tensor"
            )
    return result
