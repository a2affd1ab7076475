"""Images at the positions of a grid: the kernels of the CPU and the lowering, held to the definition by taps."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.config import override
from minigrad.ops.nn.grids import by_planar_taps
from minigrad.ops.nn.taps import grid_gradient, image_gradient, sampled

WAYS = [dict(zip(("near", "beyond", "corners"), way)) for way in product((False, True), (0, 1, 2), (False, True))]
PLAIN: dict[str, Any] = {"near": False, "beyond": 0, "corners": False}
# More channels than are computed together, and more positions than a block has.
LARGE, SMALL = ((1, 9, 3, 4), (1, 18, 15, 2)), ((2, 2, 3, 1), (2, 2, 3, 2))


def operands(image: tuple[int, ...], grid: tuple[int, ...], device: str, dtype: str) -> list[mg.Tensor]:
    """Images, positions of which many are outside, and an incoming gradient."""
    rng = np.random.default_rng(5)
    values = (rng.standard_normal(image), rng.uniform(-2.5, 2.5, grid), rng.standard_normal((*image[:2], *grid[1:3])))
    return [mg.tensor(v, device=device, dtype=dtype) for v in values]


def found(x: mg.Tensor, grid: mg.Tensor, g: mg.Tensor, **way: Any) -> list[np.ndarray]:
    """The result and the gradients of the kernels; nearest pixels have no gradient for the grid."""
    parts = [sampled(x, grid, **way), image_gradient(g, grid, size=x.shape[2:], **way)]
    return [v.numpy() for v in (parts if way["near"] else [*parts, grid_gradient(g, x, grid, **way)])]


def wanted(x: mg.Tensor, grid: mg.Tensor, g: mg.Tensor, **way: Any) -> list[np.ndarray]:
    """The same of the definition."""
    y, pull = mg.func.vjp(lambda *values: by_planar_taps(*values, **way), x, grid)
    dx, dgrid = pull(g)
    return [v.numpy() for v in ((y, dx) if way["near"] else (y, dx, dgrid))]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_kernels_and_lowering_give_what_the_definition_gives(way: dict[str, Any]) -> None:
    for shapes, device, dtype, close in ((LARGE, "cpu", "float32", 2e-4), (SMALL, "reference", "float64", 1e-11)):
        want = wanted(*operands(*shapes, "reference", "float64"), **way)
        for got, each in zip(found(*operands(*shapes, device, dtype), **way), want, strict=True):
            np.testing.assert_allclose(got, each, rtol=close, atol=close)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_a_position_of_nan_reads_nan_and_adds_nothing_to_the_image(device: str) -> None:
    x, _, g = operands((1, 2, 3, 4), (1, 1, 1, 2), device, "float32")
    y, dx, dgrid = found(x, mg.tensor([[[[0.25, math.nan]]]], device=device), g, **PLAIN)
    assert np.isnan(y).all() and not dx.any()
    assert math.isnan(dgrid[0, 0, 0, 0]) and dgrid[0, 0, 0, 1] == 0  # as in PyTorch


def test_threads_and_layouts_change_no_bit() -> None:
    values = operands((3, 33, 6, 5), (3, 20, 15, 2), "cpu", "float32")
    want = found(*values, **PLAIN)
    apart = [mg.stack([-v, v], v.ndim).select(v.ndim, 1) for v in values]
    with override(parallel_threshold=0):
        for got, each in zip(found(*apart, **PLAIN), want, strict=True):
            np.testing.assert_array_equal(got, each)


def test_each_gradient_is_made_alone() -> None:
    x, grid, g = operands(*SMALL, "cpu", "float32")
    want = found(x, grid, g, **PLAIN)
    for k, name in enumerate(("image", "grid")):
        leaves = [mg.Var(v) if j == k else v for j, v in enumerate((x, grid))]
        sampled(*leaves, **PLAIN).backward(g)
        np.testing.assert_array_equal(leaves[k].grad.numpy(), want[1 + k], err_msg=name)  # type: ignore[union-attr]


def test_nearest_pixels_have_derivatives_of_zero_in_the_grid() -> None:
    x, grid = mg.randn(1, 3, 4, 5, device="reference"), mg.randn(1, 2, 3, 2, device="reference")

    def near(grid: mg.Tensor) -> mg.Tensor:
        return mg.nn.functional.grid_sample(x, grid, mode="nearest")

    y, tangent = mg.func.jvp(near, (grid,), (grid,))
    assert mg.equal(y, near(grid)) and not tangent.any()
    dx = mg.randn(1, 3, 4, 5, device="reference")
    _, tangent = mg.func.jvp(lambda *xs: mg.nn.functional.grid_sample(*xs, mode="nearest"), (x, grid), (dx, grid))
    assert mg.equal(tangent, mg.nn.functional.grid_sample(dx, grid, mode="nearest"))
    leaf = mg.Var(grid)
    for recorded in (False, True):
        (g,) = mg.grad(near(leaf).sum(), [leaf], create_graph=recorded)
        assert g is not None and not g.any()
    volume, leaf = mg.randn(1, 1, 2, 2, 2, device="reference"), mg.Var(mg.rand(1, 1, 2, 2, 3), device="reference")
    y = mg.nn.functional.grid_sample(volume, leaf, mode="nearest")
    assert y.requires_grad and not mg.grad(y.sum(), [leaf])[0].any()
