"""Pooling and resampling: windows are a view, which an elementwise step, a sum, a gather or a scatter processes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering.functions import CHOSEN, FIRST_OF, LINE, MEETING, QUOTIENT, SUM
from minigrad.backends.steps import Ints, Steps, Value, viewed
from minigrad.core.dtype import DType, bool_, float64, int64
from minigrad.core.layout import Layout
from minigrad.core.requests import AvgPool, Gather, MaxPool, PutBack, Resample, ScatterAdd
from minigrad.core.shape import window_counts


@serves(Backend, MaxPool)
def max_pool(steps: Steps, request: MaxPool) -> None:
    """Compute `MaxPool`: traverse the window, and store the largest element so far and its position in the plane.

    A flag states whether the window has had an element inside the image so far.  The last steps return the element or
    the position, gather the element at the position, or add an element at the position.
    """
    (out, *second), (*others, x) = steps.outs, steps.operands
    like = others[0] if request.part == "back" else out
    spots = like.shape[2:]
    windows = Windows(x.shape, spots, request.window, request.stride, request.padding, request.dilation)
    best, position, empty = first_largest(steps, windows, x)
    rows, plane = (*x.shape[:2], prod(spots)), (*x.shape[:2], prod(x.shape[2:]))
    index = viewed(position, rows)
    if request.part in ("values", "positions"):
        steps.copy(out, best)
        for result in second:
            steps.copy(result, position)
    elif request.part == "pick":
        picked = steps.work(rows, out.dtype)
        steps.ask(Gather(2), picked, viewed(steps.dense(others[0]), plane), index)
        steps.each(CHOSEN, out, empty, steps.constant(0, out.dtype), viewed(picked, like.shape))
    else:
        zero = steps.constant(0, out.dtype)
        added, result = steps.work(like.shape, out.dtype), steps.work(plane, out.dtype)
        steps.each(CHOSEN, added, empty, zero, others[0])
        steps.ask(ScatterAdd(2), result, zero.seen(zero.layout.expand(plane)), index, viewed(added, rows))
        steps.copy(out, viewed(result, out.shape))


def first_largest(steps: Steps, windows: Windows, x: Value) -> tuple[Value, Value, Value]:
    """Return the largest element of each window, its position in the plane, and whether the window is empty.

    The position is 0 for an empty window.
    """
    shape = (*x.shape[:2], *windows.spots)
    best, position = steps.work(shape, x.dtype), steps.work(shape, int64)
    empty, takes = steps.work(shape, bool_), steps.work(shape, bool_)
    seen = windows.pad(steps, x, x.dtype)
    positions, false = steps.constant(windows.positions, int64), steps.constant(False, bool_)
    inside = steps.constant(windows.positions >= 0, bool_)
    for value, start in ((best, x.dtype.lowest), (position, 0), (empty, True)):
        steps.fill(value, start)
    for tap in product(*map(range, windows.taps)):
        element, here, at = (tap_of(value, tap) for value in (seen, inside, positions))
        steps.each(FIRST_OF, takes, best, element, here, empty, compute=x.dtype.compute)
        steps.each(CHOSEN, best, takes, element, best)
        steps.each(CHOSEN, position, takes, at, position)
        steps.each(CHOSEN, empty, here, false, empty)
    return best, position, empty


def tap_of(value: Value, tap: tuple[int, ...]) -> Value:
    """Return one element of every window; the taps are the last dims."""
    layout = value.layout
    for i in reversed(tap):
        layout = layout.select(-1, i)
    return value.seen(layout)


@serves(Backend, AvgPool)
def avg_pool(steps: Steps, request: AvgPool) -> None:
    """Sum the windows in float64 and divide; for "back", divide each gradient and add it to all of its window."""
    (out,), (a,) = steps.outs, steps.operands
    back = request.part == "back"
    image, like = (out, a) if back else (a, out)
    dims, spots = len(request.window), like.shape[2:]
    windows = Windows(image.shape, spots, request.window, request.stride, request.padding, (1,) * dims)
    rows = zip(spots, image.shape[2:], request.window, request.stride, request.padding, strict=True)
    along = [window_counts(*row, request.pad_counts) for row in rows]
    counts = [prod(cell) if request.divisor is None else request.divisor for cell in product(*along)]
    divisors = steps.constant(np.array(counts, np.float64).reshape(spots), float64)
    inside = steps.constant(windows.positions >= 0, bool_)
    terms, total = steps.work(windows.shape, float64), steps.work(like.shape, float64)
    one = steps.constant(1, float64)
    if back:
        steps.each(QUOTIENT, total, a, divisors)
        steps.each(MEETING, terms, viewed(total, (*like.shape, *(1,) * dims)), one, inside)
        padded = steps.work(windows.padded, float64)
        steps.ask(PutBack(windows.view), padded, terms)
        steps.copy(out, padded.seen(windows.interior))
    else:
        steps.each(MEETING, terms, windows.pad(steps, a, float64), one, inside)
        steps.reducer(SUM, viewed(total, (*like.shape, *(1,) * dims)), terms, range(2 + dims, 2 + 2 * dims))
        steps.each(QUOTIENT, total, total, divisors)
        steps.copy(out, total)


@serves(Backend, Resample)
def resample(steps: Steps, request: Resample) -> None:
    """Select all terms, multiply them by their weights and sum; for `back`, add them by index."""
    (out,), (a, index, weight), dim = steps.outs, steps.operands, request.dim
    terms, count = index.shape
    beside = (*out.shape[:dim], terms, count, *out.shape[dim + 1 :])
    flat = (*out.shape[:dim], terms * count, *out.shape[dim + 1 :])
    table = (terms, count, *(1,) * (len(beside) - dim - 2))
    one, there = steps.constant(1, int64), steps.work(index.shape, int64)
    steps.each(LINE, there, index, one, one)  # a term that is not used has index -1, so its factor is 0
    names = viewed(steps.dense(index), (terms * count,))
    if request.back:
        source = a.seen(a.layout.unsqueeze(dim).expand(beside))
    else:
        chosen = steps.work(flat, out.dtype)
        steps.index_select(chosen, a, names, dim)  # -1 selects the last element, which does not count
        source = viewed(chosen, beside)
    added = steps.work(beside, out.dtype)
    steps.each(MEETING, added, source, viewed(steps.dense(weight), table), viewed(there, table))
    if request.back:
        steps.index_add(out, steps.constant(0, out.dtype), names, viewed(added, flat), dim)
    else:
        steps.reducer(SUM, out.seen(out.layout.unsqueeze(dim)), added, (dim,))


# ---- windows as a view -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Windows:
    """The windows of an image (N, C, *sizes) as dims (N, C, *spots, *taps)."""

    image: Ints
    spots: Ints
    taps: Ints
    stride: Ints
    padding: Ints
    dilation: Ints

    @property
    def shape(self) -> Ints:
        return (*self.image[:2], *self.spots, *self.taps)

    @cached_property
    def padded(self) -> Ints:
        """The shape of the image with the padding that windows reach."""
        rows = zip(self.image[2:], self.spots, self.taps, self.stride, self.padding, self.dilation, strict=True)
        reach = [max(p + n, (count - 1) * s + (k - 1) * d + 1) for n, count, k, s, p, d in rows]
        return (*self.image[:2], *reach)

    @cached_property
    def view(self) -> Layout:
        """The windows as a layout over a contiguous padded image."""
        first, second, *strides = Layout.contiguous(self.padded).strides
        steps = [s * by for s, by in zip(strides, self.stride, strict=True)]
        gaps = [s * by for s, by in zip(strides, self.dilation, strict=True)]
        return Layout.make(self.shape, (first, second, *steps, *gaps), 0)

    @cached_property
    def interior(self) -> Layout:
        """The image as a layout over a contiguous padded image."""
        layout = Layout.contiguous(self.padded)
        for d, (p, n) in enumerate(zip(self.padding, self.image[2:], strict=True), 2):
            layout = layout.narrow(d, p, n)
        return layout

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """The row-major position in the plane of each window's elements, (*spots, *taps); -1 for padding."""
        dims = len(self.spots)
        position: NDArray[np.int64] = np.zeros((1,) * (2 * dims), np.int64)
        inside = position == 0
        for d, n in enumerate(self.image[2:]):
            starts = np.arange(self.spots[d]) * self.stride[d] - self.padding[d]
            at = starts[:, None] + np.arange(self.taps[d]) * self.dilation[d]
            at = np.expand_dims(at, [k for k in range(2 * dims) if k % dims != d])
            inside, position = inside & (at >= 0) & (at < n), position * n + at
        return np.where(inside, position, -1)

    def pad(self, steps: Steps, x: Value, dtype: DType) -> Value:
        """Return an image with zeros around it, as windows."""
        padded = steps.work(self.padded, dtype)
        steps.fill(padded, 0)
        steps.copy(padded.seen(self.interior), x)
        return padded.seen(self.view)
