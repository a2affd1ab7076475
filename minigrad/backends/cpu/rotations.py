"""Eigenvalues and orthogonal rows on the CPU; a task is one matrix of a batch, and sums may be taken in any order.

Symmetric matrices are reduced to tridiagonal form, then QL steps follow.  During the computation eigenvectors are rows,
so every inner loop reads neighbours in memory.  Sources: Golub and Van Loan, Matrix Computations, 4th edition, section
8.3; the QL step is that of Martin and Wilkinson, "The implicit QL algorithm" (1968).

Rows become orthogonal by rotating pairs of rows (one-sided Jacobi).  Each row of the matrix is followed in memory by
the same row of the product of the rotations, so that one loop rotates both.  Sources: Hestenes, "Inversion of matrices
by biorthogonalization" (1958); Golub and Van Loan, section 8.6; the longer row of a pair comes first (de Rijk 1989).
Singular values are computed from orthogonal rows and QR factors.

Complex numbers: a Hermitian matrix is reduced to complex diagonals next to the main diagonal.  The phases of these are
moved into the eigenvectors, so the QL steps are real.  One row of a pair is multiplied by a phase that makes the inner
product of the pair real, and then rotated.  REAL is the type of a real part.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps, run_matrices
from minigrad.core import requests
from minigrad.kernels.cpu.eigen import eigenvectors, phase_of
from minigrad.kernels.cpu.matmul import less
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.pasting import Late


def product(x, y):  # type: ignore[no-untyped-def]
    """Return the inner product of a row x and the conjugate of a row y, with additions in any order."""
    total = T(0)
    for k in range(len(y)):
        total += x[k] * y[k].conjugate()
    return total


def tridiagonal(x, n, diagonal, beside, factors, z):  # type: ignore[no-untyped-def]
    """Reduce a symmetric or Hermitian matrix to three diagonals by Householder reflections.

    diagonal and beside receive the main diagonal and the one next to it.  The conjugate vectors of the reflections
    overwrite the rows of x to the right of these diagonals; `factors` receives their factors, which are real.
    """
    for k in range(n - 2):
        v = x[k * n + k + 1 : (k + 1) * n]
        size = REAL(0)
        for i in range(n - k - 1):
            size = max(size, abs(v[i]))
        factors[k] = REAL(0)
        beside[k] = v[0]
        size = size if size != REAL(0) else REAL(1)
        for i in range(n - k - 1):
            v[i] /= size
        alpha = v[0]
        below = product(v[1:], v[1 : n - k - 1]).real
        if below > REAL(0) or below != below:
            beta = -phase_of(alpha) * np.sqrt((alpha * alpha.conjugate()).real + below)
            beside[k] = beta * size
            factor = ((beta - alpha) / beta).real
            factors[k] = factor
            for i in range(1, n - k - 1):
                v[i] /= alpha - beta
            v[0] = T(1)
            p = z[: n - k - 1]
            for i in range(n - k - 1):
                p[i] = T(0)
            even = (n - k - 1) // 8 * 8
            for i in range(k + 1, k + 1 + even, 8):
                less(p, x[i * n : (i + 8) * n], k + 1, n, v[i - k - 1 : i - k + 7])
            for i in range(k + 1 + even, n):
                y = x[i * n + k + 1 : (i + 1) * n]
                f = v[i - k - 1]
                for c in range(n - k - 1):
                    p[c] -= f * y[c]
            half = REAL(0.5) * factor * product(p, v[: n - k - 1])
            for i in range(n - k - 1):
                p[i] = -factor * (p[i] - half * v[i])
            for i in range(k + 1, n):
                y = x[i * n + k + 1 : (i + 1) * n]
                f = v[i - k - 1].conjugate()
                g = p[i - k - 1].conjugate()
                for c in range(n - k - 1):
                    y[c] -= f * p[c] + g * v[c]
    for k in range(n):
        diagonal[k] = x[k * n + k].real
    if n > 1:
        beside[n - 2] = x[(n - 2) * n + n - 1]


def make_real(beside, n, real_beside, u, wide):  # type: ignore[no-untyped-def]
    """Write the magnitudes of the numbers next to the diagonal, and multiply their phases into the rows of u.

    wide: the number of elements of a row of u, here and below; 0 if no eigenvectors are wanted.
    """
    phase = T(1)
    for k in range(n - 1):
        phase *= phase_of(beside[k])
        real_beside[k] = abs(beside[k])
        y = u[(k + 1) * wide : (k + 2) * wide]
        for c in range(wide):
            y[c] *= phase


def vectors_of(x, n, factors, u):  # type: ignore[no-untyped-def]
    """Multiply the reflections into the rows of u, the last reflection first."""
    for i in range(n):
        for c in range(n):
            u[i * n + c] = T(1) if i == c else T(0)
    for t in range(n - 2):
        k = n - 3 - t
        if factors[k] != REAL(0):
            v = x[k * n + k + 1 : (k + 1) * n]
            for i in range(k + 1, n):
                y = u[i * n + k + 1 : (i + 1) * n]
                f = factors[k] * product(y, v[: n - k - 1])
                for c in range(n - k - 1):
                    y[c] -= f * v[c]


def turn(x, y, c, s):  # type: ignore[no-untyped-def]
    """Rotate two rows by the angle with cosine c and sine s, which has the phase of their inner product."""
    t = s.conjugate()
    for k in range(len(y)):
        f = y[k]
        y[k] = t * x[k] + c * f
        x[k] = c * x[k] - s * f


def steps_of(diagonal, beside, low, n, u, wide):  # type: ignore[no-untyped-def]
    """Run QL steps until the eigenvalue at `low` is isolated.

    Returns False if 60 steps are not enough, for example with nan.  The largest element is 1.  If it is much larger
    than the smallest eigenvalues, rounding errors may never become small compared with these.  So after 8 steps, an
    element of the size of a rounding error counts as 0.
    """
    for step in range(60):
        small = EPS if step > 8 else EPS * EPS
        m = low
        while m < n - 1:
            if abs(beside[m]) <= EPS * (abs(diagonal[m]) + abs(diagonal[m + 1])) + small:
                break
            m += 1
        if m == low:
            return True
        g = (diagonal[low + 1] - diagonal[low]) / (REAL(2) * beside[low])
        r = np.sqrt(g * g + REAL(1))
        g = diagonal[m] - diagonal[low] + beside[low] / (g + (r if g >= REAL(0) else -r))
        s = REAL(1)
        c = REAL(1)
        p = REAL(0)
        for t in range(m - low):
            i = m - 1 - t
            f = s * beside[i]
            b = c * beside[i]
            if abs(f) > abs(g):  # dividing by the larger of f and g avoids overflow and underflow
                r = g / f
                e = np.sqrt(r * r + REAL(1))
                s = REAL(1) / e
                c = r * s
                e = f * e
            else:
                s = REAL(1)
                c = REAL(0)
                e = f
                if g != REAL(0):
                    r = f / g
                    e = np.sqrt(r * r + REAL(1))
                    c = REAL(1) / e
                    s = r * c
                    e = g * e
            beside[i + 1] = e
            g = diagonal[i + 1] - p
            r = (diagonal[i] - g) * s + REAL(2) * c * b
            p = s * r
            diagonal[i + 1] = g + p
            g = c * r - b
            turn(u[i * wide : (i + 1) * wide], u[(i + 1) * wide : (i + 2) * wide], c, s)
        diagonal[low] -= p
        beside[low] = g
        beside[m] = REAL(0)
    return False


@loop(
    Fields("n wide complex rank", "sizes[rank]", "offset row col strides[rank]"), results=2,
    fastmath=("contract", "reassoc"),
    helpers=(product, phase_of, turn, less, tridiagonal, make_real, vectors_of, steps_of),
)  # fmt: skip
def eigenvalues(in_0, values, vectors, N):  # type: ignore[no-untyped-def]
    """Compute the eigenvalues in ascending order, and the eigenvectors as columns.  A task is one matrix.

    Only the upper triangle is read.  It is divided by its largest element first.
    """
    n, wide = N.n, N.wide
    x = workspace(n * n, T)
    u = workspace(n * wide, T)
    diagonal = workspace(n, REAL)
    beside = workspace(n, T)
    real_beside = workspace(n, REAL)
    z = workspace(n, T)
    for task in range(first, last):
        rest = task
        at = N.offset[2]
        walk(rest, N.sizes, at=N.strides[2])
        size = REAL(0)
        for i in range(n):
            for c in range(i, n):
                y = in_0[at + i * N.row[2] + c * N.col[2]]
                y = T(y.real) if i == c else y
                x[i * n + c] = y
                size = abs(y) if abs(y) > size or y != y else size
        size = size if size != REAL(0) else REAL(1)
        for i in range(n):
            for c in range(i, n):
                x[i * n + c] /= size
                x[c * n + i] = x[i * n + c].conjugate()
        factors = values[N.offset[0] + task * n : N.offset[0] + (task + 1) * n]
        tridiagonal(x, n, diagonal, beside, factors, z)
        if wide:
            vectors_of(x, n, factors, u)
        if N.complex:
            make_real(beside, n, real_beside, u, wide)
        else:
            for k in range(n - 1):
                real_beside[k] = beside[k].real
        done = size - size == REAL(0)
        for low in range(n):
            done = done and steps_of(diagonal, real_beside, low, n, u, wide)
        to = N.offset[1] + task * n * n
        for k in range(n):  # sort: in each turn, the smallest of the remaining eigenvalues comes next
            best = 0
            for i in range(1, n):
                if diagonal[i] < diagonal[best]:
                    best = i
            factors[k] = diagonal[best] * size if done else REAL(np.nan)
            diagonal[best] = REAL(np.inf)
            for i in range(wide):
                vectors[to + i * n + k] = u[best * n + i].conjugate()
    leave(x, u, diagonal, beside, real_beside, z)


def turn_pairs(x, k, n, lengths, with_phases):  # type: ignore[no-untyped-def]
    """Make one sweep over all pairs of rows, and return whether a pair was rotated or exchanged.

    A row has n elements, and k elements of the product of the rotations behind them.  Rows in the wrong order are
    exchanged.  An exchange moves rows past others, so only a sweep without one has compared every two rows.
    with_phases: whether the numbers are complex.
    """
    wide = n + k
    turned = False
    for p in range(k):
        y = x[p * wide : p * wide + n]
        lengths[p] = product(y, y).real
    for p in range(k - 1):
        for q in range(p + 1, k):
            y = x[p * wide : (p + 1) * wide]
            z = x[q * wide : (q + 1) * wide]
            a = lengths[p]
            b = lengths[q]
            g = product(y, z[:n])
            if not abs(g) <= REAL(4) * EPS * np.sqrt(max(a, TINY)) * np.sqrt(max(b, TINY)):
                turned = True
                size = abs(g) if with_phases else g.real
                ratio = (b - a) / (REAL(2) * size)
                steep = np.sqrt(ratio * ratio + REAL(1))
                t = REAL(1) / (ratio + steep) if ratio >= REAL(0) else REAL(1) / (ratio - steep)
                c = REAL(1) / np.sqrt(t * t + REAL(1))
                s = t * c
                a -= t * size
                b += t * size
                if b > a:
                    a, b = b, a
                    c, s = s, -c
                turn(y, z, c, phase_of(g) * s if with_phases else T(s))
                lengths[p] = a
                # If b is small compared with a, it has lost digits, so it is computed again from the row.
                lengths[q] = b if REAL(64) * b > a else product(z, z[:n]).real
            elif b > a:
                turned = True
                turn(y, z, REAL(0), T(-1))
                lengths[p] = b
                lengths[q] = a
    return turned


@loop(
    Fields("k n complex rank", "sizes[rank]", "offset row col strides[rank]"), results=3,
    fastmath=("contract", "reassoc"), helpers=(product, phase_of, turn, turn_pairs),
)  # fmt: skip
def orthogonal_rows(in_0, j, y, lengths, N):  # type: ignore[no-untyped-def]
    """Write the product of the rotations (j), the rotated rows (y), and the lengths of these in descending order."""
    k, n = N.k, N.n
    wide = n + k
    x = workspace(k * wide, T)
    for task in range(first, last):
        rest = task
        at = N.offset[3]
        walk(rest, N.sizes, at=N.strides[3])
        size = REAL(0)
        for i in range(k):
            for c in range(n):
                value = in_0[at + i * N.row[3] + c * N.col[3]]
                x[i * wide + c] = value
                size = abs(value) if abs(value) > size or value != value else size
            for c in range(k):
                x[i * wide + n + c] = T(1) if i == c else T(0)
        size = size if size != REAL(0) else REAL(1)
        for i in range(k):
            for c in range(n):
                x[i * wide + c] /= size
        sizes = lengths[N.offset[2] + task * k : N.offset[2] + (task + 1) * k]
        sweeps = 0
        while sweeps < 30 and turn_pairs(x, k, n, sizes, N.complex):
            sweeps += 1
        for i in range(k):
            sizes[i] = np.sqrt(sizes[i]) * size if sweeps < 30 else REAL(np.nan)
            for c in range(n):
                y[N.offset[1] + (task * k + i) * n + c] = x[i * wide + c] * size
            for c in range(k):
                j[N.offset[0] + (task * k + i) * k + c] = x[i * wide + n + c]
    leave(x)


@serves(CpuBackend, requests.Eigh)
def eigh(steps: CpuSteps, request: requests.Eigh) -> None:
    n = steps.operands[0].shape[-1]
    if request.general:
        rotate(steps, eigenvectors, 25 * n, n=n)
    else:
        rotate(steps, eigenvalues, 10 * n, n=n, wide=n if request.vectors else 0)


@serves(CpuBackend, requests.TurnRows)
def turn_rows(steps: CpuSteps, request: requests.TurnRows) -> None:
    k, n = steps.operands[0].shape[-2:]
    rotate(steps, orthogonal_rows, 20 * k, k=k, n=n)


def rotate(steps: CpuSteps, template: Callable[..., Any], cost: int, **sizes: Any) -> None:
    """Add the step of one of the loops over a batch of matrices."""
    (a,) = steps.operands
    compute = a.dtype.compute if template is not eigenvectors else a.dtype.to_complex().compute
    words = Late(rounding, (compute,))
    run_matrices(steps, template, steps.outs, words=words, compute=compute, numel=a.layout.numel, cost=cost,
                 complex=a.dtype.is_complex, **sizes)  # fmt: skip


def rounding(compute: np.dtype[Any]) -> dict[str, Any]:
    """Return the words `REAL`, `EPS`, half of the distance from 1 to the next number, and `TINY`."""
    number = np.finfo(compute)
    real = f"np.{number.dtype}"
    return {"REAL": real, "EPS": f"{real}({number.eps / 2})", "TINY": f"{real}({number.tiny / number.eps**3})"}
