"""Search in sorted values: searchsorted and bucketize, which sort both operands together; isin, bincount and histc.

A stable sort keeps equal elements in the order in which they were joined.  So the order of joining determines on which
side of equal elements a position is.  These ops are not differentiable.
"""

from __future__ import annotations

from minigrad.core.dtype import int32, int64
from minigrad.core.roles import Flag, Int, Scalar, Size
from minigrad.declare.decorators import composed
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.creation import full, ones_like, tensor, zeros
from minigrad.ops.indexing.gathering import gather, index_select, scatter_add, zeros_of
from minigrad.ops.indexing.sorting import argsort
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.scan import cumsum
from minigrad.ops.reduction.sums import amax, amin
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import narrow, reshape
from minigrad.runtime.tensor import Tensor, describe


@composed(method=False)
def searchsorted(
    sorted_sequence: Tensor, input: Tensor | float, *, out_int32: Flag = False, right: Flag = False,
    side: str | None = None, sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the positions at which to insert the elements of input into sorted rows, so that the rows stay sorted.

    Shapes: sorted_sequence is one row for all elements of input, or has one row along the last dim for each row of
    input.
    out_int32: whether the result has the dtype int32 instead of int64.
    right: whether a position is after equal elements, instead of before them.
    side: "left" or "right"; "right" has the effect of right=True.
    sorter: the positions that sort the rows, as returned by `argsort`, for rows that are not sorted.
    Not differentiable.
    Raises ArgumentError if `side` is another string or contradicts `right`, ShapeError unless sorted_sequence has 1 dim
    or the leading dims of input.
    """
    rows, x = sorted_sequence, input if isinstance(input, Tensor) else tensor(input, device=sorted_sequence.device)
    if side not in (None, "left", "right") or (side == "left" and right):
        raise ArgumentError(
            f"searchsorted: side must be 'left' or 'right', and 'right' if right=True, got side={side!r} and "
            f"right={right}; pass one of the two arguments"
        )
    if not rows.ndim or (rows.ndim > 1 and rows.shape[:-1] != x.shape[:-1]):
        raise ShapeError(
            f"searchsorted: sorted_sequence must have 1 dim, or the dims of the values {describe(x)} except the last, "
            f"got {describe(rows)}; pass one sorted row per row of values"
        )
    if sorter is not None:
        rows = gather(rows, -1, sorter)
    values = reshape(x, (x.numel(),)) if rows.ndim == 1 else x
    result = reshape(insertions(rows.detach(), values.detach(), right or side == "right"), x.shape)
    return cast(result, dtype=int32) if out_int32 else result


def insertions(rows: Tensor, values: Tensor, right: bool) -> Tensor:
    """Return the number of elements of each sorted row that are less than each value; with `right`, not greater."""
    n, m = rows.shape[-1], values.shape[-1]
    order = argsort(cat([rows, values] if right else [values, rows], -1), -1)
    first, from_rows = (n, 0) if right else (0, m)
    before = cumsum(cast((order >= from_rows) & (order < from_rows + n), dtype=int64), -1)
    return narrow(scatter_add(zeros_of(order.shape, before), -1, order, before), -1, first, m)


@composed(method=False)
def bucketize(input: Tensor | float, boundaries: Tensor, *, out_int32: Flag = False, right: Flag = False) -> Tensor:
    """Return the index of the interval between sorted boundaries in which each element is; see `searchsorted`."""
    if boundaries.ndim != 1:
        raise ShapeError(
            f"bucketize: the boundaries must be one row, got {describe(boundaries)}; flatten it with .reshape(-1)",
            op="bucketize",
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@composed(method=False)
def isin(
    elements: Tensor | float, test_elements: Tensor | float, *, assume_unique: Flag = False, invert: Flag = False
) -> Tensor:
    """Return whether each element equals one of `test_elements`; nan does not equal any element.

    invert: whether to return the opposite.  assume_unique: has no effect.
    """
    x, others = elements, test_elements
    device = next((y.device for y in (x, others) if isinstance(y, Tensor)), None)
    x, others = (y if isinstance(y, Tensor) else tensor(y, device=device) for y in (x, others))
    row = others.reshape(others.numel())
    if not row.shape[0]:
        return full(x.shape, bool(invert), device=x.device)
    row = gather(row, 0, argsort(row))
    nearest = index_select(row, 0, searchsorted(row, x).reshape(x.numel()).clamp(max=row.shape[0] - 1)).reshape(x.shape)
    return nearest != x if invert else nearest == x


@composed(out=False)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: Size = 0) -> Tensor:
    """Return the number of occurrences of each integer from 0 on in a vector, or the sum of their weights."""
    if input.ndim != 1 or not input.dtype.is_int:
        raise ShapeError(
            f"bincount: input must be a vector of integers, got {describe(input)}; convert it with .long() and "
            "flatten it",
            op="bincount",
        )
    if weights is not None and weights.shape != input.shape:
        raise ShapeError(
            f"bincount: weights must have the shape of input {describe(input)}, got {describe(weights)}; pass one "
            "weight per element",
            op="bincount",
        )
    n = input.numel()
    if n and amin(input).item() < 0:
        raise ArgumentError(
            f"bincount: input must not contain negative numbers, got {describe(input)} with a negative number; "
            "subtract the minimum first",
            op="bincount",
        )
    size = max(int(amax(input).item()) + 1 if n else 0, minlength)
    if weights is None or not n:  # without elements the counts are int64, also with weights
        shares = ones_like(input, dtype=int64)
    else:  # PyTorch converts weights other than float32 to float64
        shares = weights if weights.dtype.name == "float32" else cast(weights, dtype="float64")
    return scatter_add(zeros_of((size,), shares), 0, input, shares.detach())


@composed()
def histc(input: Tensor, bins: Int = 100, min: Scalar = 0, max: Scalar = 0) -> Tensor:
    """Return the number of elements in each of `bins` bins of equal width from min to max, in the dtype of the input.

    Elements outside the range are ignored.  If min and max are equal, the range is from the smallest to the largest
    element; if these elements are equal as well, the range extends by 1 to both sides.  Not differentiable.
    Raises DTypeError if the input is not a float tensor or `bins` is not positive, ArgumentError if min > max or if an
    end of the range is not finite.
    """
    low, high, x = float(min), float(max), input.detach().reshape(input.numel())
    if not x.dtype.is_float or bins <= 0:
        raise DTypeError(
            f"histc: input must have a floating dtype and bins must be positive, got {describe(input)} and "
            f"bins={bins}; convert with .float(), or pass bins=100",
            op="histc",
        )
    if low == high and x.numel():
        low, high = float(amin(x).item()), float(amax(x).item())
    low, high = (low - 1, high + 1) if low == high else (low, high)
    if not low < high or not high - low < float("inf"):
        raise ArgumentError(
            f"histc: min and max must be finite with min < max, got min={low} and max={high}; pass min=0, max=1, for "
            "example",
            op="histc",
        )
    inside = (x >= low) & (x <= high)
    position = cast(where(inside, (x - low) * bins / (high - low), 0.0), dtype=int64).clamp(0, bins - 1)
    count = scatter_add(zeros(bins, dtype=int64, device=x.device), 0, position, cast(inside, dtype=int64))
    return cast(count, dtype=input.dtype)
