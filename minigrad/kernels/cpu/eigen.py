"""Eigenvalues and eigenvectors of general matrices on the CPU; a task is one matrix of a batch.

The matrix is balanced: rows and columns are scaled by powers of 2 until their sizes are similar.  Householder
reflections reduce it to Hessenberg form, and QR steps with one shift reduce this to a triangle, whose eigenvectors
follow by substitution.  A real matrix is computed as a complex one.

Sources: Golub and Van Loan, Matrix Computations, 4th edition, sections 7.4 to 7.6; the shift is that of Wilkinson;
Parlett and Reinsch, "Balancing a matrix for calculation of eigenvalues and eigenvectors" (1969).  The words of this
loop are in `backends/cpu/rotations.py`, which runs it.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

import numpy as np

from minigrad.kernels.fields import Fields, loop


def size_of(x):  # type: ignore[no-untyped-def]
    """Return the sum of the magnitudes of both parts."""
    return abs(x.real) + abs(x.imag)


def balance(x, n, scales):  # type: ignore[no-untyped-def]
    """Replace x by D^-1 x D with a diagonal D of powers of 2, and write its diagonal."""
    for i in range(n):
        scales[i] = R(1)
    changed = True
    sweeps = 0
    while changed and sweeps < 30:
        changed = False
        sweeps += 1
        for i in range(n):
            row = R(0)
            column = R(0)
            for j in range(n):
                if j != i:
                    row += size_of(x[i * n + j])
                    column += size_of(x[j * n + i])
            total = row + column
            f = R(1)
            if row > R(0) and column > R(0):
                while column < row / R(2):
                    f *= R(2)
                    column *= R(4)
                while column >= row * R(2):
                    f /= R(2)
                    column /= R(4)
            if f != R(1) and (row + column) / f < R(0.95) * total:
                changed = True
                scales[i] *= f
                for j in range(n):
                    x[i * n + j] *= R(1) / f
                    x[j * n + i] *= f


def hessenberg(x, q, n, v, w):  # type: ignore[no-untyped-def]
    """Reduce x by reflections to a triangle with one diagonal below it, and multiply q by the reflections."""
    for k in range(n - 2):
        norm = R(0)
        for i in range(k + 1, n):
            v[i] = x[i * n + k]
            norm += v[i].real * v[i].real + v[i].imag * v[i].imag
        norm = np.sqrt(norm)
        size = abs(v[k + 1])
        if norm > size:  # otherwise the elements below are 0 already
            v[k + 1] += (v[k + 1] / size if size > R(0) else T(1)) * norm
            factor = R(1) / (norm * (norm + size))
            for j in range(k, n):
                w[j] = T(0)
            for i in range(k + 1, n):
                f = v[i].conjugate()
                row = x[i * n + k : (i + 1) * n]
                z = w[k:n]
                for j in range(n - k):
                    z[j] += f * row[j]
            for i in range(k + 1, n):
                f = factor * v[i]
                row = x[i * n + k : (i + 1) * n]
                z = w[k:n]
                for j in range(n - k):
                    row[j] -= f * z[j]
            right_reflection(x, n, k + 1, v, factor)
            right_reflection(q, n, k + 1, v, factor)
        for i in range(k + 2, n):
            x[i * n + k] = T(0)


def right_reflection(x, n, start, v, factor):  # type: ignore[no-untyped-def]
    """Replace x by x - factor (x v) v.H, where the elements of v from `start` on are not 0."""
    u = v[start:n]
    for i in range(n):
        row = x[i * n + start : (i + 1) * n]
        total = T(0)
        for j in range(n - start):
            total += row[j] * u[j]
        total *= factor
        for j in range(n - start):
            row[j] -= total * u[j].conjugate()


def shift_of(x, n, high, tries):  # type: ignore[no-untyped-def]
    """Return the eigenvalue of the last two rows that is closer to the last element; sometimes another number."""
    c = x[high * n + high - 1]
    d = x[high * n + high]
    if tries % 10 == 0:
        return d + abs(c.real)
    half = (x[(high - 1) * n + high - 1] - d) * R(0.5)
    scale = max(size_of(half), size_of(x[(high - 1) * n + high]), size_of(c))  # otherwise squares would underflow
    half /= scale
    across = (x[(high - 1) * n + high] / scale) * (c / scale)
    root = np.sqrt(half * half + across)
    if half.real * root.real + half.imag * root.imag < R(0):
        root = -root
    below = half + root
    return d - (across / below * scale if below != T(0) else T(0))


def turn_columns(row, first, last, cosines, sines):  # type: ignore[no-untyped-def]
    """Apply the rotations of neighbouring columns to one row."""
    for k in range(first, last):
        c = cosines[k]
        s = sines[k]
        a = row[k]
        b = row[k + 1]
        row[k] = c * a + s.conjugate() * b
        row[k + 1] = c * b - s * a


def qr_step(x, q, n, low, high, shift, cosines, sines):  # type: ignore[no-untyped-def]
    """Make one QR step on the rows and columns from `low` to `high`, with a shift."""
    for i in range(low, high + 1):
        x[i * n + i] -= shift
    for k in range(low, high):
        a = x[k * n + k]
        b = x[(k + 1) * n + k]
        size = abs(a)
        r = np.hypot(size, abs(b))
        cosines[k] = size / r if r > R(0) else R(1)
        sines[k] = (a / size if size > R(0) else T(1)) * (b.conjugate() / r) if r > R(0) else T(0)
        c = cosines[k]
        s = sines[k]
        y = x[k * n + k : (k + 1) * n]
        z = x[(k + 1) * n + k : (k + 2) * n]
        for j in range(n - k):
            t = c * y[j] + s * z[j]
            z[j] = c * z[j] - s.conjugate() * y[j]
            y[j] = t
    for i in range(high + 1):  # each row is read once, by all rotations
        turn_columns(x[i * n : (i + 1) * n], max(low, i - 1), high, cosines, sines)
    for i in range(n):
        turn_columns(q[i * n : (i + 1) * n], low, high, cosines, sines)
    for i in range(low, high + 1):
        x[i * n + i] += shift


def triangle(x, q, n, cosines, sines):  # type: ignore[no-untyped-def]
    """Reduce a matrix in Hessenberg form to a triangle, and return whether the steps have converged."""
    high = n - 1
    tries = 0
    while high > 0 and tries <= 60:
        low = high
        while low > 0:
            near = size_of(x[low * n + low]) + size_of(x[(low - 1) * n + low - 1])
            if near == R(0):  # as in LAPACK's zlahqr
                near += abs(x[(low - 1) * n + low - 2].real) if low > 1 else R(0)
                near += abs(x[(low + 1) * n + low].real) if low < high else R(0)
            if size_of(x[low * n + low - 1]) <= max(EPS * near, TINY * EPS * EPS):
                x[low * n + low - 1] = T(0)
                break
            low -= 1
        if low == high:
            high -= 1
            tries = 0
        else:
            tries += 1
            qr_step(x, q, n, low, high, shift_of(x, n, high, tries), cosines, sines)
    return high <= 0


def vectors_of_triangle(x, n, y):  # type: ignore[no-untyped-def]
    """Write the eigenvectors of an upper triangle into the columns of y.

    Equal eigenvalues count as different by a rounding error.  A vector that grows is scaled.
    """
    for k in range(n):
        small = max(EPS * abs(x[k * n + k]), TINY * EPS)
        for i in range(n):
            y[i * n + k] = T(1) if i == k else T(0)
        for t in range(k):
            i = k - 1 - t
            total = T(0)
            for j in range(i + 1, k + 1):
                total += x[i * n + j] * y[j * n + k]
            d = x[i * n + i] - x[k * n + k]
            y[i * n + k] = -total / (d if abs(d) >= small else T(small))
            size = size_of(y[i * n + k])
            if size > R(1) / EPS:
                for j in range(i, k + 1):
                    y[j * n + k] /= size


def is_real(x, n, k, large):  # type: ignore[no-untyped-def]
    """Return whether the imaginary part of eigenvalue k of a real matrix is a rounding error.

    It is one if it is small compared with the eigenvalue, or compared with `large`, the largest element of the triangle
    x, and no other eigenvalue is close to the conjugate.
    """
    z = x[k * n + k]
    small = R(4) * R(n) * EPS
    if abs(z.imag) <= small * abs(z):
        return True
    for i in range(n):
        partner = x[i * n + i]
        if i != k and abs(partner - z.conjugate()) < R(2) * min(abs(partner.imag), abs(z.imag)):
            return False
    return abs(z.imag) <= small * large


def normalised(vectors, n, k, real):  # type: ignore[no-untyped-def]
    """Divide column k by its length, and by the phase of its largest element.  real: whether it is a real vector."""
    largest = R(0)
    phase = T(1)
    for i in range(n):
        size = abs(vectors[i * n + k])
        if size > largest:
            largest = size
            phase = vectors[i * n + k] / size
    total = R(0)
    for i in range(n):
        vectors[i * n + k] = vectors[i * n + k] / largest * phase.conjugate()
        if real:
            vectors[i * n + k] = vectors[i * n + k].real
        size = abs(vectors[i * n + k])
        total += size * size
    for i in range(n):
        vectors[i * n + k] /= np.sqrt(total)


@loop(
    Fields("n complex rank", "sizes[rank]", "offset row col strides[rank]"), results=2, fastmath=("contract",),
    helpers=(
        size_of, balance, right_reflection, hessenberg, shift_of, turn_columns, qr_step, triangle, vectors_of_triangle,
        is_real, normalised,
    ),
)  # fmt: skip
def eigenvectors(in_0, values, vectors, N):  # type: ignore[no-untyped-def]
    """Compute the eigenvalues, and the eigenvectors as columns.  A task is one matrix.

    The matrix is divided by its largest element first.  Eigenvalues of a real matrix whose imaginary parts are rounding
    errors become real: see `is_real`.
    """
    n = N.n
    x = workspace(n * n, T)
    q = workspace(n * n, T)
    y = workspace(n * n, T)
    v = workspace(n, T)
    w = workspace(n, T)
    cosines = workspace(n, R)
    scales = workspace(n, R)
    for task in range(first, last):
        rest = task
        at = N.offset[2]
        walk(rest, N.sizes, at=N.strides[2])
        size = R(0)
        for i in range(n):
            for c in range(n):
                z = T(in_0[at + i * N.row[2] + c * N.col[2]])
                x[i * n + c] = z
                q[i * n + c] = T(1) if i == c else T(0)
                size = abs(z) if abs(z) > size or z != z else size
        done = size - size == R(0)
        size = size if size != R(0) else R(1)
        for i in range(n * n):
            x[i] /= size
        balance(x, n, scales)
        hessenberg(x, q, n, v, w)
        done = done and triangle(x, q, n, cosines, v)
        large = R(0)
        for i in range(n * n):
            large = max(large, abs(x[i]))
        vectors_of_triangle(x, n, y)
        to = N.offset[1] + task * n * n
        for i in range(n):
            z = vectors[to + i * n : to + (i + 1) * n]
            for c in range(n):
                z[c] = T(0)
            for j in range(n):
                f = q[i * n + j] * scales[i]
                row = y[j * n : (j + 1) * n]
                for c in range(j, n):
                    z[c] += f * row[c]
        for k in range(n):
            value = x[k * n + k]
            real = not N.complex and is_real(x, n, k, large)
            value = T(value.real) if real else value
            values[N.offset[0] + task * n + k] = value * size if done else T(np.nan)
            if done:
                normalised(vectors[to : to + n * n], n, k, real)
    leave(x)
    leave(q)
    leave(y)
    leave(v)
    leave(w)
    leave(cosines)
    leave(scales)
