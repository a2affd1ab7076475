"""Losses of regression: sums and means of what numbers are off by, one launch each."""

# The bodies of scalar functions are data, which the specialiser reads; they carry no types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
import warnings

from minigrad.core.shape import broadcast_shapes
from minigrad.declare.decorators import composed, elementwise, reduction
from minigrad.declare.names import FUNCTIONAL
from minigrad.declare.rules import accumulate, to_float
from minigrad.errors import DTypeError, ShapeError
from minigrad.ops.nn.losses import named_reduction, weighted_mean
from minigrad.ops.reduction.sums import restore, sum, wide
from minigrad.ops.shape.views import expand
from minigrad.runtime.tensor import Tensor, describe

Ints = tuple[int, ...]


@elementwise(dtype=to_float, vjp="derived", namespace=(), method=False, label="mse_loss")
def squared_difference(input, target):
    """(input - target)**2.  Gradient: 2*g*(input - target), and minus that."""
    return (input - target) * (input - target)


def _squares_gradient(g: Tensor, a: Tensor, b: Tensor, dims: Ints, n: int) -> Tensor:
    """The gradient of a sum of squared differences over n by each a."""
    return (restore(wide(g) * 2.0 / float(n), dims, a.shape) * (a - b)).to(g.dtype)


def _length(shape: Ints, dims: Ints) -> int:
    """Return how many elements are added to one."""
    return math.prod(shape[d] for d in dims)


@reduction(
    dtype=accumulate, identity="zero", order="sum", map=squared_difference, namespace=(), method=False,
    label="mse_loss",
    vjp=(lambda g, input, target, *, dims: _squares_gradient(g, input, target, dims, 1),
         lambda g, input, target, *, dims: _squares_gradient(g, target, input, dims, 1)),
)  # fmt: skip
def sum_of_squared_differences(acc, x):
    """The sum of (input - target)**2 over `dim`.  Gradient: 2*g*(input - target), and minus that."""
    return acc + x


@reduction(
    dtype=accumulate, identity="zero", order="sum", map=squared_difference, mean=True, namespace=(), method=False,
    label="mse_loss",
    vjp=(lambda g, input, target, *, dims: _squares_gradient(g, input, target, dims, _length(input.shape, dims)),
         lambda g, input, target, *, dims: _squares_gradient(g, target, input, dims, _length(input.shape, dims))),
)  # fmt: skip
def mean_of_squared_differences(acc, x):
    """The mean of (input - target)**2 over `dim`.  Gradient: 2*g*(input - target)/n, and minus that."""
    return acc + x


@composed(namespace=FUNCTIONAL, method=False, out=False)
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target)**2, its sum, or its mean over all elements; with `weight`, of input's shape, times that.

    A weighted mean is divided by the sum of the weights.  Shapes broadcast, with a warning: that is seldom meant.
    Gradient: 2*g*(input - target) over what the mean is divided by, minus that for the target.
    """
    reduction = named_reduction("mse_loss", reduction, size_average, reduce)
    if not (input.dtype.is_float or target.dtype.is_float):
        raise DTypeError(
            f"mse_loss: {describe(input)} and {describe(target)} must have a floating dtype; convert with "
            f".to(mg.float32)", op="mse_loss",
        )  # fmt: skip
    if weight is not None and weight.shape != input.shape:
        raise ShapeError(f"mse_loss: {describe(weight)} must have the shape of {describe(input)}", op="mse_loss")
    input, target = _alike(input, target)
    if weight is not None:
        weighted = squared_difference(input, target) * weight
        if reduction == "mean":
            return weighted_mean(weighted, weight)
        return weighted if reduction == "none" else sum(weighted)
    if reduction == "none":
        return squared_difference(input, target)
    return (sum_of_squared_differences if reduction == "sum" else mean_of_squared_differences)(input, target)


def _alike(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the shape that they broadcast to."""
    if input.shape == target.shape:
        return input, target
    shape = broadcast_shapes("mse_loss", input.shape, target.shape)
    warnings.warn(
        f"mse_loss: {describe(input)} and {describe(target)} differ in shape and are stretched to {shape}; give both "
        f"one shape", stacklevel=4,
    )  # fmt: skip
    return expand(input, shape=shape), expand(target, shape=shape)
