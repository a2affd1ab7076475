"""Values of images with two dims at the positions of a grid, computed in one launch: the ops of grid_sample.

`grids.py` has the definition in tables of taps, for derivatives of higher order and for tangents.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from functools import cache
from typing import Any

from minigrad.backends.launch import Launch
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.requests import GridGradients, SampleGrid
from minigrad.core.roles import Flag, Shape, Size
from minigrad.declare.decorators import kernel
from minigrad.declare.derivative import derivative
from minigrad.declare.rules import joint
from minigrad.ops.batch_rules import batch_merged
from minigrad.ops.creation import zeros_like
from minigrad.ops.nn.taps import located
from minigrad.ops.nn.windows import wide_floats
from minigrad.runtime.tensor import Tensor


@cache
def located_gradient() -> ScalarFn:
    """Return the scalar function of a gradient times the derivative of `located`, which is derived at the first use."""
    return derivative(located, 0)


def _gradients(
    asked: tuple[bool, ...], g: Tensor, input: Tensor, grid: Tensor, near: bool, beyond: int, corners: bool
) -> tuple[Tensor | None, ...]:
    """Return the requested gradients of the images and the grid; for nearest pixels, that of the grid is 0."""
    ways: dict[str, Any] = {"near": near, "beyond": beyond, "corners": corners}
    of_grid = zeros_like(grid) if near and asked[1] else grid_gradient(g, input, grid, **ways) if asked[1] else None
    return image_gradient(g, grid, size=input.shape[2:], **ways) if asked[0] else None, of_grid


def _rule(k: int) -> Any:
    """Return the VJP rule of operand k; it saves both operands, because the definition needs them."""
    asked = (k == 0, k == 1)
    return lambda g, input, grid, *, near, beyond, corners: _gradients(asked, g, input, grid, near, beyond, corners)[k]


@kernel(
    dtype=wide_floats, shape=lambda op, input, grid, **ways: (*input.shape[:2], *grid.shape[1:3]),
    vjp=(_rule(0), _rule(1)), joint=lambda g, input, grid, *, asked, near, beyond, corners: _gradients(
        asked, g, input, grid, near, beyond, corners),
    batch=lambda input, grid, *, near, beyond, corners, batch: batch_merged(
        lambda *xs: sampled(*xs, near=near, beyond=beyond, corners=corners), (input, grid)),
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
    batch=lambda g, grid, *, size, near, beyond, corners, batch: batch_merged(
        lambda *xs: image_gradient(*xs, size=size, near=near, beyond=beyond, corners=corners), (g, grid)),
    namespace=(), out=False, label="the gradient of grid_sample",
)  # fmt: skip
def image_gradient(
    backend: Any, out: Spec, g: Tensor, grid: Tensor, *, size: Shape, near: Flag, beyond: Size, corners: Flag
) -> Launch:
    """Return the gradient of `sampled` with respect to the images."""
    return backend.prepare(SampleGrid(located, near, beyond, corners, True), out, g, grid)


@kernel(
    dtype=wide_floats, shape=lambda op, g, input, grid, **ways: grid.shape, linear=joint("g"),
    batch=lambda g, input, grid, *, near, beyond, corners, batch: batch_merged(
        lambda *xs: grid_gradient(*xs, near=near, beyond=beyond, corners=corners), (g, input, grid)),
    namespace=(), out=False, label="the gradient of grid_sample",
)  # fmt: skip
def grid_gradient(
    backend: Any, out: Spec, g: Tensor, input: Tensor, grid: Tensor, *, near: Flag, beyond: Size, corners: Flag
) -> Launch:
    """Return the gradient of `sampled` with respect to the grid, for bilinear interpolation."""
    return backend.prepare(GridGradients(located, located_gradient(), beyond, corners), out, g, input, grid)
