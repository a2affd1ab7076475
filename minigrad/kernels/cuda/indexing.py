"""Reads by index, and additions by index.

A thread of `move` copies or adds one element.  A thread of `gather_rows` copies some neighbours of a row that has one
index.  A thread of `add_lines` adds a line along the dim, in the order of the index.  An index that is out of range
increments a flag, and nothing is read or written for it.  `WORD` is the type of positions, and the list `DIVISORS`
splits a position into indices, as in `elementwise.py`.  The dims are those of the index, in `add_lines` without the dim
of the line.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields


def position_of(index, size):
    """Return the position of an index, counted from the beginning, or -1 if it is out of range."""
    k = np.int64(index)
    if k < 0:
        k += size
    return k if 0 <= k and k < size else np.int64(-1)


def move_fields(rank):
    """Return the numbers of `move` and `gather_rows`: rows of cols elements, size and step of the indexed dim.

    Group 0 is that of the side with the positions of the index, group 1 that of the indexed side, group 2 that of the
    index.
    """
    return Fields("rows cols size step", f"shape[{rank}] magic[{rank}] shift[{rank}]", f"offset strides[{rank}]")


def move(in_0, in_1, flag, out, N):
    """out[...] = in_0 at in_1[...] along one dim; if it ADDS, out at in_1[...] += in_0[...] by atomic additions.

    The order of the additions is not fixed.  For integers it does not matter; floats are added only if any order is
    allowed.
    """
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.rows:
        position = WORD(i)
        here = WORD(N.offset[0])
        there = WORD(N.offset[1])
        where = WORD(N.offset[2])
        walk(position, DIVISORS, here=N.strides[0], there=N.strides[1], where=N.strides[2])
        k = position_of(in_1[where], N.size)
        if k >= 0:
            if ADDS:
                atomic_add(out, np.int64(there) + k * N.step, LOAD_0(in_0[here]))
            else:
                out[here] = in_0[np.int64(there) + k * N.step]
        else:
            atomic_add(flag, 0, np.int32(1))
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def gather_rows(in_0, in_1, flag, out, N):
    """out[...] = in_0 at in_1[...] where a dense row has one index: a thread copies WIDTH neighbours together."""
    row = np.int64(cuda.blockIdx.y) * cuda.blockDim.y + cuda.threadIdx.y
    first = (np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x) * WIDTH
    while row < N.rows:
        position = row
        to = N.offset[0]
        at = N.offset[1]
        where = N.offset[2]
        walk(position, N.shape, to=N.strides[0], at=N.strides[1], where=N.strides[2])
        k = position_of(in_1[where], N.size)
        if k >= 0:
            at += k * N.step
            i = first
            while i < N.cols:
                PUT(out, to + i, TAKE(in_0, at + i))
                i += np.int64(cuda.gridDim.x) * cuda.blockDim.x * WIDTH
        else:
            atomic_add(flag, 0, np.int32(1))
        row += np.int64(cuda.gridDim.y) * cuda.blockDim.y


def lines_fields(rank):
    """Return the numbers of `add_lines`; step is the distance along the dim.

    The groups are those of the sums, of the added elements and of the index.
    """
    return Fields("count length size", f"sizes[{rank}]", f"offset step strides[{rank}]")


def add_lines(in_0, in_1, flag, out, N):
    """out at in_1[...] += in_0[...] along one dim: a thread adds a line of `length` elements, in its order."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.count:
        position = i
        to = N.offset[0]
        at = N.offset[1]
        where = N.offset[2]
        walk(position, N.sizes, to=N.strides[0], at=N.strides[1], where=N.strides[2])
        j = np.int64(0)
        while j < N.length:
            k = position_of(in_1[where], N.size)
            if k >= 0:
                p = to + k * N.step[0]
                out[p] = T(out[p] + LOAD_0(in_0[at]))
            else:
                atomic_add(flag, 0, np.int32(1))
            at += N.step[1]
            where += N.step[2]
            j += 1
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


LAST = Fields("count size index_offset index_step")


def last_at(in_0, flag, out, N):
    """out at in_0[j] = the largest j with this index.

    The maximum does not depend on the order of the threads.
    """
    j = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while j < N.count:
        k = position_of(in_0[N.index_offset + j * N.index_step], N.size)
        if k >= 0:
            atomic_max(out, k, j)
        else:
            atomic_add(flag, 0, np.int32(1))
        j += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def put_fields(rank):
    """Return the numbers of `select_put`: for index, written elements and result."""
    lists = f"sizes[{rank}] along[{rank}] steps[{rank}] to_steps[{rank}]"
    return Fields("count size to_step index_offset index_step offset to", lists)


def select_put(in_0, in_1, in_2, out, N):
    """out at in_0[j] along one dim = in_2 at j, if in_1 states that j is the last one with this index."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.count:
        position = i
        j = np.int64(0)
        at = N.offset
        to = N.to
        walk(position, N.sizes, j=N.along, at=N.steps, to=N.to_steps)
        k = position_of(in_0[N.index_offset + j * N.index_step], N.size)
        if k >= 0:
            if in_1[k] == j:
                out[to + k * N.to_step] = in_2[at]
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x
