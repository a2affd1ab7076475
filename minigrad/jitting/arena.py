"""The memory of a program for people: which temporary lies where in the arena, from which launch to which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minigrad.errors import quantity
from minigrad.jitting.program import Item
from minigrad.jitting.tape import Tape

WIDTH = 48  # characters of the time line


class Room(NamedTuple):
    """A temporary in the arena: bytes `offset` to `offset + nbytes`, used by launches `first` to `last`.

    line: the user's line whose launch wrote it first.
    """

    offset: int
    nbytes: int
    first: int
    last: int
    line: str


def rooms_of(tape: Tape) -> list[Room]:
    """Return the temporaries of a program in the order of their first launch."""
    found: dict[int, Room] = {}
    for k, slots in enumerate(tape.uses()):
        item = tape.items[k]
        for slot in slots:
            line = item.line if isinstance(item, Item) else ""
            before = found.get(slot, Room(tape.offsets[slot], tape.size(slot), k, k, line))
            found[slot] = before._replace(last=k)
    return list(found.values())


def picture(tape: Tape) -> str:
    """Return the arena of a program as text: one line per temporary, with the launches that use it as a bar."""
    rooms, launches = rooms_of(tape), len(tape.items)
    total = sum(room.nbytes for room in rooms)
    head = (
        f"{quantity(tape.arena, 'byte')} for {quantity(len(rooms), 'temporary')} of {total} bytes together, in "
        f"{quantity(launches, 'launch')}"
    ).replace("temporarys", "temporaries").replace("launchs", "launches")  # fmt: skip
    return "\n".join([head, *[line_of(room, launches) for room in rooms]])


def line_of(room: Room, launches: int) -> str:
    """Return the line of one temporary."""
    scale = min(1.0, WIDTH / max(1, launches))
    first, last = int(room.first * scale), int(room.last * scale)
    bar = " " * first + "#" * (last - first + 1)
    return f"{room.offset:>10} {room.nbytes:>10}  |{bar:<{max(1, int(launches * scale))}}|  {room.line}".rstrip()


def report_of(tapes: Sequence[tuple[str, Tape]]) -> str:
    """Return the pictures of some programs, each below the kind of its arguments."""
    return "\n\n".join([f"{kind}: {picture(tape)}" for kind, tape in tapes])
