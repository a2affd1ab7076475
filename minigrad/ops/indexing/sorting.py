"""Sort elements, search in sorted values, and count values.

Sorting is always stable.  nan counts as the largest element, and 0.0 and -0.0 are equal.  The gradient of a value is
added at its position in the input.  Searches and counts are not differentiable.
"""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Any

from minigrad.backends.limits import IndexLimits
from minigrad.backends.lowering.functions import NOT_FINITE
from minigrad.backends.registry import backend_of
from minigrad.backends.steps import viewed
from minigrad.core import requests
from minigrad.core.conditions import Floating, Integral, Like, Ndim
from minigrad.core.device import CPU
from minigrad.core.dtype import as_dtype, int32, int64, promote
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Bounds, Insert, Reduce, Scatter
from minigrad.core.roles import Choice, Dim, Flag, FrontFlag, Int, Number, Scalar, Size
from minigrad.core.storage import Storage
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.rules import index_dtype, same_shape, twice, values_and_positions
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.kernels.scalar import scalar_of
from minigrad.ops.casting import cast
from minigrad.ops.creation import full, tensor
from minigrad.ops.indexing.gathering import gather, index_select, scatter_add, zeros_of
from minigrad.ops.reduction.sums import aminmax
from minigrad.ops.shape.views import reshape
from minigrad.runtime.tensor import Tensor, describe

# ---- sorting ---------------------------------------------------------------------------------------------------------


def _k_first(op: Op, input: Spec, *, k: int, dim: int, **params: Any) -> tuple[int, ...]:
    """Return the shape with k elements along `dim`.  Raises ArgumentError if k exceeds the length of the dim."""
    n = input.shape[dim]
    if not 0 <= k <= n:
        raise ArgumentError(f"{op.label}: k must be 0 to {n} for dim {dim} of {input!r}, got {k}; pass at most {n}")
    return (*input.shape[:dim], k, *input.shape[dim + 1 :])


@kernel(dtype=index_dtype, shape=same_shape, batch="along", method=True)
def argsort(backend, out, input: Tensor, dim: Dim = -1, descending: Flag = False, stable: FrontFlag = False):
    """Return the positions that sort the elements along `dim`.

    Sorting is always stable, and nan counts as the largest element.
    """
    return backend.prepare(requests.Sort(dim, descending), out, input)


SORTED: dict[str, Any] = {
    "dtype": values_and_positions,
    "outputs": ("values", "indices"),
    "vjp": (lambda g, indices, *, in_shape, dim: scatter_add(zeros_of(in_shape, g), dim, indices, g),),
    "jvp": lambda dinput, indices, *, dim: (gather(dinput, dim, indices), None),
    "batch": "along",
    "method": True,
}


@kernel(shape=twice(same_shape), **SORTED)
def sort(backend, values, indices, input: Tensor, dim: Dim = -1, descending: Flag = False, stable: FrontFlag = False):
    """Return the elements sorted along `dim`, and their positions in the input, as (values, indices).

    nan counts as the largest element.
    stable: has no effect, because sorting is always stable.
    Gradient: each input element receives the g of its sorted value.
    """
    return backend.prepare(requests.Sort(dim, descending), (values, indices), input)


@kernel(shape=twice(_k_first), **SORTED)
def topk(
    backend, values, indices, input: Tensor, k: Int, dim: Dim = -1, largest: Flag = True, sorted: FrontFlag = True
):
    """Return the k largest or smallest elements along `dim`, and their positions, as (values, indices).

    If elements are tied, the first positions are selected.  nan counts as the largest element.

    sorted: has no effect; the result is always sorted, with the largest (or smallest) element first.
    Gradient: g, added at the position of each value in the input.
    Raises ArgumentError if k exceeds the number of elements.
    """
    return backend.prepare(requests.Sort(dim, largest), (values, indices), input)


@composed()
def msort(input: Tensor) -> Tensor:
    """Return the elements sorted along the first dim."""
    return sort(input, 0).values


# ---- searching and counting ------------------------------------------------------------------------------------------


@composed(method=False)
def searchsorted(
    sorted_sequence: Tensor, input: Tensor | float, *, out_int32: Flag = False, right: Flag = False,
    side: Annotated[Any, Choice("left", "right", None)] = None, sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the positions at which to insert the elements of input into sorted rows, so that the rows stay sorted.

    Shapes: sorted_sequence is one row for all elements of input, or has one row along the last dim for each row of
    input.
    out_int32: whether the result has the dtype int32 instead of int64.
    side: "left" or "right"; "right" has the effect of right=True.
    sorter: the positions that sort the rows, as returned by `argsort`, for rows that are not sorted.
    Not differentiable.
    Raises ArgumentError if `side` is another string or contradicts `right`, ShapeError unless sorted_sequence has 1 dim
    or the leading dims of input.
    """
    rows, x = sorted_sequence, input if isinstance(input, Tensor) else tensor(input, device=sorted_sequence.device)
    if right:
        Choice("right", None).expect("searchsorted", **{"side with right=True": side})
    if not rows.ndim or (rows.ndim > 1 and rows.shape[:-1] != x.shape[:-1]):
        raise ShapeError(
            f"searchsorted: sorted_sequence must have 1 dim, or the dims of the values {describe(x)} except the last, "
            f"got {describe(rows)}; pass one sorted row per row of values"
        )
    if sorter is not None:
        rows = gather(rows, -1, sorter)
    dtype = promote(rows.dtype, x.dtype)
    rows, values = (y if y.dtype is dtype else cast(y, dtype=dtype) for y in (rows, x))
    if rows.ndim == 1 and x.ndim != 1:
        values = reshape(values, (x.numel(),))
    result = insertions(rows, values, after=right or side == "right")
    result = result if result.shape == x.shape else reshape(result, x.shape)
    return cast(result, dtype=int32) if out_int32 else result


@kernel(
    dtype=index_dtype, shape=lambda op, lines, x, *, after: x.shape, namespace=(), label="searchsorted",
    batch="front",
)  # fmt: skip
def insertions(backend, out, lines: Tensor, x: Tensor, *, after: Flag):
    """Return the number of elements of each sorted line that are less than each element of x; `after`: not greater."""
    return backend.prepare(Insert(after), out, lines, x)


@composed(method=False)
def bucketize(
    input: Tensor | float, boundaries: Annotated[Tensor, Ndim(1)], *, out_int32: Flag = False, right: Flag = False
) -> Tensor:
    """Return the index of the interval between sorted boundaries in which each element is; see `searchsorted`."""
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
def bincount(
    input: Annotated[Tensor, Ndim(1), Integral], weights: Annotated[Tensor | None, Like("shape")] = None,
    minlength: Size = 0,
) -> Tensor:  # fmt: skip
    """Return the number of occurrences of each integer from 0 on in a vector, or the sum of their weights."""
    low, high = ends_of(input)
    if low < 0:
        raise ArgumentError(
            f"bincount: input must not contain negative numbers, got {describe(input)} with a negative number; "
            "subtract the minimum first"
        )
    size = max(high + 1, minlength)
    if weights is None or not input.numel():  # without elements the counts are int64, also with weights
        return occurrences(input, size=size)
    # PyTorch converts weights other than float32 to float64.
    shares = weights if weights.dtype.name == "float32" else cast(weights, dtype="float64")
    return scatter_add(zeros_of((size,), shares), 0, input, shares.detach())


@kernel(dtype=index_dtype, shape=lambda op, input: (2,), namespace=(), label="the ends of integers")
def ends(backend, out, input: Tensor):
    """Return the lowest and the highest of some integers in int64; 0 and -1 without integers."""
    return backend.prepare(Bounds(), out, input)


def ends_of(input: Tensor) -> tuple[int, int]:
    """Return the lowest and the highest of some integers, which the host reads; 0 and -1 without integers."""
    result = ends(input)
    # The result is contiguous from the start of its buffer, so its elements are read without its layout.
    low, high = backend_of(result.device).to_host(result.storage)[:2].tolist()
    return low, high


@kernel(dtype=index_dtype, shape=lambda op, input, *, size: (size,), namespace=(), label="bincount")
def occurrences(steps, out, input: Tensor, *, size: Size):
    """Return the number of occurrences of each integer from 0 to size - 1 in a vector of such integers."""
    zero, one = (steps.constant(number, int64) for number in (0, 1))
    spread = zero.seen(zero.layout.expand(out.shape)), one.seen(one.layout.expand(input.shape))
    steps.ask(Scatter(0), out, spread[0], input, spread[1])


@composed()
def histc(
    input: Annotated[Tensor, Floating],
    bins: Annotated[int, Number(1, whole=True, example=100, error=DTypeError)] = 100, min: Scalar = 0, max: Scalar = 0,
) -> Tensor:  # fmt: skip
    """Return the number of elements in each of `bins` bins of equal width from min to max, in the dtype of the input.

    Elements outside the range are ignored.  If min and max are equal, the range is from the smallest to the largest
    element; if these elements are equal as well, the range extends by 1 to both sides.  Not differentiable.
    Raises DTypeError if the input is not a float tensor or `bins` is not positive, ArgumentError if min > max or if an
    end of the range is not finite.
    """
    low, high = float(min), float(max)
    fixed = low != high
    if fixed and not (low < high and isfinite(high - low)):
        raise range_error(low, high)
    if not fixed and not input.numel():
        low, high = low - 1.0, high + 1.0
    return cast(binned(input, bins=bins, low=low, high=high, widens=low == high), dtype=input.dtype)


def range_error(low: float, high: float) -> ArgumentError:
    """Return the error for a range of a histogram that is not finite or not ascending."""
    return ArgumentError(
        f"histc: min and max must be finite with min < max, got min={low} and max={high}; pass min=0, max=1, for "
        "example"
    )


class RangeLimits(IndexLimits):
    """The elements whose range the error of a launch refers to."""

    def error(self, buffers: tuple[Any, ...]) -> Any:
        """Return the error for a call on these buffers."""
        values = self.backend.array(Storage(buffers[0], self.index.dtype, CPU), self.index.layout)
        return range_error(float(values.min()), float(values.max()))


@kernel(dtype=index_dtype, shape=lambda op, input, *, bins, **params: (bins,), namespace=(), label="histc")
def binned(steps, out, input: Tensor, *, bins: Size, low, high, widens):
    """Return the number of elements in each bin from low to high; see `histc`.

    widens: whether low and high are those of the elements instead.
    """
    real = as_dtype(input.dtype.compute)
    start, stop = (steps.constant(number, real) for number in (low, high))
    width = steps.constant(high - low, real)
    if widens:
        least, most, start, stop, width = (steps.work((), real) for _ in range(5))
        ones = (1,) * len(input.shape)
        ends = (viewed(least, ones), viewed(most, ones))
        steps.ask(Reduce(aminmax.op.reducer, real.compute, tuple(range(len(ones)))), ends, input)  # type: ignore[attr-defined]
        steps.each(WIDENED, (start, stop, width), least, most)
        infinite = steps.work((1,), int64)
        steps.each(NOT_FINITE, infinite, width, compute=real.compute)
        steps.check(infinite, 0, 0)
    positions, counts = steps.work(input.shape, int64), steps.work((bins + 1,), int64)
    steps.each(BIN, positions, input, start, stop, width, steps.constant(float(bins), real), compute=real.compute)
    zero, one = (steps.constant(number, int64) for number in (0, 1))
    n = input.layout.numel
    steps.ask(
        Scatter(0), counts, zero.seen(zero.layout.expand((bins + 1,))), viewed(positions, (n,)),
        one.seen(one.layout.expand((n,))),
    )  # fmt: skip
    steps.copy(out, counts.at(0, 0, bins))
    return steps.launch.within(RangeLimits(steps.backend, "histc", 0, input, input, -1)) if widens else steps.launch


def widened(low, high):
    """Return the ends of a range, which is extended by 1 to both sides if it is empty, and its width."""
    start = low - 1 if low == high else low
    stop = high + 1 if low == high else high
    return start, stop, stop - start


def bin_of(x, low, high, width, bins):
    """Return the number of the bin of an element; `bins` for an element outside the range."""
    index = (x - low) * bins / width
    last = bins - 1 if index > bins - 1 else index
    return last if x >= low and x <= high else bins


WIDENED, BIN = scalar_of(widened, results=3), scalar_of(bin_of)
