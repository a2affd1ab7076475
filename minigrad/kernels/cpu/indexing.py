"""Loops that read or add where an index tensor says.

Free names, filled in by `specialize`: `LOAD_0`, `LOAD_1`, `STORE` and `ADD` (bools: or) for the sums, and
`ROWS`: the index is constant along the innermost dim and both sides step by 1 there, so whole rows move; `DENSE`: index
and result step by 1; `LINE`: so they do, and the indexed dim is dense and the only one that moves; `LINE_OF_CACHE`: its
elements.  `fetch` is that of `moving.py`.

Negative indices count from the end.  Each index is read once and looked at before it is used; for one that is out of
range nothing is read or written, and the flag is raised.  So nobody who changes the index meanwhile can lead it
astray.  Sums into one element run in index order inside one unit, so threads cannot change a result.
"""

# ruff: noqa: F821
import numpy as np


def gather(a, index, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = units, blocks, block, cols, strips, strip, rows, size and stride of the indexed dim of a, rank,
    shape[rank], then for out, a and index: offset, steps of a column and of a row, strides[rank].  `a` stands still in
    the indexed dim there.  A unit is a block of the columns of a strip of rows."""
    blocks = numbers[1]
    block = numbers[2]
    cols = numbers[3]
    strips = numbers[4]
    strip = numbers[5]
    rows = numbers[6]
    size = numbers[7]
    axis = numbers[8]
    rank = numbers[9]
    to_col = numbers[11 + rank]
    to_row = numbers[12 + rank]
    a_col = numbers[14 + 2 * rank]
    a_row = numbers[15 + 2 * rank]
    index_col = numbers[17 + 3 * rank]
    index_row = numbers[18 + 3 * rank]
    places = room(block if DENSE else 0, np.uint64)
    for unit in range(first, last):
        above = unit // blocks
        left = (unit - above * blocks) * block
        count = min(block, cols - left)
        outer = above // strips
        low = (above - outer * strips) * strip
        high = min(rows, low + strip)
        to = numbers[10 + rank] + low * to_row + left * to_col
        pa = numbers[13 + 2 * rank] + low * a_row + left * a_col
        pi = numbers[16 + 3 * rank] + low * index_row + left * index_col
        for d in range(rank - 1, -1, -1):
            place = outer % numbers[10 + d]
            outer //= numbers[10 + d]
            to += place * numbers[13 + rank + d]
            pa += place * numbers[16 + 2 * rank + d]
            pi += place * numbers[19 + 3 * rank + d]
        for row in range(low, high):
            if ROWS:
                if row + 8 < rows:  # no machine foresees rows in no order: ask for one that is read soon
                    k = np.int64(index[np.uint64(pi + 8 * index_row)])
                    at = pa + 8 * a_row + (k if k >= 0 else k + size) * axis
                    fetch(a, at)
                    fetch(a, at + min(count - 1, LINE_OF_CACHE))
                k = np.int64(index[np.uint64(pi)])
                if -size <= k < size:
                    at = pa + (k if k >= 0 else k + size) * axis
                    for c in range(count):
                        out[np.uint64(to + c)] = a[np.uint64(at + c)]
                else:
                    flag[0] = 1
            if DENSE:
                lowest = np.int64(0)
                highest = np.int64(0)
                chosen = index[pi : pi + count]
                # The places first: a loop that looks at indices becomes vectors, one that also reads by them does not.
                for c in range(count):
                    k = np.int64(chosen[c])
                    lowest = min(lowest, k)
                    highest = max(highest, k)
                    # Products are left out where they can be: vectors of 64-bit integers are slow at them.
                    if LINE:
                        places[c] = np.uint64(pa + (k if k >= 0 else k + size))
                    else:
                        places[c] = np.uint64(pa + (k if k >= 0 else k + size) * axis + c * a_col)
                if -size <= lowest and highest < size:
                    z = out[to : to + count]
                    for c in range(count):
                        z[c] = a[places[c]]
                else:
                    flag[0] = 1
            if not (ROWS or DENSE):
                for c in range(count):
                    k = np.int64(index[np.uint64(pi + c * index_col)])
                    if -size <= k < size:
                        at = pa + (k if k >= 0 else k + size) * axis + c * a_col
                        out[np.uint64(to + c * to_col)] = a[np.uint64(at)]
                    else:
                        flag[0] = 1
            to += to_row
            pa += a_row
            pi += index_row
    leave(places)


def scatter_lines(a, src, index, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = units, the number of indices of a unit, whether lines are copied from a first, the size of the indexed
    dim and its stride in out, a, src and index, rank, shape[rank], then for out, a, src and index: offset,
    strides[rank] without the indexed dim.  A unit is a line of out along the indexed dim, near while it is summed."""
    count = numbers[1]
    size = numbers[3]
    axis = numbers[4]
    step = numbers[5]
    src_step = numbers[6]
    index_step = numbers[7]
    rank = numbers[8]
    top = np.uint64(size)  # unsigned, a place below 0 is beyond it too
    for unit in range(first, last):
        rest = np.int64(unit)
        to = numbers[9 + rank]
        pa = numbers[10 + 2 * rank]
        px = numbers[11 + 3 * rank]
        pi = numbers[12 + 4 * rank]
        for d in range(rank - 1, -1, -1):
            place = rest % numbers[9 + d]
            rest //= numbers[9 + d]
            to += place * numbers[10 + rank + d]
            pa += place * numbers[11 + 2 * rank + d]
            px += place * numbers[12 + 3 * rank + d]
            pi += place * numbers[13 + 4 * rank + d]
        if numbers[2]:
            if axis == 1 and step == 0:
                value = a[np.uint64(pa)]
                for c in range(size):
                    out[np.uint64(to + c)] = value
            elif axis == 1 and step == 1:
                for c in range(size):
                    out[np.uint64(to + c)] = a[np.uint64(pa + c)]
            else:
                for c in range(size):
                    out[np.uint64(to + c * axis)] = a[np.uint64(pa + c * step)]
        if axis == 1 and src_step == 1 and index_step == 1:
            # By slices and counted: the loop below has a product and two places to move on for each element.
            z = out[to : to + size]
            x = src[px : px + count]
            chosen = index[pi : pi + count]
            for c in range(count):
                k = np.int64(chosen[c])
                at = np.uint64(k if k >= 0 else k + size)
                if at < top:
                    z[at] = STORE(ADD(LOAD_1(z[at]), LOAD_0(x[c])))
                else:
                    flag[0] = 1
        else:
            for _ in range(count):
                k = np.int64(index[np.uint64(pi)])
                row = np.uint64(k if k >= 0 else k + size)
                if row < top:
                    at = np.uint64(to) + row * np.uint64(axis)
                    out[at] = STORE(ADD(LOAD_1(out[at]), LOAD_0(src[np.uint64(px)])))
                else:
                    flag[0] = 1
                px += src_step
                pi += index_step


def scatter_add(src, index, out, numbers):  # type: ignore[no-untyped-def]
    """numbers = units, blocks, block, cols, size and stride of the indexed dim of out, the number of indices, the
    strides of src and index along them, rank, shape[rank], then for out, src and index: offset, step of a column,
    strides[rank] without the indexed dim.  A unit is a block of columns, with all indices."""
    blocks = numbers[1]
    cols = numbers[3]
    size = numbers[4]
    axis = numbers[5]
    src_step = numbers[7]
    index_step = numbers[8]
    rank = numbers[9]
    to_col = numbers[11 + rank]
    src_col = numbers[13 + 2 * rank]
    index_col = numbers[15 + 3 * rank]
    for unit in range(first, last):
        rest = unit // blocks
        left = (unit - rest * blocks) * numbers[2]
        count = min(cols - left, numbers[2])
        to = numbers[10 + rank] + left * to_col
        px = numbers[12 + 2 * rank] + left * src_col
        pi = numbers[14 + 3 * rank] + left * index_col
        for d in range(rank - 1, -1, -1):
            place = rest % numbers[10 + d]
            rest //= numbers[10 + d]
            to += place * numbers[12 + rank + d]
            px += place * numbers[14 + 2 * rank + d]
            pi += place * numbers[16 + 3 * rank + d]
        for _ in range(numbers[6]):
            if ROWS:
                k = np.int64(index[np.uint64(pi)])
                if -size <= k < size:
                    at = to + (k if k >= 0 else k + size) * axis
                    z = out[at : at + count]
                    x = src[px : px + count]
                    for c in range(count):
                        z[c] = STORE(ADD(LOAD_1(z[c]), LOAD_0(x[c])))
                else:
                    flag[0] = 1
            else:
                for c in range(count):
                    k = np.int64(index[np.uint64(pi + c * index_col)])
                    if -size <= k < size:
                        at = np.uint64(to + (k if k >= 0 else k + size) * axis + c * to_col)
                        out[at] = STORE(ADD(LOAD_1(out[at]), LOAD_0(src[np.uint64(px + c * src_col)])))
                    else:
                        flag[0] = 1
            px += src_step
            pi += index_step


def view_add(g, out, numbers):  # type: ignore[no-untyped-def]
    """Add g into out through a layout that may overlap itself, but not between units.

    numbers = units, rows a unit, cols, rank, offset of out, its inner step, offset of g, its inner step, shape[rank],
    strides of out[rank], strides of g[rank].
    """
    rows = numbers[1]
    rank = numbers[3]
    for unit in range(first, last):
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


def bounds(index, out, numbers):  # type: ignore[no-untyped-def]
    """The lowest and the highest index; numbers = rows, cols, rank, offset, inner step, offset of out, shape[rank],
    strides[rank].  Of nothing, 0 and -1."""
    rank = numbers[2]
    empty = numbers[0] * numbers[1] == 0
    lowest = np.int64(0 if empty else index[numbers[3]])
    highest = np.int64(-1) if empty else lowest
    for row in range(numbers[0]):
        rest = row
        at = numbers[3]
        for d in range(rank - 1, -1, -1):
            at += rest % numbers[6 + d] * numbers[6 + rank + d]
            rest //= numbers[6 + d]
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
    out[numbers[5]] = lowest
    out[numbers[5] + 1] = highest
