"""The ops `grid_sample`, which reads images at given positions, and `affine_grid`, which computes positions.

The coordinates of a position are from -1 to 1 over the image.  An output is a weighted sum of a few pixels around its
position, which `taps.py` computes.  Its derivative with respect to the grid is that of the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Annotated, Any

import numpy as np

from minigrad.core.conditions import Filled, Floating, Like, expect_shapes
from minigrad.core.dtype import int64
from minigrad.core.roles import Choice, Shape
from minigrad.declare.decorators import composed, public
from minigrad.declare.names import MG
from minigrad.errors import ShapeError
from minigrad.ops.creation import arange, ones, tensor
from minigrad.ops.nn.taps import joined_tap, linear_tap, pad_position, pixel_at, sampled, tapped
from minigrad.ops.pointwise.compare import where
from minigrad.ops.pointwise.rounding import floor, round
from minigrad.ops.reduction.sums import sum, wide
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import expand, flatten, reshape
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor, describe

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
Taps = tuple[Tensor, Tensor]  # for one dim: positions (N, taps, outputs) and their weights


@composed()
def grid_sample(
    input: Tensor, grid: Tensor, mode: Annotated[str, Choice(*MODES)] = "bilinear",
    padding_mode: Annotated[str, Choice("zeros", "border", "reflection")] = "zeros",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return the values of images at the positions of a grid.

    input: Floats (N, C, H, W) or (N, C, D, H, W).
    grid: Positions (N, ..., 2) or (N, ..., 3) with the coordinates x, y and z, in the dtype of `input`; x is along the
    last dim of the image.
    mode: "bilinear", which interpolates linearly along each dim; "nearest"; or "bicubic", for images with two dims.
    padding_mode: Value of positions outside the image: "zeros", "border" for the nearest pixel of the image, or
    "reflection" for the pixel at the position that is reflected at the border.
    align_corners: Whether the coordinates -1 and 1 are the centres of the outer pixels, instead of their outer edges.
    None stands for False.

    Returns
    -------
    Tensor
        New tensor (N, C, ...) with one value for each channel and each position.

    Gradient: for input, g times the weights, added to the pixels; for grid, g times the derivatives of the weights,
    which are 0 for "nearest" and where a position is moved to the border.
    Raises ShapeError, DTypeError or ArgumentError for shapes, dtypes or modes other than those above.
    """
    expect_grid(input, grid, mode)
    beyond, corners = PADDINGS.index(padding_mode), bool(align_corners)
    if mode != "bicubic":
        function = sampled if input.ndim == 4 else by_planar_taps
        near = mode == "nearest"
        return function(wide(input), wide(grid), near=near, beyond=beyond, corners=corners).to(input.dtype)
    return by_taps(wide(input), wide(grid), mode, beyond, corners).to(input.dtype)


def by_taps(input: Tensor, grid: Tensor, mode: str, beyond: int, corners: bool) -> Tensor:
    """Return the values of images with any number of dims, from tables of taps that are built dim by dim."""
    images, size, count = input.shape[0], input.shape[2:], prod(grid.shape[1:-1])
    index, weight = (number(value, dtype, grid.device) for value, dtype in ((0, int64), (1.0, grid.dtype)))
    index, weight = (expand(x, shape=(images, 1, count)) for x in (index, weight))
    for d, n in enumerate(size):
        pixel = pixel_at(grid.select(-1, len(size) - 1 - d), float(n), float(corners))
        pad = partial(pad_position, size=float(n), corners=float(corners), beyond=float(beyond))
        along = TAPS[mode](reshape(pixel, (images, 1, count)), pad)
        tables = joined_tap(index.unsqueeze(2), weight.unsqueeze(2), *[x.unsqueeze(1) for x in along], float(n))
        index, weight = flatten(tables.joined.detach(), 1, 2), flatten(tables.product, 1, 2)
    planes = reshape(input, (*input.shape[:2], prod(size)))
    return reshape(tapped(planes, index, weight, count), (*input.shape[:2], *grid.shape[1:-1]))


@composed()
def affine_grid(theta: Annotated[Tensor, Floating], size: Shape, align_corners: bool | None = None) -> Tensor:
    """Return a grid (N, H, W, 2) or (N, D, H, W, 3) for `grid_sample`: the positions of all pixels after an affine map.

    theta: the matrices of the affine maps, (N, 2, 3) or (N, 3, 4).
    size: the shape of the images, (N, C, H, W) or (N, C, D, H, W).
    align_corners: whether the coordinates -1 and 1 are the centres of the outer pixels, instead of their outer edges.
    None stands for False.
    """
    dims = len(size) - 2
    if dims not in (2, 3) or theta.shape != (size[0], dims, dims + 1) or min(size) < 1:
        raise ShapeError(
            "affine_grid: theta must have the shape (N, 2, 3) for size (N, C, H, W), or (N, 3, 4) for size (N, C, D, "
            f"H, W), got {describe(theta)} and size={size}; change theta or size"
        )
    columns = []
    for d in range(dims - 1, -1, -1):
        n = size[2 + d]
        along = np.linspace(-1.0, 1.0, n) * (1.0 if align_corners else (n - 1) / n) if n > 1 else np.zeros(1)
        columns.append(np.broadcast_to(along.reshape(-1, *(1,) * (dims - d - 1)), size[2:]))
    base = tensor(np.stack([*columns, np.ones(size[2:])], -1), dtype=theta.dtype, device=theta.device)
    result = reshape(base, (1, prod(size[2:]), dims + 1)) @ theta.mT
    return reshape(result, (size[0], *size[2:], dims))


@public(namespace=MG)
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Call `nn.functional.grid_sample` with ints for the modes."""
    Choice(0, 1, 2).expect("grid_sampler", interpolation_mode=interpolation_mode, padding_mode=padding_mode)
    return grid_sample(input, grid, MODES[interpolation_mode], PADDINGS[padding_mode], align_corners)


@public(namespace=MG)
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Call `grid_sampler` for images with two dims."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@public(namespace=MG)
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Call `grid_sampler` for images with three dims."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def expect_grid(x: Tensor, grid: Tensor, mode: str) -> None:
    """Raise ShapeError, DTypeError or ArgumentError unless the images, the grid and the modes fit."""
    Choice(*MODES if x.ndim == 4 else MODES[:2]).expect("grid_sample", x, mode=mode)
    shapes = "N, C, D, H, W; N, D_out, H_out, W_out, 3" if x.ndim == 5 else "N, C, H, W; N, H_out, W_out, 2"
    expect_shapes("grid_sample", "add dims with unsqueeze", shapes, input=x, grid=grid)
    Floating.expect("grid_sample", input=x)
    Like("dtype").expect("grid_sample", x, grid=grid)
    Filled(x.ndim - 2, "spatial dim").expect("grid_sample", input=x)


# ---- pixels around a position ----------------------------------------------------------------------------------------


def linear(x: Tensor, pad: Callable[..., Tensor]) -> Taps:
    """Return the two neighbours of each position x, and their weights for linear interpolation."""
    position, share = linear_tap(pad(x), steps_from(0, 2, x))
    return position.detach(), share


def nearest(x: Tensor, pad: Callable[..., Tensor]) -> Taps:
    """Return each position rounded to the nearest pixel, with ties to even, and the weight 1."""
    at = round(pad(x)).detach()
    return at, ones(at.shape, dtype=at.dtype, device=at.device)


def cubic(x: Tensor, pad: Callable[..., Tensor]) -> Taps:
    """Return the four neighbours of each position x, and their weights for cubic convolution.

    pad: the function that moves a neighbour outside the image to the position that the padding mode specifies.
    Source: Keys, Cubic convolution interpolation for digital image processing, IEEE Trans. ASSP 29 (1981), a = -0.75.
    """
    first = floor(x).detach()
    t = x - first
    return pad(first + steps_from(-1, 4, x)).detach(), cat([far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)], 1)


def steps_from(first: int, count: int, like: Tensor) -> Tensor:
    """Return the `count` integers from `first`, one per neighbour, in a shape that broadcasts with positions."""
    return reshape(arange(first, first + count, dtype=like.dtype, device=like.device), (count, 1))


def near(t: Any, a: float = -0.75) -> Any:
    """Return the weight of cubic convolution at distances up to 1."""
    return ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0


def far(t: Any, a: float = -0.75) -> Any:
    """Return the weight of cubic convolution at distances from 1 to 2."""
    return ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a


TAPS: dict[str, Callable[..., Taps]] = {"bilinear": linear, "nearest": nearest, "bicubic": cubic}


def by_planar_taps(input: Tensor, grid: Tensor, *, near: bool, beyond: int, corners: bool) -> Tensor:
    """Return the value of `sampled` in tensor code, also for volumes; nearest pixels have a gradient of the grid, 0."""
    if not near:
        return by_taps(input, grid, "bilinear", beyond, corners)
    unmoved = sum(where(grid.isfinite(), grid, 0.0) * 0.0, -1).unsqueeze(1)
    return by_taps(input, grid, "nearest", beyond, corners) + unmoved


sampled.op.composed = by_planar_taps  # type: ignore[attr-defined]
