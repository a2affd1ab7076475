"""Eigenvalues and singular values by rotations of pairs of rows: Jacobi's method, in a fixed number of steps.

Rows are paired like players of a tournament: rows 2 i and 2 i + 1 meet, then all rows except the first move on, so that
every two rows meet once in a sweep of n - 1 rounds.  The rotations of a round affect different rows, so each round is
one elementwise step.

Sources: Golub and Van Loan, Matrix Computations, 4th edition, sections 8.5 and 8.6; Brent and Luk, "The solution of
singular-value and symmetric eigenvalue problems on multiprocessor arrays" (1985).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering import functions as F
from minigrad.backends.lowering.factors import conjugates_of
from minigrad.backends.lowering.functions import LARGEST, SUM
from minigrad.backends.steps import Steps, Value
from minigrad.core.dtype import int64
from minigrad.core.requests import QR, SVD, Eigh, Gather, Product, Sort, TurnRows
from minigrad.errors import DeviceError


def sweeps_for(n: int) -> int:
    """Return a number of sweeps after which no rotation is necessary.

    When the angles are small, convergence is quadratic, so 4 sweeps complete it; before them, about log2(n) sweeps are
    necessary (Brent and Luk).  The remaining sweeps are for clusters: 33 rows with only two different
    eigenvalues have needed 12 sweeps.
    """
    return 8 + (n - 1).bit_length()


def moved_on(n: int) -> list[int]:
    """Return the row that comes to each position after a round; n is even."""
    order = [0, *[k - 2 if k % 2 == 0 else k + 2 for k in range(1, n)]]
    if n > 2:
        order[2] = 1
    order[n - 1] = max(1, n - 2)
    return order


def tournament(steps: Steps, x: Value, falling: bool, fixed: bool, find: Callable[..., None]) -> None:
    """Add the steps of sweeps over the rows of x, whose number is even.

    falling: whether the larger element of a pair goes to the row that was first at the beginning; if False, the smaller
    element does.  So equal eigenvalues become neighbours, which quadratic convergence requires (van Kempen 1966).
    fixed: whether the first row is neither rotated nor moved.
    find(even, odd, cosine, sine, order): the function that writes the cosines and sines of the pairs of a round, in the
    shape (..., rows / 2, 1).
    """
    d, rows = len(x.shape) - 2, x.shape[-2]
    even, odd = (x.seen(x.layout.slice(d, k, None, 2)) for k in (0, 1))
    cosine, sine = (steps.work((*x.shape[:d], rows // 2, 1), dtype) for dtype in (x.dtype.to_real(), x.dtype))
    after, moved = steps.work(x.shape, x.dtype), moved_on(rows)
    permutation, orders, labels = steps.constant(moved, int64), list[Value](), list(range(rows))
    for _ in range(rows - 1):
        order = [-1 if (p < q) == falling else 1 for p, q in zip(labels[::2], labels[1::2])]
        orders.append(steps.constant([[k if i or not fixed else 0] for i, k in enumerate(order)], cosine.dtype))
        labels = [labels[k] for k in moved]
    for wanted in orders * sweeps_for(rows):
        find(even, odd, cosine, sine, wanted)
        steps.each(F.TURNED, (even, odd), even, odd, cosine, sine)
        steps.index_select(after, x, permutation, d)
        steps.copy(x, after)


def closeness(steps: Steps, a: Value) -> Value:
    """Return half of the distance from 1 to the next number."""
    return steps.constant(np.finfo(a.dtype.compute).eps / 2, a.dtype.to_real())


def rotation(
    steps: Steps, cosine: Value, sine: Value, p: Value, q: Value, r: Value, order: Value, close: Value
) -> None:
    """Compute the rotations that diagonalise matrices of p, r, q and the conjugate of r: see `rotation_angle`.

    For complex numbers, the second row is multiplied by the phase of r first, so that the matrix becomes real.
    """
    if not sine.dtype.is_complex:
        steps.each(F.ANGLE, (cosine, sine), p, q, r, order, close)
        return
    first, second, size, real_sine = (steps.work(cosine.shape, cosine.dtype) for _ in range(4))
    for part, x, function in ((first, p, F.REAL_PART), (second, q, F.REAL_PART), (size, r, F.MAGNITUDE)):
        steps.each(function, part, x, compute=x.dtype.compute)
    steps.each(F.ANGLE, (cosine, real_sine), first, second, size, order, close)
    steps.each(F.WITH_PHASE, sine, real_sine, r)


def ordered(steps: Steps, rows: Value, order: Value) -> Value:
    """Return the rows of matrices in another order."""
    result = steps.work(rows.shape, rows.dtype)
    index = order.seen(order.layout.unsqueeze(len(order.shape)))
    steps.ask(Gather(len(rows.shape) - 2), result, rows, index.expand(rows.shape))
    return result


@serves(Backend, Eigh)
def eigh(steps: Steps, request: Eigh) -> None:
    """Compute eigenvalues and eigenvectors with Jacobi rotations, which make the matrix diagonal.

    The rotations are applied to the rows and columns of the matrix, and to the rows of an identity matrix, which
    become the conjugate eigenvectors.  If n is odd, the matrix gets a first row and column of zeros, which are never
    rotated or moved.
    """
    (values, vectors), (a,) = steps.outs, steps.operands
    n, d = a.shape[-1], len(a.shape) - 2
    if request.general:
        raise DeviceError(
            "eig: the number of steps depends on the elements; compute on the CPU, with A.cpu()", op="eig"
        )
    if not a.layout.numel:
        return
    odd = n % 2
    size = n + odd
    x = steps.work((*a.shape[:d], size, 2 * size), a.dtype)
    steps.fill(x, 0)
    steps.fill(x.seen(x.layout.diagonal(size, d, d + 1)), 1)
    rows, columns = steps.positions(n, d + 2, d), steps.positions(n, d + 2, d + 1)
    matrix = x.at(d + 1, 0, size)
    inner = matrix.at(d, odd, n).at(d + 1, odd, n)
    steps.each(F.SYMMETRIC, inner, a, a.transposed, rows, columns)
    pairs = [[matrix.layout.slice(d, i, None, 2).slice(d + 1, j, None, 2) for j in (0, 1)] for i in (0, 1)]
    first, mixed, second = (
        x.seen(part.diagonal(0, d, d + 1).unsqueeze(d + 1)) for part in (pairs[0][0], pairs[0][1], pairs[1][1])
    )
    left, right = (matrix.seen(matrix.layout.slice(d + 1, k, None, 2)) for k in (0, 1))
    after, order = steps.work(matrix.shape, a.dtype), steps.constant(moved_on(size), int64)
    close = closeness(steps, a)

    def find(even: Value, odd: Value, cosine: Value, sine: Value, falling: Value) -> None:
        rotation(steps, cosine, sine, first, second, mixed, falling, close)
        steps.each(F.TURNED, (left, right), left, right, cosine.transposed, conjugates_of(steps, sine).transposed)
        steps.index_select(after, matrix, order, d + 1)
        steps.copy(matrix, after)

    tournament(steps, x, False, bool(odd), find)
    position, diagonal = steps.work(values.shape, int64), steps.work(values.shape, values.dtype)
    steps.each(F.REAL_PART, diagonal, inner.seen(inner.layout.diagonal(0, d, d + 1)), compute=a.dtype.compute)
    steps.ask(Sort(d, False), (values, position), diagonal)
    adjoint = ordered(steps, x.at(d, odd, n).at(d + 1, size + odd, n), position)
    steps.copy(vectors, conjugates_of(steps, adjoint).transposed)


@serves(Backend, TurnRows)
def turn_rows(steps: Steps, request: TurnRows) -> None:
    """Rotate the matrix, divided by its largest element, and the identity next to it until the rows are orthogonal.

    Source: Hestenes, "Inversion of matrices by biorthogonalization" (1958).
    """
    (j, y, lengths), (a,) = steps.outs, steps.operands
    (k, n), d = a.shape[-2:], len(a.shape) - 2
    if not a.layout.numel:
        return
    odd = k % 2
    x = steps.work((*a.shape[:d], k + odd, n + k), a.dtype)
    steps.fill(x, 0)
    inner, beside = (x.at(d, odd, k).at(d + 1, start, length) for start, length in ((0, n), (n, k)))
    steps.fill(beside.seen(beside.layout.diagonal(0, d, d + 1)), 1)
    real, compute = lengths.dtype, a.dtype.compute
    sizes, size = steps.work(a.shape, real), steps.work((*a.shape[:d], 1, 1), real)
    steps.each(F.MAGNITUDE, sizes, a, compute=compute)
    steps.reducer(LARGEST, size, sizes, (d, d + 1))
    steps.each(F.OVER_PIVOT, inner, a, size)
    pairs, close = steps.work((*a.shape[:d], (k + odd) // 2, n), a.dtype), closeness(steps, a)

    def find(even: Value, odd: Value, cosine: Value, sine: Value, falling: Value) -> None:
        sums = [steps.work(cosine.shape, a.dtype) for _ in range(3)]
        for total, p, q in zip(sums, (even, odd, even), (even, odd, odd)):
            steps.each(F.PRODUCT, pairs, p.at(d + 1, 0, n), conjugates_of(steps, q.at(d + 1, 0, n)))
            steps.reducer(SUM, total, pairs, (d + 1,))
        p, q, r = sums
        rotation(steps, cosine, sine, p, q, r, falling, close)

    tournament(steps, x, True, bool(odd), find)
    squares, totals = steps.work(a.shape, real), steps.work((*a.shape[:d], k, 1), real)
    steps.each(F.SQUARE, squares, inner, compute=compute)
    steps.reducer(SUM, totals, squares, (d + 1,))
    position = steps.work(lengths.shape, int64)
    steps.ask(Sort(d, True), (lengths, position), totals.seen(totals.layout.squeeze(d + 1)))
    steps.each(F.SCALED_ROOT, lengths, lengths, size.seen(size.layout.squeeze(d + 1)))
    steps.copy(y, ordered(steps, inner, position))
    steps.each(F.PRODUCT, y, y, size)
    steps.copy(j, ordered(steps, beside, position))


@serves(Backend, SVD)
def svd(steps: Steps, request: SVD) -> None:
    """Compute singular values: factorize a = q @ r, and rotate the rows of r so that j @ r = s * vh; then u = q @ j.H.

    A second QR factorization makes the rows of vh orthonormal, also the rows for singular values of 0.  A wide matrix
    is transposed first.
    Source: Drmac and Veselic, "New fast and accurate Jacobi SVD algorithm I" (2008), without its permutations.
    """
    (a,), d = steps.operands, len(steps.operands[0].shape) - 2
    is_wide = a.shape[d] < a.shape[d + 1]
    a = a.transposed if is_wide else a
    (m, n), batch = a.shape[d:], a.shape[:d]
    u, s, vh = steps.outs if request.vectors else 3 * steps.outs  # without vectors, u and vh are not used
    if request.vectors and is_wide:
        u, vh = vh.transposed, u.transposed
    p = u.shape[-1] if request.vectors else n
    q, r = steps.work((*batch, m, p), a.dtype), steps.work((*batch, p, n), a.dtype)
    steps.ask(QR(), (q, r), a)
    if request.vectors:
        steps.copy(u, q)
    if not a.layout.numel:
        return
    j, y = steps.work((*batch, n, n), a.dtype), steps.work((*batch, n, n), a.dtype)
    steps.ask(TurnRows(), (j, y, s), r.at(d, 0, n))
    if not request.vectors:
        return
    left, q2, r2 = (steps.work((*batch, rows, n), a.dtype) for rows in (m, n, n))
    steps.ask(QR(), (q2, r2), y.transposed)
    signs = r2.seen(r2.layout.diagonal(0, d, d + 1).unsqueeze(d + 1))
    steps.each(F.SIGNED, vh, q2.transposed, signs)
    steps.ask(Product(), left, q.at(d + 1, 0, n), conjugates_of(steps, j).transposed)
    steps.copy(u.at(d + 1, 0, n), left)
