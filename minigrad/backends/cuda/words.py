"""The names of a kernel's text in the simulator: `cuda`, `libdevice`, `device`, and those of `native.py`.

`cuda` has the functions of numba.cuda that kernels use, with the same names and arguments; the block (`block.py`) runs
the functions that wait for other threads.  Functions of libdevice are those of the reference device, rounded once from
float64.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from minigrad.backends.cuda.matrices import TOGETHER, instructions
from minigrad.backends.cuda.watched import Access, Cells, Own, Region
from minigrad.backends.reference.scalars import names as reference_names
from minigrad.errors import KernelError
from minigrad.kernels import half
from minigrad.kernels.cuda.target import LIBDEVICE

SHARED_LIMIT = 48 << 10  # bytes of shared memory that a block may use by default
ALL_LANES = 0xFFFFFFFF


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

    def syncthreads(self) -> None:
        self._words.block.meet(("block", "sync"), None)

    def syncthreads_count(self, x: Any) -> None:
        self._words.block.meet(("block", "count"), x)

    def syncthreads_and(self, x: Any) -> None:
        self._words.block.meet(("block", "and"), x)

    def syncthreads_or(self, x: Any) -> None:
        self._words.block.meet(("block", "or"), x)

    def syncwarp(self, mask: int = ALL_LANES) -> None:
        self._words.block.meet(("sync", mask), None)

    def shfl_sync(self, mask: int, x: Any, lane: int) -> None:
        self._words.block.meet(("shuffle", mask), (x, int(lane) % 32))

    def shfl_xor_sync(self, mask: int, x: Any, lanes: int) -> None:
        self._words.block.meet(("shuffle", mask), (x, self.laneid ^ int(lanes)))

    def shfl_down_sync(self, mask: int, x: Any, lanes: int) -> None:
        self._words.block.meet(("shuffle", mask), (x, self.laneid + int(lanes)))

    def shfl_up_sync(self, mask: int, x: Any, lanes: int) -> None:
        self._words.block.meet(("shuffle", mask), (x, self.laneid - int(lanes)))

    def all_sync(self, mask: int, x: Any) -> None:
        self._words.block.meet(("all", mask), x)

    def any_sync(self, mask: int, x: Any) -> None:
        self._words.block.meet(("any", mask), x)

    def ballot_sync(self, mask: int, x: Any) -> None:
        self._words.block.meet(("ballot", mask), x)

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
