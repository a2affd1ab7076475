"""Repeats: the loops of a recorded function, found in the list of its launches.

A loop of Python records equal launches again and again, on other slots of memory.  `repeats_of` finds such rounds.
Fusion, the table of the runner and the text of `Jitted.source` treat one round, and read the slots of all others from
a matrix.  Two launches are equal if they differ at most in the offsets of their views, as those of `x[t]` do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.launch import Launch
from minigrad.core.requests import Elementwise, Product
from minigrad.jitting.program import HostCall, Item, Memory, Program, written_by
from minigrad.runtime.shifting import Shifted

LONG = 112  # minimum number of launches of a recorded function; the launches of a shorter one are fused together
LEAST = 32  # minimum number of launches of all rounds
ROUNDS = 4  # minimum number of rounds
WINDOW = 8  # launches that are compared to find the periods
PERIODS = 16  # number of periods that are tried, the most frequent ones
SHORT = 128  # launches up to which a round is preferred to the loops inside it


class Repeat(NamedTuple):
    """Launches of a program from index `first`: `rounds` rounds, each of `period` equal launches.

    sample: a round that has as many different slots as any other round.
    """

    first: int
    period: int
    rounds: int
    sample: int

    @property
    def end(self) -> int:
        """The index of the first launch after the repeat."""
        return self.first + self.period * self.rounds

    def round(self, items: Sequence[Any], k: int) -> Sequence[Any]:
        """Return the launches of one round."""
        begin = self.first + self.period * k
        return items[begin : begin + self.period]


class Slots:
    """The slots of a repeat: a matrix with one row per round, and one column per buffer of a launch.

    offsets: the offset of each view, in elements; None if no launch differs from that of another round.
    same: for each column, the first column that has the same slot in the sample; `alike`: the same view.
    column: maps a view of the sample to its first column.
    """

    def __init__(self, items: Sequence[Any], repeat: Repeat) -> None:
        self.repeat = repeat
        columns = [items[repeat.first + k : repeat.end : repeat.period] for k in range(repeat.period)]
        views = [views_of(item.launch.origin) for item in repeat.round(items, repeat.sample)]
        self.slots = np.hstack([slot_matrix(column, buffers) for column, (buffers, _) in zip(columns, views)])
        self.offsets: NDArray[np.int64] | None = None
        if any(item.launch is not column[0].launch for column in columns for item in column):
            self.offsets = np.hstack([offset_matrix(column, at) for column, (_, at) in zip(columns, views)])
        self.same, self.alike = self.firsts(self.slots[repeat.sample].tolist()), self.firsts(self.views(repeat.sample))
        self.column = {view: k for k, view in reversed([*enumerate(self.views(repeat.sample))])}
        self.column |= {(slot, None): k for k, slot in reversed([*enumerate(self.slots[repeat.sample].tolist())])}

    def views(self, k: int) -> list[tuple[int, int | None]]:
        """Return the slot and the offset of each buffer in one round."""
        slots = self.slots[k].tolist()
        return [*zip(slots, [None] * len(slots) if self.offsets is None else self.offsets[k].tolist())]

    def read_later(self, lasts: Callable[[int], bool]) -> set[int]:
        """Return the slots of the sample that, in any round, are used after the round.

        lasts: returns whether a slot is used after the repeat.
        """
        columns = np.unique(self.same)
        rows = self.slots[:, columns].tolist()
        last = {slot: k for k, row in enumerate(rows) for slot in row}
        sample = rows[self.repeat.sample]
        return {x for k, row in enumerate(rows) for x, slot in zip(sample, row) if last[slot] > k or lasts(slot)}

    @staticmethod
    def firsts(values: Sequence[Any]) -> NDArray[np.int64]:
        """Return for each value the index of the first equal one."""
        seen: dict[Any, int] = {}
        return np.array([seen.setdefault(value, k) for k, value in enumerate(values)], np.int64)

    def fitting(self, written: set[int]) -> NDArray[np.bool_]:
        """Return for each round whether the fused form of the sample is correct for it.

        Slots that are equal in the sample must be equal in the round.  A slot that the sample writes must differ from
        each slot from which it differs in the sample; other slots may be equal, as in the first round of `h = x`.
        """
        slots, sample = self.slots, self.slots[self.repeat.sample]
        fits = (slots == slots[:, self.same]).all(axis=1)
        first = np.unique(self.same)
        for k in first:
            if int(sample[k]) in written:
                fits &= (slots[:, first] == slots[:, [k]]).sum(axis=1) == 1
        if self.offsets is not None:
            offsets = self.offsets
            fits &= (offsets == offsets[:, self.alike]).all(axis=1)
            for k, slot in enumerate(sample.tolist()):
                if slot in written:
                    others = np.flatnonzero((self.same == self.same[k]) & (self.alike != self.alike[k]))
                    fits &= (offsets[:, others] != offsets[:, [k]]).all(axis=1)
        return fits


def views_of(launch: Launch) -> tuple[list[int], list[int]]:
    """Return the buffers of a launch, then again those with further views, and the index of each view among all specs.

    A buffer without a view has the index -1.
    """
    parts = [(k, spec.layout.offset) for part in launch.parts for k, spec in zip(part.slots, part.specs)]
    first: dict[int, int] = {}
    more: dict[tuple[int, int], int] = {}
    for at, (k, offset) in enumerate(parts):
        if k < launch.arguments and parts[first.setdefault(k, at)][1] != offset:
            more.setdefault((k, offset), at)
    buffers = [*range(launch.arguments)]
    return [*buffers, *[k for k, _ in more]], [*[first.get(k, -1) for k in buffers], *more.values()]


def slot_matrix(column: Sequence[Item], buffers: list[int]) -> NDArray[np.int64]:
    """Return the slots of equal launches, one launch per row, for each view; see `views_of`."""
    slots = [*chain.from_iterable([item.slots for item in column])]  # a list of numbers is read faster than of tuples
    return np.array(slots, np.int64).reshape(len(column), -1)[:, buffers]


def offset_matrix(column: Sequence[Item], at: list[int]) -> NDArray[np.int64]:
    """Return the offset of each view of equal launches, one launch per row; see `views_of`."""
    launch = column[0].launch
    if all(item.launch is launch for item in column):
        return np.tile(np.array([*launch.offsets(), 0], np.int64)[at], (len(column), 1))
    count = len(launch.offsets())
    rows = [x.launch.changed[-count:] if x.launch.__class__ is Shifted else x.launch.offsets() for x in column]
    offsets = np.concatenate(rows).astype(np.int64).reshape(len(column), count)  # a tenth of the time of `np.array`
    return np.pad(offsets, ((0, 0), (0, 1)))[:, at]


def repeats_of(program: Program) -> list[Repeat]:
    """Return the repeats of a program, in order; they are found once."""
    if program.repeats is None:
        long = max(len(program.items), program.whole) >= LONG
        program.repeats = searched(program.items, program.memory) if long else []
    return program.repeats


def searched(items: Sequence[Item | HostCall], memory: Mapping[int, Memory]) -> list[Repeat]:
    """Return the repeats among some launches."""
    tokens = tokens_of(items, memory)
    runs = [run for period in periods_of(tokens) for run in runs_of(tokens, period)]
    free = np.ones(len(items), np.bool_)
    result = []
    for first, length, period in sorted(runs, key=lambda run: (run[2] > SHORT, -run[1], run[2])):
        taken = np.flatnonzero(~free[first : first + length])
        if taken.size:  # the part before, or the part after the launches of other repeats
            before, after = int(taken[0]), int(taken[-1]) + 1
            first, length = (first, before) if before >= length - after else (first + after, length - after)
        repeat = narrowed(items, first, length, period) if is_run(length, period) else None
        if repeat is not None:
            free[repeat.first : repeat.end] = False
            result.append(repeat)
    return sorted(result)


def tokens_of(items: Sequence[Item | HostCall], memory: Mapping[int, Memory]) -> NDArray[np.int64]:
    """Return a number for each launch, the same for equal launches; a host call has its own."""
    by_id: dict[int, int] = {}
    by_key: dict[Any, int] = {}
    tokens = []
    for k, item in enumerate(items):
        if isinstance(item, HostCall):
            tokens.append(-1 - k)
            continue
        launch = item.launch.origin
        token = by_id.get(id(launch))
        if token is None:
            device = memory[item.slots[-1]].device if item.slots else None
            token = by_id[id(launch)] = by_key.setdefault((device, key_of_launch(launch)), len(by_key))
        tokens.append(token)
    return np.array(tokens, np.int64)


def key_of_launch(launch: Launch) -> Any:
    """Return a key that is equal for launches that differ at most in the offsets of their views."""
    if not launch.parts or launch.flags or launch.always_fails or launch.limits is not None:
        return id(launch)
    parts = [
        (part.request, part.slots, part.results, *[(s.layout.shape, s.layout.strides, s.dtype) for s in part.specs])
        for part in launch.parts
    ]
    # Which views are the same: launches with views of one buffer at two offsets differ from those at one.
    seen: dict[Any, int] = {}
    views = [(k, spec.layout.offset) for part in launch.parts for k, spec in zip(part.slots, part.specs)]
    key = (launch.arguments, tuple([seen.setdefault(view, k) for k, view in enumerate(views)]), *parts)
    try:
        hash(key)
    except TypeError:  # a request has a field that cannot be compared
        return id(launch)
    return key


def periods_of(tokens: NDArray[np.int64]) -> list[int]:
    """Return the most frequent distances between equal windows of launches."""
    if len(tokens) < 2 * WINDOW:
        return []
    count = len(tokens) - WINDOW + 1
    mixed = tokens.astype(np.uint64)
    windows = np.zeros(count, np.uint64)
    for k in range(WINDOW):
        windows = windows * np.uint64(6364136223846793005) + mixed[k : k + count]  # Knuth's factor, modulo 2**64
    order = np.argsort(windows, kind="stable")
    again = windows[order[1:]] == windows[order[:-1]]
    distances = Counter((order[1:] - order[:-1])[again].tolist())
    return [distance for distance, _ in distances.most_common(PERIODS)]


def runs_of(tokens: NDArray[np.int64], period: int) -> Iterator[tuple[int, int, int]]:
    """Yield the first index, the length and the period of each run in which all launches repeat after the period."""
    equal = np.concatenate([[False], tokens[period:] == tokens[:-period], [False]])
    edges = np.flatnonzero(equal[1:] != equal[:-1])
    for first, end in zip(edges[::2].tolist(), edges[1::2].tolist()):
        length = end - first + period
        if is_run(length, period):
            yield first, length, period


def is_run(length: int, period: int) -> bool:
    """Return whether a number of launches is enough for a repeat."""
    return length >= max(LEAST, ROUNDS * period)


def narrowed(items: Sequence[Any], first: int, length: int, period: int) -> Repeat | None:
    """Return the repeat in a run whose rounds use their slots in the same way, or None if too few rounds do.

    A round begins with a matrix product, or after a launch that is not elementwise, so that the border between two
    rounds separates no launches that fusion would join.
    """
    shift = first_of_round(items[first : first + period])
    first, rounds = first + shift, (length - shift) // period
    if rounds < ROUNDS or rounds * period < LEAST:
        return None
    middle = rounds // 2
    repeat = Repeat(first, period, rounds, middle)
    written = {slot for item in repeat.round(items, middle) for slot in written_by(item)}
    fits = Slots(items, repeat).fitting(written)
    low = middle - int(np.argmin([*fits[middle::-1], False])) + 1
    high = middle + int(np.argmin([*fits[middle:], False]))
    if high - low < ROUNDS or (high - low) * period < LEAST:
        return None
    return Repeat(first + low * period, period, high - low, middle - low)


def first_of_round(body: Sequence[Item]) -> int:
    """Return the index of the launch at which a round begins."""
    requests = [item.launch.requests for item in body]
    products = [k for k, each in enumerate(requests) if any(isinstance(x, Product) for x in each)]
    others = [k + 1 for k, each in enumerate(requests)
              if not all(isinstance(x, Elementwise) for x in each)]  # fmt: skip
    return [*products, *others, 0][0] % len(body)
