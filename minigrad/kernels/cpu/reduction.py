"""Folds: one stretch of memory, many stretches, and the positions of extremes.

Free names, filled in by `specialize`: `F` the op's scalar function, `IDENTITY` its neutral element, `FINISH` what is
done to a result before `STORE`, `LOAD_0` and `STORE` the conversions between memory and registers, `STEP` a pasted 1
or the step at run time, `RANGE` range or prange.  Accumulators stand in a row, and element i of a stretch goes to
accumulator i modulo the width: the loop vectorises without re-associating anything, and the order is that of
`core/fold.py` for any number of threads.
"""

# ruff: noqa: F821
import numpy as np


def run(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = n, cols, width, piece, pieces, offset, offset and step of out, count.  Element i belongs to output
    i modulo cols."""
    n = numbers[0]
    cols = numbers[1]
    width = numbers[2]
    piece = numbers[3]
    lanes = np.empty(numbers[4] * width, T)
    for p in RANGE(numbers[4]):
        acc = lanes[p * width : (p + 1) * width]
        for j in range(width):
            acc[j] = IDENTITY
        stop = numbers[5] + min(n, (p + 1) * piece)
        for i in range(numbers[5] + p * piece, stop, width):
            x = in_0[i : min(i + width, stop)]
            for j in range(len(x)):
                acc[j] = T(F(acc[j], LOAD_0(x[j])))
    for k in range(cols, numbers[4] * width, cols):
        for j in range(cols):
            lanes[j] = T(F(lanes[j], lanes[k + j]))
    for j in range(cols):
        out[numbers[6] + j * numbers[7]] = STORE(FINISH(lanes[j], numbers[8]))


def blocks(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers as in `core.fold.plan_stage`.  A group is up to `cols` neighbouring outputs, a unit one block of one
    stretch of the operand; a task folds one piece, some units, for some groups."""
    kept = numbers[0]
    folded = numbers[1]
    cols = numbers[2]
    width = numbers[5]
    block = numbers[7]
    units = numbers[9]
    pieces = numbers[11]
    step = numbers[16]
    first = 21 + 3 * kept
    for t in RANGE(numbers[14] * pieces):
        c = t // pieces
        p = t - c * pieces
        acc = np.empty(width, T)
        for g in range(c * numbers[13], min(numbers[12], (c + 1) * numbers[13])):
            place = g // numbers[4]
            col = (g - place * numbers[4]) * cols
            count = min(cols, numbers[3] - col)
            base = numbers[15] + col * step
            to = numbers[17] + col * numbers[18] + p * numbers[19]
            for d in range(kept - 1, -1, -1):
                index = place % numbers[21 + d]
                place //= numbers[21 + d]
                base += index * numbers[21 + kept + d]
                to += index * numbers[21 + 2 * kept + d]
            for j in range(width):
                acc[j] = IDENTITY
            for u in range(p * numbers[10], min(units, (p + 1) * numbers[10])):
                place = u // numbers[8]
                start = (u - place * numbers[8]) * block
                length = min(block, numbers[6] * count - start)
                at = base + start * step
                for d in range(folded - 1, -1, -1):
                    index = place % numbers[first + d]
                    place //= numbers[first + d]
                    at += index * numbers[first + folded + d]
                for i in range(0, length, width):
                    x = in_0[at + i * STEP :]
                    for j in range(min(width, length - i)):
                        acc[j] = T(F(acc[j], LOAD_0(x[j * STEP])))
            for k in range(cols, width, cols):
                for j in range(count):
                    acc[j] = T(F(acc[j], acc[k + j]))
            for j in range(count):
                out[to + j * numbers[18]] = STORE(FINISH(acc[j], numbers[20]))
