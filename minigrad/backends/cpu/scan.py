"""Scans on the CPU: every partial result of a reduction along one dim, and running min/max with their positions.

A scan accumulates like its reduction.  Neighbouring rows are scanned in parallel.  Each addition of another row waits
for the previous one, so `scan_rows` computes four rows together.  If there are few long rows, they are divided into
blocks, provided that the scan declares how totals are combined; `carry` computes the totals of the blocks first.
Blocks depend only on the shape, so the number of threads changes no bit.

Free names: `F` is the op's scalar function of the accumulator and the operands' elements, and `COMBINE` that of two
accumulators.  `IDENTITY`, `LOAD_K` and `STORE` are as in `reduction.py`.  `AT_K` is an element of neighbouring rows, in
the slice `RUN_K` if the step is 1; in other rows `RUN` is a run of an array, and `ITEM` is the position of
an element in it, or in the array if the step is not 1.
"""

# ruff: noqa: F821, F841
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.texts import row_views
from minigrad.backends.shared import lines_of
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, float32, float64
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plan import pieces
from minigrad.core.reducer import Reducer
from minigrad.kernels.cpu.target import imported
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.macros import neutral_text, scalar_macro
from minigrad.kernels.pasting import Late, Macro

LANES = 32  # the totals of a block that are added at the same time

# A unit is a block of a row of n elements, a chunk is some units.  The groups are those of out and each operand.
ALONG = Fields("rows n block blocks chunk rank", "shape[rank]", "offset step strides[rank]")
# A unit is a block of neighbouring rows of n elements; col is the step between them.
COLUMNS = Fields("blocks block cols n rank", "shape[rank]", "offset step col strides[rank]")


@loop(ALONG)
def carry(in_K, out, N):  # type: ignore[no-untyped-def]
    """Compute the total of each block of each row.  out is dense and has the dtype of the accumulator."""
    n, step = N.n, N.step[1]
    acc = workspace(LANES, T)
    for u in range(first, last):
        rest = u // N.blocks
        start = (u - rest * N.blocks) * N.block
        length = min(N.block, n - start)
        at = N.offset[1] + start * step
        walk(rest, N.shape, at=N.strides[1])
        for j in range(LANES):
            acc[j] = IDENTITY
        for i in range(0, length, LANES):
            count = min(LANES, length - i)
            x = RUN(in_0, at, count)
            for j in range(count):
                acc[j] = T(F(acc[j], LOAD_0(x[ITEM(at, j, step)])))
            at += LANES * step
        joined = acc[0]
        for j in range(1, LANES):
            joined = T(COMBINE(joined, acc[j]))
        out[u] = joined
    leave(acc)


def begin(u, N, work, positions):  # type: ignore[no-untyped-def]
    """Return the first accumulator of unit u, and write its length and where it begins into `positions`.

    The length comes first, then the position in `out` and in each operand.
    """
    if u >= N.rows * N.blocks:
        positions[0] = 0
        return IDENTITY
    row = u // N.blocks
    start = (u - row * N.blocks) * N.block
    positions[0] = min(N.block, N.n - start)
    for k in range(OPERANDS + 1):
        rest = row
        at = N.offset[k] + start * N.step[k]
        walk(rest, N.shape, at=N.strides[k])
        positions[k + 1] = at
    acc = IDENTITY
    if N.blocks > 1:
        for k in range(u - start // N.block, u):
            acc = T(COMBINE(acc, work[k]))
    return acc


def finish(in_K, out, N, positions, start, acc):  # type: ignore[no-untyped-def]
    """Compute the elements of one unit from `start` on, one after the other."""
    z = N.step[0]
    s_K = N.step[K + 1]
    q = positions[1] + start * z
    p_K = positions[K + 2] + start * s_K
    for _ in range(start, positions[0]):
        acc = T(F(acc, LOAD_K(in_K[p_K])))
        out[q] = STORE(acc)
        q += z
        p_K += s_K


@loop(ALONG, helpers=(begin, finish))
def scan_rows(in_K, work, out, N):  # type: ignore[no-untyped-def]
    """Scan along memory, four units at a time; if a row has several units, `work` has their totals."""
    z = N.step[0]
    s_K = N.step[K + 1]
    units = N.rows * N.blocks
    acc = workspace(4, T)
    size = OPERANDS + 2
    positions = workspace(4 * size, np.int64)
    for t in range(first, last):
        stop = min(units, (t + 1) * N.chunk)
        for u in range(t * N.chunk, stop, 4):
            for k in range(4):
                acc[k] = begin(u + k if u + k < stop else units, N, work, positions[k * size :])
            common = min(min(positions[0], positions[size]), min(positions[2 * size], positions[3 * size]))
            a, b, c, d = acc[0], acc[1], acc[2], acc[3]
            qa, qb, qc, qd = positions[1], positions[size + 1], positions[2 * size + 1], positions[3 * size + 1]
            pa_K = positions[K + 2]
            pb_K = positions[size + K + 2]
            pc_K = positions[2 * size + K + 2]
            pd_K = positions[3 * size + K + 2]
            wa, wb, wc, wd = RUN(out, qa, common), RUN(out, qb, common), RUN(out, qc, common), RUN(out, qd, common)
            xa_K = RUN(in_K, pa_K, common)
            xb_K = RUN(in_K, pb_K, common)
            xc_K = RUN(in_K, pc_K, common)
            xd_K = RUN(in_K, pd_K, common)
            for i in range(common):
                a = T(F(a, LOAD_K(xa_K[ITEM(pa_K, i, s_K)])))
                b = T(F(b, LOAD_K(xb_K[ITEM(pb_K, i, s_K)])))
                c = T(F(c, LOAD_K(xc_K[ITEM(pc_K, i, s_K)])))
                d = T(F(d, LOAD_K(xd_K[ITEM(pd_K, i, s_K)])))
                wa[ITEM(qa, i, z)] = STORE(a)
                wb[ITEM(qb, i, z)] = STORE(b)
                wc[ITEM(qc, i, z)] = STORE(c)
                wd[ITEM(qd, i, z)] = STORE(d)
            acc[0], acc[1], acc[2], acc[3] = a, b, c, d
            for k in range(4):
                finish(in_K, out, N, positions[k * size :], common, acc[k])
    leave(acc, positions)


def prefix_lines(*others):  # type: ignore[no-untyped-def]
    """Return the lines that define `add_along`.

    Vectors have 4 lanes at most: a Zen 4 needs 3 times as long to shift the elements of 8 lanes.
    """
    lines = 'LANES = min(4, tile_shape("float64")[0])', "add_along = sums_along(LANES)"
    return imported("processor", "tile_shape") + imported(
        "lanes", "sums_along", *lines, beside=("tile.py", "emitting.py")
    )


@loop(ALONG, helpers=(begin, finish), imports=prefix_lines)
def sum_rows(in_K, work, out, N):  # type: ignore[no-untyped-def]
    """Compute running sums of floats along memory in vectors; the numbers are those of `scan_rows`."""
    positions = workspace(3, np.int64)
    for t in range(first, last):
        for u in range(t * N.chunk, min(N.rows * N.blocks, (t + 1) * N.chunk)):
            acc = begin(u, N, work, positions)
            even = positions[0] // LANES * LANES
            acc = add_along(in_0, positions[2], out, positions[1], even, acc)
            finish(in_K, out, N, positions, even, acc)
    leave(positions)


@loop(COLUMNS)
def scan_columns(in_K, out, N):  # type: ignore[no-untyped-def]
    """Scan rows that lie across memory: a block of rows, which are neighbours, is scanned together."""
    step_K = N.col[K + 1]
    acc = workspace(N.block, T)
    for unit in range(first, last):
        rest = unit // N.blocks
        col = (unit - rest * N.blocks) * N.block
        count = min(N.block, N.cols - col)
        q = N.offset[0] + col
        at_K = N.offset[K + 1] + col * step_K
        walk(rest, N.shape, q=N.strides[0], at_K=N.strides[K + 1])
        for j in range(count):
            acc[j] = IDENTITY
        for _ in range(N.n):
            y = out[q : q + count]
            x_K = RUN_K
            for j in range(count):
                held = T(F(acc[j], LOAD_K(AT_K)))
                acc[j] = held
                y[j] = STORE(held)
            q += N.step[0]
            at_K += N.step[K + 1]
    leave(acc)


@loop(ALONG)
def search_rows(in_K, out, N):  # type: ignore[no-untyped-def]
    """Write the best element of in_0 so far to in_1, and its position to out.  Blocks are whole rows.

    Most elements do not beat the best one.  So a vectorised loop first tests whether any element of a run does; only
    then the elements of the run are visited one by one.
    """
    n, z = N.n, N.step[0]
    s_K = N.step[K + 1]
    for t in range(first, last):
        for u in range(t * N.chunk, min(N.rows, (t + 1) * N.chunk)):
            rest = u
            q = N.offset[0]
            p_K = N.offset[K + 1]
            walk(rest, N.shape, q=N.strides[0], p_K=N.strides[K + 1])
            top = in_0[p_0]
            best = LOAD_0(top)
            winner = 0
            for i in range(0, n, 16):
                count = min(16, n - i)
                x_K = RUN(in_K, p_K, count)
                y = RUN(out, q, count)
                hits = 0
                for j in range(count):
                    hits += 1 if F(best, LOAD_0(x_0[ITEM(p_0, j, s_0)])) else 0
                if hits > 0:
                    for j in range(count):
                        value = LOAD_0(x_0[ITEM(p_0, j, s_0)])
                        if F(best, value):
                            best = value
                            top = x_0[ITEM(p_0, j, s_0)]
                            winner = i + j
                        x_1[ITEM(p_1, j, s_1)] = top
                        y[ITEM(q, j, z)] = winner
                else:
                    for j in range(count):
                        x_1[ITEM(p_1, j, s_1)] = top
                        y[ITEM(q, j, z)] = winner
                p_K += 16 * s_K
                q += 16 * z


@loop(COLUMNS)
def search_columns(in_K, out, N):  # type: ignore[no-untyped-def]
    """Write the best elements of in_0 so far to in_1, and their positions to out, for neighbouring rows."""
    step_K = N.col[K + 1]
    best = workspace(N.block, ELEMENT)
    winner = workspace(N.block, np.int64)
    for unit in range(first, last):
        rest = unit // N.blocks
        col = (unit - rest * N.blocks) * N.block
        count = min(N.block, N.cols - col)
        q = N.offset[0] + col
        at_K = N.offset[K + 1] + col * step_K
        walk(rest, N.shape, q=N.strides[0], at_K=N.strides[K + 1])
        x_K = RUN_K
        for j in range(count):
            best[j] = AT_0
            winner[j] = 0
        for i in range(N.n):
            y = out[q : q + count]
            x_K = RUN_K
            for j in range(count):
                value = AT_0
                held = best[j]
                wins = F(LOAD_0(held), LOAD_0(value))
                top = value if wins else held
                chosen = i if wins else winner[j]
                best[j] = top
                winner[j] = chosen
                AT_1 = top
                y[j] = chosen
            q += N.step[0]
            at_K += N.step[K + 1]
    leave(best, winner)


WIDE = 128  # number of neighbouring rows that one block scans together
NARROW = 8  # with fewer neighbouring rows, each row is a separate chain of additions
SUMMED = 1 << 16  # minimum length of rows that are cut, if running sums are computed in vectors
FEW = 16  # with fewer rows than this, long rows are cut into blocks, so that all threads have work
BLOCK = 4096  # elements per block of a long row
BLOCKS = 256  # maximum number of blocks, because each block adds the totals of all earlier blocks


@serves(CpuBackend, requests.Scan)
def accumulate(steps: CpuSteps, request: requests.Scan) -> None:
    (out,), operands = steps.outs, steps.operands
    reducer, compute, dim = request.reducer, request.compute, request.dim
    dense = all(x.layout.strides[dim] == 1 for x in (out, *operands))
    floats = all(x.dtype in (float32, float64) for x in (out, *operands))
    summed = dense and reducer.adds and compute == np.float64 and floats
    shortest = SUMMED if summed else 2 * BLOCK if reducer.combine is not None and len(operands) == 1 else 0
    across, numbers, units = scan_numbers(out, operands, dim, shortest)
    numbers |= {"compute": compute, "cost": reducer.scalar.cost}
    name = reducer.scalar.name
    if across:
        form = f"{name}_{across}"
        words = Late(scan_words, (reducer, compute, len(operands), across))
        steps.run(scan_columns, *operands, out, words=words, form=form, **numbers)
        return
    work, dtype = out, as_dtype(compute)
    if units:
        work, one = steps.work((units,), dtype), operands[0].layout.strides[dim] == 1
        words = Late(scan_words, (reducer, compute, 1, one))
        steps.run(carry, *operands, work, words=words, form=name + "1" * one, **{**numbers, "tasks": units})
    dtypes = (*[x.dtype for x in operands], dtype, out.dtype)  # `work` is any memory if no row is cut
    words = Late(scan_words, (reducer, compute, len(operands), dense))
    template = sum_rows if summed else scan_rows
    steps.run(template, *operands, work, out, words=words, form=name + "1" * dense, dtypes=dtypes, **numbers)


@serves(CpuBackend, requests.RunningExtreme)
def running_extreme(steps: CpuSteps, request: requests.RunningExtreme) -> None:
    (*wanted, positions), (a,), better, dim = steps.outs, steps.operands, request.better, request.dim
    values = wanted[0] if wanted else steps.work(a.shape, a.dtype)
    across, numbers, _ = scan_numbers(positions, (a, values), dim)
    dense = all(x.layout.strides[dim] == 1 for x in (positions, a, values))
    template, form = (search_columns, "_" + across) if across else (search_rows, "1" * dense)
    numbers |= {"words": Late(search_words, (better, a.dtype, across or dense)), "compute": a.dtype.compute}
    steps.run(template, a, values, positions, form=better.name + form, **numbers)


def scan_numbers(out: Spec, operands: Sequence[Spec], dim: int, shortest: int = 0) -> tuple[str, dict[str, Any], int]:
    """Return (dense, tasks and numbers, blocks) of a scan.

    dense: if neighbouring rows are scanned together, for each operand "1" if its stride between the rows is 1,
    otherwise "s"; "" for rows that are scanned one by one.
    blocks: the number of blocks into which each row is divided; 0 for whole rows.  Rows of `shortest` elements and more
    are divided if there are few; 0 for none.
    """
    n, (dims, groups) = out.shape[dim], lines_of((out, *operands), dim, out.shape)
    _, step, moves = groups[0]
    if dims and dims[-1] >= NARROW and moves[-1] == 1 and abs(step) != 1:
        block, blocks = pieces(dims[-1], WIDE)
        units = blocks * prod(dims[:-1])
        numbers = {
            "tasks": units, "each": [(offset, step, s[-1], s[:-1]) for offset, step, s in groups], "blocks": blocks,
            "block": block, "cols": dims[-1], "n": n, "shape": dims[:-1],
        }  # fmt: skip
        return "".join("1" if s[-1] == 1 else "s" for *_, s in groups[1:]), numbers, 0
    rows = prod(dims)
    block, blocks = pieces(n, max(BLOCK, n // BLOCKS)) if shortest and rows < FEW and n >= shortest else (n, 1)
    # Four chains run together, so the units of a task are a multiple of four.
    chunk = max(4, CHUNK // block // 4 * 4)
    numbers = {
        "tasks": -(-rows * blocks // chunk), "each": groups, "rows": rows, "n": n, "block": block, "blocks": blocks,
        "chunk": chunk, "shape": dims,
    }  # fmt: skip
    return "", numbers, rows * blocks if blocks > 1 else 0


def scan_words(reducer: Reducer, compute: np.dtype[Any], operands: int, dense: bool | str) -> dict[str, Any]:
    """Return the words of the loops of a scan, and of the loop over the totals of its blocks. dense: as for `views`.

    A scan that may not be cut has only one accumulator.
    """
    identity = neutral_text(reducer.identity, compute)
    words = {"F": reducer.scalar, "COMBINE": reducer.combine or "{0}", "IDENTITY": identity}
    return words | {"OPERANDS": operands} | views(dense)


def search_words(better: ScalarFn, a: DType, dense: bool | str) -> dict[str, Any]:
    """Return the words of the scan of running minima or maxima and their positions. dense: as for `views`."""
    macro = Macro(scalar_macro(better, a.compute, condition=True))
    return {"F": macro, "ELEMENT": "np.bool_" if a.kind == "bool" else f"np.{a.storage}"} | views(dense)


def views(dense: bool | str) -> dict[str, str]:
    """Return the words that index elements.

    dense: for rows that are scanned one by one, whether all rows have step 1.  For neighbouring rows that are scanned
    together, the result of `scan_numbers`.
    """
    if isinstance(dense, str):
        return row_views(dense, "x", "count")
    # A run with step 1 is indexed through a slice; otherwise the loop would not be vectorised.
    if dense:
        return {"RUN": "{0}[{1} : {1} + {2}]", "ITEM": "{1}"}
    return {"RUN": "{0}", "ITEM": "np.uint64({0} + {1} * {2})"}
