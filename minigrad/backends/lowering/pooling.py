"""Pooling, resampling and sampling by grids: windows are a view, which steps such as a sum or a gather process.

A `SampleGrid` is a `Resample` of each image by tables of taps, which are computed element by element.
"""

# The bodies of scalar functions are data, which the specialiser reads; they have no type annotations.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering.functions import CHOSEN, FIRST_OF, LINE, MEETING, PRODUCT, QUOTIENT, SUM
from minigrad.backends.steps import Ints, Steps, Value, viewed
from minigrad.core.dtype import DType, bool_, float64, int64
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn
from minigrad.core.requests import AvgPool, Gather, GridGradients, MaxPool, PutBack, Resample, SampleGrid, Scatter
from minigrad.core.shape import window_counts
from minigrad.kernels.scalar import formula, scalar_of


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
        steps.ask(Scatter(2), result, zero.expand(plane), index, viewed(added, rows))
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


def tap(column, row, corner, width, height, near):
    """Return the index of the pixel at a corner, or -1, and its weight."""
    below = math.floor(corner / 2)
    right = corner - 2 * below
    wide = column - math.floor(column)
    high = row - math.floor(row)
    share = (wide if right != 0 else 1 - wide) * (high if below != 0 else 1 - high)
    weight = 1 if near != 0 else share
    j = round(column) if near != 0 else math.floor(column) + right
    i = round(row) if near != 0 else math.floor(row) + below
    inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
    return (i * width + j if inside else (0 if weight != weight else -1)), weight


def side(position, corner, along):
    """Return the derivative of the weight of a corner with respect to one dim.

    position: the position along the other dim.
    along: 1 for the derivative with respect to the column.
    """
    below = math.floor(corner / 2)
    right = corner - 2 * below
    rest = position - math.floor(position)
    ahead = right if along != 0 else below
    beside = below if along != 0 else right
    return (rest if beside != 0 else 1 - rest) * (2 * ahead - 1)


TAP, SIDE = scalar_of(tap, results=2), scalar_of(side)
REAL = formula("real(index, weight)", "index if weight == weight else -1")  # a weight of nan has no pixel


class Grid:
    """The values of a launch that depend on a grid: positions among pixels, corners, sizes and modes."""

    def __init__(
        self, steps: Steps, grid: Value, size: tuple[int, ...], locate: ScalarFn, near: bool, beyond: int, corners: bool
    ) -> None:
        self.steps, self.images, self.count = steps, grid.shape[0], prod(grid.shape[1:3])
        self.dtype = grid.dtype
        points = viewed(steps.dense(grid), (self.images, 1, self.count, 2))
        self.points = [points.select(3, k) for k in (0, 1)]
        self.ways = [steps.constant(value, self.dtype) for value in (corners, beyond)]
        self.sizes = [steps.constant(n, self.dtype) for n in reversed(size)]
        self.near = steps.constant(near, self.dtype)
        self.taps = 1 if near else 4
        self.corner = steps.positions(self.taps, 2, 0)
        self.pixels = [steps.work((self.images, 1, self.count), self.dtype) for _ in self.points]
        for pixel, point, n in zip(self.pixels, self.points, self.sizes, strict=True):
            steps.each(locate, pixel, point, n, *self.ways)

    def tables(self) -> tuple[Value, Value]:
        """Return the indices and the weights of all taps of each image; float64 represents the indices exactly."""
        shape = (self.images, self.taps, self.count)
        index, weight = self.steps.work(shape, int64), self.steps.work(shape, self.dtype)
        values = (*self.pixels, self.corner, *self.sizes, self.near)
        self.steps.each(TAP, (index, weight), *values, compute=float64.compute)
        return index, weight


@serves(Backend, SampleGrid)
def sample_grid(steps: Steps, request: SampleGrid) -> None:
    """Compute the tables, then the weighted sum of the pixels of each image."""
    (out,), (a, grid) = steps.outs, steps.operands
    size = (out if request.back else a).shape[2:]
    if not out.layout.numel or not a.layout.numel:
        steps.fill(out, 0)
        return
    made = Grid(steps, grid, size, request.locate, request.near, request.beyond, request.corners)
    index, weight = made.tables()
    if request.back:
        steps.each(REAL, index, index, weight, compute=float64.compute)
    source = viewed(steps.dense(a), (*a.shape[:2], -1))
    to = viewed(out, (*out.shape[:2], prod(out.shape[2:])))
    for n in range(a.shape[0]):
        steps.ask(Resample(1, request.back), *[x.select(0, n) for x in (to, source, index, weight)])


@serves(Backend, GridGradients)
def grid_gradients(steps: Steps, request: GridGradients) -> None:
    """Multiply g by the pixel of each tap, sum over channels, and multiply by the derivative of the tap's weight."""
    (out,), (g, a, grid) = steps.outs, steps.operands
    if not out.layout.numel or not a.layout.numel:
        steps.fill(out, 0)
        return
    made = Grid(steps, grid, a.shape[2:], request.locate, False, request.beyond, request.corners)
    index, weight = made.tables()
    steps.each(REAL, index, index, weight, compute=float64.compute)
    (images, lines), pixels, count = a.shape[:2], prod(a.shape[2:]), made.count
    source, head = viewed(steps.dense(a), (images, lines, pixels)), viewed(steps.dense(g), (images, lines, 1, count))
    one, there = steps.constant(1, int64), steps.work(index.shape, int64)
    # `there` is index + 1: it is 0 for a tap without a pixel (index -1), whose product is then 0
    steps.each(LINE, there, index, one, one)
    chosen, terms = steps.work((lines, 4 * count), made.dtype), steps.work(index.shape, made.dtype)
    products = viewed(chosen, (lines, 4, count))
    for n in range(images):
        steps.index_select(chosen, source.select(0, n), viewed(index.select(0, n), (4 * count,)), 1)
        steps.each(MEETING, products, products, head.select(0, n), there.select(0, n))
        steps.reducer(SUM, terms.at(0, n), products, (0,))
    to = viewed(out, (images, 1, count, 2))
    for k, (point, size) in enumerate(zip(made.points, made.sizes, strict=True)):
        part, total = steps.work(terms.shape, made.dtype), steps.work((images, 1, count), made.dtype)
        steps.each(SIDE, part, made.pixels[1 - k], made.corner, steps.constant(1 - k, made.dtype))
        steps.each(PRODUCT, part, part, terms)
        steps.reducer(SUM, total, part, (1,))
        steps.each(request.derivative, to.select(3, k), total, point, size, *made.ways)
