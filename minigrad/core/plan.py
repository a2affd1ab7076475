"""How a loop walks its operands: dims merged, a layout class chosen, the numbers that a kernel reads.

A plan is a pure function of layouts.  The classes are few, so that few kernels are compiled: DENSE (one run with
steps 0 or 1), ROWS (rows of such runs, any rank outside), TILED (some operand is dense across the rows of the output,
as a transpose is), STRIDED (anything).  Chunks are cut here, from shapes
alone: results do not depend on the number of threads.  `Layout` does the arithmetic, `kernels/cpu` reads `numbers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minigrad.core.layout import Layout, merge

CHUNK = 8192  # elements a chunk: some microseconds of work, so that the parallel region's 1.1 us is paid back
STRIP = 8  # rows of a tile, whose lines of an operand that lies across stay in the nearest cache
MEETING = 512  # columns so many elements apart, or a multiple of it, have their lines in the same few sets of a cache
TILE = (64, 8)  # columns of a tile; of one whose lines meet, as many as a set holds
LARGE = 4096  # elements from which tiles pay: all of fewer are in the nearest cache anyway
Strides = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LoopPlan:
    """kind: "dense", "rows", "tiled" or "strided"; steps: the inner step of each operand, 0 or 1 in the first two."""

    kind: str
    steps: tuple[int, ...]
    numel: int
    numbers: NDArray[np.int64]

    @property
    def label(self) -> str:
        """ "dense10": the class, and the steps where they are pasted into the kernel."""
        return self.kind + ("".join(map(str, self.steps)) if self.kind in ("dense", "rows") else "")


def pieces(n: int, length: int) -> tuple[int, int]:
    """Cut n things into equal chunks of about `length`: (chunk, chunks)."""
    count = max(1, -(-n // max(1, length)))
    chunk = max(1, -(-n // count))
    return chunk, max(1, -(-n // chunk))


def lines(n: int) -> tuple[int, int]:
    """Cut a dense run into chunks that begin on a line of the cache, 64 at the most where they are long."""
    chunk, _ = pieces(n, max(CHUNK, n // 64))
    chunk = -(-chunk // 64) * 64
    return chunk, max(1, -(-n // chunk))


def sort_dims(dims: Strides, strides: Sequence[Strides]) -> tuple[Strides, list[Strides]]:
    """Put the dim in which the first layout moves fastest innermost, and walk each dim upward in it."""
    order = sorted(range(len(dims)), key=lambda d: -abs(strides[0][d]))
    return tuple(dims[d] for d in order), [tuple(s[d] for d in order) for s in strides]


def walk(layouts: Sequence[Layout]) -> tuple[Strides, list[Strides], list[int]]:
    """Merged dims, strides and offsets for layouts of one shape, turned so that the first one moves upward.

    The first layout is the output: it decides the order of the dims, and its negative strides are flipped away.
    """
    dims, strides = merge(layouts)
    offsets = [layout.offset for layout in layouts]
    flipped = [list(s) for s in strides]
    for d, size in enumerate(dims):
        if strides[0][d] < 0:
            for k, s in enumerate(strides):
                offsets[k] += s[d] * (size - 1)
                flipped[k][d] = -s[d]
    dims, sorted_strides = sort_dims(dims, [tuple(s) for s in flipped])
    if any(strides[0][d] < 0 for d in range(len(strides[0]))) or list(strides) != sorted_strides:
        shapes = [Layout.make(dims, s, o) for s, o in zip(sorted_strides, offsets, strict=True)]
        dims, merged = merge(shapes)
        sorted_strides = list(merged)
    return dims, sorted_strides, offsets


def plan_elementwise(out: Layout, operands: Sequence[Layout]) -> LoopPlan:
    """The walk of an elementwise loop.  Every operand has been expanded to the shape of `out`."""
    dims, strides, offsets = walk([out, *operands])
    inner = tuple(s[-1] if s else 1 for s in strides)
    cols = dims[-1] if dims else 1
    unit_steps = inner[0] == 1 and all(s in (0, 1) for s in inner)
    if len(dims) <= 1 and unit_steps:
        chunk, chunks = lines(cols)
        return LoopPlan("dense", inner[1:], out.numel, np.array([cols, chunk, chunks, *offsets], np.int64))
    across = None if unit_steps or out.numel < LARGE else dim_across(dims, strides)
    if across is not None:
        return LoopPlan("tiled", inner[1:], out.numel, tile_numbers(dims, strides, offsets, across))
    outer = dims[:-1]
    block, blocks = pieces(cols, CHUNK)
    units = blocks * (out.numel // cols if cols else 0)
    chunk, chunks = pieces(units, max(1, CHUNK // block))
    numbers = [len(outer), cols, block, blocks, units, chunk, chunks, *outer]
    for offset, s in zip(offsets, strides, strict=True):
        numbers += [offset, s[-1], *s[:-1]]
    return LoopPlan("rows" if unit_steps else "strided", inner[1:], out.numel, np.array(numbers, np.int64))


def dim_across(dims: Strides, strides: Sequence[Strides]) -> int | None:
    """The dim, other than the last, along which an operand is dense that is not dense in the rows of the output."""
    if strides[0][-1] != 1 or dims[-1] < STRIP:
        return None
    for s in strides[1:]:
        if s[-1] not in (0, 1):
            for d in range(len(dims) - 1):
                if s[d] in (1, -1) and dims[d] >= STRIP:
                    return d
    return None


def tile_numbers(dims: Strides, strides: Sequence[Strides], offsets: list[int], d: int) -> NDArray[np.int64]:
    """What the loop over tiles reads; its docstring lists it.  d: the dim that strips are cut from."""
    rows, cols = dims[d], dims[-1]
    outer = [k for k in range(len(dims) - 1) if k != d]
    strips = -(-rows // STRIP)
    units = strips
    for k in outer:
        units *= dims[k]
    chunk, chunks = pieces(units, max(1, CHUNK // (STRIP * cols)))
    numbers = [len(outer), rows, cols, strips, units, chunk, chunks, *(dims[k] for k in outer)]
    for offset, s in zip(offsets, strides, strict=True):
        numbers += [offset, s[d], s[-1], *(s[k] for k in outer)]
    meet = any(s[-1] and s[-1] % MEETING == 0 for s in strides[1:])
    return np.array([*numbers, TILE[meet]], np.int64)
