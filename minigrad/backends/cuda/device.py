"""A real CUDA device: memory, copies and launches by cuda-core, which only this module touches.

Everything is in the order of one stream, the legacy default one, so work of other libraries on their default stream is
in order with ours.  Memory comes from the driver's pool, in the order of that stream: a buffer that is dropped after a
launch is used again only by what comes later.  Copies between host and device wait; launches do not.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from cuda.bindings import driver
from cuda.core import LEGACY_DEFAULT_STREAM, Device, LaunchConfig, ObjectCode, launch
from numpy.typing import NDArray

from minigrad.backends.cuda import compile as compiler
from minigrad.backends.cuda.blas import Blas
from minigrad.backends.cuda.runtime import DeviceBuffer, Program, Properties, Runtime, Size
from minigrad.errors import DeviceError, StorageError
from minigrad.kernels.store import cache_folder


class Loaded:
    """A kernel on the device.  path: where its text is."""

    def __init__(self, program: Program, capability: tuple[int, int]) -> None:
        self.compiled = compiler.compiled(program, capability)
        self.path = str(cache_folder() / "cuda" / program.file)
        self.code = ObjectCode.from_cubin(self.compiled.cubin, name=program.name)
        self.kernel = self.code.get_kernel(self.compiled.entry)


class CudaRuntime(Runtime):
    """The first device of the machine."""

    def __init__(self) -> None:
        self.device = Device(0)
        self.threads = threading.local()
        self.stream = LEGACY_DEFAULT_STREAM
        self.enter()
        self.pool = self.device.memory_resource
        said = self.device.properties
        free_and_all = checked(driver.cuMemGetInfo(), "its memory")
        capability = self.device.compute_capability
        self._properties = Properties(
            self.device.name, (capability.major, capability.minor), said.multiprocessor_count, int(free_and_all[1])
        )

    @property
    def properties(self) -> Properties:
        return self._properties

    def enter(self) -> None:
        """Make the device that of this thread, once."""
        if not getattr(self.threads, "entered", False):
            self.device.set_current()
            self.threads.entered = True

    @cached_property
    def blas(self) -> Any:
        self.enter()
        try:
            from cuda.pathfinder import load_nvidia_dynamic_lib

            return Blas(ctypes.CDLL(load_nvidia_dynamic_lib("cublas").abs_path))
        except Exception:  # not installed, or not for this driver: the kernels of this package multiply as well
            return None

    # ---- memory

    def allocate(self, size: int, dtype: np.dtype[Any]) -> DeviceBuffer:
        self.enter()
        wanted = max(1, size * dtype.itemsize)
        try:
            owner = self.pool.allocate(wanted, stream=self.stream)
        except Exception:
            self.synchronize()  # what was dropped meanwhile is free now
            owner = self.allocate_again(wanted)
        return DeviceBuffer(owner, int(owner.handle), size, dtype)

    def allocate_again(self, wanted: int) -> Any:
        """A second attempt.  Raises StorageError with what was asked for, held and free."""
        try:
            return self.pool.allocate(wanted, stream=self.stream)
        except Exception as error:
            free, whole = checked(driver.cuMemGetInfo(), "its memory")
            held = self.pool.attributes.used_mem_current
            raise StorageError(
                f"cuda:0 has no memory for {wanted:,} bytes: {held:,} are in use here, {int(free):,} of {int(whole):,} "
                f"are free",
                nbytes=wanted,
            ) from error

    def copy_to_device(self, buffer: DeviceBuffer, values: NDArray[Any]) -> None:
        self.enter()
        data = np.ascontiguousarray(values, buffer.dtype)
        if data.nbytes:
            checked(driver.cuMemcpyHtoD(buffer.address, data.ctypes.data, data.nbytes), "a copy to the device")

    def copy_to_host(self, buffer: DeviceBuffer) -> NDArray[Any]:
        self.enter()
        data = np.empty(buffer.size, buffer.dtype)
        if data.nbytes:
            checked(driver.cuMemcpyDtoH(data.ctypes.data, buffer.address, data.nbytes), "a copy from the device")
        return data

    # ---- launches

    def load(self, program: Program) -> Loaded:
        self.enter()
        return Loaded(program, self._properties.capability)

    def launcher(self, kernel: Loaded, grid: Size, block: Size, numbers: Sequence[int]) -> Callable[..., None]:
        config, function, stream, told = (
            LaunchConfig(grid=grid, block=block),
            kernel.kernel,
            self.stream,
            tuple(numbers),
        )
        threads, enter = self.threads, self.enter

        def run(*addresses: int) -> None:
            if not getattr(threads, "entered", False):
                enter()
            launch(stream, config, function, *addresses, *told)

        return run

    def synchronize(self) -> None:
        self.enter()
        self.stream.sync()


def checked(answer: Any, what: str) -> Any:
    """What the driver gives besides its status.  Raises DeviceError for a status that is no success."""
    status, *found = answer
    if status != driver.CUresult.CUDA_SUCCESS:
        raise DeviceError(f"cuda:0: {what} failed: {status.name}", device="cuda:0")
    return found[0] if len(found) == 1 else tuple(found)
