"""Factors of matrices and triangular systems: one row or column at a time, as products and elementwise steps."""

from __future__ import annotations

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering import functions as F
from minigrad.backends.lowering.functions import LARGEST, SUM
from minigrad.backends.steps import Steps, Value
from minigrad.core.dtype import int64
from minigrad.core.requests import LU, QR, Cholesky, Extreme, Gather, Product, SolveTriangular


def conjugates_of(steps: Steps, x: Value) -> Value:
    """Return the conjugates of complex numbers; real numbers are returned themselves."""
    if not x.dtype.is_complex:
        return x
    result = steps.work(x.shape, x.dtype)
    steps.each(F.CONJUGATE, result, x)
    return result


@serves(Backend, Cholesky)
def cholesky(steps: Steps, request: Cholesky) -> None:
    """Compute row j: the row of a, minus the products of the rows above, divided by the square root of its pivot."""
    (out, pivots), (a,) = steps.outs, steps.operands
    n, ndim = a.shape[-1], len(a.shape)
    steps.fill(out, 0)
    for j in range(n if a.layout.numel else 0):
        row = steps.work((*a.shape[:-2], 1, n - j), a.dtype)
        source = a.at(ndim - 2, j).at(ndim - 1, j, n - j)
        above = out.at(ndim - 2, 0, j)
        if j:
            column = conjugates_of(steps, above.at(ndim - 1, j)).transposed
            steps.ask(Product(-1, 1), row, column, above.at(ndim - 1, j, n - j), source)
        else:
            steps.copy(row, source)
        pivot = row.at(ndim - 1, 0)
        if a.dtype.is_complex:
            steps.each(F.REAL_PART, pivot, pivot)
        steps.each(
            F.NOT_POSITIVE, pivots.at(ndim - 2, j), pivot.seen(pivot.layout.squeeze(-1)), compute=a.dtype.compute
        )
        steps.each(F.OVER_ROOT, out.at(ndim - 2, j).at(ndim - 1, j, n - j), row, pivot)


@serves(Backend, SolveTriangular)
def solve_triangular(steps: Steps, request: SolveTriangular) -> None:
    """Compute row i: the row of b, minus the products of the rows that are already solved, divided by the diagonal."""
    (out,), (a, b) = steps.outs, steps.operands
    n, ndim = b.shape[-2], len(out.shape)
    for t in range(n):
        i, known = (n - 1 - t, n - t) if request.upper else (t, 0)
        row = steps.work((*out.shape[:-2], 1, out.shape[-1]), out.dtype)
        source, line = b.at(ndim - 2, i), a.at(ndim - 2, i)
        if t:
            steps.ask(Product(-1, 1), row, line.at(ndim - 1, known, t), out.at(ndim - 2, known, t), source)
        else:
            steps.copy(row, source)
        if not request.unit:
            steps.each(F.QUOTIENT, row, row, line.at(ndim - 1, i))
        steps.copy(out.at(ndim - 2, i), row)


def block(x: Value, row: int, col: int) -> Value:
    """Return the part of each matrix from a row and a column on."""
    d = len(x.shape) - 2
    return x.at(d, row, x.shape[d] - row).at(d + 1, col, x.shape[d + 1] - col)


@serves(Backend, LU)
def lu(steps: Steps, request: LU) -> None:
    """Compute LU factors column by column: exchange the largest element to the diagonal, then update the later columns.

    The update subtracts the product of a column and a row.
    Source: Golub and Van Loan, Matrix Computations, 4th edition, algorithm 3.4.1 (outer products, partial pivoting).
    """
    (out, pivots, order), (a,) = steps.outs, steps.operands
    m, n, d = *a.shape[-2:], len(a.shape) - 2
    rows = steps.positions(m, d + 2, d)
    order = order.seen(order.layout.unsqueeze(d + 1))
    steps.copy(out, a)
    steps.copy(order, rows)
    for j in range(min(m, n) if out.layout.numel else 0):
        pivot = steps.work((*a.shape[:-2], 1, 1), int64)
        number, here = rows.at(d, j), rows.at(d, j, m - j)
        steps.ask(Extreme(F.LARGER, d), pivot, block(out, j, j).at(d + 1, 0))
        for matrix in (out, order):  # exchange the rows j and p of both matrices
            rest = block(matrix, j, 0)
            first, other = (steps.work((*a.shape[:-2], 1, matrix.shape[-1]), matrix.dtype) for _ in range(2))
            steps.copy(first, rest.at(d, 0))
            steps.ask(Gather(d), other, rest, pivot.expand(other.shape))
            if matrix is out:
                to = pivots.at(d, j)
                to = to.seen(to.layout.unsqueeze(d + 1))
                steps.each(F.TOTAL, to, pivot, number)
            steps.each(F.EXCHANGED, rest, rest, here, number, to, first, other)
        below, after = block(out, j + 1, j).at(d + 1, 0), block(out, j + 1, j + 1)
        if below.layout.numel:
            steps.each(F.OVER_PIVOT, below, below, out.at(d, j).at(d + 1, j))
        if after.layout.numel:
            steps.each(F.LESS_PRODUCT, after, after, below, block(out.at(d, j), 0, j + 1))


@serves(Backend, QR)
def qr(steps: Steps, request: QR) -> None:
    """Compute QR factors column by column, with Householder reflections.

    A reflection sets the elements of a column below the diagonal to 0, and changes the columns after it.  q is the
    product of the reflections, computed by applying them in the opposite order to a matrix with ones on its diagonal.
    Source: Golub and Van Loan, Matrix Computations, 4th edition, algorithms 5.1.1 and 5.2.1.
    """
    (q, r), (a,) = steps.outs, steps.operands
    m, n, d = *a.shape[-2:], len(a.shape) - 2
    k = min(m, n) if a.layout.numel else 0
    x = steps.copied(a)
    made = [reflection(steps, block(x, j, j)) for j in range(k)]
    steps.fill(r, 0)
    if k:
        rows, columns = steps.positions(k, d + 2, d), steps.positions(n, d + 2, d + 1)
        steps.each(F.UPPER, r.at(d, 0, k), x.at(d, 0, k), rows, columns)
    steps.fill(q, 0)
    if q.layout.numel:
        steps.fill(q.seen(q.layout.diagonal(0, d, d + 1)), 1)
        for j in range(k - 1, -1, -1):
            reflect(steps, block(q, j, j), *made[j])


def reflection(steps: Steps, x: Value) -> tuple[Value, Value]:
    """Apply the reflection that leaves one nonzero element in the first column; return its vector and factor.

    The factor of a complex reflection is complex, so that this element is real: x is multiplied by its adjoint.
    """
    d = len(x.shape) - 2
    column, start = x.at(d + 1, 0), x.at(d, 0).at(d + 1, 0)
    first, kept, factor = (steps.work(start.shape, x.dtype) for _ in range(3))
    size, total = (steps.work(start.shape, x.dtype.to_real()) for _ in range(2))
    v, squares = steps.work(column.shape, x.dtype), steps.work(column.shape, size.dtype)
    steps.each(F.MAGNITUDE, squares, column, compute=x.dtype.compute)
    steps.reducer(LARGEST, size, squares, (d,))
    steps.each(F.OVER_PIVOT, v, column, size)
    steps.copy(first, v.at(d, 0))
    steps.each(F.SQUARE, squares, v, compute=x.dtype.compute)
    steps.fill(squares.at(d, 0), 0)
    steps.reducer(SUM, total, squares, (d,))
    steps.each(F.REFLECTED, kept, first, total)
    steps.each(F.REFLECTION, v, v, first, kept)
    steps.fill(v.at(d, 0), 1)
    steps.each(F.REFLECTION_FACTOR, factor, first, kept)
    steps.each(F.PRODUCT, start, kept, size)
    if x.shape[d + 1] > 1:
        reflect(steps, block(x, 0, 1), v, conjugates_of(steps, factor))
    return v, factor


def reflect(steps: Steps, x: Value, v: Value, factor: Value) -> None:
    """Compute x - factor * v @ (v.H @ x) in place."""
    d = len(x.shape) - 2
    w = steps.work((*x.shape[:d], 1, x.shape[d + 1]), x.dtype)
    steps.ask(Product(), w, conjugates_of(steps, v).transposed, x)
    steps.each(F.PRODUCT, w, w, factor)
    steps.each(F.LESS_PRODUCT, x, x, v, w)
