"""Reductions over any set of dims: sums, means, products, minima and maxima, any and all.

`dim` is None for all dims, an int or a tuple.  With keepdim=True the reduced dims stay, with length 1.  The result of a
full reduction has shape ().  Sums accumulate in a wider dtype than that of the result.  The order of the additions
depends only on the shape, the layout and the processor.
"""

from __future__ import annotations

import math
from functools import lru_cache

from minigrad.core.dtype import float32
from minigrad.core.requests import LogSum
from minigrad.core.roles import Dims, Flag
from minigrad.core.strides import stretched_strides
from minigrad.declare import rules
from minigrad.declare.decorators import composed, kernel, reduction
from minigrad.errors import ShapeError
from minigrad.kernels.scalar import formula
from minigrad.ops.creation import ones_like
from minigrad.ops.pointwise.compare import isfinite, same_number, where
from minigrad.ops.pointwise.explog import exp, log
from minigrad.ops.shape import views
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.parts import real
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor, describe


def restore(g: Tensor, dims: tuple[int, ...], shape: tuple[int, ...]) -> Tensor:
    """Return a reduced tensor expanded to `shape` over `dims`, as a view with strides of 0."""
    return views.stretch(g, dims=dims, shape=shape)


def _count(shape: tuple[int, ...], dims: tuple[int, ...]) -> int:
    n = 1
    for d in dims:
        n *= shape[d]
    return n


def wide(x: Tensor) -> Tensor:
    """Return x in float32 if it is float16 or bfloat16, in which squares, sums and counts overflow or round early."""
    return x.to(float32) if x.dtype.is_float and x.dtype.itemsize == 2 else x


def share_ties(g: Tensor, x: Tensor, y: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Return the gradient of a maximum or minimum y: g, divided evenly among all elements that are y, nan or not."""
    won = same_number(x, restore(y, dims, x.shape))
    return won.where_cond(restore(g / won.sum(dims, keepdim=True).reshape(g.shape), dims, x.shape), 0.0)


def tied_tangent(dx: Tensor, x: Tensor, y: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """Return the mean of the tangents of all elements that are the maximum or minimum y, nan or not."""
    won = same_number(x, restore(y, dims, x.shape))
    count = won.sum(dims, keepdim)
    return wide(won.where_cond(dx, 0.0)).sum(dims, keepdim) / (count + (count == 0))


@reduction(
    dtype=rules.widen, identity="zero", order="sum", vjp=(lambda g, *, in_shape, dims: restore(g, dims, in_shape),),
    linear=True,
)  # fmt: skip
def sum(acc, x):
    """Return the sum of the elements over `dim`; 0 if there are no elements.

    DTypes: bool and integers become int64. float16 and bfloat16 accumulate in float32, float32 in float64, and
    complex64 in complex128.
    Order: floats are re-associated; the order depends only on the shape, the layout and the processor.
    Error: before its final rounding, a float32 sum differs from the exact sum by at most 8 * 2**-24 times the sum of
    magnitudes, for any length. Up to eight elements are added in float32, unless this would overflow, and these sums
    are added in float64.
    Gradient: g for every element.
    """
    return acc + x


@reduction(
    dtype=rules.mean_dtype, identity="zero", order="sum", mean=True,
    vjp=(lambda g, *, in_shape, dims: restore((wide(g) / _count(in_shape, dims)).to(g.dtype), dims, in_shape),),
    linear=True,
)  # fmt: skip
def mean(acc, x):
    """Return the mean of the elements over `dim`; nan if there are no elements.

    The sum is accumulated and re-associated as that of `sum`.
    Gradient: g/n for each of n elements.  Raises DTypeError for bool and integers.
    """
    return acc + x


@reduction(
    dtype=rules.promote, identity="lowest", order="extreme", vjp=(lambda g, x, y, *, dims: share_ties(g, x, y, dims),),
    jvp=lambda dx, x, y, *, dims, keepdim: tied_tangent(dx, x, y, dims, keepdim),
)  # fmt: skip
def amax(acc, x):
    """Return the largest element over `dim`; nan if an element is nan.

    Gradient: g, divided evenly among the elements that are equal to the result.
    """
    return x if x > acc or x != x else acc


@reduction(
    dtype=rules.promote, identity="highest", order="extreme", vjp=(lambda g, x, y, *, dims: share_ties(g, x, y, dims),),
    jvp=lambda dx, x, y, *, dims, keepdim: tied_tangent(dx, x, y, dims, keepdim),
)  # fmt: skip
def amin(acc, x):
    """Return the smallest element over `dim`; nan if an element is nan.

    Gradient: g, divided evenly among the elements that are equal to the result.
    """
    return x if x < acc or x != x else acc


def _share_both(
    g0: Tensor | None, g1: Tensor | None, x: Tensor, min: Tensor, max: Tensor, *, dims: tuple[int, ...]
) -> Tensor:
    """Return the gradient of `aminmax`; each of g0 and g1 is divided evenly among the tied elements."""
    first, *second = [share_ties(g, x, y, dims) for g, y in ((g0, min), (g1, max)) if g is not None]
    return first + second[0] if second else first


@reduction(
    dtype=rules.promote, identity=("highest", "lowest"), order="extreme", outputs=("min", "max"), vjp=(_share_both,),
    jvp=lambda dx, x, min, max, *, dims, keepdim: tuple(tied_tangent(dx, x, y, dims, keepdim) for y in (min, max)),
)  # fmt: skip
def aminmax(low, high, x):
    """Return the smallest and the largest element over `dim`, in one pass; both are nan if an element is nan.

    Gradient: that of each result is divided evenly among the elements that are equal to it.
    """
    lost = x != x  # `or` would be a branch, and the loop would not vectorise
    return (x if (x < low) | lost else low), (x if (x > high) | lost else high)


def either(acc, x):
    """Return 1 if x is nonzero, otherwise the accumulator, which is 0 or 1.

    A choice between two values takes fewer cycles than `or`, which converts two comparisons to a number.
    """
    return 1 if x != 0 else acc


def both(acc, x):
    """Return 0 if x is zero, otherwise the accumulator, which is 0 or 1."""
    return acc if x != 0 else 0


@reduction(dtype=rules.logical_or_bytes, identity="zero", combine=either)
def any(acc, x):
    """Return whether any element over `dim` is nonzero, as 0 or 1 in uint8 for uint8; False without elements."""
    return 1 if x != 0 else acc


@reduction(dtype=rules.logical_or_bytes, identity="one", combine=both)
def all(acc, x):
    """Return whether all elements over `dim` are nonzero, as 0 or 1 in uint8 for uint8; True without elements."""
    return acc if x != 0 else 0


def _prod_rule(g: Tensor, x: Tensor, *, dims: tuple[int, ...]) -> Tensor:
    """Return the gradient of a product: g times the product of the other elements.

    This product is not the quotient y / x if x is 0.  With one zero among the elements, only this element has a nonzero
    gradient, and with two or more zeros, no element has.
    """
    if is_grad_enabled():
        # The formula below treats the positions of zeros as constants, which is wrong for second derivatives.
        return restore(g, dims, x.shape) * _product_of_others(x, dims)
    zero = x == 0
    real = x.dtype.to_real()
    zeros = zero.to(real).sum(dims, keepdim=True)
    filled = zero.where_cond(1.0, x)
    others = prod(filled, dims, keepdim=True)
    # A product of others that contains a 0 is nan if it also contains an infinite element or nan.
    wild = (x - x != 0.0).to(real)
    missing = (wild.sum(dims, keepdim=True) - wild > 0.0).where_cond(math.nan, 0.0)
    alone = ((zeros == 1.0) & zero).where_cond(others, missing)
    return restore(g, dims, x.shape) * (zeros == 0.0).where_cond(others / filled, alone)


def _product_of_others(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Return, for each element, the product of all other elements over `dims`, without a division.

    It is the product of the elements before, times the product of the elements after.
    """
    order = (*(d for d in range(x.ndim) if d not in dims), *dims)
    moved = x.permute(order)
    flat = moved.reshape(*moved.shape[: x.ndim - len(dims)], _count(x.shape, dims))
    others = _product_before(flat) * _product_before(flat.flip(-1)).flip(-1)
    return others.reshape(moved.shape).permute([order.index(d) for d in range(x.ndim)])


def _product_before(x: Tensor) -> Tensor:
    """Return, for each element, the product of the elements before it along the last dim, by a doubling scan."""
    n = x.shape[-1]
    y = cat([ones_like(x.narrow(-1, 0, 1)), x.narrow(-1, 0, n - 1)], -1) if n else x
    step = 1
    while step < n:
        y = y * cat([ones_like(y.narrow(-1, 0, step)), y.narrow(-1, 0, n - step)], -1)
        step *= 2
    return y


@reduction(dtype=rules.widen, identity="one", order="sum", vjp=(_prod_rule,))
def prod(acc, x):
    """Return the product of the elements over `dim`; 1 if there are no elements.

    DTypes: bool and integers become int64; floats accumulate and are re-associated as in `sum`.
    Gradient: g times the product of the other elements, which is correct for elements of 0 as well.
    """
    return acc * x


PRESENT = formula("present(x)", "x != 0")  # nan is nonzero


@reduction(dtype=rules.counted, identity="zero", order="sum", map=PRESENT, namespace=(), label="count_nonzero")
def count(acc, x):
    """Return the number of nonzero elements over `dim`, in int64.  Not differentiable."""
    return acc + x


@kernel(
    dtype=rules.floating, shape=rules.shape_of_reduction,
    vjp=(lambda g, x, y, *, dims: restore(g, dims, x.shape) * (x - restore(y, dims, x.shape)).exp(),),
    jvp=lambda dx, x, y, *, dims, keepdim: sum(dx * (x - restore(y, dims, x.shape)).exp(), dims, keepdim),
    batch="reduction", namespace=(), label="logsumexp",
)  # fmt: skip
def log_of_sum(backend, out, x: Tensor, *, dims: Dims, keepdim: Flag):
    """Return log(sum(exp(x))) over `dims`, shifted by the largest element, so that `exp` does not overflow.

    Gradient: g*exp(x - y) with the result y, which is g times the softmax.
    """
    return backend.prepare(LogSum(dims), rules.with_kept_dims(out, x.shape, dims), x)


@composed(out=False, namespace=(), method=True)
def sum_to(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the sum over the dims along which a tensor of `shape` broadcasts to the input; the adjoint of `expand`."""
    x = input
    if x.shape == tuple(shape):
        return x
    dims = stretched_dims(x.shape, tuple(shape))
    if dims is None:
        raise ShapeError(
            f"sum_to: input must be a broadcast of the shape {tuple(shape)}, got {describe(x)}; from the right, each "
            "size must be equal to the size of input or 1"
        )
    lead, kept = dims
    if not kept:
        return sum(x, lead)
    reduced = sum(x, (*lead, *kept), keepdim=True)
    return reduced.reshape(shape) if lead else reduced


@lru_cache(maxsize=4096)
def stretched_dims(whole: tuple[int, ...], shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the leading dims that broadcasting `shape` to `whole` adds, and the dims of length 1 that it expands.

    Returns None if `shape` does not broadcast to `whole`.
    """
    if stretched_strides(shape, (0,) * len(shape), whole) is None:
        return None
    lead = len(whole) - len(shape)
    return tuple(range(lead)), tuple(lead + d for d, n in enumerate(shape) if n == 1 and whole[lead + d] != 1)


# ---- composed -------------------------------------------------------------------------------------------------------


@composed(out=False)
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """Return the number of nonzero elements over `dim`, in int64; nan is nonzero."""
    return count(input != 0 if input.dtype.is_complex else input, dim)


@composed(floats=True)
def logsumexp(input: Tensor, dim: Dims, keepdim: Flag = False) -> Tensor:
    """Return log(sum(exp(input))) over `dim`, without overflow of the exponentials.

    The result over no elements is -inf.  For complex numbers, it is the principal value.
    Gradient: g times the softmax over `dim`, and its conjugate for complex numbers.
    """
    if 0 in [input.shape[d] for d in dim]:
        return sum(input, dim, keepdim) - math.inf
    if not input.dtype.is_complex:
        return log_of_sum(input, dims=dim, keepdim=keepdim)
    top = amax(real(input).detach(), dim, True)
    top = where(isfinite(top), top, 0.0)
    total = sum(exp(input - top), dim, True)
    result = log(total) + top
    return result if keepdim else result.squeeze(dim)
