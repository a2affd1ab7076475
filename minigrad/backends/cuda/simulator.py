"""A simulated device: kernels run in Python, thread by thread, over memory that detects errors.

The text of a kernel is the text that is compiled for a real device.  `words.py` defines its names here, `block.py` the
turns of threads, and `watched.py` the checks of memory.  After each launch, every element of the results must have been
written by it.
"""

from __future__ import annotations

import itertools
import linecache
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.cuda.block import Block, Order, interruptible
from minigrad.backends.cuda.pieces import Pins
from minigrad.backends.cuda.runtime import LEGACY, DeviceBuffer, DeviceMemory, Program, Properties, Runtime, Size
from minigrad.backends.cuda.watched import Cells, Notice, Region
from minigrad.backends.cuda.words import WAITING, Point, Words
from minigrad.backends.launch import Enqueued, Launch, Step
from minigrad.config import assigned
from minigrad.core.op import Spec


class Simulated:
    """A kernel as Python code. waits: whether its threads wait for each other."""

    def __init__(self, program: Program) -> None:
        self.program, self.name = program, program.name
        self.path = f"<minigrad {program.file}>"
        lines = program.text.splitlines(keepends=True)
        linecache.cache[self.path] = (len(program.text), None, lines, self.path)
        tree, self.waits = interruptible(program.name, program.text, WAITING)
        self.code = compile(tree, self.path, "exec")
        facts: dict[str, Any] = {"device": lambda function: function, "cuda": None, "libdevice": None}
        exec(self.code, facts)
        self.pointers: tuple[Any, ...] = tuple(map(np.dtype, facts["POINTERS"]))
        self.numbers: int = facts["NUMBERS"]

    def function(self, words: Words) -> Callable[..., None]:
        """Return the kernel with the names of a launch."""
        space = words.names()
        exec(self.code, space)
        if space.get("T") is np.bool_:
            # Python's bool counts as 0 or 1 in arithmetic, like a boolean in a register; NumPy's does not.
            space["T"] = bool
        return space["kernel"]


class Lent(DeviceBuffer):
    """A buffer over memory of another owner. lender: the object that keeps it alive."""

    __slots__ = ("lender",)

    def __init__(self, owner: Any, address: int, size: int, dtype: np.dtype[Any], lender: Any) -> None:
        super().__init__(owner, address, size, dtype)
        self.lender = lender


class Simulator(Runtime):
    """The runtime in Python.

    order: of blocks, warps and lanes; see `ordered`.
    limit: number of bytes of memory that exist.
    """

    def __init__(self) -> None:
        self.order = Order()
        self.regions: weakref.WeakValueDictionary[int, Region] = weakref.WeakValueDictionary()
        self.parts: weakref.WeakValueDictionary[int, Region] = weakref.WeakValueDictionary()
        self.lent: weakref.WeakSet[Region] = weakref.WeakSet()
        self.launches = 1
        # Only one thread runs kernels, because two kernels would overwrite each other's positions.
        self.lock = threading.RLock()
        self.limit = self.properties.memory
        self.allocated = self.reserved = self.peak = self.peak_reserved = 0
        self.kept: dict[int, int] = {}  # for each size, the number of pieces that are cached for reuse
        self.dropped: deque[int] = deque()  # the sizes of freed pieces that are not counted yet
        self.pins = Pins()
        self.legacy = SimulatedStream(LEGACY)
        self.foreign: dict[int, SimulatedStream] = {}
        self.threads = threading.local()

    @property
    def properties(self) -> Properties:
        return Properties("simulator", (9, 0), 2, 1 << 34)

    def ordered(self, kind: str, seed: int = 0) -> AbstractContextManager[None]:
        """Run threads in another order inside a `with` block: "forward", "reverse" or "random"."""
        return assigned(self, "order", Order(kind, seed))

    # ---- memory

    def take(self, nbytes: int) -> tuple[Any, int] | None:
        used = -(-nbytes // 256) * 256
        with self.lock:
            self.settle()
            if self.kept.get(used):
                self.kept[used] -= 1
            elif self.reserved + used > self.limit:
                return None
            else:
                self.reserved += used
            self.allocated += used
            self.peak, self.peak_reserved = max(self.peak, self.allocated), max(self.peak_reserved, self.reserved)
        region = Region(nbytes, "memory")
        # The size is counted later, because a thread of a kernel drops memory while the kernel has the lock.
        weakref.finalize(region, self.dropped.append, used).atexit = False
        self.regions[region.address] = region
        return region, region.address

    def allocate(self, size: int, dtype: np.dtype[Any]) -> DeviceBuffer:
        buffer = super().allocate(size, dtype)
        buffer.owner.name = f"memory of {size} {dtype}"
        return buffer

    def part(self, buffer: DeviceBuffer, start: int, size: int, dtype: np.dtype[Any]) -> DeviceBuffer:
        region = buffer.owner.part(start, size * dtype.itemsize, f"{size} {dtype} in {buffer.owner.name}")
        self.parts[region.address] = region  # the newest region that begins at an address is the one in use
        return Lent(region, region.address, size, dtype, buffer)

    def settle(self) -> None:
        """Add freed memory to the cache for later requests of the same size, as in a driver's pool."""
        while self.dropped:
            used = self.dropped.popleft()
            self.allocated -= used
            self.kept[used] = self.kept.get(used, 0) + 1

    def adopt(self, owner: Any, address: int, size: int, dtype: np.dtype[Any]) -> DeviceBuffer:
        region = self.regions.get(address)  # memory of this simulator that was freed already
        if region is None or region.bytes.size < size * dtype.itemsize:
            region = Region(size * dtype.itemsize, "memory of another library", address)
            self.lent.add(region)
        return Lent(region, address, size, dtype, owner)

    def memory(self) -> DeviceMemory:
        with self.lock:
            self.settle()
            free = self.limit - self.reserved
            return DeviceMemory(self.allocated, self.peak, self.reserved, self.peak_reserved, free, self.limit)

    def empty_cache(self) -> None:
        with self.lock:
            self.settle()
            self.kept.clear()
            self.reserved = self.allocated

    def reset_peak(self) -> None:
        with self.lock:
            self.settle()
            self.peak, self.peak_reserved = self.allocated, self.reserved

    def pinned(self, nbytes: int) -> NDArray[np.uint8]:
        block = np.empty(max(1, nbytes), np.uint8)
        return self.pins.array(block, block.ctypes.data, nbytes)

    def copy_to_device(self, buffer: DeviceBuffer, values: NDArray[Any], waits: bool = True) -> None:
        buffer.owner.fill(np.asarray(values, buffer.dtype), self.launches)

    def copy_to_host(self, buffer: DeviceBuffer, start: int = 0, end: int | None = None) -> NDArray[Any]:
        elements: NDArray[Any] = buffer.owner.bytes[: buffer.nbytes].view(buffer.dtype)
        return elements[start:end].copy()

    # ---- streams

    @property
    def stream(self) -> SimulatedStream:
        return getattr(self.threads, "stream", self.legacy)

    def use(self, stream: Any) -> None:
        self.threads.stream = stream

    def new_stream(self, priority: int) -> SimulatedStream:
        return SimulatedStream()

    def foreign_stream(self, number: int) -> SimulatedStream:
        return self.legacy if number == LEGACY else self.foreign.setdefault(number, SimulatedStream(number))

    def timed(self, stream: Any, timing: bool) -> SimulatedEvent:
        return SimulatedEvent()

    # ---- launches

    def load(self, program: Program) -> Simulated:
        return Simulated(program)

    def launcher(self, kernel: Simulated, grid: Size, block: Size, numbers: Sequence[int]) -> Callable[..., None]:
        values = tuple(np.int64(n) for n in numbers)

        def launch(*addresses: int) -> None:
            with self.lock:
                self.run(kernel, Point(*grid), Point(*block), addresses, values)

        return launch

    def run(self, kernel: Simulated, grid: Point, size: Point, addresses: Sequence[int], numbers: Any) -> None:
        """Run one launch."""
        if len(addresses) != len(kernel.pointers) or len(numbers) != kernel.numbers:
            raise Notice(
                f"{kernel.program.name}: expected {len(kernel.pointers)} pointers and {kernel.numbers} scalar "
                f"arguments, got {len(addresses)} and {len(numbers)}; pass one argument per parameter",
                kind="bounds",
            )
        self.launches += 1
        words = Words(kernel.program.name, self.launches, grid, size)
        pairs = zip(addresses, kernel.pointers, strict=True)
        args = [*(Cells(self.region_at(address), dtype, words) for address, dtype in pairs), numbers]
        function = kernel.function(words)
        positions = itertools.product(range(grid.z), range(grid.y), range(grid.x))
        with np.errstate(all="ignore"):  # infinities, nan and wrapped integers are valid results
            for number, (z, y, x) in self.order.of(list(enumerate(positions))):
                block = Block(words, number, Point(x, y, z), size, self.order)
                (block.run if kernel.waits else block.run_through)(function, args)

    def region_at(self, address: int) -> Region:
        """Return the memory that begins at an address."""
        region = self.parts.get(address) or self.regions.get(address)
        if region is None:
            lent = [region for region in self.lent if region.address == address]
            region = max(lent, key=lambda region: region.bytes.size, default=None)
        if region is None:
            raise Notice(f"no tensor contains the address {address:#x}", kind="bounds")
        return region

    def synchronize(self) -> None:
        """Do nothing: a launch has finished when it returns."""

    def watched(self, launch: Launch, outs: Sequence[Spec]) -> Launch:
        """Return a launch that checks that it has written every element of its results.

        A first step stores the number of launches so far, and a last step checks.  Threads may run one launch at the
        same time, so each thread has its own number.
        """
        if launch.always_fails or not any(spec.layout.numel for spec in outs):
            return launch
        count = launch.arguments
        mark = threading.local()

        def note() -> None:
            mark.before = self.launches

        def check(*buffers: DeviceBuffer) -> None:
            for spec, buffer in zip(outs, buffers, strict=True):
                check_written(spec, buffer, mark.before)

        begin, end = Enqueued("note_launches", note, False), Enqueued("check_written", check, False)
        steps = [Step(begin, ()), *launch.steps, Step(end, tuple(range(count - len(outs), count)))]
        flags = [flag._replace(after=flag.after + 1) for flag in launch.flags]
        return Launch(count, steps, launch.temporaries, flags, parts=launch.parts)


def check_written(spec: Spec, buffer: DeviceBuffer, before: int) -> None:
    """Raise Notice for an element of a result that no launch after `before` has written."""
    for position in spec.layout.offsets():
        if buffer.owner.stamps[position * buffer.itemsize] <= before:
            raise Notice(
                f"the kernel did not write the element at {position} of the result {spec!r}; write every element",
                kind="unwritten",
            )


# ---- streams, which have no pending work -----------------------------------------------------------------------------


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
