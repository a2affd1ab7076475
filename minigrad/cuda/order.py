"""The order of work: streams, which are queues of work, and events, which are positions in streams."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minigrad.backends.cuda.runtime import Runtime
from minigrad.config import override
from minigrad.core.device import Device
from minigrad.cuda.facts import current_runtime
from minigrad.errors import ArgumentError


class Event:
    """Mark a position in a stream: other streams can wait for an event, and two events measure the time between them.

    enable_timing: Whether `elapsed_time` will be called.

    >>> with mg.override(cuda="simulator"):
    ...     start, end = (mg.cuda.Event(enable_timing=True) for _ in range(2))
    ...     start.record(); y = mg.ones(3, device="cuda") * 2; end.record()
    ...     start.elapsed_time(end) >= 0
    True
    """

    def __init__(self, enable_timing: bool = False) -> None:
        self.timing = enable_timing
        self.position: Any = None

    def record(self, stream: Stream | None = None) -> None:
        """Set the position to the current end of the work of a stream.

        stream: By default the current stream of this thread.
        """
        stream = current_stream() if stream is None else stream
        self.position = stream.runtime.timed(stream.native, self.timing)

    def wait(self, stream: Stream | None = None) -> None:
        """Let the later work of a stream wait for this position.

        stream: By default the current stream of this thread.
        """
        if self.position is not None:
            (current_stream() if stream is None else stream).native.wait(self.position)

    def query(self) -> bool:
        """Return whether all work before this position has ended.

        Returns: True also for an event that was never recorded.
        """
        return self.position is None or self.position.is_done

    def synchronize(self) -> None:
        """Wait until all work before this position has ended."""
        if self.position is not None:
            self.position.sync()

    def elapsed_time(self, end: Event) -> float:
        """Return the time from this event to a later event, after waiting for the later event.

        end: The later event.

        Returns: Time in milliseconds.

        Raises ArgumentError if an event was never recorded, or was made without `enable_timing=True`.
        """
        for event, name in ((self, "the first"), (end, "the second")):
            if not event.timing or event.position is None:
                state = "was never recorded" if event.timing else "was made without enable_timing=True"
                raise ArgumentError(
                    f"elapsed_time: {name} event {state}; create events with mg.cuda.Event(enable_timing=True) and "
                    "call record() on both",
                    op="elapsed_time",
                )
        end.synchronize()
        return float(end.position - self.position)

    def __repr__(self) -> str:
        return f"mg.cuda.Event({'not recorded' if self.position is None else 'done' if self.query() else 'under way'})"


class Outer(threading.local):
    """The streams that enclose the current stream, for each thread."""

    def __init__(self) -> None:
        self.streams: list[Any] = []


class Stream:
    """Create a queue of device work, which runs in order and concurrently with other streams.

    The calls in a block `with mg.cuda.stream(s):` or `with s:` add their work to the stream s.  The stream s waits for
    earlier work of the default stream, and the default stream waits for earlier work of s.  So memory is never reused
    too early, and the default stream may read results immediately.  Two other streams wait for each other only after
    `wait_stream` or `wait_event`.

    Parameters
    ----------
    priority : int, default 0
        Priority of the stream; thread blocks of a stream with a lower value are started first.

    Raises DeviceError if a component of CUDA is missing, or `device` is not the first CUDA device.

    Examples
    --------
    >>> with mg.override(cuda="simulator"):
    ...     s = mg.cuda.Stream()
    ...     with s:
    ...         y = mg.ones(3, device="cuda") * 2
    ...     mg.cuda.current_stream().wait_stream(s)
    ...     y.tolist()
    [2.0, 2.0, 2.0]
    """

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        self.runtime = current_runtime(device)
        self.native = self.runtime.new_stream(priority)
        self.outer = Outer()

    @staticmethod
    def of(runtime: Runtime, native: Any) -> Stream:
        """Return a stream for a native stream of a runtime."""
        stream = Stream.__new__(Stream)
        stream.runtime, stream.native, stream.outer = runtime, native, Outer()
        return stream

    @property
    def cuda_stream(self) -> int:
        """The id of the stream, for other libraries: 1 is the legacy default stream."""
        return int(self.native.handle)

    def synchronize(self) -> None:
        """Wait until the work that the stream has received so far has ended."""
        self.native.sync()

    def query(self) -> bool:
        """Return whether the work that the stream has received so far has ended."""
        return self.runtime.is_done(self.native)

    def record_event(self, event: Event | None = None) -> Event:
        """Return an event at the current end of the stream's work.

        event: Event to set; by default a new one.

        Returns: The event.
        """
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let the later work of this stream wait for an event.

        event: Event of this or another stream; an event that was never recorded has no effect.
        """
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let the later work of this stream wait for the work that another stream has received so far.

        stream: The other stream.
        """
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        self.outer.streams.append(self.runtime.stream)
        self.runtime.use(self.native)
        return self

    def __exit__(self, *error: object) -> None:
        self.runtime.use(self.outer.streams.pop())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"mg.cuda.Stream({self.cuda_stream:#x})"


def current_stream(device: Device | str | int | None = None) -> Stream:
    """Return the current stream, which later calls of this thread use.

    Raises DeviceError if a component of CUDA is missing, or `device` is not the first CUDA device.
    """
    runtime = current_runtime(device)
    return Stream.of(runtime, runtime.stream)


def default_stream(device: Device | str | int | None = None) -> Stream:
    """Return the legacy default stream, to which calls add their work unless another stream is current.

    Other libraries use this stream as well.

    Raises DeviceError if a component of CUDA is missing, or `device` is not the first CUDA device.
    """
    runtime = current_runtime(device)
    return Stream.of(runtime, runtime.foreign_stream(1))


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Use a stream for the work of this thread inside a `with` block.

    stream: The stream to use; with None, the current stream is not changed.

    Returns (context manager): The stream applies to the calls inside the block.
    """
    if stream is None:
        yield
        return
    with stream:
        yield


def set_stream(stream: Stream) -> None:
    """Use a stream for the work of this thread from now on.

    stream: The new current stream.
    """
    stream.runtime.use(stream.native)


def deterministic(enabled: bool = True) -> Any:
    """Open a `with` block in which additions of floats by index are deterministic, or atomic.

    enabled: Whether the additions have the same order in each call, which is the default of the process. With False,
    the additions are atomic and have any order.

    Returns (context manager): The setting applies to the ops that run inside the block, so call `backward` there.

    Additions by index are `scatter_add`, `index_add`, and the gradients of `gather`, `index_select`, `embedding` and
    indexing. Atomic additions need one launch, whereas sorting needs about ten. Without a fixed order, the last digits
    of float32 and float64 results vary between calls; float16 and bfloat16 are always added in order.
    `mg.settings.deterministic` and MINIGRAD_DETERMINISTIC=0 set the mode for a whole process.

    >>> with mg.override(cuda="simulator"), mg.cuda.deterministic(False):
    ...     x, i = mg.zeros(3, device="cuda"), mg.tensor([2, 0, 2], device="cuda")
    ...     x.index_add(0, i, mg.tensor([1.0, 2.0, 4.0], device="cuda")).tolist()
    [2.0, 0.0, 5.0]
    """
    return override(deterministic=enabled)
