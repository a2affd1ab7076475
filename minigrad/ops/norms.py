"""layer_norm and rms_norm: rows and the gradients of all operands in one reading of them.

What an op's body says is its definition; the kernels of `norm_rows.py` are what runs, and the higher orders of
derivative go through the definition.  The compiler may re-order the additions of a row's sums, alike for any number of
threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from minigrad.core.shape import as_shape
from minigrad.errors import DTypeError, ShapeError
from minigrad.ops.creation import expect_numbers
from minigrad.ops.norm_rows import LAYER_NORM, LAYER_NORM_SLOPE, RMS_NORM, RMS_NORM_SLOPE
from minigrad.ops.reduce import mean
from minigrad.ops.rows import rows
from minigrad.ops.rules import joint
from minigrad.ops.views import expand
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

STEPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}  # from 1 to the next


@rows(LAYER_NORM, slope=LAYER_NORM_SLOPE, linear=joint("weight", "bias"))
def layer_norm_with(x, weight, bias, *, eps):
    """Rows of the last dim, minus their mean, over their deviation, times a weight plus a bias."""
    deviation = x - mean(x, -1, keepdim=True)
    return deviation * (mean(deviation * deviation, -1, keepdim=True) + eps).rsqrt() * weight + bias


@rows(RMS_NORM, slope=RMS_NORM_SLOPE, linear=joint("weight"))
def rms_norm_with(x, weight, *, eps):
    """Rows of the last dim over the root of their mean square, times a weight."""
    return x * (mean(x * x, -1, keepdim=True) + eps).rsqrt() * weight


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
    result = layer_norm_with(x, _line(weight, 1.0, kind, x), _line(bias, 0.0, kind, x), eps=float(eps))
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
