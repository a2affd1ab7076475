"""softmax, log_softmax, layer_norm and rms_norm: rows in one kernel, forward and backward.

Each row's totals and its elements are scalar functions, kept in a `RowFn`.  A backward pass is an op of its own, so it
has derivatives too: rules of rules are tensor code, and every order works.  The compiler may re-order the additions of
a row's sums, alike for any number of threads.  `composed.py` has the same functions made
of other ops; tests hold the two to each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.core.dtype import DType
from minigrad.core.op import Op, Spec
from minigrad.core.rows import ColumnFn, RowFn, Total
from minigrad.core.shape import as_shape, normalize_dim
from minigrad.dispatch import number
from minigrad.errors import DTypeError, ShapeError
from minigrad.ops.creation import expect_numbers
from minigrad.ops.declare import kernel, scalar
from minigrad.ops.reduce import as_float, mean, sum, wide
from minigrad.ops.rules import common, refuse
from minigrad.ops.views import expand, select
from minigrad.tensor import Tensor, describe, expect_tensors

# ---- rules ----------------------------------------------------------------------------------------------------------


def _float_rows(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    dtype = common(specs)
    if not dtype.is_float:
        raise refuse(op, specs, "a floating dtype is needed; convert with .to(mg.float32)")
    return dtype


def _same_shape(op: Op, x: Spec, *others: Spec, **params: Any) -> tuple[int, ...]:
    for other in others:
        if other.shape != x.shape:
            raise ShapeError(f"{op.label}: {x!r} and {other!r} must have one shape", op=op.label)
    return x.shape


def _along_rows(row: Spec, shape: tuple[int, ...], index: int = -1) -> Spec:
    """A vector, or one line of a matrix, repeated for every row of `shape`."""
    layout = row.layout if index < 0 else row.layout.select(0, index)
    return Spec(layout.expand(shape), row.dtype)


# ---- softmax --------------------------------------------------------------------------------------------------------


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


@kernel(dtype=_float_rows, shape=_same_shape, vjp=(lambda g, y, *, dim: softmax_backward(g, y, dim=dim),))
def softmax_along(backend, out, x, *, dim):
    """exp(x) / sum(exp(x)) along `dim`, in one kernel.  Gradient: y * (g - sum(g * y))."""
    return backend.map_rows(SOFTMAX, out, (x,), dim, 0.0)


@kernel(
    dtype=_float_rows,
    shape=_same_shape,
    vjp=(
        lambda g, probs, *, dim: softmax_backward(g, probs, dim=dim),
        lambda g, dy, probs, *, dim: _softmax_backward_by_y(g, dy, probs, dim),
    ),
)
def softmax_backward(backend, out, dy, probs, *, dim):
    """The gradient of softmax: (dy - sum(dy * probs)) * probs."""
    return backend.map_rows(SOFTMAX_BACKWARD, out, (dy, probs), dim, 0.0)


@kernel(dtype=_float_rows, shape=_same_shape, vjp=(lambda g, y, *, dim: log_softmax_backward(g, y, dim=dim),))
def log_softmax_along(backend, out, x, *, dim):
    """x - log(sum(exp(x))) along `dim`, in one kernel.  Gradient: g - exp(y) * sum(g)."""
    return backend.map_rows(LOG_SOFTMAX, out, (x,), dim, 0.0)


@kernel(
    dtype=_float_rows,
    shape=_same_shape,
    vjp=(
        lambda g, logs, *, dim: g - sum(g * logs.exp(), dim, keepdim=True),
        lambda g, dy, logs, *, dim: -(g * logs.exp() * sum(dy, dim, keepdim=True)),
    ),
)
def log_softmax_backward(backend, out, dy, logs, *, dim):
    """The gradient of log_softmax: dy - exp(logs) * sum(dy)."""
    return backend.map_rows(LOG_SOFTMAX_BACKWARD, out, (dy, logs), dim, 0.0)


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`, shifted by the maximum so that nothing overflows.

    DTypes: `dtype` if given, else x's own, integers the default float; halves are computed in float32.
    Gradient: y * (g - sum(g * y)).  Special values: a row of -inf gives nan.
    """
    expect_tensors("softmax", input)
    d = normalize_dim(dim, input.ndim, "softmax", input)
    return softmax_along(as_float(input, dtype, "softmax"), dim=d)


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """log(softmax(x)) along `dim`, without leaving the logarithm.  Gradient: g - exp(y) * sum(g)."""
    expect_tensors("log_softmax", input)
    d = normalize_dim(dim, input.ndim, "log_softmax", input)
    return log_softmax_along(as_float(input, dtype, "log_softmax"), dim=d)


def softmin(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """softmax(-x)."""
    expect_tensors("softmin", input)
    return softmax(-as_float(input, dtype, "softmin"), dim)


# ---- normalisation --------------------------------------------------------------------------------------------------


@scalar
def _x_of_three(x, weight, bias):
    return x


@scalar
def _mean(total, n):
    return total / n


@scalar
def _deviation(x, weight, bias, middle):
    d = x - middle
    return d * d


@scalar
def _inverse_root(total, n, eps):
    return 1 / math.sqrt(total / n + eps)


@scalar
def _layer_norm_of(x, weight, bias, middle, scale):
    return (x - middle) * scale * weight + bias


@scalar
def _x_after_dy(dy, x, weight):
    return x


@scalar
def _deviation_after_dy(dy, x, weight, middle):
    d = x - middle
    return d * d


@scalar
def _weighted(dy, x, weight):
    return dy * weight


@scalar
def _weighted_by_norm(dy, x, weight, middle, scale):
    return dy * weight * ((x - middle) * scale)


@scalar
def _layer_norm_slope(dy, x, weight, middle, scale, level, slope):
    return scale * (dy * weight - level - (x - middle) * scale * slope)


@scalar
def _square(x, weight):
    return x * x


@scalar
def _rms_norm_of(x, weight, scale):
    return x * scale * weight


@scalar
def _square_after_dy(dy, x, weight):
    return x * x


@scalar
def _weighted_by_rms(dy, x, weight, scale):
    return dy * weight * (x * scale)


@scalar
def _rms_norm_slope(dy, x, weight, scale, slope):
    return scale * (dy * weight - x * scale * slope)


@scalar
def _x_of_two(dy, x):
    return x


@scalar
def _deviation_of_two(dy, x, middle):
    d = x - middle
    return d * d


@scalar
def _norm_term(dy, x, middle, scale):
    return dy * ((x - middle) * scale)


@scalar
def _square_of_two(dy, x):
    return x * x


@scalar
def _rms_term(dy, x, scale):
    return dy * (x * scale)


LAYER_NORM = RowFn(
    "layer_norm", 3, (Total("sum", _x_of_three, _mean), Total("sum", _deviation, _inverse_root)), _layer_norm_of
)
LAYER_NORM_BACKWARD = RowFn(
    "layer_norm_backward",
    3,
    (
        Total("sum", _x_after_dy, _mean),
        Total("sum", _deviation_after_dy, _inverse_root),
        Total("sum", _weighted, _mean),
        Total("sum", _weighted_by_norm, _mean),
    ),
    _layer_norm_slope,
)
LAYER_NORM_SUMS = ColumnFn(
    "layer_norm_sums",
    2,
    (Total("sum", _x_of_two, _mean), Total("sum", _deviation_of_two, _inverse_root)),
    (_norm_term, _first),
)
RMS_NORM = RowFn("rms_norm", 2, (Total("sum", _square, _inverse_root),), _rms_norm_of)
RMS_NORM_BACKWARD = RowFn(
    "rms_norm_backward",
    3,
    (Total("sum", _square_after_dy, _inverse_root), Total("sum", _weighted_by_rms, _mean)),
    _rms_norm_slope,
)
RMS_NORM_SUMS = ColumnFn("rms_norm_sums", 2, (Total("sum", _square_of_two, _inverse_root),), (_rms_term,))


STEPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}  # from 1 to the next


def _norm_shape(op: Op, x: Spec, params: Spec, *, eps: float) -> tuple[int, ...]:
    if params.shape[-1:] != x.shape[-1:]:
        raise ShapeError(f"{op.label}: {params!r} must have the length of the last dim of {x!r}", op=op.label)
    return x.shape


def _slope_shape(op: Op, dy: Spec, x: Spec, weight: Spec, *, eps: float) -> tuple[int, ...]:
    return _same_shape(op, dy, x)


def _ones(x: Tensor) -> Tensor:
    """A weight of ones for the rows of x, without memory."""
    return _line(None, 1.0, x, x)


def _row_mean(x: Tensor) -> Tensor:
    return mean(wide(x), -1, keepdim=True)


def _layer_norm_backward_by_x(g: Tensor, v: Tensor, x: Tensor, eps: float) -> Tensor:
    """d/dx of <g, layer_norm_backward(v, x, 1)>; symmetric in g and v.

    With y the normalised row, s its scale and n its length, the product is n * s * (cov(g, v) - mean(g*y) * mean(v*y)).
    """
    ones, deviation = _ones(x), wide(x) - _row_mean(x)
    scale = (_row_mean(deviation * deviation) + eps).rsqrt()
    y = deviation * scale
    along_g, along_v = _row_mean(g * y), _row_mean(v * y)
    rest = _row_mean(g * v) - _row_mean(g) * _row_mean(v) - along_g * along_v
    mixed = along_v * layer_norm_backward(g, x, ones, eps=eps) + along_g * layer_norm_backward(v, x, ones, eps=eps)
    return -(scale * scale * rest * y + scale * mixed)


def _rms_norm_backward_by_x(g: Tensor, v: Tensor, x: Tensor, eps: float) -> Tensor:
    """As `_layer_norm_backward_by_x`, of rows that keep their mean."""
    ones = _ones(x)
    scale = (_row_mean(wide(x) * wide(x)) + eps).rsqrt()
    y = wide(x) * scale
    along_g, along_v = _row_mean(g * y), _row_mean(v * y)
    rest = _row_mean(g * v) - along_g * along_v
    mixed = along_v * rms_norm_backward(g, x, ones, eps=eps) + along_g * rms_norm_backward(v, x, ones, eps=eps)
    return -(scale * scale * rest * y + scale * mixed)


@kernel(
    dtype=_float_rows,
    shape=_norm_shape,
    vjp=(
        lambda g, x, params, *, eps: layer_norm_backward(g, x, select(params, dim=0, index=0), eps=eps),
        lambda g, x, *, eps: layer_norm_sums(g, x, eps=eps),
    ),
)
def layer_norm_with(backend, out, x, params, *, eps):
    """Rows of the last dim, minus their mean, over their deviation, times params[0] plus params[1]."""
    rows = (x, _along_rows(params, x.shape, 0), _along_rows(params, x.shape, 1))
    launch = backend.map_rows(LAYER_NORM, out, rows, len(x.shape) - 1, eps)
    return lambda values, lines, result: launch(values, lines, lines, result)


@kernel(
    dtype=_float_rows,
    shape=_slope_shape,
    vjp=(
        lambda g, x, weight, *, eps: layer_norm_backward(g, x, _ones(x), eps=eps) * weight,
        lambda g, dy, x, weight, *, eps: _layer_norm_backward_by_x(g, dy * weight, x, eps),
        lambda g, dy, x, *, eps: dy * layer_norm_backward(g, x, _ones(x), eps=eps),
    ),
)
def layer_norm_backward(backend, out, dy, x, weight, *, eps):
    """The gradient of layer_norm in x."""
    return backend.map_rows(LAYER_NORM_BACKWARD, out, (dy, x, _along_rows(weight, x.shape)), len(x.shape) - 1, eps)


def _sums_shape(op: Op, dy: Spec, x: Spec, *, eps: float) -> tuple[int, ...]:
    return (2, _same_shape(op, dy, x)[-1])


@kernel(
    dtype=_float_rows,
    shape=_sums_shape,
    vjp=(
        lambda g, x, *, eps: layer_norm_with(x, g, eps=eps),
        lambda g, dy, x, *, eps: layer_norm_backward(dy, x, select(g, dim=0, index=0), eps=eps),
    ),
)
def layer_norm_sums(backend, out, dy, x, *, eps):
    """The gradient of layer_norm in its weight and bias: sums over all rows, as two lines."""
    return backend.sum_columns(LAYER_NORM_SUMS, out, (dy, x), eps)


@kernel(
    dtype=_float_rows,
    shape=_norm_shape,
    vjp=(
        lambda g, x, weight, *, eps: rms_norm_backward(g, x, weight, eps=eps),
        lambda g, x, *, eps: rms_norm_sums(g, x, eps=eps),
    ),
)
def rms_norm_with(backend, out, x, weight, *, eps):
    """Rows of the last dim over the root of their mean square, times a weight."""
    return backend.map_rows(RMS_NORM, out, (x, _along_rows(weight, x.shape)), len(x.shape) - 1, eps)


@kernel(
    dtype=_float_rows,
    shape=_slope_shape,
    vjp=(
        lambda g, x, weight, *, eps: rms_norm_backward(g, x, _ones(x), eps=eps) * weight,
        lambda g, dy, x, weight, *, eps: _rms_norm_backward_by_x(g, dy * weight, x, eps),
        lambda g, dy, x, *, eps: dy * rms_norm_backward(g, x, _ones(x), eps=eps),
    ),
)
def rms_norm_backward(backend, out, dy, x, weight, *, eps):
    """The gradient of rms_norm in x."""
    return backend.map_rows(RMS_NORM_BACKWARD, out, (dy, x, _along_rows(weight, x.shape)), len(x.shape) - 1, eps)


def _line_shape(op: Op, dy: Spec, x: Spec, *, eps: float) -> tuple[int, ...]:
    return (_same_shape(op, dy, x)[-1],)


@kernel(
    dtype=_float_rows,
    shape=_line_shape,
    vjp=(
        lambda g, x, *, eps: rms_norm_with(x, g, eps=eps),
        lambda g, dy, x, *, eps: rms_norm_backward(dy, x, g, eps=eps),
    ),
)
def rms_norm_sums(backend, out, dy, x, *, eps):
    """The gradient of rms_norm in its weight: a sum over all rows."""
    return backend.sum_columns(RMS_NORM_SUMS, out, (dy, x), eps)


@kernel(
    dtype=_float_rows,
    shape=lambda op, weight, bias: (2, *_same_shape(op, weight, bias)),
    vjp=(lambda g: select(g, dim=0, index=0), lambda g: select(g, dim=0, index=1)),
    linear=True,
)
def two_lines(backend, out, weight, bias):
    """Two vectors as the lines of a matrix: the parameters of a normalisation, whose gradients are summed together."""
    lines = [backend.copy(Spec(out.layout.select(0, k), out.dtype), line) for k, line in enumerate((weight, bias))]

    def launch(first: Any, second: Any, result: Any) -> None:
        lines[0](first, result)
        lines[1](second, result)

    return launch


def _flat_rows(name: str, x: Tensor, normalized_shape: Sequence[int] | int, *params: Tensor | None) -> Tensor:
    """x with the normalised dims as one, after the checks that both normalisations share."""
    expect_tensors(name, x, *(p for p in params if p is not None))
    wrong = next((p for p in (x, *params) if p is not None and not p.dtype.is_float), None)
    if wrong is not None:
        raise DTypeError(f"{name}: {describe(wrong)} needs a floating dtype; convert with .to(mg.float32)", op=name)
    given = normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
    shape = as_shape(tuple(given), name)
    if not shape or x.shape[x.ndim - len(shape) :] != shape or len(shape) > x.ndim:
        raise ShapeError(f"{name}: the last dims of {describe(x)} must be the normalized_shape {shape}", op=name)
    for p in params:
        if p is not None and p.shape != shape:
            raise ShapeError(f"{name}: {describe(p)} must have the normalized_shape {shape} of {describe(x)}", op=name)
    return x if len(shape) == 1 else x.reshape(*x.shape[: x.ndim - len(shape)], math.prod(shape))


def _line(p: Tensor | None, default: float, kind: Tensor, x: Tensor) -> Tensor:
    """A parameter as a vector for the rows of x, or one number repeated without memory."""
    n = x.shape[-1]
    if p is None:
        return expand(number(default, kind.dtype, kind.device), shape=(n,))
    return p if p.ndim == 1 else p.reshape(n)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int] | int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The last dims, which are `normalized_shape`, minus their mean, over sqrt(variance + eps), times weight plus bias.

    The variance has no correction.  Halves are computed in float32.
    """
    x = _flat_rows("layer_norm", input, normalized_shape, weight, bias)
    expect_numbers("layer_norm", eps=eps)
    kind = next((p for p in (weight, bias) if p is not None), x)
    lines = two_lines(_line(weight, 1.0, kind, x), _line(bias, 0.0, kind, x))
    result = layer_norm_with(x, lines, eps=float(eps))
    return result if x is input else result.reshape(input.shape)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int] | int, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The last dims, which are `normalized_shape`, over sqrt(mean square + eps), times weight.

    eps: the distance from 1 to the next number of x's dtype if None.  Halves are computed in float32.
    """
    x = _flat_rows("rms_norm", input, normalized_shape, weight)
    expect_numbers("rms_norm", eps=0.0 if eps is None else eps)
    step = STEPS.get(x.dtype.name, 0.0) if eps is None else float(eps)
    result = rms_norm_with(x, _line(weight, 1.0, x, x), eps=step)
    return result if x is input else result.reshape(input.shape)
