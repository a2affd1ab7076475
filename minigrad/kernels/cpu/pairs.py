"""Pairs of rows of matrices: their distances, and the gradient with respect to the elements of a matrix.

`columns` is a matrix in the compute dtype, transposed.  So the distances of one row from neighbouring rows are a loop
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


def from_row(heads, at, step, columns, start, width, m, acc, y):  # type: ignore[no-untyped-def]
    """Write to `y` the distances of one row from neighbouring rows; `acc` is memory for as many sums.

    Element k of the row is heads[at + k * step], and element k of neighbour j is columns[start + k * width + j].
    """
    count = len(y)
    for j in range(count):
        acc[j] = 0.0
    for low in range(0, m, 8):
        p = columns[start + low * width : start + (min(m, low + 8) - 1) * width + count]
        a = heads[at + low * step :]
        if low + 8 <= m:
            for j in range(count):
                s = IDENTITY
                for q in each(COLUMNS):
                    s = T(F(s, a[q * step] - p[np.uint64(j + q * width)]))
                acc[j] += np.float64(s)
        else:
            for k in range(m - low):
                x = p[k * width : k * width + count]
                for j in range(count):
                    acc[j] += np.float64(T(F(IDENTITY, a[k * step] - x[j])))
    for j in range(count):
        y[j] = STORE(FINISH(T(acc[j]), m))


PAIRS = Fields("rows cols to chunk")


def pairs(columns, out, N):  # type: ignore[no-untyped-def]
    """Compute the distances of all pairs of rows.  A task is `chunk` rows from the beginning and as many from the end.

    So all tasks have the same number of pairs, except the last one.
    """
    n = N.rows
    total = workspace(n, np.float64)
    for task in range(first, last):
        for turn in range(2 * task * N.chunk, 2 * min((n + 1) // 2, (task + 1) * N.chunk)):
            i = turn // 2 if turn % 2 == 0 else n - 1 - turn // 2
            count = n - 1 - i
            if turn % 2 and i == turn // 2:
                count = 0  # if n is odd, the previous turn has computed the row in the middle
            at = N.to + i * (2 * n - i - 1) // 2
            from_row(columns, i, n, columns, i + 1, n, N.cols, total[:count], out[at : at + count])
    leave(total)


CROSSED = Fields("rows others cols heads to chunk")


def crossed(matrix, columns, out, N):  # type: ignore[no-untyped-def]
    """Compute the distances of each row of `matrix` from all rows of the other matrix, in each batch of `rows` rows."""
    n = N.others
    total = workspace(n, np.float64)
    for i in range(first * N.chunk, min(N.heads, last * N.chunk)):
        to = N.to + i * n
        from_row(matrix, i * N.cols, 1, columns, i // N.rows * N.cols * n, n, N.cols, total[:n], out[to : to + n])
    leave(total)


def to_row(x, factors, matrix, base, total, part, y):  # type: ignore[no-untyped-def]
    """Write to `y` the sum of the factors times the directions from the rows of a matrix to the row x.

    matrix[base] is the first element of the first row.  `total` and `part` are memory for as many sums as x is long.
    """
    n = len(factors)
    m = len(x)
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
                f_q = factors[j + q]
                z_q = matrix[base + (j + q) * m : base + (j + q + 1) * m]
            for k in range(m):
                r = s[k]
                for q in each(ROWS):
                    r += T(f_q * T(DIRECTION(x[k] - z_q[k])))
                s[k] = r
            j += 4
        while j < high:
            a = factors[j]
            z = matrix[base + j * m : base + (j + 1) * m]
            for k in range(m):
                s[k] += T(a * T(DIRECTION(x[k] - z[k])))
            j += 1
        for k in range(m):
            total[k] += np.float64(s[k])
    for k in range(m):
        y[k] = STORE(T(total[k]))


def pair_gradients(factors, matrix, out, N):  # type: ignore[no-untyped-def]
    """Compute the gradients of a chunk of rows; factors: one number per pair of rows."""
    n = N.rows
    m = N.cols
    total = workspace(m, np.float64)
    part = workspace(m, T)
    own = workspace(n, T)
    for i in range(first * N.chunk, min(n, last * N.chunk)):
        for j in range(i):
            own[j] = factors[j * (2 * n - j - 1) // 2 + i - j - 1]
        own[i] = T(0)
        for j in range(i + 1, n):
            own[j] = factors[i * (2 * n - i - 1) // 2 + j - i - 1]
        to = N.to + i * m
        to_row(matrix[i * m : (i + 1) * m], own[:n], matrix, 0, total, part, out[to : to + m])
    leave(total)
    leave(part)
    leave(own)


def crossed_gradients(factors, matrix, others, out, N):  # type: ignore[no-untyped-def]
    """Compute the gradients of a chunk of rows; factors: one number per row and row of the other matrix."""
    n = N.others
    m = N.cols
    total = workspace(m, np.float64)
    part = workspace(m, T)
    for i in range(first * N.chunk, min(N.heads, last * N.chunk)):
        to = N.to + i * m
        base = i // N.rows * n * m
        own = factors[i * n : (i + 1) * n]
        to_row(matrix[i * m : (i + 1) * m], own, others, base, total, part, out[to : to + m])
    leave(total)
    leave(part)
