"""A real CUDA device: memory, copies and launches by cuda-core, which only this module uses.

Work goes to the legacy default stream unless a thread selects another one, so it is ordered with the work of other
libraries.  Memory comes from the driver's pool, in the order of that stream (`pieces.py`).  Our other streams wait for
that stream, and it waits for them: only later work can reuse a buffer that is dropped after a launch.  Copies between
host and device wait, except non-blocking copies from pinned memory; launches do not wait.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from cuda import core
from cuda.bindings import driver
from cuda.core import LEGACY_DEFAULT_STREAM, Stream
from numpy.typing import NDArray

from minigrad.backends.cuda import compile as compiler
from minigrad.backends.cuda.blas import Blas
from minigrad.backends.cuda.pieces import Pieces, Pins
from minigrad.backends.cuda.presence import FORKED
from minigrad.backends.cuda.runtime import DeviceBuffer, DeviceMemory, Program, Properties, Runtime, Size
from minigrad.config import in_forked_children
from minigrad.errors import DeviceError
from minigrad.kernels.store import cache_folder


class Loaded:
    """A kernel on the device. path: the file of its text."""

    def __init__(self, program: Program, capability: tuple[int, int]) -> None:
        self.compiled = compiler.compiled(program, capability)
        self.name, self.path = program.name, str(cache_folder() / "cuda" / program.file)
        self.code = core.ObjectCode.from_cubin(self.compiled.cubin, name=program.name)
        self.kernel = self.code.get_kernel(self.compiled.entry)


class CudaRuntime(Runtime):
    """The first device of the machine."""

    def __init__(self) -> None:
        self.device = core.Device(0)
        self.threads = threading.local()
        self.forked = False
        self.pins = Pins()
        self.enter()
        self.pool = self.device.memory_resource
        self.pieces = Pieces(lambda nbytes: self.pool.allocate(nbytes, stream=LEGACY_DEFAULT_STREAM))
        self.host = core.LegacyPinnedMemoryResource()
        said = self.device.properties
        free_and_all = checked(driver.cuMemGetInfo(), "its memory")
        capability = self.device.compute_capability
        self._properties = Properties(
            self.device.name, (capability.major, capability.minor), said.multiprocessor_count, int(free_and_all[1])
        )
        forget_at_forks(self)

    @property
    def properties(self) -> Properties:
        return self._properties

    def enter(self) -> Stream:
        """Select the device for this thread, once, and return the thread's stream.

        Raises DeviceError in a forked process, which the driver does not support.
        """
        result: Stream | None = getattr(self.threads, "stream", None)
        if result is not None:
            return result
        if self.forked:
            raise DeviceError(FORKED, device="cuda:0")
        self.device.set_current()
        self.threads.stream = LEGACY_DEFAULT_STREAM
        return LEGACY_DEFAULT_STREAM

    @cached_property
    def blas(self) -> Any:
        self.enter()
        try:
            from cuda.pathfinder import load_nvidia_dynamic_lib

            return Blas(ctypes.CDLL(load_nvidia_dynamic_lib("cublas").abs_path))
        except Exception:  # cuBLAS is missing or does not fit the driver, so minigrad's own kernels compute products
            return None

    # ---- memory

    def take(self, nbytes: int) -> tuple[Any, int] | None:
        self.enter()
        try:
            piece = self.pieces.take(nbytes)
        except Exception as error:
            if "OUT_OF_MEMORY" in str(error):
                return None
            raise DeviceError(
                f"cuda:0: cannot allocate {nbytes:,} bytes of device memory: {error}; use a smaller batch or free "
                "tensors",
                device="cuda:0",
            ) from error
        return piece, piece.address

    def adopt(self, owner: Any, address: int, size: int, dtype: np.dtype[Any]) -> DeviceBuffer:
        return DeviceBuffer(owner, address, size, dtype)

    def memory(self) -> DeviceMemory:
        self.enter()
        free, whole = checked(driver.cuMemGetInfo(), "its memory")
        pool, pieces = self.pool.attributes, self.pieces
        return DeviceMemory(
            pieces.allocated, pieces.peak, pool.reserved_mem_current, pool.reserved_mem_high, int(free), int(whole)
        )

    def empty_cache(self) -> None:
        self.pieces.release()
        self.synchronize()  # after this line, the memory of tensors that were dropped before it is free
        checked(driver.cuMemPoolTrimTo(self.pool.handle, 0), "giving memory back")

    def reset_peak(self) -> None:
        self.enter()
        self.pieces.peak = self.pieces.allocated
        high = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH
        checked(driver.cuMemPoolSetAttribute(self.pool.handle, high, driver.cuuint64_t(0)), "a new peak")

    def pinned(self, nbytes: int) -> NDArray[np.uint8]:
        self.enter()
        owner = self.host.allocate(max(1, nbytes))
        return self.pins.array(owner, int(owner.handle), nbytes)

    def copy_to_device(self, buffer: DeviceBuffer, values: NDArray[Any], waits: bool = True) -> None:
        stream = self.enter()
        data = np.ascontiguousarray(values, buffer.dtype)
        if not data.nbytes:
            return
        position = data.ctypes.data
        checked(driver.cuMemcpyHtoDAsync(buffer.address, position, data.nbytes, stream.handle), "a copy to the device")
        if self.pins.holds(data):  # the driver has already read memory that is not pinned when it returns
            if waits:
                stream.sync()
            else:
                self.pins.keep(stream.record(), data)

    def copy_to_host(self, buffer: DeviceBuffer, start: int = 0, end: int | None = None) -> NDArray[Any]:
        stream = self.enter()
        data = np.empty((buffer.size if end is None else end) - start, buffer.dtype)
        if data.nbytes:
            address = buffer.address + start * buffer.itemsize
            copied = driver.cuMemcpyDtoHAsync(data.ctypes.data, address, data.nbytes, stream.handle)
            checked(copied, "a copy from the device")
            stream.sync()
        return data

    # ---- streams

    @property
    def stream(self) -> Stream:
        return self.enter()

    def use(self, stream: Any) -> None:
        self.enter()
        self.threads.stream = stream

    def new_stream(self, priority: int) -> Stream:
        self.enter()
        self.pieces.share()
        return self.device.create_stream(options=core.StreamOptions(nonblocking=False, priority=priority))

    def foreign_stream(self, number: int) -> Stream:
        self.enter()
        if number != 1:
            self.pieces.share()
        known = {1: LEGACY_DEFAULT_STREAM, 2: core.PER_THREAD_DEFAULT_STREAM}
        return known[number] if number in known else Stream.from_handle(number)

    def timed(self, stream: Any, timing: bool) -> Any:
        self.enter()
        return stream.record(options=core.EventOptions(timing))

    # ---- launches

    def load(self, program: Program) -> Loaded:
        self.enter()
        return Loaded(program, self._properties.capability)

    def launcher(self, kernel: Loaded, grid: Size, block: Size, numbers: Sequence[int]) -> Callable[..., None]:
        config, function, scalars = core.LaunchConfig(grid=grid, block=block), kernel.kernel, tuple(numbers)
        threads, enter, launch = self.threads, self.enter, core.launch

        def run(*addresses: int) -> None:
            try:
                stream = threads.stream
            except AttributeError:  # this is the first launch of this thread, which has no stream yet
                stream = enter()
            launch(stream, config, function, *addresses, *scalars)

        return run

    has_graphs = True

    def graph(self, launches: Sequence[tuple[Any, Sequence[int]]]) -> CudaGraph:
        self.enter()
        return CudaGraph(self, launches)

    def synchronize(self) -> None:
        self.enter()
        checked(driver.cuCtxSynchronize(), "the work of the device")


class CudaGraph:
    """A chain of kernels as a graph of the driver.

    values: for each node its addresses and numbers, 8 bytes each.
    parameters: the structures through which the driver reads them.
    """

    def __init__(self, runtime: CudaRuntime, launches: Sequence[tuple[Any, Sequence[int]]]) -> None:
        self.runtime, self.kernels = runtime, [kernel for kernel, _ in launches]
        self.values = [np.array([*addresses, *kernel.numbers], np.int64) for kernel, addresses in launches]
        self.pointers = [x.ctypes.data + 8 * np.arange(x.size) for x in self.values]
        self.parameters = [self.described(kernel, x) for kernel, x in zip(self.kernels, self.pointers)]
        self.handle = checked(driver.cuGraphCreate(0), "a graph")
        weakref.finalize(self, driver.cuGraphDestroy, self.handle).atexit = False
        self.nodes: list[Any] = []
        for parameters in self.parameters:
            before = self.nodes[-1:]
            added = driver.cuGraphAddKernelNode(self.handle, before, len(before), parameters)
            self.nodes.append(checked(added, "a node of a graph"))
        self.executable = checked(driver.cuGraphInstantiate(self.handle, 0), "the instance of a graph")
        weakref.finalize(self, driver.cuGraphExecDestroy, self.executable).atexit = False

    @staticmethod
    def described(kernel: Any, pointers: NDArray[Any]) -> Any:
        """Return the driver's record of a launch."""
        result = driver.CUDA_KERNEL_NODE_PARAMS()
        result.kern = kernel.kernel.kernel.handle
        result.gridDimX, result.gridDimY, result.gridDimZ = kernel.grid
        result.blockDimX, result.blockDimY, result.blockDimZ = kernel.block
        result.kernelParams = pointers.ctypes.data
        return result

    def change(self, node: int, addresses: Sequence[int]) -> None:
        """Set the memory that later launches of a node use."""
        self.values[node][: len(addresses)] = addresses
        changed = driver.cuGraphExecKernelNodeSetParams(self.executable, self.nodes[node], self.parameters[node])
        checked(changed, "other memory for a graph")

    def launch(self) -> None:
        """Launch all nodes on the stream of this thread."""
        checked(driver.cuGraphLaunch(self.executable, self.runtime.enter().handle), "the launch of a graph")


def forget_at_forks(runtime: CudaRuntime) -> None:
    """Mark the runtime in forked processes, and drop its data about threads there."""
    reference = weakref.ref(runtime)

    @in_forked_children
    def forget() -> None:
        runtime = reference()
        if runtime is not None:
            runtime.forked = True
            runtime.threads.__dict__.clear()


def checked(answer: Any, what: str) -> Any:
    """Return the values of a driver call without its status.  Raise DeviceError unless the status is success."""
    status, *values = answer
    if status != driver.CUresult.CUDA_SUCCESS:
        raise DeviceError(f"cuda:0: {what} failed: {status.name}", device="cuda:0")
    return values[0] if len(values) == 1 else tuple(values)
