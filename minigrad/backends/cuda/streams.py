"""Streams and events: what the runtime's are asked, and those of the simulator, where nothing is ever under way.

The real ones are cuda-core's, whose methods these are.  A stream here always waits for the legacy default one and is
waited for by it ("blocking", as CUDA has it), and memory is taken and given back in order of that one: so no stream
can be at work on memory that another has been given meanwhile.
"""

from __future__ import annotations

import itertools
import time
from typing import Any, Protocol

LEGACY = 1  # the number of the legacy default stream, for CUDA and for other libraries


class RuntimeEvent(Protocol):
    """A position in a stream.  One that times subtracts to milliseconds."""

    @property
    def is_done(self) -> bool:
        """Whether the stream has come that far."""

    def sync(self) -> None:
        """Wait until it has."""

    def __sub__(self, other: Any) -> float: ...


class RuntimeStream(Protocol):
    """Work in its order."""

    @property
    def handle(self) -> Any:
        """Its number, by `int`."""

    def record(self, event: Any = None, options: Any = None) -> Any:
        """The position that the work so far ends at."""

    def wait(self, other: Any) -> None:
        """Do what comes after an event, or after the work of a stream so far."""

    def sync(self) -> None:
        """Wait until its work so far has ended."""


class SimulatedEvent:
    """A moment."""

    is_done = True

    def __init__(self) -> None:
        self.moment = time.perf_counter()

    def sync(self) -> None:
        """It was before it could be asked."""

    def __sub__(self, other: SimulatedEvent) -> float:
        return (self.moment - other.moment) * 1e3


class SimulatedStream:
    """A number, and the streams and events that it was told to wait for.

    waited: what it was told to wait for, in order.
    """

    numbers = itertools.count(1 << 20)

    def __init__(self, handle: int | None = None) -> None:
        self.handle = next(self.numbers) if handle is None else handle
        self.waited: list[Any] = []

    def record(self, event: Any = None, options: Any = None) -> SimulatedEvent:
        return SimulatedEvent()

    def wait(self, other: Any) -> None:
        self.waited.append(other)

    def sync(self) -> None:
        """Nothing runs on after its launch."""
