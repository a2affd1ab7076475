"""Reductions of one operand: few elements, a whole run of memory, along memory, and across it.

`mapped.py` of the backend has the reductions of several operands, and those of elements in sequence, `positions.py` the
positions of min/max.

Free names, filled in by `specialize`: `F` is the op's scalar function and `IDENTITY` its neutral element.  `FINISH` is
the last step of a result before `STORE`.  `LOAD_0` and `STORE` are the conversions between memory and registers.
`STEP` is a pasted 1, or the step at run time.  `COMBINE` joins two accumulators of type `ACC`; both start with
`IDENTITY` and have reduced different elements.  `F` always receives an element, never an accumulator.  `BETTER` is the
larger or the smaller of two values; it returns the second one if the comparison is false.

Accumulators form a row that is combined at the end, so the loops vectorise although the compiler does not re-order
additions.  Rows are added by `add_rows` if SHORT, four at a time if EXTREME, otherwise row by row.  The forms
named `_whole` reduce neighbours in registers: sums and products in an order that the compiler chooses, min/max as
integers, for which the order does not matter.  The order is the same for any number of threads.
"""

from __future__ import annotations

import math

import numpy as np

from minigrad.kernels.fields import Fields, loop

TINY = Fields("outputs elements count", "to[outputs] at[outputs] far[elements]")
RUN = Fields("n cols width piece pieces offset to step count one")
# A group is one output or a row of up to `cols` outputs, a unit is some rows of its elements, a piece is some units,
# and a task is one piece for a chunk of groups.  copy: the distance between the results of two pieces.  count: the
# divisor of a mean.  one: 1, as a value that the compiler cannot fold.
WALK = Fields(
    "kept reduced groups chunk units piece pieces rows block blocks row_step cols col_block col_blocks col_step "
    "to_step offset to copy count one",
    "sizes[kept] steps[kept] to_steps[kept] reduced_sizes[reduced] reduced_steps[reduced]",
)


def stretch(x, at, n, acc, one):  # type: ignore[no-untyped-def]
    """Reduce the n neighbours from x[at] on into one accumulator.

    The compiler may re-order the additions, so the loop vectorises in registers.  The order depends only on the number
    of elements.

    A sum of converted elements multiplies them by `one`, whose value the compiler cannot see.  The reason is that
    conversions and separate additions use the same units of a processor, while an addition that is part of a product
    uses others.  A SHORT sum adds a few elements before it converts them; if that overflows, the sum is computed again
    without it.
    """
    if SHORT:
        total = short_sum(x, at, n)
        if math.isfinite(total):
            return ACC(acc + total)
    y = x[at : at + n]
    for j in range(len(y)):
        acc = ACC(F(acc, LOAD_0(y[j])))
    return acc


def order_key(x):  # type: ignore[no-untyped-def]
    """Return a float as an unsigned integer of the same order.

    The largest integer can be found in any order of comparisons, and so in vector registers.  The largest float cannot,
    because a comparison with nan is false.  As signed integers, nan values are beyond both infinities; adding SHIFT,
    with wrap-around, puts all of them at the end that wins.
    """
    bits = T(x).view(SIGNED)
    ordered = SIGNED(bits ^ SIGNED(SIGNED(bits >> SIGNED(BITS - 1)) & HIGHEST))
    return ACC(ACC(ordered) + SHIFT)


def from_order_key(key):  # type: ignore[no-untyped-def]
    """Return the float of an order key."""
    ordered = SIGNED(ACC(key - SHIFT))
    return SIGNED(ordered ^ SIGNED(SIGNED(ordered >> SIGNED(BITS - 1)) & HIGHEST)).view(T)


def best_of_four(acc, x, at, step):  # type: ignore[no-untyped-def]
    """Reduce four rows of a min or max together, without `F`, which handles nan for each element.

    A comparison that is false returns its second operand, so a nan in `acc` stays there.  The four rows are tested for
    nan.
    """
    x0 = x[at:]
    x1 = x[at + step :]
    x2 = x[at + 2 * step :]
    x3 = x[at + 3 * step :]
    for j in range(len(acc)):
        a = x0[j]
        a1 = x1[j]
        b = x2[j]
        b1 = x3[j]
        lost = (a != a) | (a1 != a1) | (b != b) | (b1 != b1)
        a = BETTER(a, a1)
        b = BETTER(b, b1)
        a = BETTER(a, b)
        a = BETTER(a, acc[j])
        acc[j] = T(np.nan) if lost else a


def all_finite(acc):  # type: ignore[no-untyped-def]
    """Return whether no sum has overflowed."""
    odd = False
    for j in range(len(acc)):
        odd |= not math.isfinite(acc[j])
    return not odd


@loop(TINY)
def tiny(in_K, out, N):  # type: ignore[no-untyped-def]
    """Reduce few elements, in one task.  This template has the shortest text, so it compiles fastest.

    to: the position of each output.  at: its first element.  far: the distance of each element from the first one.
    """
    outputs = N.outputs
    for o in range(outputs):
        at = N.at[o]
        acc = IDENTITY
        for i in range(N.elements):
            acc = ACC(F(acc, LOAD_0(in_0[at + N.far[i]])))
        out[N.to[o]] = STORE(FINISH(acc, N.count))


@loop(RUN)
def run(in_K, work, out, N):  # type: ignore[no-untyped-def]
    """Reduce a run of n elements, in which element i belongs to output i modulo cols.

    A task is a piece, which is reduced into `width` lanes.  If there are several pieces, `work` stores their lanes
    until the end.
    """
    n, cols, width = N.n, N.cols, N.width
    alone = N.pieces == 1
    lanes = workspace(width, T) if alone else work
    for p in range(first, last):
        acc = lanes[p * width : (p + 1) * width]
        stop = N.offset + min(n, (p + 1) * N.piece)
        for again in range(1 + SHORT):
            for j in range(width):
                acc[j] = IDENTITY
            at = N.offset + p * N.piece
            if SHORT:
                if again == 0:
                    add_rows(acc, in_0, at, width, (stop - at) // width)
                    at += (stop - at) // width * width
            if EXTREME:
                for _ in range((stop - at) // (4 * width)):
                    best_of_four(acc, in_0, at, width)
                    at += 4 * width
            for i in range(at, stop, width):
                x = in_0[i : min(i + width, stop)]
                for j in range(len(x)):
                    acc[j] = T(F(acc[j], LOAD_0(x[j])))
            if SHORT:
                if all_finite(acc):
                    break
    if alone or first == last:
        for k in range(cols, N.pieces * width, cols):
            for j in range(cols):
                lanes[j] = T(COMBINE(lanes[j], lanes[k + j]))
        for j in range(cols):
            out[N.to + j * N.step] = STORE(FINISH(lanes[j], N.count))
    if alone:
        leave(lanes)


@loop(RUN, helpers=(stretch,))
def run_whole(in_K, work, out, N):  # type: ignore[no-untyped-def]
    """Reduce a run of n elements to one output, with `stretch`; `work` stores the accumulator of each piece."""
    n = N.n
    total = IDENTITY
    for p in range(first, last):
        start = N.offset + p * N.piece
        total = stretch(in_0, start, min(n - p * N.piece, N.piece), IDENTITY, T(N.one))
        if N.pieces > 1:
            work[p] = total
    JOIN_PIECES()


def join_pieces():  # type: ignore[no-untyped-def]
    """Join the accumulators of the pieces at the end of a run, and store the result."""
    if first == last:
        total = work[0]
        for p in range(1, N.pieces):
            total = ACC(COMBINE(total, work[p]))
    if first == last or N.pieces == 1:
        out[N.to] = STORE(FINISH(total, N.count))


@loop(WALK, helpers=(stretch,))
def rows_whole(in_K, out, N):  # type: ignore[no-untyped-def]
    """Reduce one stretch of neighbours per output, with `stretch`."""
    kept, rows = N.kept, N.rows
    # Numbers that each row needs are read once: the compiler cannot know that a store to `out` does not change them.
    one = T(N.one)
    count = N.count
    step = N.steps[0] if kept > 0 else 0
    to_step = N.to_steps[0] if kept > 0 else 0
    for t in range(first, last):
        begin, begin_to = N.offset, N.to
        for g in range(t * N.chunk, min(N.groups, (t + 1) * N.chunk)):
            position = g
            base = begin
            to = begin_to
            # The outermost dim needs no division; a dense operand has no other dim.
            for d in range(kept - 1, 0, -1):
                index = position % N.sizes[d]
                position //= N.sizes[d]
                base += index * N.steps[d]
                to += index * N.to_steps[d]
            base += position * step
            to += position * to_step
            out[np.uint64(to)] = STORE(FINISH(stretch(in_0, base, rows, IDENTITY, one), count))


@loop(WALK, helpers=(stretch,))
def along_whole(in_K, out, N):  # type: ignore[no-untyped-def]
    """Reduce along memory, as `along`, for elements with a step of 1, with `stretch`."""
    rows, block = N.rows, N.block
    for t in range(first, last):
        c = t // N.pieces
        p = t - c * N.pieces
        for g in range(c * N.chunk, min(N.groups, (c + 1) * N.chunk)):
            position = g
            base = N.offset
            to = N.to + p * N.copy
            walk(position, N.sizes, base=N.steps, to=N.to_steps)
            total = IDENTITY
            for u in range(p * N.piece, min(N.units, (p + 1) * N.piece)):
                position = u // N.blocks
                start = (u - position * N.blocks) * block
                at = base + start
                walk(position, N.reduced_sizes, at=N.reduced_steps)
                total = stretch(in_0, at, min(block, rows - start), total, T(N.one))
            out[to] = STORE(FINISH(total, N.count))


@loop(WALK)
def along(in_K, out, N):  # type: ignore[no-untyped-def]
    """Reduce along memory.

    A group is one output; a unit is one block of one stretch that the output reduces.
    """
    rows, block, step = N.rows, N.block, N.row_step
    width = min(LANES, (block + 7) // 8 * 8)
    acc = workspace(LANES, T)
    for t in range(first, last):
        c = t // N.pieces
        p = t - c * N.pieces
        for g in range(c * N.chunk, min(N.groups, (c + 1) * N.chunk)):
            position = g
            base = N.offset
            to = N.to + p * N.copy
            walk(position, N.sizes, base=N.steps, to=N.to_steps)
            for j in range(width):
                acc[j] = IDENTITY
            for u in range(p * N.piece, min(N.units, (p + 1) * N.piece)):
                position = u // N.blocks
                start = (u - position * N.blocks) * block
                length = min(block, rows - start)
                at = base + start * step
                walk(position, N.reduced_sizes, at=N.reduced_steps)
                for i in range(0, length, width):
                    x = in_0[at + i * STEP :]
                    for j in range(min(width, length - i)):
                        acc[j] = T(F(acc[j], LOAD_0(x[j * STEP])))
            for k in range(8, width, 8):
                for j in range(8):
                    acc[j] = T(COMBINE(acc[j], acc[k + j]))
            total = IDENTITY
            for j in range(min(8, width)):
                total = T(COMBINE(total, acc[j]))
            out[to] = STORE(FINISH(total, N.count))
    leave(acc)


@loop(WALK)
def across(in_K, out, N):  # type: ignore[no-untyped-def]
    """Reduce across memory.  A group is a row of up to `cols` outputs; a unit is some rows that are added to it.

    If a sum overflows in a SHORT row, the row is computed again, element by element.
    """
    cols, step, members = N.col_block, N.col_step, N.count
    acc = workspace(cols, ACC)
    for t in range(first, last):
        c = t // N.pieces
        p = t - c * N.pieces
        for g in range(c * N.chunk, min(N.groups, (c + 1) * N.chunk)):
            position = g // N.col_blocks
            col = (g - position * N.col_blocks) * cols
            count = min(cols, N.cols - col)
            base = N.offset + col * step
            to = N.to + p * N.copy + col * N.to_step
            walk(position, N.sizes, base=N.steps, to=N.to_steps)
            row = acc[:count]
            for again in range(1 + SHORT):
                for j in range(count):
                    row[j] = IDENTITY
                for u in range(p * N.piece, min(N.units, (p + 1) * N.piece)):
                    position = u // N.blocks
                    start = (u - position * N.blocks) * N.block
                    at = base + start * N.row_step
                    walk(position, N.reduced_sizes, at=N.reduced_steps)
                    rows = min(N.block, N.rows - start)
                    if SHORT:
                        if again == 0:
                            add_rows(row, in_0, at, N.row_step, rows)
                            rows = 0
                    else:
                        if EXTREME:
                            for _ in range(rows // 4):
                                best_of_four(row, in_0, at, N.row_step)
                                at += 4 * N.row_step
                                rows -= 4
                        else:
                            # Four rows at a time: their accumulators are loaded and stored once.
                            for _ in range(rows // 4):
                                x = in_0[at:]
                                x1 = in_0[at + N.row_step :]
                                x2 = in_0[at + 2 * N.row_step :]
                                x3 = in_0[at + 3 * N.row_step :]
                                for j in range(count):
                                    total = ACC(F(row[j], LOAD_0(x[j * STEP])))
                                    total = ACC(F(total, LOAD_0(x1[j * STEP])))
                                    total = ACC(F(total, LOAD_0(x2[j * STEP])))
                                    row[j] = ACC(F(total, LOAD_0(x3[j * STEP])))
                                at += 4 * N.row_step
                                rows -= 4
                    for _ in range(rows):
                        x = in_0[at:]
                        for j in range(count):
                            row[j] = ACC(F(row[j], LOAD_0(x[j * STEP])))
                        at += N.row_step
                if SHORT:
                    if all_finite(row):
                        break
            # A dense row of outputs is stored by whole vectors.
            if N.to_step == 1:
                line = out[to : to + count]
                for j in range(count):
                    line[j] = STORE(FINISH(row[j], members))
            else:
                for j in range(count):
                    out[to + j * N.to_step] = STORE(FINISH(row[j], members))
    leave(acc)
