"""Lists: the launches of a device with its own queue, bound to the memory of a call.

While a list runs, nothing is allocated and the host reads nothing.  Index checks are flags in the memory of the device.
The flags of a list are neighbours, so that one copy transfers them to the host when the list has ended.  A list ends
before a launch that writes memory of the caller if an earlier launch of the list checks indices: as in eager mode, a
wrong index leaves this memory unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from minigrad.backends.launch import Flag, HostFunction, Step
from minigrad.backends.listing import Call
from minigrad.backends.registry import backend_of
from minigrad.core.dtype import uint8
from minigrad.core.storage import Storage
from minigrad.errors import KernelError
from minigrad.jitting.placing import TapeMemory, device_of
from minigrad.jitting.program import HostCall, Item, written_by

APART = 16  # bytes from one flag to the next: the size of the largest flag, the bounds of an index


class Check(NamedTuple):
    """A flag of a launch, and its slot in the program."""

    item: Item
    flag: Flag
    slot: int


class TapeLists(TapeMemory):
    """Divide the launches of a program into lists, each of which runs in one call.

    items: the launches and host calls.
    launches: for each item, the steps of its launch on slots of the program.
    checks: for the index of an item, the flags that report an index out of range.
    """

    items: Sequence[Item | HostCall]
    launches: list[list[Step]]
    checks: dict[int, list[Check]]

    def lists_of(self, numbers: Sequence[int]) -> list[list[int]]:
        """Divide launches that could be one list before writes into memory of the caller that must wait for checks."""
        result: list[list[int]] = [[]]
        checked = False
        for k in numbers:
            item: Any = self.items[k]
            lasting = any(self.program.memory[slot].kind in ("argument", "outside") for slot in written_by(item))
            if checked and lasting:
                result.append([])
                checked = False
            result[-1].append(k)
            checked = checked or bool(self.checks[k])
        return result

    def adjoin(self, runs: Sequence[Sequence[int]]) -> dict[int, list[int]]:
        """Place the flags of each list next to each other; return the slots that are read after each list.

        The result maps the index of the last item of a list to the slot of its flags, followed by the slots of the
        index tensors, which are read only if a flag reports an index out of range.
        """
        read: dict[int, list[int]] = {}
        for run in runs:
            checks = [check for k in run for check in self.checks.get(k, ())]
            if not checks:
                continue
            whole = self.scratches.new(APART * len(checks), uint8, device_of(checks[0].item, self.program))
            self.inside |= {check.slot: (whole, APART * k) for k, check in enumerate(checks)}
            limited = [(check.item.slots, limits) for check in checks if (limits := check.item.launch.limits)]
            indices = [slots[slot] for slots, limits in limited for slot in limits.slots]
            read[run[-1]] = [whole, *indices]
        return read

    def error(self, item: Item, buffers: Sequence[Any]) -> Exception:
        """Return the error for a launch whose index is out of range."""
        limits = item.launch.limits
        if limits is None:
            return IndexError(f"{item.line}: jit: an index was out of range in {item.launch!r}")
        return limits.error(tuple([self.array(slot, buffers) for slot in item.slots]))


class LaunchList:
    """Some launches of a device, in their order.

    run: runs them on the buffers of a call.
    checks: the flags that the host reads afterwards.
    """

    def __init__(self, program: TapeLists, numbers: Sequence[int]) -> None:
        self.program = program
        self.device = device_of(program.items[numbers[0]], program.program)  # type: ignore[arg-type]
        self.backend = backend_of(self.device)
        steps = [step for k in numbers for step in program.launches[k]]
        calls = [Call(step.kernel, step.numbers, tuple(map(program.location, step.slots))) for step in steps]
        self.kernels = sum(not isinstance(call.kernel, HostFunction) for call in calls)
        self.run = self.backend.listed(calls)
        self.checks = [check for k in numbers for check in program.checks[k]]

    def __call__(self, buffers: Sequence[Any]) -> None:
        """Run the launches.  Raise the error of eager mode for an index that is out of range."""
        try:
            self.run(buffers)
        except KernelError:  # the simulator reports an access out of bounds, which an index out of range has caused
            self.check(buffers)
            raise
        self.check(buffers)

    def check(self, buffers: Sequence[Any]) -> None:
        """Read the flags, and raise the error of the first launch whose index is out of range."""
        if not self.checks:
            return
        first = self.program.location(self.program.inside[self.checks[0].slot][0])
        flags = self.backend.part(buffers[first.position], first.after, first.numel, first.dtype)
        values = self.backend.to_host(Storage(flags, uint8, self.device))
        for item, flag, slot in self.checks:
            memory, at = self.program.memory(slot), self.program.inside[slot][1]
            if flag.excludes(values[at : at + memory.nbytes].view(memory.dtype.storage)):
                raise self.program.error(item, buffers)


def can_be_listed(item: Item) -> bool:
    """Return whether a launch only adds work to a queue, and its flags keep their values until it has ended."""
    launch = item.launch
    if launch.always_fails or not all(step.kernel.enqueued for step in launch.steps):
        return False
    return not any(flag.slot in step.slots for flag in launch.flags for step in launch.steps[flag.after :])
