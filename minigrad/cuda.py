"""What is asked of CUDA itself: is it there, how much memory is in use, in which order is work done?

Tensors need nothing of this: `device="cuda"` does.  Names follow `torch.cuda`.  With MINIGRAD_CUDA=simulator, or
`mg.override(cuda="simulator")`, all of it answers without a GPU.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from minigrad.backends.cuda import own
from minigrad.backends.cuda.family import Family
from minigrad.backends.cuda.presence import driver, fault
from minigrad.backends.cuda.runtime import DeviceMemory, Properties, Runtime
from minigrad.backends.registry import backend_of, started
from minigrad.config import settings
from minigrad.core.device import as_device
from minigrad.errors import (
    ArgumentError,
    DeviceError,
    DTypeError,
    GradientError,
    KernelError,
    ShapeError,
    check,
)
from minigrad.runtime.levels import Wrapped
from minigrad.runtime.noting import check_unsaved
from minigrad.runtime.rebasing import current
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.writing import check_writable


def is_available() -> bool:
    """Whether `device="cuda"` can be used, on a real device or in the simulator.

    `python -m minigrad doctor` says why not.  The driver is asked, which starts CUDA: processes that are forked later
    cannot use it.
    """
    return settings.cuda == "simulator" or started("cuda") is not None or not fault()


def device_count() -> int:
    """How many devices there are, or 1 in use; only the first is ever used, "cuda:0"."""
    if settings.cuda == "simulator" or started("cuda") is not None:
        return 1
    return 0 if fault() else driver().devices


def current_runtime(device: Any = None) -> Runtime:
    """The runtime of a device.  Raises DeviceError with what is missing for it, or for a device of another kind."""
    where = as_device("cuda" if device is None else device)
    if where.kind != "cuda" or where.index:
        raise DeviceError(f"{where} cannot be used here: only the first CUDA device can, cuda:0", device=str(where))
    backend: Any = backend_of(where)
    if not isinstance(backend, Family):
        raise DeviceError(f"{where} is served by {type(backend).__name__}, which has no runtime", device=str(where))
    return backend.runtime


def get_device_properties(device: Any = None) -> Properties:
    """Name, compute capability, multiprocessors and memory of the device."""
    return current_runtime(device).properties


def get_device_name(device: Any = None) -> str:
    """What the device calls itself; "simulator" for that."""
    return current_runtime(device).properties.name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Major and minor number of the compute capability."""
    return current_runtime(device).properties.capability


def synchronize(device: Any = None) -> None:
    """Wait until all work of the device has ended."""
    current_runtime(device).synchronize()


# ---- memory ---------------------------------------------------------------------------------------------------------


def memory_stats(device: Any = None) -> DeviceMemory:
    """Bytes in use, reserved, at most so far, and free."""
    return current_runtime(device).memory()


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors have now."""
    return current_runtime(device).memory().allocated_bytes


def max_memory_allocated(device: Any = None) -> int:
    """Bytes that tensors had at most since the start or the last `reset_peak_memory_stats`."""
    return current_runtime(device).memory().peak_bytes


def memory_reserved(device: Any = None) -> int:
    """Bytes that were taken from the device: those in use and those kept for reuse."""
    return current_runtime(device).memory().reserved_bytes


def max_memory_reserved(device: Any = None) -> int:
    """Bytes that were reserved at most."""
    return current_runtime(device).memory().peak_reserved_bytes


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks begin with what is in use now."""
    current_runtime(device).reset_peak()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and all bytes of the device, whoever has the rest."""
    now = current_runtime(device).memory()
    return now.free_bytes, now.total_bytes


def empty_cache() -> None:
    """Give memory that is kept for reuse back to the device, for other processes; what is in use stays."""
    gc.collect()
    current_runtime().empty_cache()


# ---- order ----------------------------------------------------------------------------------------------------------


class Event:
    """A place in a stream: others wait for it, two of them tell the time between.

    enable_timing: whether `elapsed_time` is asked for later.

    Example:
        >>> with mg.override(cuda="simulator"):
        ...     start, end = (mg.cuda.Event(enable_timing=True) for _ in range(2))
        ...     start.record(); y = mg.ones(3, device="cuda") * 2; end.record()
        ...     start.elapsed_time(end) >= 0
        True
    """

    def __init__(self, enable_timing: bool = False) -> None:
        self.timing = enable_timing
        self.place: Any = None

    def record(self, stream: Stream | None = None) -> None:
        """The place is where the work of a stream ends now; the current one's if none is given."""
        stream = current_stream() if stream is None else stream
        self.place = stream.runtime.timed(stream.native, self.timing)

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of a stream, or of the current one, wait for this place."""
        if self.place is not None:
            (current_stream() if stream is None else stream).native.wait(self.place)

    def query(self) -> bool:
        """Whether all work before this place has ended; true if it was never recorded."""
        return self.place is None or self.place.is_done

    def synchronize(self) -> None:
        """Wait until all work before this place has ended."""
        if self.place is not None:
            self.place.sync()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this place to another, both recorded and both with enable_timing; waits for the latter."""
        for event, name in ((self, "the first"), (end, "the second")):
            if not event.timing or event.place is None:
                told = "was never recorded" if event.timing else "was made without enable_timing=True"
                raise ArgumentError(f"elapsed_time: {name} event {told}", op="elapsed_time")
        end.synchronize()
        return float(end.place - self.place)

    def __repr__(self) -> str:
        return f"mg.cuda.Event({'not recorded' if self.place is None else 'done' if self.query() else 'under way'})"


class Outer(threading.local):
    """The streams that a thread came from."""

    def __init__(self) -> None:
        self.streams: list[Any] = []


class Stream:
    """Work that is done in its order, beside that of other streams.

    Use it by `with mg.cuda.stream(s):`, or `with s:`.  A stream and the default one wait for each other, so memory is
    never reused too early and results may be read by the default one at once; two other streams wait for each other
    only where they are told to.

    priority: the lower, the sooner its blocks are started.

    Example:
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
        """The stream that a runtime knows."""
        stream = Stream.__new__(Stream)
        stream.runtime, stream.native, stream.outer = runtime, native, Outer()
        return stream

    @property
    def cuda_stream(self) -> int:
        """Its number, for other libraries: 1 is the legacy default one."""
        return int(self.native.handle)

    def synchronize(self) -> None:
        """Wait until its work so far has ended."""
        self.native.sync()

    def query(self) -> bool:
        """Whether its work so far has ended."""
        return self.runtime.is_done(self.native)

    def record_event(self, event: Event | None = None) -> Event:
        """An event at the end of its work so far."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let its later work wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let its later work wait for the work of another stream so far."""
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


def current_stream(device: Any = None) -> Stream:
    """The stream that this thread's work goes to."""
    runtime = current_runtime(device)
    return Stream.of(runtime, runtime.stream)


def default_stream(device: Any = None) -> Stream:
    """The legacy default stream, which work goes to unless something else is said."""
    runtime = current_runtime(device)
    return Stream.of(runtime, runtime.foreign_stream(1))


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Let this thread's work go to a stream inside a `with` block; None changes nothing."""
    if stream is None:
        yield
        return
    with stream:
        yield


def set_stream(stream: Stream) -> None:
    """Let this thread's work go to a stream from now on."""
    stream.runtime.use(stream.native)


# ---- kernels of one's own -------------------------------------------------------------------------------------------


class Kernel:
    """A function that runs once in each thread: `k[blocks, threads](x, y, out, n)`; made by `kernel`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.loaded: dict[Any, Any] = {}

    def __getitem__(self, sizes: tuple[Any, Any]) -> Callable[..., None]:
        """The kernel on a grid of blocks and a block of threads, each a number or up to three."""
        if not isinstance(sizes, tuple) or len(sizes) != 2:
            raise ArgumentError(f"{self.__name__}: write {self.__name__}[blocks, threads](...), not [{sizes!r}]")
        grid, block = own.size_of(sizes[0]), own.size_of(sizes[1])
        return lambda *given: self.launch(grid, block, given)

    def launch(self, grid: Any, block: Any, given: tuple[Any, ...]) -> None:
        """Run it; tensors become pointers to their first elements, which follow each other, and come before ints."""
        name = self.__name__
        tensors = [x for x in given if isinstance(x, Tensor)]
        numbers = given[len(tensors) :]
        if not tensors or any(x is not y for x, y in zip(given, tensors)) or any(type(n) is not int for n in numbers):
            raise DTypeError(f"{name}: a kernel takes tensors and after them ints", op=name)
        for x in tensors:
            if isinstance(x, Wrapped):
                raise GradientError(f"{name}: {describe(x)} belongs to a transform, which kernels do not pass", op=name)
        runtime = current_runtime(tensors[0].device)
        for x in tensors:
            check(x.device is tensors[0].device, DeviceError, f"{name}: {describe(x)} is on {x.device}")
            check(x.is_contiguous() and not x.offset, ShapeError, f"{name}: {describe(x)} is a view; clone it")
        program = own.own_program(self.function, tuple(x.dtype for x in tensors), len(numbers))
        changed = [tensors[k] for k in own.written(self.function, len(tensors))]
        for x in changed:
            check_changeable(name, x)
        loaded = self.loaded.get((runtime, program))
        if loaded is None:
            loaded = self.loaded[runtime, program] = runtime.load(program)
        # Before the launch: one that fails may have written some elements.
        for storage in {id(x.storage): x.storage for x in changed}.values():
            storage.bump()
        runtime.launcher(loaded, grid, block, numbers)(*[x.storage.buffer.address for x in tensors])

    def text(self, *given: Any) -> str:
        """The module that is compiled for such arguments, or run by the simulator."""
        tensors = [x for x in given if isinstance(x, Tensor)]
        return own.own_program(self.function, tuple(x.dtype for x in tensors), len(given) - len(tensors)).text

    def ptx(self, *given: Any) -> str:
        """The machine language that it is compiled to for such arguments, which needs no device.

        Raises KernelError with what is missing where the compiler is not installed.
        """
        from minigrad.backends.cuda import compile as compiler

        check(not compiler.missing(), KernelError, f"{self.__name__} is not compiled: {compiler.missing()}")
        tensors = [x for x in given if isinstance(x, Tensor)]
        program = own.own_program(self.function, tuple(x.dtype for x in tensors), len(given) - len(tensors))
        return compiler.compiled(program).ptx


def check_changeable(name: str, x: Tensor) -> None:
    """Raise unless a kernel may write into x, of which nothing will be recorded."""
    check_writable(name, x)
    if mode.enabled and current(x) is not None:
        raise GradientError(
            f"{name}: a kernel of one's own is not recorded, and gradients flow through {describe(x)}, which it "
            f"writes; give it x.detach().clone(), or launch it under mg.no_grad()",
            op=name,
        )
    if settings.debug:
        check_unsaved(name, x.storage)


def kernel(function: Callable[..., Any]) -> Kernel:
    """Make a function a CUDA kernel: it takes pointers to the elements of tensors, then integers.

    In it, `cuda` has what numba.cuda has: threadIdx, blockIdx, blockDim, gridDim, shared.array, syncthreads, shuffles,
    atomic; `np` and `math` are there, nothing else of its surroundings is.  The simulator runs it thread by thread and
    raises a KernelError for what a device does in silence: a race, a barrier that some threads miss, an index beyond
    the end, memory that nobody has written.

    Gradient: none is recorded.  What gradients flow through may be read, its elements as they are; it is written only
    under `mg.no_grad()`.  A tensor counts as written that the function assigns to, renames or hands to a function,
    such as cuda.atomic.add; what a graph has saved of it is then out of date, and backward says so.

    Example:
        >>> @mg.cuda.kernel
        ... def double(x, out, n):
        ...     i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        ...     if i < n:
        ...         out[i] = x[i] * np.float32(2)
        >>> with mg.override(cuda="simulator"):
        ...     x, out = mg.arange(5, dtype="float32", device="cuda"), mg.empty(5, dtype="float32", device="cuda")
        ...     double[2, 4](x, out, 5)
        ...     out.tolist()
        [0.0, 2.0, 4.0, 6.0, 8.0]
    """
    return Kernel(function)


__all__ = [
    "Event", "Kernel", "Stream", "current_stream", "default_stream", "device_count", "empty_cache",
    "get_device_capability", "get_device_name", "get_device_properties", "is_available", "kernel",
    "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved",
    "memory_stats", "reset_peak_memory_stats", "set_stream", "stream", "synchronize",
]  # fmt: skip
