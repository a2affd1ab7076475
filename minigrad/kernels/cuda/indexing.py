"""Elements by index, and additions by index.

A thread of `move` moves or adds an element, one of `gather_rows` moves some neighbours of a row that has one index, and
one of `add_lines` adds a line along the dim, in the order of the index.
An index out of range adds to a flag, and nothing else is read or written for it.  `WORD` is the type of positions, and
the list `DIVISORS` splits a position into indices, as in `elementwise.py`.  Dims are those of the index, for
`add_lines` without the one that it runs along.
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
    """The numbers of `move` and `gather_rows`: rows of cols elements, the size of the dim and its step on the other
    side.  Groups are those of the side whose places are those of the index, of the other side and of the index."""
    return Fields("rows cols size step", f"shape[{rank}] magic[{rank}] shift[{rank}]", f"offset strides[{rank}]")


def move(in_0, in_1, flag, out, N):
    """out[...] = in_0 at in_1[...] along one dim; or if it ADDS, out at in_1[...] += in_0[...], by atomic steps:
    integers, of which the order does not matter, or floats in any."""
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
    """out[...] = in_0 at in_1[...] where rows that lie densely have one index: WIDTH neighbours at once."""
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
    """The numbers of `add_lines`: step is that along the dim.  Groups are those of the sums, what is added and the
    index."""
    return Fields("count length size", f"sizes[{rank}]", f"offset step strides[{rank}]")


def add_lines(in_0, in_1, flag, out, N):
    """out at in_1[...] along one dim += in_0[...], a line of `length` along it at a time, in its order."""
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
    """out at in_0[j] = the largest j that names it; what is largest does not depend on who comes first."""
    j = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while j < N.count:
        k = position_of(in_0[N.index_offset + j * N.index_step], N.size)
        if k >= 0:
            atomic_max(out, k, j)
        else:
            atomic_add(flag, 0, np.int32(1))
        j += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def put_fields(rank):
    """The numbers of `select_put`: of the index, what is written and the result."""
    lists = f"sizes[{rank}] along[{rank}] steps[{rank}] to_steps[{rank}]"
    return Fields("count size to_step index_offset index_step offset to", lists)


def select_put(in_0, in_1, in_2, out, N):
    """out at in_0[j] along one dim = in_2 at j, where in_1 says that no later one is written there."""
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
