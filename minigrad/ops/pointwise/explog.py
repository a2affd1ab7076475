"""Exponentials, logarithms and the error function."""

from __future__ import annotations

import math

from minigrad.declare.decorators import elementwise, scalar
from minigrad.declare.names import SPECIAL
from minigrad.declare.rules import to_float
from minigrad.runtime.tensor import Tensor

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
    dtype=to_float,
    vjp=(logit_rule,),
    front="eps=None",
    otherwise=lambda x, eps, out: logit(x if eps is None else Tensor.clamp(x, eps, 1.0 - eps), out=out),
)
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


@elementwise(
    dtype=to_float,
    vjp=(lambda g, input, other: g * (input - other).sigmoid(), lambda g, input, other: g * (other - input).sigmoid()),
)
def logaddexp(input, other):
    """Return log(exp(input) + exp(other)) without overflow.

    Gradient: g*sigmoid(input - other) for input and g*sigmoid(other - input) for other.
    """
    top = input if input > other or input != input else other
    gap = -math.fabs(input - other)
    return top if input == other and input - input != 0 else top + math.log1p(math.exp(gap))


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
