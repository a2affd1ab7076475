"""The loops of elementwise kernels: the choice of a layout class, the chunks, and a kernel's scalar arguments by name.

There are few classes, so that few kernels are compiled: DENSE (one run with steps 0 or 1), ROWS (rows of such runs,
with any outer dims), TILED (some operand is dense across the rows of the output, for example a transpose), STRIDED (any
layout).  Chunks follow from layouts alone, so results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from minigrad.core.layout import Layout
from minigrad.core.plan import Strides, pieces, walk

CHUNK = 8192  # elements per chunk: some microseconds of work, compared with 1.1 us for starting the threads
SMALL = 512  # minimum number of elements per chunk of a function that costs more than an addition
COLUMNS = 64  # columns per block if threads can share only columns: four cache lines of float32
UNITS = 16  # with at least this number of tasks in the outer dims, the inner dim is not divided between threads
STRIP = 8  # rows of a tile; the lines of a transposed operand then stay in the first-level cache
MEETING = 512  # columns at multiples of this distance in elements share the same few sets of a cache
TILE = (64, 8)  # columns of an ordinary tile, and of a tile whose columns are multiples of MEETING apart
SQUARE = 16  # rows of a tile of a copy, whose squares have a whole cache line of float32 in a row
LARGE = 4096  # minimum number of elements for tiles; fewer elements are in the first-level cache in any case
# The last two dims are exchanged if rows have at most SHORT columns and there are at least MANY rows.  Starting the
# loop over so short a row takes longer (1.4 ns per element) than reading its elements in another order (0.7 ns).
SHORT, MANY = 3, 32


@dataclass(frozen=True, slots=True, eq=False)
class LoopPlan:
    """The plan of an elementwise loop.

    kind: "dense", "rows", "tiled" or "strided".
    steps: the inner stride of each operand, 0 or 1 for "dense" and "rows".
    each, numbers: the scalar arguments: those of each result and operand, and the others by name.
    """

    kind: str
    steps: tuple[int, ...]
    tasks: int
    each: Sequence[Any]
    numbers: dict[str, Any]

    @property
    def pasted(self) -> str:
        """The steps if they are part of the kernel: "10"."""
        return "".join(map(str, self.steps)) if self.kind in ("dense", "rows") else ""


def chunk_of(cost: int) -> int:
    """Return the number of elements per chunk, for a function that costs as much as this number of additions."""
    return max(SMALL, CHUNK // cost)


def lines(n: int, length: int) -> tuple[int, int]:
    """Cut a run as `pieces`, into chunks that begin on cache lines, so that no two threads write into one line."""
    chunk = -(-pieces(n, length)[0] // 64) * 64
    return chunk, max(1, -(-n // chunk))


def plan_elementwise(out: Layout, operands: Sequence[Layout], cost: int, copies: bool = False) -> LoopPlan:
    """Return the plan of an elementwise loop.  Every operand must have the shape of `out`.

    cost: the work per element, in additions.
    copies: whether the loop copies elements unchanged, so that tiles are copied by squares.
    """
    dims, strides, offsets = walk([out, *operands])
    inner = tuple(s[-1] if s else 1 for s in strides)
    cols = dims[-1] if dims else 1
    unit_steps = inner[0] == 1 and all(s in (0, 1) for s in inner)
    if len(dims) <= 1 and unit_steps:
        chunk, chunks = lines(cols, max(chunk_of(cost), cols // 64))  # a long run has at most 65 chunks
        return LoopPlan("dense", inner[1:], chunks, [(o,) for o in offsets], {"n": cols, "chunk": chunk})
    across = None if unit_steps or out.numel < LARGE else dim_across(dims, strides)
    if across is not None:
        return plan_tiles(dims, strides, offsets, across, cost, copies)
    return plan_nest([out], operands, cost)


def plan_nest(outs: Sequence[Layout], operands: Sequence[Layout], cost: int) -> LoopPlan:
    """Return the plan of a loop of any rank around runs, for any number of results."""
    dims, strides, offsets = walk([*outs, *operands])
    dims, strides = across_short_rows(dims, strides)
    inner = tuple(s[-1] if s else 1 for s in strides)
    dense = all(s == 1 for s in inner[: len(outs)]) and all(s in (0, 1) for s in inner)
    numel = outs[0].numel
    cols = dims[-1] if dims else 1
    outer = dims[:-1]
    most = chunk_of(cost)
    block, blocks = pieces(cols, most)
    units = blocks * (numel // cols if cols else 0)
    chunk, chunks = pieces(units, max(1, most // block))
    each = [(offset, s[-1], s[:-1]) if s else (offset, 1, ()) for offset, s in zip(offsets, strides, strict=True)]
    numbers = {"cols": cols, "block": block, "blocks": blocks, "units": units, "chunk": chunk, "shape": outer}
    return LoopPlan("rows" if dense else "strided", inner[len(outs) :], chunks, each, numbers)


def across_short_rows(dims: Strides, strides: list[Strides]) -> tuple[Strides, list[Strides]]:
    """Return dims and strides with the last two dims exchanged, if a large operand has many short rows."""
    if len(dims) < 2 or dims[-1] > SHORT or dims[-2] < MANY or prod(dims) < LARGE:
        return dims, strides
    (exchanged, *others) = [(*sizes[:-2], sizes[-1], sizes[-2]) for sizes in (dims, *strides)]
    return exchanged, others


def dim_across(dims: Strides, strides: Sequence[Strides]) -> int | None:
    """Return the dim, other than the last, along which an operand is dense.

    Only operands that are not dense in the rows of the output count.  None: there is no such dim.
    """
    if strides[0][-1] != 1 or dims[-1] < STRIP:
        return None
    for s in strides[1:]:
        if s[-1] not in (0, 1):
            for d in range(len(dims) - 1):
                if s[d] in (1, -1) and dims[d] >= STRIP:
                    return d
    return None


def plan_tiles(
    dims: Strides, strides: Sequence[Strides], offsets: list[int], d: int, cost: int, copies: bool
) -> LoopPlan:
    """Return the plan of the loop over tiles. d: the dim that strips are cut from."""
    rows, cols = dims[d], dims[-1]
    tall = SQUARE if copies else STRIP
    outer = [k for k in range(len(dims) - 1) if k != d]
    strips = -(-rows // tall)
    units = strips
    for k in outer:
        units *= dims[k]
    chunk, chunks = pieces(units, max(1, chunk_of(cost) // (tall * cols)))
    meet = not copies and any(s[-1] and s[-1] % MEETING == 0 for s in strides[1:])
    each = [(offset, s[d], s[-1], [s[k] for k in outer]) for offset, s in zip(offsets, strides, strict=True)]
    numbers = {
        "rows": rows, "cols": cols, "strips": strips, "units": units, "chunk": chunk, "tall": tall, "wide": TILE[meet],
        "shape": [dims[k] for k in outer],
    }  # fmt: skip
    return LoopPlan("tiled", tuple(s[-1] for s in strides[1:]), chunks, each, numbers)
