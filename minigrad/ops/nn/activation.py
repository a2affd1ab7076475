"""Activation functions and gates.  Integers become the default float, except in relu, relu6 and threshold.

At a point without a derivative, the gradient is that of PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

from minigrad.backends.steps import Value
from minigrad.core.dtype import float32
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Choice, Dim, Flag, FlagOrNone, Number, Scalar
from minigrad.declare.decorators import composed, elementwise, kernel, scalar
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.rules import floating, joint, number, real_to_float, to_float
from minigrad.errors import ArgumentError, ShapeError, check
from minigrad.kernels.scalar import formula, scalar_of
from minigrad.ops.casting import cast
from minigrad.ops.creation import zeros_like
from minigrad.ops.random import rand
from minigrad.ops.shape.joining import cat
from minigrad.runtime.tensor import Tensor, describe

SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
SELU_SCALE, SELU_ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
FLAT = 1e4  # for larger squares, tanh is 1 or -1 also in float64, and exp(-FLAT) is 0


@scalar
def logistic(x):
    """Return 1/(1 + exp(-x)), computed from exp(-|x|), which does not overflow."""
    return math.logistic(x)  # type: ignore[attr-defined]


@elementwise(namespace=MG, dtype=number, vjp=(lambda g, y: (y <= 0.0).where_cond(0.0, g),))
def relu(x):
    """Return x where x > 0, otherwise 0; nan stays nan.  Gradient: g where x > 0 or nan, and 0 where x <= 0."""
    return x if x > 0 or x != x else 0


@elementwise(namespace=MG, dtype=number, vjp=(lambda g, y: ((y <= 0.0) | (y >= 6.0)).where_cond(0.0, g),))
def relu6(x):
    """Return min(max(x, 0), 6); nan stays nan.  Gradient: g where 0 < x < 6 or nan, and 0 elsewhere."""
    return 6 if x >= 6 else x if x > 0 or x != x else 0


@elementwise(dtype=to_float, vjp="derived", namespace=(MG, FUNCTIONAL), inplace=True)
def leaky_relu(input, negative_slope=0.01):
    """Return input where it is positive, otherwise negative_slope * input.

    Gradient: g where input > 0, and g*negative_slope where input <= 0.
    """
    return input if input > 0 else negative_slope * input


@elementwise(
    dtype=to_float,
    vjp=(
        lambda g, input, alpha: g * (input <= 0.0).where_cond(alpha * input.minimum(0.0).exp(), 1.0),
        lambda g, input: g * input.minimum(0.0).expm1(),
    ),
    namespace=(MG, FUNCTIONAL),
    inplace=True,
)
def elu(input, alpha=1.0):
    """Return input where it is positive, otherwise alpha * (exp(input) - 1).

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

    Gradient: g where input >= 0, and g*exp(input/alpha) where input < 0.  Source: Barron, arXiv 1704.07483.
    """
    return input if input > 0 else alpha * math.expm1(input / alpha)


@elementwise(
    dtype=to_float, vjp=(lambda g, x: g * SELU_SCALE * (x <= 0.0).where_cond(SELU_ALPHA * (-(-x).relu()).exp(), 1.0),),
    namespace=(MG, FUNCTIONAL), inplace=True,
)  # fmt: skip
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


@elementwise(
    dtype=real_to_float, vjp=(lambda g, x: g / (x.abs() + 1.0) / (x.abs() + 1.0),), namespace=(), method=False,
    name="softsign",
)  # fmt: skip
def real_softsign(x):
    """Return x / (1 + |x|) for real numbers.  Gradient: g / (1 + |x|)**2."""
    return x / (1 + math.fabs(x))


@composed(of=real_softsign)
def softsign(input: Tensor) -> Tensor:
    """Return x / (1 + |x|), whose magnitude is less than 1.  Gradient: g / (1 + |x|)**2 for real numbers."""
    return input / (input.abs() + 1.0) if input.dtype.is_complex else real_softsign(input)


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
            "weight, or one weight per channel"
        )
    return leaky_relu(input, weight.reshape(-1, *[1] * (input.ndim - 2)) if weight.numel() > 1 else weight.reshape(()))


@composed()
def rrelu(
    input: Tensor, lower: Scalar = 1.0 / 8, upper: Scalar = 1.0 / 3, training: Flag = False, inplace: FlagOrNone = False
) -> Tensor:
    """Return input where it is positive, otherwise input times a factor.

    In training, the factor is a random value in [lower, upper) for each element; otherwise it is (lower + upper) / 2.
    Gradient: g where input > 0, and g times the factor where input <= 0.
    Source: Xu and others, arXiv 1505.00853.  Raises ArgumentError unless lower <= upper.
    """
    if not lower <= upper:
        raise ArgumentError(f"rrelu: lower must be at most upper, got {lower} and {upper}; swap the two")
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
    dtype=to_float, vjp="derived", namespace=(MG, FUNCTIONAL), front="approximate='none'",
    otherwise=lambda input, approximate, out: approximate_gelu(input, approximate, out),
)  # fmt: skip
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


# ---- clamps, and functions that shrink values towards 0 ------------


@elementwise(dtype=to_float, vjp="derived", inplace=True)
def hardswish(input):
    """Return input * relu6(input + 3) / 6.

    Gradient: g*(input/3 + 1/2) where -3 < input < 3, 0 where input <= -3, and g where input >= 3.
    """
    return 0 if input <= -3 else input if input >= 3 else input * (input + 3) / 6


@elementwise(
    dtype=to_float, vjp=(lambda g, x: ((x > -3.0) & (x < 3.0)).where_cond(g / 6.0, 0.0),), inplace=True,
)  # fmt: skip
def hardsigmoid(x):
    """Return relu6(x + 3) / 6.  Gradient: g/6 where -3 < x < 3, and 0 elsewhere, also at -3 and 3."""
    return 0 if x <= -3 else 1 if x >= 3 else (x + 3) / 6


def expect_bounds(input, min_val, max_val, out):
    """Raise ArgumentError for a lower bound that is above the upper bound, if both are numbers."""
    numbers = not isinstance(min_val, Tensor) and not isinstance(max_val, Tensor)
    message = "hardtanh: min_val must be at most max_val, got ", min_val, " and ", max_val, "; exchange them"
    check(not numbers or not min_val > max_val, ArgumentError, *message)


@elementwise(
    dtype=to_float,
    vjp=(
        lambda g, input, min_val, max_val: ((input <= min_val) | (input >= max_val)).where_cond(0.0, g),
        lambda g, input, min_val: (input <= min_val).where_cond(g, 0.0),
        lambda g, input, min_val, max_val: ((input >= max_val) & (input > min_val)).where_cond(g, 0.0),
    ),
    inplace=True,
    by_number=expect_bounds,
)
def hardtanh(input, min_val=-1.0, max_val=1.0):
    """Return min(max(input, min_val), max_val); nan stays nan.

    Gradient: for input, g where min_val < input < max_val or at nan, and 0 elsewhere. Where the input is at a bound or
    outside, this bound receives g.
    Raises ArgumentError for numbers with min_val > max_val.
    """
    high = max_val if input >= max_val else input
    return min_val if input <= min_val else high


@elementwise(dtype=to_float, vjp="derived", namespace=(MG, FUNCTIONAL))
def hardshrink(input, lambd=0.5):
    """Return input where |input| > lambd, otherwise 0; nan stays nan.

    Gradient: g where |input| > lambd, and 0 elsewhere.
    """
    return 0 if math.fabs(input) <= lambd else input


def expect_lambd(input, lambd, out):
    """Raise ArgumentError for a number `lambd` below 0, with which the result would not be a shrinkage."""
    if not isinstance(lambd, Tensor):
        Number(0, example=0.5).expect("softshrink", input, lambd=lambd)


@elementwise(dtype=to_float, vjp="derived", by_number=expect_lambd)
def softshrink(input, lambd=0.5):
    """Return input - lambd where input > lambd, input + lambd where input < -lambd, otherwise 0; nan produces nan.

    Gradient: for input, g where |input| > lambd, and 0 elsewhere; for lambd, -g where input > lambd, g where
    input < -lambd, and 0 elsewhere.
    """
    return 0 if math.fabs(input) <= lambd else input + lambd if input < 0 else input - lambd


@elementwise(dtype=to_float, vjp=(lambda g, x: g * x.tanh().square(),))
def tanhshrink(x):
    """Return x - tanh(x).  Gradient: g*tanh(x)**2."""
    return x - math.tanh(x)


@elementwise(dtype=number, vjp="derived", namespace=(MG, FUNCTIONAL), inplace=True)
def threshold(input, threshold, value):
    """Return input where it is greater than the threshold, otherwise value; nan stays nan.

    Gradient: g for input where it is greater than the threshold; elsewhere, g for value.
    """
    return value if input <= threshold else input


# ---- gates: one half of a tensor times a function of the other half --------------------------------------------------


GATED = formula("gated(a, b)", "a * math.logistic(b)")  # one element of glu


def gated_back(g, a, b):
    """Return the gradients of a and b for one element of glu."""
    s = math.logistic(b)  # type: ignore[attr-defined]
    return g * s, g * a * s * (1 - s)


GATED_BACK = scalar_of(gated_back, results=2)


def halved(op: Op, input: Spec, *, dim: int) -> tuple[int, ...]:
    """Return the shape with half of the length along `dim`.  Raises ShapeError for an odd length."""
    if not input.shape or input.shape[dim] % 2:
        raise ShapeError(
            f"{op.label}: dim {dim} of the input must have an even length, got {input!r}; pass another dim"
        )
    return (*input.shape[:dim], input.shape[dim] // 2, *input.shape[dim + 1 :])


def halves(x: Value, dim: int) -> list[Value]:
    """Return the two equal parts of x along a dim."""
    half = x.shape[dim] // 2
    return [x.at(dim, start, half) for start in (0, half)]


def glu_tangent(dinput: Tensor, input: Tensor, dim: int) -> Tensor:
    """Return the tangent of glu."""
    (da, db), (a, b) = dinput.chunk(2, dim), input.chunk(2, dim)
    s = b.sigmoid()
    return da * s + db * a * s * (1.0 - s)


def glu_gradient(g: Tensor, input: Tensor, dim: int) -> Tensor:
    """Return the gradient of glu in differentiable tensor code."""
    a, b = input.chunk(2, dim)
    s = b.sigmoid()
    return cat([g * s, g * a * s * (1.0 - s)], dim)


@kernel(
    dtype=floating, shape=lambda op, g, input, *, dim: input.shape, linear=joint("g"), namespace=(), out=False,
    batch="front",
)  # fmt: skip
def glu_backward(steps, out, g: Tensor, input: Tensor, dim: Dim):
    """Return the gradient of glu in one launch; derivatives of higher order use `glu_gradient`."""
    head, source = steps.operands
    steps.each(GATED_BACK, halves(out, dim), head, *halves(source, dim))


@kernel(
    dtype=lambda op, specs, **params: to_float(op, specs)[1], shape=halved,
    vjp=(lambda g, input, *, dim: glu_gradient(g, input, dim),),
    jvp=lambda dinput, input, *, dim: glu_tangent(dinput, input, dim),
    batch="front", method=True, out=False,
)  # fmt: skip
def glu(steps, out, input: Tensor, dim: Dim = -1):
    """Return the first half of input along `dim` times the sigmoid of the second half.

    Gradient: g*s for the first half a, and g*a*s*(1 - s) for the second half, with s the sigmoid of the second half.
    Source: Dauphin and others, arXiv 1612.08083.
    Raises ShapeError if the input has an odd length along `dim`.
    """
    steps.each(GATED, out, *halves(steps.operands[0], dim))


RULE: Any = glu.op.rules[0]  # type: ignore[attr-defined]
RULE.fused = glu_backward
