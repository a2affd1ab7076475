"""Families: the arrays of a repeat as lists in the text of `Jitted.source`, so that one loop shows all rounds.

A column of `repeats.Slots` has one slot per round.  The slots that a launch writes in all rounds form a family, the
list `s0`.  In round t, the launch writes `s0[t + 1]`, for example, and reads `s0[t]`, which the round before wrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.jitting.program import Memory, written_by
from minigrad.jitting.repeats import Repeat, Slots, views_of

REACH = 8  # maximum number of slots that a column has before or after the slots of a family


class Family:
    """The slots that a column has in all rounds; other columns may reach beyond its ends.

    ends: the slots at positions before 0, and after the last one.
    name: the name of the list in the text.
    is_numbers: whether it is a list of numbers, not of arrays.
    """

    is_numbers = False

    def __init__(self, slots: Sequence[int]) -> None:
        self.slots, self.ends, self.name = list(slots), dict[int, int](), ""

    def all(self) -> list[int]:
        """Return the slots of the whole list."""
        before, after = (sorted(k for k in self.ends if (k < 0) is early) for early in (True, False))
        return [*[self.ends[k] for k in before], *self.slots, *[self.ends[k] for k in after]]

    @property
    def begin(self) -> int:
        """The position of the first slot of the list, 0 or less."""
        return min([0, *self.ends])

    def reach(self, column: Sequence[int], first: int, step: int) -> bool:
        """Return whether a column has the slots at `first + step * t`, and include those beyond the ends.

        One of the positions must be inside the list.
        """
        ends = {}
        for t, slot in enumerate(column):
            position = first + step * t
            if 0 <= position < len(self.slots):
                if self.slots[position] != slot:
                    return False
            elif self.ends.get(position, slot) != slot or not -REACH <= position < len(self.slots) + REACH:
                return False
            else:
                ends[position] = slot
        self.ends |= ends
        return True


class Column(NamedTuple):
    """The slots of a column: those of a family at `first + step * t` in round t."""

    family: Family
    first: int
    step: int

    def slots(self, rounds: int) -> list[int]:
        """Return the slots in all rounds."""
        family, begin = self.family.all(), self.first - self.family.begin
        return [family[begin + self.step * t] for t in range(rounds)]

    def at(self, t: str) -> str:
        """Return the element of round `t` as text."""
        first = self.first - self.family.begin
        if self.step < 0:
            return f"{self.family.name}[{first} - {t}]"
        return f"{self.family.name}[{t} + {first}]" if first else f"{self.family.name}[{t}]"


class Rounds:
    """One repeat as a loop of the text.

    uses: how often the launches of the program use each slot.
    stays: returns whether a slot is memory of the caller.
    columns: for each slot of the sample that differs between the rounds, its column.
    steps: for each launch of the sample, the slots in which its views move, with the elements that they move per round.
    """

    def __init__(
        self, items: Sequence[Any], repeat: Repeat, uses: Counter[int], stays: Callable[[int], bool],
        memory: dict[int, Memory],
    ) -> None:  # fmt: skip
        self.memory = memory
        self.repeat, self.body = repeat, repeat.round(items, repeat.sample)
        self.slots = Slots(items, repeat)
        self.sample = self.slots.slots[repeat.sample].tolist()
        self.written = {slot for item in self.body for slot in written_by(item)}
        # All rounds can use one array for memory that no later round reads.
        own = Counter(self.slots.slots.ravel().tolist())
        self.reused = self.written - self.slots.read_later(lambda slot: stays(slot) or uses[slot] > own[slot])
        self.columns: dict[int, Column] = {}
        self.steps: list[dict[int, int]] = []

    def varying(self, written: bool) -> dict[int, list[int]]:
        """Return the slots of each column that differs between the rounds, by the slot of the sample."""
        slots = self.slots.slots
        return {
            slot: slots[:, k].tolist() for slot, k in zip(self.sample, self.slots.same.tolist())
            if (slot in self.written) is written and slot not in self.reused and (slots[:, k] != slot).any()
            and self.memory[slot].kind != "drawn"
        }  # fmt: skip

    def moves(self) -> bool:
        """Return whether the views of each launch move by the same distance in each round, and store the distances.

        Numbers that each call computes must be the same in all rounds.
        """
        self.steps, k = [], 0
        if any(self.memory[slot].kind == "symbol" for slot in self.columns):
            return False
        for item in self.body:
            distances: dict[int, set[int]] = {}
            for slot in [item.slots[buffer] for buffer in views_of(item.launch.origin)[0]]:
                moved = [0] if self.slots.offsets is None else np.unique(np.diff(self.slots.offsets[:, k])).tolist()
                distances.setdefault(slot, set()).update(moved)
                k += 1
            steps = {slot: each.pop() for slot, each in distances.items() if len(each) == 1}
            self.steps.append({slot: step for slot, step in steps.items() if step})
            if len(steps) < len(distances) or any(slot in self.columns for slot in self.steps[-1]):
                return False
        return True


def families_of(repeats: Sequence[Rounds]) -> list[Family]:
    """Find the families of some repeats, and set the columns of the repeats."""
    families: list[Family] = []
    at: dict[int, tuple[Family, int]] = {}
    for each in repeats:
        for slot, column in each.varying(written=True).items():
            family = Family(column)
            families.append(family)
            each.columns[slot] = Column(family, 0, 1)
            for k, other in enumerate(column):
                at.setdefault(other, (family, k))
    for each in repeats:
        for slot, column in each.varying(written=False).items():
            known = within(at, column)
            if known is None:
                families.append(Family(column))
            each.columns[slot] = known or Column(families[-1], 0, 1)
    return families


def within(at: dict[int, tuple[Family, int]], column: list[int]) -> Column | None:
    """Return a column as a part of a known family, or None.

    at: the family of each slot that a launch writes, and its position there.
    """
    middle = len(column) // 2
    here, after = at.get(column[middle]), at.get(column[middle + 1])
    if here is None or after is None or here[0] is not after[0]:
        return None
    (family, position), step = here, after[1] - here[1]
    first = position - step * middle
    return Column(family, first, step) if abs(step) == 1 and family.reach(column, first, step) else None
