"""Elements at a position of the sorted order: quantile and nanquantile.

Both sort along one dim.  The gradient of a value is added at the position of this value before the sort.
"""

from __future__ import annotations

from typing import Annotated, Any

from minigrad.core.conditions import Filled, Like, Ndim, Wide
from minigrad.core.dtype import int64
from minigrad.core.roles import Choice, Flag, Number, OneDim
from minigrad.declare.decorators import composed
from minigrad.ops.casting import cast
from minigrad.ops.creation import tensor
from minigrad.ops.indexing.gathering import gather
from minigrad.ops.indexing.sorting import sort
from minigrad.ops.pointwise.blends import lerp
from minigrad.ops.pointwise.clamping import clamp
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.rearranging import movedim
from minigrad.ops.shape.views import reshape
from minigrad.runtime.tensor import Tensor

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")
Interpolation = Annotated[str, Choice(*INTERPOLATIONS)]


@composed()
def quantile(
    input: Tensor,
    q: Tensor | float,
    dim: OneDim = None,
    keepdim: Flag = False,
    *,
    interpolation: Interpolation = "linear",
) -> Tensor:
    """Return the quantile q of the elements along `dim`, or of all elements; a row with nan produces nan.

    q: a number from 0 to 1, or a vector of such numbers; the first dim of the result then has one entry per number.
    interpolation: the value of a quantile between two elements. "linear" interpolates between the elements, "midpoint"
    is their mean, and "lower", "higher" and "nearest" select one of the two elements.
    Gradient: g, multiplied by the weight of each of the two elements in the interpolation.
    Raises DTypeError unless input and q have the same dtype, float32 or float64, ShapeError for an empty input or a q
    with several dims, ArgumentError for q outside [0, 1] or an unknown interpolation.
    """
    return at_shares("quantile", input, q, dim, keepdim, interpolation, False)


@composed()
def nanquantile(
    input: Tensor,
    q: Tensor | float,
    dim: OneDim = None,
    keepdim: Flag = False,
    *,
    interpolation: Interpolation = "linear",
) -> Tensor:
    """Return `quantile` of the elements that are not nan; nan if all elements are nan."""
    return at_shares("nanquantile", input, q, dim, keepdim, interpolation, True)


def at_shares(name: str, x: Tensor, q: Any, dim: int | None, keepdim: bool, how: str, skip: bool) -> Tensor:
    """Return the quantiles of each row, for `quantile` and `nanquantile`.

    how: the interpolation.  skip: whether nan elements, which are sorted to the end, do not count.
    """
    shares = (q if isinstance(q, Tensor) else tensor(q, dtype=x.dtype, device=x.device)).detach()
    Wide.expect(name, input=x)
    Like("dtype").expect(name, x, q=shares)
    Ndim(0, 1, advice="flatten it with .reshape(-1)").expect(name, q=shares)
    Filled().expect(name, input=x)
    numbers = shares.reshape(-1).tolist() if isinstance(q, Tensor) else [q]
    for share in numbers:
        Number(0, 1, advice="divide percentages by 100").expect(name, x, q=share)
    rows = reshape(x, (x.numel(),)) if dim is None or not x.ndim else movedim(x, dim, -1)
    values, n = sort(rows, -1).values, rows.shape[-1]
    missing = values.detach() != values.detach()
    last = clamp(sum(missing.logical_not(), -1, keepdim=True) - 1, 0) if skip else n - 1
    position = reshape(shares, (shares.numel(),)) * cast(last, dtype=x.dtype) if skip else shares.reshape(-1) * (n - 1)
    position = position.round() if how == "nearest" else position.floor() if how == "lower" else position
    position = position.ceil() if how == "higher" else position
    if not skip:
        position = where(missing[..., -1:], float(n - 1), position)
    low = cast(position.floor(), dtype=int64)
    y = gather(values, -1, low)
    if how in ("linear", "midpoint"):
        weight = (position - position.floor()) if how == "linear" else where(position > low, 0.5, 0.0).to(x.dtype)
        y = lerp(y, gather(values, -1, cast(position.ceil(), dtype=int64)), weight)
    y = movedim(y, -1, 0)
    if keepdim:
        y = y.unsqueeze(dim % x.ndim + 1) if dim is not None and x.ndim else reshape(y, (-1, *(1,) * x.ndim))
    return y if shares.ndim else y.squeeze(0)
