"""layer_norm and rms_norm, their gradients as ops of their own, and the parameters as lines of a matrix.

A backward pass takes all gradients from one reading of the rows; the single ops are there for those who want one
gradient only.  Rules of rules are tensor code, so every order of derivative works.  The compiler may re-order the
additions of a row's sums, alike for any number of threads.  `norm_rows.py` says what is computed along a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from minigrad.core.op import Op, Spec
from minigrad.core.requests import Copy, MapRows, SumColumns
from minigrad.core.shape import as_shape
from minigrad.errors import DTypeError, ShapeError
from minigrad.ops.casting import clone
from minigrad.ops.creation import expect_numbers
from minigrad.ops.declare import kernel
from minigrad.ops.norm_rows import (
    LAYER_NORM,
    LAYER_NORM_BACKWARD,
    LAYER_NORM_GRADIENTS,
    LAYER_NORM_SUMS,
    RMS_NORM,
    RMS_NORM_BACKWARD,
    RMS_NORM_GRADIENTS,
    RMS_NORM_SUMS,
)
from minigrad.ops.reduce import mean, wide
from minigrad.ops.rules import each, floating, joint, same_shape
from minigrad.ops.views import expand, narrow, reshape, select
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

STEPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}  # from 1 to the next


def _along_rows(row: Spec, shape: tuple[int, ...], index: int = -1) -> Spec:
    """A vector, or one line of a matrix, repeated for every row of `shape`."""
    layout = row.layout if index < 0 else row.layout.select(0, index)
    return Spec(layout.expand(shape), row.dtype)


def _norm_shape(op: Op, x: Spec, params: Spec, *, eps: float) -> tuple[int, ...]:
    if params.shape[-1:] != x.shape[-1:]:
        raise ShapeError(f"{op.label}: {params!r} must have the length of the last dim of {x!r}", op=op.label)
    return x.shape


def _slope_shape(op: Op, x: Spec, dy: Spec, weight: Spec, *, eps: float) -> tuple[int, ...]:
    return same_shape(op, x, dy)


def _ones(x: Tensor) -> Tensor:
    """A weight of ones for the rows of x, without memory."""
    return _line(None, 1.0, x, x)


def _row_mean(x: Tensor) -> Tensor:
    return mean(wide(x), -1, keepdim=True)


def _layer_norm_backward_by_x(g: Tensor, v: Tensor, x: Tensor, eps: float) -> Tensor:
    """d/dx of <g, layer_norm_backward(x, v, 1)>; symmetric in g and v.

    With y the normalised row, s its scale and n its length, the product is n * s * (cov(g, v) - mean(g*y) * mean(v*y)).
    """
    ones, deviation = _ones(x), wide(x) - _row_mean(x)
    scale = (_row_mean(deviation * deviation) + eps).rsqrt()
    y = deviation * scale
    along_g, along_v = _row_mean(g * y), _row_mean(v * y)
    rest = _row_mean(g * v) - _row_mean(g) * _row_mean(v) - along_g * along_v
    mixed = along_v * layer_norm_backward(x, g, ones, eps=eps) + along_g * layer_norm_backward(x, v, ones, eps=eps)
    return -(scale * scale * rest * y + scale * mixed)


def _rms_norm_backward_by_x(g: Tensor, v: Tensor, x: Tensor, eps: float) -> Tensor:
    """As `_layer_norm_backward_by_x`, of rows that keep their mean."""
    ones = _ones(x)
    scale = (_row_mean(wide(x) * wide(x)) + eps).rsqrt()
    y = wide(x) * scale
    along_g, along_v = _row_mean(g * y), _row_mean(v * y)
    rest = _row_mean(g * v) - along_g * along_v
    mixed = along_v * rms_norm_backward(x, g, ones, eps=eps) + along_g * rms_norm_backward(x, v, ones, eps=eps)
    return -(scale * scale * rest * y + scale * mixed)


@kernel(
    dtype=floating,
    shape=_norm_shape,
    vjp=(
        lambda g, x, params, *, eps: layer_norm_backward(x, g, select(params, dim=0, index=0), eps=eps),
        lambda g, x, *, eps: layer_norm_sums(x, g, eps=eps),
    ),
    joint=lambda g, x, params, *, eps: _parted(
        layer_norm_gradients(x, g, select(params, dim=0, index=0), eps=eps), x, params
    ),
    linear=joint("params"),
)
def layer_norm_with(backend, out, x, params, *, eps):
    """Rows of the last dim, minus their mean, over their deviation, times params[0] plus params[1]."""
    rows = (x, _along_rows(params, x.shape, 0), _along_rows(params, x.shape, 1))
    launch = backend.prepare(MapRows(LAYER_NORM, len(x.shape) - 1, eps), out, *rows)
    return lambda values, lines, result: launch(values, lines, lines, result)


@kernel(
    dtype=floating,
    shape=_slope_shape,
    vjp=(
        lambda g, x, dy, weight, *, eps: _layer_norm_backward_by_x(g, dy * weight, x, eps),
        lambda g, x, weight, *, eps: layer_norm_backward(x, g, _ones(x), eps=eps) * weight,
        lambda g, x, dy, *, eps: dy * layer_norm_backward(x, g, _ones(x), eps=eps),
    ),
    linear=each("dy", "weight"),
)
def layer_norm_backward(backend, out, x, dy, weight, *, eps):
    """The gradient of layer_norm in x."""
    request = MapRows(LAYER_NORM_BACKWARD, len(x.shape) - 1, eps)
    return backend.prepare(request, out, x, dy, _along_rows(weight, x.shape))


def _sums_shape(op: Op, x: Spec, dy: Spec, *, eps: float) -> tuple[int, ...]:
    return (2, same_shape(op, x, dy)[-1])


@kernel(
    dtype=floating,
    shape=_sums_shape,
    vjp=(
        lambda g, x, dy, *, eps: layer_norm_backward(x, dy, select(g, dim=0, index=0), eps=eps),
        lambda g, x, *, eps: layer_norm_with(x, g, eps=eps),
    ),
    linear=joint("dy"),
)
def layer_norm_sums(backend, out, x, dy, *, eps):
    """The gradient of layer_norm in its weight and bias: sums over all rows, as two lines."""
    return backend.prepare(SumColumns(LAYER_NORM_SUMS, eps), out, x, dy)


@kernel(
    dtype=floating,
    shape=_norm_shape,
    vjp=(
        lambda g, x, weight, *, eps: rms_norm_backward(x, g, weight, eps=eps),
        lambda g, x, *, eps: rms_norm_sums(x, g, eps=eps),
    ),
    joint=lambda g, x, weight, *, eps: _parted(rms_norm_gradients(x, g, weight, eps=eps), x, weight),
    linear=joint("weight"),
)
def rms_norm_with(backend, out, x, weight, *, eps):
    """Rows of the last dim over the root of their mean square, times a weight."""
    return backend.prepare(MapRows(RMS_NORM, len(x.shape) - 1, eps), out, x, _along_rows(weight, x.shape))


@kernel(
    dtype=floating,
    shape=_slope_shape,
    vjp=(
        lambda g, x, dy, weight, *, eps: _rms_norm_backward_by_x(g, dy * weight, x, eps),
        lambda g, x, weight, *, eps: rms_norm_backward(x, g, _ones(x), eps=eps) * weight,
        lambda g, x, dy, *, eps: dy * rms_norm_backward(x, g, _ones(x), eps=eps),
    ),
    linear=each("dy", "weight"),
)
def rms_norm_backward(backend, out, x, dy, weight, *, eps):
    """The gradient of rms_norm in x."""
    return backend.prepare(MapRows(RMS_NORM_BACKWARD, len(x.shape) - 1, eps), out, x, dy, _along_rows(weight, x.shape))


def _gradients_shape(lines: int) -> Callable[..., tuple[int, ...]]:
    """The rows of x, then some lines more."""

    def shape(op: Op, x: Spec, dy: Spec, weight: Spec, *, eps: float) -> tuple[int, ...]:
        same_shape(op, x, dy)
        return (math.prod(x.shape[:-1]) + lines, x.shape[-1])

    return shape


def _rows_of(both: Tensor, x: Tensor) -> Tensor:
    """Of gradients in one piece of memory, the rows that are those of x."""
    return reshape(narrow(both, dim=0, start=0, length=math.prod(x.shape[:-1])), x.shape)


def _lines_of(both: Tensor, x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Of gradients in one piece of memory, the lines behind the rows of x, in the shape of the parameters."""
    rows = math.prod(x.shape[:-1])
    return reshape(narrow(both, dim=0, start=rows, length=both.shape[0] - rows), shape)


def _parted(both: Tensor, x: Tensor, params: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of x and of its parameters.  The lines are copied out, so that the rows alone own the memory."""
    return _rows_of(both, x), clone(_lines_of(both, x, params.shape))


@kernel(
    dtype=floating,
    shape=_gradients_shape(2),
    vjp=(
        lambda g, x, dy, weight, *, eps: _layer_norm_backward_by_x(_rows_of(g, x), dy * weight, x, eps)
        + layer_norm_backward(x, dy, select(_lines_of(g, x, (2, x.shape[-1])), dim=0, index=0), eps=eps),
        lambda g, x, weight, *, eps: layer_norm_backward(x, _rows_of(g, x), _ones(x), eps=eps) * weight
        + layer_norm_with(x, _lines_of(g, x, (2, x.shape[-1])), eps=eps),
        lambda g, x, dy, *, eps: dy * layer_norm_backward(x, _rows_of(g, x), _ones(x), eps=eps),
    ),
    linear=joint("dy"),
)
def layer_norm_gradients(backend, out, x, dy, weight, *, eps):
    """All gradients of layer_norm from one reading: the rows of x's, then the lines of the weight's and the bias's."""
    return backend.prepare(SumColumns(LAYER_NORM_GRADIENTS, eps), out, x, dy, _along_rows(weight, x.shape))


@kernel(
    dtype=floating,
    shape=_gradients_shape(1),
    vjp=(
        lambda g, x, dy, weight, *, eps: _rms_norm_backward_by_x(_rows_of(g, x), dy * weight, x, eps)
        + rms_norm_backward(x, dy, _lines_of(g, x, x.shape[-1:]), eps=eps),
        lambda g, x, weight, *, eps: rms_norm_backward(x, _rows_of(g, x), _ones(x), eps=eps) * weight
        + rms_norm_with(x, _lines_of(g, x, x.shape[-1:]), eps=eps),
        lambda g, x, dy, *, eps: dy * rms_norm_backward(x, _rows_of(g, x), _ones(x), eps=eps),
    ),
    linear=joint("dy"),
)
def rms_norm_gradients(backend, out, x, dy, weight, *, eps):
    """Both gradients of rms_norm from one reading: the rows of x's, then the line of the weight's."""
    return backend.prepare(SumColumns(RMS_NORM_GRADIENTS, eps), out, x, dy, _along_rows(weight, x.shape))


def _line_shape(op: Op, x: Spec, dy: Spec, *, eps: float) -> tuple[int, ...]:
    return (same_shape(op, x, dy)[-1],)


@kernel(
    dtype=floating,
    shape=_line_shape,
    vjp=(
        lambda g, x, dy, *, eps: rms_norm_backward(x, dy, g, eps=eps),
        lambda g, x, *, eps: rms_norm_with(x, g, eps=eps),
    ),
    linear=joint("dy"),
)
def rms_norm_sums(backend, out, x, dy, *, eps):
    """The gradient of rms_norm in its weight: a sum over all rows."""
    return backend.prepare(SumColumns(RMS_NORM_SUMS, eps), out, x, dy)


@kernel(
    dtype=floating,
    shape=lambda op, weight, bias: (2, *same_shape(op, weight, bias)),
    vjp=(lambda g: select(g, dim=0, index=0), lambda g: select(g, dim=0, index=1)),
    linear=joint("weight", "bias"),
)
def two_lines(backend, out, weight, bias):
    """Two vectors as the lines of a matrix: the parameters of a normalisation, whose gradients are summed together."""
    places = [Spec(out.layout.select(0, k), out.dtype) for k in range(2)]
    lines = [backend.prepare(Copy(), place, line) for place, line in zip(places, (weight, bias))]

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
