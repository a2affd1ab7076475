"""Sums and means without nan, covariances and correlations: nansum, nanmean, cov and corrcoef."""

from __future__ import annotations

from typing import Annotated

from minigrad.core.conditions import Floating, Ndim
from minigrad.core.roles import Cast, Dims, Flag, Int
from minigrad.declare.decorators import composed, reduction, scalar
from minigrad.declare.forms import as_float
from minigrad.declare.rules import widen
from minigrad.errors import ShapeError, warn
from minigrad.ops.linalg.products import matmul
from minigrad.ops.pointwise.clamping import clamp
from minigrad.ops.pointwise.compare import isnan, where
from minigrad.ops.reduction.sums import restore, sum, wide
from minigrad.ops.shape.views import diagonal, reshape
from minigrad.runtime.tensor import Tensor, describe


@scalar
def number_or_zero(x):
    """Return x, or 0 for nan."""
    return 0 if x != x else x


@reduction(
    dtype=widen, identity="zero", order="sum", map=number_or_zero,
    vjp=(lambda g, x, *, dims: where(isnan(x), 0.0, restore(g, dims, x.shape)),),
    jvp=lambda dx, x, *, dims, keepdim: sum(where(isnan(x), 0.0, dx), dims, keepdim),
)  # fmt: skip
def nansum(acc, x):
    """Return the sum over `dim` of the elements that are not nan; 0 if all elements are nan.

    Gradient: g for each element that is not nan, and 0 for nan.
    """
    return acc + x


@composed()
def nanmean(input: Tensor, dim: Dims = None, keepdim: Flag = False, *, dtype: Cast = None) -> Tensor:
    """Return the mean over `dim` of the elements that are not nan; nan if all elements are nan.

    Gradient: g/count for each element that is not nan, and 0 for nan.
    """
    x = input if dtype is None else input.to(dtype)
    Floating.expect("nanmean", input=x)
    total = nansum(wide(x), dim, keepdim)
    return (total / sum(x == x, dim, keepdim).to(total.dtype)).to(x.dtype)  # only nan differs from itself


@composed(out=False)
def cov(
    input: Annotated[Tensor, Ndim(most=2, advice="reshape it to (variables, observations)")],
    *,
    correction: Int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Return the covariance matrix of the rows of the input, whose columns are observations.

    For a single row or a vector, the result is the variance, of shape ().
    correction: the number that is subtracted from the number of observations to obtain the divisor.
    fweights: the number of times that each observation counts, a vector with one integer per column.
    aweights: the weight of each observation, a vector with one float per column.
    If the divisor is not positive, it counts as 0.  Without weights, this is known from the shape, and warns.
    Raises ShapeError for an input with more than 2 dims, or for weights of another shape or dtype.
    """
    x = as_float("cov", input if input.ndim == 2 else reshape(input, (1, input.numel())))
    for w, name, right in ((fweights, "fweights", "is_int"), (aweights, "aweights", "is_float")):
        if w is not None and (w.shape != x.shape[1:] or not getattr(w.dtype, right)):
            raise ShapeError(
                f"cov: {name} must be one {right[3:]} for each column of {describe(x)}, got {describe(w)}; convert the "
                "weights or change their length"
            )
    weights = aweights if fweights is None else fweights if aweights is None else fweights * aweights
    if weights is None:
        divisor = x.shape[1] - correction
        if divisor <= 0:
            warn(
                f"cov: {describe(input)} has too few observations for correction={correction}; pass correction=0 or "
                "more columns"
            )
        x = x - sum(x, 1, keepdim=True) / float(x.shape[1])
        return (matmul(x, x.mT) / float(max(divisor, 0))).squeeze()
    counts = sum(weights).to(x.dtype)
    center = sum(x * weights, 1, keepdim=True) / counts
    other = 1.0 if aweights is None else sum(weights * aweights).to(x.dtype) / counts
    x = x - center
    return (matmul(x, (x * weights).mT) / clamp(counts - correction * other, 0.0)).squeeze()


@composed(out=False)
def corrcoef(input: Tensor) -> Tensor:
    """Return the correlation matrix of the rows of the input, from -1 to 1.

    It is `cov`, divided by the standard deviations of both rows.
    """
    c = cov(input)
    if not c.ndim:
        return c / c
    size = diagonal(c).sqrt()
    return clamp(c / size.unsqueeze(1) / size.unsqueeze(0), -1, 1)
