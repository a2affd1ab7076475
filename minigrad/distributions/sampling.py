"""Samples by rejection: gamma, Poisson and binomial numbers, one per element of the parameters.

A rejection sampler proposes numbers for all elements, and proposes again until each element has an accepted number.
In a recorded function, where no condition can be read, it proposes `ROUNDS` times.

The derivative of a sample x with respect to a parameter a is -(dF/da) / (dF/dx), where F is the distribution function:
x moves so that F stays equal.  Both derivatives are integrals of the density on one side of x, which are computed here
by Gauss-Legendre quadrature.  The variable is log(t) for gamma, and the log odds of t for beta distributions; in these
variables, the density falls from x on, and the integral ends where it has fallen by exp(-40).
Source: Figurnov, Mohamed and Mnih, Implicit reparameterization gradients, 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.autodiff.function import Function
from minigrad.core.conditions import Floating
from minigrad.core.dtype import finfo, float64
from minigrad.distributions.utils import all_hold
from minigrad.errors import ArgumentError
from minigrad.nn import functional as F
from minigrad.ops.casting import cast
from minigrad.ops.pointwise.compare import where
from minigrad.ops.pointwise.incomplete import FALL, gamma_integral, panels
from minigrad.ops.random import rand, randn
from minigrad.runtime.tensor import Tensor, expect_tensors

ROUNDS = 16  # in a recorded function; the samplers accept at least 70 % of their proposals, so 0.3**16 remain
GAPS = 64  # a Poisson number with mean 10 exceeds 64 with probability 1e-28


def until_accepted(propose: Callable[[], tuple[Tensor, Tensor]]) -> Tensor:
    """Return the first accepted proposal of each element; `propose` returns proposals and whether to accept them."""
    result, accepted = propose()
    rounds = 1
    while not (rounds == ROUNDS if (done := all_hold(accepted)) is None else done):
        other, holds = propose()
        result, accepted, rounds = where(accepted, result, other), accepted | holds, rounds + 1
    return result


def log_standard_gamma(concentration: Tensor, generator: Any = None) -> Tensor:
    """Return logarithms of gamma samples with rate 1, in float64; they are finite for concentrations near 0, too.

    A sample for a concentration below 1 is a sample for 1 more, times u ** (1 / concentration).
    Source: Marsaglia and Tsang, A simple method for generating gamma variables, 2000.
    """
    shape, device = concentration.shape, concentration.device
    a = cast(concentration.detach(), dtype=float64)
    small = a < 1
    d = where(small, a + 1, a) - 1 / 3
    c = 1 / (9 * d).sqrt()

    def propose() -> tuple[Tensor, Tensor]:
        x = randn(shape, dtype=float64, device=device, generator=generator)
        u = rand(shape, dtype=float64, device=device, generator=generator)
        root = 1 + c * x
        log_v = 3 * root.clamp(min=1e-300).log()
        return log_v, (root > 0) & (u.log() < 0.5 * x * x + d * (1 - log_v.exp() + log_v))

    log_v = until_accepted(propose)
    u = 1 - rand(shape, dtype=float64, device=device, generator=generator)
    return d.log() + log_v + where(small, u.log() / a, 0.0)


def _log_choice(n: Any, k: Any) -> Any:
    return (k + 1).lgamma() + (n - k + 1).lgamma()


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Return samples from Poisson distributions whose means are the elements of the input, in the dtype of the input.

    input: the means, not negative.
    Not differentiable.  Raises DTypeError for means that are not floats, ArgumentError for negative means.
    Means below 10 count exponential gaps; larger means use transformed rejection.
    Source: Hormann, The transformed rejection method for generating Poisson random variables, 1993, algorithm PTRS.
    """
    expect_tensors("poisson", input)
    Floating.expect("poisson", input=input)
    mean = cast(input.detach(), dtype=float64)
    if all_hold(mean >= 0) is False:
        raise ArgumentError("poisson: the means must be at least 0, got another mean; pass input.abs(), for example")
    shape, device = mean.shape, mean.device
    gaps = rand((*shape, GAPS), dtype=float64, device=device, generator=generator)
    few = cast((-(-gaps).log1p()).cumsum(-1) < mean.unsqueeze(-1), dtype=float64).sum(-1)
    large = mean.clamp(min=10.0)
    b = 0.931 + 2.53 * large.sqrt()
    a = -0.059 + 0.02483 * b
    inverse = 1.1239 + 1.1328 / (b - 3.4)

    def propose() -> tuple[Tensor, Tensor]:
        u = rand(shape, dtype=float64, device=device, generator=generator) - 0.5
        v = 1 - rand(shape, dtype=float64, device=device, generator=generator)
        us = 0.5 - u.abs()
        k = ((2 * a / us + b) * u + large + 0.43).floor()
        kept = k.clamp(min=0.0)
        log_p = kept * large.log() - large - (kept + 1).lgamma()
        return kept, ((v * inverse / (a / (us * us) + b)).log() <= log_p) & (k >= 0) | (mean < 10)

    return cast(where(mean < 10, few, until_accepted(propose)), dtype=input.dtype)


def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Return the numbers of successes in `count` trials, each of probability `prob`, in the dtype of `prob`.

    count: the numbers of trials, not negative.  prob: the probabilities of a success, from 0 to 1.
    Not differentiable.  Raises DTypeError for probabilities that are not floats, and ArgumentError for negative counts
    and for probabilities outside [0, 1].  Means below 10 count geometric gaps; larger means use transformed rejection.
    Source: Hormann, The generation of binomial random variates, 1993, algorithm BTRS.
    """
    Floating.expect("binomial", prob=prob)
    p, n = cast(prob.detach(), dtype=float64), cast(count.detach(), dtype=float64)
    n, p = n + 0 * p, p + 0 * n
    if all_hold((n >= 0) & (p >= 0) & (p <= 1)) is False:
        raise ArgumentError(
            "binomial: the counts must be at least 0 and the probabilities from 0 to 1, got other values; pass "
            "prob.clamp(0, 1), for example"
        )
    q = where(p > 0.5, 1 - p, p)
    few = _few_successes(n, q, generator)
    successes = where(n * q < 10, few, until_accepted(_binomial_proposals(n, q, generator)))
    return cast(where(p > 0.5, n - successes, successes), dtype=prob.dtype)


def _few_successes(n: Tensor, q: Tensor, generator: Any) -> Tensor:
    """Return binomial numbers with means below 10: how many geometric gaps between successes fit in n trials."""
    gaps = rand((*n.shape, GAPS), dtype=float64, device=n.device, generator=generator)
    rate = -(-q.clamp(min=1e-300)).log1p()
    trials = ((-(-gaps).log1p()) / rate.unsqueeze(-1)).floor() + 1
    return cast(trials.cumsum(-1) <= n.unsqueeze(-1), dtype=float64).sum(-1)


def _binomial_proposals(n: Tensor, q: Tensor, generator: Any) -> Callable[[], tuple[Tensor, Tensor]]:
    """Return the proposals of the algorithm BTRS for q from 0 to 0.5 and means of at least 10."""
    small = n * q < 10
    n, p = where(small, 100.0, n), where(small, 0.5, q)
    deviation = (n * p * (1 - p)).sqrt()
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    top = ((n + 1) * p).floor()

    def propose() -> tuple[Tensor, Tensor]:
        u = rand(n.shape, dtype=float64, device=n.device, generator=generator) - 0.5
        v = 1 - rand(n.shape, dtype=float64, device=n.device, generator=generator)
        us = 0.5 - u.abs()
        k = ((2 * a / us + b) * u + n * p + 0.5).floor()
        inside = (k >= 0) & (k <= n)
        kept = where(inside, k, top)
        log_ratio = _log_choice(n, top) - _log_choice(n, kept) + (kept - top) * (p / (1 - p)).log()
        return kept, ((v * alpha / (a / (us * us) + b)).log() <= log_ratio) & inside | small

    return propose


# ---- samples of gamma and Dirichlet distributions with implicit gradients --------------------------------------------


def gamma_derivative(concentration: Tensor, x: Tensor) -> Tensor:
    """Return the derivative of gamma samples x of rate 1 with respect to the concentration."""
    a, wide = concentration.to(float64), x.to(float64).clamp(min=1e-300)
    below, integral = gamma_integral(a, wide, lambda log_t: log_t - a.digamma().unsqueeze(-1))
    return (where(below, -wide, wide) * integral).to(x.dtype)


def beta_derivative(concentration: Tensor, total: Tensor, x: Tensor) -> Tensor:
    """Return the derivative of beta samples x with respect to the first of two concentrations with a given sum."""
    a, x = concentration.to(float64), x.to(float64).clamp(1e-300, 1 - 1e-16)
    b = total.to(float64) - a
    below = x * (a + b) <= a
    p, q, near = where(below, a, b), where(below, b, a), where(below, x, 1 - x)
    start = where(below, 1.0, -1.0) * (x.log() - (-x).log1p())
    scale = (2 * FALL * 2.72 / ((p + q) * near * (1 - near))).sqrt()
    length = where(scale <= 1, scale, (FALL + (p + q) * F.softplus(start)) / p)
    length = length.minimum(FALL / (p - (p + q) * near).abs().clamp(min=1e-30)).detach()
    steps, weights = panels(length, length.clamp(max=30.0))
    u = start.unsqueeze(-1)
    w = u - steps
    fall = p.unsqueeze(-1) * (F.logsigmoid(w) - F.logsigmoid(u)) + q.unsqueeze(-1) * (
        F.logsigmoid(-w) - F.logsigmoid(-u)
    )
    log_t = F.logsigmoid(where(below, 1.0, -1.0).unsqueeze(-1) * w)
    mean = a.digamma() - (a + b).digamma()
    integral = (fall.exp() * (log_t - mean.unsqueeze(-1)) * weights).sum(-1)
    return where(below, -1.0, 1.0) * x * (1 - x) * integral


class GammaSample(Function):
    """Gamma samples of rate 1, whose gradient with respect to the concentration is implicit."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        """Return the samples, which are at least the smallest normal number of the dtype."""
        tiny = float(finfo(concentration.dtype).tiny)
        x = log_standard_gamma(concentration).exp().to(concentration.dtype).clamp(min=tiny)
        ctx.save_for_backward(concentration, x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        """Return g times the derivative of the samples."""
        concentration, x = ctx.saved_tensors
        return g * gamma_derivative(concentration, x)


class DirichletSample(Function):
    """Dirichlet samples, whose gradient with respect to the concentrations is implicit."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        """Return the samples, from the logarithms of gamma samples, so that concentrations near 0 are exact, too."""
        kind = finfo(concentration.dtype)
        x = F.softmax(log_standard_gamma(concentration), -1)
        x = x.to(concentration.dtype).clamp(float(kind.tiny), 1 - float(kind.eps) / 2)
        ctx.save_for_backward(concentration, x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        """Return the gradient: raising one concentration moves its element, and the others keep their proportions."""
        concentration, x = ctx.saved_tensors
        own = beta_derivative(concentration, concentration.sum(-1, keepdim=True), x)
        rest = (1 - x.to(float64)).clamp(min=1e-300)
        return (own / rest * (g - (x * g).sum(-1, keepdim=True))).to(x.dtype)
