"""Elementwise loops: a dense run, dense rows, arbitrary strides, and tiles.

Any number of operands is possible, except in tiles, which are for one operand whose neighbours in memory are not
neighbours in the result.

Free names, filled in by `specialize`: `F` is the op's scalar function.  `LOAD_K` and `STORE` are the conversions
between memory and registers; `G` is `value`, which calls all three.  With `WIDE`, a thread computes WIDTH neighbours
together: `TAKE_K` reads them by one load of up to 128 bits, or is the one element of an operand with step 0.  `LANE_K`
is the J-th of them, `ALL` writes its argument once for each of them, and `PUT` stores them.  With `APART`, a thread
computes four elements of a row at distances of `step`, so that four loads of each operand are in flight.  `WORD` is the
type of positions, and the list `DIVISORS` splits a position into indices.  `TURN`, a line of its own, writes WIDTH x
WIDTH elements to shared memory as columns, and `TAKE` reads WIDTH of them there.

Every loop continues in strides of the grid, so any size of grid is correct.  Strides and offsets are in elements; those
of `out` come first.  The dims are those of `shape`, as many as the kernel has.
"""

# ruff: noqa: F821, F841
import numpy as np

from minigrad.kernels.fields import Fields


def value(in_K):
    """Return one element of the result."""
    return STORE(F(LOAD_K(in_K)))


def divide(n, magic, shift):
    """Return n // d for n below 2**31.

    magic, shift: the two numbers that belong to d.  Source: T. Granlund, P. L. Montgomery, "Division by invariant
    integers using multiplication", PLDI 1994, figure 4.1.
    """
    high = np.uint32((np.uint64(n) * np.uint64(magic)) >> np.uint64(32))
    return np.uint32(np.uint32(high + n) >> np.uint32(shift))


DENSE = Fields("n whole", each="offset")


def dense(in_K, out, N):
    """Compute a run of n elements: `whole` groups of WIDTH, then the others."""
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
    """Return the numbers of `rows` and `nest` for `rank` outer dims."""
    return Fields("rows cols", f"shape[{rank}] magic[{rank}] shift[{rank}]", f"offset strides[{rank}]")


def rows(in_K, out, N):
    """Compute rows of cols elements: a thread computes WIDTH neighbours of a row, a block `blockDim.y` rows."""
    row = np.int64(cuda.blockIdx.y) * cuda.blockDim.y + cuda.threadIdx.y
    first = (np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x) * WIDTH
    step = np.int64(cuda.gridDim.x) * cuda.blockDim.x * WIDTH
    while row < N.rows:
        position = WORD(row)
        base = WORD(N.offset[0])
        base_K = WORD(N.offset[K + 1])
        walk(position, DIVISORS, base=N.strides[0], base_K=N.strides[K + 1])
        at = first
        if APART:
            while at + 3 * step < N.cols:
                x_K = TAKE_K
                y = ALL(G(LANE_K))
                out[base + at] = y[0]
                out[base + at + step] = y[1]
                out[base + at + 2 * step] = y[2]
                out[base + at + 3 * step] = y[3]
                at += 4 * step
        while at < N.cols:
            if WIDE:
                x_K = TAKE_K
                PUT(out, base + at, ALL(G(LANE_K)))
            else:
                out[base + at] = G(in_K[base_K + at * STEP_K])
            at += step
        row += np.int64(cuda.gridDim.y) * cuda.blockDim.y


def nest(in_K, out_R, N):
    """Compute elements with arbitrary strides, for any number of results; a thread finds positions by division."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.rows:
        position = WORD(i)
        to_R = WORD(N.offset[R])
        at_K = WORD(N.offset[K + RESULTS])
        walk(position, DIVISORS, to_R=N.strides[R], at_K=N.strides[K + RESULTS])
        # All operands are read before a result is written, because they may use the same memory.
        F(LOAD_K(in_K[at_K]), out_R[to_R])
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


HIGH = 8  # number of rows of 32 threads that load a tile together


def tiles_fields(rank):
    """Return the numbers of `tiles` for `rank` dims in addition to its two.

    near: the distance of neighbours in a row of the tile.  far: the distance of neighbours in a column.
    """
    return Fields("tasks down across rows cols", f"shape[{rank}]", f"offset near far strides[{rank}]")


def tiles(in_0, out, N):
    """Transpose tiles of SIDE x SIDE in shared memory, so that a warp both reads and writes neighbours.

    A row runs along the result, a column along the operand.  A word contains the elements of one row and WIDTH columns.
    The words of a column would be in the same bank of shared memory, so each row has its own order of words.
    """
    tile = cuda.shared.array(AREA, HELD, alignment=16)
    x = np.int32(cuda.threadIdx.x)
    y = np.int32(cuda.threadIdx.y)
    task = np.int64(cuda.blockIdx.x)
    while task < N.tasks:
        strip = task // N.across
        col = (task - strip * N.across) * SIDE
        rest = strip // N.down
        row = (strip - rest * N.down) * SIDE
        to = N.offset[0] + (row + y) * N.far[0] + (col + x * WIDTH) * N.near[0]
        # Beyond the end, the last word is read again, so that no load waits for a bounds check.
        at = N.offset[1] + min(row + x * WIDTH, N.rows - WIDTH) * N.near[1]
        walk(rest, N.shape, to=N.strides[0], at=N.strides[1])
        for e in range(TURNS):
            word = y + e * HIGH
            TURN(at + min(col + word * WIDTH, N.cols - WIDTH) * N.far[1], x, word)
        cuda.syncthreads()
        high = np.int32(min(N.rows - row, np.int64(SIDE)))
        if col + x * WIDTH < N.cols:
            for e in range(LINES):
                line = np.int32(y + e * HIGH)
                if line < high:
                    PUT(out, to, TAKE(tile, (line * 32 + (x ^ (line // WIDTH))) * WIDTH))
                to += HIGH * N.far[0]
        cuda.syncthreads()
        task += np.int64(cuda.gridDim.x)
