"""All pairs of rows of a matrix: their distances, and the gradient with respect to the elements of the matrix.

`columns` is the matrix in the compute dtype, transposed.  So the distances of one row from all later rows are a loop
over neighbours, which vectorises without re-ordering additions.  Eight columns are added up to one term in the compute
dtype, and the terms are added in float64.  A gradient adds the terms of 32 rows in the compute dtype, four at a time,
and then adds these sums in float64.

Free names: `F` is the reduction's scalar function of (acc, difference), and `FINISH` its last step.  `DIRECTION` is the
function of a difference in a gradient.  `COLUMNS` is 8 and `ROWS` is 4.  Each output is computed by one task, in one
order, so the number of threads cannot change a result.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields

DISTANCES = Fields("rows cols to chunk")


def distances(columns, out, N):  # type: ignore[no-untyped-def]
    """Compute the distances of all pairs of rows.  A task is `chunk` rows from the beginning and as many from the end.

    So all tasks have the same number of pairs, except the last one.
    """
    n = N.rows
    m = N.cols
    total = workspace(n, np.float64)
    for task in range(first, last):
        for turn in range(2 * task * N.chunk, 2 * min((n + 1) // 2, (task + 1) * N.chunk)):
            i = turn // 2 if turn % 2 == 0 else n - 1 - turn // 2
            count = n - 1 - i
            if turn % 2 and i == turn // 2:
                count = 0  # if n is odd, the previous turn has computed the row in the middle
            acc = total[:count]
            for j in range(count):
                acc[j] = 0.0
            for low in range(0, m, 8):
                p = columns[low * n : (low + 8) * n]
                if low + 8 <= m:
                    for j in range(count):
                        s = IDENTITY
                        for q in each(COLUMNS):
                            s = T(F(s, p[i + n * q] - p[np.uint64(i + 1 + j + n * q)]))
                        acc[j] += np.float64(s)
                else:
                    for k in range(m - low):
                        a = p[k * n + i]
                        x = p[k * n + i + 1 : k * n + n]
                        for j in range(count):
                            acc[j] += np.float64(T(F(IDENTITY, a - x[j])))
            at = N.to + i * (2 * n - i - 1) // 2
            y = out[at : at + count]
            for j in range(count):
                y[j] = STORE(FINISH(T(acc[j]), m))
    leave(total)


GRADIENTS = Fields("rows cols to chunk")


def factor_of(factors, i, j, n):  # type: ignore[no-untyped-def]
    """Return the factor of a pair of rows, which is 0 if both are the same row."""
    low = min(i, j)
    return T(0) if i == j else factors[low * (2 * n - low - 1) // 2 + max(i, j) - low - 1]


def gradients(factors, matrix, out, N):  # type: ignore[no-untyped-def]
    """Compute the gradients of a chunk of rows; factors: one number per pair of rows."""
    n = N.rows
    m = N.cols
    total = workspace(m, np.float64)
    part = workspace(m, T)
    for i in range(first * N.chunk, min(n, last * N.chunk)):
        x = matrix[i * m : (i + 1) * m]
        for k in range(m):
            total[k] = 0.0
        for low in range(0, n, 32):
            s = part[:m]
            for k in range(m):
                s[k] = T(0)
            high = min(n, low + 32)
            j = low
            while j + 4 <= high:
                for q in each(ROWS):
                    f_q = factor_of(factors, i, j + q, n)
                    z_q = matrix[(j + q) * m : (j + q + 1) * m]
                for k in range(m):
                    r = s[k]
                    for q in each(ROWS):
                        r += T(f_q * T(DIRECTION(x[k] - z_q[k])))
                    s[k] = r
                j += 4
            while j < high:
                a = factor_of(factors, i, j, n)
                z = matrix[j * m : (j + 1) * m]
                for k in range(m):
                    s[k] += T(a * T(DIRECTION(x[k] - z[k])))
                j += 1
            for k in range(m):
                total[k] += np.float64(s[k])
        y = out[N.to + i * m : N.to + (i + 1) * m]
        for k in range(m):
            y[k] = STORE(T(total[k]))
    leave(total)
    leave(part)
