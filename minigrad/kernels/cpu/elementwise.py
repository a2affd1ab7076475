"""Elementwise loops over any number of operands: a dense run, a nest around runs, and tiles.

The nest has any rank, and may have several results.  Free names, filled in by `specialize`: `F` is the op's scalar
function.  `LOAD_K` and `STORE` are the conversions between memory and registers.  `STEP_K` is a pasted 0 or 1.  `RUN_K`
is the run of an operand, and `AT_K` an element of it.  An operand that is a result itself has the name of the result:
as two arrays, these might overlap, and the loop would not vectorise.  `EVALUATIONS` is the number of elements to
compute in a run.  It is 1 if all operands have step 0; the first element is then REPEATED.  A LOOSE nest has other
steps, which it reads at run time.

LLVM would otherwise compile the loop once for each combination of such conditions, which took 29 s for frexp.  A line
that assigns to `_K` is repeated for each operand, and a line that assigns to `_R` for each result.  A line that assigns
`...` is removed.  Strides and offsets are in elements; those of the RESULTS come first.  Chunks depend only on the
shape, so the number of threads cannot change a result.
"""

# ruff: noqa: F821, F841
from __future__ import annotations

import numpy as np

from minigrad.kernels.cpu.target import square_header
from minigrad.kernels.fields import Fields, loop


def clear(x, at, n):  # type: ignore[no-untyped-def]
    """Set n elements to zero, from x[at] on."""
    for k in range(at, at + n):
        x[np.uint64(k)] = T(0)


def transpose_copy(x, at, step, deep, z, to, pitch, one, wide, long):  # type: ignore[no-untyped-def]
    """z[to + i * pitch + j * one] = x[at + j * step + i * deep] for j < wide, i < long.

    If both sides have dense rows, squares are transposed in registers; the last square overlaps the previous one.
    """
    if deep == 1 and one == 1 and wide >= SIDE and long >= SIDE:
        for p in range(0, long, SIDE):
            i = min(p, long - SIDE)
            for q in range(0, wide, SIDE):
                j = min(q, wide - SIDE)
                transpose(x, at + j * step + i, step, z, to + i * pitch + j, pitch)
    else:
        # The indices are unsigned, because a signed index is tested for wrapping around at each element.
        for j in range(wide):
            for i in range(long):
                z[np.uint64(to + i * pitch + j * one)] = x[np.uint64(at + j * step + i * deep)]


DENSE = Fields("n chunk", each="offset")


@loop(DENSE)
def dense(in_K, out, N):  # type: ignore[no-untyped-def]
    """Compute a run of n elements.  A task is a chunk of the run."""
    n, chunk = N.n, N.chunk
    for c in range(first, last):
        lo = c * chunk
        count = min(chunk, n - lo)
        # Slices, because their index is the loop variable, which needs no wrap-around test: the loop vectorises.
        z = out[N.offset[0] + lo : N.offset[0] + lo + count]
        x_K = RUN_K
        for i in range(EVALUATIONS):
            z[i] = STORE(F(LOAD_K(x_K[i * STEP_K])))
        if REPEATED:
            z[1:count] = z[0]


NEST = Fields("rank cols block blocks units chunk", "shape[rank]", "offset step strides[rank]")


@loop(NEST)
def nest(in_K, out_R, N):  # type: ignore[no-untyped-def]
    """Compute rows of `cols` elements at any strides, for one or several results.

    A unit is one block of a row.  A task is a chunk of units.
    """
    rank, cols, block, blocks, units, chunk = N.rank, N.cols, N.block, N.blocks, N.units, N.chunk
    if LOOSE:
        far_R = N.step[R]
        step_K = N.step[K + RESULTS]
    index = workspace(rank, np.int64)
    for c in range(first, last):
        lo = c * chunk
        hi = min(units, lo + chunk)
        position = lo // blocks
        part = lo - position * blocks
        to_R = N.offset[R]
        at_K = N.offset[K + RESULTS]
        for d in range(rank - 1, -1, -1):
            index[d] = position % N.shape[d]
            position //= N.shape[d]
            to_R += index[d] * N.strides[R][d]
            at_K += index[d] * N.strides[K + RESULTS][d]
        # The index and strides of the last outer dim are in registers: a result might be the memory of the numbers.
        row = 0
        rows = 0
        next_R = 0
        along_K = 0
        if rank > 0:
            d = rank - 1
            row = index[d]
            rows = N.shape[d]
            next_R = N.strides[R][d]
            along_K = N.strides[K + RESULTS][d]
        for _unit in range(lo, hi):
            # With pasted inner steps of 0 or 1, positions are unsigned: a signed index is tested for wrapping around.
            # With other steps, each position is computed.
            start = part * block
            count = min(block, cols - start)
            # All operands are read before a result is written, because they may use the same memory.
            if LOOSE:
                for i in range(count):
                    F(LOAD_K(AT_K), out_R[np.uint64(to_R + (start + i) * far_R)])
            else:
                z_R = np.uint64(to_R + start)
                x_K = RUN_K
                for i in range(np.uint64(EVALUATIONS)):
                    F(LOAD_K(AT_K), out_R[z_R + i])
                if REPEATED:
                    out_R[z_R + np.uint64(1) : z_R + np.uint64(count)] = out_R[z_R]
            part += 1
            if part == blocks:
                part = 0
                row += 1
                to_R += next_R
                at_K += along_K
                if row == rows:
                    # Count like an odometer: a carry per row is cheaper than a division per row.
                    row = 0
                    to_R -= next_R * rows
                    at_K -= along_K * rows
                    d = rank - 2
                    while d >= 0:
                        index[d] += 1
                        to_R += N.strides[R][d]
                        at_K += N.strides[K + RESULTS][d]
                        if index[d] < N.shape[d]:
                            break
                        index[d] = 0
                        to_R -= N.strides[R][d] * N.shape[d]
                        at_K -= N.strides[K + RESULTS][d] * N.shape[d]
                        d -= 1
    leave(index)


TILED = Fields("rank rows cols strips units chunk tall wide", "shape[rank]", "offset row col strides[rank]")


@loop(TILED)
def tiled(in_K, out, N):  # type: ignore[no-untyped-def]
    """Compute rows of an operand that is dense across the rows.

    A unit is a strip of `tall` rows; a task is a chunk of units.  The operand is read in tiles of `wide` columns, so
    that each of its cache lines is used `tall` times while it is in the cache.
    """
    rows, cols, wide, row = N.rows, N.cols, N.wide, N.row[0]
    row_K = N.row[K + 1]
    col_K = N.col[K + 1]
    for c in range(first, last):
        for unit in range(c * N.chunk, min(N.units, (c + 1) * N.chunk)):
            position = unit // N.strips
            top = (unit - position * N.strips) * N.tall
            at = N.offset[0] + top * row
            at_K = N.offset[K + 1] + top * row_K
            walk(position, N.shape, at=N.strides[0], at_K=N.strides[K + 1])
            for left in range(0, cols, wide):
                count = min(wide, cols - left)
                for i in range(min(N.tall, rows - top)):
                    z = out[at + i * row + left : at + i * row + left + count]
                    p_K = at_K + i * row_K + left * col_K
                    for j in range(count):
                        # The index is unsigned, because a signed index is tested for wrapping around at each element.
                        z[j] = STORE(F(LOAD_K(in_K[np.uint64(p_K + j * col_K)])))


@loop(TILED, helpers=(transpose_copy,), imports=lambda words, dtype, functions: square_header(dtype))
def tiled_copy(in_0, out, N):  # type: ignore[no-untyped-def]
    """Copy rows of an operand that is dense across the rows: the loop `tiled`, by squares that registers transpose.

    Every strip and tile with SIDE rows or columns before its end has at least SIDE, so that squares cover it.
    """
    rows, cols = N.rows, N.cols
    for c in range(first, last):
        for unit in range(c * N.chunk, min(N.units, (c + 1) * N.chunk)):
            position = unit // N.strips
            top = (unit - position * N.strips) * N.tall
            top = max(0, min(top, rows - SIDE))
            at = N.offset[0] + top * N.row[0]
            at_0 = N.offset[1] + top * N.row[1]
            walk(position, N.shape, at=N.strides[0], at_0=N.strides[1])
            long = min(N.tall, rows - top)
            for begin in range(0, cols, N.wide):
                left = max(0, min(begin, cols - SIDE))
                source = at_0 + left * N.col[1]
                count = min(N.wide, cols - left)
                transpose_copy(in_0, source, N.col[1], N.row[1], out, at + left, N.row[0], 1, count, long)
