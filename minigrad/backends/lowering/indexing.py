"""Slices by index, values put back through a view, and true elements of a mask."""

from __future__ import annotations

from itertools import chain, combinations
from math import prod

import numpy as np

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering import functions
from minigrad.backends.steps import Steps, numbers_of, viewed
from minigrad.core import requests
from minigrad.core.dtype import bool_, int64
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn


def scatter_in_runs(steps: Steps, dim: int, join: ScalarFn) -> None:
    """Add the steps of a `Scatter` with a function, for a device whose own loops only add.

    The elements are sorted by index, and each run of elements with the same index is joined.  In each step, an element
    is joined with the element that is 1, 2, 4, ... positions before it, if both have the same index.  So the last
    element of a run becomes the join of the whole run, and is then joined with the element of a.
    """
    (out,), (a, index, src) = steps.outs, steps.operands
    n, size = index.shape[dim], out.shape[dim]
    if not index.layout.numel:
        steps.copy(out, a)
        return
    limits = steps.work((2,), int64)
    steps.ask(requests.Bounds(), limits, index)
    steps.check(limits, -size, size - 1)
    position, order, key = (steps.work(index.shape, int64) for _ in range(3))
    values, last = steps.work(index.shape, out.dtype), steps.work(index.shape, bool_)
    steps.each(functions.FROM_FRONT, position, index, steps.constant(size, int64))
    steps.ask(requests.Sort(dim, False), order, position)
    steps.ask(requests.Gather(dim), key, position, order)
    steps.ask(requests.Gather(dim), values, src, order)
    steps.fill(last, True)
    k = 1
    while k < n:
        later, earlier = values.at(dim, k, n - k), values.at(dim, 0, n - k)
        alike, joined = steps.work(later.shape, bool_), steps.work(later.shape, out.dtype)
        steps.each(functions.EQUAL, alike, key.at(dim, k, n - k), key.at(dim, 0, n - k), compute=int64.compute)
        if k == 1:
            steps.each(functions.EQUAL, last.at(dim, 0, n - 1), alike, steps.constant(False, bool_))
        steps.each(join, joined, earlier, later)
        steps.each(functions.CHOSEN, joined, alike, joined, later)
        steps.copy(later, joined)
        k *= 2
    named, total, nothing = steps.work(out.shape, bool_), steps.work(out.shape, out.dtype), steps.constant(0, out.dtype)
    steps.each(functions.CHOSEN, values, last, values, nothing)
    for result, added in ((named, last), (total, values)):
        zero = steps.constant(0, result.dtype)
        steps.ask(requests.Scatter(dim), result, zero.expand(out.shape), key, added)
    steps.each(join, total, a, total)
    steps.each(functions.CHOSEN, out, named, total, a)


@serves(Backend, requests.SelectPut)
def select_put(steps: Steps, request: requests.SelectPut) -> None:
    """Compare every position with every index: the last index that selects it determines the slice of src.

    A position that no index selects keeps its value.
    """
    (out,), (index, src), dim = steps.outs, steps.operands, request.dim
    size, count = out.shape[dim], index.shape[0]
    if not src.layout.numel:
        return
    last = steps.work((size, 1), int64)
    named, numbers = steps.work((size, count), int64), steps.constant(np.arange(count)[None], int64)
    known = steps.work((count,), int64)
    # This read finds an index that is out of range; the values that it reads do not matter.
    steps.ask(requests.Gather(0), known, steps.constant(np.arange(size), int64), index)
    steps.copy(known, index)
    steps.each(
        functions.LAST_AT, named, steps.constant(np.arange(size)[:, None], int64), viewed(known, (1, count)),
        steps.constant(size, int64), numbers,
    )  # fmt: skip
    steps.reducer(functions.LARGEST, last, named, (1,))
    chosen, stays = steps.work((size,), int64), steps.work((size,), bool_)
    row = viewed(last, (size,))
    zero = steps.constant(0, int64)
    steps.each(functions.LESSER, stays, row, zero, zero, compute=int64.compute)
    steps.each(functions.CHOSEN, chosen, stays, zero, row)
    selected = steps.work(out.shape, out.dtype)
    steps.index_select(selected, src, chosen, dim)
    shape = tuple(size if d == dim else 1 for d in range(len(out.shape)))
    steps.each(functions.CHOSEN, out, viewed(stays, shape), out, selected)


SLICES = 64  # with more slices, one scatter is faster than an addition for each of them


@serves(Backend, requests.PutBack)
def put_back(steps: Steps, request: requests.PutBack) -> None:
    """Copy into zeros if no two elements of the view share memory; otherwise add slices that do not overlap.

    A view with many slices is scattered at the offsets of its elements.
    """
    (out,), (g,), view = steps.outs, steps.operands, request.view
    overlaps = view.may_overlap_itself()
    if overlaps and out.dtype.is_float and out.dtype.accumulate is not out.dtype:
        moved = Layout.make(view.shape, view.strides, view.offset - out.layout.offset)
        return steps.ask_summed(requests.PutBack(moved), out, g)
    steps.fill(out, 0)
    dims = slicing_dims(view) if overlaps else ()
    sizes = [view.shape[d] for d in dims]
    if not overlaps:
        steps.copy(out.seen(view), g)
    elif out.dtype is not bool_ and prod(sizes) <= SLICES:
        for index in np.ndindex(*sizes):
            target, part = out.seen(view), g
            for d, i in zip(dims, index, strict=True):
                target, part = target.at(d, i), part.at(d, i)
            steps.each(functions.TOTAL, target, target, part)
    else:
        n, zeros, dense = out.layout.numel, steps.constant(0, out.dtype), steps.dense(g)
        at = steps.constant(numbers_of(view).reshape(-1) - out.layout.offset, int64)
        zeros = zeros.expand((n,))
        steps.ask(requests.Scatter(0), viewed(out, (n,)), zeros, at, viewed(dense, (prod(g.shape),)))


def slicing_dims(view: Layout) -> tuple[int, ...]:
    """Return the dims with the fewest elements along which a view has slices that do not overlap themselves."""

    def overlaps(dims: tuple[int, ...]) -> bool:
        rest = [d for d in range(view.ndim) if d not in dims]
        return Layout.make(
            tuple(view.shape[d] for d in rest), tuple(view.strides[d] for d in rest)
        ).may_overlap_itself()

    subsets = chain.from_iterable(combinations(range(view.ndim), count) for count in range(view.ndim + 1))
    return min((dims for dims in subsets if not overlaps(dims)), key=lambda dims: prod(view.shape[d] for d in dims))


@serves(Backend, requests.Bounds)
def bounds(steps: Steps, request: requests.Bounds) -> None:
    """Compute two reductions, or the fixed result for an empty index."""
    (out,), (index,) = steps.outs, steps.operands
    if not index.layout.numel:
        steps.copy(out, steps.constant([0, -1], int64))
        return
    ones = (1,) * len(index.shape)
    for k, reducer in enumerate((functions.SMALLEST, functions.LARGEST)):
        steps.reducer(reducer, viewed(out.at(0, k), ones), index, range(len(ones)))


@serves(Backend, requests.Tally)
def tally(steps: Steps, request: requests.Tally) -> None:
    """Count the true elements before each part."""
    (out,), (mask,) = steps.outs, steps.operands
    n = mask.layout.numel
    holds = steps.work((n,), bool_)
    steps.copy(viewed(holds, mask.shape), mask)
    length = -(-n // request.parts)
    for k in range(request.parts + 1):
        steps.reducer(functions.SUM, out.at(0, k), holds.at(0, 0, min(n, k * length)), (0,))


@serves(Backend, requests.Locate)
def locate(steps: Steps, request: requests.Locate) -> None:
    """Number the true elements by a running sum, and add each position into zeros at this number.

    False elements add 0. The tally is not needed.
    """
    (out,), (mask, _) = steps.outs, steps.operands
    n, count = mask.layout.numel, out.shape[0]
    if not count:
        return
    holds, number, position = steps.work((n,), bool_), steps.work((n,), int64), steps.work((n,), int64)
    steps.copy(viewed(holds, mask.shape), mask)
    steps.ask(requests.Scan(functions.SUM, int64.compute, 0), number, holds)
    zero, one = steps.constant(0, int64), steps.constant(1, int64)
    steps.each(functions.DIFFERENCE, number, number, one)
    steps.each(functions.CHOSEN, number, holds, number, zero)
    steps.each(functions.CHOSEN, position, holds, steps.positions(n), zero)
    steps.ask(requests.Scatter(0), out, zero.expand((count,)), number, position)
