"""LU factors with partial pivoting.

A task is one matrix of a batch.  Eight columns are factored at a time.  Then the product of these columns and their
rows is subtracted from the rest of the matrix, so each remaining row is read and written only once per eight columns,
along memory.  Source: Golub and Van Loan, Matrix Computations, 4th edition, sections 3.2 and 3.4 (right-looking, in
blocks).
"""

# ruff: noqa: F821
from minigrad.kernels.fields import Fields, loop

WIDE = 8  # columns of a block; the text of `less` has as many rows


def less(z, rows, start, n, f):  # type: ignore[no-untyped-def]
    """Subtract the products of eight factors f and eight rows from z.

    `rows` has eight rows of n elements; the elements from `start` on are used.
    """
    wide = len(z)
    a = rows[start : start + wide]
    b = rows[n + start : n + start + wide]
    c = rows[2 * n + start : 2 * n + start + wide]
    d = rows[3 * n + start : 3 * n + start + wide]
    e = rows[4 * n + start : 4 * n + start + wide]
    g = rows[5 * n + start : 5 * n + start + wide]
    h = rows[6 * n + start : 6 * n + start + wide]
    p = rows[7 * n + start : 7 * n + start + wide]
    s, t, u, v, w, x, y, q = f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]
    for k in range(wide):
        z[k] -= s * a[k] + t * b[k] + u * c[k] + v * d[k] + w * e[k] + x * g[k] + y * h[k] + q * p[k]


@loop(
    Fields("m n rank", "sizes[rank]", "offset row col strides[rank]"), helpers=(less,), fastmath=("contract",)
)  # fmt: skip
def lu(in_0, out, pivots, order, N):  # type: ignore[no-untyped-def]
    """Factor each matrix; a task is one matrix.  `out` receives both triangles.

    pivots: the row with which each step exchanges its row.  order: for each row of the result, its row in the operand.
    """
    m = N.m
    n = N.n
    steps = min(m, n)
    for u in range(first, last):
        rest = u
        at = N.offset[3]
        walk(rest, N.sizes, at=N.strides[3])
        to = N.offset[0] + u * m * n
        rows = order[N.offset[2] + u * m : N.offset[2] + (u + 1) * m]
        for i in range(m):
            rows[i] = i
            z = out[to + i * n : to + (i + 1) * n]
            for c in range(n):
                z[c] = in_0[at + i * N.row[3] + c * N.col[3]]
        for start in range(0, steps, 8):
            stop = min(steps, start + 8)
            for j in range(start, stop):
                p = j
                best = abs(out[to + j * n + j])
                for i in range(j + 1, m):
                    x = abs(out[to + i * n + j])
                    if x > best:
                        best = x
                        p = i
                pivots[N.offset[1] + u * steps + j] = p
                if p != j:
                    rows[j], rows[p] = rows[p], rows[j]
                    y = out[to + j * n : to + (j + 1) * n]
                    z = out[to + p * n : to + (p + 1) * n]
                    for c in range(n):
                        y[c], z[c] = z[c], y[c]
                y = out[to + j * n : to + j * n + stop]
                pivot = y[j] if y[j] != T(0) else T(1)
                for i in range(j + 1, m):
                    z = out[to + i * n : to + i * n + stop]
                    f = z[j] / pivot
                    z[j] = f
                    for c in range(j + 1, stop):
                        z[c] -= f * y[c]
            for i in range(start + 1, stop):
                z = out[to + i * n + stop : to + (i + 1) * n]
                for j in range(start, i):
                    y = out[to + j * n + stop : to + (j + 1) * n]
                    f = out[to + i * n + j]
                    for c in range(n - stop):
                        z[c] -= f * y[c]
            if stop < n:  # a block of fewer than eight columns has no rows below it
                y = out[to + start * n : to + stop * n]
                for i in range(stop, m):
                    less(
                        out[to + i * n + stop : to + (i + 1) * n],
                        y,
                        stop,
                        n,
                        out[to + i * n + start : to + i * n + stop],
                    )
