"""Slices by index, values put back through a view, true elements of a mask, and surrounded tensors."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering.functions import (
    CHOSEN,
    DIFFERENCE,
    EQUAL,
    FROM_FRONT,
    LARGEST,
    LAST_AT,
    LESSER,
    SMALLEST,
    SUM,
)
from minigrad.backends.steps import Steps, Value, numbers_of, viewed
from minigrad.core.dtype import bool_, int64
from minigrad.core.layout import Layout
from minigrad.core.requests import (
    Bounds,
    Gather,
    Locate,
    PutBack,
    Scan,
    ScatterAdd,
    ScatterJoin,
    SelectPut,
    Sort,
    Surround,
    Tally,
)


@serves(Backend, ScatterJoin)
def scatter_join(steps: Steps, request: ScatterJoin) -> None:
    """Compute `ScatterJoin`: sort the elements by index, and join each run of elements with the same index.

    In each step, an element is joined with the element that is 1, 2, 4, ... positions before it, if both have the same
    index.  So the last element of a run becomes the join of the whole run, and is then joined with the element of a.
    """
    (out,), (a, index, src), dim, join = steps.outs, steps.operands, request.dim, request.join
    n, size = index.shape[dim], out.shape[dim]
    if not index.layout.numel:
        steps.copy(out, a)
        return
    limits = steps.work((2,), int64)
    steps.ask(Bounds(), limits, index)
    steps.check(limits, -size, size - 1)
    position, order, key = (steps.work(index.shape, int64) for _ in range(3))
    values, last = steps.work(index.shape, out.dtype), steps.work(index.shape, bool_)
    steps.each(FROM_FRONT, position, index, steps.constant(size, int64))
    steps.ask(Sort(dim, False), order, position)
    steps.ask(Gather(dim), key, position, order)
    steps.ask(Gather(dim), values, src, order)
    steps.fill(last, True)
    k = 1
    while k < n:
        later, earlier = values.at(dim, k, n - k), values.at(dim, 0, n - k)
        alike, joined = steps.work(later.shape, bool_), steps.work(later.shape, out.dtype)
        steps.each(EQUAL, alike, key.at(dim, k, n - k), key.at(dim, 0, n - k), compute=int64.compute)
        if k == 1:
            steps.each(CHOSEN, last.at(dim, 0, n - 1), alike, steps.constant(False, bool_), steps.constant(True, bool_))
        steps.each(join, joined, earlier, later)
        steps.each(CHOSEN, joined, alike, joined, later)
        steps.copy(later, joined)
        k *= 2
    named, total, nothing = steps.work(out.shape, bool_), steps.work(out.shape, out.dtype), steps.constant(0, out.dtype)
    steps.each(CHOSEN, values, last, values, nothing)
    for result, added in ((named, last), (total, values)):
        zero = steps.constant(0, result.dtype)
        steps.ask(ScatterAdd(dim), result, zero.seen(zero.layout.expand(out.shape)), key, added)
    steps.each(join, total, a, total)
    steps.each(CHOSEN, out, named, total, a)


@serves(Backend, SelectPut)
def select_put(steps: Steps, request: SelectPut) -> None:
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
    steps.ask(Gather(0), known, steps.constant(np.arange(size), int64), index)
    steps.copy(known, index)
    steps.each(
        LAST_AT, named, steps.constant(np.arange(size)[:, None], int64), viewed(known, (1, count)),
        steps.constant(size, int64), numbers,
    )  # fmt: skip
    steps.reducer(LARGEST, last, named, (1,))
    chosen, stays = steps.work((size,), int64), steps.work((size,), bool_)
    row = viewed(last, (size,))
    zero = steps.constant(0, int64)
    steps.each(LESSER, stays, row, zero, zero, compute=int64.compute)
    steps.each(CHOSEN, chosen, stays, zero, row)
    selected = steps.work(out.shape, out.dtype)
    steps.index_select(selected, src, chosen, dim)
    shape = tuple(size if d == dim else 1 for d in range(len(out.shape)))
    steps.each(CHOSEN, out, viewed(stays, shape), out, selected)


@serves(Backend, PutBack)
def put_back(steps: Steps, request: PutBack) -> None:
    """Copy into zeros if no two elements of the view share memory; otherwise scatter at the offsets of the elements."""
    (out,), (g,) = steps.outs, steps.operands
    if not request.view.may_overlap_itself():
        steps.fill(out, 0)
        steps.copy(out.seen(request.view), g)
        return
    n = out.layout.numel
    index = steps.constant(numbers_of(request.view).reshape(-1) - out.layout.offset, int64)
    zeros = steps.constant(0, out.dtype)
    dense = steps.dense(g)
    steps.ask(
        ScatterAdd(0), viewed(out, (n,)), zeros.seen(zeros.layout.expand((n,))), index, viewed(dense, (prod(g.shape),))
    )


@serves(Backend, Bounds)
def bounds(steps: Steps, request: Bounds) -> None:
    """Compute two reductions, or the fixed result for an empty index."""
    (out,), (index,) = steps.outs, steps.operands
    if not index.layout.numel:
        steps.copy(out, steps.constant([0, -1], int64))
        return
    ones = (1,) * len(index.shape)
    for k, reducer in enumerate((SMALLEST, LARGEST)):
        steps.reducer(reducer, viewed(out.at(0, k), ones), index, range(len(ones)))


@serves(Backend, Tally)
def tally(steps: Steps, request: Tally) -> None:
    """Count the true elements before each part."""
    (out,), (mask,) = steps.outs, steps.operands
    n = mask.layout.numel
    holds = steps.work((n,), bool_)
    steps.copy(viewed(holds, mask.shape), mask)
    length = -(-n // request.parts)
    for k in range(request.parts + 1):
        steps.reducer(SUM, out.at(0, k), holds.at(0, 0, min(n, k * length)), (0,))


@serves(Backend, Locate)
def locate(steps: Steps, request: Locate) -> None:
    """Number the true elements by a running sum, and add each position into zeros at this number.

    False elements add 0. The tally is not needed.
    """
    (out,), (mask, _) = steps.outs, steps.operands
    n, count = mask.layout.numel, out.shape[0]
    if not count:
        return
    holds, number, position = steps.work((n,), bool_), steps.work((n,), int64), steps.work((n,), int64)
    steps.copy(viewed(holds, mask.shape), mask)
    steps.ask(Scan(SUM, int64.compute, 0), number, holds)
    zero, one = steps.constant(0, int64), steps.constant(1, int64)
    steps.each(DIFFERENCE, number, number, one)
    steps.each(CHOSEN, number, holds, number, zero)
    steps.each(CHOSEN, position, holds, steps.positions(n), zero)
    steps.ask(ScatterAdd(0), out, zero.seen(zero.layout.expand((count,))), number, position)


# ---- surrounded tensors ----------------------------------------------------------------------------------------------

COLUMNS = 4  # a strip of at most this many columns is copied column by column, which is faster than rows of 4 elements


@serves(Backend, Surround)
def surround(steps: Steps, request: Surround) -> None:
    """Copy the centre, then the strips along each dim.

    The strips are copied from the result, which already contains the strips of other dims, so that the corners are
    filled as well.
    """
    (result,), (source,), counts = steps.outs, steps.operands, request.counts
    if request.back:
        return add_back(steps, request, source, result)
    # views[k] is the part of the result without the padding of the last k dims; the last view is the centre.
    last, views = len(counts) - 1, [result]
    for d in reversed(range(len(counts))):
        views.append(views[-1].at(d, counts[d][0], source.shape[d]))
    steps.copy(views[-1], source)
    for d in range(len(counts)):
        for start, length, strip in strips(views[last - d + 1].layout, d, counts[d], request.mode):
            wide = 1 if d == last and length <= COLUMNS else length
            for k in range(0, length, wide):
                steps.copy(views[last - d].at(d, start + k, wide), result.seen(strip.narrow(d, k, wide)))


def strips(centre: Layout, d: int, counts: tuple[int, int], mode: str) -> Iterator[tuple[int, int, Layout]]:
    """Yield the start, the length and the layout of the elements to copy, for each padded side of a dim."""
    (before, behind), n = counts, centre.shape[d]
    first, last = {"reflect": (1, n - 1 - behind), "circular": (n - before, 0), "replicate": (0, n - 1)}[mode]
    for start, count, at in ((0, before, first), (before + n, behind, last)):
        if count and mode == "replicate":
            shape = tuple([count if k == d else size for k, size in enumerate(centre.shape)])
            yield start, count, centre.narrow(d, at, 1).expand(shape)
        elif count:
            strip = centre.narrow(d, at, count)
            yield start, count, strip.flip(d) if mode == "reflect" else strip


def add_back(steps: Steps, request: Surround, g: Value, result: Value) -> None:
    """Add each strip along each dim to the centre, at the positions of its elements."""
    for d, (before, behind) in enumerate(request.counts):
        n = g.shape[d] - before - behind
        centre = g.at(d, before, n)
        for start, count in ((0, before), (before + n, behind)):
            if count:
                positions = steps.constant(origins(np.arange(start, start + count) - before, n, request.mode), int64)
                added = steps.work(centre.shape, result.dtype)
                steps.index_add(added, centre, positions, g.at(d, start, count), d)
                centre = added
        g = centre
    steps.copy(result, g)


def origins(position: np.ndarray, n: int, mode: str) -> np.ndarray:
    """Return the positions among n elements from which the elements at some positions are copied."""
    if mode == "circular":
        return position % n
    return np.clip(position, 0, n - 1) if mode == "replicate" else n - 1 - abs(n - 1 - abs(position))
