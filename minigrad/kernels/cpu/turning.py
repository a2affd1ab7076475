"""Orthogonal rows by rotating pairs of rows: one-sided Jacobi.

A task is one matrix of a batch.  Each row of the matrix is followed in memory by the same row of the product of the
rotations, so that one loop rotates both.  Sources: Hestenes, "Inversion of matrices by biorthogonalization" (1958);
Golub and Van Loan, Matrix Computations, 4th edition, section 8.6; the longer row of a pair comes first (de Rijk 1989).
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.cpu.eigen import product, turn
from minigrad.kernels.fields import Fields, loop


def turn_pairs(x, k, n, lengths):  # type: ignore[no-untyped-def]
    """Make one sweep over all pairs of rows, and return whether a pair was rotated.

    A row has n elements, and k elements of the product of the rotations behind them.  Rows in the wrong order are
    exchanged, so a sweep without a rotation leaves the rows sorted.
    """
    wide = n + k
    turned = False
    for p in range(k):
        y = x[p * wide : p * wide + n]
        lengths[p] = product(y, y)
    for p in range(k - 1):
        for q in range(p + 1, k):
            y = x[p * wide : (p + 1) * wide]
            z = x[q * wide : (q + 1) * wide]
            a = lengths[p]
            b = lengths[q]
            g = product(z, y[:n])
            if not abs(g) <= T(4) * EPS * np.sqrt(max(a, TINY)) * np.sqrt(max(b, TINY)):
                turned = True
                ratio = (b - a) / (T(2) * g)
                steep = np.sqrt(ratio * ratio + T(1))
                t = T(1) / (ratio + steep) if ratio >= T(0) else T(1) / (ratio - steep)
                c = T(1) / np.sqrt(t * t + T(1))
                s = t * c
                a -= t * g
                b += t * g
                if b > a:
                    a, b = b, a
                    c, s = s, -c
                turn(y, z, c, s)
                lengths[p] = a
                # If b is small compared with a, it has lost digits, so it is computed again from the row.
                lengths[q] = b if T(64) * b > a else product(z, z[:n])
            elif b > a:
                turn(y, z, T(0), T(-1))
                lengths[p] = b
                lengths[q] = a
    return turned


@loop(
    Fields("k n rank", "sizes[rank]", "offset row col strides[rank]"), results=3, fastmath=("contract", "reassoc"),
    helpers=(product, turn, turn_pairs),
)  # fmt: skip
def orthogonal_rows(in_0, j, y, lengths, N):  # type: ignore[no-untyped-def]
    """Write the product of the rotations (j), the rotated rows (y), and the lengths of these in descending order."""
    k = N.k
    n = N.n
    wide = n + k
    x = workspace(k * wide, T)
    for task in range(first, last):
        rest = task
        at = N.offset[3]
        walk(rest, N.sizes, at=N.strides[3])
        size = T(0)
        for i in range(k):
            for c in range(n):
                value = in_0[at + i * N.row[3] + c * N.col[3]]
                x[i * wide + c] = value
                size = abs(value) if abs(value) > size or value != value else size
            for c in range(k):
                x[i * wide + n + c] = T(1) if i == c else T(0)
        size = size if size != T(0) else T(1)
        for i in range(k):
            for c in range(n):
                x[i * wide + c] /= size
        sizes = lengths[N.offset[2] + task * k : N.offset[2] + (task + 1) * k]
        sweeps = 0
        while sweeps < 30 and turn_pairs(x, k, n, sizes):
            sweeps += 1
        for i in range(k):
            sizes[i] = np.sqrt(sizes[i]) * size if sweeps < 30 else T(np.nan)
            for c in range(n):
                y[N.offset[1] + (task * k + i) * n + c] = x[i * wide + c] * size
            for c in range(k):
                j[N.offset[0] + (task * k + i) * k + c] = x[i * wide + n + c]
    leave(x)
