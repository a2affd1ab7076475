"""Answers to 15, compiled steps."""

from __future__ import annotations

import itertools
import operator
from typing import Any

OPS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg}


def _record(
    mirrored: bool = True, truth: bool = False, new_slots: bool = True, again: bool = False, constants: bool = True
) -> Any:
    """A recorder; the arguments leave one of its properties out.

    mirrored: 2.0 - x is not x - 2.0.  truth: `if x:` is taken.  new_slots: each item has a slot of its own.
    again: the function runs twice.  constants: floats are recorded as they are.
    """

    def record(function: Any, n: int) -> Any:
        items: list[Any] = []

        class Number:
            def __init__(self, slot: Any) -> None:
                self.slot = slot

            if not truth:
                __bool__ = None

        def method(op: str, swapped: bool = False) -> Any:
            def run(self: Any, *others: Any) -> Any:
                read = [self.slot, *[getattr(x, "slot", x if constants else 0) for x in others]]
                written = n + len(items) if new_slots else n
                items.append((op, (*(read[::-1] if swapped else read), written)))
                return Number(written)

            return run

        for op in ("add", "sub", "mul"):
            setattr(Number, f"__{op}__", method(op))
            setattr(Number, f"__r{op}__", method(op, swapped=mirrored))
        Number.__neg__ = method("neg")  # type: ignore[attr-defined]
        result = function(*[Number(k) for k in range(n)])
        if again:
            items.clear()
            result = function(*[Number(k) for k in range(n)])
        return items, result.slot

    return record


def _record_on_one_example(function: Any, n: int) -> Any:
    return [("mul", (0, 1, 2)), ("add", (2, 0, 3))], 3


def _record_by_value(function: Any, n: int) -> Any:
    return [], function(*[1.0] * n)


def _replay(
    reads: Any = lambda memory, x: x if isinstance(x, float) else memory[x], swapped: bool = False, last: bool = False
) -> Any:
    def replay(items: Any, values: Any, result: Any) -> Any:
        memory = dict(enumerate(values))
        value = memory.get(result, 0.0)
        for op, slots in items:
            operands = [reads(memory, x) for x in slots[:-1]]
            value = memory[slots[-1]] = OPS[op](*(operands[::-1] if swapped else operands))
        return value if last else memory[result]

    return replay


def _replay_by_list(items: Any, values: Any, result: Any) -> Any:
    size = 1 + max([result, len(values) - 1, *[slots[-1] for _, slots in items]])
    memory = [*values, *[0.0] * (size - len(values))]
    for op, (*read, written) in items:
        memory[written] = OPS[op](*[memory[x] if isinstance(x, int) else x for x in read])
    return memory[result]


def _replay_appends(items: Any, values: Any, result: Any) -> Any:
    memory = list(values)
    for op, slots in items:
        memory.append(OPS[op](*[x if isinstance(x, float) else memory[x] for x in slots[:-1]]))
    return memory[result]


def _replay_keeps_the_first(items: Any, values: Any, result: Any) -> Any:
    memory = dict(enumerate(values))
    for op, slots in items:
        memory.setdefault(slots[-1], OPS[op](*[x if isinstance(x, float) else memory[x] for x in slots[:-1]]))
    return memory[result]


def _replay_writes_into_values(items: Any, values: Any, result: Any) -> Any:
    values.extend([0.0] * 8)
    for op, slots in items:
        values[slots[-1]] = OPS[op](*[x if isinstance(x, float) else values[x] for x in slots[:-1]])
    return values[result]


def _lives(items: Any, n: Any, result: Any, last_reads: bool = True, to_the_end: bool = True) -> dict[int, list[int]]:
    lives: dict[int, list[int]] = {}
    for k, (_, slots) in enumerate(items):
        for slot in slots[:-1]:
            if isinstance(slot, int) and slot >= n and (last_reads or lives[slot][1] == lives[slot][0]):
                lives[slot][1] = k
        lives[slots[-1]] = [k, k]
    if to_the_end and result in lives:
        lives[result][1] = len(items)
    return lives


def _assign(
    before: Any = operator.lt, fresh: bool = False, first: int = 0, newest: bool = False, **options: Any
) -> Any:
    def assign(items: Any, n: Any, result: Any) -> Any:
        ends: dict[int, int] = {}
        buffers = {}
        for slot, (begin, end) in _lives(items, n, result, **options).items():
            free = [k for k, other in ends.items() if before(other, begin) and not fresh]
            buffer = max(free) if free and newest else min(free) if free else len(ends) + first
            ends[buffer], buffers[slot] = end, buffer
        return buffers

    return assign


def _assign_by_free_list(constants_are_slots: bool = False) -> Any:
    """Buffers from a list of free ones; a dict finds slot 1 by the constant 1.0 unless constants are left out."""

    def assign(items: Any, n: Any, result: Any) -> Any:
        used = [[x for x in slots if constants_are_slots or isinstance(x, int)] for _, slots in items]
        last = {slot: k for k, slots in enumerate(used) for slot in slots} | {result: len(items)}
        free: list[int] = []
        buffers: dict[int, int] = {}
        count = itertools.count()
        for k, slots in enumerate(used):
            buffers[slots[-1]] = free.pop() if free else next(count)
            free += [buffers[slot] for slot in dict.fromkeys(slots) if slot in buffers and last[slot] == k]
        return buffers

    return assign


def _assign_in_turns(items: Any, n: Any, result: Any) -> Any:
    return {slots[-1]: k % 2 for k, (_, slots) in enumerate(items)}


def _assign_arguments_too(items: Any, n: Any, result: Any) -> Any:
    return {**dict.fromkeys(range(n), 0), **_assign()(items, n, result)}


def _fuse(
    sums: bool = False, shapes: bool = True, sharing: bool = True, all_of_loop: bool = True, stored: str = "outside"
) -> Any:
    def fits(a: Any, b: Any) -> bool:
        return (sums or a[0] == b[0] == "map") and (not shapes or a[1] == b[1])

    def fuse(launches: Any, results: Any) -> Any:
        loops: list[list[int]] = []
        for k, launch in enumerate(launches):
            loop = [launches[j] for j in loops[-1]] if loops else []
            near = loop if all_of_loop else loop[-1:]
            slots = {slot for other in near for slot in [*other[2], other[3]]}
            joins = bool(loop) and all(fits(launch, other) for other in near)
            if joins and (not sharing or slots & set(launch[2])):
                loops[-1].append(k)
            else:
                loops.append([k])
        found = []
        for loop_of in loops:
            read = {slot for k, launch in enumerate(launches) if k not in loop_of for slot in launch[2]}
            needed = {"outside": read | results, "all": {x[3] for x in launches}, "results": results, "read": read}
            found.append((loop_of, [launches[k][3] for k in loop_of if launches[k][3] in needed[stored]]))
        return found

    return fuse


def _fuse_backwards(launches: Any, results: Any) -> Any:
    """Build each loop by looking ahead, and ask for each slot which loop reads it."""
    loops: list[Any] = []
    k = 0
    while k < len(launches):
        kind, shape, reads, written = launches[k]
        end, touched = k + 1, {*reads, written}
        while kind == "map" and end < len(launches) and launches[end][:2] == (kind, shape):
            if touched.isdisjoint(launches[end][2]):
                break
            touched |= {*launches[end][2], launches[end][3]}
            end += 1
        loops.append(tuple(range(k, end)))
        k = end
    home = {k: loop for loop in loops for k in loop}
    readers = {x[3]: [home[j] for j, other in enumerate(launches) if x[3] in other[2]] for x in launches}
    return [
        (loop, [s for s in [launches[k][3] for k in loop] if s in results or any(r is not loop for r in readers[s])])
        for loop in loops
    ]


RIGHT: dict[str, list[Any]] = {
    "15.1": [_record(), lambda function, n: tuple(_record()(function, n))],
    "15.2": [_replay(), _replay_by_list],
    "15.3": [_assign(), _assign(newest=True), _assign_by_free_list()],
    "15.4": [_fuse(), _fuse_backwards],
}
WRONG: dict[str, list[Any]] = {
    "15.1": [
        _record(mirrored=False),
        _record(truth=True),
        _record(new_slots=False),
        _record(again=True),
        _record(constants=False),
        _record_on_one_example,
        _record_by_value,
        lambda function, n: _record()(function, n)[0],
    ],
    "15.2": [
        _replay(reads=lambda memory, x: memory[x]),
        _replay(swapped=True),
        _replay(last=True),
        _replay_appends,
        _replay_keeps_the_first,
        _replay_writes_into_values,
    ],
    "15.3": [
        _assign(before=operator.le),
        _assign(fresh=True),
        _assign(first=1),
        _assign(last_reads=False),
        _assign(to_the_end=False),
        _assign_by_free_list(constants_are_slots=True),
        _assign_in_turns,
        _assign_arguments_too,
        lambda items, n, result: 3,
    ],
    "15.4": [
        _fuse(sums=True),
        _fuse(shapes=False),
        _fuse(sharing=False),
        _fuse(all_of_loop=False),
        _fuse(stored="all"),
        _fuse(stored="results"),
        _fuse(stored="read"),
        lambda launches, results: [[k] for k in range(len(launches))],
    ],
}
PRINTED = [
    "27 launches:\n",
    " kernels in 1 table; temporaries in ",
    "slots [0, 1, 2, 3]   <Launch of 4 buffers",
    "call 1\n  the memory of y is a ndarray for float32 (32, 64)\ncall 2\n  the memory of y is a Slot for ",
    "(32, 64)\ncall 3\ncall 4\n",
    "jit: the function requests the value of a tensor",
    "jit: the function changes history, which holds 2 objects instead of 1",
    "the 30 losses are equal:    True\nall parameters are equal:   True\n",
    " bytes together, in 27 launches\n         0 ",
    "10 launches fused into 1 loop; temporaries in 0 bytes",
    "the same bits: True",
    "result[i] = (v7 if v7 > x[i] or v7 != v7 else x[i]) * 0.5",
    "four rates:           <jit scaled: 1 program>\n32 other images:      <jit scaled: 1 program>\n",
    "a batch of 8:         <jit scaled: 2 programs>\nanother scale:        <jit scaled: 3 programs>\n",
    "recorded again after a change of scale",
    "        velocities_0[i, j] = v",
    "the first call returns 474.7, the second one raises",
    "eager:    16 of 16 units are trained, loss 1.33\nprogram:  10 of 16 units are trained, loss 0.16\n",
    "jit: result 0, float32(), differs in at least one bit from the result in eager mode",
    "16 of 16 units are trained, loss 0.95\n16 of 16 units are trained, loss 0.95\n",
    "the same gradient: True",
]
