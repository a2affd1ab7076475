"""Activation functions of networks.  Integers give the default float, except relu, which keeps its dtype."""

from __future__ import annotations

import math

from minigrad.ops.creation import zeros_like
from minigrad.ops.declare import elementwise, scalar
from minigrad.ops.rules import number, to_float

SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
FLAT = 1e4  # for squares of this size and above, tanh is 1 or -1 in float64 too


@scalar
def logistic(x):
    """1/(1+exp(-x)), computed from exp(-|x|) so that nothing overflows."""
    return math.logistic(x)  # type: ignore[attr-defined]


@elementwise(dtype=number, vjp=(lambda g, y: (y > 0.0).where_cond(g, 0.0),))
def relu(x):
    """x above 0, else 0; nan stays nan.  Gradient: g where x > 0, 0 at 0 and below."""
    return x if x > 0 or x != x else 0


@elementwise(dtype=number, vjp=(lambda g, y: (y < 6.0).where_cond((y > 0.0).where_cond(g, 0.0), 0.0),))
def relu6(x):
    """relu, not above 6; nan stays nan.  Gradient: g where 0 < x < 6, 0 elsewhere and at both ends."""
    return 6 if x >= 6 else x if x > 0 or x != x else 0


@elementwise(dtype=to_float, vjp=(lambda g, x, slope: (x > 0.0).where_cond(g, g * slope),
                                  lambda g, x: g * x.minimum(0.0)))  # fmt: skip
def leaky_relu_with(x, slope):
    """x above 0, else slope*x.  Gradient: g above 0, g*slope at 0 and below."""
    return x if x > 0 else slope * x


@elementwise(dtype=to_float, vjp=(lambda g, x, alpha: g * (x > 0.0).where_cond(1.0, alpha * x.minimum(0.0).exp()),
                                  lambda g, x: g * x.minimum(0.0).expm1()))  # fmt: skip
def elu_with(x, alpha):
    """x above 0, else alpha*(exp(x) - 1).  Gradient: g above 0, else g*alpha*exp(x); alpha at 0."""
    return x if x > 0 else alpha * math.expm1(x)


@elementwise(dtype=to_float, vjp=(lambda g, y: g * y * (1.0 - y),))
def sigmoid(x):
    """1/(1 + exp(-x)), without overflow.  Gradient: g*y*(1-y)."""
    return logistic(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g * (-x).sigmoid(),))
def log_sigmoid(x):
    """log(sigmoid(x)), without overflow.  Gradient: g*sigmoid(-x)."""
    return (x if x < 0 else 0) - math.log1p(math.exp(-math.fabs(x)))


@elementwise(dtype=to_float, vjp=(lambda g, x: silu_rule(g, x),))
def silu(x):
    """x*sigmoid(x).  Gradient: g*s*(1 + x*(1-s)) with s = sigmoid(x)."""
    return x * logistic(x)


def silu_rule(g, x):
    """The gradient of silu."""
    s = x.sigmoid()
    return g * s * (x * (1.0 - s) + 1.0)


@elementwise(dtype=to_float, vjp=(
    lambda g, x, beta, threshold: (x * beta > threshold).where_cond(g, g * (x * beta).sigmoid()),
    lambda g, x, beta, threshold, y: (x * beta > threshold).where_cond(0.0, g * (x * (x * beta).sigmoid() - y) / beta),
    lambda g: zeros_like(g)))  # fmt: skip
def softplus_with(x, beta, threshold):
    """log(1 + exp(beta*x))/beta, without overflow; x itself where beta*x > threshold.

    Gradient: g*sigmoid(beta*x) for x, and g itself where beta*x > threshold; 0 for the threshold.
    """
    t = beta * x
    return x if t > threshold else ((t if t > 0 else 0) + math.log1p(math.exp(-math.fabs(t)))) / beta


@elementwise(dtype=to_float, vjp=(lambda g, x: g * gelu_slope(x),))
def gelu_exact(x):
    """x times the normal distribution function of x, to some ulp also where it is tiny.

    Gradient: g*(Phi(x) + x*phi(x)).  Source: Hendrycks and Gimpel, arXiv 1606.08415.
    """
    return x * math.normal_cdf(x)  # type: ignore[attr-defined]


def gelu_slope(x):
    """Phi(x) + x*phi(x)."""
    density = (x * x * -0.5).exp() * (1.0 / math.sqrt(2.0 * math.pi))
    return x.ndtr() + x * density


@elementwise(dtype=to_float, vjp=(lambda g, x: g * gelu_tanh_slope(x),))
def gelu_tanh(x):
    """The tanh approximation of gelu.  Source: Hendrycks and Gimpel, arXiv 1606.08415, section 2."""
    return 0.5 * x * (1 + math.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def gelu_tanh_slope(x):
    """The derivative of gelu_tanh."""
    square = (x * x).minimum(FLAT)  # beyond, t is 1 or -1, and 0 times an infinite square would be nan
    t = (SQRT_2_OVER_PI * x * (square * 0.044715 + 1.0)).tanh()
    inner = SQRT_2_OVER_PI * (square * (3 * 0.044715) + 1.0)
    return (t + 1.0) * 0.5 + x * (1.0 - t * t) * inner * 0.5
