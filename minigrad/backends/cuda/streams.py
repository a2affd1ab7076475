"""Streams and events: the methods that the runtime needs, and those of the simulator, which has no pending work.

On a real device, streams and events are objects of cuda-core, which have these methods.  Every stream and the legacy
default stream wait for each other (a "blocking" stream in CUDA), and memory is taken and returned in the order of the
legacy default stream.  So no stream can work on memory that another stream has received in the meantime.
"""

from __future__ import annotations

import itertools
import time
from typing import Any, Protocol

LEGACY = 1  # the number of the legacy default stream, for CUDA and for other libraries


class RuntimeEvent(Protocol):
    """A position in a stream.

    The difference of two events that time is in milliseconds.
    """

    @property
    def is_done(self) -> bool:
        """Return whether the stream has reached this position."""

    def sync(self) -> None:
        """Wait until the stream has reached this position."""

    def __sub__(self, other: Any) -> float: ...


class RuntimeStream(Protocol):
    """A queue of work that runs in its order."""

    @property
    def handle(self) -> Any:
        """An object whose `int` is the number of the stream."""

    def record(self, event: Any = None, options: Any = None) -> Any:
        """Return an event at the end of the work so far."""

    def wait(self, other: Any) -> None:
        """Let later work wait for an event, or for the work of a stream so far."""

    def sync(self) -> None:
        """Wait until the work so far has ended."""


class SimulatedEvent:
    """A point in time."""

    is_done = True

    def __init__(self) -> None:
        self.moment = time.perf_counter()

    def sync(self) -> None:
        """Do nothing: the event has already happened."""

    def __sub__(self, other: SimulatedEvent) -> float:
        return (self.moment - other.moment) * 1e3


class SimulatedStream:
    """A number, and the streams and events that it was told to wait for.

    waited: these streams and events, in order.
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
        """Do nothing: a launch has finished when it returns."""
