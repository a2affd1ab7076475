"""softmax and log_softmax: rows in one kernel, forward and backward.

Each row's totals and its elements are scalar functions, kept in a `RowFn`; what an op's body says is its definition, to
which tests hold the kernels.  Both keep their result and not their operand, so their slopes are said in tensor code for
the higher orders.  The compiler may re-order the additions of a row's sums, alike for any number of threads.
"""

from __future__ import annotations

import math
from typing import Any

from minigrad.core.roles import Dim
from minigrad.core.rows import RowFn, Total
from minigrad.core.shape import normalize_dim
from minigrad.declare.decorators import scalar
from minigrad.declare.rows import rows
from minigrad.ops.reduce import amax, as_float, sum, wide
from minigrad.runtime.tensor import Tensor, expect_tensors


@scalar
def _itself(x):
    return x


@scalar
def _exp_below(x, peak):
    return math.exp(x - peak)


@scalar
def _inverse(total):
    return 1 / total


@scalar
def _log(total):
    return math.log(total)


@scalar
def _softmax_of(x, peak, scale):
    return math.exp(x - peak) * scale


@scalar
def _softmax_again(kept, scale):
    return kept * scale


@scalar
def _log_softmax_of(x, peak, log):
    return (x - peak) - log


@scalar
def _product(g, y):
    return g * y


@scalar
def _gradient(g):
    return g


@scalar
def _softmax_slope(g, y, total):
    return (g - total) * y


@scalar
def _log_softmax_slope(g, y, total):
    return g - math.exp(y) * total


_PEAK = Total("peak", "max", _itself)
SOFTMAX = RowFn("softmax", ("x",), (_PEAK, Total("scale", "sum", _exp_below, _inverse)), _softmax_of, _softmax_again)
LOG_SOFTMAX = RowFn("log_softmax", ("x",), (_PEAK, Total("log", "sum", _exp_below, _log)), _log_softmax_of)
SOFTMAX_SLOPE = RowFn("softmax_backward", ("g", "y"), (Total("total", "sum", _product),), _softmax_slope)
LOG_SOFTMAX_SLOPE = RowFn("log_softmax_backward", ("g", "y"), (Total("total", "sum", _gradient),), _log_softmax_slope)


def _shifted(x: Tensor, dim: int) -> Tensor:
    """x minus its maximum along dim: the shift is a constant, since both functions are invariant under it."""
    return x if x.shape[dim] == 0 else x - amax(x.detach(), dim, keepdim=True)


def softmax_slope(g: Tensor, y: Tensor, dim: int) -> Tensor:
    """The gradient of a softmax whose result is y, in tensor code."""
    g, y = wide(g), wide(y)
    return (g - sum(g * y, dim, keepdim=True)) * y


def _log_slope(g: Tensor, y: Tensor, dim: int) -> Tensor:
    g, y = wide(g), wide(y)
    return g - y.exp() * sum(g, dim, keepdim=True)


@rows(
    SOFTMAX,
    slope=SOFTMAX_SLOPE,
    vjp=(lambda g, y, *, dim: softmax_slope(g, y, dim),),
    jvp=lambda dx, y, *, dim: softmax_slope(dx, y, dim),  # its Jacobian is symmetric
    batch="along",
)
def softmax_along(x, *, dim: Dim):
    """exp(x) / sum(exp(x)) along `dim`.  Gradient: y * (g - sum(g * y))."""
    e = _shifted(x, dim).exp()
    return e / sum(e, dim, keepdim=True)


@rows(
    LOG_SOFTMAX,
    slope=LOG_SOFTMAX_SLOPE,
    vjp=(lambda g, y, *, dim: _log_slope(g, y, dim),),
    jvp=lambda dx, y, *, dim: dx - sum(dx * y.exp(), dim, keepdim=True),
    batch="along",
)
def log_softmax_along(x, *, dim: Dim):
    """x - log(sum(exp(x))) along `dim`.  Gradient: g - exp(y) * sum(g)."""
    shifted = _shifted(x, dim)
    return shifted - sum(shifted.exp(), dim, keepdim=True).log()


def _along(function: Any, input: Tensor, dim: int, dtype: Any) -> Tensor:
    """A function of rows along a dim."""
    name = function.op.label
    expect_tensors(name, input)
    if dtype is not None or not input.dtype.is_float:  # checked before a copy is made
        dim = normalize_dim(dim, input.ndim or 1, name, input)
    result: Tensor = function(as_float(input, dtype, name), dim=dim)
    return result


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`, shifted by the maximum so that nothing overflows.

    DTypes: `dtype` if given, else x's own, integers the default float; halves are computed in float32.
    Gradient: y * (g - sum(g * y)).  Special values: a row of -inf gives nan.
    """
    return _along(softmax_along, input, dim, dtype)


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """log(softmax(x)) along `dim`, without leaving the logarithm.  Gradient: g - exp(y) * sum(g)."""
    return _along(log_softmax_along, input, dim, dtype)


def softmin(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """softmax(-x)."""
    expect_tensors("softmin", input)
    return softmax(-as_float(input, dtype, "softmin"), dim)
