"""Elementwise loops over any number of operands: a dense run, rows that lie densely, and elements that lie anyhow.

Free names, filled in by `specialize`: `F` the op's scalar function, `LOAD_K` and `STORE` the conversions between memory
and registers; `G` is `value`, which holds them.  Where `WIDE` is 1, a thread takes WIDTH neighbours at once: `TAKE_K`
reads them by one load of up to 128 bits, or is the one element of an operand that does not move, `LANE_K` is the J-th
of them, `ALL` writes its argument once for each, and `PUT` stores them.  `WORD` is the type of places, and the list
`DIVISORS` says how a place is taken apart.  Every loop goes on in strides of the grid, so a grid of any size serves.
Strides and offsets are in elements, those of `out` first; the dims are those of `shape`, as many as the kernel has.
"""

# ruff: noqa: F821, F841
import numpy as np

from minigrad.kernels.fields import Fields


def value(in_K):
    """One element of the result."""
    return STORE(F(LOAD_K(in_K)))


def divide(n, magic, shift):
    """n // d for n below 2**31, by the numbers that belong to d.

    Source: T. Granlund, P. L. Montgomery, "Division by invariant integers using multiplication", PLDI 1994, figure 4.1.
    """
    high = np.uint32((np.uint64(n) * np.uint64(magic)) >> np.uint64(32))
    return np.uint32(np.uint32(high + n) >> np.uint32(shift))


DENSE = Fields("n whole", each="offset")


def dense(in_K, out, N):
    """A run of n elements: `whole` groups of WIDTH, then what is left of them."""
    first = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    step = np.int64(cuda.gridDim.x) * cuda.blockDim.x
    base = N.offset[0]
    base_K = N.offset[K + 1]
    if WIDE:
        group = first
        while group < N.whole:
            at = group * WIDTH
            x_K = TAKE_K
            PUT(out, base + at, ALL(G(LANE_K)))
            group += step
    i = first + N.whole * WIDTH
    while i < N.n:
        out[base + i] = G(in_K[base_K + i * STEP_K])
        i += step


def rows_fields(rank):
    """The numbers of `rows` and `nest` for so many outer dims."""
    return Fields("rows cols", f"shape[{rank}] magic[{rank}] shift[{rank}]", f"offset strides[{rank}]")


def rows(in_K, out, N):
    """Rows of cols elements: a thread takes WIDTH neighbours of a row, a block as many rows as it is high."""
    row = np.int64(cuda.blockIdx.y) * cuda.blockDim.y + cuda.threadIdx.y
    first = (np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x) * WIDTH
    while row < N.rows:
        place = WORD(row)
        base = WORD(N.offset[0])
        base_K = WORD(N.offset[K + 1])
        walk(place, DIVISORS, base=N.strides[0], base_K=N.strides[K + 1])
        at = first
        while at < N.cols:
            if WIDE:
                x_K = TAKE_K
                PUT(out, base + at, ALL(G(LANE_K)))
            else:
                out[base + at] = G(in_K[base_K + at * STEP_K])
            at += np.int64(cuda.gridDim.x) * cuda.blockDim.x * WIDTH
        row += np.int64(cuda.gridDim.y) * cuda.blockDim.y


def nest(in_K, out, N):
    """Elements in any order of memory: a thread finds the place of each of its own by division."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.rows:
        place = WORD(i)
        at = WORD(N.offset[0])
        at_K = WORD(N.offset[K + 1])
        walk(place, DIVISORS, at=N.strides[0], at_K=N.strides[K + 1])
        out[at] = G(in_K[at_K])
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x
