"""Factors and triangular systems on the CPU; a task is one matrix of a batch, and inner loops run along memory.

LU factors with partial pivoting: eight columns are factored at a time.  Then the product of these columns and their
rows is subtracted from the rest of the matrix, so each remaining column is read and written only once per eight columns
(Golub and Van Loan, Matrix Computations, 4th edition, sections 3.2 and 3.4: right-looking, in blocks).

Cholesky factors: eight rows are computed at a time, then their products are subtracted from the rows below by `less`
(the outer product form, 4.2.5 and 4.2.6).  Triangular systems: row oriented substitution (3.1).

A large matrix that is not in a batch is divided: most of the work is then products, which threads share.  LU factors
and solutions may therefore be a part of a larger matrix, while other devices write dense results only.  The sums of
eight products of a factor may be taken in any order.  The same texts compute with complex numbers: a real number is its
own real part and conjugate.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import COLUMNS, PITCH, CpuBackend, CpuSteps, run_matrices
from minigrad.backends.steps import Value
from minigrad.core import requests
from minigrad.kernels.cpu.matmul import less
from minigrad.kernels.fields import Fields, loop


@loop(Fields("m n rank", "sizes[rank]", "offset row col strides[rank]"), helpers=(less,), fastmath=("contract",))
def lu(in_0, out, pivots, order, N):  # type: ignore[no-untyped-def]
    """Factor each matrix; a task is one matrix.  `out` receives both triangles.

    pivots: the row with which each step exchanges its row.  order: for each row of the result, its row in the operand.
    x has the columns one after the other: the search for a pivot, the divisions and the updates then run along memory.
    The indices of elements are unsigned, because signed indices are tested for wrapping around.
    """
    m, n = N.m, N.n
    steps = min(m, n)
    pitch = m + PITCH
    x = workspace(pitch * n, T)
    for u in range(first, last):
        rest = u
        to = N.offset[0]
        at = N.offset[3]
        walk(rest, N.sizes, to=N.strides[0], at=N.strides[3])
        rows = order[N.offset[2] + u * m : N.offset[2] + (u + 1) * m]
        for i in range(m):
            rows[i] = i
            for c in range(n):
                x[np.uint64(c * pitch + i)] = in_0[np.uint64(at + i * N.row[3] + c * N.col[3])]
        for start in range(0, steps, 8):
            stop = min(steps, start + 8)
            for j in range(start, stop):
                below = x[j * pitch + j + 1 : j * pitch + m]
                pivot = x[j * pitch + j]
                p = j
                best = abs(pivot.real) + abs(pivot.imag)
                for i in range(len(below)):
                    size = abs(below[i].real) + abs(below[i].imag)
                    if size > best:
                        best = size
                        p = i + j + 1
                pivots[N.offset[1] + u * steps + j] = p
                if p != j:
                    rows[j], rows[p] = rows[p], rows[j]
                    for c in range(0, n * pitch, pitch):
                        k, q = np.uint64(c + j), np.uint64(c + p)
                        x[k], x[q] = x[q], x[k]
                    pivot = x[j * pitch + j]
                pivot = pivot if pivot != T(0) else T(1)
                for i in range(len(below)):
                    below[i] = below[i] / pivot
                for c in range(j + 1, stop):
                    z = x[c * pitch + j + 1 : c * pitch + m]
                    f = x[c * pitch + j]
                    for i in range(len(below)):
                        z[i] -= below[i] * f
            for c in range(stop, n):
                z = x[c * pitch : c * pitch + m]
                for j in range(start, stop):
                    f = z[j]
                    for i in range(j + 1, stop):
                        z[np.uint64(i)] -= x[np.uint64(j * pitch + i)] * f
                if stop < m:  # a block of fewer than eight columns has no rows below it
                    less(z[stop:], x[start * pitch : stop * pitch], stop, pitch, z[start:stop])
        for i in range(m):
            for c in range(n):
                out[np.uint64(to + i * N.row[0] + c)] = x[np.uint64(c * pitch + i)]
    leave(x)


@loop(Fields("n pitch start count out pivots order"), results=3)
def exchange(out, pivots, order, N):  # type: ignore[no-untyped-def]
    """Exchange rows of a matrix, outside of `count` columns from `start` on, as the factors of these columns state.

    The rows of the factors begin at row `start`, too.
    """
    for _ in range(first, last):
        for j in range(N.start, N.start + N.count):
            p = pivots[N.pivots + j] + N.start
            pivots[N.pivots + j] = p
            if p != j:
                if N.start:  # the factors of the first columns wrote the order of all rows
                    order[N.order + j], order[N.order + p] = order[N.order + p], order[N.order + j]
                y = out[N.out + j * N.pitch : N.out + j * N.pitch + N.n]
                z = out[N.out + p * N.pitch : N.out + p * N.pitch + N.n]
                for c in range(N.start):
                    y[c], z[c] = z[c], y[c]
                for c in range(N.start + N.count, N.n):
                    y[c], z[c] = z[c], y[c]


@loop(Fields("n rank", "sizes[rank]", "offset row col strides[rank]"), helpers=(less,), fastmath=("contract",))
def cholesky(in_0, values, out, N):  # type: ignore[no-untyped-def]
    """Factor each matrix; a task is one matrix.  `values` receives the upper triangles.

    `out` receives 1 for each row whose pivot is not positive, otherwise 0.
    """
    n = N.n
    zero = T(0)
    column = workspace(8, T)
    for u in range(first, last):
        rest = u
        at = N.offset[1]
        walk(rest, N.sizes, at=N.strides[1])
        to = N.offset[0] + u * n * n
        for i in range(n):
            z = values[to + i * n : to + (i + 1) * n]
            for j in range(n):
                z[j] = in_0[at + i * N.row[1] + j * N.col[1]] if j >= i else zero
        for start in range(0, n, 8):
            stop = min(n, start + 8)
            for j in range(start, stop):
                x = values[to + j * n : to + (j + 1) * n]
                pivot = x[j].real
                positive = pivot > zero.real
                out[u * n + j] = 0 if positive else 1
                x[j] = pivot
                root = np.sqrt(pivot) if positive else T(1).real
                for k in range(j, n):
                    x[k] = x[k] / root
                for i in range(j + 1, stop):
                    z = values[to + i * n : to + (i + 1) * n]
                    f = x[i].conjugate()
                    for k in range(i, n):
                        z[k] -= f * x[k]
            rows = values[to + start * n : to + stop * n]
            for i in range(stop, n):  # the last block, which may have fewer than eight rows, has no rows below it
                for j in range(8):
                    column[j] = rows[j * n + i].conjugate()
                less(values[to + i * n + i : to + (i + 1) * n], rows, i, n, column)
    leave(column)


SIDES = 64  # right-hand sides of a task: few rows of them fit the first-level cache
ROWS = 16  # rows of a triangular system that are solved together, if it is the only one


@loop(
    Fields("n k parts upper unit rank", "sizes[rank]", "offset row col strides[rank]"), helpers=(less,),
    fastmath=("contract",),
)  # fmt: skip
def solve(in_0, in_1, out, N):  # type: ignore[no-untyped-def]
    """Solve a triangular system with m right-hand sides; a task is one of the `parts` of a matrix, SIDES of them.

    The rows of the result are computed one after the other: from each, the products with the earlier rows are
    subtracted, eight rows at a time.  The rows are dense while they are computed: far apart, they would share a few
    sets of a cache.
    """
    n, m = N.n, N.k
    factors = workspace(8, T)
    x = workspace(n * min(SIDES, m), T)
    for u in range(first, last):
        rest = u // N.parts
        left = u % N.parts * SIDES
        w = min(SIDES, m - left)
        at = N.offset[1]
        p = N.offset[2] + left * N.col[2]
        to = N.offset[0] + left
        walk(rest, N.sizes, to=N.strides[0], at=N.strides[1], p=N.strides[2])
        for t in range(n):
            i = n - 1 - t if N.upper else t
            z = x[i * w : (i + 1) * w]
            for c in range(w):
                z[c] = in_1[p + i * N.row[2] + c * N.col[2]]
            even = t // 8 * 8
            for s in range(0, even, 8):
                j = n - 8 - s if N.upper else s
                for k in range(8):
                    factors[k] = in_0[at + i * N.row[1] + (j + k) * N.col[1]]
                less(z, x[j * w : (j + 8) * w], 0, w, factors)
            for s in range(even, t):
                j = n - 1 - s if N.upper else s
                f = in_0[at + i * N.row[1] + j * N.col[1]]
                y = x[j * w : (j + 1) * w]
                for c in range(w):
                    z[c] -= f * y[c]
            if not N.unit:
                d = in_0[at + i * N.row[1] + i * N.col[1]]
                if d == T(0):  # Numba raises an error for a complex number divided by 0
                    for c in range(w):
                        z[c] = z[c] * (T(1).real / d.real)
                else:
                    for c in range(w):
                        z[c] = z[c] / d
            y = out[to + i * N.row[0] : to + i * N.row[0] + w]
            for c in range(w):
                y[c] = z[c]
    leave(factors, x)


@serves(CpuBackend, requests.Cholesky)
def factor_cholesky(steps: CpuSteps, request: requests.Cholesky) -> None:
    n = steps.outs[0].shape[-1]
    run_matrices(steps, cholesky, steps.outs[:1], compute=steps.outs[0].dtype.compute, cost=n, n=n)


@serves(CpuBackend, requests.SolveTriangular)
def solve_triangular(steps: CpuSteps, request: requests.SolveTriangular) -> None:
    (out,), (a, b) = steps.outs, steps.operands
    n, k = out.shape[-2:]
    if n > ROWS and len(out.shape) == 2:
        solve_by_blocks(steps, request, out, a, b)
        return
    parts = -(-k // SIDES)
    run_matrices(steps, solve, steps.outs, cost=n, n=n, k=k, parts=parts, upper=request.upper, unit=request.unit)


def solve_by_blocks(steps: CpuSteps, request: requests.SolveTriangular, out: Value, a: Value, b: Value) -> None:
    """Add the steps that compute ROWS rows of a solution at a time, after a product with those before."""
    n = out.shape[0]
    starts = range(0, n, ROWS)
    for start in reversed(starts) if request.upper else starts:
        count = min(ROWS, n - start)
        known = (start + count, n - start - count) if request.upper else (0, start)
        rows, left, right = out.at(0, start, count), a.at(0, start, count), b.at(0, start, count)
        if known[1]:
            steps.ask(requests.Product(-1, 1), rows, left.at(1, *known), out.at(0, *known), right)
            right = rows
        steps.ask(request, rows, left.at(1, start, count), right)


@serves(CpuBackend, requests.LU)
def factor_lu(steps: CpuSteps, request: requests.LU) -> None:
    (a,), shape = steps.operands, steps.operands[0].shape
    m, n = shape[-2:]
    if min(m, n) > COLUMNS and len(shape) == 2:
        factor_by_blocks(steps, a)
    else:
        run_matrices(steps, lu, steps.outs, cost=min(m, n), m=m, n=n)


def factor_by_blocks(steps: CpuSteps, a: Value) -> None:
    """Add the steps that factor COLUMNS columns at a time, in a copy whose rows are PITCH elements farther apart.

    The columns are halved again and again (Toledo, "Locality of reference in LU decomposition with partial pivoting",
    1997): then most of the work is large products.
    """
    (result, pivots, order), (m, n) = steps.outs, a.shape
    x = steps.work((m, n + PITCH), a.dtype).at(1, 0, n)
    rows = steps.work((m,), order.dtype)

    def update(start: int, end: int, right: int) -> None:
        """Compute the rows of the factors from column `end` to `right`, and subtract the products from those below."""
        factors, below = x.at(1, start, end - start), x.at(1, end, right - end)
        top = below.at(0, start, end - start)
        steps.ask(requests.SolveTriangular(upper=False, unit=True), top, factors.at(0, start, end - start), top)
        if end < m:
            rest = below.at(0, end, m - end)
            steps.ask(requests.Product(-1, 1), rest, factors.at(0, end, m - end), top, rest)

    def factor(start: int, end: int) -> None:
        """Factor some columns, to which those before were applied."""
        if end - start > COLUMNS:
            middle = start + COLUMNS * -(-(end - start) // (2 * COLUMNS))
            factor(start, middle)
            update(start, middle, end)
            factor(middle, end)
            return
        part = x.at(0, start, m - start).at(1, start, end - start)
        own = pivots.at(0, start, end - start), rows.at(0, 0, m - start) if start else order
        steps.ask(requests.LU(), (part, *own), part)
        steps.run(exchange, x, pivots, order, n=n, pitch=n + PITCH, start=start, count=end - start)

    steps.copy(x, a)
    factor(0, min(m, n))
    if n > m:
        update(0, m, n)
    steps.copy(result, x)
