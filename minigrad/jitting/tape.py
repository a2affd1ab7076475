"""The tape: the launches of a program bound to memory, and the host calls between them.

Kernels of the CPU become rows of a table (`runner.py`), and launches of a device with its own queue become a list
(`lists.py`).  A launch that Python runs, such as one of the reference device, and a host call end a table or a list;
the next launch begins another one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from minigrad.backends.launch import Executable, Step
from minigrad.backends.parallel import guarded_program
from minigrad.core.device import CPU
from minigrad.jitting.fusion import Fusion
from minigrad.jitting.lists import Check, LaunchList, TapeLists, can_be_listed
from minigrad.jitting.placing import device_of
from minigrad.jitting.program import HostCall, Item, Program
from minigrad.jitting.repeats import repeats_of
from minigrad.jitting.runner import NO_MEMORY, Table

USUAL = tuple(range(16))  # most kernels receive all buffers of their launch in order
Run = Callable[[Sequence[Any]], None]  # a step of a tape is a function of the buffers of a call


class Rows:
    """A step that runs some rows, and raises the error of eager mode for an index that is out of range.

    call: a function of the buffers of a call, or of those on the CPU; see `Table.call`.
    own: the positions of the buffers that are on the CPU, or None if all of them are.
    holds_gil: whether `call` holds the GIL all the time.
    """

    def __init__(
        self, table: Table, owners: Sequence[Item], error: Callable[..., Exception], own: Sequence[int] | None
    ) -> None:
        self.call = guarded_program(table.call, table.serial) if table.parallel else table.call
        self.owners, self.error, self.own, self.holds_gil = owners, error, own, table.holds_gil

    def __call__(self, buffers: Sequence[Any]) -> None:
        """Run the rows on the buffers of a call."""
        row = self.call(*(buffers if self.own is None else [buffers[k] for k in self.own]))
        if row:
            raise self.failure(row, buffers)

    def failure(self, row: int, buffers: Sequence[Any]) -> Exception:
        """Return the error of a call of the rows that returned a number other than 0."""
        if row == NO_MEMORY:
            return MemoryError("a kernel cannot allocate the memory of its scratch buffer; use smaller tensors")
        return self.error(self.owners[row - 1], buffers)


class Tape(TapeLists):
    """The steps of a call, on a list of buffers: `arguments`, followed by the buffers of `blocks`.

    items: the launches and host calls, as recorded or after fusion.
    repeats: the repeats among them.
    steps: functions of the buffers.
    usual: the kernel of each launch that has only one, on the buffers in order, by identity; see `kind`.
    """

    def __init__(self, program: Program, arguments: Sequence[int], fusion: Fusion | None = None) -> None:
        super().__init__(program, arguments)
        self.items, self.repeats = program.items, repeats_of(program)
        if fusion is not None:
            self.items, self.repeats = fusion.items, fusion.repeats
        self.checks = defaultdict(list)
        self.usual: dict[int, Executable] | None = None
        origins = [id(None if isinstance(item, HostCall) else item.launch.origin) for item in self.items]
        if len({memory.device for memory in program.memory.values()}) < 2:  # launches of one origin are of one kind
            known = {origin: self.kind(item) for origin, item in dict(zip(origins, self.items)).items()}
            self.kinds, self.usual = [known[origin] for origin in origins], {}
        else:
            self.kinds = [self.kind(item) for item in self.items]
        self.launches = [self.flat(k, item, origin) for k, (item, origin) in enumerate(zip(self.items, origins))]
        runs = [run for kind, run in self.groups() for run in (self.lists_of(run) if kind == "list" else [run])]
        self.read = self.adjoin(runs)
        self.arrange_temporaries(self.uses())
        self.tables: list[Table] = []  # the tables own the memory that their functions read, so they must stay alive
        self.lists: list[LaunchList] = []
        self.steps: list[Any] = [step for run in runs for step in self.bound(run)]

    def flat(self, k: int, item: Item | HostCall, origin: int) -> list[Step]:
        """Return the steps of a launch on the slots of the program; a launch that Python runs names no temporaries.

        origin: the identity of its origin.
        """
        if isinstance(item, HostCall):
            return []
        launch, to = item.launch, item.slots
        if self.usual and (sole := self.usual.get(origin)):
            return [Step(sole, to, *launch.numbers())]
        if self.kinds[k] == "python":
            return [launch.steps[0]._replace(slots=to)] if launch.steps else []
        if launch.temporaries:
            to = (*to, *self.scratches.slots(launch, device_of(item, self.program)))
        if launch.flags:
            self.checks[k] = [Check(item, flag, to[flag.slot]) for flag in launch.flags]
        elif self.usual is not None and len(launch.origin.steps) == 1 and not launch.temporaries:
            kernel, own, _, same = launch.origin.steps[0]
            if own == USUAL[: len(to)] and same is None:
                self.usual[origin] = kernel
        return [
            Step(kernel, to if own == USUAL[: len(to)] else tuple([to[slot] for slot in own]), numbers)
            for (kernel, own, _, same), numbers in zip(launch.origin.steps, launch.numbers())
            if same is None or to[same[0]] != to[same[1]]
        ]

    def uses(self) -> list[list[int]]:
        """Return, for each item, the slots in the arena that it uses, or that are read after it."""
        arena = {slot: slot for slot in (*self.program.memory, *self.scratches.memory) if self.in_arena(slot)}
        arena |= {slot: whole for slot, (whole, _) in self.inside.items()}
        read = [[arena[slot] for step in steps for slot in step.slots if slot in arena] for steps in self.launches]
        for k, slots in self.read.items():
            read[k] += [arena[slot] for slot in slots if slot in arena]
        return read

    # ---- steps

    def kind(self, item: Item | HostCall) -> str:
        """Return what runs an item: a "table" of the CPU, a "list" of another device, "python" or the "host"."""
        if isinstance(item, HostCall):
            return "host"
        device = device_of(item, self.program)
        if device is CPU and not python_runs(item) and all(self.memory(slot).device is CPU for slot in item.slots):
            return "table"
        return "list" if device is not CPU and can_be_listed(item) else "python"

    def groups(self) -> list[tuple[str, list[int]]]:
        """Return runs of items, by index, that one function could run, each with its kind."""

        def key(k: int) -> tuple[str, Any]:
            item, kind = self.items[k], self.kinds[k]
            if kind == "table":
                return kind, CPU
            return kind, k if kind in ("python", "host") else device_of(item, self.program)  # type: ignore[arg-type]

        launches = [k for k, item in enumerate(self.items) if isinstance(item, HostCall) or not is_empty(item)]
        return [(kind, list(run)) for (kind, _), run in groupby(launches, key)]

    def bound(self, run: Sequence[int]) -> list[Any]:
        """Return the steps of a call that run some items."""
        item: Any = self.items[run[0]]
        kind = self.kinds[run[0]]
        if kind == "host":
            return [item]
        if kind == "python":
            return [self.run_launch(item)]
        if kind == "list":
            self.lists.append(LaunchList(self, run))
            return [self.lists[-1]]
        steps = [(step, self.items[k]) for k in run for step in self.launches[k]]
        return [self.run_rows([step for step, _ in steps], [item for _, item in steps])] if steps else []

    def run_rows(self, steps: Sequence[Any], owners: list[Any]) -> Rows:
        """Return a step that runs some kernels of the CPU."""
        own = [k for k, device in enumerate(self.devices()) if device is CPU]
        at = {position: k for k, position in enumerate(own)}

        def array_of(slot: int) -> Any:
            """Return the location of a slot among the buffers on the CPU."""
            location = self.row_location(slot)
            return (at[location[0]], location[1]) if location.__class__ is tuple else location

        table = Table(steps, array_of)
        self.tables.append(table)
        whole = len(own) == len(self.arguments) + len(self.blocks)
        return Rows(table, owners, self.error, None if whole else own)

    def run_launch(self, item: Item) -> Run:
        """Return a step that calls a launch as eager mode does."""
        call, slots = item.launch.call, item.slots

        def run(buffers: Sequence[Any]) -> None:
            if call(*[self.array(slot, buffers) for slot in slots]):
                raise self.error(item, buffers)

        return run


def is_empty(item: Item) -> bool:
    """Return whether a launch does nothing."""
    return not item.launch.origin.steps and not item.launch.always_fails


def python_runs(item: Item) -> bool:
    """Return whether a launch contains more than kernels that the runner can call."""
    launch = item.launch
    return launch.always_fails or bool(launch.flags) or not all(
        getattr(step.kernel, "address", 0) and hasattr(step.kernel, "kind") for step in launch.origin.steps
    )  # fmt: skip
