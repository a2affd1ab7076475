"""The names of a kernel's text in the simulator: `cuda`, `libdevice`, `device`, and those of `native.py`.

`cuda` has the functions of numba.cuda that kernels use, with the same names and arguments; the block (`block.py`) runs
the functions that wait for other threads.  Functions of libdevice are those of the reference device, rounded once from
float64.

The target of a copy counts as unwritten until its thread has waited for the copy.  So the simulator reports a thread
that reads too early, and also a thread that reads after the wait without a barrier.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.cuda.watched import Access, Cells, Own, Region
from minigrad.backends.reference.scalars import names as reference_names
from minigrad.errors import KernelError
from minigrad.kernels import half
from minigrad.kernels.cuda.target import LIBDEVICE

SHARED_LIMIT = 48 << 10  # bytes of shared memory that a block may use by default
ALL_LANES = 0xFFFFFFFF
# Functions that all threads of a warp call together.
TOGETHER = {"ldmatrix", "ldmatrix_turned", "mma_float16", "mma_bfloat16"}
GROUP = 8  # 16-bit elements in one copy, and in a row of a matrix

Bits = NDArray[np.uint16]


class Point(NamedTuple):
    """A position or size in up to three dims, such as threadIdx."""

    x: int
    y: int = 1
    z: int = 1


class Words:
    """The names of one launch; the block sets those that identify the thread."""

    def __init__(self, kernel: str, launch: int, grid: Point, size: Point) -> None:
        self.kernel, self.launch = kernel, launch
        self.access = Access(launch, 0, 0, 0, 0, 0)
        self.block: Any = None
        self.cuda = Cuda(self, grid, size)

    def names(self) -> dict[str, Any]:
        """Return all names."""
        names: dict[str, Any] = {"cuda": self.cuda, "libdevice": LIBRARY, "device": lambda function: function}
        for width in (1, 2, 4, 8, 16):
            names[f"load_{width}"] = lambda p, i, width=width: p.load(i, width)
            names[f"store_{width}"] = lambda p, i, values: p.store(i, values)
        names |= {"half_to_float": half.half_to_float, "float_to_half": half.float_to_half}
        names |= instructions(self) | {"complex": of_parts}
        names["atomic_max"] = lambda p, i, x: p.update(i, lambda old: max(old, x))
        return names | {"atomic_add": lambda p, i, x: p.add(i, x)}


def of_parts(real: Any, imag: Any = 0.0) -> np.complexfloating[Any]:
    """Return a complex number as wide as its parts, as a compiled kernel does."""
    narrow = isinstance(real, np.float32) and isinstance(imag, np.float32)
    return (np.complex64 if narrow else np.complex128)(complex(real, imag))


def of_block(operation: str) -> Callable[..., None]:
    """Return the method of `Cuda` that waits for all threads of the block."""
    return lambda self, x=None: self._words.block.meet(("block", operation), x)


def of_warp(operation: str) -> Callable[..., None]:
    """Return the method of `Cuda` that waits for the lanes of a mask."""
    return lambda self, mask, x: self._words.block.meet((operation, mask), x)


def shuffle(source: Callable[[int, int], int]) -> Callable[..., None]:
    """Return the method of `Cuda` by which a lane receives the value of another; source: of its index and a number."""
    return lambda self, mask, x, n: self._words.block.meet(("shuffle", mask), (x, source(self.laneid, int(n))))


class Cuda:
    """The names that a kernel uses as `cuda.name`."""

    warpsize = 32

    def __init__(self, words: Words, grid: Point, size: Point) -> None:
        self._words = words
        self.gridDim, self.blockDim = grid, size
        self.threadIdx = self.blockIdx = Point(0, 0, 0)
        self.shared = SimpleNamespace(array=self._shared_array)
        self.local = SimpleNamespace(array=self._local_array)
        self.atomic = SimpleNamespace(
            add=lambda a, i, x: a.add(i, x), max=lambda a, i, x: a.update(i, lambda old: max(old, x)),
            min=lambda a, i, x: a.update(i, lambda old: min(old, x)), exch=lambda a, i, x: a.update(i, lambda old: x),
            cas=lambda a, i, old, new: a.update(i, lambda there: new if there == old else there),
        )  # fmt: skip

    @property
    def laneid(self) -> int:
        return self._words.access.thread % 32

    def __getattr__(self, name: str) -> Any:
        there = sorted(word for word in (*vars(self), *vars(type(self))) if not word.startswith("_"))
        raise KernelError(f"the simulator does not support cuda.{name}; it supports {', '.join(there)}")

    # ---- positions in the grid: a number along one dim, a tuple of numbers along two or three

    def grid(self, dims: int) -> Any:
        return self._along(dims, lambda block, size, at, count: block * size + at)

    def gridsize(self, dims: int) -> Any:
        return self._along(dims, lambda block, size, at, count: count * size)

    def _along(self, dims: int, of: Callable[[int, int, int, int], int]) -> Any:
        if dims not in (1, 2, 3):
            raise KernelError(
                f"cuda.grid and cuda.gridsize expect 1, 2 or 3 dims, got {dims!r}; write cuda.grid(1), for example"
            )
        parts = zip(self.blockIdx, self.blockDim, self.threadIdx, self.gridDim, strict=True)
        positions = tuple([of(*each) for each in parts])[:dims]
        return positions[0] if dims == 1 else positions

    # ---- memory

    def _shared_array(self, shape: Any, dtype: Any, alignment: int = 16) -> Cells:
        caller = sys._getframe(1)
        return self._words.block.shared_array((caller.f_code, caller.f_lasti), shape, np.dtype(dtype))

    def _local_array(self, shape: Any, dtype: Any, alignment: int = 16) -> Cells:
        return Own(np.dtype(dtype), self._words, sizes_of(shape))

    # ---- waiting for other threads: (operation, lanes to wait for) and a value; the result is sent to the thread

    syncthreads, syncthreads_count, syncthreads_and, syncthreads_or = map(of_block, ("sync", "count", "and", "or"))
    all_sync, any_sync, ballot_sync = map(of_warp, ("all", "any", "ballot"))
    shfl_sync = shuffle(lambda own, lane: lane % 32)
    shfl_xor_sync = shuffle(lambda own, lanes: own ^ lanes)
    shfl_down_sync = shuffle(lambda own, lanes: own + lanes)
    shfl_up_sync = shuffle(lambda own, lanes: own - lanes)

    def syncwarp(self, mask: int = ALL_LANES) -> None:
        self._words.block.meet(("sync", mask), None)

    # ---- arithmetic

    @staticmethod
    def popc(x: Any) -> int:
        return int(x).bit_count()

    @staticmethod
    def ffs(x: Any) -> int:
        return (int(x) & -int(x)).bit_length()

    @staticmethod
    def fma(a: Any, b: Any, c: Any) -> Any:
        if isinstance(a, np.float32):  # float64 represents the product of two float32 exactly
            return np.float32(np.float64(a) * np.float64(b) + np.float64(c))
        return np.float64(a * b + c)


# Functions that wait for other threads.  A kernel that calls none of these runs its threads one after the other.
WAITING = {name for name in vars(Cuda) if "sync" in name} | TOGETHER


def sizes_of(shape: Any) -> tuple[int, ...]:
    """Return the sizes of an array's dims."""
    return tuple(int(n) for n in shape) if isinstance(shape, tuple) else (int(shape),)


def cells_of(words: Words, name: str, shape: Any, dtype: np.dtype[Any]) -> Cells:
    """Return a new array of a block, which counts as unwritten."""
    sizes = sizes_of(shape)
    return Cells(Region(math.prod(sizes) * dtype.itemsize, name), dtype, words, sizes)


def libdevice() -> SimpleNamespace:
    """Return functions of floats by libdevice's names, for both sizes."""
    functions: dict[str, Callable[..., Any]] = {}
    for bits, end in ((np.float32, "f"), (np.float64, "")):
        known = vars(reference_names(np.dtype(bits))["math"])
        functions |= {at + end: known[name] for name, at in LIBDEVICE.items()}
    return SimpleNamespace(**functions)


LIBRARY = libdevice()


# ---- tensor cores ----------------------------------------------------------------------------------------------------


def instructions(words: Any) -> dict[str, Callable[..., Any]]:
    """Return the functions of `native.py` for matrices."""

    def together(what: str, value: Any) -> None:
        words.block.meet((what, ALL_LANES), value, 3)

    def copy_async(array: Any, to: Any, p: Any, i: Any, n: Any) -> None:
        values = p.load(i, GROUP) if n else (0,) * GROUP
        array.aligned(to, GROUP)
        for k in range(GROUP):
            array.promise(to + k)
        groups_of(words)[-1].append((array, to, values))

    def copies_landed(most: int) -> None:
        groups = groups_of(words)
        while len(groups) - 1 > most:
            for array, to, values in groups.pop(0):
                array.store(to, values)

    result: dict[str, Callable[..., Any]] = {
        "copy_async": copy_async,
        "copies_sent": lambda: groups_of(words).append([]),
        "copies_landed_0": lambda: copies_landed(0),
        "copies_landed_1": lambda: copies_landed(1),
    }
    for name in TOGETHER:
        brings = (lambda a, i: a.load(i, GROUP)) if name.startswith("ldmatrix") else (lambda *registers: registers)
        result[name] = lambda *args, name=name, brings=brings: together(name, brings(*args))
    return result


def groups_of(words: Any) -> list[list[Any]]:
    """Return the groups of pending copies of the current thread; the last group is still open."""
    return words.block.copies.setdefault(words.access.thread, [[]])


def results(what: str, values: Mapping[int, Any]) -> dict[int, Any]:
    """Return the result for each lane of a warp, computed from the values of all lanes."""
    return loaded(what, values) if what.startswith("ldmatrix") else multiplied(what, values)


def loaded(what: str, values: Mapping[int, Any]) -> dict[int, Any]:
    """Return four matrices, as pairs of elements per lane.

    Lane 8 * j + r has loaded row r of matrix j.
    """
    four = np.array([values[lane] for lane in range(32)], np.uint16).reshape(4, 8, 8)
    if what.endswith("turned"):
        four = four.transpose(0, 2, 1)
    # The dims are (matrix, row, pair); the first element of a pair is in the low 16 bits.
    pairs = np.ascontiguousarray(four).view(np.uint32)
    return {lane: tuple(pairs[:, lane // 4, lane % 4]) for lane in range(32)}


def multiplied(what: str, values: Mapping[int, Any]) -> dict[int, Any]:
    """Return c + a @ b. Source: PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type"."""
    words = np.array([values[lane][:6] for lane in range(32)], np.uint32)
    halves = words.view(np.uint16).reshape(32, 6, 2)  # the dims are (lane, register, low or high 16 bits)
    a, b = np.zeros((16, 16), np.uint16), np.zeros((16, 8), np.uint16)
    c = np.zeros((16, 8), np.float32)
    for lane in range(32):
        g, q = lane // 4, lane % 4 * 2
        for k, (down, along) in enumerate(((0, 0), (8, 0), (0, 8), (8, 8))):
            a[g + down, q + along : q + along + 2] = halves[lane, k]
        for k in range(2):
            b[q + 8 * k : q + 8 * k + 2, g] = halves[lane, 4 + k]
        c[g, q : q + 2], c[g + 8, q : q + 2] = values[lane][6:8], values[lane][8:10]
    # Products are exact in float64.  Here a sum of sixteen products is rounded once; a device may round more often.
    sums = (c + floats(a, what) @ floats(b, what)).astype(np.float32)
    positions = ((lane, lane // 4, lane % 4 * 2) for lane in range(32))
    return {lane: (*sums[g, q : q + 2], *sums[g + 8, q : q + 2]) for lane, g, q in positions}


def floats(bits: Bits, what: str) -> NDArray[np.float64]:
    """Return the numbers that 16-bit patterns represent."""
    if what == "mma_float16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
