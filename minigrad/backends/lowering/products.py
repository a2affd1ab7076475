"""Products, convolutions and distances of rows: all terms are stored in temporary memory, and then summed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering.functions import BLEND, DIFFERENCE, MEETING, NEGATIVE, PRODUCT, SUM, TOTAL
from minigrad.backends.lowering.pooling import Windows
from minigrad.backends.steps import Steps, Value, shortened, split, viewed, wide
from minigrad.core import requests
from minigrad.core.dtype import as_dtype, bool_, float64, int64
from minigrad.core.layout import Layout


@serves(Backend, requests.Product)
def product(steps: Steps, request: requests.Product) -> None:
    """Multiply rows by columns, with sums in float64 that are rounded once; integers sum in int64, which wraps once."""
    (out,), (a, b, *added) = steps.outs, steps.operands
    dtype = wide(out.dtype)
    terms = steps.work((*out.shape, a.shape[-1]), dtype)
    total = steps.work((*out.shape, 1), dtype)
    row, column = a.layout.unsqueeze(-2), b.layout.transpose(-1, -2).unsqueeze(-3)
    steps.each(PRODUCT, terms, a.seen(row), b.seen(column))
    steps.reducer(SUM, total, terms, (len(out.shape),))
    total = viewed(total, out.shape)
    alpha, beta = steps.constant(request.alpha, dtype), steps.constant(request.beta, dtype)
    if added:  # c may be the memory of out: it is read before anything is written there
        steps.each(BLEND, total, total, added[0], alpha, beta)
    elif request.alpha != 1:
        steps.each(PRODUCT, total, total, alpha)
    steps.copy(out, total)


@serves(Backend, requests.Convolve)
def convolve(steps: Steps, request: requests.Convolve) -> None:
    """Multiply two of y, x and w over all their pairs of elements, and sum over the dims that the third does not have.

    The dims are (batch, groups, output channels, image channels, positions, taps).
    """
    (out,), (first, second, *bias) = steps.outs, steps.operands
    y, x, w = {"output": (out, first, second), "input": (first, out, second), "weight": (first, second, out)}[
        request.part
    ]
    dims, groups, dtype = len(y.shape) - 2, request.groups, wide(out.dtype)
    spots, taps = range(4, 4 + dims), range(4 + dims, 4 + 2 * dims)
    windows = Windows(x.shape, y.shape[2:], w.shape[2:], request.stride, request.padding, request.dilation)
    shape = (y.shape[0], groups, y.shape[1] // groups, w.shape[1], *windows.spots, *windows.taps)
    ys, ws = spread(y, 1, groups, [3, *taps]), spread(w, 0, groups, [0, *spots])
    xs = spread(windows.pad(steps, x, dtype), 1, groups, [2]) if request.part != "input" else ys
    pair, over = {"output": ((xs, ws), [3, *taps]), "input": ((ys, ws), [2]), "weight": ((ys, xs), [0, *spots])}[
        request.part
    ]
    terms, total = steps.work(shape, dtype), steps.work(shortened(shape, over), dtype)
    steps.each(MEETING, terms, *pair, steps.constant(windows.positions >= 0, bool_))
    steps.reducer(SUM, total, terms, over)
    if request.part == "output":
        total, row = viewed(total, y.shape), bias[0]
        steps.each(TOTAL, total, total, row.seen(with_ones(row.layout, range(1, 1 + dims))))
        steps.copy(out, total)
    elif request.part == "input":
        padded = steps.work(windows.padded, dtype)
        steps.ask(requests.PutBack(windows.view), padded, viewed(total, windows.shape))
        steps.copy(out, padded.seen(windows.interior))
    else:
        steps.copy(out, viewed(total, w.shape))


def spread(value: Value, dim: int, groups: int, ones: Sequence[int]) -> Value:
    """Return a tensor with all dims of a convolution: channels in groups, and size 1 in dims that it does not have."""
    return value.seen(with_ones(split(value, dim, groups).layout, ones))


def with_ones(layout: Layout, dims: Sequence[int]) -> Layout:
    """Return a layout with dims of size 1 inserted at some indices.

    The indices are those of the result, from the left.
    """
    for dim in dims:
        layout = layout.unsqueeze(dim)
    return layout


# ---- pairs of rows ---------------------------------------------------------------------------------------------------


def pair_differences(steps: Steps, x: Value, compute: np.dtype[np.generic]) -> tuple[Value, list[Value]]:
    """Return the difference of each pair of rows, and the indices of the first rows and of the second rows."""
    n, m = x.shape
    indices = [steps.constant(column, int64) for column in np.triu_indices(n, 1)]
    rows = [steps.work((n * (n - 1) // 2, m), x.dtype) for _ in indices]
    for row, index in zip(rows, indices):
        steps.index_select(row, x, index, 0)
    result = steps.work(rows[0].shape, as_dtype(compute))
    steps.each(DIFFERENCE, result, *rows)
    return result, indices


@serves(Backend, requests.PairDistances)
def pair_distances(steps: Steps, request: requests.PairDistances) -> None:
    """Compute the differences, then reduce each of them."""
    (out,), (x,) = steps.outs, steps.operands
    made, _ = pair_differences(steps, x, request.compute)
    steps.ask(requests.Reduce(request.reducer, float64.compute, (1,)), viewed(out, (out.shape[0], 1)), made)


def all_differences(steps: Steps, compute: np.dtype[np.generic], a: Value, b: Value) -> Value:
    """Return the difference of each row of a and each row of b, (..., n, m, k)."""
    *batch, n, k = a.shape
    result = steps.work((*batch, n, b.shape[-2], k), as_dtype(compute))
    d = len(batch)
    steps.each(DIFFERENCE, result, a.seen(a.layout.unsqueeze(d + 1)), b.seen(b.layout.unsqueeze(d)))
    return result


@serves(Backend, requests.RowDistances)
def row_distances(steps: Steps, request: requests.RowDistances) -> None:
    """Compute the differences of all rows, then reduce each of them."""
    (out,) = steps.outs
    made, last = all_differences(steps, request.compute, *steps.operands), len(out.shape)
    steps.ask(requests.Reduce(request.reducer, float64.compute, (last,)), out.seen(out.layout.unsqueeze(last)), made)


@serves(Backend, requests.RowGradients)
def row_gradients(steps: Steps, request: requests.RowGradients) -> None:
    """Compute the term of each row and each row of the other matrix, then add up the terms of each row."""
    (out,), (g, y, *matrices) = steps.outs, steps.operands
    if not out.layout.numel or not g.layout.numel:
        steps.fill(out, 0)
        return
    terms = all_differences(steps, request.compute, *matrices)
    factors = steps.work(g.shape, terms.dtype)
    steps.each(request.factor, factors, g, y)
    steps.each(request.direction, terms, terms)
    steps.each(PRODUCT, terms, terms, factors.seen(factors.layout.unsqueeze(len(g.shape))))
    others = len(g.shape) - 1
    steps.ask(requests.Reduce(SUM, float64.compute, (others,)), out.seen(out.layout.unsqueeze(others)), terms)


@serves(Backend, requests.PairGradients)
def pair_gradients(steps: Steps, request: requests.PairGradients) -> None:
    """Compute the term of each pair, add it to the first row of the pair and subtract it from the second."""
    (out,), (g, y, x) = steps.outs, steps.operands
    zero = steps.work(out.shape, float64)
    steps.fill(zero, 0)
    if not out.layout.numel or not g.layout.numel:
        steps.copy(out, zero)
        return
    terms, indices = pair_differences(steps, x, request.compute)
    factors = steps.work((g.shape[0], 1), terms.dtype)
    steps.each(request.factor, factors, *[value.seen(value.layout.unsqueeze(1)) for value in (g, y)])
    steps.each(request.direction, terms, terms)
    steps.each(PRODUCT, terms, terms, factors)
    wide = steps.copied(terms, float64)
    for index in indices:
        added = steps.work(out.shape, float64)
        steps.index_add(added, zero, index, wide, 0)
        steps.each(NEGATIVE, wide, wide)
        zero = added
    steps.copy(out, zero)
