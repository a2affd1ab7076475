"""Products with a vector, products of small matrices, and the sum of the pieces of a product.

`tile.py` has the loop for all other products.  A product with a vector takes as long as reading the matrix.  If each
row is one run of memory, a warp reads the row with neighbouring lanes.  If each column is one run of memory, 32
neighbouring threads read one row each, and eight threads share a row.  `LANE` of `LANES`, `GROUP` of `GROUPS` and
`JOINED` are as in `reduction.py`.  `FACTOR` converts a number to a factor.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields


def vector_fields(rank):
    """Return the numbers of `vector` for `rank` dims of the batch."""
    numbers = "tasks across pieces deep rows length alpha beta a am ak b bk c cm to om piece"
    lists = " ".join(f"{name}[{rank}]" for name in ("sizes", "a_steps", "b_steps", "c_steps", "to_steps"))
    return Fields(numbers, lists)


def vector(in_K, out, N):
    """out = alpha * in_0 @ in_1 + beta * in_2; a group of threads computes one row."""
    alpha = FACTOR(N.alpha)
    if ADDED:
        beta = FACTOR(N.beta)
    task = np.int64(cuda.blockIdx.x)
    while task < N.tasks:
        row = task % N.across * GROUPS + GROUP
        rest = task // N.across
        part = rest % N.pieces
        batch = rest // N.pieces
        a = N.a
        b = N.b
        c = N.c
        to = N.to + part * N.piece
        walk(batch, N.sizes, a=N.a_steps, b=N.b_steps, c=N.c_steps, to=N.to_steps)
        acc = T(0)
        if row < N.rows:
            k = part * N.deep + LANE
            stop = min(N.length, (part + 1) * N.deep)
            a += row * N.am
            while k < stop:
                acc = T(acc + T(LOAD_0(in_0[a + k * N.ak]) * LOAD_1(in_1[b + k * N.bk])))
                k += LANES
        joined = JOINED(acc)
        if LANE == 0 and row < N.rows:
            value = T(alpha * joined[0])
            if ADDED:
                value = T(value + T(beta * LOAD_2(in_2[c + row * N.cm])))
            out[to + row * N.om] = STORE(value)
        task += np.int64(cuda.gridDim.x)


def small_fields(rank):
    """Return the numbers of `small` for `rank` dims of the result."""
    lists = " ".join(f"{name}[{rank}]" for name in ("sizes", "a_steps", "b_steps", "c_steps", "to_steps"))
    return Fields("count length alpha beta a ak b bk c to", lists)


def small(in_K, out, N):
    """out = alpha * in_0 @ in_1 + beta * in_2 for any number of small matrices; a thread computes one element."""
    alpha = FACTOR(N.alpha)
    if ADDED:
        beta = FACTOR(N.beta)
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.count:
        position = i
        a = N.a
        b = N.b
        c = N.c
        to = N.to
        walk(position, N.sizes, a=N.a_steps, b=N.b_steps, c=N.c_steps, to=N.to_steps)
        acc = T(0)
        for k in range(N.length):
            acc = T(acc + T(LOAD_0(in_0[a + k * N.ak]) * LOAD_1(in_1[b + k * N.bk])))
        value = T(alpha * acc)
        if ADDED:
            value = T(value + T(beta * LOAD_2(in_2[c])))
        out[to] = STORE(value)
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def join_fields(rank):
    """Return the numbers of `join` for `rank` dims of the result."""
    return Fields("count pieces alpha beta c to", f"sizes[{rank}] c_steps[{rank}] to_steps[{rank}]")


def join(in_K, out, N):
    """out = alpha * the sum of the pieces in their order + beta * in_1; a thread computes one element."""
    alpha = FACTOR(N.alpha)
    if ADDED:
        beta = FACTOR(N.beta)
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.count:
        acc = in_0[i]
        for part in range(1, N.pieces):
            acc = T(acc + in_0[i + part * N.count])
        position = i
        c = N.c
        to = N.to
        walk(position, N.sizes, c=N.c_steps, to=N.to_steps)
        value = T(alpha * acc)
        if ADDED:
            value = T(value + T(beta * LOAD_1(in_1[c])))
        out[to] = STORE(value)
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x
