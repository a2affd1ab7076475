"""Functions made of other ops: no kernel and no derivative of their own, so every order of derivative is there.

Also the public forms of ops that take Python parameters: bounds, slopes and exponents become operands.
"""

from __future__ import annotations

from typing import Any

from minigrad.core.shape import as_int, normalize_dim
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.activation import elu_with, gelu_exact, gelu_tanh, leaky_relu_with, softplus_with
from minigrad.ops.arithmetic import clamp_between, square
from minigrad.ops.joining import cat
from minigrad.ops.powers import pow as pow_
from minigrad.ops.powers import reciprocal, sqrt
from minigrad.ops.views import narrow
from minigrad.runtime.tensor import Tensor, describe, expect_tensors


def clamp(x: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """x, not below min and not above max; either may be None, a number or a tensor.

    Gradient: g inside and at the bounds, 0 outside.  Raises ArgumentError without any bound.
    """
    expect_tensors("clamp", x)
    if min is None and max is None:
        raise ArgumentError(f"clamp: {describe(x)} has no bound to keep; give min, max, or both", op="clamp")
    low = float("-inf") if min is None else min
    high = float("inf") if max is None else max
    if not x.dtype.is_float:
        low = x.dtype.lowest if min is None else min
        high = x.dtype.highest if max is None else max
    return clamp_between(x, low, high, out=out)


def leaky_relu(
    input: Tensor, negative_slope: float = 0.01, inplace: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """x above 0, else negative_slope * x.  inplace: in input's own memory, which is returned."""
    return leaky_relu_with(input, negative_slope, out=input if inplace else out)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """x above 0, else alpha * (exp(x) - 1).  inplace: in input's own memory, which is returned."""
    return elu_with(input, alpha, out=input if inplace else out)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Tensor | None = None) -> Tensor:
    """log(1 + exp(beta * x)) / beta, without overflow; x itself where beta * x > threshold."""
    return softplus_with(input, beta, threshold, out=out)


def gelu(input: Tensor, approximate: str = "none", *, out: Tensor | None = None) -> Tensor:
    """x times the normal distribution function of x; approximate="tanh" for the tanh form.

    Raises ArgumentError for another `approximate`.
    """
    if approximate not in ("none", "tanh"):
        raise ArgumentError(
            f"gelu: approximate of {describe(input)} must be 'none' or 'tanh', got {approximate!r}", op="gelu"
        )
    return gelu_exact(input, out=out) if approximate == "none" else gelu_tanh(input, out=out)


def power(x: Tensor, exponent: Any) -> Tensor:
    """x ** exponent, by the square, the root or the reciprocal where it is one.

    For the exponents 2, 0.5 and -1 of floats these cost a tenth of a true power and have the same values (but for the
    root of -0.0 and of -inf, as in PyTorch); else `pow`.
    """
    if exponent.__class__ in (int, float) and isinstance(x, Tensor) and x.dtype.is_float:
        short = SHORT_POWERS.get(exponent)
        if short is not None:
            return short(x)
    return pow_(x, exponent)


SHORT_POWERS = {2: square, 0.5: sqrt, -1: reciprocal}


def affine(x: Tensor, mul: float, add: float) -> Tensor:
    """x * mul + add."""
    return x * mul + add


def lerp(a: Tensor, b: Tensor, weight: Any) -> Tensor:
    """a + weight * (b - a)."""
    expect_tensors("lerp", a, b)
    return a + (b - a) * weight


def roll(x: Tensor, shifts: int, dims: int) -> Tensor:
    """x moved by `shifts` along a dim; what falls off one end comes in at the other."""
    expect_tensors("roll", x)
    d = normalize_dim(dims, x.ndim, "roll", x)
    n = x.shape[d]
    shift = as_int(shifts, "shifts", "roll")
    k = shift % n if n else 0
    if k == 0:
        return x
    return cat([narrow(x, dim=d, start=n - k, length=k), narrow(x, dim=d, start=0, length=n - k)], d)


def slice_scatter(x: Tensor, src: Tensor, dim: int = 0, start: int = 0) -> Tensor:
    """x with src in place of src.shape[dim] positions from `start` along `dim`; both are differentiated."""
    expect_tensors("slice_scatter", x, src)
    d = normalize_dim(dim, x.ndim, "slice_scatter", x)
    start = as_int(start, "start", "slice_scatter")
    length = src.shape[d] if src.ndim == x.ndim else -1
    if src.shape != (*x.shape[:d], length, *x.shape[d + 1 :]) or not 0 <= start <= x.shape[d] - length:
        raise ShapeError(
            f"slice_scatter: {describe(src)} does not fit into {describe(x)} at {start} along dim {d}; "
            f"the other dims must agree, and start + length <= {x.shape[d]} must hold",
            op="slice_scatter",
        )
    before = narrow(x, dim=d, start=0, length=start)
    after = narrow(x, dim=d, start=start + length, length=x.shape[d] - start - length)
    return cat([before, src, after], d)
