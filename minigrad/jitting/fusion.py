"""Fusion: from the launches of a program to fewer launches that compute the same bits.

Units (`composing.py`) that share memory and a shape become one loop: an ordinary `Elementwise` request with a generated
scalar function, so every device can run it.  A result that only the loop itself reads is not stored.  Launches whose
results are never read are left out.  All others stay as recorded, in an order in which each finds the same values.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.launch import Launch, Part
from minigrad.backends.registry import backend_of
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.requests import Elementwise
from minigrad.jitting.chaining import Chaining
from minigrad.jitting.composing import ARRAYS, Composer, Unit, View, runs_along, unit_of
from minigrad.jitting.program import HostCall, Item, Memory, Program, written_by
from minigrad.jitting.repeats import Repeat, Slots, repeats_of
from minigrad.kernels.store import NotCompiled, Text
from minigrad.runtime.shifting import Shifted, masks_of, moved, numbers_of_launch

NUMBERS = ("constant", "symbol")  # kinds of memory that a loop does not save by sharing it
# Cost of a loop's scalar function, in additions: 128 pairs such as `h * 0.99 + x`, or 42 of them with `tanh`.  On one
# core of an AMD EPYC, the compiler takes 0.7 to 2 s for most such loops, and 10 s for a cost of 1,200.
COST = 256
FEW = 12  # launches beside a loop that are not worth a kernel of their own
LONGEST = 512  # launches that are grouped together, because the time grows with their square
NEAR = 64  # groups, counted back from the newest, that a unit may join


class Group:
    """Collect launches that become one launch: units that share a loop, or a single launch of another kind.

    bit: the bit of the group in a bit set of groups.
    before: the bit set of all groups that must run before this group.
    reads, written: for each slot, the layouts and dtypes with which the units read the slot, and with which they write
    it.
    layouts: the layouts of all views.
    arrays: the views for which the loop needs memory.
    cost: the cost of the units for one element, in additions.
    """

    def __init__(self, order: int) -> None:
        self.order, self.bit = order, 1 << order
        self.items: list[Item] = []
        self.units: list[Unit] = []
        self.before = 0
        self.reads: dict[int, set[Any]] = {}
        self.written: dict[int, Any] = {}
        self.layouts: dict[Layout, None] = {}  # a dict instead of a set, so that the order is the same in each process
        self.arrays: set[View] = set()
        self.cost = 0

    def add(self, item: Item, unit: Unit | None, memory: Mapping[int, Memory]) -> None:
        """Add a launch; `refusal` must have accepted it if the group has others."""
        self.items.append(item)
        if unit is None:
            return
        self.units.append(unit)
        self.cost += unit.cost
        self.arrays |= self.new_arrays(unit, memory)
        for view in unit.operands:
            self.reads.setdefault(view.slot, set()).add(view[1:])
        self.written |= {view.slot: view[1:] for view in unit.outs}
        self.layouts |= dict.fromkeys(view.layout for view in (*unit.outs, *unit.operands))

    def halves(self, memory: Mapping[int, Memory]) -> tuple[Group, Group]:
        """Return two groups of the first and the second half of the units."""
        halves, middle = (Group(self.order), Group(self.order)), len(self.items) // 2
        for k, (item, unit) in enumerate(zip(self.items, self.units, strict=True)):
            halves[k >= middle].add(item, unit, memory)
        return halves

    def refusal(self, unit: Unit, memory: Mapping[int, Memory]) -> str | None:
        """Return why a unit cannot share the loop, or would save no memory traffic there; None if it can share it."""
        if not self.units or not self.units[0].like(unit):
            return "operations that share memory with it have another shape, dtype or device"
        if self.cost + unit.cost > COST:
            return f"the loop would cost more than {COST} additions per element, and its compilation much time"
        used = [view.slot for view in (*unit.outs, *unit.operands) if memory[view.slot].kind not in NUMBERS]
        if len(used) > len(unit.outs) and not any(slot in self.reads or slot in self.written for slot in used):
            return "it shares no memory with a loop"
        if self.conflicts(unit):
            return "a loop would write memory that it reads through another layout or dtype"
        made = [view for view in unit.operands if self.written.get(view.slot) == view[1:]]
        if not all(map(unit.in_register, made)):
            return "its operand is rounded to the dtype of its memory"
        if len(self.arrays | self.new_arrays(unit, memory)) > ARRAYS:
            return f"the loop would read and write more than {ARRAYS} arrays"
        layouts = dict.fromkeys(view.layout for view in (*unit.outs, *unit.operands))
        if layouts.keys() <= self.layouts.keys():
            return None
        outs = dict.fromkeys([*[layout for layout, _ in self.written.values()], *[view.layout for view in unit.outs]])
        along = runs_along([*outs], [*(self.layouts | layouts)])
        return None if along else "no loop runs along neighbours in the memory of all operands"

    def conflicts(self, unit: Unit) -> bool:
        """Return whether a line would write elements that another line accesses through another layout or dtype."""
        outs = {view.slot: view[1:] for view in unit.outs}
        for slot, seen in outs.items():
            if self.written.get(slot, seen) != seen or not self.reads.get(slot, set()) <= {seen}:
                return True
        return any((outs.get(v.slot) or self.written.get(v.slot, v[1:])) != v[1:] for v in unit.operands)

    def new_arrays(self, unit: Unit, memory: Mapping[int, Memory]) -> set[View]:
        """Return the views of a unit for which a loop needs memory: reads of other values, and results that last."""
        arrays = {v for v in unit.operands if v.slot not in self.written and memory[v.slot].kind not in NUMBERS}
        return arrays | {view for view in unit.outs if memory[view.slot].kind != "temporary"}


class Order:
    """Stores which groups wrote and read each slot, to find the groups that must come before a launch.

    These are the groups that wrote an input of the launch, and the groups that read or wrote an output.
    """

    def __init__(self) -> None:
        self.writer: dict[int, int] = {}
        self.readers: dict[int, int] = {}
        self.checks = 0

    def before(self, read: Iterable[int], written: Iterable[int], lasting: bool) -> int:
        """Return the groups that must come before a launch.

        lasting: the launch writes memory that the caller sees, so the checks of indices come before it, as in eager
        mode.
        """
        result = self.checks if lasting else 0
        for slot in read:
            result |= self.writer.get(slot, 0)
        for slot in written:
            result |= self.writer.get(slot, 0) | self.readers.get(slot, 0)
        return result

    def note(self, group: Group, read: Iterable[int], written: Iterable[int], checks: bool) -> None:
        """Record a launch of a group."""
        for slot in written:
            self.writer[slot], self.readers[slot] = group.bit, 0
        for slot in read:
            self.readers[slot] = self.readers.get(slot, 0) | group.bit
        if checks:
            self.checks |= group.bit


def may_fail(item: Item) -> bool:
    """Return whether a launch checks indices."""
    launch = item.launch
    if launch.limits is not None or launch.flags or launch.always_fails:
        return True
    return any(step.kernel.flags for step in launch.steps)


class Fusion:
    """The items of a program after fusion.

    stays: returns whether a slot is memory of the caller.
    repeats: the repeats among the items.
    live: the slots that the items after the current segment use.
    missing: the texts of kernels that are not compiled, if compilation is off; `items` are incomplete then.
    """

    def __init__(self, program: Program, stays: Callable[[int], bool]) -> None:
        self.memory: Mapping[int, Memory] = program.memory
        self.stays, self.live = stays, set[int]()
        self.items: list[Item | HostCall] = []
        self.repeats: list[Repeat] = []
        self.missing: list[Text] = []
        segments = [*segments_of(program.items, repeats_of(program))]
        parts = []
        for k, (repeat, segment) in reversed([*enumerate(segments)]):
            beside = [each.period for each, _ in segments[max(0, k - 1) : k + 2] if each is not None]
            if repeat is None and len(segment) < min(FEW, 2 * max(beside, default=0)):
                items = segment  # the ends of a loop: their kernels exist, and run once
            else:
                items = self.fused(segment) if repeat is None else self.rounds(repeat, program.items)
            self.live.update([slot for item in items if isinstance(item, Item) for slot in item.slots])
            parts.append((repeat, items))
        for repeat, items in reversed(parts):
            if repeat is not None and items:
                period = len(items) // repeat.rounds
                self.repeats.append(Repeat(len(self.items), period, repeat.rounds, repeat.sample))
            self.items += items

    def rounds(self, repeat: Repeat, recorded: Sequence[Any]) -> list[Item | HostCall]:
        """Return the items of a repeat: its sample is fused, and the other rounds run the result on their slots."""
        slots, body = Slots(recorded, repeat), repeat.round(recorded, repeat.sample)
        sample = slots.slots[repeat.sample].tolist()
        before = self.memory, self.stays, self.live
        # A constant that differs between the rounds is not written into the function.
        varying = {slot for slot, column in zip(sample, slots.slots.T) if (column != slot).any()}
        self.memory = ChainMap({slot: self.memory[slot]._replace(kind="symbol") for slot in varying
                                if self.memory[slot].kind == "constant"}, self.memory)  # type: ignore[arg-type]  # fmt: skip
        wanted = slots.read_later(lambda slot: before[1](slot) or slot in before[2])
        self.stays, self.live = lambda slot: slot in wanted or before[1](slot), self.live | wanted
        fused = self.fused(body)
        self.memory, self.stays, self.live = before
        if self.missing:
            return []
        position = {id(item): k for k, item in enumerate(body)}
        if slots.offsets is not None and any(
            len(item.launch.parts) != 1 for item in fused if isinstance(item, Item) and id(item) not in position
        ):  # a launch of several requests does not record the request from which it was made
            return [*recorded[repeat.first : repeat.end]]
        made = [Replica(item, position.get(id(item)), slots, self.memory) for item in fused if isinstance(item, Item)]
        return [each.item(recorded, k) for k in range(repeat.rounds) for each in made]

    def fused(self, segment: Sequence[Item | HostCall]) -> list[Item | HostCall]:
        """Return the items of one segment: a host call, or launches between two of them."""
        if segment and isinstance(segment[0], HostCall):
            return [*segment]
        later = set(self.live)
        groups = in_order(grouped(segment, self.memory, self.stays))
        made = [self.emitted(group) for group in reversed(groups)]
        result = [item for items in reversed(made) for item in items]

        def lasts(slot: int) -> bool:
            return self.stays(slot) or slot in later

        return [self.prepared(item) for item in Chaining(result, self.memory, lasts, self.missing).result]

    def emitted(self, group: Group) -> list[Item]:
        """Return the launches of a group, and record what they read; this is called for the last group first."""
        written = {slot for item in group.items for slot in written_by(item)}
        wanted = any(self.stays(slot) or slot in self.live for slot in written)
        if not wanted and not any(map(may_fail, group.items)):
            return []
        items = group.items if len(group.units) < 2 else [self.loop(group)]
        if len(items[0].slots) > ARRAYS and len(group.units) > 1:
            # Other groups read many of its values, for which `Group.refusal` has counted no memory.
            first, second = group.halves(self.memory)
            later = self.emitted(second)
            return [*self.emitted(first), *later]
        self.live |= {slot for item in items for slot in item.slots}
        return items

    def prepared(self, item: Item) -> Item:
        """Return a launch with its kernels.  A loop that became a part of another launch needs no kernels."""
        if item.launch.steps or not item.fused:
            return item
        (part,) = item.launch.parts
        count = len(part.specs) - part.results
        try:
            backend = backend_of(self.memory[item.slots[-1]].device)
            return item._replace(launch=backend.prepare(part.request, part.specs[count:], *part.specs[:count]))
        except NotCompiled as missing:
            self.missing.append(missing.text)
            return item.fused[0]

    def loop(self, group: Group) -> Item:
        """Return the units of a group as one launch, without its kernels."""
        composer = Composer(self.memory, group.units)
        # A loop of literals alone would read nothing, and not every device can run such a loop.
        if not composer.operands:
            composer = Composer(self.memory, group.units, literals=False)
        outs = dict.fromkeys(view for unit in group.units for view in unit.outs)
        results = [view for view in outs if self.stays(view.slot) or view.slot in self.live]
        specs = {view: Spec(view.layout, view.dtype) for view in (*composer.operands, *results)}
        scalar = composer.composed(results)
        shape, first = group.units[0].shape, group.units[0]
        operands = []
        for view in composer.operands:  # an operand that is also a result shares the Spec object of the result
            operands.append(specs[view] if view in results or view.layout.shape == shape else expanded(view, shape))
        slots = tuple([view.slot for view in (*composer.operands, *results)])
        made = (*operands, *[specs[view] for view in results])
        part = Part(Elementwise(scalar, first.compute), tuple(range(len(slots))), made, len(results))
        return Item(Launch(len(slots), parts=[part]), slots, first.line, tuple(group.items))


def grouped(segment: Sequence[Any], memory: Mapping[int, Memory], stays: Callable[[int], bool]) -> list[Group]:
    """Return the groups of some launches. stays: see `Fusion`."""
    groups: list[Group] = []
    order = Order()
    for item in segment:
        unit = unit_of(item, memory)
        written = written_by(item)
        read = {view.slot for view in unit.operands} if unit else set(item.slots)
        direct = order.before(read, written, any(map(stays, written)))
        needed = [each for each in groups if direct & each.bit]
        before = direct
        for each in needed:
            before |= each.before
        group = None if unit is None else group_for(groups, unit, needed, memory)
        if group is None:
            group = Group(len(groups))
            groups.append(group)
        group.add(item, unit, memory)
        for each in groups:
            if each is group or each.before & group.bit:
                each.before |= before & ~each.bit
        order.note(group, read, written, may_fail(item))
    return groups


def group_for(groups: list[Group], unit: Unit, needed: list[Group], memory: Mapping[int, Memory]) -> Group | None:
    """Return the newest group that a unit can join, or None.

    needed: the groups that must come before the unit; none of them may have to wait for the returned group.
    """
    for group in reversed(groups[-NEAR:]):
        if group.refusal(unit, memory) is None and not any(each.before & group.bit for each in needed):
            return group
    return None


def expanded(view: View, shape: tuple[int, ...]) -> Spec:
    """Return the Spec of an operand in the shape of a loop."""
    return Spec(view.layout.expand(shape), view.dtype)


class Replica:
    """A launch of a fused sample, from which the launches of all rounds are made.

    position: its index among the recorded launches of a round, or None for a launch that fusion has made.
    """

    def __init__(self, item: Item, position: int | None, slots: Slots, memory: Mapping[int, Memory]) -> None:
        self.sample, self.position, self.device = item, position, memory[item.slots[-1]].device
        self.repeat = slots.repeat
        self.rows = [*zip(*slots.slots[:, [slots.column[slot, None] for slot in item.slots]].T.tolist())]
        self.launches: list[Launch] | None = None
        if slots.offsets is not None and position is None:
            (part,) = item.launch.parts
            views = [(item.slots[k], spec.layout.offset) for k, spec in zip(part.slots, part.specs)]
            self.launches = self.launches_at(slots.offsets[:, [slots.column[view] for view in views]])

    def item(self, recorded: Sequence[Item], k: int) -> Item:
        """Return the launch of round k."""
        if self.position is not None:
            return recorded[self.repeat.first + self.repeat.period * k + self.position]
        launch = self.sample.launch if self.launches is None else self.launches[k]
        return Item(launch, self.rows[k], self.sample.line, self.sample.fused)

    def launches_at(self, offsets: NDArray[np.int64]) -> list[Launch]:
        """Return the launches whose views begin at the offsets in each row of a matrix, equal rows as one launch."""
        base, (part,) = self.sample.launch, self.sample.launch.parts
        own = [*{id(spec): k for k, spec in reversed([*enumerate(part.specs)])}.values()]  # each Spec object once
        rows, which = np.unique(offsets[:, own], axis=0, return_inverse=True)
        start = offsets[self.repeat.sample][own]

        def parts_at(k: int, by: int) -> tuple[Any, Any] | None:
            return numbers_of_launch(self.prepared(own, start + by * (np.arange(len(own)) == k)))

        parts = numbers_of_launch(base) if len(rows) > 2 * len(own) else None
        masks = masks_of(parts, len(own), parts_at)
        if parts is None or masks is None:
            made = [self.prepared(own, row) for row in rows]
        else:
            made = [Shifted(base, numbers) for numbers in parts[1] + (rows - start) @ np.stack(masks)]
        return [made[k] for k in which.ravel().tolist()]

    def prepared(self, own: Sequence[int], offsets: NDArray[np.int64]) -> Launch:
        """Return the launch whose Spec objects, of which `own` are the first indices, begin at other offsets."""
        (part,) = self.sample.launch.parts
        made = {id(part.specs[k]): moved(part.specs[k], at) for k, at in zip(own, offsets.tolist())}
        specs, count = [made[id(spec)] for spec in part.specs], len(part.specs) - part.results
        return backend_of(self.device).prepare(part.request, tuple(specs[count:]), *specs[:count])


def segments_of(
    items: Sequence[Item | HostCall], repeats: Sequence[Repeat]
) -> Iterator[tuple[Repeat | None, list[Item | HostCall]]]:
    """Yield runs of launches, and each host call by itself; for a repeat, its sample is the run."""
    ends, k = {repeat.first: repeat for repeat in repeats}, 0
    run: list[Item | HostCall] = []
    while k < len(items):
        repeat = ends.get(k)
        if repeat is not None or isinstance(items[k], HostCall) or len(run) == LONGEST:
            yield None, run
            run = []
        if repeat is not None:
            yield repeat, [*repeat.round(items, repeat.sample)]
        elif isinstance(items[k], HostCall):
            yield None, [items[k]]
        else:
            run.append(items[k])
        k = k + 1 if repeat is None else repeat.end
    yield None, run


def in_order(groups: Sequence[Group]) -> list[Group]:
    """Return groups so that each comes after those that must run before it, otherwise in their recorded order."""
    waiting, result, done = list(groups), [], 0
    while waiting:
        ready = next(group for group in waiting if not group.before & ~done)
        waiting.remove(ready)
        result.append(ready)
        done |= ready.bit
    return result
