"""Singular values without vectors on the CPU: a matrix of two diagonals, whose values are then counted.

Householder reflections of rows and columns in turn reduce a matrix to two diagonals; a task is one matrix of a batch.
The pass that applies the reflections of a step also computes the products with the next reflection, four rows at a
time, so each step reads the rest of the matrix twice and writes it once.

Value k in ascending order is the largest number x with at most k values below it.  A task bisects the intervals of
LANES values together, until their ends are neighbours in the dtype.  The number of values below x is the number of
negative pivots of B.T B - x^2 (`count_below`); rounding errors of these correspond to relative errors of the elements
of B.  So small values of two diagonals are as exact as large ones, and those of a diagonal matrix have no error.

Sources: Golub and Van Loan, Matrix Computations, 4th edition, section 5.4.8; Dongarra, Hammarling and Sorensen, "Block
reduction of matrices to condensed forms" (1989), for delayed changes; Fernando, "Accurately counting singular values of
bidiagonal matrices and eigenvalues of skew-symmetric tridiagonal matrices" (1998).
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

import math

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.core import requests
from minigrad.core.dtype import float64
from minigrad.kernels.cpu.eigen import phase_of
from minigrad.kernels.cpu.matmul import less
from minigrad.kernels.fields import Fields, loop

BLOCK = 8  # elements: the passes over rows begin and end at multiples of it
LANES = 32  # values that are counted together; their divisions do not wait for each other
TINY = 1e-290  # pivots and squares of values below it count as 0; the largest element is about 1
ROTATED = 7  # the size of matrices up to which rotations of rows take less time


def reflector(v):  # type: ignore[no-untyped-def]
    """Replace v by the vector, with a first element of 1, of the reflection that turns v into a multiple of e1.

    Return the factor of the reflection, which is real, and the multiple.  If the other elements are 0, the factor is 0
    and v is unchanged.
    """
    size = T(0).real
    for i in range(len(v)):
        size = max(size, abs(v[i]))
    size = size if size != T(0).real else T(1).real
    alpha = v[0] / size  # the squares of small elements would lose digits
    below = T(0).real
    for i in range(1, len(v)):
        part = v[i] / size
        below += (part * part.conjugate()).real
    if below == T(0).real:
        return T(0).real, abs(v[0])
    beta = -np.sqrt((alpha * alpha.conjugate()).real + below) * phase_of(alpha)
    for i in range(1, len(v)):
        v[i] = v[i] / size / (alpha - beta)
    v[0] = T(1)
    return ((beta - alpha) / beta).real, abs(beta) * size


def four_rows(x, start, pitch, f, p, g, o, u):  # type: ignore[no-untyped-def]
    """Subtract conj(f) p + conj(g) o from four rows of x, and replace g by their products with u.

    start: the index of the first element.  f, g: a factor per row.
    """
    wide = len(u) // BLOCK * BLOCK
    a = x[start : start + wide]
    b = x[start + pitch : start + pitch + wide]
    c = x[start + 2 * pitch : start + 2 * pitch + wide]
    d = x[start + 3 * pitch : start + 3 * pitch + wide]
    fa, fb, fc, fd = f[0].conjugate(), f[1].conjugate(), f[2].conjugate(), f[3].conjugate()
    ga, gb, gc, gd = g[0].conjugate(), g[1].conjugate(), g[2].conjugate(), g[3].conjugate()
    za, zb, zc, zd = T(0), T(0), T(0), T(0)
    for k in range(wide):
        s = a[k] - fa * p[k] - ga * o[k]
        t = b[k] - fb * p[k] - gb * o[k]
        v = c[k] - fc * p[k] - gc * o[k]
        w = d[k] - fd * p[k] - gd * o[k]
        a[k], b[k], c[k], d[k] = s, t, v, w
        za += s * u[k]
        zb += t * u[k]
        zc += v * u[k]
        zd += w * u[k]
    g[0], g[1], g[2], g[3] = za, zb, zc, zd


def bidiagonal(x, m, n, pitch, values, v, z, p, o, u):  # type: ignore[no-untyped-def]
    """Write the squares of the two diagonals to which reflections reduce a matrix with m >= n.

    They alternate: the first of the main diagonal, the first of the other one, and so on.  Rows of x have `pitch`
    elements, and the matrix is followed by zeros: by at least BLOCK of them in a row, and by 8 rows.
    v, z: m + 8 elements; v is the conjugate column that the next reflection of rows turns.  The matrix is
    x - conj(z) o, where o is the conjugate vector of the last reflection of columns, which is delayed.
    p, o, u: `pitch` elements; p receives the change of the rows by their reflection, and u the next vector of columns.
    """
    for i in range(pitch):
        p[i], o[i], u[i] = T(0), T(0), T(0)
    for i in range(m + 8):
        v[i], z[i] = x[i * pitch].conjugate(), T(0)
    end = pitch - BLOCK
    for k in range(n):
        factor, size = reflector(v[k:m])
        values[2 * k] = np.float64(size) * np.float64(size)
        if k < n - 1:
            start = (k + 1) // BLOCK * BLOCK
            row = p[start:end]
            total = T(0)
            for i in range(k, m):
                total += v[i] * z[i].conjugate()
            for c in range(len(row)):
                row[c] = total * o[start + c]
            for i in range(k, m, 8):
                less(row, x[i * pitch : (i + 8) * pitch], start, pitch, v[i : i + 8])
            for c in range(len(row)):
                row[c] *= -factor
            f = z[k].conjugate()
            for c in range(k + 1, n):
                u[c] = (x[k * pitch + c] - f * o[c] - p[c]).conjugate()
            u[k] = T(0)
            factor, size = reflector(u[k + 1 : n])
            values[2 * k + 1] = np.float64(size) * np.float64(size)
            for i in range(k + 1, m, 4):
                four_rows(x, i * pitch + start, pitch, v[i:], row, z[i:], o[start:], u[start:end])
            for i in range(k + 1, m):
                z[i] = factor * z[i].conjugate()
                v[i] = x[i * pitch + k + 1].conjugate() - z[i]
            for c in range(start, n):
                o[c] = u[c].conjugate()


@loop(
    Fields("m n row col least_power in_0 rank", "sizes[rank] strides[rank]"), fastmath=("contract", "reassoc"),
    helpers=(less, phase_of, reflector, four_rows, bidiagonal),
)  # fmt: skip
def two_diagonals(in_0, out, N):  # type: ignore[no-untyped-def]
    """Write the squares of two diagonals, then the power of 2 that divided the matrix.  A task is one matrix."""
    m, n = N.m, N.n
    pitch = (n + BLOCK - 1) // BLOCK * BLOCK + BLOCK
    x, v, z = workspace((m + 8) * pitch, T), workspace(m + 8, T), workspace(m + 8, T)
    p, o, u = workspace(pitch, T), workspace(pitch, T), workspace(pitch, T)
    for task in range(first, last):
        rest = task
        at = N.in_0
        walk(rest, N.sizes, at=N.strides)
        size = T(0).real
        for i in range((m + 8) * pitch):
            x[i] = T(0)
        for i in range(m):
            for c in range(n):
                y = in_0[at + i * N.row + c * N.col]
                x[i * pitch + c] = y
                size = abs(y) if abs(y) > size or y != y else size
        finite = size - size == T(0).real
        power = math.ldexp(1.0, max(N.least_power, math.frexp(np.float64(size) if finite else 1.0)[1] - 1))
        for i in range(m * pitch):
            x[i] *= T(1.0 / power).real
        bidiagonal(x, m, n, pitch, out[2 * n * task : 2 * n * (task + 1)], v, z, p, o, u)
        out[2 * n * (task + 1) - 1] = power
    leave(x, v, z, p, o, u)


def float_of(bits):  # type: ignore[no-untyped-def]
    """Return the float64 with these bits."""
    return np.int64(bits).view(np.float64)


def middle_of(low, high, unused):  # type: ignore[no-untyped-def]
    """Return the bits in the middle of an interval, with zeros in their last `unused` bits."""
    return low + ((high - low) >> (unused + 1) << unused)


def count_below(values, n, squares, rests, counts):  # type: ignore[no-untyped-def]
    """Write for some numbers x, of which the squares are given, how many singular values are below x.

    values: the squares of two diagonals.  A count is the number of negative pivots of L D L.T = B.T B - x^2, computed
    by the differential stationary algorithm of Fernando.
    """
    lanes = len(squares) // BLOCK * BLOCK
    for c in range(lanes):
        rests[c] = -squares[c]
        counts[c] = 0
    for i in range(n):
        q = values[2 * i]
        e = values[2 * i + 1]
        for c in range(lanes):
            pivot = q + rests[c]
            pivot = pivot if abs(pivot) > TINY else TINY
            counts[c] += 1 if pivot < 0.0 else 0
            rests[c] = e * (rests[c] / pivot) - squares[c]


@loop(Fields("n parts unused in_0 out"), helpers=(float_of, middle_of, count_below))
def counted_values(in_0, out, N):  # type: ignore[no-untyped-def]
    """Write the singular values of two diagonals in descending order; a task is one of the `parts` of a matrix.

    The bits of positive numbers have the order of the numbers, so intervals of bits are bisected.  The last `unused`
    bits of a number of the dtype are 0 in float64.
    """
    n, unused = N.n, N.unused
    step = np.int64(1) << unused
    low, high, counts = workspace(LANES, np.int64), workspace(LANES, np.int64), workspace(LANES, np.int64)
    squares, rests = workspace(LANES, np.float64), workspace(LANES, np.float64)
    for task in range(first, last):
        at = N.in_0 + task // N.parts * 2 * n
        start = task % N.parts * LANES
        lanes = min(LANES, (n - start + BLOCK - 1) // BLOCK * BLOCK)
        values = in_0[at : at + 2 * n]
        total = 0.0
        for i in range(2 * n - 1):
            total += values[i]
        finite = total - total == 0.0
        gap = np.int64(np.float64(2.0 * np.sqrt(total) if finite else 0.0).view(np.int64)) >> unused << unused
        for c in range(lanes):
            low[c] = 0
            high[c] = gap + step
        while gap >= step:
            for c in range(lanes):
                x = float_of(middle_of(low[c], high[c], unused))
                squares[c] = x * x
            count_below(values, n, squares[:lanes], rests, counts)
            gap = 0
            for c in range(lanes):
                middle = middle_of(low[c], high[c], unused)
                above = counts[c] < n - start - c
                low[c] = middle if above else low[c]
                high[c] = high[c] if above else middle
                gap = max(gap, high[c] - low[c] - step)
        for c in range(min(LANES, n - start)):
            x = float_of(low[c])
            x = x * values[2 * n - 1] if x * x > TINY else 0.0
            out[N.out + task // N.parts * n + start + c] = x if finite else np.nan
    leave(low, high, counts, squares, rests)


@serves(CpuBackend, requests.SVD)
def singular_values(steps: CpuSteps, request: requests.SVD) -> None:
    """Compute the values alone; for vectors, and for few rows or columns, rotations are necessary or faster."""
    (a,), (m, n) = steps.operands, steps.operands[0].shape[-2:]
    if request.vectors or min(m, n) <= ROTATED:
        steps.lower(request)
        return
    *strides, row, col = a.layout.strides
    batch, real = a.shape[:-2], a.dtype.to_real()
    if m < n:
        m, n, row, col = n, m, col, row
    number = np.finfo(real.compute)
    squares = steps.work((*batch, 2 * n), float64)
    steps.run(
        two_diagonals, a, squares, compute=a.dtype.compute, tasks=math.prod(batch), numel=a.layout.numel, cost=4 * n,
        m=m, n=n, row=row, col=col, least_power=int(number.minexp), sizes=batch, strides=strides,
    )  # fmt: skip
    parts = -(-n // LANES)
    steps.run(
        counted_values, squares, steps.outs[0], compute=real.compute, tasks=math.prod(batch) * parts, cost=100 * n, n=n,
        parts=parts, unused=52 - int(number.nmant),
    )  # fmt: skip
