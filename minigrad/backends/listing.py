"""Launches that are bound once and run in order on the buffers of a call: the list of a recorded program.

All memory exists before the first launch, so no launch allocates memory, and the host reads nothing between two
launches.  A device may run such a list by other means: `Lists.listed` returns the function that runs it, by default the
one written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.backends.launch import Executable
from minigrad.core.code import defined
from minigrad.core.dtype import DType


class Location(NamedTuple):
    """Describe memory that a call passes: the bytes from offset `after` on in the buffer at index `position`.

    slot: the index of the memory in the program.
    after: an int, or an array with one element that each call writes.
    numel: the number of elements, or None for all elements to the end of the buffer.
    """

    slot: int
    position: int
    after: Any
    numel: int | None
    dtype: DType

    @property
    def start(self) -> int:
        """The byte offset of this memory in the current call."""
        return self.after if isinstance(self.after, int) else int(self.after[0])


class Call(NamedTuple):
    """A kernel, its numbers and its memory: a location, or a buffer that is the same in every call."""

    kernel: Executable
    numbers: Any
    locations: tuple[Any, ...]


class Lists:
    """The methods of a backend that bind a list; these are for buffers that are NumPy arrays.

    alignment: in bytes; from call to call, the memory of an argument may move by multiples of it.
    """

    alignment = 1

    def part(self, buffer: Any, start: int, numel: int | None, dtype: DType) -> Any:
        """Return a part of a buffer as a separate buffer, from byte `start` on.

        numel: the number of elements, or None for all elements to the end.
        """
        if not start and numel is None:
            return buffer
        size = dtype.itemsize
        end = buffer.nbytes // size * size if numel is None else start + numel * size
        return buffer.view(np.uint8)[start:end].view(dtype.storage)

    def listed(self, calls: Sequence[Call]) -> Callable[[Sequence[Any]], None]:
        """Return the function that runs some calls in order, on the buffers that it receives."""
        return written(calls, self.part)


def written(calls: Sequence[Call], part: Callable[..., Any]) -> Callable[[Sequence[Any]], None]:
    """Generate the function that runs some calls. part: `Backend.part`, which returns a part of a buffer."""
    bound: dict[str, Any] = {"part": part}
    return defined("run", "\n    ".join(["def run(buffers):", *lines_of(calls, bound)]), bound, "list")


def lines_of(calls: Sequence[Call], bound: dict[str, Any]) -> Iterator[str]:
    """Generate the lines of the function: each location is computed before its first use, then each kernel runs."""
    names: dict[int, str] = {}
    for k, (kernel, numbers, locations) in enumerate(calls):
        arguments = []
        for location in locations:
            key = location.slot if isinstance(location, Location) else id(location)
            if key not in names:
                names[key] = f"b{len(names)}"
                yield from location_lines(names[key], location, bound)
            arguments.append(kernel.argument.format(names[key]))
        bound[f"run{k}"] = kernel.bound(numbers)
        if kernel.takes_numbers:
            bound[f"n{k}"] = numbers
            arguments.append(f"n{k}")
        yield f"run{k}({', '.join(arguments)})"


def location_lines(name: str, location: Any, bound: dict[str, Any]) -> Iterator[str]:
    """Generate the line that computes a location, or bind a buffer that is the same in every call."""
    if not isinstance(location, Location):
        bound[name] = location
        return
    bound[f"{name}_dtype"] = location.dtype
    buffer, fixed = f"buffers[{location.position}]", isinstance(location.after, int)
    if fixed and not location.after and location.numel is None:
        yield f"{name} = {buffer}"
        return
    bound[f"{name}_after"] = location.after
    start = str(location.after) if fixed else f"int({name}_after[0])"
    yield f"{name} = part({buffer}, {start}, {location.numel}, {name}_dtype)"
