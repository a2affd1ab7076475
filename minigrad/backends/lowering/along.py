"""Requests along a dim as elementwise steps: searches, scans, and sorting."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering import functions
from minigrad.backends.steps import Steps, Value, shortened
from minigrad.core import requests
from minigrad.core.dtype import as_dtype, bool_, int64
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn
from minigrad.core.reducer import Reducer, neutral

# ---- searches -------------------------------------------------------------------------------------------------------


def search(steps: Steps, better: ScalarFn, a: Value, dim: int, tell: Callable[[int, Value], None]) -> None:
    """Traverse `dim` with the best element so far and its position; call `tell` with each index and that position."""
    if a.layout.numel == 0:
        return
    kept = shortened(a.shape, (dim,))
    best, position, takes = steps.work(kept, a.dtype), steps.work(kept, int64), steps.work(kept, bool_)
    steps.copy(best, a.at(dim, 0))
    steps.fill(position, 0)
    tell(0, position)
    positions = steps.positions(a.shape[dim], len(a.shape), dim)
    for i in range(1, a.shape[dim]):
        x = a.at(dim, i)
        steps.each(better, takes, best, x, compute=a.dtype.compute)
        steps.each(functions.CHOSEN, best, takes, x, best)
        steps.each(functions.CHOSEN, position, takes, positions.at(dim, i), position)
        tell(i, position)


@serves(Backend, requests.Extreme)
def extreme(steps: Steps, request: requests.Extreme) -> None:
    """Copy the position of the best element after the last index."""
    (*values, out), (a,), last = steps.outs, steps.operands, steps.operands[0].shape[request.dim] - 1
    search(steps, request.better, a, request.dim, lambda i, position: steps.copy(out, position) if i == last else None)
    read_at(steps, values, out, request.dim)


@serves(Backend, requests.RunningExtreme)
def running_extreme(steps: Steps, request: requests.RunningExtreme) -> None:
    """Copy the position of the best element after each index."""
    (*values, out), (a,), dim = steps.outs, steps.operands, request.dim
    search(steps, request.better, a, dim, lambda i, position: steps.copy(out.at(dim, i), position))
    read_at(steps, values, out, dim)


def read_at(steps: Steps, values: list[Value], positions: Value, dim: int) -> None:
    """Read the elements of the operand at some positions, if they are requested."""
    for value in values:
        steps.ask(requests.Gather(dim), value, steps.operands[0], positions)


# ---- log-sums -------------------------------------------------------------------------------------------------------


@serves(Backend, requests.LogSum)
def logsum(steps: Steps, request: requests.LogSum) -> None:
    """Compute the largest element of each row, a sum of exponentials shifted by it, and the logarithm, shifted back."""
    (out,), (x,) = steps.outs, steps.operands
    register, accumulator = as_dtype(x.dtype.compute), as_dtype(np.dtype(x.dtype.accumulator))
    top, total = steps.work(out.shape, register), steps.work(out.shape, accumulator)
    terms = steps.work(x.shape, register)
    steps.reducer(functions.LARGEST, top, x, request.dims)
    steps.each(functions.SHIFTED_EXP, terms, x, top)
    steps.reducer(functions.SUM, total, terms, request.dims)
    steps.each(functions.SHIFTED_LOG, out, total, top, compute=accumulator.compute)


# ---- scans ----------------------------------------------------------------------------------------------------------


@serves(Backend, requests.Scan)
def scan(steps: Steps, request: requests.Scan) -> None:
    """Scan index by index, or in about log2(n) steps if the reduction joins partial results."""
    (out,) = steps.outs
    way = one_after_another if request.reducer.combine is None or len(steps.operands) > 1 else by_doubling
    dtype = as_dtype(request.compute)
    start = steps.constant(neutral(request.reducer.identity, dtype), dtype)
    way(steps, request.reducer, start, out, steps.operands, request.dim)


def one_after_another(
    steps: Steps, reducer: Reducer, start: Value, out: Value, operands: list[Value], dim: int
) -> None:
    """Update one accumulator per row, and copy it to the result at each index."""
    acc = steps.work(shortened(out.shape, (dim,)), start.dtype)
    steps.copy(acc, start)
    for i in range(out.shape[dim]):
        steps.each(reducer.scalar, acc, acc, *[x.at(dim, i) for x in operands])
        steps.copy(out.at(dim, i), acc)


def by_doubling(steps: Steps, reducer: Reducer, start: Value, out: Value, operands: list[Value], dim: int) -> None:
    """Compute a scan of n elements in about log2(n) steps.

    Before step s, counted from 0, each element stores the reduction of the last 2**s elements up to its position.  The
    step joins this reduction with the reduction of the 2**s elements before them.
    Source: Hillis, Steele, "Data parallel algorithms", Communications of the ACM 29(12), 1986.
    """
    n, shift = out.shape[dim], 1
    now, after = steps.work(out.shape, start.dtype), steps.work(out.shape, start.dtype)
    steps.each(reducer.scalar, now, start, *operands)
    assert reducer.combine is not None
    while shift < n:
        steps.copy(after.at(dim, 0, shift), now.at(dim, 0, shift))
        earlier, later = now.at(dim, 0, n - shift), now.at(dim, shift, n - shift)
        steps.each(reducer.combine, after.at(dim, shift, n - shift), earlier, later)
        now, after, shift = after, now, 2 * shift
    steps.copy(out, now)


# ---- orders ---------------------------------------------------------------------------------------------------------


@serves(Backend, requests.Sort)
def sort(steps: Steps, request: requests.Sort) -> None:
    """Exchange elements at fixed pairs of positions until each row is in order: a bitonic sorting network.

    Equal elements are ordered by their indices, so the sort is stable.  A row is padded to a power of two by elements
    that stay behind all others, because their indices are larger.
    Source: K. Batcher, Sorting networks and their applications, 1968.
    """
    (*values, out), (a,), dim = steps.outs, steps.operands, request.dim
    n, last, before = a.shape[dim], len(a.shape), functions.GREATER if request.descending else functions.LESSER
    order = (*(d for d in range(last) if d != dim), dim)
    rows, size = a.layout.permute(order).shape[:-1], 1 << (n - 1).bit_length()
    whole, count = (*rows, size), steps.constant(n, int64)
    keys, others = steps.work(whole, a.dtype), steps.work(whole, a.dtype)
    indices, moved = steps.work(whole, int64), steps.work(whole, int64)
    earlier, padded, swap = (steps.work((*rows, size // 2 or 1), bool_) for _ in range(3))
    steps.copy(keys.at(last - 1, 0, n), a.seen(a.layout.permute(order)))
    if size > n:
        steps.fill(keys.at(last - 1, n, size - n), 0)
    steps.copy(indices, steps.positions(size, last, last - 1))
    for block, distance in stages(size):
        pairs = size // (2 * distance)
        (x, y), (i, j), to, moved_to = (
            [value.seen(Layout.contiguous((*rows, pairs, 2, distance)).select(last, k)) for k in (0, 1)]
            for value in (keys, indices, others, moved)
        )
        flags = Layout.contiguous((*rows, pairs, distance))
        first, beyond, exchange = earlier.seen(flags), padded.seen(flags), swap.seen(flags)
        falls = steps.constant((np.arange(pairs)[:, None] * 2 * distance & block) != 0, bool_)
        steps.each(functions.PRECEDES, first, j, i, compute=int64.compute)
        steps.each(functions.EITHER_FROM, beyond, i, j, count, compute=int64.compute)
        steps.each(before, exchange, y, x, first, compute=a.dtype.compute)
        steps.each(functions.EXCHANGES, exchange, exchange, first, beyond, falls)
        for (low, high), (at_low, at_high) in (((x, y), to), ((i, j), moved_to)):
            steps.each(functions.CHOSEN, at_low, exchange, high, low)
            steps.each(functions.CHOSEN, at_high, exchange, low, high)
        keys, others, indices, moved = others, keys, moved, indices
    steps.copy(out.seen(out.layout.permute(order)), indices.at(last - 1, 0, out.shape[dim]))
    read_at(steps, values, out, dim)


def stages(size: int) -> Iterator[tuple[int, int]]:
    """Yield the stages of a bitonic network over a power of two: the length of the blocks in order, and a distance."""
    block = 2
    while block <= size:
        distance = block // 2
        while distance:
            yield block, distance
            distance //= 2
        block *= 2


@serves(Backend, requests.Insert)
def insert(steps: Steps, request: requests.Insert) -> None:
    """Sort both operands together, and count the elements of the lines before each position of this order.

    The sort is stable, so the order of joining decides on which side of equal elements an element is.
    """
    (out,), (lines, x) = steps.outs, steps.operands
    last, n, m = len(x.shape) - 1, lines.shape[-1], x.shape[-1]
    whole = with_length(x.shape, last, n + m)
    joined, order, before = steps.work(whole, x.dtype), steps.work(whole, int64), steps.work(whole, int64)
    positions, own = steps.work(whole, int64), steps.work(whole, bool_)
    from_lines, from_x = (0, n) if request.after else (m, 0)
    if n:
        steps.copy(joined.at(last, from_lines, n), lines)
    steps.copy(joined.at(last, from_x, m), x)
    steps.ask(requests.Sort(last, False), order, joined)
    steps.each(
        functions.INSIDE, own, order, steps.constant(from_lines, int64), steps.constant(n, int64), compute=int64.compute
    )
    steps.ask(requests.Scan(functions.SUM, int64.compute, last), before, own)
    zero = steps.constant(0, int64)
    steps.ask(requests.Scatter(last), positions, zero.expand(whole), order, before)
    steps.copy(out, positions.at(last, from_x, m))


@serves(Backend, requests.Nth)
def nth(steps: Steps, request: requests.Nth) -> None:
    """Sort each row, and read the order at one rank, which depends on the number of nan."""
    dim = request.dim
    (values, positions), (x,), n = steps.outs, steps.operands, steps.operands[0].shape[dim]
    order = steps.work(x.shape if request.missing != "last" else with_length(x.shape, dim, request.rank + 1), int64)
    steps.ask(requests.Sort(dim, False), order, x)
    if request.missing == "last":
        steps.copy(positions, order.at(dim, request.rank))
    else:
        present, at = (steps.work(positions.shape, int64) for _ in range(2))
        numbers = steps.work(x.shape, int64)
        steps.each(functions.IS_NUMBER, numbers, x, compute=x.dtype.compute)
        steps.reducer(functions.SUM, present, numbers, (dim,))
        if request.missing == "skip":
            steps.each(functions.LOWER_MIDDLE, at, present)
        else:
            steps.each(
                functions.RANK_OR_NAN, at, steps.constant(request.rank, int64), present, steps.constant(n, int64)
            )
        steps.ask(requests.Gather(dim), positions, order, at)
    steps.ask(requests.Gather(dim), values, x, positions)


def with_length(shape: tuple[int, ...], dim: int, length: int) -> tuple[int, ...]:
    """Return a shape with another length of one dim."""
    return (*shape[:dim], length, *shape[dim + 1 :])
