"""QR factors by Householder reflections.

A task is one matrix of a batch.  A reflection is two passes over the rows that it changes, both along memory.  Source:
Golub and Van Loan, Matrix Computations, 4th edition, algorithms 5.1.1 and 5.2.1; the signs, and the rule for omitting a
reflection, are those of LAPACK's dlarfg.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.cpu.lu import less
from minigrad.kernels.fields import Fields, loop


def reflect(x, n, rows, start, v, tau, w):  # type: ignore[no-untyped-def]
    """Replace the columns of x from `start` on by those of x - tau v (v.T x).

    x has rows of n elements; w has space for one row.
    """
    z = w[: n - start]
    for c in range(n - start):
        z[c] = 0
    even = rows // 8 * 8
    for i in range(0, even, 8):
        less(z, x[i * n : (i + 8) * n], start, n, v[i : i + 8])
    for i in range(even, rows):
        y = x[i * n + start : (i + 1) * n]
        f = v[i]
        for c in range(n - start):
            z[c] -= f * y[c]
    for i in range(rows):
        y = x[i * n + start : (i + 1) * n]
        f = tau * v[i]
        for c in range(n - start):
            y[c] += f * z[c]


@loop(
    Fields("m n p rank", "sizes[rank]", "offset row col strides[rank]"), results=2, helpers=(less, reflect),
    fastmath=("contract",),
)  # fmt: skip
def qr(in_0, q, r, N):  # type: ignore[no-untyped-def]
    """Factor each matrix; a task is one matrix.  q receives the orthonormal columns, r the upper triangle.

    x is first the matrix; then it has r in its upper triangle and the vectors of the reflections below.
    """
    m = N.m
    n = N.n
    p = N.p
    steps = min(m, n)
    x = workspace(m * n, T)
    v = workspace(m, T)
    w = workspace(max(n, p), T)
    taus = workspace(steps, T)
    for u in range(first, last):
        rest = u
        at = N.offset[2]
        walk(rest, N.sizes, at=N.strides[2])
        for i in range(m):
            for c in range(n):
                x[i * n + c] = in_0[at + i * N.row[2] + c * N.col[2]]
        for j in range(steps):
            size = T(0)
            for i in range(j, m):
                y = abs(x[i * n + j])
                size = y if y > size or y != y else size
            total = T(0)
            for i in range(j + 1, m):
                y = x[i * n + j] / size
                total += y * y
            taus[j] = T(0)
            if not (size == T(0) or total == T(0)):
                alpha = x[j * n + j] / size  # divided by the largest element: squares of small elements lose digits
                beta = np.sqrt(alpha * alpha + total)
                beta = -beta if alpha >= T(0) else beta
                taus[j] = (beta - alpha) / beta
                v[0] = T(1)
                for i in range(j + 1, m):
                    v[i - j] = x[i * n + j] / size / (alpha - beta)
                    x[i * n + j] = v[i - j]
                x[j * n + j] = beta * size
                reflect(x[j * n : m * n], n, m - j, j + 1, v, taus[j], w)
        to = N.offset[1] + u * p * n
        for i in range(p):
            for c in range(n):
                r[to + i * n + c] = x[i * n + c] if i < steps and c >= i else T(0)
        to = N.offset[0] + u * m * p
        for i in range(m):
            for c in range(p):
                q[to + i * p + c] = T(1) if i == c else T(0)
        for t in range(steps):
            j = steps - 1 - t
            if taus[j] != T(0):
                v[0] = T(1)
                for i in range(j + 1, m):
                    v[i - j] = x[i * n + j]
                reflect(q[to + j * p : to + m * p], p, m - j, j, v, taus[j], w)
    leave(x)
    leave(v)
    leave(w)
    leave(taus)
