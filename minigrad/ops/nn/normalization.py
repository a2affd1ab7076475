"""The ops `layer_norm` and `rms_norm`; one kernel computes the rows, and one computes the gradients of all operands.

The body of an op is its definition.  The kernels of the row functions run instead of it, and derivatives of higher
order use it.  The compiler may re-order the additions of a row's sums; the order is the same for any number of threads.
In the backward pass, a row sums products with the unscaled values, and the sums are multiplied by powers of the scale
at the end.  So one loop computes all sums that need the mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.core.conditions import Floating, Inexact, expect_shape
from minigrad.core.dtype import as_dtype, finfo
from minigrad.core.rows import RowFn, Total
from minigrad.core.shape import as_shape
from minigrad.declare.decorators import composed, scalar
from minigrad.declare.record import schema
from minigrad.declare.rows import rows
from minigrad.declare.rules import joint
from minigrad.errors import ShapeError
from minigrad.kernels.scalar import formula
from minigrad.ops.batch_rules import Flags, ranked, stretched
from minigrad.ops.creation import expect_numbers
from minigrad.ops.reduction.sums import mean, sum, wide
from minigrad.ops.shape.views import expand
from minigrad.runtime.dispatch import number
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import derives

# ---- row functions: scalar functions in a `RowFn` --------------------------------------------------------------------


@scalar
def deviation(x, middle):
    """Return the squared deviation of an element from the mean of its row."""
    d = x - middle
    return d * d


LONG = 2**19  # rows of this length are computed by several ops, because one float32 sum would lose digits
MEAN = formula("mean(total, n)", "total / n")
INVERSE_ROOT = formula("inverse_root(total, n, eps)", "1 / math.sqrt(total / n + eps)")
MIDDLE = Total("middle", "sum", formula("itself(x)", "x"), MEAN)
SCALE = Total("scale", "sum", deviation, INVERSE_ROOT)
MEAN_GRADIENT = Total("mean_gradient", "sum", formula("weighted(g, weight)", "g * weight"), MEAN)
ALONG = formula("weighted_deviation(g, x, weight, middle)", "g * weight * (x - middle)")
LAYER_NORM = RowFn(
    "layer_norm", ("x", "weight", "bias"), (MIDDLE, SCALE),
    formula("layer_norm(x, weight, bias, middle, scale)", "(x - middle) * scale * weight + bias"),
)  # fmt: skip
LAYER_NORM_BACKWARD = RowFn(
    "layer_norm_backward", ("g", "x", "weight"), (MIDDLE, MEAN_GRADIENT, SCALE, Total("along", "sum", ALONG, MEAN)),
    formula(
        "layer_norm_back(g, x, weight, middle, mean_gradient, scale, along)",
        "scale * (g * weight - mean_gradient - (x - middle) * (scale * (scale * along)))",
    ),
    terms=(formula("weight_term(g, x, middle, scale)", "g * ((x - middle) * scale)"), formula("bias_term(g)", "g")),
)  # fmt: skip
ROOT = Total("scale", "sum", formula("square(x)", "x * x"), INVERSE_ROOT)
ALONG_X = formula("weighted_by_x(g, x, weight)", "g * weight * x")
RMS_NORM = RowFn("rms_norm", ("x", "weight"), (ROOT,), formula("rms_norm(x, weight, scale)", "x * scale * weight"))
RMS_NORM_BACKWARD = RowFn(
    "rms_norm_backward", ("g", "x", "weight"), (ROOT, Total("along", "sum", ALONG_X, MEAN)),
    formula("rms_norm_back(g, x, weight, scale, along)", "scale * (g * weight - x * (scale * (scale * along)))"),
    terms=(formula("rms_term(g, x, scale)", "g * (x * scale)"),),
)  # fmt: skip


# ---- batches: all samples share weight and bias; each sample has separate sums over its rows -------------------------


def _beside(line: Tensor, flag: bool, x: Tensor, size: int) -> Tensor:
    """Return a weight or bias, with the batch if it has one, reshaped to broadcast with a batch x of rows."""
    return ranked(line, flag, x.ndim - 1, size)


def _neutral(x: Tensor, count: int) -> list[Tensor]:
    """Return a weight of ones for the rows of x, and for the count 2 also a bias of zeros."""
    return [expand(number(value, x.dtype, x.device), shape=x.shape[-1:]) for value in (1.0, 0.0)[:count]]


def _batch(normalized: Any, x: Tensor, lines: Sequence[Tensor], eps: float, size: int, flags: Flags) -> Tensor:
    """Return the normalized rows of a batch; lines: the weight, and the bias of layer_norm."""
    x = stretched(x, flags[0], size)
    if not any(flags[1:]):
        return normalized(x, *lines, eps=eps)
    weight, *bias = [_beside(line, flag, x, size) for line, flag in zip(lines, flags[1:], strict=True)]
    y = normalized(x, *_neutral(x, len(lines)), eps=eps) * weight
    return y + bias[0] if bias else y


def _back_batch(name: str, g: Tensor, x: Tensor, weight: Tensor, eps: float, size: int, flags: Flags) -> Tensor:
    """Return the gradient of the rows of a batch."""
    g, x = stretched(g, flags[0], size), stretched(x, flags[1], size)
    back: Any = schema[f"{name}_backward"].public
    if flags[2]:  # weight appears only as a factor of g
        return back(g * _beside(weight, True, x, size), x, *_neutral(x, 1), eps=eps).to(g.dtype)
    return back(g, x, weight, eps=eps)


def _sums_batch(normalized: Any, lines: int, g: Tensor, x: Tensor, eps: float) -> tuple[Tensor, ...]:
    """Return the gradients of the weight, and for 2 lines also of the bias, for each sample of a batch."""
    terms = (g * normalized(x, *_neutral(x, lines), eps=eps), g)[:lines]
    return tuple([sum(term, tuple(range(1, x.ndim - 1))) if x.ndim > 2 else term for term in terms])


def _gradients_batch(
    name: str, normalized: Any, lines: int, g: Tensor, x: Tensor, weight: Tensor, eps: float, size: int, flags: Flags
) -> tuple[Tensor, ...]:
    """Return the gradients of the rows of a batch, of the weight and of the bias."""
    sums = _sums_batch(normalized, lines, stretched(g, flags[0], size), stretched(x, flags[1], size), eps)
    return _back_batch(name, g, x, weight, eps, size, flags), *sums


# ---- the ops --------------------------------------------------------------------------------------------------------


def _tangent(name: str, dx: Tensor, x: Tensor, eps: float, centred: bool) -> Tensor:
    """Return the tangent of the normalized rows, before the multiplication by the weight.

    The Jacobian is symmetric, so the backward kernel computes it.  If the tangent itself may be differentiated, tensor
    code computes it.
    """
    recorded = is_grad_enabled()
    if not derives(dx, recorded) and not derives(x, recorded):
        return schema[f"{name}_backward"].public(dx, x, *_neutral(x, 1), eps=eps)  # type: ignore[misc]
    dx, x = wide(dx), wide(x)
    if centred:
        dx, x = dx - mean(dx, -1, keepdim=True), x - mean(x, -1, keepdim=True)
    scale = (mean(x * x, -1, keepdim=True) + eps).rsqrt()
    unit = x * scale
    return scale * (dx - unit * mean(unit * dx, -1, keepdim=True))


@rows(
    LAYER_NORM, backward=LAYER_NORM_BACKWARD, name="layer_norm", namespace=(), out=False,
    linear=joint("weight", "bias"),
    jvp=lambda dx, x, weight, *, eps: _tangent("layer_norm", dx, x, eps, True) * weight,
    batch=lambda x, weight, bias, *, eps, batch, flags: _batch(layer_norm_rows, x, (weight, bias), eps, batch, flags),
    batches={
        "backward": lambda g, x, weight, *, eps, batch, flags: _back_batch(
            "layer_norm", g, x, weight, eps, batch, flags),
        "sums": lambda g, x, *, eps: _sums_batch(layer_norm_rows, 2, g, x, eps),
        "gradients": lambda g, x, weight, *, eps, batch, flags: _gradients_batch(
            "layer_norm", layer_norm_rows, 2, g, x, weight, eps, batch, flags),
    },
)  # fmt: skip
def layer_norm_rows(x, weight, bias, *, eps):
    """Return (x - mean)/sqrt(variance + eps)*weight + bias, with the statistics of each row along the last dim."""
    deviation = x - mean(x, -1, keepdim=True)
    return deviation * (mean(deviation * deviation, -1, keepdim=True) + eps).rsqrt() * weight + bias


@rows(
    RMS_NORM, backward=RMS_NORM_BACKWARD, name="rms_norm", namespace=(), out=False, linear=joint("weight"),
    jvp=lambda dx, x, weight, *, eps: _tangent("rms_norm", dx, x, eps, False) * weight,
    batch=lambda x, weight, *, eps, batch, flags: _batch(rms_norm_rows, x, (weight,), eps, batch, flags),
    batches={
        "backward": lambda g, x, weight, *, eps, batch, flags: _back_batch("rms_norm", g, x, weight, eps, batch, flags),
        "sums": lambda g, x, *, eps: _sums_batch(rms_norm_rows, 1, g, x, eps)[0],
        "gradients": lambda g, x, weight, *, eps, batch, flags: _gradients_batch(
            "rms_norm", rms_norm_rows, 1, g, x, weight, eps, batch, flags),
    },
)  # fmt: skip
def rms_norm_rows(x, weight, *, eps):
    """Return x/sqrt(mean square + eps)*weight, with the mean square of each row along the last dim."""
    return x * (mean(x * x, -1, keepdim=True) + eps).rsqrt() * weight


def _flat_rows(name: str, x: Tensor, normalized_shape: Sequence[int] | int, **params: Tensor | None) -> Tensor:
    """Run the checks that both normalizations share, and return x with the normalized dims merged into one."""
    (Inexact if name == "rms_norm" else Floating).expect(name, input=x, **params)
    sizes = normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
    shape = as_shape(tuple(sizes), name)
    if not shape or x.shape[x.ndim - len(shape) :] != shape or len(shape) > x.ndim:
        raise ShapeError(
            f"{name}: the last dims of the input must be normalized_shape {shape}, got {describe(x)}; pass the sizes "
            "of these dims as normalized_shape"
        )
    expect_shape(name, shape, "the normalized_shape of", x, **params)
    return x if len(shape) == 1 else x.reshape(*x.shape[: x.ndim - len(shape)], math.prod(shape))


def _line(p: Tensor | None, default: float, kind: Tensor, x: Tensor) -> Tensor:
    """Return a parameter as a vector for the rows of x; for None, return a view that repeats the default."""
    n = x.shape[-1]
    if p is None:
        return expand(number(default, kind.dtype, kind.device), shape=(n,))
    return p if p.ndim == 1 else p.reshape(n)


def long_rows(x: Tensor, eps: float, centred: bool = True) -> Tensor:
    """Return normalized rows, computed by several ops, whose sums lose no digits in long rows."""
    x = wide(x)
    x = x - mean(x, -1, keepdim=True) if centred else x
    return x * (mean(x * x, -1, keepdim=True) + eps).rsqrt()


def like_input(result: Tensor, input: Tensor) -> Tensor:
    """Return a result in the shape and the dtype of the input; wider parameters do not widen it."""
    result = result if result.dtype is input.dtype else result.to(input.dtype)
    return result if result.layout.shape == input.layout.shape else result.reshape(input.shape)


@composed(of=layer_norm_rows)
def layer_norm(
    input: Tensor, normalized_shape: Sequence[int] | int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Return (input - mean)/sqrt(variance + eps)*weight + bias, with the statistics over the last dims.

    The statistics are taken over the dims of `normalized_shape`.  The divisor of the variance is the number of
    elements.  float16 and bfloat16 are computed in float32.  The result has the dtype of input.
    Gradient: with s = 1/sqrt(variance + eps) and u = (input - mean)*s, it is s*(weight*g - mean(weight*g) -
    u*mean(weight*g*u)) for input, the sum of g*u over all rows for weight, and the sum of g over all rows for bias.
    """
    x = _flat_rows("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    expect_numbers("layer_norm", eps=eps)
    kind = next((p for p in (weight, bias) if p is not None), x)
    lines = _line(weight, 1.0, kind, x), _line(bias, 0.0, kind, x)
    if x.shape[-1] >= LONG:
        return like_input(long_rows(x, eps) * lines[0] + lines[1], input)
    return like_input(layer_norm_rows(x, *lines, eps=float(eps)), input)


@composed(of=rms_norm_rows)
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int] | int, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Return input/sqrt(mean square + eps)*weight, with the mean square over the dims of `normalized_shape`.

    float16 and bfloat16 are computed in float32.  The squares of complex numbers are x*x, as in PyTorch.

    eps: the number that is added to the mean square. None stands for the machine epsilon of the dtype of the
    computation, the distance from 1 to the next number.
    """
    x = _flat_rows("rms_norm", input, normalized_shape, weight=weight)
    expect_numbers("rms_norm", eps=0.0 if eps is None else eps)
    step = finfo(as_dtype(x.dtype.compute)).eps if eps is None else float(eps)
    line = _line(weight, 1.0, x, x)
    if x.shape[-1] >= LONG or x.dtype.is_complex or line.dtype.is_complex:
        return like_input(long_rows(x, step, centred=False) * line, input)
    return like_input(rms_norm_rows(x, line, eps=step), input)
