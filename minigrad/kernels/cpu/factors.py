"""Cholesky factors of symmetric matrices, and solutions of triangular systems.

A task is one matrix of a batch.  Inner loops run along rows of the dense result, so they vectorise.  Source: Golub and
Van Loan, Matrix Computations, 4th edition: the outer product form of Cholesky (4.2.5), and row oriented substitution
(3.1).
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields

FACTOR = Fields("n rank", "sizes[rank]", "offset row col strides[rank]")
SOLVE = Fields("n k upper unit rank", "sizes[rank]", "offset row col strides[rank]")


def factor(in_0, values, out, N):  # type: ignore[no-untyped-def]
    """Factor each matrix; a task is one matrix.  `values` receives the upper triangles.

    `out` receives 1 for each row whose pivot is not positive, otherwise 0.
    """
    n = N.n
    zero = T(0)
    for u in range(first, last):
        rest = u
        at = N.offset[1]
        walk(rest, N.sizes, at=N.strides[1])
        to = N.offset[0] + u * n * n
        for i in range(n):
            z = values[to + i * n : to + (i + 1) * n]
            for j in range(n):
                z[j] = in_0[at + i * N.row[1] + j * N.col[1]] if j >= i else zero
        for j in range(n):
            x = values[to + j * n : to + (j + 1) * n]
            positive = x[j] > zero
            out[u * n + j] = 0 if positive else 1
            root = np.sqrt(x[j]) if positive else T(1)
            for k in range(j, n):
                x[k] = x[k] / root
            for i in range(j + 1, n):
                z = values[to + i * n : to + (i + 1) * n]
                f = x[i]
                for k in range(i, n):
                    z[k] -= f * x[k]


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
