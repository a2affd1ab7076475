"""What the backend asks of a device: memory, copies, launches.  The real device and the simulator answer alike.

`device.py` is the real one, on cuda-core; `simulator.py` runs the same kernels in Python.  `choose` says which of them
serves, by `settings.cuda`.  A kernel is a `Program`: its text, which both are given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Launch
from minigrad.config import settings
from minigrad.core.op import Spec
from minigrad.errors import ArgumentError
from minigrad.kernels.store import file_of

Size = tuple[int, int, int]
THREADS = 256  # of a block, where nothing else is said
MODES = ("auto", "real", "simulator")


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
    """What is known of a device: its name, its compute capability, how many multiprocessors, how much memory."""

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    memory: int


class DeviceBuffer:
    """A flat piece of a device's memory: what a storage holds.

    owner: what frees the memory when nobody refers to it.  address: of the first element, a multiple of 256.
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
                "strides": None, "stream": 1}  # fmt: skip


class Runtime(ABC):
    """One device."""

    @property
    @abstractmethod
    def properties(self) -> Properties:
        """What the device is."""

    @abstractmethod
    def allocate(self, size: int, dtype: np.dtype[Any]) -> DeviceBuffer:
        """Uninitialised memory for so many elements; it is free again when nobody refers to it."""

    @abstractmethod
    def copy_to_device(self, buffer: DeviceBuffer, values: NDArray[Any]) -> None:
        """Fill the beginning of a buffer with the elements of a flat array, in order with the launches."""

    @abstractmethod
    def copy_to_host(self, buffer: DeviceBuffer) -> NDArray[Any]:
        """The elements of a buffer, after all launches so far."""

    @abstractmethod
    def load(self, program: Program) -> Any:
        """What `launcher` takes for a kernel.  It has a `path`, where `kernels.store.source` finds its text."""

    @abstractmethod
    def launcher(self, kernel: Any, grid: Size, block: Size, numbers: Sequence[int]) -> Callable[..., None]:
        """A function that launches a kernel on the addresses that it is given."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until every launch has finished."""

    @property
    def blas(self) -> Any:
        """A library that multiplies matrices, as `blas.Blas` calls it; None where there is none."""
        return None

    def watched(self, launch: Launch, outs: Sequence[Spec]) -> Launch:
        """A launch whose results are looked at, where the runtime can."""
        return launch


def choose() -> Runtime:
    """The runtime that `settings.cuda` names.  Raises DeviceError with what is missing for a real device."""
    if settings.cuda not in MODES:
        raise ArgumentError(f"MINIGRAD_CUDA is one of {', '.join(MODES)}, not {settings.cuda!r}", value=settings.cuda)
    if settings.cuda == "simulator":
        from minigrad.backends.cuda.simulator import Simulator

        return Simulator()
    from minigrad.backends.cuda.presence import require

    require()
    from minigrad.backends.cuda.device import CudaRuntime

    return CudaRuntime()
