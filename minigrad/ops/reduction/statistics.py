"""Statistics of the elements that count."""

from __future__ import annotations

from minigrad.core.roles import Cast, Dims, Flag
from minigrad.declare.decorators import composed
from minigrad.ops.pointwise.compare import isnan, logical_not, where
from minigrad.ops.reduction.sums import sum
from minigrad.runtime.tensor import Tensor


@composed()
def nanmean(input: Tensor, dim: Dims = None, keepdim: Flag = False, *, dtype: Cast = None) -> Tensor:
    """Mean over `dim` of the elements that are not nan; nan where there is none.  Gradient: g/count for each."""
    missing = isnan(input)
    count = sum(logical_not(missing), dim, keepdim)
    return (sum(where(missing, 0.0, input), dim, keepdim) / count.to(input.dtype)).to(input.dtype)
