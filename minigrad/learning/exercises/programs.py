"""Exercises of notebook 15: compiled steps."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Sequence
from functools import partialmethod
from typing import Any

from minigrad.learning.grading import Exercises, Wrong, as_float, expect_close, expect_returned, tried

EXERCISES = Exercises()

Answer = Callable[..., Any]
Item = tuple[str, tuple[Any, ...]]
Launch = tuple[str, tuple[int, ...], tuple[int, ...], int]
OPERANDS = {"add": 2, "sub": 2, "mul": 2, "neg": 1}
FUNCTIONS: dict[str, Callable[..., float]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg,
}  # fmt: skip


class Placeholder:
    """A number without a value; it has a slot, and it adds operations to a shared list."""

    def __init__(self, items: list[Item], slots: list[int], slot: int) -> None:
        self.items, self.slots, self.slot = items, slots, slot

    def added(self, op: str, *others: Any, swapped: bool = False) -> Placeholder:
        """Append one item and return the placeholder of its result; `swapped` if this is the second operand."""
        slot = self.slots[0]
        self.slots[0] += 1
        read = [x.slot if isinstance(x, Placeholder) else x for x in (self, *others)]
        self.items.append((op, (*(read[::-1] if swapped else read), slot)))
        return Placeholder(self.items, self.slots, slot)

    def __bool__(self) -> bool:
        raise TypeError("a placeholder has no value")


for _op in FUNCTIONS:
    setattr(Placeholder, f"__{_op}__", partialmethod(Placeholder.added, _op))
    if OPERANDS[_op] == 2:
        setattr(Placeholder, f"__r{_op}__", partialmethod(Placeholder.added, _op, swapped=True))


def record(function: Callable[..., Any], n: int) -> tuple[list[Item], int]:
    """Return the items of one call of a function, and the slot of its result."""
    items: list[Item] = []
    slots = [n]
    result = function(*[Placeholder(items, slots, k) for k in range(n)])
    return items, result.slot


def looped(x: Any) -> Any:
    """Square a number three times."""
    for _ in range(3):
        x = x * x
    return x


def with_a_dead_end(x: Any) -> Any:
    """Compute a square that is not used, and return another value."""
    x * x
    return x + 1.0


RECORDED: tuple[tuple[str, int, Callable[..., Any], int], ...] = (
    ("lambda x, y: x * y + x", 2, lambda x, y: x * y + x, 2),
    ("lambda x, y: x - y", 2, lambda x, y: x - y, 1),
    ("lambda x: x - 2.5", 1, lambda x: x - 2.5, 1),
    ("lambda x: 2.5 - x", 1, lambda x: 2.5 - x, 1),
    ("lambda x: 1.5 + 2.0 * x * 3.0", 1, lambda x: 1.5 + 2.0 * x * 3.0, 3),
    ("lambda x, y: -(x - y) * -x", 2, lambda x, y: -(x - y) * -x, 4),
    ("lambda x, y, z: y", 3, lambda x, y, z: y, 0),
    ("a function that squares x three times in a loop", 1, looped, 3),
    ("a function that computes x * x, forgets it and returns x + 1.0", 1, with_a_dead_end, 2),
)


@EXERCISES(
    "15.1", record, "A recorder: objects without values that write down their operations.",
    "Write a class with a slot and the methods __add__, __radd__, __sub__, __rsub__, __mul__, __rmul__ and __neg__. "
    "Each returns a new object of the class.",
    "A method appends (op, (*operands, new slot)) to a list that all objects share; the new slot is n + len(items), "
    "before the item is appended. An operand without a slot is a float.",
    "__rsub__(self, other) is other - self: the item is ('sub', (other, self.slot, new)). Add a method __bool__ that "
    "raises TypeError, and return items, function(*objects).slot.",
)  # fmt: skip
def grade_record(answer: Answer) -> None:
    """Test the form of the items, the value that they compute, one call of the function, and a branch."""
    for name, n, function, count in RECORDED:
        calls = 0

        def counted(*given: Any, function: Any = function) -> Any:
            nonlocal calls
            calls += 1
            return function(*given)

        got = tried(answer, counted, n, on=f"n = {n} and {name}")
        expect_returned(got, "record")
        if not isinstance(got, tuple) or len(got) != 2 or not isinstance(got[0], list):
            raise Wrong("record should return a pair: the list of items, and the slot of the result")
        items, result = got
        if calls != 1:
            raise Wrong(f"record should call the function once, but calls it {calls} times")
        for k, item in enumerate(items):
            expect_item(item, n + k, f"items[{k}] of {name}")
        if len(items) != count:
            raise Wrong(f"{name} has {count} operations, and record returns {len(items)} items")
        if not is_slot(result) or not 0 <= result < n + count:
            raise Wrong(f"the result of {name} is a slot, an int from 0 to {n + count - 1}; record returns {result!r}")
        values = [0.5, -1.25, 3.0][:n]
        found, want = replay(items, values, result), float(function(*values))
        if not math.isclose(found, want, rel_tol=1e-12):
            raise Wrong(f"the items of {name} compute {found:g} for {values}, but {want:g} was expected: {items}")
    expect_no_branch(answer)


def expect_item(item: Any, slot: int, what: str) -> None:
    """Raise Wrong unless an item has a known op, operands that exist, and writes the next slot."""
    if not isinstance(item, tuple) or len(item) != 2 or not isinstance(item[1], tuple):
        raise Wrong(f"{what} is {item!r}, but a pair of an op and a tuple of slots was expected")
    op, slots = item
    if op not in OPERANDS:
        raise Wrong(f"{what} has the op {op!r}, which is not among {', '.join(OPERANDS)}")
    if len(slots) != OPERANDS[op] + 1:
        raise Wrong(f"{what} is {item!r}; {op} has {OPERANDS[op]} operands and one slot that it writes")
    for operand in slots[:-1]:
        if not isinstance(operand, float) and not is_slot(operand):
            raise Wrong(f"{what} has the operand {operand!r}; an operand is a slot (int) or a constant (float)")
        if is_slot(operand) and not 0 <= operand < slot:
            raise Wrong(f"{what} reads slot {operand}, which no earlier item has written")
    if not is_slot(slots[-1]) or slots[-1] != slot:
        raise Wrong(f"{what} writes slot {slots[-1]!r}, but the next new slot is {slot}")


def is_slot(x: Any) -> bool:
    """Return whether an object is an int, and not a bool."""
    return isinstance(x, int) and not isinstance(x, bool)


def expect_no_branch(answer: Answer) -> None:
    """Raise Wrong unless a branch on a placeholder raises an error."""
    branched = False

    def branching(x: Any) -> Any:
        nonlocal branched
        taken = bool(x)
        branched = True
        return x * 2.0 if taken else x

    try:
        answer(branching, 1)
    except Exception:
        if not branched:
            return
    raise Wrong("`if x:` must raise an error: a placeholder has no value, and Python calls its method __bool__")


def replay(items: Sequence[Item], values: Sequence[float], result: int) -> float:
    """Return the value of a slot after all items have run."""
    memory = dict(enumerate(values))
    for op, slots in items:
        operands = [x if isinstance(x, float) else memory[x] for x in slots[:-1]]
        memory[slots[-1]] = FUNCTIONS[op](*operands)
    return memory[result]


REPLAYED: tuple[tuple[list[Item], list[float], int], ...] = (
    ([("mul", (0, 1, 2)), ("add", (2, 0, 3))], [0.5, -4.0], 3),
    ([("sub", (0, 2.5, 1))], [1.0], 1),
    ([("sub", (2.5, 0, 1)), ("neg", (1, 2))], [1.0], 2),
    ([("mul", (0, 0, 1)), ("mul", (1, 1, 2)), ("neg", (0, 3))], [3.0], 2),
    ([], [7.0, 8.0], 1),
    ([("mul", (0, 2.0, 0)), ("add", (0, 1, 0)), ("sub", (1, 0, 1))], [3.0, 10.0], 1),
    ([("add", (0, 1, 2)), ("mul", (2, 2, 3)), ("sub", (3, 1, 2)), ("neg", (2, 3)), ("add", (3, 0, 2))], [1.0, 2.0], 2),
    ([("neg", (0, 5)), ("mul", (5, 3.0, 4))], [2.0], 4),
)


@EXERCISES(
    "15.2", replay, "A program needs no graph and no function: a loop over a list is enough.",
    "Use a table from slots to floats, which begins with the arguments. A copy of the list is not enough: a slot may "
    "be larger than its length.",
    "memory = dict(enumerate(values)). For each item, the operands are x if isinstance(x, float) else memory[x], for "
    "x in slots[:-1].",
    "memory[slots[-1]] = the result of the op, in each case; at the end, return memory[result].",
)  # fmt: skip
def grade_replay(answer: Answer) -> None:
    """Test constants on both sides, slots that are written again, and results that are arguments."""
    for items, values, result in REPLAYED:
        told = f"replay({items}, {values}, {result})"
        expect_close(as_float(answer([*items], [*values], result), told), replay(items, values, result), told, 1e-12)


def lives_of(items: Sequence[Item], n: int, result: int) -> dict[int, tuple[int, int]]:
    """Return for each slot that an item writes the first and the last item for which it is live."""
    lives: dict[int, tuple[int, int]] = {}
    for k, (_, slots) in enumerate(items):
        lives[slots[-1]] = k, k
        for slot in slots[:-1]:
            if is_slot(slot) and slot >= n:
                lives[slot] = lives[slot][0], k
    if result in lives:
        lives[result] = lives[result][0], len(items)
    return lives


def assign(items: Sequence[Item], n: int, result: int) -> dict[int, int]:
    """Return a buffer for each slot that an item writes: the lowest free buffer."""
    lives = lives_of(items, n, result)
    ends: list[int] = []  # for each buffer the last item for which it is in use
    buffers = {}
    for slot, (first, last) in lives.items():
        buffer = next((k for k, end in enumerate(ends) if end < first), len(ends))
        ends[buffer:] = [last, *ends[buffer + 1 :]]
        buffers[slot] = buffer
    return buffers


ASSIGNED: tuple[tuple[list[Item], int, int], ...] = (
    ([("mul", (0, 0, 1)), ("neg", (1, 2)), ("add", (2, 1.0, 3))], 1, 3),
    ([("mul", (0, 0, 1)), ("neg", (1, 2)), ("neg", (2, 3)), ("neg", (3, 4)), ("neg", (4, 5)), ("neg", (5, 6))], 1, 6),
    ([("mul", (0, 1, 2)), ("neg", (2, 3)), ("neg", (3, 4)), ("neg", (4, 5)), ("add", (5, 2, 6))], 2, 6),
    ([("mul", (0, 1, 2)), ("neg", (0, 3)), ("neg", (1, 4)), ("neg", (4, 5))], 2, 2),
    ([("mul", (0, 0, 1)), ("neg", (0, 2)), ("add", (0, 1, 3)), ("add", (3, 2.0, 4))], 1, 4),
    ([("add", (0, 1, 3)), ("mul", (3, 2, 4)), ("mul", (3, 3, 5)), ("sub", (4, 5, 6)), ("neg", (6, 7))], 3, 7),
    ([("neg", (0, 1)), ("neg", (1, 2)), ("neg", (2, 3))], 1, 0),
)


def random_items(seed: int) -> tuple[list[Item], int, int]:
    """Return a program of 12 items with one argument, whose operands are mostly recent slots."""
    rng = random.Random(seed)
    items: list[Item] = []
    for slot in range(1, 13):
        read = [max(0, slot - 1 - rng.choice((0, 0, 0, 1, 2, 5))) for _ in range(2)]
        items.append(("mul", (*read, slot)))
    return items, 1, rng.choice((12, 12, 7))


@EXERCISES(
    "15.3", assign, "Liveness: memory that is used again as soon as nobody reads it.",
    "First compute for each slot its first and its last item. Then go through the slots in the order in which they "
    "are written, and give each the lowest buffer that is free.",
    "The operands of an item are live while it writes: a buffer is free for a slot if its last slot ended *before* "
    "the item that writes the new one. A slot that nobody reads is live for one item.",
    "Keep a list `ends` with the last item of each buffer. For a slot from item first to item last: the first k with "
    "ends[k] < first, or a new buffer; then ends[k] = last. The last item of `result` is len(items).",
)  # fmt: skip
def grade_assign(answer: Answer) -> None:
    """Test that slots with the same buffer are never live together, and that the number of buffers is the least."""
    for items, n, result in (*ASSIGNED, *map(random_items, range(8))):
        got, lives = answer([*items], n, result), lives_of(items, n, result)
        what = f"for assign({items}, {n}, {result})"
        expect_returned(got, "assign")
        if not isinstance(got, dict) or not all(map(is_slot, got.values())):
            raise Wrong("assign should return a dict from slots to ints")
        if got.keys() != lives.keys():
            raise Wrong(f"the dict has the slots {sorted(got)}, but {sorted(lives)} are written, {what}")
        for k in range(len(items) + 1):
            owner: dict[int, int] = {}
            for slot in [slot for slot, (first, last) in lives.items() if first <= k <= last]:
                if got[slot] in owner:
                    when = f"at items[{k}]" if k < len(items) else "at the end"
                    raise Wrong(f"slots {owner[got[slot]]} and {slot} share a buffer, and both are live {when}, {what}")
                owner[got[slot]] = slot
        least = len(set(assign(items, n, result).values()))
        if len(set(got.values())) > least:
            raise Wrong(f"it uses {len(set(got.values()))} buffers, and {least} are enough, {what}")
        if set(got.values()) != set(range(least)):
            raise Wrong(
                f"the buffers are numbered {sorted(set(got.values()))}, but they begin at 0 without gaps, {what}"
            )


def fuse(launches: Sequence[Launch], results: set[int]) -> list[tuple[list[int], list[int]]]:
    """Return the loops: the indices of their launches, and the slots that they write to memory."""
    loops: list[list[int]] = []
    for k, (kind, shape, reads, _) in enumerate(launches):
        loop = [launches[j] for j in loops[-1]] if loops else []
        shared = {slot for _, _, others, written in loop for slot in (*others, written)}
        alike = all((kind, shape) == ("map", other[1]) and other[0] == "map" for other in loop)
        if loop and alike and not shared.isdisjoint(reads):
            loops[-1].append(k)
        else:
            loops.append([k])
    result = []
    for loop_indices in loops:
        outside = {slot for k, launch in enumerate(launches) if k not in loop_indices for slot in launch[2]} | results
        result.append((loop_indices, [launches[k][3] for k in loop_indices if launches[k][3] in outside]))
    return result


BIG, ROW, ONE = (4, 8), (8,), (4,)
FUSED: tuple[tuple[list[Launch], set[int]], ...] = (
    ([("map", BIG, (0,), 1), ("map", BIG, (1,), 2), ("map", BIG, (2, 0), 3)], {3}),
    ([("map", BIG, (0,), 1), ("sum", BIG, (1,), 2), ("map", ONE, (2,), 3)], {3}),
    ([("map", BIG, (0,), 2), ("map", ROW, (1,), 3), ("map", ROW, (3, 1), 4), ("map", BIG, (2, 4), 5)], {5}),
    ([("map", BIG, (0,), 2), ("map", BIG, (1,), 3), ("map", BIG, (2, 3), 4)], {4}),
    ([("map", BIG, (0, 1), 2), ("map", BIG, (1,), 3), ("map", BIG, (0,), 4)], {2, 3, 4}),
    ([("map", BIG, (0,), 1), ("map", BIG, (1,), 2), ("sum", BIG, (2,), 3), ("sum", BIG, (2,), 4), ("map", BIG, (1,), 5),
      ("map", BIG, (5,), 6)], {3, 6}),
    ([("map", BIG, (0,), 1), ("map", BIG, (1,), 2), ("map", BIG, (0,), 3)], {1, 3}),
    ([("sum", BIG, (0,), 1), ("map", BIG, (0,), 2), ("sum", BIG, (2,), 3), ("sum", BIG, (0,), 4)], {1, 3, 4}),
)  # fmt: skip


@EXERCISES(
    "15.4", fuse, "Fusion: one loop for many maps, and memory only for values that leave the loop.",
    "Build the loops first. Compare a launch with all launches of the current loop, not only with the last.",
    "A launch joins if it is a map, if the loop contains maps only, if the shapes are equal, and if one of its reads "
    "is in the set of all slots that the loop reads or writes.",
    "Then, for each loop: outside = the reads of all launches that are not in it, and the results. The slots with "
    "memory are launches[k][3] for k in the loop, if they are in outside.",
)  # fmt: skip
def grade_fuse(answer: Answer) -> None:
    """Test shapes, sums, loops whose first launch shares the memory, and values that other loops read."""
    for launches, results in FUSED:
        got, want = answer(list(launches), set(results)), fuse(launches, results)
        what = f"for fuse({launches}, {results})"
        expect_returned(got, "fuse")
        try:
            pairs = [(list(indices), list(slots)) for indices, slots in got]
        except (TypeError, ValueError):
            raise Wrong("fuse should return a list of pairs: a list of indices, and a list of slots") from None
        loops, wanted = [indices for indices, _ in pairs], [indices for indices, _ in want]
        if loops != wanted:
            raise Wrong(f"the loops have the launches {loops}, but {wanted} was expected, {what}")
        stored, needed = [slots for _, slots in pairs], [slots for _, slots in want]
        if stored != needed:
            raise Wrong(f"the slots with memory are {stored}, but {needed} was expected, {what}")
