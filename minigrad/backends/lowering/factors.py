"""Factors of symmetric matrices and triangular systems: one row at a time, as a product and a division."""

from __future__ import annotations

from minigrad.backends.base import Backend, Launch
from minigrad.backends.lowering.functions import NOT_POSITIVE, OVER_ROOT, QUOTIENT
from minigrad.backends.steps import Specs, Steps, lowers
from minigrad.core.requests import Cholesky, Product, SolveTriangular


@lowers(Cholesky)
def cholesky(backend: Backend, request: Cholesky, outs: Specs, operands: Specs) -> Launch:
    """Row j of the result: that of a, less what the rows above take, over the root of its pivot."""
    steps = Steps(backend, outs, operands)
    (out, pivots), (a,) = steps.outs, steps.operands
    n, ndim = a.shape[-1], len(a.shape)
    steps.fill(out, 0)
    for j in range(n if a.layout.numel else 0):
        row = steps.work((*a.shape[:-2], 1, n - j), a.dtype)
        source = a.at(ndim - 2, j).at(ndim - 1, j, n - j)
        above = out.at(ndim - 2, 0, j)
        if j:
            column = above.at(ndim - 1, j)
            column = column.seen(column.layout.transpose(-1, -2))
            steps.ask(Product(-1, 1), row, column, above.at(ndim - 1, j, n - j), source)
        else:
            steps.copy(row, source)
        pivot = row.at(ndim - 1, 0)
        steps.each(NOT_POSITIVE, pivots.at(ndim - 2, j), pivot.seen(pivot.layout.squeeze(-1)), compute=a.dtype.compute)
        steps.each(OVER_ROOT, out.at(ndim - 2, j).at(ndim - 1, j, n - j), row, pivot)
    return steps.launch


@lowers(SolveTriangular)
def solve_triangular(backend: Backend, request: SolveTriangular, outs: Specs, operands: Specs) -> Launch:
    """Row i of the result: that of b, less what the rows that are known take, over the diagonal."""
    steps = Steps(backend, outs, operands)
    (out,), (a, b) = steps.outs, steps.operands
    n, ndim = b.shape[-2], len(out.shape)
    for t in range(n if out.layout.numel else 0):
        i, known = (n - 1 - t, n - t) if request.upper else (t, 0)
        row = steps.work((*out.shape[:-2], 1, out.shape[-1]), out.dtype)
        source, line = b.at(ndim - 2, i), a.at(ndim - 2, i)
        if t:
            steps.ask(Product(-1, 1), row, line.at(ndim - 1, known, t), out.at(ndim - 2, known, t), source)
        else:
            steps.copy(row, source)
        if not request.unit:
            steps.each(QUOTIENT, row, row, line.at(ndim - 1, i))
        steps.copy(out.at(ndim - 2, i), row)
    return steps.launch
