"""Elements by index, and additions by index.

A thread of `gather` moves one element; one of `scatter_add` adds a line along the dim, in the order of the index, so
that sums are the same in every run.  An index out of range adds to a flag, and nothing else is read or written for it.
`LOAD_1` converts what is added.  Dims are those of the index, without the one that it runs along for `scatter_add`.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields


def gather_fields(rank):
    """The numbers of `gather`: of the operand, the index and the result in turn offset and strides."""
    lists = f"sizes[{rank}] steps[{rank}] index_steps[{rank}] to_steps[{rank}]"
    return Fields("count size step offset index_offset to", lists)


def gather(in_0, in_1, flag, out, N):
    """out[...] = in_0 at in_1[...] along one dim, of `size` elements that are `step` apart."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.count:
        place = i
        at = N.offset
        where = N.index_offset
        to = N.to
        walk(place, N.sizes, at=N.steps, where=N.index_steps, to=N.to_steps)
        k = np.int64(in_1[where])
        if k < 0:
            k += N.size
        if 0 <= k and k < N.size:
            out[to] = in_0[at + k * N.step]
        else:
            atomic_add(flag, 0, np.int32(1))
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def scatter_fields(rank):
    """The numbers of `scatter_add`: of the index, what is added and the sums in turn offset, step and strides."""
    lists = f"sizes[{rank}] index_steps[{rank}] steps[{rank}] to_steps[{rank}]"
    return Fields("count length size index_step step to_step index_offset offset to", lists)


def scatter_add(in_0, in_1, flag, out, N):
    """out at in_0[...] along one dim += in_1[...], a line of `length` along it at a time."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.count:
        place = i
        where = N.index_offset
        at = N.offset
        to = N.to
        walk(place, N.sizes, where=N.index_steps, at=N.steps, to=N.to_steps)
        j = np.int64(0)
        while j < N.length:
            k = np.int64(in_0[where])
            if k < 0:
                k += N.size
            if 0 <= k and k < N.size:
                p = to + k * N.to_step
                out[p] = T(out[p] + LOAD_1(in_1[at]))
            else:
                atomic_add(flag, 0, np.int32(1))
            where += N.index_step
            at += N.step
            j += 1
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


LAST = Fields("count size index_offset index_step")


def last_at(in_0, flag, out, N):
    """out at in_0[j] = the largest j that names it; what is largest does not depend on who comes first."""
    j = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while j < N.count:
        k = np.int64(in_0[N.index_offset + j * N.index_step])
        if k < 0:
            k += N.size
        if 0 <= k and k < N.size:
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
        place = i
        j = np.int64(0)
        at = N.offset
        to = N.to
        walk(place, N.sizes, j=N.along, at=N.steps, to=N.to_steps)
        k = np.int64(in_0[N.index_offset + j * N.index_step])
        if k < 0:
            k += N.size
        if 0 <= k and k < N.size:
            if in_1[k] == j:
                out[to + k * N.to_step] = in_2[at]
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x
