"""Statistics of the elements that count."""

from __future__ import annotations

from minigrad.core.roles import Cast, Dims, Flag
from minigrad.declare.decorators import composed
from minigrad.errors import DTypeError
from minigrad.ops.pointwise.compare import isnan, logical_not, where
from minigrad.ops.reduction.sums import sum, wide
from minigrad.runtime.tensor import Tensor, describe


@composed()
def nanmean(input: Tensor, dim: Dims = None, keepdim: Flag = False, *, dtype: Cast = None) -> Tensor:
    """Mean over `dim` of the elements that are not nan; nan where there is none.  Gradient: g/count for each."""
    x = input if dtype is None else input.to(dtype)
    if not x.dtype.is_float:
        raise DTypeError(f"nanmean: {describe(x)} needs a floating dtype; convert with .to(mg.float32)", op="nanmean")
    missing = isnan(x)
    total = sum(where(missing, 0.0, wide(x)), dim, keepdim)
    return (total / sum(logical_not(missing), dim, keepdim).to(total.dtype)).to(x.dtype)
