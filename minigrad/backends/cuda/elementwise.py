"""Elementwise loops on CUDA: a dense run, dense rows, arbitrary strides, and tiles.

The plans are in `loops.py`.  A copy is one of these loops, by its lowering; if its operand is transposed, it runs by
tiles.  Any number of operands is possible, except in tiles.

Free names: `F` is the op's scalar function.  `LOAD_K` and `STORE` are the conversions between memory and registers;
`value` calls all three.  With `WIDE`, a thread computes WIDTH neighbours together: `RUN_K` reads them by one load of up
to 128 bits, or is the one element of an operand with step 0.  `AT_K` is the J-th of them, `ALL` writes its
argument once for each of them, and `PUT` stores them.  Otherwise a thread computes four elements of a row at
distances of `step`, so that four loads of each operand are in flight.  `WORD` is the type of positions, and the list
`DIVISORS` splits a position into indices.  `TURN`, a line of its own, writes WIDTH x WIDTH elements to shared memory as
columns, and `TAKE` reads WIDTH of them there.

Every loop continues in strides of the grid, so any size of grid is correct.  Strides and offsets are in elements; those
of `out` come first.
"""

# mypy: disable-error-code="name-defined, no-untyped-def"
from __future__ import annotations

import ast
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda import loops
from minigrad.backends.cuda.family import CudaBackend, CudaSteps, by
from minigrad.backends.cuda.loops import AHEAD, HIGH
from minigrad.backends.cuda.runtime import THREADS, WARP
from minigrad.backends.lowering.functions import IDENTITY, NONZERO
from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.core.op import ScalarFn
from minigrad.kernels.cpu.target import element
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.macros import lanes_macro, scalar_macro, stores_macro
from minigrad.kernels.pasting import LEFT_OUT, Expand, Late, Macro
from minigrad.kernels.specialize import store_text

ROUNDS = WARP // HIGH  # in which the threads of a block load a tile
MOVES = (IDENTITY, NONZERO)  # copies and casts, for which the detour through shared memory saves time
RESIDENT = {1: 6, 2: 5, 4: 4}  # by elements per word: the number of blocks for which a multiprocessor has registers


def value(in_K):
    """Return one element of the result."""
    return STORE(F(LOAD_K(in_K)))


@loop(Fields("n whole", each="offset"))
def dense(in_K, out, N):
    """Compute a run of n elements: `whole` groups of WIDTH, then the others."""
    first = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    step = np.int64(cuda.gridDim.x) * cuda.blockDim.x
    base = N.offset[0]
    base_K = N.offset[K + 1]
    if WIDE:
        group = first
        while group < N.whole:
            at = group * WIDTH
            x_K = RUN_K
            PUT(out, base + at, ALL(value(AT_K)))
            group += step
    i = first + N.whole * WIDTH
    while i < N.n:
        out[base + i] = value(in_K[base_K + i * STEP_K])
        i += step


# those of `rows` and `nest`
ROWS = Fields("rows cols", "shape[rank] magic[rank] shift[rank]", "offset strides[rank]")


@loop(ROWS)
def rows(in_K, out, N):
    """Compute rows of cols elements: a thread computes WIDTH neighbours of a row, a block `blockDim.y` rows."""
    row = np.int64(cuda.blockIdx.y) * cuda.blockDim.y + cuda.threadIdx.y
    first = (np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x) * WIDTH
    step = np.int64(cuda.gridDim.x) * cuda.blockDim.x * WIDTH
    while row < N.rows:
        position = WORD(row)
        base = WORD(N.offset[0])
        base_K = WORD(N.offset[K + 1])
        walk(position, DIVISORS, base=N.strides[0], base_K=N.strides[K + 1])
        at = first
        if WIDE:
            while at < N.cols:
                x_K = RUN_K
                PUT(out, base + at, ALL(value(AT_K)))
                at += step
        else:
            while at + 3 * step < N.cols:
                x_K = RUN_K
                y = ALL(value(AT_K))
                out[base + at] = y[0]
                out[base + at + step] = y[1]
                out[base + at + 2 * step] = y[2]
                out[base + at + 3 * step] = y[3]
                at += 4 * step
            while at < N.cols:
                out[base + at] = value(in_K[base_K + at * STEP_K])
                at += step
        row += np.int64(cuda.gridDim.y) * cuda.blockDim.y


@loop(ROWS)
def nest(in_K, out_R, N):
    """Compute elements with arbitrary strides, for any number of results; a thread finds positions by division."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.rows:
        position = WORD(i)
        to_R = WORD(N.offset[R])
        at_K = WORD(N.offset[K + RESULTS])
        walk(position, DIVISORS, to_R=N.strides[R], at_K=N.strides[K + RESULTS])
        # All operands are read before a result is written, because they may use the same memory.
        F(LOAD_K(in_K[at_K]), out_R[to_R])
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


# near: the distance of neighbours in a row of the tile.  far: the distance of neighbours in a column.
TILES = Fields("tasks down across rows cols", "shape[rank]", "offset near far strides[rank]")


@loop(TILES, helpers=(value,))
def tiles(in_0, out, N):
    """Transpose tiles of SIDE x SIDE in shared memory, so that a warp both reads and writes neighbours.

    A row runs along the result, a column along the operand.  A word contains the elements of one row and WIDTH columns.
    The words of a column would be in the same bank of shared memory, so each row has its own order of words.
    """
    tile = cuda.shared.array(SIDE * SIDE, HELD, alignment=16)
    x = np.int32(cuda.threadIdx.x)
    y = np.int32(cuda.threadIdx.y)
    task = np.int64(cuda.blockIdx.x)
    while task < N.tasks:
        strip = task // N.across
        col = (task - strip * N.across) * SIDE
        rest = strip // N.down
        row = (strip - rest * N.down) * SIDE
        to = N.offset[0] + (row + y) * N.far[0] + (col + x * WIDTH) * N.near[0]
        # Beyond the end, the last word is read again, so that no load waits for a bounds check.
        at = N.offset[1] + min(row + x * WIDTH, N.rows - WIDTH) * N.near[1]
        walk(rest, N.shape, to=N.strides[0], at=N.strides[1])
        for e in range(ROUNDS):
            word = y + e * HIGH
            TURN(at + min(col + word * WIDTH, N.cols - WIDTH) * N.far[1], x, word)
        cuda.syncthreads()
        high = np.int32(min(N.rows - row, np.int64(SIDE)))
        if col + x * WIDTH < N.cols:
            for e in range(LINES):
                line = np.int32(y + e * HIGH)
                if line < high:
                    PUT(out, to, TAKE(tile, (line * 32 + (x ^ (line // WIDTH))) * WIDTH))
                to += HIGH * N.far[0]
        cuda.syncthreads()
        task += np.int64(cuda.gridDim.x)


@serves(CudaBackend, requests.Elementwise)
def apply(steps: CudaSteps, request: requests.Elementwise) -> None:
    outs, operands, scalar, compute = steps.outs, steps.operands, request.scalar, request.compute
    out, layouts, plan = outs[0].layout, [a.layout for a in operands], None
    dtypes = tuple([each.dtype for each in (*outs, *operands)])
    if scalar.results == 1:
        sizes = [dtype.itemsize for dtype in dtypes]
        plan = loops.plan_turned(out, layouts[0], sizes) if scalar in MOVES else None
        plan = plan or loops.plan_elementwise(out, layouts, sizes)
    if plan is None or plan.kind == "nest":
        plan = loops.plan_nest([y.layout for y in outs], layouts)
    template, words_of, facts = LOOPS[plan.kind]
    more = [getattr(plan, name) for name in facts]
    label = f"{plan.kind}{''.join(map(str, plan.steps))}{by(plan.width)}{'_long' * plan.long}"
    steps.run(
        template, *operands, *outs, words=Late(words_of, (scalar, compute, dtypes, *more)), compute=compute,
        form=f"{scalar.name}_{{}}_{label}", groups=plan.groups, **plan.numbers,
        grid=((steps.backend.blocks(plan.units, plan.block[0]), min(plan.high, loops.ROWS_OF_GRID), 1), plan.block),
    )  # fmt: skip


def run_words(
    scalar: ScalarFn, compute: np.dtype[Any], dtypes: tuple[DType, ...], kind: str, steps: tuple[int, ...], width: int,
    long: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return the words of `dense` and `rows`: the elements at a position, or some neighbours."""
    apart = kind == "rows" and width == 1  # whether a thread processes elements of a row that are not neighbours
    words: dict[str, Any] = {
        "F": Macro(scalar_macro(scalar, compute, CUDA, dtypes[0].kind == "bool")), "value": value, "WIDTH": width,
        "ALL": Macro(lanes_macro(AHEAD if apart else width)), "WIDE": width > 1, "PUT": f"store_{width}",
        **(loops.position_words(long) if kind == "rows" else {}),
    }  # fmt: skip
    for k, step in enumerate(steps):
        several = step and (width > 1 or apart)
        words |= {f"STEP_{k}": step, f"AT_{k}": f"x_{k}[J]" if several else f"x_{k}"}
        ahead = ", ".join(f"in_{k}[base_{k} + at + {j} * step]" for j in range(AHEAD))
        loads = f"({ahead})" if width == 1 else f"load_{width}(in_{k}, base_{k} + at)"
        words[f"RUN_{k}"] = LEFT_OUT if kind == "dense" and width == 1 else loads if several else f"in_{k}[base_{k}]"
    return words


def nest_words(scalar: ScalarFn, compute: np.dtype[Any], dtypes: tuple[DType, ...], long: bool) -> dict[str, Any]:
    """Return the words of `nest`."""
    outs = dtypes[: scalar.results]
    stores, conditions = [store_text(compute, y, CUDA, several=True)[0] for y in outs], [y.kind == "bool" for y in outs]
    step = stores_macro(scalar, compute, stores, conditions, CUDA)
    return {"F": Macro(step), "RESULTS": len(outs), **loops.position_words(long)}


def turn_words(
    scalar: ScalarFn, compute: np.dtype[Any], dtypes: tuple[DType, ...], width: int, rank: int
) -> dict[str, Any]:
    """Return the words of `tiles`, for a copy or a cast."""
    side, truth = WARP * width, dtypes[0].kind == "bool"
    return {
        "WIDTH": width, "SIDE": side, "LINES": side // HIGH,
        "F": Macro(scalar_macro(scalar, compute, CUDA, truth)), "TURN": Macro(turn_macro(width, rank)),
        "HELD": "np.uint8" if truth else f"np.{element(dtypes[0])}", "PUT": f"store_{width}", "TAKE": f"load_{width}",
        "imports": f"BLOCK = {THREADS, RESIDENT[width]}\n",
    }  # fmt: skip


# By class of layout: the loop, the function of its words, and the facts of the plan that these depend on.
LOOPS: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "dense": (dense, run_words, ("kind", "steps", "width", "long")), "nest": (nest, nest_words, ("long",)),
    "rows": (rows, run_words, ("kind", "steps", "width", "long")), "tiles": (tiles, turn_words, ("width", "rank")),
}  # fmt: skip


def turn_macro(width: int, rank: int) -> Expand:
    """Return the macro TURN(p, x, word), which transposes elements into words of the tile.

    The elements from p on, WIDTH along the operand and WIDTH along the result, become one word for each row.
    """
    far = f"numbers[{TILES.fixed({'rank': rank}).position('far', group='1')}]"

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        p, x, word = map(ast.unparse, args)
        lines = [f"at_word = {p}"]
        lines += [f"v{j} = load_{width}(in_0, at_word + {j} * {far})" for j in range(width)]
        for k in range(width):
            values = ", ".join(f"value(v{j}[{k}])" for j in range(width))
            lines.append(f"store_{width}(tile, (({x} * {width} + {k}) * 32 + ({word} ^ {x})) * {width}, ({values},))")
        return lines, ast.Constant(0)

    return expand
