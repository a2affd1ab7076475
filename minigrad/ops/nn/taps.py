"""Weighted sums of the pixels around positions that differ between images: the ops of `grid_sample`.

A tap is one of the pixels that a position reads.  Along each dim, it has a position and a share.  `joined_tap` combines
those of all dims into one row-major position and one weight.  `tapped` sums the taps; its adjoint is the same op with
`back`.  For images with two dims, `sampled` computes the values in one launch; `grids.py` has its definition in tables
of taps, for derivatives of higher order and for tangents.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from minigrad.backends.launch import Launch
from minigrad.core.dtype import DType, float64, int64
from minigrad.core.op import Op, ScalarFn, Spec
from minigrad.core.requests import GridGradients, Resample, SampleGrid
from minigrad.core.roles import Flag, Shape, Size
from minigrad.declare.claims import single_rules
from minigrad.declare.decorators import elementwise, kernel, scalar
from minigrad.declare.derivative import derivative
from minigrad.declare.rules import common, each, joint, number, to_float
from minigrad.ops.creation import zeros_like
from minigrad.ops.indexing.gathering import gather
from minigrad.ops.nn.windows import wide_floats
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.views import expand, reshape
from minigrad.runtime.tensor import Tensor


@scalar
def reflected(x, size, corners):
    """Return a position reflected until it is inside the image.

    With corners, it is reflected at the centres of the outer pixels, otherwise at their outer edges.
    """
    low = 0 if corners != 0 else -0.5
    span = size - 1 if corners != 0 else size
    distance = x - low if x >= low else low - x
    turns = math.floor(distance / span)
    rest = distance - turns * span
    inside = rest + low if turns == 2 * math.floor(turns / 2) else span - rest + low
    return inside if span > 0 else 0


@scalar
def moved(x, size, corners, beyond):
    """Return a position unchanged for beyond = 0, moved to the border for 1, or reflected for 2.

    For 1 and 2, the derivative is 0 at the border and where the position was moved to it, and nan becomes 0.
    """
    last = size - 1
    near = reflected(x, size, corners) if beyond == 2 else x
    clipped = near if (near > 0) & (near < last) else (last if near >= last else 0)
    return x if beyond == 0 else clipped


@scalar
def pixel_of(at, size, corners):
    """Return the position in pixels, among `size` pixels, of a coordinate from -1 to 1.

    With corners, -1 and 1 are the centres of the outer pixels, otherwise their outer edges.
    """
    return (at + 1) / 2 * (size - 1) if corners != 0 else ((at + 1) * size - 1) / 2


@scalar
def located(at, size, corners, beyond):
    """Return the position in pixels, among `size` pixels, of a grid coordinate, moved by the padding `beyond`."""
    return moved(pixel_of(at, size, corners), size, corners, beyond)


@elementwise(dtype=to_float, vjp=("derived", None, None), namespace=())
def pixel_at(at, size, corners):
    """Return the position in pixels, among `size` pixels, of a coordinate from -1 to 1.

    With corners, -1 and 1 are the centres of the outer pixels, otherwise their outer edges.
    Gradient: g * size / 2, or with corners g * (size - 1) / 2.
    """
    return pixel_of(at, size, corners)


@elementwise(dtype=to_float, vjp=("derived", None, None, None), namespace=())
def pad_position(x, size, corners, beyond):
    """Return a position in pixels, moved by the padding: `beyond` is 0 for zeros, 1 for border, 2 for reflection.

    Gradient: g, or -g where it was reflected an odd number of times; 0 where it was moved to the border.
    """
    return moved(x, size, corners, beyond)


@elementwise(
    dtype=number, outputs=("position", "share"), namespace=(),
    vjp=(lambda g1, side: g1 * (side * 2.0 - 1.0), None),
)  # fmt: skip
def linear_tap(at, side):
    """Return the neighbour below a position, or above it for side 1, and its share in a linear interpolation.

    Gradient: that of the share, which is g1 for the neighbour above and -g1 for the neighbour below.
    """
    below = math.floor(at)
    return below + side, (at - below if side != 0 else 1 - (at - below))


def _index_and_weight(op: Op, specs: Sequence[Spec]) -> tuple[np.dtype[Any], tuple[DType, DType]]:
    """Compute in float64, in which an index is exact up to 2**53; return int64 and the dtype of the shares."""
    return float64.compute, (int64, common(specs[1:4]))


@elementwise(
    dtype=_index_and_weight, outputs=("joined", "product"), namespace=(),
    vjp=(None, lambda g1, share: g1 * share, None, lambda g1, weight: g1 * weight, None),
)  # fmt: skip
def joined_tap(index, weight, position, share, size):
    """Return a tap extended by one dim of `size` pixels: its row-major index, and its weight.

    The index is -1 if there is no pixel at the position.  For a weight of nan, it is then 0, so that nan appears in the
    result.
    Gradient: that of the weight.
    """
    total = weight * share
    there = (position >= 0) & (position < size) & (index >= 0)
    return (index * size + position if there else (0 if total != total else -1)), total


@kernel(
    dtype=wide_floats, shape=lambda op, x, index, weight, *, size, back: (*x.shape[:2], size), namespace=(),
    label="grid_sample", linear=each("x", "weight"),
    vjp=(
        lambda g, index, weight, *, in_shape, back: _untapped(g, index, weight, in_shape[2], back),
        None,
        lambda g, x, index, *, back: _shares(*((x, g) if back else (g, x)), index),
    ),
    batch="merged",
)  # fmt: skip
def tapped(steps, out, x: Tensor, index: Tensor, weight: Tensor, size: Size, back: Flag = False):
    """Sum the pixels of planes (N, C, P) at the indices in tables (N, taps, size), times their weights; -1 is skipped.

    back: whether to compute the adjoint, which adds elements (N, C, outputs), times their weights, to planes of `size`
    pixels.
    Gradient: for x, the adjoint; for a weight, the sum over channels of g times the pixel.
    """
    for n in range(x.shape[0]):
        one, *operands = (v.seen(v.layout.select(0, n)) for v in (*steps.outs, *steps.operands))
        steps.ask(Resample(1, back), one, *operands)


def _untapped(g: Tensor, index: Tensor, weight: Tensor, size: int, back: bool) -> Tensor:
    """Return the adjoint of `tapped`; a tap with a weight of nan is skipped."""
    return tapped(g, where(weight == weight, index, -1), weight, size, not back)


def _shares(g: Tensor, x: Tensor, index: Tensor) -> Tensor:
    """Return the gradient of the weights: the sum over channels of g (N, C, outputs) times pixels of x (N, C, P)."""
    (n, c), (taps, outputs) = x.shape[:2], index.shape[1:]
    named = expand(reshape(where(index < 0, 0, index), (n, 1, taps * outputs)), shape=(n, c, taps * outputs))
    pixels = reshape(gather(x, 2, named), (n, c, taps, outputs))
    return where(index < 0, 0.0, sum(pixels * reshape(g, (n, c, 1, outputs)), 1))


# ---- images with two dims, in one launch -----------------------------------------------------------------------------


@cache
def located_gradient() -> ScalarFn:
    """Return the scalar function of a gradient times the derivative of `located`, which is derived at the first use."""
    return derivative(located, 0)


def _gradients(g, input, grid, *, asked, near, beyond, corners):
    """Return the requested gradients of the images and the grid; for nearest pixels, that of the grid is 0."""
    ways: dict[str, Any] = {"near": near, "beyond": beyond, "corners": corners}
    of_grid = zeros_like(grid) if near and asked[1] else grid_gradient(g, input, grid, **ways) if asked[1] else None
    return image_gradient(g, grid, size=input.shape[2:], **ways) if asked[0] else None, of_grid


@kernel(
    dtype=wide_floats, shape=lambda op, input, grid, **ways: (*input.shape[:2], *grid.shape[1:3]),
    vjp=single_rules(_gradients, 2), joint=_gradients,
    batch="merged",
    namespace=(), out=False, label="grid_sample",
)  # fmt: skip
def sampled(backend: Any, out: Spec, input: Tensor, grid: Tensor, *, near: Flag, beyond: Size, corners: Flag) -> Launch:
    """Return the values of images (N, C, H, W) at the positions of a grid (N, h, w, 2).

    near: whether to return the nearest pixel, instead of a bilinear interpolation.
    beyond: the padding outside the image, 0 for zeros, 1 for the border, 2 for the reflection.
    Gradient: for input, g times the weights, added to the pixels; for grid, g times the derivatives of the weights.
    """
    return backend.prepare(SampleGrid(located, near, beyond, corners, False), out, input, grid)


@kernel(
    dtype=wide_floats, shape=lambda op, g, grid, *, size, **ways: (*g.shape[:2], *size), linear=joint("g"),
    batch="merged",
    namespace=(), out=False, label="the gradient of grid_sample",
)  # fmt: skip
def image_gradient(
    backend: Any, out: Spec, g: Tensor, grid: Tensor, *, size: Shape, near: Flag, beyond: Size, corners: Flag
) -> Launch:
    """Return the gradient of `sampled` with respect to the images."""
    return backend.prepare(SampleGrid(located, near, beyond, corners, True), out, g, grid)


@kernel(
    dtype=wide_floats, shape=lambda op, g, input, grid, **ways: grid.shape, linear=joint("g"),
    batch="merged",
    namespace=(), out=False, label="the gradient of grid_sample",
)  # fmt: skip
def grid_gradient(
    backend: Any, out: Spec, g: Tensor, input: Tensor, grid: Tensor, *, near: Flag, beyond: Size, corners: Flag
) -> Launch:
    """Return the gradient of `sampled` with respect to the grid, for bilinear interpolation."""
    return backend.prepare(GridGradients(located, located_gradient(), beyond, corners), out, g, input, grid)
