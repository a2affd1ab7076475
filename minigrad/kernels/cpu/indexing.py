"""Loops that read or add where an index tensor says.

Free names, filled in by `specialize`: `LOAD_0`, `STORE` and `ADD` (bools: or) for the sums, `RANGE`, and `ROWS`: the
index is constant along the innermost dim and both sides step by 1 there, so whole rows move; `DENSE`: index and result
step by 1; `LINE`: in a gather, the indexed dim is dense and the only one that moves; in a scatter, a unit is one
column.  Negative indices count from the end; bounds have been checked before.  A unit is one task: a block of one
innermost row, with the outer indices found by division.  Sums into one element run in index order inside one unit, so
threads cannot change a result.
"""

# ruff: noqa: F821
import numpy as np


def gather(a, index, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = units, blocks a row, block, cols, size and stride of the indexed dim of a, rank, shape[rank], then for
    out, a and index: offset, inner step, strides[rank].  `a` has stride 0 in the indexed dim there."""
    blocks = numbers[1]
    cols = numbers[3]
    rank = numbers[6]
    for unit in RANGE(numbers[0]):
        rest = unit // blocks
        first = (unit - rest * blocks) * numbers[2]
        last = min(cols, first + numbers[2])
        to = numbers[7 + rank]
        pa = numbers[9 + 2 * rank]
        pi = numbers[11 + 3 * rank]
        for d in range(rank - 1, -1, -1):
            place = rest % numbers[7 + d]
            rest //= numbers[7 + d]
            to += place * numbers[9 + rank + d]
            pa += place * numbers[11 + 2 * rank + d]
            pi += place * numbers[13 + 3 * rank + d]
        if ROWS:
            k = np.int64(index[pi])
            pa += (k if k >= 0 else k + numbers[4]) * numbers[5]
            z = out[to + first : to + last]
            x = a[pa + first : pa + last]
            for c in range(last - first):
                z[c] = x[c]
        if DENSE:
            size = numbers[4]
            axis = numbers[5]
            step = numbers[10 + 2 * rank]
            pa += first * step
            z = out[to + first : to + last]
            chosen = index[pi + first : pi + last]
            for c in range(last - first):
                k = np.int64(chosen[c])
                # An unsigned place needs no look at its sign, so the loop becomes gathers.
                z[c] = a[np.uint64(pa + (k if k >= 0 else k + size) * axis + c * step)]
        if LINE:
            # Along a dense dim: no products, which vectors of 64-bit integers are slow at.
            size = numbers[4]
            z = out[to + first : to + last]
            chosen = index[pi + first : pi + last]
            for c in range(last - first):
                k = np.int64(chosen[c])
                z[c] = a[np.uint64(pa + (k if k >= 0 else k + size))]
        if not (ROWS or DENSE or LINE):
            for c in range(first, last):
                k = np.int64(index[pi + c * numbers[12 + 3 * rank]])
                at = pa + (k if k >= 0 else k + numbers[4]) * numbers[5]
                out[to + c * numbers[8 + rank]] = a[at + c * numbers[10 + 2 * rank]]


def scatter_add(src, index, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = units, blocks a row, block, cols, size and stride of the indexed dim of out, rank, shape[rank], then
    for out, src and index: offset, inner step, strides[rank] without the indexed dim; then the number of indices, and
    the strides of src and index along them."""
    blocks = numbers[1]
    cols = numbers[3]
    rank = numbers[6]
    tail = 13 + 4 * rank
    for unit in RANGE(numbers[0]):
        rest = unit // blocks
        first = (unit - rest * blocks) * numbers[2]
        last = min(cols, first + numbers[2])
        to = numbers[7 + rank]
        px = numbers[9 + 2 * rank]
        pi = numbers[11 + 3 * rank]
        for d in range(rank - 1, -1, -1):
            place = rest % numbers[7 + d]
            rest //= numbers[7 + d]
            to += place * numbers[9 + rank + d]
            px += place * numbers[11 + 2 * rank + d]
            pi += place * numbers[13 + 3 * rank + d]
        if LINE:
            size = numbers[4]
            axis = numbers[5]
            sx = numbers[tail + 1]
            si = numbers[tail + 2]
            to += first * numbers[8 + rank]
            px += first * numbers[10 + 2 * rank]
            pi += first * numbers[12 + 3 * rank]
            for _ in range(numbers[tail]):
                k = np.int64(index[np.uint64(pi)])
                at = np.uint64(to + (k if k >= 0 else k + size) * axis)
                out[at] = STORE(ADD(LOAD_0(out[at]), LOAD_0(src[np.uint64(px)])))
                px += sx
                pi += si
            continue
        for _ in range(numbers[tail]):
            if ROWS:
                k = np.int64(index[pi])
                at = to + (k if k >= 0 else k + numbers[4]) * numbers[5]
                z = out[at + first : at + last]
                x = src[px + first : px + last]
                for c in range(last - first):
                    z[c] = STORE(ADD(LOAD_0(z[c]), LOAD_0(x[c])))
            else:
                for c in range(first, last):
                    k = np.int64(index[pi + c * numbers[12 + 3 * rank]])
                    at = to + (k if k >= 0 else k + numbers[4]) * numbers[5] + c * numbers[8 + rank]
                    out[at] = STORE(ADD(LOAD_0(out[at]), LOAD_0(src[px + c * numbers[10 + 2 * rank]])))
            px += numbers[tail + 1]
            pi += numbers[tail + 2]


def view_add(g, out, numbers):  # type: ignore[no-untyped-def]
    """Add g into out through a layout that may overlap itself, but not between units.

    numbers = units, rows a unit, cols, rank, offset of out, its inner step, offset of g, its inner step, shape[rank],
    strides of out[rank], strides of g[rank].
    """
    rows = numbers[1]
    rank = numbers[3]
    for unit in RANGE(numbers[0]):
        for row in range(unit * rows, unit * rows + rows):
            rest = row
            to = numbers[4]
            px = numbers[6]
            for d in range(rank - 1, -1, -1):
                place = rest % numbers[8 + d]
                rest //= numbers[8 + d]
                to += place * numbers[8 + rank + d]
                px += place * numbers[8 + 2 * rank + d]
            for c in range(numbers[2]):
                at = to + c * numbers[5]
                out[at] = STORE(ADD(LOAD_0(out[at]), LOAD_0(g[px + c * numbers[7]])))


def bounds(index, numbers):  # type: ignore[no-untyped-def]
    """The lowest and the highest index; numbers = rows, cols, rank, offset, inner step, shape[rank], strides[rank]."""
    rank = numbers[2]
    lowest = np.int64(index[numbers[3]])
    highest = lowest
    for row in range(numbers[0]):
        rest = row
        at = numbers[3]
        for d in range(rank - 1, -1, -1):
            at += rest % numbers[5 + d] * numbers[5 + rank + d]
            rest //= numbers[5 + d]
        if numbers[4] == 1:
            x = index[at : at + numbers[1]]
            for c in range(len(x)):
                k = np.int64(x[c])
                lowest = min(lowest, k)
                highest = max(highest, k)
        else:
            for c in range(numbers[1]):
                k = np.int64(index[at + c * numbers[4]])
                lowest = min(lowest, k)
                highest = max(highest, k)
    return lowest, highest
