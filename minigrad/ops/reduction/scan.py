"""Scans: cumulative sums, products, minima, maxima and log-sums along one dim.

Sums accumulate as reductions do: integers in int64, float32 in float64, float16 and bfloat16 in float32.  The scan
`recurrence` computes the derivatives.  With it, the gradients of products and of log-sums take one pass each.  They are
correct also for elements of 0 and for any range of exponents.
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
from minigrad.kernels.scalar import scalar_of
from minigrad.ops.indexing.gathering import gather, scatter_add, zeros_of
from minigrad.ops.pointwise.compare import where
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import expand, narrow
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor


def _sum_dtype(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    return widen(op, specs)[1]


def _flipped(spec: Spec, dim: int, reverse: bool) -> Spec:
    """Return the layout flipped along `dim` if `reverse`; a forward scan over it is a backward scan of the tensor."""
    return Spec(spec.layout.flip(dim), spec.dtype) if reverse else spec


def _moved(x: Tensor, dim: int, later: bool, fill: float) -> Tensor:
    """Shift x by one position along `dim`, to the end if `later`, otherwise to the start; the gap becomes `fill`."""
    n = x.shape[dim]
    if n == 0:
        return x
    edge = expand(number(fill, x.dtype, x.device), shape=(*x.shape[:dim], 1, *x.shape[dim + 1 :]))
    kept = narrow(x, dim=dim, start=0 if later else 1, length=n - 1)
    return cat([edge, kept] if later else [kept, edge], dim)


# ---- sums, products, log-sums ---------------------------------------------------------------------------------------


def running_sum(acc, x):
    """Return the next value of a cumulative sum."""
    return acc + x


def running_product(acc, x):
    """Return the next value of a cumulative product."""
    return acc * x


def running_log(acc, x):
    """Return log(exp(acc) + exp(x)), the next value of logcumsumexp.

    Equal terms are a separate case, because the difference of two infinities is nan.
    """
    top = acc if acc > x else x
    return top + 0.6931471805599453 if acc == x else top + math.log1p(math.exp(-abs(acc - x)))


def running_line(acc, x, factor):
    """Return x + factor*acc, the next value of a recurrence."""
    return x + factor * acc


LOWEST = -math.inf  # the value for an empty sum: log(0)
SUM = declared(running_sum, "zero", order="sum")
PRODUCT = declared(running_product, "one", order="sum")
LOG = declared(running_log, "lowest", combine=running_log)
LINE = declared(running_line, "zero", order="sequential")


@kernel(
    dtype=_sum_dtype, shape=same_shape, vjp=(lambda g, *, dim: reversed_cumsum(g, dim),), linear=joint("input"),
    batch="along", method=True, in_place=True,
)  # fmt: skip
def cumsum(backend, out, input: Tensor, dim: Dim, *, dtype: Cast = None):
    """Return the cumulative sum along `dim`: at each position, the sum of the elements up to this position.

    dtype: the dtype to which the input is cast first, and which the result has. By default, bool and integers become
    int64.
    Gradient: at each position, the sum of g from this position to the end.
    """
    return backend.prepare(Scan(SUM, np.dtype(input.dtype.accumulator), dim), out, input)


@kernel(
    dtype=_sum_dtype, shape=same_shape, vjp=(lambda g, *, dim: cumsum(g, dim),), linear=joint("input"), batch="along",
    namespace=(),
)  # fmt: skip
def reversed_cumsum(backend, out, input: Tensor, dim: Dim):
    """Return, at each position along `dim`, the sum of the elements from this position to the end.

    Gradient: the cumulative sum of g.
    """
    compute = np.dtype(input.dtype.accumulator)
    return backend.prepare(Scan(SUM, compute, dim), _flipped(out, dim, True), _flipped(input, dim, True))


def _recurrence_gradient(g: Tensor, factor: Tensor, dim: int, reverse: bool) -> Tensor:
    """Return the gradient of x in a recurrence: g, plus the later elements of g times the factors between."""
    return recurrence(g, _moved(factor, dim, reverse, 0.0), dim, not reverse)


@kernel(
    dtype=floating, shape=same_shape,
    vjp=(
        lambda g, factor, *, dim, reverse: _recurrence_gradient(g, factor, dim, reverse),
        lambda g, factor, y, *, dim, reverse: (
            _recurrence_gradient(g, factor, dim, reverse) * _moved(y, dim, not reverse, 0.0)
        ),
    ),
    linear=joint("x"), namespace=(),
    jvp=lambda dfactor, factor, y, *, dim, reverse: recurrence(
        dfactor * _moved(y, dim, not reverse, 0.0), factor, dim, reverse
    ),
    batch="along",
)  # fmt: skip
def recurrence(backend, out, x: Tensor, factor: Tensor, dim: Dim, reverse: Flag = False):
    """Return y[i] = x[i] + factor[i] * y[i - 1] along `dim`, with y[-1] = 0; with reverse, it starts at the end.

    Gradient: for x, h, the reverse recurrence of g with the factors; for factor, h[i] * y[i - 1].
    """
    rows = [_flipped(s, dim, reverse) for s in (x, factor)]
    return backend.prepare(Scan(LINE, np.dtype(out.dtype.accumulator), dim), _flipped(out, dim, reverse), *rows)


def _cumprod_rule(g: Tensor, x: Tensor, y: Tensor, dim: int) -> Tensor:
    """Return the gradient of each element without a division, so that it is correct for elements of 0.

    It is the product of the elements before, times the sum of the later g, each times the product of the elements
    between.
    """
    after = recurrence(g, _moved(x, dim, False, 0.0), dim, True)
    return _moved(y, dim, True, 1.0) * after


@kernel(
    dtype=_sum_dtype, shape=same_shape, vjp=(lambda g, input, y, *, dim: _cumprod_rule(g, input, y, dim),),
    jvp=lambda dinput, input, y, *, dim: recurrence(dinput * _moved(y, dim, True, 1.0), input, dim), batch="along",
    method=True, in_place=True,
)  # fmt: skip
def cumprod(backend, out, input: Tensor, dim: Dim, *, dtype: Cast = None):
    """Return the cumulative product along `dim`: at each position, the product of the elements up to this position.

    dtype: the dtype to which the input is cast first, and which the result has. By default, bool and integers become
    int64.
    Gradient: computed without a division, so it is correct for elements of 0 as well.
    """
    return backend.prepare(Scan(PRODUCT, np.dtype(input.dtype.accumulator), dim), out, input)


def _logcumsumexp_rule(g: Tensor, x: Tensor, y: Tensor, dim: int) -> Tensor:
    """Return exp(x - y) of each element, times the sum of the g from it on, each times exp(y - its y).

    The values y never decrease, so all exponents are at most 0.
    """
    nothing = y == LOWEST
    level = where(nothing, 0.0, y)
    step = where(nothing, 0.0, (level - _moved(level, dim, False, math.inf)).exp())
    after = recurrence(g, step, dim, True)
    return where(nothing, 0.0, (x - level).exp() * after)


@kernel(
    dtype=floating, shape=same_shape, vjp=(lambda g, input, y, *, dim: _logcumsumexp_rule(g, input, y, dim),),
    batch="along", method=True,
)  # fmt: skip
def logcumsumexp(backend, out, input: Tensor, dim: Dim):
    """Return log(cumsum(exp(input))) along `dim`, without overflow.  Raises DTypeError for integers."""
    return backend.prepare(Scan(LOG, out.dtype.compute, dim), out, input)


# ---- cumulative minima and maxima -----------------------------------------------------------------------------------


def not_less(best, x):
    """Return whether x replaces `best` as the largest element so far; an equal x and a nan do."""
    return x >= best or x != x


def not_greater(best, x):
    """Return whether x replaces `best` as the smallest element so far; an equal x and a nan do."""
    return x <= best or x != x


NOT_LESS, NOT_GREATER = scalar_of(not_less), scalar_of(not_greater)


RUNNING: dict[str, Any] = {
    "dtype": values_and_positions,
    "shape": twice(same_shape),
    "outputs": ("values", "indices"),
    "vjp": (lambda g, indices, *, dim: scatter_add(zeros_of(g.shape, g), dim, indices, g),),
    "jvp": lambda dinput, indices, *, dim: (gather(dinput, dim, indices), None),
    "batch": "along",
    "method": True,
}


@kernel(**RUNNING)
def cummax(backend, values, indices, input: Tensor, dim: Dim):
    """Return the cumulative maximum along `dim` and its positions, as the named tuple (values, indices).

    nan counts as the largest element.  If elements are tied, the position is that of the last.
    Gradient: at each position, the sum of g over the results that selected this element.
    """
    return backend.prepare(RunningExtreme(NOT_LESS, dim), (values, indices), input)


@kernel(**RUNNING)
def cummin(backend, values, indices, input: Tensor, dim: Dim):
    """Return the cumulative minimum along `dim` and its positions, as the named tuple (values, indices).

    nan counts as the smallest element.  If elements are tied, the position is that of the last.
    Gradient: at each position, the sum of g over the results that selected this element.
    """
    return backend.prepare(RunningExtreme(NOT_GREATER, dim), (values, indices), input)
