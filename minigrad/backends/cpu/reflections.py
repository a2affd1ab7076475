"""QR factors on the CPU by Householder reflections; a task is one matrix of a batch.

A reflection is two passes over the rows that it changes (Golub and Van Loan, Matrix Computations, 4th edition, 5.1.1
and 5.2.1).  The signs, and the rule for omitting a reflection, are those of LAPACK's dlarfg.  A large real matrix that
is not in a batch is divided: most of the work is then products, which threads share.  The same texts compute with
complex numbers: a real number is its own real part and conjugate.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from math import prod

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import COLUMNS, PITCH, CpuBackend, CpuSteps, run_matrices
from minigrad.backends.steps import Value
from minigrad.core import requests
from minigrad.core.layout import Layout
from minigrad.kernels.cpu.matmul import less
from minigrad.kernels.fields import Fields, loop

REFLECTIONS = 32  # reflections of a matrix that are applied together


def reflect(x, n, rows, start, v, tau, w):  # type: ignore[no-untyped-def]
    """Replace the columns of x from `start` on by those of x - tau u (u.H x), for the conjugate v of the vector u.

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
        f = tau * v[i].conjugate()
        for c in range(n - start):
            y[c] += f * z[c]


def triangularize(x, m, n, v, w, taus):  # type: ignore[no-untyped-def]
    """Apply reflections to the rows of x, until it has r in its upper triangle and their vectors below.

    taus: receives the factor of each reflection.  For complex numbers, the adjoint of a reflection is applied to x, and
    the diagonal of r is real.  v and w have space for a column and a row.
    """
    zero = T(0).real
    for j in range(min(m, n)):
        size = zero
        for i in range(j, m):
            y = abs(x[i * n + j])
            size = y if y > size or y != y else size
        total = zero
        scale = size if size != zero else T(1).real
        for i in range(j + 1, m):
            part = x[i * n + j] / scale
            total += (part * part.conjugate()).real
        taus[j] = T(0)
        if not (size == zero or (total == zero and x[j * n + j].imag == zero)):
            alpha = x[j * n + j] / size  # divided by the largest element: squares of small elements lose digits
            beta = np.sqrt((alpha * alpha.conjugate()).real + total)
            beta = -beta if alpha.real >= zero else beta
            taus[j] = (beta - alpha) / beta
            v[0] = T(1)
            for i in range(j + 1, m):
                x[i * n + j] = x[i * n + j] / size / (alpha - beta)
                v[i - j] = x[i * n + j].conjugate()
            x[j * n + j] = beta * size
            reflect(x[j * n : m * n], n, m - j, j + 1, v, taus[j].conjugate(), w)


@loop(
    Fields("m n p rank", "sizes[rank]", "offset row col strides[rank]"),
    results=2,
    helpers=(less, reflect, triangularize),
    fastmath=("contract",),
)
def qr(in_0, q, r, N):  # type: ignore[no-untyped-def]
    """Factor each matrix; a task is one matrix.  q receives the orthonormal columns, r the upper triangle.

    x is first the matrix; then it has r and the vectors of the reflections: see `triangularize`.
    """
    m, n, p = N.m, N.n, N.p
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
        triangularize(x, m, n, v, w, taus)
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
                    v[i - j] = x[i * n + j].conjugate()
                reflect(q[to + j * p : to + m * p], p, m - j, j, v, taus[j], w)
    leave(x, v, w, taus)


@loop(Fields("m n row a vectors scales"), results=3, helpers=(less, reflect, triangularize), fastmath=("contract",))
def reflectors(a, vectors, scales, N):  # type: ignore[no-untyped-def]
    """Replace the columns of a part of a matrix by r.  vectors, scales: those of the reflections, and 1 / tau.

    The vector of an omitted reflection is 0, with the scale 1.
    """
    m, n, row = N.m, N.n, N.row
    x, v, w, taus = workspace(m * n, T), workspace(m, T), workspace(n, T), workspace(n, T)
    for _ in range(first, last):
        for i in range(m):
            for c in range(n):
                x[i * n + c] = a[N.a + i * row + c]
        triangularize(x, m, n, v, w, taus)
        for i in range(m):
            for c in range(n):
                a[N.a + i * row + c] = x[i * n + c] if c >= i else T(0)
                below = x[i * n + c] if c < i else T(1) if c == i else T(0)
                vectors[N.vectors + i * n + c] = below if taus[c] != T(0) else T(0)
        for c in range(n):
            scales[N.scales + c] = T(1) / taus[c] if taus[c] != T(0) else T(1)
    leave(x, v, w, taus)


@serves(CpuBackend, requests.QR)
def factor_qr(steps: CpuSteps, request: requests.QR) -> None:
    (q, r), (a,) = steps.outs, steps.operands
    *batch, m, n = a.shape
    p = r.shape[-2]
    if min(m, n) > COLUMNS and not batch and not a.dtype.is_complex:
        reflect_by_blocks(steps, q, r, a)
        return
    run_matrices(steps, qr, steps.outs, numel=prod(batch) * m * max(n, p), cost=4 * min(m, n), m=m, n=n, p=p)


def reflect_by_blocks(steps: CpuSteps, q: Value, r: Value, a: Value) -> None:
    """Add the steps that apply REFLECTIONS reflections at a time, as products.

    The reflections with the vectors V are I - V T V.T, and T is the inverse of the upper triangle of V.T V with 1 / tau
    on its diagonal (Golub and Van Loan, 5.1.7; Puglisi, "Modification of the Householder method based on the compact WY
    representation", 1992).
    """
    (m, n), p, dtype = a.shape, r.shape[0], a.dtype
    x, y = (steps.work((m, count + PITCH), dtype).at(1, 0, count) for count in (n, p))

    def reflected(rest: Value, vectors: Value, inner: Value, upper: bool) -> None:
        """Apply the reflections of a block to some columns, or their transpose."""
        begin = len(steps.temporaries)
        sums = steps.work((vectors.shape[1], rest.shape[1]), dtype)
        steps.ask(requests.Product(), sums, vectors.transposed, rest)
        steps.ask(requests.SolveTriangular(upper, unit=False), sums, inner if upper else inner.transposed, sums)
        steps.ask(requests.Product(-1, 1), rest, vectors, sums, rest)
        steps.release(begin)

    blocks = []
    steps.copy(x, a)
    for start in range(0, min(m, n), REFLECTIONS):
        count = min(REFLECTIONS, min(m, n) - start)
        vectors, inner = steps.work((m - start, count), dtype), steps.work((count, count), dtype)
        rows, scales = x.at(0, start, m - start), steps.work((count,), dtype)
        steps.run(reflectors, rows.at(1, start, count), vectors, scales, m=m - start, n=count, row=n + PITCH)
        steps.ask(requests.Product(), inner, vectors.transposed, vectors)
        steps.copy(diagonal(inner), scales)
        blocks.append((start, vectors, inner))
        if start + count < n:
            reflected(rows.at(1, start + count, n - start - count), vectors, inner, upper=False)
    steps.copy(r, x.at(0, 0, p))
    steps.copy(y, steps.constant([[0]], dtype))
    steps.copy(diagonal(y), steps.constant([1], dtype))
    for start, vectors, inner in reversed(blocks):
        reflected(y.at(0, start, m - start).at(1, start, p - start), vectors, inner, upper=True)
    steps.copy(q, y)


def diagonal(x: Value) -> Value:
    """Return the diagonal of a matrix."""
    (row, column), length = x.layout.strides, min(x.shape)
    return x.seen(Layout.make((length,), (row + column,), x.layout.offset))
