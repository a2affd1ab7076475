"""Pairs of rows: the rows of each pair by their indices, and the reduction of their differences."""

from __future__ import annotations

import numpy as np

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering.functions import DIFFERENCE, NEGATIVE, PRODUCT, SUM
from minigrad.backends.steps import Steps, Value, viewed
from minigrad.core.dtype import as_dtype, float64, int64
from minigrad.core.requests import (
    PairDistances,
    PairGradients,
    Reduce,
    RowDistances,
    RowGradients,
    Select,
    SelectAdd,
    reducing,
)  # fmt: skip


def differences(steps: Steps, x: Value, compute: np.dtype[np.generic]) -> tuple[Value, list[Value]]:
    """Return the difference of each pair of rows, and the indices of the first rows and of the second rows."""
    n, m = x.shape
    indices = [steps.constant(column, int64) for column in np.triu_indices(n, 1)]
    rows = [steps.work((n * (n - 1) // 2, m), x.dtype) for _ in indices]
    for row, index in zip(rows, indices):
        steps.ask(Select(0), row, x, index)
    result = steps.work(rows[0].shape, as_dtype(compute))
    steps.each(DIFFERENCE, result, *rows)
    return result, indices


@serves(Backend, PairDistances)
def pair_distances(steps: Steps, request: PairDistances) -> None:
    """Compute the differences, then reduce each of them."""
    (out,), (x,) = steps.outs, steps.operands
    made, _ = differences(steps, x, request.compute)
    steps.ask(reducing(request.reducer, float64.compute, (1,)), viewed(out, (out.shape[0], 1)), made)


def crossed(steps: Steps, compute: np.dtype[np.generic], a: Value, b: Value) -> Value:
    """Return the difference of each row of a and each row of b, (..., n, m, k)."""
    *batch, n, k = a.shape
    result = steps.work((*batch, n, b.shape[-2], k), as_dtype(compute))
    d = len(batch)
    steps.each(DIFFERENCE, result, a.seen(a.layout.unsqueeze(d + 1)), b.seen(b.layout.unsqueeze(d)))
    return result


@serves(Backend, RowDistances)
def row_distances(steps: Steps, request: RowDistances) -> None:
    """Compute the differences of all rows, then reduce each of them."""
    (out,) = steps.outs
    made, last = crossed(steps, request.compute, *steps.operands), len(out.shape)
    steps.ask(reducing(request.reducer, float64.compute, (last,)), out.seen(out.layout.unsqueeze(last)), made)


@serves(Backend, RowGradients)
def row_gradients(steps: Steps, request: RowGradients) -> None:
    """Compute the term of each row and each row of the other matrix, then add up the terms of each row."""
    (out,), (g, y, *matrices) = steps.outs, steps.operands
    if not out.layout.numel or not g.layout.numel:
        steps.fill(out, 0)
        return
    terms = crossed(steps, request.compute, *matrices)
    factors = steps.work(g.shape, terms.dtype)
    steps.each(request.factor, factors, g, y)
    steps.each(request.direction, terms, terms)
    steps.each(PRODUCT, terms, terms, factors.seen(factors.layout.unsqueeze(len(g.shape))))
    others = len(g.shape) - 1
    steps.ask(Reduce(SUM, float64.compute, (others,)), out.seen(out.layout.unsqueeze(others)), terms)


@serves(Backend, PairGradients)
def pair_gradients(steps: Steps, request: PairGradients) -> None:
    """Compute the term of each pair, add it to the first row of the pair and subtract it from the second."""
    (out,), (g, y, x) = steps.outs, steps.operands
    zero = steps.work(out.shape, float64)
    steps.fill(zero, 0)
    if not out.layout.numel or not g.layout.numel:
        steps.copy(out, zero)
        return
    terms, indices = differences(steps, x, request.compute)
    factors = steps.work((g.shape[0], 1), terms.dtype)
    steps.each(request.factor, factors, *[value.seen(value.layout.unsqueeze(1)) for value in (g, y)])
    steps.each(request.direction, terms, terms)
    steps.each(PRODUCT, terms, terms, factors)
    wide = steps.work(terms.shape, float64)
    steps.copy(wide, terms)
    for index in indices:
        added = steps.work(out.shape, float64)
        steps.ask(SelectAdd(0), added, zero, index, wide)
        steps.each(NEGATIVE, wide, wide)
        zero = added
    steps.copy(out, zero)
