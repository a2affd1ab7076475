"""Activation functions.  Integers become the default float, except in relu and relu6, which return the same dtype."""

from __future__ import annotations

import math
from typing import Any

from minigrad.core.dtype import float32
from minigrad.core.roles import Choice, Flag, Scalar
from minigrad.declare.decorators import composed, elementwise, scalar
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.rules import number, to_float
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.creation import zeros_like
from minigrad.ops.random import rand
from minigrad.runtime.tensor import Tensor, describe

SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
SELU_SCALE, SELU_ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
FLAT = 1e4  # for larger squares, tanh is 1 or -1 also in float64, and exp(-FLAT) is 0


@scalar
def logistic(x):
    """Return 1/(1 + exp(-x)), computed from exp(-|x|), which does not overflow."""
    return math.logistic(x)  # type: ignore[attr-defined]


@elementwise(namespace=MG, dtype=number, vjp=(lambda g, y: (y > 0.0).where_cond(g, 0.0),))
def relu(x):
    """Return x where x > 0, otherwise 0; nan stays nan.  Gradient: g where x > 0, and 0 where x <= 0."""
    return x if x > 0 or x != x else 0


@elementwise(namespace=MG, dtype=number, vjp=(lambda g, y: (y < 6.0).where_cond((y > 0.0).where_cond(g, 0.0), 0.0),))
def relu6(x):
    """Return min(max(x, 0), 6); nan stays nan.  Gradient: g where 0 < x < 6, and 0 elsewhere, also at 0 and 6."""
    return 6 if x >= 6 else x if x > 0 or x != x else 0


@elementwise(
    dtype=to_float,
    vjp="derived",
    namespace=(MG, FUNCTIONAL),
    inplace=True,
)
def leaky_relu(input, negative_slope=0.01):
    """Return input where it is positive, otherwise negative_slope * input.

    inplace: whether to write the result into the input, which is then returned.
    Gradient: g where input > 0, and g*negative_slope where input <= 0.
    """
    return input if input > 0 else negative_slope * input


@elementwise(
    dtype=to_float,
    vjp=(
        lambda g, input, alpha: g * (input > 0.0).where_cond(1.0, alpha * input.minimum(0.0).exp()),
        lambda g, input: g * input.minimum(0.0).expm1(),
    ),
    namespace=(MG, FUNCTIONAL),
    inplace=True,
)
def elu(input, alpha=1.0):
    """Return input where it is positive, otherwise alpha * (exp(input) - 1).

    inplace: whether to write the result into the input, which is then returned.
    Gradient: g where input > 0, and g*alpha*exp(input) where input <= 0.
    """
    return input if input > 0 else alpha * math.expm1(input)


def fading(input, alpha):
    """Return input/alpha where input < 0, otherwise 0; the result is clamped to -FLAT, whose exponential is 0."""
    return -((-input).relu() / alpha).minimum(FLAT)


@elementwise(
    dtype=to_float,
    vjp=(
        lambda g, input, alpha: g * (input <= 0.0).where_cond(fading(input, alpha).exp(), 1.0),
        lambda g, input, alpha: g * (fading(input, alpha).expm1() - fading(input, alpha) * fading(input, alpha).exp()),
    ),
    namespace=(MG, FUNCTIONAL),
    inplace=True,
)
def celu(input, alpha=1.0):
    """Return input where it is positive, otherwise alpha * (exp(input/alpha) - 1).

    inplace: whether to write the result into the input, which is then returned.
    Gradient: g where input >= 0, and g*exp(input/alpha) where input < 0.  Source: Barron, arXiv 1704.07483.
    """
    return input if input > 0 else alpha * math.expm1(input / alpha)


@elementwise(
    dtype=to_float,
    vjp=(lambda g, x: g * SELU_SCALE * (x <= 0.0).where_cond(SELU_ALPHA * (-(-x).relu()).exp(), 1.0),),
    namespace=(MG, FUNCTIONAL),
    inplace=True,
)
def selu(x):
    """Return 1.0507 * x where x > 0, otherwise 1.7581 * (exp(x) - 1).

    With these factors, activations stay near mean 0 and variance 1.
    Gradient: g*1.0507 where x > 0, and g*1.7581*exp(x) where x <= 0.  Source: Klambauer and others, arXiv 1706.02515.
    """
    return 1.0507009873554804934193349852946 * (x if x > 0 else 1.6732632423543772848170429916717 * math.expm1(x))


@elementwise(dtype=to_float, vjp="derived", inplace=True)
def mish(x):
    """Return x * tanh(softplus(x)); for x >= 20, softplus(x) is computed as x, since tanh is 1 there in every dtype.

    Gradient: g*(t + x*(1 - t**2)*sigmoid(x)) with t = tanh(softplus(x)), which is 0.6*g at 0.
    Source: Misra, arXiv 1908.08681.
    """
    return x * math.tanh(math.log1p(math.exp(x)) if x < 20 else x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / (x.abs() + 1.0) / (x.abs() + 1.0),))
def softsign(x):
    """Return x / (1 + |x|), which is between -1 and 1.  Gradient: g / (1 + |x|)**2."""
    return x / (1 + math.fabs(x))


@composed(namespace=(MG, FUNCTIONAL), method=True)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return input where it is positive, otherwise weight * input.

    weight: a tensor of one element, or with one element per channel, the second dim of the input.
    Gradient: for input, g where input > 0, and g*weight where input <= 0; for weight, the sum of g*input over the
    elements with input <= 0.
    Raises ShapeError for a weight of another shape.
    """
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.ndim > 1 or weight.numel() not in (1, channels):
        raise ShapeError(
            f"prelu: weight must have 1 element, or {channels} for {describe(input)}, got {describe(weight)}; pass one "
            "weight, or one weight per channel",
            op="prelu")  # fmt: skip
    return leaky_relu(input, weight.reshape(-1, *[1] * (input.ndim - 2)) if weight.numel() > 1 else weight.reshape(()))


@composed()
def rrelu(
    input: Tensor, lower: Scalar = 1.0 / 8, upper: Scalar = 1.0 / 3, training: Flag = False, inplace: Flag = False
) -> Tensor:
    """Return input where it is positive, otherwise input times a factor.

    In training, the factor is a random value in [lower, upper) for each element; otherwise it is (lower + upper) / 2.
    inplace: whether to write the result into the input, which is then returned.
    Gradient: g where input > 0, and g times the factor where input <= 0.
    Source: Xu and others, arXiv 1505.00853.  Raises ArgumentError unless lower <= upper.
    """
    if not lower <= upper:
        raise ArgumentError(f"rrelu: lower must be at most upper, got {lower} and {upper}; swap the two", op="rrelu")
    factor: Any = (lower + upper) / 2
    if training and input.numel():
        factor = cast(rand(input.shape, dtype=float32, device=input.device) * (upper - lower) + lower,
                      dtype=input.dtype)  # fmt: skip
    return input.leaky_relu_(factor) if inplace else leaky_relu(input, factor)


@elementwise(dtype=to_float, namespace=(MG, FUNCTIONAL), vjp=(lambda g, y: g * y * (1.0 - y),))
def sigmoid(x):
    """Return 1/(1 + exp(-x)), without overflow.  Gradient: g*y*(1 - y) with the result y."""
    return logistic(x)


@elementwise(namespace=MG, dtype=to_float, vjp=(lambda g, x: g * (-x).sigmoid(),))
def log_sigmoid(x):
    """Return log(sigmoid(x)), without overflow.  Gradient: g*sigmoid(-x)."""
    return (x if x < 0 else 0) - math.log1p(math.exp(-math.fabs(x)))


@elementwise(namespace=MG, dtype=to_float, vjp="derived")
def silu(x):
    """Return x*sigmoid(x).  Gradient: g*s*(1 + x*(1-s)) with s = sigmoid(x)."""
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
    """Return log(1 + exp(beta*input))/beta, without overflow; the input itself where beta*input > threshold.

    Gradient: with the result y and s = sigmoid(beta*input), it is g*s for input, g*(input*s - y)/beta for beta, and 0
    for threshold. Where beta*input > threshold, it is g for input, and 0 for beta.
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
    """Return input * Phi(input), with the distribution function Phi of the standard normal distribution.

    approximate: "none" for this function, or "tanh" for its approximation by tanh.
    Gradient: g*(Phi(x) + x*phi(x)) with the normal density phi.  Results near 0 have an error of a few ulp.
    Source: Hendrycks and Gimpel, arXiv 1606.08415.
    """
    return input * math.normal_cdf(input)  # type: ignore[attr-defined]


def approximate_gelu(input, approximate, out):
    """Return gelu for approximate="none", or gelu_tanh for "tanh".  Raises ArgumentError for any other value."""
    Choice("none", "tanh", advice="pass approximate='tanh', for example").expect("gelu", input, approximate=approximate)
    return gelu(input, out=out) if approximate == "none" else gelu_tanh(input, out=out)


@elementwise(dtype=to_float, namespace=(), vjp=(lambda g, x: g * gelu_tanh_derivative(x),))
def gelu_tanh(x):
    """Return the tanh approximation of gelu.  Source: Hendrycks and Gimpel, arXiv 1606.08415, section 2."""
    return 0.5 * x * (1 + math.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def gelu_tanh_derivative(x):
    """Return the derivative of gelu_tanh."""
    square = (x * x).minimum(FLAT)  # beyond FLAT, t is 1 or -1, and 0 times an infinite square would be nan
    t = (SQRT_2_OVER_PI * x * (square * 0.044715 + 1.0)).tanh()
    inner = SQRT_2_OVER_PI * (square * (3 * 0.044715) + 1.0)
    return (t + 1.0) * 0.5 + x * (1.0 - t * t) * inner * 0.5
