"""Random numbers of a recorded function: generators whose states each call writes, and generators that freeze."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minigrad.core.device import Device
from minigrad.core.dtype import int64
from minigrad.core.storage import Storage
from minigrad.errors import RecordingError, warn
from minigrad.jitting.program import NO_ALLOCATOR, Program, real_of
from minigrad.ops.generators import Generator


class Draws:
    """The streams of a recording: each replaces a generator, and counts the blocks that a call draws."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.streams: dict[int, Stream] = {}

    def stream(self, generator: Any, source: Any) -> Any:
        """Return the stream that replaces a generator."""
        if id(generator) not in self.streams:
            self.streams[id(generator)] = Stream(generator, source, self.program)
        return self.streams[id(generator)]

    def check(self) -> None:
        """Raise RecordingError if a generator was seeded or its state was set."""
        for stream in self.streams.values():
            if (
                stream.seeded
                or stream.seed != stream.first_seed
                or stream.offset != self.program.taken[stream.generator]
            ):
                raise RecordingError(
                    "jit: a generator was seeded, or its state was set, while the function was recorded, but a "
                    "program cannot repeat this; seed the generator before the call"
                )


class Stream(Generator):
    """A generator whose numbers are drawn when a program runs.

    seeded: whether its seed was set.
    offset: counted from the beginning of a call.
    counted: whether a call draws the blocks from the generator.
    """

    def __init__(self, generator: Any, source: Any, program: Program, counted: bool = True) -> None:
        super().__init__(source.seed)
        self.generator, self.first_seed, self.program, self.counted = generator, source.seed, program, counted
        self.seeded = False
        if counted:
            program.taken[generator] = 0

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "seed" and hasattr(self, "seeded"):
            self.seeded = True  # also for an equal seed, since a program would continue instead of starting again
        super().__setattr__(name, value)

    def at(self, seed: int, offset: int) -> Stream:
        twin = Stream(self.generator, self, self.program, counted=False)
        twin.offset = offset
        return twin

    def state(self, blocks: int, device: Device) -> Storage:
        first = self.take(blocks)
        slot = self.program.new(2, int64, "drawn", real_of(device))
        self.program.draws.append((self.generator, slot.number, first))
        if self.counted:
            self.program.taken[self.generator] = self.offset
        return Storage(slot, int64, device, NO_ALLOCATOR, 2)


@contextmanager
def frozen_numbers() -> Iterator[None]:
    """Warn if a recorded function draws from a global generator of Python or NumPy, which later calls do not read."""
    before = [state() for state, _ in GLOBAL_STATES]
    yield
    for old, (state, name) in zip(before, GLOBAL_STATES):
        if state() != old:
            warn(
                f"jit: the recorded function draws a number from {name}, but later calls use the number of the "
                "recording; draw with mg.rand, or pass the number as an argument"
            )


def state_of_numpy() -> tuple[Any, ...]:
    """Return the state of NumPy's global generator, as a value that can be compared."""
    state: Any = np.random.get_state()  # noqa: NPY002
    return state[0], state[1].tobytes(), *state[2:]


GLOBAL_STATES = ((random.getstate, "Python's module random"), (state_of_numpy, "np.random"))
