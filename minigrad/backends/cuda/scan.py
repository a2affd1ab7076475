"""Scans on CUDA: every partial result of a reduction along one dim, and running min/max with their positions.

A scan accumulates like its reduction.  A group of `blockDim.x` lanes scans a row, or a block of a row, in tiles of EACH
neighbours per lane.  Each lane scans its own elements, then the lanes scan their totals, and the total is carried to
the next tile.  With `WIDE`, they are moved by one load and one store if possible.  One thread scans each row if rows
are side by side across memory, or if partial results must not be joined. If there are few long rows, they are cut into
blocks, which follow from the layouts alone, and a first launch computes the totals of the blocks: `work` has those of
the first blocks of all rows first.

Free names: `F` is a step of the scan from the accumulator and the operands' elements, or states whether x beats the
best element.  `COMBINE` joins two accumulators, the earlier one first, and `IDENTITY` is the first accumulator.
`LOAD_K` and `STORE` are the conversions.  `WIRE` and `RECEIVE`, `TAKE`, `PUT` and `ALL` are as in `reduction.py` and
`rows.py` of the kernels.
"""

# mypy: disable-error-code="name-defined, no-untyped-def"
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, CudaSteps, by
from minigrad.backends.cuda.reduction import spread_words
from minigrad.backends.cuda.reduction_plans import power_above
from minigrad.backends.cuda.runtime import THREADS, WARP, WIDEST
from minigrad.backends.shared import lines_of
from minigrad.backends.steps import Value
from minigrad.core import requests
from minigrad.core.dtype import as_dtype
from minigrad.core.op import Spec
from minigrad.core.reducer import Reducer
from minigrad.kernels.cuda.reduction import by_lanes, spread, wire
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.macros import lanes_macro, neutral_text, scalar_macro, step_macro
from minigrad.kernels.pasting import Late, Macro

EACH = 4  # elements per lane if they are not read by one load
SIDE_BY_SIDE = 512  # minimum number of neighbouring rows for one thread per row
FEW = 128  # with fewer rows, long rows are cut into blocks
BLOCK = 4096  # minimum number of elements per block of a row


# rows of n elements, in `blocks` blocks of up to `block` elements
SCAN = Fields("rows n block blocks", "shape[rank]", "offset step strides[rank]")


@loop(SCAN)
def chain(in_K, out, N):
    """Scan one element after the other; a thread scans one row."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.rows:
        rest = i
        to = N.offset[0]
        at_K = N.offset[K + 1]
        walk(rest, N.shape, to=N.strides[0], at_K=N.strides[K + 1])
        acc = IDENTITY
        j = np.int64(0)
        while j < N.n:
            acc = T(F(acc, LOAD_K(in_K[at_K])))
            out[to] = STORE(acc)
            to += N.step[0]
            at_K += N.step[K + 1]
            j += 1
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def before_lane(acc, carry):
    """Return the total before a lane, and the carry to the next tile.

    They are computed from the totals of the lanes in the group and the carry from the previous tile.
    """
    lane = cuda.threadIdx.x % 32
    lanes = min(cuda.blockDim.x, 32)
    step = 1
    while step < lanes:
        other = RECEIVE(cuda.shfl_up_sync(0xFFFFFFFF, WIRE(acc), step))
        if lane % lanes >= step:
            acc = T(COMBINE(other, acc))
        step *= 2
    earlier = RECEIVE(cuda.shfl_up_sync(0xFFFFFFFF, WIRE(acc), 1))
    if cuda.blockDim.x > 32:
        parts = cuda.shared.array(8, WIRE)
        cuda.syncthreads()
        if lane == 31:
            parts[cuda.threadIdx.x // 32] = WIRE(acc)
        cuda.syncthreads()
        mine = carry
        k = 0
        while k < cuda.blockDim.x // 32:
            if k == cuda.threadIdx.x // 32:
                mine = carry
            part = RECEIVE(parts[k])
            carry = T(COMBINE(carry, part))
            k += 1
        after = carry
    else:
        mine = carry
        last = RECEIVE(cuda.shfl_sync(0xFFFFFFFF, WIRE(acc), cuda.threadIdx.y * lanes % 32 + lanes - 1))
        after = T(COMBINE(carry, last))
    if lane % lanes > 0:
        mine = T(COMBINE(mine, earlier))
    return mine, after


@loop(SCAN, helpers=(before_lane,))
def tiles(in_0, work, out, N):
    """Scan rows in tiles; the scan of each block begins with the total of the blocks before it."""
    held = cuda.local.array(EACH, T)
    first = np.int64(cuda.blockIdx.x) * cuda.blockDim.y
    while first < N.rows * N.blocks:
        inside = first + cuda.threadIdx.y < N.rows * N.blocks
        unit = first + cuda.threadIdx.y if inside else np.int64(0)
        row = unit // N.blocks
        part = unit - row * N.blocks
        start = part * N.block
        length = min(N.block, N.n - start) if inside else np.int64(0)
        rest = row
        to = N.offset[0] + start * N.step[0]
        at = N.offset[1] + start * N.step[1]
        walk(rest, N.shape, to=N.strides[0], at=N.strides[1])
        carry = IDENTITY
        if CUT:
            if cuda.threadIdx.x < part:
                carry = work[cuda.threadIdx.x * N.rows + row]
            total = by_lanes(carry)
            carry = total[0]
        tile = np.int64(0)
        while tile < N.block:
            i = tile + cuda.threadIdx.x * EACH
            acc = IDENTITY
            if WIDE:
                if i + EACH <= length:
                    x = TAKE(in_0, at + i)
                    for k in each(EACH):
                        acc = T(F(acc, LOAD_0(x[k])))
                        held[k] = acc
                else:
                    for k in range(EACH):
                        if i + k < length:
                            acc = T(F(acc, LOAD_0(in_0[at + (i + k) * N.step[1]])))
                        held[k] = acc
            else:
                for k in range(EACH):
                    if i + k < length:
                        acc = T(F(acc, LOAD_0(in_0[at + (i + k) * N.step[1]])))
                    held[k] = acc
            acc = held[EACH - 1]
            mine, carry = before_lane(acc, carry)
            if WIDE:
                if i + EACH <= length:
                    for k in each(EACH):
                        z_k = STORE(T(COMBINE(mine, held[k])))
                    PUT(out, to + i, ALL(z_J))
                else:
                    for k in range(EACH):
                        if i + k < length:
                            out[to + (i + k) * N.step[0]] = STORE(T(COMBINE(mine, held[k])))
            else:
                for k in range(EACH):
                    if i + k < length:
                        out[to + (i + k) * N.step[0]] = STORE(T(COMBINE(mine, held[k])))
            tile += cuda.blockDim.x * EACH
        first += np.int64(cuda.gridDim.x) * cuda.blockDim.y


def later(winner, there, in_0, at, step):
    """Return the position of the better of two elements of a row.

    The second element comes later.  A position of -1 means that there is no element.
    """
    if there < 0:
        return winner
    if winner < 0:
        return there
    held = LOAD_0(in_0[at + winner * step])
    value = LOAD_0(in_0[at + there * step])
    return there if F(held, value) else winner


@loop(SCAN, words={"later": later})
def extremes(in_0, in_1, out, N):
    """Write the best elements of in_0 so far to in_1, and their positions to out; every row is one block."""
    held = cuda.local.array(EACH, np.int64)
    lane = cuda.threadIdx.x % 32
    lanes = min(cuda.blockDim.x, 32)
    parts = cuda.shared.array(8, np.int64)
    first = np.int64(cuda.blockIdx.x) * cuda.blockDim.y
    while first < N.rows:
        inside = first + cuda.threadIdx.y < N.rows
        rest = first + cuda.threadIdx.y if inside else np.int64(0)
        length = N.n if inside else np.int64(0)
        to, at, goal = N.offset[0], N.offset[1], N.offset[2]
        walk(rest, N.shape, to=N.strides[0], at=N.strides[1], goal=N.strides[2])
        carry = np.int64(-1)
        tile = np.int64(0)
        while tile < N.n:
            i = tile + cuda.threadIdx.x * EACH
            winner = np.int64(-1)
            for k in range(EACH):
                if i + k < length:
                    winner = later(winner, i + k, in_0, at, N.step[1])
                held[k] = winner
            step = 1
            while step < lanes:
                other = cuda.shfl_up_sync(0xFFFFFFFF, winner, step)
                if lane % lanes >= step:
                    winner = later(other, winner, in_0, at, N.step[1])
                step *= 2
            earlier = cuda.shfl_up_sync(0xFFFFFFFF, winner, 1)
            mine = carry
            if cuda.blockDim.x > 32:
                cuda.syncthreads()
                if lane == 31:
                    parts[cuda.threadIdx.x // 32] = winner
                cuda.syncthreads()
                k = 0
                while k < cuda.blockDim.x // 32:
                    if k == cuda.threadIdx.x // 32:
                        mine = carry
                    carry = later(carry, parts[k], in_0, at, N.step[1])
                    k += 1
            else:
                last = cuda.shfl_sync(0xFFFFFFFF, winner, cuda.threadIdx.y * lanes % 32 + lanes - 1)
                carry = later(carry, last, in_0, at, N.step[1])
            if lane % lanes > 0:
                mine = later(mine, earlier, in_0, at, N.step[1])
            for k in range(EACH):
                if i + k < length:
                    position = later(mine, held[k], in_0, at, N.step[1])
                    in_1[goal + (i + k) * N.step[2]] = in_0[at + position * N.step[1]]
                    out[to + (i + k) * N.step[0]] = position
            tile += cuda.blockDim.x * EACH
        first += np.int64(cuda.gridDim.x) * cuda.blockDim.y


@serves(CudaBackend, requests.Scan)
def accumulate(steps: CudaSteps, request: requests.Scan) -> None:
    (out,), operands = steps.outs, steps.operands
    reducer, compute, dim = request.reducer, request.compute, request.dim
    specs, identity = (out, *operands), neutral_text(reducer.identity, compute)
    dims, groups = lines_of(specs, dim, out.shape)
    rows, n, (_, step, moves) = prod(dims), out.shape[dim], groups[0]
    across = bool(dims) and moves[-1] == 1 and step != 1 and dims[-1] >= WARP and rows >= SIDE_BY_SIDE
    if across or reducer.combine is None or len(operands) > 1:
        steps.run(
            chain, *operands, out, words={"F": reducer.scalar, "IDENTITY": identity}, compute=compute, elements=rows,
            form=f"{reducer.scalar.name}_{{}}_chain", groups=groups, rows=rows, n=n, block=n, blocks=1, shape=dims,
        )  # fmt: skip
        return
    each, wide = neighbours(specs, groups)
    lanes, units = group_along(n, each, rows)
    block = n
    if rows < FEW and n >= 2 * BLOCK:
        block = -(-max(BLOCK, -(-n // THREADS)) // (THREADS * each)) * THREADS * each
    blocks = -(-n // block)
    work: Value | None = None
    if blocks > 1:
        work = steps.work((blocks, rows), as_dtype(compute))
        offset, step, steps_1 = groups[1]
        # Each block is one piece; the results of a block's rows are neighbours.
        to_steps = tuple(prod(dims[d + 1 :]) for d in range(len(dims)))
        steps.run(
            spread, *operands, work, words=Late(spread_words, (reducer, compute, operands[0].dtype, True, 1)),
            compute=compute, form=f"{reducer.scalar.name}_{{}}_totals", grid=((rows, blocks, 1), (THREADS, 1, 1)),
            groups=[(0, 0, to_steps, ()), (offset, step, steps_1, ())], outputs=rows, count=1, units=blocks, piece=1,
            rows=n, block=block, blocks=blocks, copy=rows, sizes=dims, reduced_sizes=(),
        )  # fmt: skip
    words = Late(tile_words, (reducer, compute, each, wide, blocks > 1))
    steps.run(
        tiles, *operands, work, out, words=words, compute=compute,
        form=f"{reducer.scalar.name}_{{}}_tiles{'_cut' * (blocks > 1)}{by(each) if wide else ''}",
        grid=((steps.backend.blocks(rows * blocks, units), 1, 1), (lanes, units, 1)), groups=groups, rows=rows, n=n,
        block=block, blocks=blocks, shape=dims,
    )  # fmt: skip


@serves(CudaBackend, requests.RunningExtreme)
def running_extreme(steps: CudaSteps, request: requests.RunningExtreme) -> None:
    (*wanted, positions), (a,), better, dim = steps.outs, steps.operands, request.better, request.dim
    values = wanted[0] if wanted else steps.work(a.shape, a.dtype)
    dims, groups = lines_of((positions, a, values), dim, positions.shape)
    n, rows = positions.shape[dim], prod(dims)
    lanes, units = group_along(n, EACH, rows)
    steps.run(
        extremes, a, values, positions, compute=a.dtype.compute,
        words={"F": Late(scalar_macro, (better, a.dtype.compute, CUDA, True))},
        form=f"{better.name}_{{}}_running", grid=((steps.backend.blocks(rows, units), 1, 1), (lanes, units, 1)),
        groups=groups, rows=rows, n=n, block=n, blocks=1, shape=dims,
    )  # fmt: skip


def group_along(n: int, each: int, rows: int) -> tuple[int, int]:
    """Return the number of lanes for a row, and of rows in a block."""
    lanes = min(power_above(-(-n // each)), WARP if n <= WARP * each * 4 else THREADS)
    return lanes, 1 if lanes > WARP else min(THREADS // lanes, power_above(rows))


def neighbours(specs: Sequence[Spec], groups: Sequence[tuple[int, int, tuple[int, ...]]]) -> tuple[int, bool]:
    """Return how many elements a lane processes together, and whether one load and one store move them."""
    each = WIDEST // max(x.dtype.itemsize for x in specs)
    fits = all(step == 1 and not any(p % each for p in (offset, *steps)) for offset, step, steps in groups)
    return (each, True) if fits and each > 1 else (EACH, False)


def tile_words(reducer: Reducer, compute: np.dtype[Any], each: int, wide: bool, cut: bool) -> dict[str, Any]:
    """Return the words of `tiles`. cut: rows are in blocks whose totals are already computed."""
    return wire(compute) | {
        "F": reducer.scalar, "COMBINE": Macro(step_macro(reducer.combine, compute, CUDA)), "EACH": each, "WIDE": wide,
        "IDENTITY": neutral_text(reducer.identity, compute), "TAKE": f"load_{each}", "PUT": f"store_{each}",
        "ALL": Macro(lanes_macro(each)), "CUT": cut, **({"by_lanes": by_lanes} if cut else {}),
    }  # fmt: skip
