"""Scans: running sums, products, minima, maxima and log-sums along one dim.

Sums accumulate as reductions do: integers in int64, float32 in float64, float16 and bfloat16 in float32.  `recurrence`
is the scan of the derivatives: with it the gradients of products and of log-sums take one pass each, and are right at
zeros and for any spread of exponents.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad.core.dtype import DType
from minigrad.core.op import Op, Spec
from minigrad.core.requests import RunningExtreme, Scan
from minigrad.core.roles import Cast, Dim, Flag
from minigrad.declare.decorators import kernel
from minigrad.declare.partials import declared
from minigrad.declare.rules import floating, joint, same_shape, twice, values_and_positions, widen
from minigrad.kernels.scalar import parse
from minigrad.ops.indexing.gathering import gather, scatter_add, zeros_of
from minigrad.ops.pointwise.compare import where
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import expand, narrow
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor


def _sum_dtype(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    return widen(op, specs)[1]


def _flipped(spec: Spec, dim: int, reverse: bool) -> Spec:
    """Return the layout from the last entry to the first: a scan backward is one forward over it."""
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


LOWEST = -math.inf  # the logarithm of an empty sum
SUM = declared(running_sum, "zero", order="sum")
PRODUCT = declared(running_product, "one", order="sum")
LOG = declared(running_log, "lowest", combine=running_log)
LINE = declared(running_line, "zero", order="sequential")


@kernel(
    dtype=_sum_dtype,
    shape=same_shape,
    vjp=(lambda g, *, dim: reversed_cumsum(g, dim),),
    linear=joint("input"),
    batch="along",
    method=True,
    in_place=True,
)
def cumsum(backend, out, input: Tensor, dim: Dim, *, dtype: Cast = None):
    """Return the sums of all elements up to each along `dim`.

    DTypes: bool and integers become int64; with `dtype` the input is converted first, and the result has it.
    Gradient: the sums of g from each on.
    """
    return backend.prepare(Scan(SUM, np.dtype(input.dtype.accumulator), dim), out, input)


@kernel(
    dtype=_sum_dtype,
    shape=same_shape,
    vjp=(lambda g, *, dim: cumsum(g, dim),),
    linear=joint("input"),
    batch="along",
    namespace=(),
)
def reversed_cumsum(backend, out, input: Tensor, dim: Dim):
    """Return the sums of all elements from each on along `dim`.  Gradient: the sums of g up to each."""
    compute = np.dtype(input.dtype.accumulator)
    return backend.prepare(Scan(SUM, compute, dim), _flipped(out, dim, True), _flipped(input, dim, True))


def _recurrence_gradient(g: Tensor, factor: Tensor, dim: int, reverse: bool) -> Tensor:
    """Return the gradient of each x: its g, and the g of later elements through the factors between."""
    return recurrence(g, _moved(factor, dim, reverse, 0.0), dim, not reverse)


@kernel(
    dtype=floating,
    shape=same_shape,
    vjp=(
        lambda g, factor, *, dim, reverse: _recurrence_gradient(g, factor, dim, reverse),
        lambda g, factor, y, *, dim, reverse: (
            _recurrence_gradient(g, factor, dim, reverse) * _moved(y, dim, not reverse, 0.0)
        ),
    ),
    linear=joint("x"),
    namespace=(),
    jvp=lambda dfactor, factor, y, *, dim, reverse: recurrence(
        dfactor * _moved(y, dim, not reverse, 0.0), factor, dim, reverse
    ),
    batch="along",
)
def recurrence(backend, out, x: Tensor, factor: Tensor, dim: Dim, reverse: Flag = False):
    """Return y[i] = x[i] + factor[i] * y[i - 1] along `dim`, from 0; with reverse, from the end."""
    rows = [_flipped(s, dim, reverse) for s in (x, factor)]
    return backend.prepare(Scan(LINE, np.dtype(out.dtype.accumulator), dim), _flipped(out, dim, reverse), *rows)


def _cumprod_rule(g: Tensor, x: Tensor, y: Tensor, dim: int) -> Tensor:
    """Each element's partner: the product before it times the sum of g with the products after it; no division."""
    after = recurrence(g, _moved(x, dim, False, 0.0), dim, True)
    return _moved(y, dim, True, 1.0) * after


@kernel(
    dtype=_sum_dtype,
    shape=same_shape,
    vjp=(lambda g, input, y, *, dim: _cumprod_rule(g, input, y, dim),),
    jvp=lambda dinput, input, y, *, dim: recurrence(dinput * _moved(y, dim, True, 1.0), input, dim),
    batch="along",
    method=True,
    in_place=True,
)
def cumprod(backend, out, input: Tensor, dim: Dim, *, dtype: Cast = None):
    """Return products of all elements up to each along `dim`; dtypes as `cumsum`.  Gradient: exact with zeros too."""
    return backend.prepare(Scan(PRODUCT, np.dtype(input.dtype.accumulator), dim), out, input)


def _logcumsumexp_rule(g: Tensor, x: Tensor, y: Tensor, dim: int) -> Tensor:
    """exp(x - y) of each element times the sum of g with exp(y - y later): y rises, so no exponent is above 0."""
    nothing = y == LOWEST
    level = where(nothing, 0.0, y)
    step = where(nothing, 0.0, (level - _moved(level, dim, False, math.inf)).exp())
    after = recurrence(g, step, dim, True)
    return where(nothing, 0.0, (x - level).exp() * after)


@kernel(
    dtype=floating,
    shape=same_shape,
    vjp=(lambda g, input, y, *, dim: _logcumsumexp_rule(g, input, y, dim),),
    batch="along",
    method=True,
)
def logcumsumexp(backend, out, input: Tensor, dim: Dim):
    """Return log(cumsum(exp(input))) along `dim`, without overflow.  Floats only."""
    return backend.prepare(Scan(LOG, out.dtype.compute, dim), out, input)


# ---- running extremes -----------------------------------------------------------------------------------------------


def not_less(best, x):
    """Whether x takes the place of `best` as the largest so far: the last of ties does, and nan always."""
    return x >= best or x != x


def not_greater(best, x):
    """Whether x takes the place of `best` as the smallest so far."""
    return x <= best or x != x


NOT_LESS, NOT_GREATER = parse(not_less), parse(not_greater)


def _to_positions(g: Tensor, indices: Tensor, dim: int) -> Tensor:
    """Return the gradient of a running extreme: g added where each value was read."""
    return scatter_add(zeros_of(g.shape, g), dim, indices, g)


RUNNING: dict[str, Any] = {
    "dtype": values_and_positions,
    "shape": twice(same_shape),
    "outputs": ("values", "indices"),
    "vjp": (lambda g, indices, *, dim: _to_positions(g, indices, dim),),
    "jvp": lambda dinput, indices, *, dim: (gather(dinput, dim, indices), None),
    "batch": "along",
    "method": True,
}


@kernel(**RUNNING)
def cummax(backend, values, indices, input: Tensor, dim: Dim):
    """Return the largest of all elements up to each along `dim`, and its position: (values, indices).

    The last position of ties; nan wins.  Gradient: g added where the value was read.
    """
    return backend.prepare(RunningExtreme(NOT_LESS, dim), (values, indices), input)


@kernel(**RUNNING)
def cummin(backend, values, indices, input: Tensor, dim: Dim):
    """Return the smallest of all elements up to each along `dim`, and its position: (values, indices).

    The last position of ties; nan wins.  Gradient: g added where the value was read.
    """
    return backend.prepare(RunningExtreme(NOT_GREATER, dim), (values, indices), input)
