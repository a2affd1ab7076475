"""Elementwise loops over any number of operands: a dense run, a nest of any rank around runs, and tiles.

Free names, filled in by `specialize`: `F` the op's scalar function, `LOAD_K` and `STORE` the conversions between
memory and registers, `STEP_K` a pasted 0 or 1, `AT_K` and `OUT_AT` the places of one element, `RANGE` range or prange;
`HERE_K` what it is given, or `z` for an operand that is `out` itself: seen as two, they might overlap otherwise than
element by element, and the loop would not vectorise.  A line that assigns to `_K` stands once per operand.  `numbers`
holds what `core/plan.py` computed: sizes, then strides and offsets in elements.  Chunks are cut by the plan from the
shape alone, so the number of threads cannot change a result.
"""

# ruff: noqa: F821, F841
import numpy as np


def dense(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = n, chunk, chunks, offset of out, offset of each operand."""
    n = numbers[0]
    chunk = numbers[1]
    for c in range(first, last):
        lo = c * chunk
        count = min(chunk, n - lo)
        # Slices first: indexing them with the loop variable needs no wrap-around test, so the loop vectorises.
        z = out[numbers[3] + lo : numbers[3] + lo + count]
        x_K = HERE_K(in_K[numbers[4 + K] + lo * STEP_K :])
        for i in range(count):
            z[i] = STORE(F(LOAD_K(x_K[i * STEP_K])))


def nest(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = rank, cols, block, blocks, units, chunk, chunks, shape[rank], then for out and each operand:
    offset, inner step, strides[rank].  A unit is one block of one row."""
    rank = numbers[0]
    cols = numbers[1]
    block = numbers[2]
    blocks = numbers[3]
    units = numbers[4]
    chunk = numbers[5]
    size = rank + 2
    step = numbers[8 + rank]
    step_K = numbers[8 + rank + size * (K + 1)]
    index = room(rank, np.int64)
    for c in range(first, last):
        lo = c * chunk
        hi = min(units, lo + chunk)
        place = lo // blocks
        part = lo - place * blocks
        at = numbers[7 + rank]
        at_K = numbers[7 + rank + size * (K + 1)]
        for d in range(rank - 1, -1, -1):
            index[d] = place % numbers[7 + d]
            place //= numbers[7 + d]
            at += index[d] * numbers[9 + rank + d]
            at_K += index[d] * numbers[9 + rank + size * (K + 1) + d]
        for _unit in range(lo, hi):
            # Inner steps of 0 or 1 are pasted, and index slices that vectorise; for others each place is computed.
            start = part * block
            count = min(block, cols - start)
            z = out[at + start * STEP : at + start * STEP + count]
            x_K = HERE_K(in_K[at_K + start * STEP_K :])
            for i in range(count):
                OUT_AT = STORE(F(LOAD_K(AT_K)))
            part += 1
            if part == blocks:
                part = 0
                # The odometer: one carry a row is cheaper than a division a row.
                d = rank - 1
                while d >= 0:
                    index[d] += 1
                    at += numbers[9 + rank + d]
                    at_K += numbers[9 + rank + size * (K + 1) + d]
                    if index[d] < numbers[7 + d]:
                        break
                    index[d] = 0
                    at -= numbers[9 + rank + d] * numbers[7 + d]
                    at_K -= numbers[9 + rank + size * (K + 1) + d] * numbers[7 + d]
                    d -= 1
    leave(index)


def tiled(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = rank, rows, cols, strips, units, chunk, chunks, shape[rank], then for out and each operand: offset,
    strides of a row and of a column, strides[rank]; at the end the columns of a tile.  A unit is a strip of 8 rows.
    An operand that is dense across the rows is read a tile at a time, so that each of its lines is used 8 times while
    it is near."""
    rank = numbers[0]
    rows = numbers[1]
    cols = numbers[2]
    size = rank + 3
    wide = numbers[7 + rank + size * OPERANDS]
    row = numbers[8 + rank]
    row_K = numbers[8 + rank + size * (K + 1)]
    col_K = numbers[9 + rank + size * (K + 1)]
    for c in range(first, last):
        for unit in range(c * numbers[5], min(numbers[4], (c + 1) * numbers[5])):
            place = unit // numbers[3]
            top = (unit - place * numbers[3]) * 8
            at = numbers[7 + rank] + top * row
            at_K = numbers[7 + rank + size * (K + 1)] + top * row_K
            for d in range(rank - 1, -1, -1):
                index = place % numbers[7 + d]
                place //= numbers[7 + d]
                at += index * numbers[10 + rank + d]
                at_K += index * numbers[10 + rank + size * (K + 1) + d]
            for left in range(0, cols, wide):
                count = min(wide, cols - left)
                for i in range(min(8, rows - top)):
                    z = out[at + i * row + left : at + i * row + left + count]
                    p_K = at_K + i * row_K + left * col_K
                    for j in range(count):
                        # Unsigned, because a signed index is tested for wrapping around at each element.
                        z[j] = STORE(F(LOAD_K(in_K[np.uint64(p_K + j * col_K)])))
