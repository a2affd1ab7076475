"""The ops `scatter_reduce` and `index_reduce`: the reduction of all source elements with the same destination.

Sums and means use `scatter_add`; products, minima and maxima run the same loop with another function.  The derivative
of a product is the product of the other factors.  To compute it, the source is sorted by index, so that elements with
the same destination are neighbours.  Each element is then multiplied by the element 1, 2, 4, ... positions before it,
if that element has the same destination.  This takes O(n log n) steps, and derivatives of every order are correct, also
for factors of 0.
"""

from __future__ import annotations

from typing import Annotated

from minigrad.backends.launch import remapped
from minigrad.backends.limits import out_of_range
from minigrad.backends.lowering.functions import HIGHEST, LOWEST, PRODUCT
from minigrad.core.conditions import IndexDType, Numeric, expect_same
from minigrad.core.dtype import bool_, int64, uint8
from minigrad.core.op import Spec
from minigrad.core.requests import Scatter
from minigrad.core.roles import Choice, Dim, Flag
from minigrad.declare.decorators import composed, kernel
from minigrad.errors import IndexOutOfRange, IndexShapeError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.creation import ones_like
from minigrad.ops.indexing.gathering import _dtype, _scatter_shape, gather, scatter_add, watched, zeros_of
from minigrad.ops.indexing.sorting import sort
from minigrad.ops.pointwise.arithmetic import floor_divide, remainder
from minigrad.ops.pointwise.compare import eq, isnan, logical_and, logical_not, where
from minigrad.ops.reduction.sums import wide
from minigrad.ops.shape.padding import constant_pad_nd
from minigrad.ops.shape.views import expand, flip, narrow, reshape
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor, describe

JOINS = {"amax": HIGHEST, "amin": LOWEST}
BOOLS = {"sum": "amax", "prod": "amin", "amax": "amax", "amin": "amin"}
MANY, FEW = ("sum", "prod", "mean", "amax", "amin"), ("prod", "mean", "amax", "amin")


@composed(in_place=True)
def scatter_reduce(
    input: Tensor, dim: Dim, index: Tensor, src: Tensor, reduce: Annotated[str, Choice(*MANY)], *,
    include_self: Flag = True,
) -> Tensor:  # fmt: skip
    """Return input with each element of src reduced into the element at the position that index contains along `dim`.

    reduce: "sum", "prod", "mean", "amax" or "amin".
    include_self: whether the element of input at such a position takes part in the reduction.
    Gradient: each element receives g at its position, times the derivative of the reduction: 1 for "sum", 1/n for a
    mean of n elements, and the product of the other elements for "prod". "amax" and "amin" divide g evenly among the
    elements that attain the result. With include_self=False, the overwritten elements of input receive 0.
    """
    return reduced(*expect_scatter(input, dim, index, src, reduce), reduce, include_self).reshape(input.shape)


@composed(in_place=True)
def index_reduce(
    input: Tensor, dim: Dim, index: Tensor, source: Tensor, reduce: Annotated[str, Choice(*FEW)], *,
    include_self: Flag = True,
) -> Tensor:  # fmt: skip
    """Return input with each slice of source along `dim` reduced into the slice at its position in the vector `index`.

    reduce: "prod", "mean", "amax" or "amin".
    include_self: whether the slice of input at such a position takes part in the reduction.
    Gradient: that of `scatter_reduce`, with slices instead of elements.
    Raises IndexShapeError unless source has one slice for each element of index, ArgumentError for another `reduce`.
    """
    x, index, source = (y if y.ndim else reshape(y, (1,)) for y in (input, index, source))
    if index.ndim != 1 or source.shape != (wanted := (*x.shape[:dim], index.numel(), *x.shape[dim + 1 :])):
        raise IndexShapeError(
            f"index_reduce: expected a 1-d index, and a source with one slice of {describe(input)} per index, got "
            f"{describe(index)} and {describe(source)}; slice source or flatten the index"
        )
    spread = expand(reshape(index, (-1, *(1,) * (x.ndim - dim - 1))), shape=wanted)
    return scatter_reduce(x, dim, spread, source, reduce, include_self=include_self).reshape(input.shape)


def expect_scatter(x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> tuple[Tensor, int, Tensor, Tensor]:
    """Check the operands of `scatter_reduce`, and return them with at least one dim and src narrowed to the index.

    Raises ArgumentError for an unknown `reduce`, DTypeError if src and input differ in dtype, for a mean of bools or if
    the index does not have integers, and ShapeError if the three differ in their number of dims or the index is larger
    than src.
    """
    expect_same("dtype", "scatter_reduce", input=x, src=src)
    if reduce == "mean":
        Numeric.expect("scatter_reduce", **{"input of a mean": x})
    IndexDType.expect("scatter_reduce", x, index=index)
    if not index.numel() and index.ndim != x.ndim:  # an index without elements selects nothing, whatever its shape is
        nothing = (0, *(1,) * (max(x.ndim, 1) - 1))
        index, src = reshape(index, nothing), reshape(narrow(reshape(src, (src.numel(),)), 0, 0, 0), nothing)
    shown = f"got input {describe(x)}, index {describe(index)} and src {describe(src)}"
    x, index, src = (y if y.ndim else reshape(y, (1,)) for y in (x, index, src))
    if not x.ndim == index.ndim == src.ndim or any(n > m for n, m in zip(index.shape, src.shape)):
        raise ShapeError(
            f"scatter_reduce: index must have as many dims as input and src and fit inside src, {shown}; slice the "
            "index to at most the lengths of src"
        )
    for d, n in enumerate(index.shape):
        src = narrow(src, d, 0, n) if src.shape[d] != n else src
    return x, dim, index, src


def reduced(x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> Tensor:
    """Return the result of `scatter_reduce` for checked operands; the first scatter checks the index."""
    if x.dtype is bool_:
        y = reduced(cast(x, dtype=uint8), dim, index, cast(src, dtype=uint8), BOOLS[reduce], include_self)
        return cast(y, dtype=bool_)
    nothing = {"prod": 1, "amax": x.dtype.lowest, "amin": x.dtype.highest}.get(reduce, 0)
    try:
        count = counted(x.shape, dim, index) if reduce == "mean" or not include_self else None
    except IndexOutOfRange as error:  # the message names the counts, which the caller did not pass
        raise out_of_range("scatter_reduce", error.index, Spec(x.layout, x.dtype), dim) from None
    kept = x if count is None or include_self else where(count > 0, number(nothing, x.dtype, x.device), x)
    if reduce in ("sum", "mean"):
        total = scatter_add(wide(kept), dim, index, wide(src))
        return (total if reduce == "sum" else average(total, count, include_self)).to(x.dtype)
    if reduce == "prod":
        return scatter_product(wide(kept), dim, index, wide(src)).to(x.dtype)
    return attained(kept.detach(), dim, index, x, src, how=reduce, include_self=include_self)


def counted(shape: tuple[int, ...], dim: int, index: Tensor) -> Tensor:
    """Return, for each position of a tensor of this shape, the number of times that it occurs in the index."""
    ones = ones_like(index, dtype=int64)
    return scatter_add(zeros_of(shape, ones), dim, index, ones)


def average(total: Tensor, count: Tensor, include_self: bool) -> Tensor:
    """Return the means from the sums and the counts of source elements; integers are rounded down."""
    count = cast(count, dtype=total.dtype.to_real() if total.dtype.is_inexact else int64)
    count = count + 1 if include_self else where(count > 0, count, number(1, count.dtype, count.device))
    return total / count if total.dtype.is_inexact else floor_divide(total, count)


# ---- products -------------------------------------------------------------------------------------------------------


@kernel(
    dtype=_dtype, shape=_scatter_shape,
    vjp=(
        lambda g, index, src, *, dim: g * scatter_product(ones_like(g), dim, index, src),
        None,
        lambda g, input, index, src, *, dim: gather(g * input, dim, index) * others(src, dim, index, input.shape[dim]),
    ),
    batch="along", namespace=(), label="scatter_reduce", complex=True,
)  # fmt: skip
def scatter_product(backend, out, input: Tensor, dim: Dim, index: Tensor, src: Tensor):
    """Return each element of input times all elements of src with its position.

    Gradient: g times the product of the other factors.
    """
    launch = backend.prepare(Scatter(dim, PRODUCT), out, input, index, src)
    return watched(scatter_product, backend, launch, input, index, dim)


def others(src: Tensor, dim: int, index: Tensor, size: int) -> Tensor:
    """Return, for each element of src, the product of the other elements with the same position."""
    position, order = sort(remainder(index, max(size, 1)), dim)
    values = gather(src, dim, order)
    product = in_front(values, position, dim) * flip(in_front(flip(values, dim), flip(position, dim), dim), dim)
    return scatter_add(zeros_of(src.shape, product), dim, order, product)


def in_front(values: Tensor, position: Tensor, dim: int) -> Tensor:
    """Return, for each element, the product of the elements before it with the same position.

    Elements with the same position must be neighbours.
    """
    n, k, product = values.shape[dim], 1, earlier(values, position, dim, 1)
    while k < n:
        product = product * earlier(product, position, dim, k)
        k *= 2
    return product


def earlier(values: Tensor, position: Tensor, dim: int, k: int) -> Tensor:
    """Return, for each element, the element k before it if both have the same position, otherwise 1."""
    n = values.shape[dim]
    k = min(k, n)
    alike = eq(narrow(position, dim, k, n - k), narrow(position, dim, 0, n - k))
    kept = where(alike, narrow(values, dim, 0, n - k), number(1, values.dtype, values.device))
    return constant_pad_nd(kept, (0, 0) * (values.ndim - dim - 1) + (k, 0), 1)


# ---- the derivative of a minimum or maximum -------------------------------------------------------------------------


def shares(y: Tensor, input: Tensor, index: Tensor, src: Tensor, dim: int, include_self: bool) -> tuple[Tensor, ...]:
    """Return whether each element of input and src is the extremum y at its position, and the number of ties."""
    reached = gather(y, dim, index)
    mine, theirs = where(isnan(y), isnan(input), input == y), where(isnan(reached), isnan(src), src == reached)
    if not include_self:
        mine = logical_and(mine, logical_not(counted(y.shape, dim, index) > 0))
    return mine, theirs, scatter_add(cast(mine, dtype=int64), dim, index, cast(theirs, dtype=int64))


def share_of_input(g, y, input, index, src, *, dim, include_self):
    """Return the gradient of input: g divided by the number of ties where it equals the extremum, otherwise 0."""
    mine, _, count = shares(y, input, index, src, dim, include_self)
    return where(mine, g / count, 0.0)


def share_of_src(g, y, input, index, src, *, dim, include_self):
    """Return the gradient of src: g divided by the number of ties where it equals the extremum, otherwise 0."""
    _, theirs, count = shares(y, input, index, src, dim, include_self)
    return where(theirs, gather(g / count, dim, index), 0.0)


@kernel(
    dtype=lambda op, specs, *, dim, how, include_self: _dtype(op, specs, dim=dim),
    shape=lambda op, start, index, x, src, *, dim, how, include_self: _scatter_shape(op, start, index, src, dim=dim),
    vjp=(None, None, share_of_input, share_of_src),
    batch="along",
    namespace=(),
    label="scatter_reduce",
)  # fmt: skip
def attained(backend, out, start: Tensor, dim: Dim, index: Tensor, input: Tensor, src: Tensor, *, how: str,
             include_self: Flag):  # fmt: skip
    """Return, at each position, the minimum or maximum of `start` and the elements of src with this index.

    start: the elements of input without history; where include_self=False leaves out an element, start has the neutral
    element of the reduction instead.
    Gradient: for input and src, g is divided evenly among the elements that attain the result.
    """
    launch = remapped(backend.prepare(Scatter(dim, JOINS[how]), out, start, index, src), (0, 1, 3, 4), 5)
    return watched(attained, backend, launch, start, index, dim)
