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

from minigrad.backends.base import Launch
from minigrad.backends.cuda.pinning import Pins
from minigrad.backends.cuda.streams import LEGACY, RuntimeEvent, RuntimeStream
from minigrad.config import settings
from minigrad.core.op import Spec
from minigrad.errors import StorageError
from minigrad.kernels.store import file_of

Size = tuple[int, int, int]
THREADS = 256  # threads per block by default


@dataclass(frozen=True)
class Program:
    """A kernel's name and its text."""

    name: str
    text: str

    @property
    def file(self) -> str:
        """The file name that the text has in the kernel cache."""
        return file_of(self.name, self.text)


@dataclass(frozen=True)
class Properties:
    """Properties of a device: its name, compute capability, count of multiprocessors and bytes of memory."""

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    memory: int


@dataclass(frozen=True)
class DeviceMemory:
    """Bytes of a device's memory.

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
        """Given back and kept for reuse."""
        return self.reserved_bytes - self.allocated_bytes


class DeviceBuffer:
    """A flat piece of a device's memory: what a storage holds.

    owner: what frees the memory when nobody refers to it.  address: of the first element, a multiple of 256, or of 16
    where the memory is that of others.
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

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": (self.size,), "typestr": self.dtype.str, "data": (self.address, False), "version": 3,
                "strides": None, "stream": LEGACY}  # fmt: skip


class RuntimeGraph(Protocol):
    """Launches that the device receives by one call."""

    def change(self, node: int, addresses: Sequence[int]) -> None:
        """Let later launches of a node use other memory."""

    def launch(self) -> None:
        """Launch all nodes on the stream of this thread."""


class Runtime(ABC):
    """One device.  pins: the memory of the host that it has given out."""

    pins: Pins

    @property
    @abstractmethod
    def properties(self) -> Properties:
        """The properties of the device."""

    # ---- memory

    def allocate(self, size: int, dtype: np.dtype[Any]) -> DeviceBuffer:
        """Uninitialised memory for so many elements; it is freed when the last reference to it ends.

        Raises StorageError if there is none, after the cache was given back.
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
        """A buffer of so many elements, from a byte of another one on."""
        return DeviceBuffer(buffer.owner, buffer.address + start, size, dtype)

    def exhausted(self, wanted: int) -> StorageError:
        """The error for memory that is not there."""
        now = self.memory()
        return StorageError(
            f"cuda:0 has no memory for {wanted:,} bytes: {now.allocated_bytes:,} are in use here, {now.cached_bytes:,} "
            f"kept for reuse, {now.free_bytes:,} of {now.total_bytes:,} are free; let go of tensors, or use smaller "
            f"ones",
            op="allocate", nbytes=wanted, held=now.allocated_bytes, free=now.free_bytes,
        )  # fmt: skip

    @abstractmethod
    def take(self, nbytes: int) -> tuple[Any, int] | None:
        """Memory and its address, a multiple of 256; it goes back when nobody refers to the first.  None: there is
        not enough."""

    @abstractmethod
    def adopt(self, owner: Any, address: int, size: int, dtype: np.dtype[Any]) -> DeviceBuffer:
        """A buffer over memory of somebody else."""

    @abstractmethod
    def memory(self) -> DeviceMemory:
        """Return the bytes that are in use, cached and free."""

    @abstractmethod
    def empty_cache(self) -> None:
        """Give what is kept for reuse back to the device, after all work so far."""

    @abstractmethod
    def reset_peak(self) -> None:
        """Reset the peaks to the bytes that are in use now."""

    @abstractmethod
    def pinned(self, nbytes: int) -> NDArray[np.uint8]:
        """Memory of the host that the device copies by itself."""

    @abstractmethod
    def copy_to_device(self, buffer: DeviceBuffer, values: NDArray[Any], waits: bool = True) -> None:
        """Fill the beginning of a buffer with the elements of a flat array, in order with the launches.

        waits: whether the array may be written when this returns, also where it is pinned.
        """

    @abstractmethod
    def copy_to_host(self, buffer: DeviceBuffer, start: int = 0, end: int | None = None) -> NDArray[Any]:
        """The elements of a buffer, or those from `start` to `end`, after all launches so far."""

    # ---- streams

    @property
    @abstractmethod
    def stream(self) -> RuntimeStream:
        """The stream that launches and copies of this thread go to; the legacy default one at first."""

    @abstractmethod
    def use(self, stream: RuntimeStream) -> None:
        """Let launches and copies of this thread go to a stream."""

    @abstractmethod
    def new_stream(self, priority: int) -> RuntimeStream:
        """A stream that waits for the legacy default one, and is waited for by it."""

    @abstractmethod
    def foreign_stream(self, number: int) -> RuntimeStream:
        """The stream of another library."""

    @abstractmethod
    def timed(self, stream: RuntimeStream, timing: bool) -> RuntimeEvent:
        """The position where the work of a stream ends now; with `timing`, it subtracts."""

    def is_done(self, stream: RuntimeStream) -> bool:
        """Whether the work of a stream so far has ended."""
        return self.timed(stream, False).is_done

    # ---- launches

    @abstractmethod
    def load(self, program: Program) -> Any:
        """Return a kernel for `launcher`; it has a `name` and a `path`, the file for `kernels.store.source`."""

    @abstractmethod
    def launcher(self, kernel: Any, grid: Size, block: Size, numbers: Sequence[int]) -> Callable[..., None]:
        """A function that launches a kernel on the addresses that it is given."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until every launch has finished."""

    has_graphs = False  # whether `graph` is implemented

    def graph(self, launches: Sequence[tuple[Any, Sequence[int]]]) -> RuntimeGraph:
        """Return a graph of `GridKernel`s, each with its addresses, that run one after the other."""
        raise NotImplementedError

    @property
    def blas(self) -> Any:
        """A library that multiplies matrices, as `blas.Blas` calls it; None where there is none."""
        return None

    def watched(self, launch: Launch, outs: Sequence[Spec]) -> Launch:
        """A launch whose results are looked at, where the runtime can."""
        return launch


def choose() -> Runtime:
    """Return the runtime that `settings.cuda` names.  Raises DeviceError if a real device cannot be used."""
    if settings.cuda == "simulator":
        from minigrad.backends.cuda.simulator import Simulator

        return Simulator()
    from minigrad.backends.cuda.presence import require

    require()
    from minigrad.backends.cuda.device import CudaRuntime

    return CudaRuntime()
