"""Scans: running sums, products, extremes and log-sums along one dim.

Sums accumulate as folds do: integers in int64, float32 in float64, halves in float32.  `recurrence` is the scan that
derivatives need: with it the gradients of products and of log-sums take one pass each, and are right at zeros and for
any spread of exponents.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.dtype import DType, as_dtype
from minigrad.core.op import Op, Spec
from minigrad.core.shape import normalize_dim
from minigrad.kernels.scalar import parse
from minigrad.ops.casting import cast
from minigrad.ops.compare import where
from minigrad.ops.declare import kernel
from minigrad.ops.folds import declared
from minigrad.ops.indexing import scatter_add_along
from minigrad.ops.joining import cat
from minigrad.ops.rules import floating, index_dtype, same_shape, widen
from minigrad.ops.views import expand, narrow
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor, expect_tensors


def _sum_dtype(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    return widen(op, specs)[1]


def _first_dtype(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    return specs[0].dtype


def _flipped(spec: Spec, dim: int, reverse: bool) -> Spec:
    """The layout from the last entry to the first: a scan backward is one forward over it."""
    return Spec(spec.layout.flip(dim), spec.dtype) if reverse else spec


def _moved(x: Tensor, dim: int, later: bool, fill: float) -> Tensor:
    """x one place later along `dim`, or one earlier; the free place takes `fill`."""
    n = x.shape[dim]
    if n == 0:
        return x
    edge = expand(number(fill, x.dtype, x.device), shape=(*x.shape[:dim], 1, *x.shape[dim + 1 :]))
    kept = narrow(x, dim=dim, start=0 if later else 1, length=n - 1)
    return cat([edge, kept] if later else [kept, edge], dim)


# ---- sums, products, log-sums ---------------------------------------------------------------------------------------


def running_sum(acc, x):
    """One step of cumsum."""
    return acc + x


def running_product(acc, x):
    """One step of cumprod."""
    return acc * x


def running_log(acc, x):
    """One step of logcumsumexp: equal terms are told apart, since the difference of infinities is nan."""
    top = acc if acc > x else x
    return top + 0.6931471805599453 if acc == x else top + math.log1p(math.exp(-abs(acc - x)))


def running_line(acc, x, factor):
    """One step of a recurrence."""
    return x + factor * acc


LOWEST = -math.inf  # the logarithm of a sum of nothing
SUM = declared(running_sum, "zero", order="sum")
PRODUCT = declared(running_product, "one", order="sum")
LOG = declared(running_log, "lowest", combine=running_log)
LINE = declared(running_line, "zero", order="sequential")


@kernel(
    dtype=_sum_dtype,
    shape=same_shape,
    vjp=(lambda g, *, dim, reverse: cumsum_along(g, dim=dim, reverse=not reverse),),
    linear=True,
)
def cumsum_along(backend, out, x, *, dim, reverse):
    """Sums of all elements up to each along `dim`, or from each on.  Gradient: the sum of g the other way."""
    compute = np.dtype(x.dtype.accumulator)
    return backend.scan(SUM, compute, _flipped(out, dim, reverse), [_flipped(x, dim, reverse)], dim)


def _recurrence_slope(g: Tensor, factor: Tensor, dim: int, reverse: bool) -> Tensor:
    """What reaches each x: g and, through the factors of those after it, their g."""
    return recurrence(g, _moved(factor, dim, reverse, 0.0), dim=dim, reverse=not reverse)


@kernel(
    dtype=floating,
    shape=same_shape,
    vjp=(
        lambda g, factor, *, dim, reverse: _recurrence_slope(g, factor, dim, reverse),
        lambda g, factor, y, *, dim, reverse: (
            _recurrence_slope(g, factor, dim, reverse) * _moved(y, dim, not reverse, 0.0)
        ),
    ),
)
def recurrence(backend, out, x, factor, *, dim, reverse):
    """y[i] = x[i] + factor[i] * y[i - 1] along `dim`, from 0; with reverse, from the end."""
    rows = [_flipped(s, dim, reverse) for s in (x, factor)]
    return backend.scan(LINE, np.dtype(out.dtype.accumulator), _flipped(out, dim, reverse), rows, dim)


def _cumprod_rule(g: Tensor, x: Tensor, y: Tensor, dim: int) -> Tensor:
    """Each element's partner: the product before it times the sum of g with the products after it; no division."""
    after = recurrence(g, _moved(x, dim, False, 0.0), dim=dim, reverse=True)
    return _moved(y, dim, True, 1.0) * after


@kernel(dtype=_sum_dtype, shape=same_shape, vjp=(lambda g, x, y, *, dim: _cumprod_rule(g, x, y, dim),))
def cumprod_along(backend, out, x, *, dim):
    """Products of all elements up to each along `dim`.  Gradient: exact with zeros too."""
    return backend.scan(PRODUCT, np.dtype(x.dtype.accumulator), out, [x], dim)


def _logcumsumexp_rule(g: Tensor, x: Tensor, y: Tensor, dim: int) -> Tensor:
    """exp(x - y) of each element times the sum of g with exp(y - y later): y rises, so no exponent is above 0."""
    nothing = y == LOWEST
    level = where(nothing, 0.0, y)
    step = where(nothing, 0.0, (level - _moved(level, dim, False, math.inf)).exp())
    after = recurrence(g, step, dim=dim, reverse=True)
    return where(nothing, 0.0, (x - level).exp() * after)


@kernel(dtype=floating, shape=same_shape, vjp=(lambda g, x, y, *, dim: _logcumsumexp_rule(g, x, y, dim),))
def logcumsumexp_along(backend, out, x, *, dim):
    """log(cumsum(exp(x))) along `dim`, without leaving the logarithm."""
    return backend.scan(LOG, out.dtype.compute, out, [x], dim)


# ---- running extremes -----------------------------------------------------------------------------------------------


def not_less(best, x):
    """Whether x takes the place of `best` as the largest so far: the last of ties does, and nan always."""
    return x >= best or x != x


def not_greater(best, x):
    """Whether x takes the place of `best` as the smallest so far."""
    return x <= best or x != x


def largest(acc, x):
    """One step of cummax."""
    return x if x >= acc or x != x else acc


def smallest(acc, x):
    """One step of cummin."""
    return x if x <= acc or x != x else acc


NOT_LESS, NOT_GREATER = parse(not_less), parse(not_greater)
LARGEST = declared(largest, "lowest", order="extreme")
SMALLEST = declared(smallest, "highest", order="extreme")


@kernel(dtype=index_dtype, shape=same_shape)
def cummax_places(backend, out, x, *, dim):
    """Where the largest of all elements up to each is along `dim`: the last of ties, nan wins."""
    return backend.argscan(NOT_LESS, out, x, dim)


@kernel(dtype=index_dtype, shape=same_shape)
def cummin_places(backend, out, x, *, dim):
    """Where the smallest of all elements up to each is along `dim`: the last of ties, nan wins."""
    return backend.argscan(NOT_GREATER, out, x, dim)


def _read_at(g: Tensor, places: Tensor, dim: int) -> Tensor:
    """The gradient of a running extreme: g added where each value was read."""
    return scatter_add_along(expand(number(0.0, g.dtype, g.device), shape=g.shape), places, g, dim=dim)


@kernel(dtype=_first_dtype, shape=same_shape, vjp=(lambda g, places, *, dim: _read_at(g, places, dim), None))
def cummax_values(backend, out, x, places, *, dim):
    """The largest of all elements up to each along `dim`; it stands at `places`, which only the gradient reads."""
    launch = backend.scan(LARGEST, out.dtype.compute, out, [x], dim)
    return lambda values, _places, result: launch(values, result)


@kernel(dtype=_first_dtype, shape=same_shape, vjp=(lambda g, places, *, dim: _read_at(g, places, dim), None))
def cummin_values(backend, out, x, places, *, dim):
    """The smallest of all elements up to each along `dim`; it stands at `places`, which only the gradient reads."""
    launch = backend.scan(SMALLEST, out.dtype.compute, out, [x], dim)
    return lambda values, _places, result: launch(values, result)


# ---- the public forms -----------------------------------------------------------------------------------------------


class Running(NamedTuple):
    """What cummax and cummin return."""

    values: Tensor
    indices: Tensor


def _begin(name: str, x: Tensor, dim: int, dtype: Any) -> tuple[Tensor, int]:
    """Checks that all scans share: x in `dtype`, and the dim; a scalar is a row of one."""
    expect_tensors(name, x)
    d = normalize_dim(dim, max(x.ndim, 1), name, x)
    return x if dtype is None else cast(x, dtype=as_dtype(dtype)), d


def _scanned(op: Any, x: Tensor, dtype: Any = None, **params: Any) -> Tensor:
    result: Tensor = op(x, **params) if x.ndim else op(x.reshape(1), **params).reshape(())
    return result if dtype is None else cast(result, dtype=as_dtype(dtype))


def cumsum(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Sums of all elements up to each along `dim`.

    DTypes: bool and integers give int64; with `dtype` x is converted first, and the
    result has it.  Gradient: the sums of g from each on.
    """
    input, d = _begin("cumsum", input, dim, dtype)
    return _scanned(cumsum_along, input, dtype, dim=d, reverse=False)


def cumprod(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Products of all elements up to each along `dim`; dtypes as `cumsum`.  Gradient: exact with zeros too."""
    input, d = _begin("cumprod", input, dim, dtype)
    return _scanned(cumprod_along, input, dtype, dim=d)


def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """log(cumsum(exp(x))) along `dim`, without overflow.  Floats only."""
    input, d = _begin("logcumsumexp", input, dim, None)
    return _scanned(logcumsumexp_along, input, dim=d)


def _running(find: Any, read: Any, name: str, x: Tensor, dim: int) -> Running:
    x, d = _begin(name, x, dim, None)
    row = x if x.ndim else x.reshape(1)
    places = find(row, dim=d)
    values = read(row, places, dim=d)
    return Running(values, places) if x.ndim else Running(values.reshape(()), places.reshape(()))


def cummax(input: Tensor, dim: int) -> Running:
    """The largest of all elements up to each along `dim`, and where it is: (values, indices).

    Ties give the last position; nan wins.  Gradient: g added where the value was read.
    """
    return _running(cummax_places, cummax_values, "cummax", input, dim)


def cummin(input: Tensor, dim: int) -> Running:
    """The smallest of all elements up to each along `dim`, and where it is: (values, indices)."""
    return _running(cummin_places, cummin_values, "cummin", input, dim)
