"""The interface of a device: memory, copies, launches.  The real device and the simulator implement it.

`device.py` is the real device, on cuda-core; `simulator.py` runs the same kernels in Python.  `choose` selects one of
them by `settings.cuda`.  A kernel is a `Program`: a text, which is the same for both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.cuda.pieces import Pins
from minigrad.backends.launch import Executable, Launch
from minigrad.core.op import Spec
from minigrad.errors import StorageError
from minigrad.kernels.store import file_of

LEGACY = 1  # the number of the legacy default stream, for CUDA and for other libraries
Size = tuple[int, int, int]
THREADS = 256  # threads per block by default
WARP = 32  # threads of a warp
WIDEST = 16  # size in bytes of one load


@dataclass(frozen=True)
class Program:
    """The name and the text of a kernel."""

    name: str
    text: str

    @property
    def file(self) -> str:
        """The file name of the text in the kernel cache."""
        return file_of(self.name, self.text)


@dataclass(frozen=True)
class Properties:
    """Properties of a device: its name, compute capability, number of multiprocessors and bytes of memory."""

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    memory: int


@dataclass(frozen=True)
class DeviceMemory:
    """Store statistics of a device's memory, in bytes.

    allocated_bytes, peak_bytes: in use by tensors now, and at most so far.
    reserved_bytes, peak_reserved_bytes: taken from the device, including memory that is cached for reuse.
    free_bytes, total_bytes: of the device, which other processes may also use.
    """

    allocated_bytes: int
    peak_bytes: int
    reserved_bytes: int
    peak_reserved_bytes: int
    free_bytes: int
    total_bytes: int

    @property
    def cached_bytes(self) -> int:
        """The number of bytes that are not in use and cached for reuse."""
        return self.reserved_bytes - self.allocated_bytes


class DeviceBuffer:
    """Describe a flat piece of a device's memory, which a storage uses as its buffer.

    owner: the object that owns the memory; the memory is freed with the last reference to this object.
    address: the address of the first element, a multiple of 256, or of 16 for memory of another library.
    """

    __slots__ = ("__weakref__", "address", "dtype", "owner", "size")

    def __init__(self, owner: Any, address: int, size: int, dtype: np.dtype[Any]) -> None:
        self.owner, self.address, self.size, self.dtype = owner, address, size, dtype

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def view(self, dtype: np.dtype[Any]) -> DeviceBuffer:
        """Return the same memory as elements of another dtype."""
        return DeviceBuffer(self.owner, self.address, self.nbytes // dtype.itemsize, dtype)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": (self.size,), "typestr": self.dtype.str, "data": (self.address, False), "version": 3,
                "strides": None, "stream": LEGACY}  # fmt: skip


# On a real device, streams and events are objects of cuda-core, which have these methods.  Every stream and the legacy
# default stream wait for each other (a "blocking" stream in CUDA), and memory is taken and returned in the order of the
# legacy default stream.  So no stream can work on memory that another stream has received in the meantime.


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


class RuntimeGraph(Protocol):
    """Launches that the device receives by one call."""

    def change(self, node: int, addresses: Sequence[int]) -> None:
        """Set the memory that later launches of a node use."""

    def launch(self) -> None:
        """Launch all nodes on the stream of this thread."""


class Runtime(ABC):
    """One device. pins: the pinned host memory that it has provided."""

    pins: Pins

    @property
    @abstractmethod
    def properties(self) -> Properties:
        """The properties of the device."""

    # ---- memory

    def allocate(self, size: int, dtype: np.dtype[Any]) -> DeviceBuffer:
        """Return uninitialised memory for `size` elements, which is freed when its last reference disappears.

        Raises StorageError if there is not enough memory, even after the cache was released.
        """
        wanted = size * dtype.itemsize
        memory = self.take(wanted)
        if memory is None:
            self.empty_cache()
            memory = self.take(wanted)
        if memory is None:
            raise self.exhausted(wanted)
        owner, address = memory
        return DeviceBuffer(owner, address, size, dtype)

    def part(self, buffer: DeviceBuffer, start: int, size: int, dtype: np.dtype[Any]) -> DeviceBuffer:
        """Return a buffer of `size` elements in another buffer, from byte `start` on."""
        return DeviceBuffer(buffer.owner, buffer.address + start, size, dtype)

    def exhausted(self, wanted: int) -> StorageError:
        """Return the error for a request that exceeds the available memory."""
        now = self.memory()
        return StorageError(
            f"cuda:0 has no memory for {wanted:,} bytes: {now.allocated_bytes:,} are in use here, {now.cached_bytes:,} "
            f"kept for reuse, {now.free_bytes:,} of {now.total_bytes:,} are free; delete tensors, or use smaller "
            f"ones",
            op="allocate", nbytes=wanted, held=now.allocated_bytes, free=now.free_bytes,
        )  # fmt: skip

    @abstractmethod
    def take(self, nbytes: int) -> tuple[Any, int] | None:
        """Return memory and its address, a multiple of 256, or None if there is not enough.

        The memory returns to the device when the last reference to it disappears.
        """

    @abstractmethod
    def adopt(self, owner: Any, address: int, size: int, dtype: np.dtype[Any]) -> DeviceBuffer:
        """Return a buffer over foreign memory."""

    @abstractmethod
    def memory(self) -> DeviceMemory:
        """Return the numbers of bytes that are in use, cached and free."""

    @abstractmethod
    def empty_cache(self) -> None:
        """Return cached memory to the device, after all work so far."""

    @abstractmethod
    def reset_peak(self) -> None:
        """Reset the peaks to the numbers of bytes that are in use now."""

    @abstractmethod
    def pinned(self, nbytes: int) -> NDArray[np.uint8]:
        """Return host memory that the device can copy directly."""

    @abstractmethod
    def copy_to_device(self, buffer: DeviceBuffer, values: NDArray[Any], waits: bool = True) -> None:
        """Fill the beginning of a buffer with the elements of a flat array, in order with the launches.

        waits: whether the array may be written when this returns, even if it is pinned.
        """

    @abstractmethod
    def copy_to_host(self, buffer: DeviceBuffer, start: int = 0, end: int | None = None) -> NDArray[Any]:
        """Return the elements of a buffer, or those from `start` to `end`, after all launches so far."""

    # ---- streams

    @property
    @abstractmethod
    def stream(self) -> RuntimeStream:
        """The stream for launches and copies of this thread; at first the legacy default stream."""

    @abstractmethod
    def use(self, stream: RuntimeStream) -> None:
        """Set the stream for launches and copies of this thread."""

    @abstractmethod
    def new_stream(self, priority: int) -> RuntimeStream:
        """Return a new stream; it and the legacy default stream wait for each other."""

    @abstractmethod
    def foreign_stream(self, number: int) -> RuntimeStream:
        """Return the stream of another library."""

    @abstractmethod
    def timed(self, stream: RuntimeStream, timing: bool) -> RuntimeEvent:
        """Return an event at the current end of a stream's work.

        With `timing`, the difference of two events is their time distance.
        """

    def is_done(self, stream: RuntimeStream) -> bool:
        """Return whether the work of a stream so far has ended."""
        return self.timed(stream, False).is_done

    # ---- launches

    @abstractmethod
    def load(self, program: Program) -> Any:
        """Return a kernel for `launcher`; it has a `name` and a `path`, the file for `kernels.store.source`."""

    @abstractmethod
    def launcher(self, kernel: Any, grid: Size, block: Size, numbers: Sequence[int]) -> Callable[..., None]:
        """Return a function that launches a kernel on the addresses that it receives."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until every launch has finished."""

    has_graphs = False  # whether the runtime implements `graph`

    def graph(self, launches: Sequence[tuple[Any, Sequence[int]]]) -> RuntimeGraph:
        """Return a graph of `GridKernel`s, each with its addresses, that run one after the other."""
        raise NotImplementedError

    @property
    def blas(self) -> Any:
        """Return a library that multiplies matrices, with the interface of `blas.Blas`; None if there is no library."""
        return None

    def watched(self, launch: Launch, outs: Sequence[Spec]) -> Launch:
        """Return a launch whose results are checked, if the runtime can check them."""
        return launch


class GridKernel(Executable):
    """A kernel that the runtime has loaded, on a grid of blocks."""

    __slots__ = ("block", "grid", "kernel", "numbers", "runtime")
    argument = "{}.address"
    enqueued = True

    def __init__(self, runtime: Runtime, kernel: Any, grid: Size, block: Size, numbers: tuple[int, ...]) -> None:
        super().__init__(kernel.name, kernel.path)
        self.runtime, self.kernel, self.grid, self.block, self.numbers = runtime, kernel, grid, block, numbers

    def bound(self, numbers: Any) -> Callable[..., Any]:
        return self.runtime.launcher(self.kernel, self.grid, self.block, numbers)
