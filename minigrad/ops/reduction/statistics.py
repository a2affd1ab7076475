"""Statistics of rows: elements by rank, means without nan, covariances and correlations.

kthvalue and the medians select; mode and the quantiles sort.  Equal elements are ordered by position, so the
position of a result is that of a stable sort, and the gradient is added there.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Any

from minigrad.backends.steps import Steps
from minigrad.core.conditions import Filled, Floating, Like, Ndim, Real, Wide, expect_elements
from minigrad.core.dtype import as_dtype, float64, int64, uint64
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Gather, Nth, Reduce, Sort
from minigrad.core.roles import Cast, Choice, Dim, DimOrAll, Dims, Flag, Int, Number, OneDim
from minigrad.declare.decorators import composed, kernel, reduction
from minigrad.declare.forms import as_float
from minigrad.declare.partials import declared
from minigrad.declare.rules import twice, widen
from minigrad.errors import ArgumentError, ShapeError, warn
from minigrad.kernels.scalar import formula
from minigrad.ops.casting import cast
from minigrad.ops.creation import tensor
from minigrad.ops.indexing.gathering import gather
from minigrad.ops.indexing.sorting import sort
from minigrad.ops.linalg.products import matmul
from minigrad.ops.pointwise.blends import clamp, lerp
from minigrad.ops.pointwise.compare import bitwise_xor, isnan, where
from minigrad.ops.pointwise.complexes import complex
from minigrad.ops.reduction.extremes import EXTREME, extreme_shape, kept
from minigrad.ops.reduction.sums import mean, restore, share_ties, sum, tied_tangent, wide
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.parts import imag, real
from minigrad.ops.shape.rearranging import movedim
from minigrad.ops.shape.views import diagonal, narrow, reshape
from minigrad.runtime.into import copy_result
from minigrad.runtime.tensor import Tensor, describe

# ---- one element of each row with its position -----------------------------------------------------------------------


def _ranked_shape(op: Op, input: Spec, *, k: int, dim: int, keepdim: bool) -> tuple[int, ...]:
    """Return the shape of one element per row.  Raises ArgumentError unless there is a k-th element."""
    shape, n = extreme_shape(op, input, dim=dim, keepdim=keepdim), input.shape[dim]
    if not 1 <= k <= n:
        raise ArgumentError(f"{op.label}: k must be 1 to {n} for dim {dim} of {input!r}, got {k}; pass at most {n}")
    return shape


@kernel(**EXTREME | {"shape": twice(_ranked_shape)})
def kthvalue(backend, values, indices, input: Tensor, k: Int, dim: Dim = -1, keepdim: Flag = False):
    """Return the k-th smallest element along `dim` and its position, as (values, indices).

    nan counts as the largest element.
    k: the rank, which is 1 for the smallest element.
    Gradient: g at the position of the value.
    """
    return backend.prepare(Nth(dim, k - 1, "last"), (kept(values, input, dim), kept(indices, input, dim)), input)


@kernel(
    dtype=lambda op, specs, **params: specs[0].dtype,
    shape=lambda op, input, *, skip: extreme_shape(op, input, dim=len(input.shape) - 1, keepdim=False),
    vjp=(lambda g, input, y: share_ties(g, input, y, (input.ndim - 1,)),),
    jvp=lambda dinput, input, y: tied_tangent(dinput, input, y, (input.ndim - 1,), False),
    batch="front", namespace=(), label="median",
)  # fmt: skip
def middle(backend, out, input: Tensor, *, skip: Flag):
    """Return the median along the last dim, with or without nan.  Gradient: g, divided evenly among tied elements."""
    steps, dim = Steps(backend, (out,), (input,)), len(input.shape) - 1
    (result,), (x,) = steps.outs, steps.operands
    # Both results of the request have one layout, in which dense loops write them.
    shape = (*out.shape, 1)
    values, positions = (steps.work(shape, dtype) for dtype in (out.dtype, int64))
    if out.layout.is_contiguous:
        values = result.seen(positions.layout)
    steps.ask(Nth(dim, (x.shape[dim] - 1) // 2, "skip" if skip else "first"), (values, positions), x)
    if values.slot != result.slot:
        steps.copy(result, values.seen(values.layout.squeeze(dim)))
    return steps.launch


def _middle(x: Tensor, skip: bool) -> Tensor:
    """Return the median of all elements; that of no floats is nan, as their mean is."""
    if not x.layout.numel and x.dtype.is_float:
        return mean(x)
    return middle(x if x.layout.ndim == 1 else reshape(x, (-1,)), skip=skip)


def _of_all(input: Tensor, dim: int | None, out: Any, skip: bool) -> Any:
    """Return the median of all elements if `dim` is None, otherwise None."""
    if dim is not None or not isinstance(input, Tensor):
        return None
    result = _middle(input, skip)
    return result if out is None else copy_result("nanmedian" if skip else "median", result, out)


@kernel(
    **EXTREME, otherwise=lambda input, dim, keepdim, out: _of_all(input, dim, out, False),
    sole=lambda input: _middle(input, False),
)  # fmt: skip
def median(backend, values, indices, input: Tensor, dim: DimOrAll = None, keepdim: Flag = False):
    """Return the median of all elements, or with `dim` the named tuple (values, indices) of the medians along `dim`.

    For an even number of elements, the median is the lower of the two middle elements.  If an element is nan, the
    result is nan.
    Gradient: with `dim`, g at the position of the value; without it, g is divided evenly among tied elements.
    The median of all elements is nan if there are none.  Raises ShapeError for an empty dim, and for no integers.
    """
    return _nth(backend, values, indices, input, dim, "first")


@kernel(
    **EXTREME, otherwise=lambda input, dim, keepdim, out: _of_all(input, dim, out, True),
    sole=lambda input: _middle(input, True),
)  # fmt: skip
def nanmedian(backend, values, indices, input: Tensor, dim: DimOrAll = None, keepdim: Flag = False):
    """Return `median` of the elements that are not nan; nan if all elements are nan.

    Gradient: the same as for `median`.
    """
    return _nth(backend, values, indices, input, dim, "skip")


def _nth(backend: Any, values: Spec, indices: Spec, input: Spec, dim: int, missing: str) -> Any:
    request = Nth(dim, (input.shape[dim] - 1) // 2, missing)
    return backend.prepare(request, (kept(values, input, dim), kept(indices, input, dim)), input)


# ---- the most frequent element --------------------------------------------------------------------------------------


def longer(end, most, current, count, index, x):
    """Return the index of the end of the longest run so far and its length, the current run, and the next index.

    The elements are sorted, so equal elements are a run, and the first of runs of one length has the smallest elements.
    """
    length = count + 1 if x == current else 1
    longest = length > most
    return index if longest else end, length if longest else most, x, length, index + 1


END_OF_LONGEST = formula("end_of_longest(end, most, current, count, index)", "end")
LONGEST_RUN = declared(longer, ("zero",) * 5, order="sequential", finish=END_OF_LONGEST)


@kernel(**EXTREME | {"shape": twice(extreme_shape)})
def mode(backend, values, indices, input: Tensor, dim: Dim = -1, keepdim: Flag = False):
    """Return the most frequent element along `dim`, and the position of its last occurrence.

    If several elements are equally frequent, the result is the smallest of them.  nan is not equal to any element.
    Gradient: g at the position of the value.
    """
    steps = Steps(backend, (kept(values, input, dim), kept(indices, input, dim)), (input,))
    (result, positions), (x,) = steps.outs, steps.operands
    elements, order = steps.work(x.shape, x.dtype), steps.work(x.shape, int64)
    steps.ask(Sort(dim, False), (elements, order), x)
    # Both dtypes contain the elements and the indices exactly.
    compute = float64.compute if x.dtype.is_float else int64.compute
    ends = steps.work(positions.shape, int64)
    steps.ask(Reduce(LONGEST_RUN, compute, (dim,)), ends, elements)
    steps.ask(Gather(dim), positions, order, ends)
    steps.ask(Gather(dim), result, x, positions)
    return steps.launch


# ---- elements at a position of the sorted order ----------------------------------------------------------------------


INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")
Interpolation = Annotated[str, Choice(*INTERPOLATIONS)]


@composed()
def quantile(
    input: Tensor, q: Tensor | float, dim: OneDim = None, keepdim: Flag = False, *,
    interpolation: Interpolation = "linear",
) -> Tensor:  # fmt: skip
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
    input: Tensor, q: Tensor | float, dim: OneDim = None, keepdim: Flag = False, *,
    interpolation: Interpolation = "linear",
) -> Tensor:  # fmt: skip
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


# ---- sums and means without nan, covariances and correlations --------------------------------------------------------


NUMBER_OR_ZERO = formula("number_or_zero(x)", "0 if x != x else x")


@reduction(
    dtype=widen, identity="zero", order="sum", map=NUMBER_OR_ZERO,
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
    x = input if dtype is None else input.to(as_dtype(dtype))
    Floating.expect("nanmean", input=x)
    total = nansum(wide(x), dim, keepdim)
    return (total / sum(x == x, dim, keepdim).to(total.dtype)).to(x.dtype)  # only nan differs from itself


@composed(out=False)
def cov(
    input: Annotated[Tensor, Ndim(most=2, advice="reshape it to (variables, observations)")], *, correction: Int = 1,
    fweights: Tensor | None = None, aweights: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the covariance matrix of the rows of the input, whose columns are observations.

    For complex numbers, the second factor of each product is conjugated.

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
        return (matmul(x, x.mH) / float(max(divisor, 0))).squeeze()
    counts = sum(weights).to(x.dtype.to_real())
    center = sum(x * weights, 1, keepdim=True) / counts
    other = 1.0 if aweights is None else sum(weights * aweights).to(x.dtype.to_real()) / counts
    x = x - center
    return (matmul(x, (x * weights).mH) / clamp(counts - correction * other, 0.0)).squeeze()


@composed(out=False)
def corrcoef(input: Tensor) -> Tensor:
    """Return the correlation matrix of the rows of the input; its elements, or both parts of them, are from -1 to 1.

    It is `cov`, divided by the standard deviations of both rows.
    """
    c = cov(input)
    if not c.ndim:
        return c / c
    size = diagonal(real(c)).sqrt()
    result = c / size.unsqueeze(1) / size.unsqueeze(0)
    if not c.dtype.is_complex:
        return clamp(result, -1, 1)
    return complex(clamp(real(result), -1, 1), clamp(imag(result), -1, 1))


# ---- bits ------------------------------------------------------------------------------------------------------------


@composed(method=True)
def hash_tensor(
    input: Annotated[Tensor, Real], dim: Dims = None, *, keepdim: Flag = False, mode: Annotated[int, Choice(0)] = 0
) -> Tensor:
    """Return the exclusive or of the bits of the elements over `dim`, in uint64; not differentiable.

    Floats are read as float64, and booleans and integers as int64, so equal elements have equal bits.
    input: numbers or booleans, of any shape.  mode: 0, the only kind of hash.
    Raises ShapeError if there is no element along one of the dims.
    """
    expect_elements("hash_tensor", input, dim)
    rows = cast(input.detach(), dtype=float64 if input.dtype.is_float else int64).view(int64)
    others = [n for d, n in enumerate(input.shape) if d not in dim]
    n = prod(input.shape[d] for d in dim)
    rows = reshape(movedim(rows, dim, tuple(range(len(dim)))), (n, *others))
    while n > 1:
        half, odd = n // 2, n % 2
        pairs = bitwise_xor(narrow(rows, 0, 0, half), narrow(rows, 0, half, half))
        rows, n = cat([pairs, narrow(rows, 0, n - 1, 1)], 0) if odd else pairs, half + odd
    shape = [1 if d in dim else n for d, n in enumerate(input.shape)] if keepdim else others
    return reshape(rows, shape).view(uint64)
