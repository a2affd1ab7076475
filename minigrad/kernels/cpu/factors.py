"""Cholesky factors of symmetric matrices, and solutions of triangular systems.

A task is one matrix of a batch.  Inner loops run along rows of the dense result, so they vectorise.  Eight rows of a
Cholesky factor are computed at a time, then their products are subtracted from the rows below by `lu.less`, so each of
these is read and written once per eight rows.  Source: Golub and Van Loan, Matrix Computations, 4th edition: the outer
product form of Cholesky (4.2.5, 4.2.6), and row oriented substitution (3.1).
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.cpu.lu import less
from minigrad.kernels.fields import Fields, loop


@loop(Fields("n rank", "sizes[rank]", "offset row col strides[rank]"), helpers=(less,), fastmath=("contract",))
def cholesky(in_0, values, out, N):  # type: ignore[no-untyped-def]
    """Factor each matrix; a task is one matrix.  `values` receives the upper triangles.

    `out` receives 1 for each row whose pivot is not positive, otherwise 0.
    """
    n = N.n
    zero = T(0)
    column = workspace(8, T)
    for u in range(first, last):
        rest = u
        at = N.offset[1]
        walk(rest, N.sizes, at=N.strides[1])
        to = N.offset[0] + u * n * n
        for i in range(n):
            z = values[to + i * n : to + (i + 1) * n]
            for j in range(n):
                z[j] = in_0[at + i * N.row[1] + j * N.col[1]] if j >= i else zero
        for start in range(0, n, 8):
            stop = min(n, start + 8)
            for j in range(start, stop):
                x = values[to + j * n : to + (j + 1) * n]
                positive = x[j] > zero
                out[u * n + j] = 0 if positive else 1
                root = np.sqrt(x[j]) if positive else T(1)
                for k in range(j, n):
                    x[k] = x[k] / root
                for i in range(j + 1, stop):
                    z = values[to + i * n : to + (i + 1) * n]
                    f = x[i]
                    for k in range(i, n):
                        z[k] -= f * x[k]
            rows = values[to + start * n : to + stop * n]
            for i in range(stop, n):  # the last block, which may have fewer than eight rows, has no rows below it
                for j in range(8):
                    column[j] = rows[j * n + i]
                less(values[to + i * n + i : to + (i + 1) * n], rows, i, n, column)
    leave(column)


@loop(Fields("n k upper unit rank", "sizes[rank]", "offset row col strides[rank]"))
def solve(in_0, in_1, out, N):  # type: ignore[no-untyped-def]
    """Solve a triangular system with m right-hand sides; a task is one matrix.

    The rows of the result are computed one after the other: from each, the products with the earlier rows are
    subtracted.
    """
    n = N.n
    m = N.k
    for u in range(first, last):
        rest = u
        at = N.offset[1]
        p = N.offset[2]
        walk(rest, N.sizes, at=N.strides[1], p=N.strides[2])
        to = N.offset[0] + u * n * m
        for t in range(n):
            i = n - 1 - t if N.upper else t
            z = out[to + i * m : to + (i + 1) * m]
            for c in range(m):
                z[c] = in_1[p + i * N.row[2] + c * N.col[2]]
            for s in range(t):
                j = n - 1 - s if N.upper else s
                f = in_0[at + i * N.row[1] + j * N.col[1]]
                y = out[to + j * m : to + (j + 1) * m]
                for c in range(m):
                    z[c] -= f * y[c]
            if not N.unit:
                d = in_0[at + i * N.row[1] + i * N.col[1]]
                for c in range(m):
                    z[c] = z[c] / d
