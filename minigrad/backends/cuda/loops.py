"""The loops of elementwise kernels on a grid: a choice of layout class, the width of loads, scalar arguments by name.

DENSE is one run with steps of 0 or 1, ROWS are rows of such runs, NEST is any other layout; a transposed copy runs by
TILES.  Positions either fit in 32 bits, and are then split without a division, or need 64 bits.
`backends/cpu/loops.py` is the equivalent for threads of a processor.
"""

# mypy: disable-error-code="name-defined, no-untyped-def"
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.cuda.runtime import THREADS, WARP, WIDEST, Size
from minigrad.core.layout import Layout
from minigrad.core.plan import walk

AHEAD = 4  # elements of a row that a thread processes in turn if it cannot load neighbours together
SHORT = 32  # minimum number of columns for reading along rows: the accesses of a warp are then neighbours
HIGH = 8  # number of rows of 32 threads that load a tile together
LEAST, TURNED = 16, 1024  # minimum number of elements of both dims, and of a plane, for transposing through tiles
WORD = 4  # bytes that a lane transposes together if elements are smaller
COUNT_32, OFFSET_32 = 1 << 31, 1 << 32  # the limits of `divide` and of 32-bit offsets
ROWS_OF_GRID = 65535  # maximum number of blocks along y


@dataclass(frozen=True, slots=True, eq=False)
class LoopPlan:
    """Store the plan of an elementwise loop.

    kind: "dense", "rows", "tiles" or "nest".
    steps: the inner stride of each operand, for "dense" and "rows".
    width: the number of elements that a thread loads together.
    rank: the number of indices, one per dim, into which a linear index is converted.
    long: whether linear indices require 64 bits.
    units: the number of threads with work along x.
    block: the shape of a thread block.
    high: the number of blocks along y.
    groups, numbers: the numbers of the loop, for `CudaSteps.run`.
    """

    kind: str
    steps: tuple[int, ...]
    width: int
    rank: int
    long: bool
    units: int
    block: Size
    high: int
    groups: Sequence[Any]
    numbers: dict[str, Any]


def plan_elementwise(out: Layout, operands: Sequence[Layout], sizes: Sequence[int]) -> LoopPlan:
    """Return the plan of an elementwise loop.  Every operand must have the shape of `out`.

    sizes: the bytes per element of `out` and of the operands.
    """
    dims, strides, offsets = walk([out, *operands])
    inner = tuple(s[-1] if s else 1 for s in strides)
    cols = dims[-1] if dims else 1
    unit_steps = inner[0] == 1 and all(s in (0, 1) for s in inner)
    if len(dims) <= 1 and unit_steps:
        width = width_of(sizes, inner, [offsets])
        numbers = {"n": cols, "whole": cols // width if width > 1 else 0}
        groups = [(offset,) for offset in offsets]
        return LoopPlan("dense", inner[1:], width, 0, False, -(-cols // width), (THREADS, 1, 1), 1, groups, numbers)
    rows = prod(dims[:-1])
    long = is_long([out, *operands])
    if unit_steps and cols >= SHORT:
        width = width_of(sizes, inner, [offsets, [cols] * len(inner), *zip(*[s[:-1] for s in strides], strict=True)])
        units = -(-cols // width)
        # Use fewer threads than columns, so that each thread has at least AHEAD elements.
        if width == 1 and cols >= WARP * AHEAD:
            across = min(THREADS, 1 << (cols // AHEAD).bit_length() - 1)
            units = cols // AHEAD // across * across
        block, high = block_of(units, rows)
        each = list(zip(offsets, [s[:-1] for s in strides], strict=True))
        numbers = {"rows": rows, "cols": cols, **divisors(dims[:-1])}
        return LoopPlan("rows", inner[1:], width, len(dims) - 1, long, units, block, high, each, numbers)
    return plan_nest([out], operands)


def plan_nest(outs: Sequence[Layout], operands: Sequence[Layout]) -> LoopPlan:
    """Return the plan of a loop for any order of memory and any number of results.

    Neighbouring threads process neighbours of the first result.
    """
    layouts, numel = [*outs, *operands], outs[0].numel
    dims, strides, offsets = walk(layouts)
    groups, numbers = list(zip(offsets, strides, strict=True)), {"rows": numel, "cols": 1, **divisors(dims)}
    return LoopPlan("nest", (), 1, len(dims), is_long(layouts), numel, (THREADS, 1, 1), 1, groups, numbers)


def is_long(layouts: Sequence[Layout]) -> bool:
    """Return whether positions need 64 bits."""
    return layouts[0].numel >= COUNT_32 or any(layout.span()[1] >= OFFSET_32 for layout in layouts)


def plan_turned(out: Layout, a: Layout, sizes: Sequence[int]) -> LoopPlan | None:
    """Return the plan of a transposed copy, by tiles of the dims in which operand and result have the smallest stride.

    None is returned if the copy is not transposed, or if there are too few elements for tiles to save time.
    """
    dims, strides, offsets = walk([out, a])
    moving = [d for d in range(len(dims)) if strides[1][d]]
    near = min(moving, key=lambda d: (abs(strides[1][d]), -d), default=-1)
    rest = [d for d in range(len(dims) - 1) if d != near]
    if near in (-1, len(dims) - 1) or not strides[1][-1]:
        return None
    rows, cols = dims[near], dims[-1]
    if min(rows, cols) < LEAST or rows * cols < TURNED:
        return None
    steps = ((strides[0][-1], strides[0][near]), (strides[1][near], strides[1][-1]))
    others = [[s[d] for d in rest] for s in strides]
    multiples = [rows, cols, *offsets, *[far for _, far in steps], *[n for s in others for n in s]]
    width = max(1, WORD // max(sizes)) if all(step == 1 for step, _ in steps) else 1
    while width > 1 and any(n % width for n in multiples):
        width //= 2
    down, across = -(-rows // (WARP * width)), -(-cols // (WARP * width))
    tasks = down * across * prod(dims[d] for d in rest)
    groups = [(offset, *pair, other) for offset, pair, other in zip(offsets, steps, others, strict=True)]
    shape = [dims[d] for d in rest]
    numbers = {"tasks": tasks, "down": down, "across": across, "rows": rows, "cols": cols, "shape": shape}
    return LoopPlan("tiles", (), width, len(rest), False, tasks * WARP, (WARP, HIGH, 1), 1, groups, numbers)


def width_of(sizes: Sequence[int], steps: Sequence[int], multiples: Sequence[Sequence[int]]) -> int:
    """Return how many elements a thread loads or stores together.

    The search starts with the number of elements, of the largest dtype, in one load instruction.  This number is halved
    until, for every thread, each operand that is not constant along a row begins at a multiple of the number.
    """
    width = WIDEST // max(size for size, step in zip(sizes, steps, strict=True) if step)
    moving = [k for k, step in enumerate(steps) if step]
    while width > 1 and any(numbers[k] % width for numbers in multiples for k in moving):
        width //= 2
    return width


def block_of(units: int, rows: int) -> tuple[Size, int]:
    """Return the block of threads for rows of `units` units of work, and the number of blocks for all rows."""
    across = min(THREADS, 1 << (units - 1).bit_length())
    return (across, THREADS // across, 1), -(-rows // (THREADS // across))


def divisors(dims: Sequence[int]) -> dict[str, Any]:
    """Return the lists of numbers that split a row-major position into indices."""
    magic, shift = zip(*map(magic_of, dims), strict=True) if dims else ((), ())
    return {"shape": dims, "magic": magic, "shift": shift}


def magic_of(d: int) -> tuple[int, int]:
    """Return the multiplier and the shift by which `divide` divides by d.

    They have no meaning for a d that is not used as a 32-bit divisor.
    """
    shift = (d - 1).bit_length()
    return ((((1 << 32) * ((1 << shift) - d)) // d + 1) & 0xFFFFFFFF, shift)


def divide(n, magic, shift):
    """Return n // d for n below 2**31.

    magic, shift: the two numbers that belong to d.  Source: T. Granlund, P. L. Montgomery, "Division by invariant
    integers using multiplication", PLDI 1994, figure 4.1.
    """
    high = np.uint32((np.uint64(n) * np.uint64(magic)) >> np.uint64(32))
    return np.uint32(np.uint32(high + n) >> np.uint32(shift))


def position_words(long: bool) -> dict[str, Any]:
    """Return the words of positions, which need 32 bits or, if `long`, 64."""
    return {
        "WORD": "np.int64({0})" if long else "np.uint32({0})", "DIVISORS": "N.shape" if long else "N.magic",
        **({} if long else {"divide": divide}),
    }  # fmt: skip
