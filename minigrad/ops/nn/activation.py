"""Activation functions of networks.  Integers give the default float, except relu, which keeps its dtype."""

from __future__ import annotations

import math
from typing import Any

from minigrad.declare.decorators import elementwise, scalar
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.rules import number, to_float
from minigrad.errors import ArgumentError
from minigrad.ops.creation import zeros_like
from minigrad.runtime.tensor import describe, expect_tensors

SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
FLAT = 1e4  # for squares of this size and above, tanh is 1 or -1 in float64 too


@scalar
def logistic(x):
    """1/(1+exp(-x)), computed from exp(-|x|) so that nothing overflows."""
    return math.logistic(x)  # type: ignore[attr-defined]


@elementwise(namespace=MG, dtype=number, vjp=(lambda g, y: (y > 0.0).where_cond(g, 0.0),))
def relu(x):
    """x above 0, else 0; nan stays nan.  Gradient: g where x > 0, 0 at 0 and below."""
    return x if x > 0 or x != x else 0


@elementwise(namespace=MG, dtype=number, vjp=(lambda g, y: (y < 6.0).where_cond((y > 0.0).where_cond(g, 0.0), 0.0),))
def relu6(x):
    """relu, not above 6; nan stays nan.  Gradient: g where 0 < x < 6, 0 elsewhere and at both ends."""
    return 6 if x >= 6 else x if x > 0 or x != x else 0


def in_its_memory(function: Any, input: Any, parameter: Any, inplace: Any, out: Any) -> Any:
    """A call with `inplace=`, as another function of PyTorch has it: by the in-place form, if it is true."""
    if not inplace:
        return function(input, parameter, out=out)
    if out is not None and out is not input:
        raise ArgumentError(f"{function.__name__}: inplace=True writes into input, and out is another tensor",
            op=function.__name__)  # fmt: skip
    expect_tensors(function.__name__, input)
    return getattr(input, f"{function.__name__}_")(parameter)


@elementwise(
    dtype=to_float,
    vjp="derived",
    namespace=(MG, FUNCTIONAL),
    front="inplace=False",
    otherwise=lambda input, negative_slope, inplace, out: in_its_memory(
        leaky_relu, input, negative_slope, inplace, out
    ),
)
def leaky_relu(input, negative_slope=0.01):
    """input above 0, else negative_slope * input.  inplace: in the memory of input, which is returned.

    Gradient: g above 0, g*negative_slope at 0 and below.
    """
    return input if input > 0 else negative_slope * input


@elementwise(
    dtype=to_float,
    vjp=(
        lambda g, input, alpha: g * (input > 0.0).where_cond(1.0, alpha * input.minimum(0.0).exp()),
        lambda g, input: g * input.minimum(0.0).expm1(),
    ),
    namespace=(MG, FUNCTIONAL),
    front="inplace=False",
    otherwise=lambda input, alpha, inplace, out: in_its_memory(elu, input, alpha, inplace, out),
)
def elu(input, alpha=1.0):
    """input above 0, else alpha * (exp(input) - 1).  inplace: in the memory of input, which is returned.

    Gradient: g above 0, else g*alpha*exp(input); alpha at 0.
    """
    return input if input > 0 else alpha * math.expm1(input)


@elementwise(dtype=to_float, namespace=(MG, FUNCTIONAL), vjp=(lambda g, y: g * y * (1.0 - y),))
def sigmoid(x):
    """1/(1 + exp(-x)), without overflow.  Gradient: g*y*(1-y)."""
    return logistic(x)


@elementwise(namespace=MG, dtype=to_float, vjp=(lambda g, x: g * (-x).sigmoid(),))
def log_sigmoid(x):
    """log(sigmoid(x)), without overflow.  Gradient: g*sigmoid(-x)."""
    return (x if x < 0 else 0) - math.log1p(math.exp(-math.fabs(x)))


@elementwise(namespace=MG, dtype=to_float, vjp="derived")
def silu(x):
    """x*sigmoid(x).  Gradient: g*s*(1 + x*(1-s)) with s = sigmoid(x)."""
    return x * logistic(x)


@elementwise(
    dtype=to_float,
    vjp=(
        lambda g, input, beta, threshold: (input * beta > threshold).where_cond(g, g * (input * beta).sigmoid()),
        lambda g, input, beta, threshold, y: (input * beta > threshold).where_cond(
            0.0, g * (input * (input * beta).sigmoid() - y) / beta
        ),
        lambda g: zeros_like(g),
    ),
    namespace=(MG, FUNCTIONAL),
)
def softplus(input, beta=1.0, threshold=20.0):
    """log(1 + exp(beta*input))/beta, without overflow; input itself where beta*input > threshold.

    Gradient: g*sigmoid(beta*input) for input, and g itself where beta*input > threshold; 0 for the threshold.
    """
    t = beta * input
    return input if t > threshold else ((t if t > 0 else 0) + math.log1p(math.exp(-math.fabs(t)))) / beta


@elementwise(
    dtype=to_float,
    vjp="derived",
    namespace=(MG, FUNCTIONAL),
    front="approximate='none'",
    otherwise=lambda input, approximate, out: approximate_gelu(input, approximate, out),
)
def gelu(input):
    """input times its normal distribution function, to some ulp also where it is tiny; approximate="tanh": `gelu_tanh`.

    Gradient: g*(Phi(x) + x*phi(x)).  Source: Hendrycks and Gimpel, arXiv 1606.08415.
    """
    return input * math.normal_cdf(input)  # type: ignore[attr-defined]


def approximate_gelu(input, approximate, out):
    """gelu in one of two forms.  Raises ArgumentError for another."""
    if approximate not in ("none", "tanh"):
        raise ArgumentError(
            f"gelu: approximate of {describe(input)} must be 'none' or 'tanh', got {approximate!r}", op="gelu"
        )
    return gelu(input, out=out) if approximate == "none" else gelu_tanh(input, out=out)


@elementwise(
    dtype=to_float, vjp="derived", front="inplace=False",
    otherwise=lambda input, inplace, out: hardswish(input, out=input),
)  # fmt: skip
def hardswish(input):
    """input * relu6(input + 3) / 6.  Gradient: g*(input/3 + 1/2) inside of (-3, 3), 0 from -3 down, g from 3 up."""
    return 0 if input <= -3 else input if input >= 3 else input * (input + 3) / 6


@elementwise(dtype=to_float, namespace=(), method=False, vjp=(lambda g, x: g * gelu_tanh_derivative(x),))
def gelu_tanh(x):
    """The tanh approximation of gelu.  Source: Hendrycks and Gimpel, arXiv 1606.08415, section 2."""
    return 0.5 * x * (1 + math.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def gelu_tanh_derivative(x):
    """The derivative of gelu_tanh."""
    square = (x * x).minimum(FLAT)  # beyond, t is 1 or -1, and 0 times an infinite square would be nan
    t = (SQRT_2_OVER_PI * x * (square * 0.044715 + 1.0)).tanh()
    inner = SQRT_2_OVER_PI * (square * (3 * 0.044715) + 1.0)
    return (t + 1.0) * 0.5 + x * (1.0 - t * t) * inner * 0.5
