"""Sampling by grids: tables of taps, computed element by element, and a `Resample` of each image by its tables."""

# The bodies of scalar functions are data, which the specialiser reads; they have no type annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from math import prod

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering.functions import LINE, MEETING, PRODUCT, SUM
from minigrad.backends.steps import Steps, Value, viewed
from minigrad.core.dtype import float64, int64
from minigrad.core.op import ScalarFn
from minigrad.core.requests import GridGradients, Resample, SampleGrid
from minigrad.kernels.scalar import scalar_of


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


def real(index, weight):
    """Return the index of a tap, or -1 if its weight is nan."""
    return index if weight == weight else -1


TAP, SIDE, REAL = scalar_of(tap, results=2), scalar_of(side), scalar_of(real)


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
