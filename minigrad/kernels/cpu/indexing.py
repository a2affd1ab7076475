"""Loops that read, write or add at the positions in an index tensor.

Free names, filled in by `specialize`: `LOAD_0`, `LOAD_1` and `STORE`.  `COMBINE` combines an element of the result with
the element that is added to it, by a sum (of booleans: or) or another function.  One of these four is 1 for the
loop:

- `ROWS`: the index is constant along the innermost dim, and both sides have step 1 there, so whole rows are copied.
- `DENSE`: the index and the result have step 1.
- `LINE`: as `DENSE`, and the indexed dim is dense and the only one in which the position changes.
- `LOOSE`: none of these.

`fetch` is that of `moving.py`.

Negative indices count from the end.  Each index is read once and checked before it is used.  An index that is out of
range causes no read or write, and sets the flag.  So a thread that changes the index at the same time cannot cause an
invalid access.  Sums into one element are added in index order inside one unit, so the number of threads cannot change
a result.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.cpu.target import moving_header
from minigrad.kernels.fields import Fields, loop


@loop(
    Fields("blocks block cols strips strip rows size axis rank", "sizes[rank]", "offset col row strides[rank]"),
    imports=lambda words, *others: moving_header() if words["ROWS"] else "",
)
def gather(a, index, out, N):  # type: ignore[no-untyped-def]
    """Read elements of `a` at the indices.  A task is a block of the columns of a strip of rows.

    size, axis: the length and the step of the indexed dim of a; the other steps of a for this dim are 0.  The groups
    are those of out, a and index; col and row are steps.
    """
    blocks, block, cols, strips, strip, rows = N.blocks, N.block, N.cols, N.strips, N.strip, N.rows
    size, axis, to_col, to_row, a_col, a_row = N.size, N.axis, N.col[0], N.row[0], N.col[1], N.row[1]
    index_col, index_row = N.col[2], N.row[2]
    if DENSE:
        positions = workspace(block, np.uint64)
    for unit in range(first, last):
        above = unit // blocks
        left = (unit - above * blocks) * block
        count = min(block, cols - left)
        outer = above // strips
        low = (above - outer * strips) * strip
        high = min(rows, low + strip)
        to = N.offset[0] + low * to_row + left * to_col
        pa = N.offset[1] + low * a_row + left * a_col
        pi = N.offset[2] + low * index_row + left * index_col
        walk(outer, N.sizes, to=N.strides[0], pa=N.strides[1], pi=N.strides[2])
        for row in range(low, high):
            if ROWS:
                if row + 8 < rows:  # the hardware cannot predict random rows, so prefetch the row after 7 others
                    k = np.int64(index[np.uint64(pi + 8 * index_row)])
                    at = pa + 8 * a_row + (k if k >= 0 else k + size) * axis
                    fetch(a, at)
                    fetch(a, at + min(count - 1, 64 // a.itemsize))
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
                # Compute all positions first: a loop with only this computation vectorises, a loop with reads does not.
                for c in range(count):
                    k = np.int64(chosen[c])
                    lowest = min(lowest, k)
                    highest = max(highest, k)
                    # A product is avoided if possible, because 64-bit integer products are slow in vectors.
                    if LINE:
                        positions[c] = np.uint64(pa + (k if k >= 0 else k + size))
                    else:
                        positions[c] = np.uint64(pa + (k if k >= 0 else k + size) * axis + c * a_col)
                if -size <= lowest and highest < size:
                    z = out[to : to + count]
                    for c in range(count):
                        z[c] = a[positions[c]]
                else:
                    flag[0] = 1
            if LOOSE:
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
    if DENSE:
        leave(positions)


@loop(
    Fields("count fresh size axis step src_step index_step rank", "sizes[rank]", "offset strides[rank]"), loads=(1, 3)
)
def scatter_lines(a, src, index, out, N):  # type: ignore[no-untyped-def]
    """Add `count` elements of src to each line of out, at the indices.  A task is a line of out along the indexed dim.

    The line stays in the cache meanwhile.  fresh: whether the lines are first copied from a.  size: the length of the
    indexed dim.  axis, step, src_step, index_step: its strides in out, a, src and index.  The groups are those of out,
    a, src and index, without this dim.
    """
    count, size, axis, step, src_step, index_step = N.count, N.size, N.axis, N.step, N.src_step, N.index_step
    top = np.uint64(size)  # as an unsigned integer, a negative position is also above `top`
    for unit in range(first, last):
        rest = np.int64(unit)
        to, pa, px, pi = N.offset[0], N.offset[1], N.offset[2], N.offset[3]
        walk(rest, N.sizes, to=N.strides[0], pa=N.strides[1], px=N.strides[2], pi=N.strides[3])
        if N.fresh:
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
            # This loop over slices has fewer operations than the loop below, which needs a product and two more
            # additions for each element.
            z = out[to : to + size]
            x = src[px : px + count]
            chosen = index[pi : pi + count]
            for c in range(count):
                k = np.int64(chosen[c])
                at = np.uint64(k if k >= 0 else k + size)
                if at < top:
                    z[at] = STORE(COMBINE(LOAD_1(z[at]), LOAD_0(x[c])))
                else:
                    flag[0] = 1
        else:
            for _ in range(count):
                k = np.int64(index[np.uint64(pi)])
                row = np.uint64(k if k >= 0 else k + size)
                if row < top:
                    at = np.uint64(to) + row * np.uint64(axis)
                    out[at] = STORE(COMBINE(LOAD_1(out[at]), LOAD_0(src[np.uint64(px)])))
                else:
                    flag[0] = 1
                px += src_step
                pi += index_step


@loop(
    Fields("blocks block cols size axis count src_step index_step rank", "sizes[rank]", "offset col strides[rank]"),
    loads=(0, 2),
)
def scatter_columns(src, index, out, N):  # type: ignore[no-untyped-def]
    """Add elements of src to out at the indices.  A task is a block of columns, with all `count` indices.

    size, axis: the length and the stride of the indexed dim of out.  src_step, index_step: the steps along the indices.
    The groups are those of out, src and index, without this dim; col is the step from column to column.
    """
    blocks, cols, size, axis, src_step, index_step = N.blocks, N.cols, N.size, N.axis, N.src_step, N.index_step
    to_col, src_col, index_col = N.col[0], N.col[1], N.col[2]
    for unit in range(first, last):
        rest = unit // blocks
        left = (unit - rest * blocks) * N.block
        count = min(cols - left, N.block)
        to = N.offset[0] + left * to_col
        px = N.offset[1] + left * src_col
        pi = N.offset[2] + left * index_col
        walk(rest, N.sizes, to=N.strides[0], px=N.strides[1], pi=N.strides[2])
        for _ in range(N.count):
            if ROWS:
                k = np.int64(index[np.uint64(pi)])
                if -size <= k < size:
                    at = to + (k if k >= 0 else k + size) * axis
                    z = out[at : at + count]
                    x = src[px : px + count]
                    for c in range(count):
                        z[c] = STORE(COMBINE(LOAD_1(z[c]), LOAD_0(x[c])))
                else:
                    flag[0] = 1
            else:
                for c in range(count):
                    k = np.int64(index[np.uint64(pi + c * index_col)])
                    if -size <= k < size:
                        at = np.uint64(to + (k if k >= 0 else k + size) * axis + c * to_col)
                        out[at] = STORE(COMBINE(LOAD_1(out[at]), LOAD_0(src[np.uint64(px + c * src_col)])))
                    else:
                        flag[0] = 1
            px += src_step
            pi += index_step


@loop(Fields("rows cols rank index step out", "sizes[rank] steps[rank]"))
def bounds(index, out, N):  # type: ignore[no-untyped-def]
    """Store the lowest index at `out` and the highest one behind it, in one task.

    If there is no index, these are 0 and -1.
    """
    empty = N.rows * N.cols == 0
    lowest = np.int64(0 if empty else index[N.index])
    highest = np.int64(-1) if empty else lowest
    for row in range(N.rows):
        rest = row
        at = N.index
        walk(rest, N.sizes, at=N.steps)
        if N.step == 1:
            x = index[at : at + N.cols]
            for c in range(len(x)):
                k = np.int64(x[c])
                lowest = min(lowest, k)
                highest = max(highest, k)
        else:
            for c in range(N.cols):
                k = np.int64(index[at + c * N.step])
                lowest = min(lowest, k)
                highest = max(highest, k)
    out[N.out] = lowest
    out[N.out + 1] = highest
