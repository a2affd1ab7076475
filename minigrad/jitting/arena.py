"""The memory of a program as text: the position of each temporary in the arena, and the launches that use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minigrad.errors import quantity
from minigrad.jitting.program import Item
from minigrad.jitting.tape import Tape

WIDTH = 48  # width in characters of the bar that shows the launches


class Temporary(NamedTuple):
    """A temporary in the arena: bytes `offset` to `offset + nbytes`, used by launches `first` to `last`.

    nbytes: whole cache lines, and the gap that `host_memory.GAP` explains.
    line: the user's line whose launch wrote it first.
    """

    offset: int
    nbytes: int
    first: int
    last: int
    line: str


def temporaries_of(tape: Tape) -> list[Temporary]:
    """Return the temporaries of a program in the order of their first launch."""
    result: dict[int, Temporary] = {}
    for k, slots in enumerate(tape.uses()):
        item = tape.items[k]
        for slot in slots:
            line = item.line if isinstance(item, Item) else ""
            before = result.get(slot, Temporary(tape.offsets[slot], tape.sizes[slot], k, k, line))
            result[slot] = before._replace(last=k)
    return list(result.values())


def picture(tape: Tape) -> str:
    """Return the arena of a program as text: one line per temporary, with its launches as a bar."""
    temporaries, launches = temporaries_of(tape), len(tape.items)
    total = sum(temporary.nbytes for temporary in temporaries)
    head = (
        f"{quantity(tape.arena, 'byte')} for {quantity(len(temporaries), 'temporary')} of {total} bytes together, in "
        f"{quantity(launches, 'launch')}"
    )
    return "\n".join([head, *[line_of(temporary, launches) for temporary in temporaries]])


def line_of(temporary: Temporary, launches: int) -> str:
    """Return the line of the report for one temporary."""
    scale = min(1.0, WIDTH / max(1, launches))
    first, last = int(temporary.first * scale), int(temporary.last * scale)
    bar = f"{' ' * first}{'#' * (last - first + 1)}".ljust(int(launches * scale))
    return f"{temporary.offset:>10} {temporary.nbytes:>10}  |{bar}|  {temporary.line}".rstrip()


def report_of(tapes: Sequence[tuple[str, Tape]]) -> str:
    """Return the pictures of some programs, each under the kind of its arguments."""
    return "\n\n".join([f"{kind}: {picture(tape)}" for kind, tape in tapes])
