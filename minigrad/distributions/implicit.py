"""Samples of gamma and Dirichlet distributions with implicit gradients.

The derivative of a sample x with respect to a parameter a is -(dF/da) / (dF/dx), where F is the distribution function:
x moves so that F stays equal.  Both derivatives are integrals of the density on one side of x, which are computed here
by Gauss-Legendre quadrature.  The variable is log(t) for gamma, and the log odds of t for beta distributions; in these
variables, the density falls from x on, and the integral ends where it has fallen by exp(-40).
Source: Figurnov, Mohamed and Mnih, Implicit reparameterization gradients, 2018.
"""

from __future__ import annotations

from typing import Any

from minigrad.autodiff.function import Function
from minigrad.core.dtype import finfo, float64
from minigrad.distributions.sampling import log_standard_gamma
from minigrad.nn import functional as F
from minigrad.ops.pointwise.compare import where
from minigrad.ops.pointwise.incomplete import FALL, gamma_integral, panels
from minigrad.runtime.tensor import Tensor


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
        return dirichlet_gradient(x, concentration, g)


def dirichlet_gradient(x: Tensor, concentration: Tensor, g: Tensor) -> Tensor:
    """Return the gradient of Dirichlet samples x with respect to the concentrations, for the incoming gradient g."""
    own = beta_derivative(concentration, concentration.sum(-1, keepdim=True), x)
    rest = (1 - x.to(float64)).clamp(min=1e-300)
    return (own / rest * (g - (x * g).sum(-1, keepdim=True))).to(x.dtype)
