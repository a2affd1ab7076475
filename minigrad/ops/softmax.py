"""softmax and log_softmax: rows in one kernel, forward and backward.

Each row's totals and its elements are scalar functions, kept in a `RowFn`.  A backward pass is an op of its own, so it
has derivatives too: rules of rules are tensor code, and every order works.  The compiler may re-order the additions of
a row's sums, alike for any number of threads.  `composed.py` has the same functions made of other ops; tests hold the
two to each other.
"""

from __future__ import annotations

import math
from typing import Any

from minigrad.core.requests import MapRows
from minigrad.core.roles import Dim
from minigrad.core.rows import RowFn, Total
from minigrad.core.shape import normalize_dim
from minigrad.ops.declare import kernel, scalar
from minigrad.ops.reduce import as_float, sum
from minigrad.ops.rules import floating, joint, same_shape
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
def _softmax_again(kept, peak, scale):
    return kept * scale


@scalar
def _log_softmax_of(x, peak, log):
    return (x - peak) - log


@scalar
def _product(dy, y):
    return dy * y


@scalar
def _first(dy, y):
    return dy


@scalar
def _softmax_slope(dy, y, total):
    return (dy - total) * y


@scalar
def _log_softmax_slope(dy, y, total):
    return dy - math.exp(y) * total


_PEAK = Total("max", _itself)
SOFTMAX = RowFn("softmax", 1, (_PEAK, Total("sum", _exp_below, _inverse)), _softmax_of, _softmax_again)
LOG_SOFTMAX = RowFn("log_softmax", 1, (_PEAK, Total("sum", _exp_below, _log)), _log_softmax_of)
SOFTMAX_BACKWARD = RowFn("softmax_backward", 2, (Total("sum", _product),), _softmax_slope)
LOG_SOFTMAX_BACKWARD = RowFn("log_softmax_backward", 2, (Total("sum", _first),), _log_softmax_slope)


def _softmax_backward_by_y(g: Tensor, dy: Tensor, y: Tensor, dim: int) -> Tensor:
    """d/dy of (dy - sum(dy * y)) * y."""
    return g * (dy - sum(dy * y, dim, keepdim=True)) - dy * sum(g * y, dim, keepdim=True)


@kernel(
    dtype=floating,
    shape=same_shape,
    vjp=(lambda g, y, *, dim: softmax_backward(g, y, dim=dim),),
    jvp=lambda dx, y, *, dim: softmax_backward(dx, y, dim=dim),  # its Jacobian is symmetric
    batch="along",
)
def softmax_along(backend, out, x, *, dim: Dim):
    """exp(x) / sum(exp(x)) along `dim`, in one kernel.  Gradient: y * (g - sum(g * y))."""
    return backend.prepare(MapRows(SOFTMAX, dim), out, x)


@kernel(
    dtype=floating,
    shape=same_shape,
    vjp=(
        lambda g, probs, *, dim: softmax_backward(g, probs, dim=dim),
        lambda g, dy, probs, *, dim: _softmax_backward_by_y(g, dy, probs, dim),
    ),
    linear=joint("dy"),
    batch="along",
)
def softmax_backward(backend, out, dy, probs, *, dim: Dim):
    """The gradient of softmax: (dy - sum(dy * probs)) * probs."""
    return backend.prepare(MapRows(SOFTMAX_BACKWARD, dim), out, dy, probs)


@kernel(
    dtype=floating,
    shape=same_shape,
    vjp=(lambda g, y, *, dim: log_softmax_backward(g, y, dim=dim),),
    jvp=lambda dx, y, *, dim: dx - sum(dx * y.exp(), dim, keepdim=True),
    batch="along",
)
def log_softmax_along(backend, out, x, *, dim: Dim):
    """x - log(sum(exp(x))) along `dim`, in one kernel.  Gradient: g - exp(y) * sum(g)."""
    return backend.prepare(MapRows(LOG_SOFTMAX, dim), out, x)


@kernel(
    dtype=floating,
    shape=same_shape,
    vjp=(
        lambda g, logs, *, dim: g - sum(g * logs.exp(), dim, keepdim=True),
        lambda g, dy, logs, *, dim: -(g * logs.exp() * sum(dy, dim, keepdim=True)),
    ),
    linear=joint("dy"),
    batch="along",
)
def log_softmax_backward(backend, out, dy, logs, *, dim: Dim):
    """The gradient of log_softmax: dy - exp(logs) * sum(dy)."""
    return backend.prepare(MapRows(LOG_SOFTMAX_BACKWARD, dim), out, dy, logs)


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
