"""Launches that are bound once and run in order on the buffers of a call: the list of a recorded program.

All memory is there before the first launch, so no launch takes any, and the host reads nothing between two of them.  A
device may run such a list by other means: `Backend.listed` returns the function that does it, by default this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from minigrad.backends.launch import Executable
from minigrad.core.dtype import DType


class Place(NamedTuple):
    """Memory that a call passes: the bytes from `after` on in the buffer at `position`.

    slot: its number in the program.  after: a number, or an array of one that each call writes.  numel: None for all
    elements to the end of the buffer.
    """

    slot: int
    position: int
    after: Any
    numel: int | None
    dtype: DType

    @property
    def start(self) -> int:
        """The bytes before it in this call."""
        return self.after if isinstance(self.after, int) else int(self.after[0])


class Call(NamedTuple):
    """A kernel, its numbers and its memory: a place, or a buffer that is the same in every call."""

    kernel: Executable
    numbers: Any
    places: tuple[Any, ...]


def written(calls: Sequence[Call], part: Callable[..., Any]) -> Callable[[Sequence[Any]], None]:
    """Write the function that runs some calls.  part: `Backend.part`, which returns a part of a buffer."""
    bound: dict[str, Any] = {"part": part}
    text = "\n    ".join(["def run(buffers):", *lines_of(calls, bound)])
    exec(compile(text, "<minigrad list>", "exec"), bound)
    function: Callable[[Sequence[Any]], None] = bound["run"]
    return function


def lines_of(calls: Sequence[Call], bound: dict[str, Any]) -> Iterator[str]:
    """Write the lines of the function: each place is found before its first use, then each kernel runs."""
    names: dict[int, str] = {}
    for k, (kernel, numbers, places) in enumerate(calls):
        arguments = []
        for place in places:
            key = place.slot if isinstance(place, Place) else id(place)
            if key not in names:
                names[key] = f"b{len(names)}"
                yield from found(names[key], place, bound)
            arguments.append(kernel.argument.format(names[key]))
        bound[f"run{k}"] = kernel.bound(numbers)
        if kernel.takes_numbers:
            bound[f"n{k}"] = numbers
            arguments.append(f"n{k}")
        yield f"run{k}({', '.join(arguments)})"


def found(name: str, place: Any, bound: dict[str, Any]) -> Iterator[str]:
    """Write the line that finds a place, or bind a buffer that is the same in every call."""
    if not isinstance(place, Place):
        bound[name] = place
        return
    bound[f"{name}_dtype"] = place.dtype
    buffer, fixed = f"buffers[{place.position}]", isinstance(place.after, int)
    if fixed and not place.after and place.numel is None:
        yield f"{name} = {buffer}"
        return
    bound[f"{name}_after"] = place.after
    start = str(place.after) if fixed else f"int({name}_after[0])"
    yield f"{name} = part({buffer}, {start}, {place.numel}, {name}_dtype)"
