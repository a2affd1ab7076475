"""The tape: the launches of a program bound to memory, and the host calls between them.

Kernels of the CPU become rows of a table (`runner.py`).  Temporaries lie in one arena: two share memory where none of
their launches overlap.  A launch that Python runs, such as one of the reference device, and a host call end a run of
rows; the next begins another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minigrad.backends.launch import Constant, Launch
from minigrad.backends.parallel import guarded_program
from minigrad.jitting.program import HostCall, Item, Program
from minigrad.jitting.runner import NO_MEMORY, Row, Table

ALIGN = 64  # bytes, of a temporary in the arena

Step = Callable[[Sequence[Any]], None]  # of a tape, on the buffers of a call


class Scratches:
    """Temporaries of launches as slots of the program, with numbers below 0."""

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}
        self.constants: dict[int, Any] = {}

    def slots(self, launch: Launch) -> list[int]:
        """Return new numbers for the temporaries of a launch."""
        result = []
        for memory in launch.temporaries:
            number = -1 - len(self.sizes) - len(self.constants)
            if isinstance(memory, Constant):
                self.constants[number] = memory.storage.buffer
            else:
                self.sizes[number] = memory.nbytes
            result.append(number)
        return result


class Tape:
    """The steps of a call, on a list of buffers: `arguments`, and last the arena.

    arguments: the slots whose memory the call provides.  items: the launches and host calls, by default those that were
    recorded.  steps: functions of the list.  arena: its bytes.
    shift: for each argument an array with the bytes after the beginning of its
    buffer at which its slot begins.
    """

    def __init__(
        self, program: Program, arguments: Sequence[int], items: Sequence[Item | HostCall] | None = None
    ) -> None:
        self.program, self.arguments = program, list(arguments)
        self.items = program.items if items is None else items
        self.positions = {slot: k for k, slot in enumerate(self.arguments)}
        self.shift = [np.zeros(1, np.int64) for _ in self.arguments]
        self.scratches = Scratches()
        memory = program.memory
        self.drawn = {slot: np.zeros(2, np.int64) for _, slot, _ in program.draws}
        self.drawn |= {slot: np.zeros(1, memory[slot].dtype.storage) for _, slot in program.symbols}
        self.launches = [flat(item, self.scratches) if isinstance(item, Item) else None for item in self.items]
        self.offsets, self.arena = arena_of(self.uses(), self.size)
        self.after = {slot: np.array([at], np.int64) for slot, at in self.offsets.items()}
        self.tables: list[Table] = []  # what their functions read belongs to them
        self.steps: list[Any] = list(self.bound())

    # ---- memory

    def uses(self) -> list[list[int]]:
        """Return for each item the slots in the arena that it uses."""
        return [[] if steps is None else [slot for step in steps for slot in step.slots if self.in_arena(slot)]
                for steps in self.launches]  # fmt: skip

    def in_arena(self, slot: int) -> bool:
        """Return whether a slot is memory for the time of a call."""
        if slot < 0:
            return slot in self.scratches.sizes
        return slot not in self.positions and self.program.memory[slot].kind == "temporary"

    def size(self, slot: int) -> int:
        """Return the bytes that a slot takes in the arena."""
        nbytes = self.scratches.sizes[slot] if slot < 0 else self.program.memory[slot].nbytes
        return -(-nbytes // ALIGN) * ALIGN

    def location(self, slot: int) -> Any:
        """Return where a row finds a slot: the position of a buffer and the bytes after its beginning, or an array."""
        if slot in self.positions:
            return self.positions[slot], self.shift[self.positions[slot]]
        if slot in self.after:
            return len(self.arguments), self.after[slot]
        if slot in self.drawn:
            return self.drawn[slot]
        return self.scratches.constants[slot] if slot < 0 else self.program.memory[slot].value

    def array(self, slot: int, buffers: Sequence[Any]) -> Any:
        """Return the memory of a slot in a call, as a launch takes it."""
        if slot in self.after:
            at, memory = self.offsets[slot], self.program.memory[slot]
            whole = buffers[len(self.arguments)][at : at + memory.nbytes]
            return whole.view(memory.dtype.storage)
        if slot in self.positions:
            shift = int(self.shift[self.positions[slot]][0])
            buffer = buffers[self.positions[slot]]
            return buffer[shift // buffer.itemsize :] if shift else buffer
        return self.drawn[slot] if slot in self.drawn else self.program.memory[slot].value

    # ---- steps

    def bound(self) -> Iterator[Any]:
        """Yield the steps of a call."""
        rows: list[Row] = []
        owners: list[Item] = []
        for item, steps in zip(self.items, self.launches):
            native = steps is not None and not python_runs(item)  # type: ignore[arg-type]
            if not native and rows:
                yield self.run_rows(rows, owners)
                rows, owners = [], []
            if isinstance(item, HostCall):
                yield item
            elif native:
                for step in steps or ():
                    kernel: Any = step.kernel
                    rows.append(Row(kernel.address, kernel.kind, step.numbers, [self.location(s) for s in step.slots]))
                    owners.append(item)
            else:
                yield self.run_launch(item)
        if rows:
            yield self.run_rows(rows, owners)

    def run_rows(self, rows: list[Row], owners: list[Item]) -> Step:
        """Return a step that runs some rows, and raises the error of eager mode for an index that is out of range."""
        table = Table(rows)
        self.tables.append(table)
        call = guarded_program(table.call, table.serial) if table.parallel else table.call

        def run(buffers: Sequence[Any]) -> None:
            row = call(*buffers)
            if row == NO_MEMORY:
                raise MemoryError("a kernel found no memory for its workspace")
            if row:
                raise self.error(owners[row - 1], buffers)

        return run

    def run_launch(self, item: Item) -> Step:
        """Return a step that calls a launch as eager mode does."""
        call, slots = item.launch.call, item.slots

        def run(buffers: Sequence[Any]) -> None:
            if call(*[self.array(slot, buffers) for slot in slots]):
                raise self.error(item, buffers)

        return run

    def error(self, item: Item, buffers: Sequence[Any]) -> Exception:
        """Return the error for an index of a launch that is out of range."""
        limits = item.launch.limits
        if limits is None:
            return IndexError(f"{item.line}: jit: an index was out of range in {item.launch!r}")
        return limits.error(tuple([self.array(slot, buffers) for slot in item.slots]))


def python_runs(item: Item) -> bool:
    """Return whether a launch is more than kernels that the runner can call."""
    launch = item.launch
    return launch.always_fails or bool(launch.flags) or not all(
        getattr(step.kernel, "address", 0) and hasattr(step.kernel, "kind") for step in launch.steps
    )  # fmt: skip


def flat(item: Item, scratches: Scratches) -> list[Any]:
    """Return the steps of a launch on the slots of the program; those of one that Python runs name no scratch."""
    launch, slots = item.launch, item.slots
    if python_runs(item):
        return [launch.steps[0]._replace(slots=slots)] if launch.steps else []
    to = (*slots, *scratches.slots(launch))
    result = []
    for step in launch.steps:
        if step.unless_same is None or to[step.unless_same[0]] != to[step.unless_same[1]]:
            result.append(step._replace(slots=tuple([to[slot] for slot in step.slots])))
    return result


def arena_of(uses: Sequence[Sequence[int]], size: Callable[[int], int]) -> tuple[dict[int, int], int]:
    """Place temporaries in one piece of memory: (where each begins, bytes of all).

    uses: the temporaries that each launch uses, in the order of the launches.  The largest is placed first, each at the
    lowest position that is free from its first to its last launch.
    """
    life: dict[int, tuple[int, int]] = {}
    for k, slots in enumerate(uses):
        for slot in slots:
            life[slot] = life.get(slot, (k, k))[0], k
    placed: list[tuple[int, int, int, int]] = []
    offsets: dict[int, int] = {}
    for slot in sorted(life, key=lambda s: (-size(s), s)):
        first, last = life[slot]
        nbytes, at = size(slot), 0
        for low, high, begin, end in sorted(placed):
            if begin <= last and first <= end and low < at + nbytes and at < high:
                at = high
        placed.append((at, at + nbytes, first, last))
        offsets[slot] = at
    return offsets, max([high for _, high, _, _ in placed], default=0)
