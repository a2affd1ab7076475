"""Exponentials, logarithms, the error function, powers and roots, element by element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.dtype import complex128, float64
from minigrad.core.op import Op, Spec
from minigrad.declare.decorators import elementwise, scalar
from minigrad.declare.names import SPECIAL
from minigrad.declare.rules import Pair, common, number, to_float
from minigrad.errors import DTypeError
from minigrad.ops.pointwise.arithmetic import square
from minigrad.runtime.tensor import Tensor, describe

# ---- powers and roots ------------------------------------------------------------------------------------------------


@elementwise(dtype=to_float, vjp=(lambda g, y: -(g * y * y),))
def reciprocal(x):
    """Return the reciprocal 1/x; inf or -inf at 0.  Gradient: -g/x**2."""
    return 1 / x


@elementwise(dtype=to_float, vjp=(lambda g, x: g * -2.0 / (x * x * x),), namespace=(), method=False)
def inverse_square(x):
    """Return 1/x**2; inf at 0.  Gradient: -2*g/x**3, which is inf or -inf at 0, and 0 at infinities."""
    return 1 / (x * x)


@elementwise(dtype=to_float, vjp=(lambda g, y: g / (y * 2.0),))
def sqrt(x):
    """Return the square root of x; nan for x < 0.  Gradient: g/(2*sqrt(x)), which is inf at 0."""
    return math.sqrt(x)


@elementwise(dtype=to_float, vjp=(lambda g, x, y: g * y / (x * -2.0),))
def rsqrt(x):
    """Return 1/sqrt(x); inf at 0, and nan for x < 0.  Gradient: -g/(2*x*sqrt(x))."""
    return 1 / math.sqrt(x)


@elementwise(
    dtype=to_float,
    vjp=(
        lambda g, input, y: g * (input / (y == 0.0).where_cond(1.0, y)),
        lambda g, other, y: g * (other / (y == 0.0).where_cond(1.0, y)),
    ),
)
def hypot(input, other):
    """Return sqrt(input**2 + other**2), also where the squares would overflow; inf if an operand is infinite.

    Gradient: g*input/y for input and g*other/y for other, with the result y; 0 at the origin, and nan where both
    operands are infinite.
    """
    return math.hypot(input, other)


@elementwise(dtype=number, vjp=(lambda g, x: g * (x * x * 3.0),), namespace=(), label="pow")
def cube(x):
    """Return the cube of x, x*x*x.  Gradient: 3*g*x**2."""
    return x * x * x


# Ops that take a tenth of the time of a general power.  Their results can differ from a general power in the last bit.
# The roots of -0.0 and -inf differ too, as in PyTorch, and so do powers of -2 whose square overflows.
SHORT_POWERS = {
    2: square, 3: cube, 0.5: sqrt, -0.5: rsqrt, -1: reciprocal, -2: inverse_square
}  # fmt: skip


def power_by_number(input: Any, exponent: Any, out: Any) -> Any:
    """Return a float tensor to the power of a Python number in SHORT_POWERS; None for any other power.

    Raises DTypeError for an integer tensor to the power of a negative Python or NumPy integer, because the result would
    almost always be 0 as an integer.
    """
    if exponent.__class__ in (int, float) and isinstance(input, Tensor) and input.dtype.is_inexact:
        short = SHORT_POWERS.get(exponent)
        return None if short is None else short(input, out=out)
    below = (exponent.__class__ is int or isinstance(exponent, np.integer)) and exponent < 0
    if below and isinstance(input, Tensor) and not input.dtype.is_inexact:
        raise DTypeError(
            f"pow: an integer tensor cannot be raised to a negative integer power, got {describe(input)} and the "
            f"exponent {exponent}; convert input with .float(), or write {exponent}.0"
        )
    return None


@elementwise(
    dtype=number,
    by_number=power_by_number,
    vjp=(
        lambda g, input, exponent: pow_base_rule(g, input, exponent),
        lambda g, input, exponent, y: pow_exponent_rule(g, input, exponent, y),
    ),
)
def pow(input, exponent):
    """Return input**exponent, element by element; shapes broadcast.

    A negative base has a real power only for integer exponents, and otherwise the result is nan.  Integers stay
    integers and wrap.  For an integer base, a negative exponent in an integer tensor produces 0, except for the bases 1
    and -1.  For floats, the exponents 2, 3, 0.5, -0.5, -1 and -2 as Python numbers run the faster `square`, `sqrt`,
    `rsqrt`, `reciprocal` and x*x*x.
    Gradient: with the base a and the exponent b, g*b*a**(b-1) for a, which is 0 where b is 0, and g*a**b*log(a) for b,
    which is 0 where a is 0 and b >= 0, and nan where a < 0.
    Raises DTypeError for integers to the power of a negative Python or NumPy integer.
    """
    return input**exponent


def double(op: Op, specs: Sequence[Spec]) -> Pair:
    """Compute in float64 and return float64, or complex128 for complex operands."""
    dtype = complex128 if common(specs).is_complex else float64
    return dtype.compute, dtype


@elementwise(
    dtype=double,
    vjp=(
        lambda g, input, exponent: pow_base_rule(g, in_dtype_of(input, g), in_dtype_of(exponent, g)),
        lambda g, input, exponent, y: pow_exponent_rule(g, in_dtype_of(input, y), in_dtype_of(exponent, y), y),
    ),
)
def float_power(input, exponent):
    """Return input**exponent, computed and returned in float64, or in complex128.  Gradient: the same as for `pow`."""
    return input**exponent


def in_dtype_of(x, y):
    """Return an operand in the dtype of the result or of its gradient y; a symbol of a trace has no dtype."""
    return x.to(y.dtype) if isinstance(y, Tensor) else x


def pow_base_rule(g, input, exponent):
    """Return g*b*a**(b-1), the gradient for the base a; it is 0 at b = 0, where a**(b-1) may be infinite."""
    return (exponent == 0.0).where_cond(0.0, g * exponent * input ** (exponent == 0.0).where_cond(1.0, exponent - 1.0))


def pow_exponent_rule(g, input, exponent, y):
    """Return g*a**b*log(a), the gradient for the exponent b; at a = 0 it is 0 for b >= 0, the limit for b > 0."""
    upward = exponent.real if isinstance(exponent, Tensor) and exponent.dtype.is_complex else exponent
    flat = (input == 0.0) & (upward >= 0.0)
    base = flat.where_cond(1.0, input)
    if isinstance(y, Tensor) and y.dtype.is_complex:  # a negative real base has a logarithm then
        base = base.to(y.dtype)
    return flat.where_cond(0.0, g * y * base.log())


# ---- exponentials, logarithms and the error function -----------------------------------------------------------------


LN2 = math.log(2.0)
LN10 = math.log(10.0)


@elementwise(dtype=to_float, vjp=(lambda g, y: g * y,))
def exp(x):
    """Return e**x; exp(-inf) is 0, and exp(inf) is inf.  Gradient: g*exp(x)."""
    return math.exp(x)


@elementwise(dtype=to_float, vjp=(lambda g, y: g * y * LN2,))
def exp2(x):
    """Return 2**x.  Gradient: g*2**x*ln(2)."""
    return math.exp2(x)


@elementwise(dtype=to_float, vjp=(lambda g, y: g * (y + 1.0),))
def expm1(x):
    """Return exp(x) - 1 without cancellation near 0.  Gradient: g*exp(x)."""
    return math.expm1(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / x,))
def log(x):
    """Return the natural logarithm; -inf at 0, and nan for x < 0.  Gradient: g/x."""
    return math.log(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / (x * LN2),))
def log2(x):
    """Return the logarithm to base 2; -inf at 0, and nan for x < 0.  Gradient: g/(x*ln(2))."""
    return math.log2(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / (x * LN10),))
def log10(x):
    """Return the logarithm to base 10; -inf at 0, and nan for x < 0.  Gradient: g/(x*ln(10))."""
    return math.log10(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / (x + 1.0),))
def log1p(x):
    """Return log(1 + x) without cancellation near 0.  Gradient: g/(1+x)."""
    return math.log1p(x)


def logit_rule(g, x, y):
    """Return g/(x*(1-x)), and nan for x outside [0, 1], where y is nan as well."""
    inside = ((x >= 0.0) & (x <= 1.0)).where_cond(x, y)
    return g / (inside * (1.0 - inside))


@elementwise(
    dtype=to_float, vjp=(logit_rule,), front="eps=None",
    otherwise=lambda x, eps, out: logit(x if eps is None else Tensor.clamp(x, eps, 1.0 - eps), out=out),
)  # fmt: skip
def logit(x):
    """Return log(x/(1-x)), the inverse of sigmoid; nan for x outside [0, 1].

    eps: if it is a number, x is first clamped to [eps, 1 - eps].
    Gradient: g/(x*(1-x)), which is inf at 0 and 1. With eps, the gradient is 0 outside [eps, 1 - eps].
    """
    return math.log(x / (1 - x))


@scalar
def is_cut(x, y):
    """Return whether x is 0 and log(y) is infinite or nan, unless y itself is nan."""
    return x == 0 and (y <= 0 or y == math.inf)


@elementwise(dtype=to_float, vjp="derived")
def xlogy(input, other):
    """Return input*log(other); where input is 0, the result is 0 unless other is nan.

    Gradient: g*log(other) for input, but 0 where input is 0 and other is inf or <= 0; g*input/other for other.
    """
    return input * (0 if is_cut(input, other) else math.log(other))


@elementwise(dtype=to_float, namespace=SPECIAL, vjp="derived")
def xlog1py(input, other):
    """Return input*log(1 + other); where input is 0, the result is 0 unless other is nan.

    Gradient: g*log(1 + other) for input, but 0 where input is 0 and other is inf or <= -1; g*input/(1 + other) for
    other.
    """
    return input * (0 if is_cut(input, 1 + other) else math.log1p(other))


@elementwise(dtype=to_float, namespace=SPECIAL, vjp=(lambda g, x: g * (-1.0 - x.log()),))
def entr(x):
    """Return -x*log(x); 0 at 0, and -inf for x < 0.  Gradient: g*(-1 - log(x)); inf at 0, and nan for x < 0."""
    return -x * math.log(x) if x > 0 else 0 if x == 0 else -math.inf if x < 0 else x


@elementwise(dtype=to_float, vjp=(lambda g, x: g * (-(x * x)).exp() * (2.0 / math.sqrt(math.pi)),))
def erf(x):
    """Return the error function of x.  Gradient: g*2/sqrt(pi)*exp(-x**2)."""
    return math.erf(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g * (-(x * x)).exp() * (-2.0 / math.sqrt(math.pi)),))
def erfc(x):
    """Return 1 - erf(x) without cancellation for large x.  Gradient: -g*2/sqrt(pi)*exp(-x**2)."""
    return math.erfc(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g * (x * x * -0.5).exp() * (1.0 / math.sqrt(2.0 * math.pi)),))
def ndtr(x):
    """Return the cumulative distribution function of the standard normal distribution.

    The relative accuracy is full also far below 0.  Gradient: g*exp(-x**2/2)/sqrt(2*pi).
    """
    return math.normal_cdf(x)  # type: ignore[attr-defined]


@scalar
def log_of_two(a, b):
    """Return log(exp(a) + exp(b)), from the operand with the larger real part; of two infinities, the first."""
    first = a.real >= b.real or a != a
    top = a if first else b
    rest = b if first else a
    return top if a.real == b.real and top.real - top.real != 0 else top + math.log1p(math.exp(rest - top))


@elementwise(
    dtype=to_float,
    vjp=(lambda g, input, other: g * (input - other).sigmoid(), lambda g, input, other: g * (other - input).sigmoid()),
)
def logaddexp(input, other):
    """Return log(exp(input) + exp(other)) without overflow.

    Gradient: g*sigmoid(input - other) for input and g*sigmoid(other - input) for other.
    """
    return log_of_two(input, other)


@elementwise(dtype=to_float, vjp=(lambda g, input, other: g * share_of_power(input, other),
                                  lambda g, input, other: g * share_of_power(other, input)))  # fmt: skip
def logaddexp2(input, other):
    """Return log2(2**input + 2**other) without overflow.

    Gradient: g*2**(input - y) for input and g*2**(other - y) for other, with the result y.
    """
    top = input if input > other or input != input else other
    gap = -math.fabs(input - other)
    return top if input == other and input - input != 0 else top + math.log1p(math.exp2(gap)) * 1.4426950408889634


def share_of_power(x, other):
    """Return 2**x / (2**x + 2**other)."""
    return ((x - other) * 0.6931471805599453).sigmoid()
