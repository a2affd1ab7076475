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


def phase_of(x):  # type: ignore[no-untyped-def]
    """Return x / |x|, or 1 for 0."""
    size = max(abs(x.real), abs(x.imag))
    y = x / size if size != T(0).real else T(1)  # the magnitude of a subnormal number would have few digits
    return y / abs(y)


def balance(x, n, scales):  # type: ignore[no-untyped-def]
    """Replace x by D^-1 x D with a diagonal D of powers of 2, and write its diagonal."""
    for i in range(n):
        scales[i] = REAL(1)
    changed = True
    sweeps = 0
    while changed and sweeps < 30:
        changed = False
        sweeps += 1
        for i in range(n):
            row = REAL(0)
            column = REAL(0)
            for j in range(n):
                if j != i:
                    row += size_of(x[i * n + j])
                    column += size_of(x[j * n + i])
            total = row + column
            f = REAL(1)
            if row > REAL(0) and column > REAL(0):
                while column < row / REAL(2):
                    f *= REAL(2)
                    column *= REAL(4)
                while column >= row * REAL(2):
                    f /= REAL(2)
                    column /= REAL(4)
            if f != REAL(1) and (row + column) / f < REAL(0.95) * total:
                changed = True
                scales[i] *= f
                for j in range(n):
                    x[i * n + j] *= REAL(1) / f
                    x[j * n + i] *= f


def hessenberg(x, q, n, u, v, w):  # type: ignore[no-untyped-def]
    """Reduce x by reflections to a triangle with one diagonal below it, and multiply the transpose of q by them."""
    for k in range(n - 2):
        largest = REAL(0)
        for i in range(k + 1, n):
            v[i] = x[i * n + k]
            largest = max(largest, size_of(v[i]))
        norm = REAL(0)
        for i in range(k + 1, n):  # the length of v has no effect, but its square may underflow
            v[i] /= largest if largest > REAL(0) else REAL(1)
            norm += v[i].real * v[i].real + v[i].imag * v[i].imag
        norm = np.sqrt(norm)
        size = abs(v[k + 1])
        if norm > size:  # otherwise the elements below are 0 already
            v[k + 1] += phase_of(v[k + 1]) * norm
            for i in range(k + 1, n):
                u[i] = v[i].conjugate()
            factor = REAL(1) / (norm * (norm + size))
            reflect_rows(x, n, k, k + 1, u, v, w, factor)
            reflect_columns(x, n, k + 1, u, v, factor)
            reflect_rows(q, n, 0, k + 1, v, u, w, factor)
        for i in range(k + 2, n):
            x[i * n + k] = T(0)


def reflect_rows(x, n, column, start, u, v, w, factor):  # type: ignore[no-untyped-def]
    """Replace x by x - factor v (u.T x) from a column on; u is the conjugate of v, and 0 before `start`."""
    z = w[column:n]
    for j in range(n - column):
        z[j] = T(0)
    for i in range(start, n):
        f = u[i]
        row = x[i * n + column : (i + 1) * n]
        for j in range(n - column):
            z[j] += f * row[j]
    for i in range(start, n):
        f = factor * v[i]
        row = x[i * n + column : (i + 1) * n]
        for j in range(n - column):
            row[j] -= f * z[j]


def reflect_columns(x, n, start, u, v, factor):  # type: ignore[no-untyped-def]
    """Replace x by x - factor (x v) u.T, where u is the conjugate of v, and 0 before `start`."""
    for i in range(n):
        row = x[i * n + start : (i + 1) * n]
        y = v[start:n]
        z = u[start:n]
        total = T(0)
        for j in range(n - start):
            total += row[j] * y[j]
        total *= factor
        for j in range(n - start):
            row[j] -= total * z[j]


def shift_of(x, n, high, tries):  # type: ignore[no-untyped-def]
    """Return the eigenvalue of the last two rows that is closer to the last element; sometimes another number."""
    c = x[high * n + high - 1]
    d = x[high * n + high]
    if tries % 10 == 0:
        return d + abs(c.real)
    half = (x[(high - 1) * n + high - 1] - d) * REAL(0.5)
    scale = max(size_of(half), size_of(x[(high - 1) * n + high]), size_of(c))  # otherwise squares would underflow
    half /= scale
    across = (x[(high - 1) * n + high] / scale) * (c / scale)
    root = np.sqrt(half * half + across)
    if half.real * root.real + half.imag * root.imag < REAL(0):
        root = -root
    below = half + root
    return d - (across / below * scale if below != T(0) else T(0))


def turn_columns(x, n, i, first, last, cosines, sines):  # type: ignore[no-untyped-def]
    """Apply the rotations of neighbouring columns to four rows, whose operations do not wait for each other."""
    p = x[i * n : (i + 1) * n]
    q = x[(i + 1) * n : (i + 2) * n]
    y = x[(i + 2) * n : (i + 3) * n]
    z = x[(i + 3) * n : (i + 4) * n]
    a = p[first]
    b = q[first]
    d = y[first]
    e = z[first]
    for k in range(first, last):
        c = cosines[k]
        s = sines[k]
        r = s.conjugate()
        p[k] = c * a + r * p[k + 1]
        q[k] = c * b + r * q[k + 1]
        y[k] = c * d + r * y[k + 1]
        z[k] = c * e + r * z[k + 1]
        a = c * p[k + 1] - s * a
        b = c * q[k + 1] - s * b
        d = c * y[k + 1] - s * d
        e = c * z[k + 1] - s * e
    p[last] = a
    q[last] = b
    y[last] = d
    z[last] = e


def turn_rows(y, z, c, s):  # type: ignore[no-untyped-def]
    """Replace two rows by c y + s z and c z - conj(s) y."""
    r = s.conjugate()
    for j in range(len(y)):
        t = c * y[j] + s * z[j]
        z[j] = c * z[j] - r * y[j]
        y[j] = t


def qr_step(x, q, n, low, high, shift, cosines, sines):  # type: ignore[no-untyped-def]
    """Make one QR step on the rows and columns from `low` to `high`, with a shift.

    Rows of x up to a multiple of 4 are turned together: behind `high` these are zeros in the turned columns.
    """
    for i in range(low, high + 1):
        x[i * n + i] -= shift
    for k in range(low, high):
        a = x[k * n + k]
        b = x[(k + 1) * n + k]
        size = abs(a)
        r = np.hypot(size, abs(b))
        cosines[k] = size / r if r > REAL(0) else REAL(1)
        sines[k] = phase_of(a) * (b.conjugate() / r) if r > REAL(0) else T(0)
        c = cosines[k]
        s = sines[k]
        turn_rows(x[k * n + k : (k + 1) * n], x[(k + 1) * n + k : (k + 2) * n], c, s)
        x[(k + 1) * n + k] = T(0)
        turn_rows(q[k * n : (k + 1) * n], q[(k + 1) * n : (k + 2) * n], c, s.conjugate())
    for i in range(0, high + 1, 4):
        turn_columns(x, n, i, max(low, i - 1), high, cosines, sines)
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
            if near == REAL(0):  # as in LAPACK's zlahqr
                near += abs(x[(low - 1) * n + low - 2].real) if low > 1 else REAL(0)
                near += abs(x[(low + 1) * n + low].real) if low < high else REAL(0)
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
    """Write the eigenvectors of an upper triangle into the rows of y.

    Equal eigenvalues count as different by a rounding error.  A vector that grows is scaled.
    """
    for k in range(n):
        small = max(EPS * abs(x[k * n + k]), TINY * EPS)
        row = y[k * n : (k + 1) * n]
        for i in range(n):
            row[i] = T(1) if i == k else T(0)
        for t in range(k):
            i = k - 1 - t
            a = x[i * n + i + 1 : i * n + k + 1]
            b = row[i + 1 : k + 1]
            total = T(0)
            for j in range(k - i):
                total += a[j] * b[j]
            d = x[i * n + i] - x[k * n + k]
            row[i] = -total / (d if abs(d) >= small else T(small))
            size = size_of(row[i])
            if size > REAL(1) / EPS:
                for j in range(i, k + 1):
                    row[j] /= size


def is_real(x, n, k, large):  # type: ignore[no-untyped-def]
    """Return whether the imaginary part of eigenvalue k of a real matrix is a rounding error.

    It is one if it is small compared with the eigenvalue, or compared with `large`, the largest element of the triangle
    x, and no other eigenvalue is close to the conjugate.
    """
    z = x[k * n + k]
    small = REAL(4) * REAL(n) * EPS
    if abs(z.imag) <= small * abs(z):
        return True
    for i in range(n):
        partner = x[i * n + i]
        if i != k and abs(partner - z.conjugate()) < REAL(2) * min(abs(partner.imag), abs(z.imag)):
            return False
    return abs(z.imag) <= small * large


def normalised(vectors, n, k, real):  # type: ignore[no-untyped-def]
    """Divide column k by its length, and by the phase of its largest element.  real: whether it is a real vector."""
    largest = REAL(0)
    phase = T(1)
    for i in range(n):
        size = abs(vectors[i * n + k])
        if size > largest:
            largest = size
            phase = vectors[i * n + k] / size
    total = REAL(0)
    for i in range(n):
        vectors[i * n + k] = vectors[i * n + k] / largest * phase.conjugate()
        if real:
            vectors[i * n + k] = vectors[i * n + k].real
        size = abs(vectors[i * n + k])
        total += size * size
    for i in range(n):
        vectors[i * n + k] /= np.sqrt(total)


@loop(
    Fields("n complex rank", "sizes[rank]", "offset row col strides[rank]"), results=2,
    fastmath=("contract", "reassoc"),
    helpers=(
        size_of, phase_of, balance, reflect_rows, reflect_columns, hessenberg, shift_of, turn_columns, turn_rows,
        qr_step, triangle, vectors_of_triangle, is_real, normalised,
    ),
)  # fmt: skip
def eigenvectors(in_0, values, vectors, N):  # type: ignore[no-untyped-def]
    """Compute the eigenvalues, and the eigenvectors as columns.  A task is one matrix.

    The matrix is divided by its largest element first.  Eigenvalues of a real matrix whose imaginary parts are rounding
    errors become real: see `is_real`.
    """
    n = N.n
    x = workspace((n + 3) * n, T)  # with rows of zeros, so that four rows at a time are turned
    q = workspace(n * n, T)
    y = workspace(n * n, T)
    u = workspace(n, T)
    v = workspace(n, T)
    w = workspace(n, T)
    cosines = workspace(n, REAL)
    scales = workspace(n, REAL)
    for task in range(first, last):
        rest = task
        at = N.offset[2]
        walk(rest, N.sizes, at=N.strides[2])
        size = REAL(0)
        for i in range(n):
            for c in range(n):
                z = T(in_0[at + i * N.row[2] + c * N.col[2]])
                x[i * n + c] = z
                q[i * n + c] = T(1) if i == c else T(0)
                size = abs(z) if abs(z) > size or z != z else size
        done = size - size == REAL(0)
        size = size if size != REAL(0) else REAL(1)
        for i in range(n * n):
            x[i] /= size
        for i in range(n * n, (n + 3) * n):
            x[i] = T(0)
        balance(x, n, scales)
        hessenberg(x, q, n, u, v, w)
        done = done and triangle(x, q, n, cosines, v)
        large = REAL(0)
        for i in range(n * n):
            large = max(large, abs(x[i]))
        vectors_of_triangle(x, n, y)
        to = N.offset[1] + task * n * n
        for k in range(n):
            for i in range(n):
                w[i] = T(0)
            for j in range(k + 1):
                f = y[k * n + j]
                row = q[j * n : (j + 1) * n]
                for i in range(n):
                    w[i] += f * row[i]
            for i in range(n):
                vectors[to + i * n + k] = w[i] * scales[i]
        for k in range(n):
            value = x[k * n + k]
            real = not N.complex and is_real(x, n, k, large)
            value = T(value.real) if real else value
            values[N.offset[0] + task * n + k] = value * size if done else T(np.nan)
            if done:
                normalised(vectors[to : to + n * n], n, k, real)
    leave(x, q, y, u, v, w, cosines, scales)
