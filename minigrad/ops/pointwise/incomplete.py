"""The regularized incomplete gamma functions, and the quadrature that the samples of `distributions` also use.

The integrals of t**(a - 1) * exp(-t) from 0 to x and from x on are computed by Gauss-Legendre quadrature, the smaller
of both, on the side of x where the density falls.  The variable is log(t), and the integral ends where the density has
fallen by exp(-40).  All steps are tensor ops, so both arguments have derivatives.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minigrad.core.conditions import Floating
from minigrad.core.dtype import float64, promote_all
from minigrad.declare.decorators import composed
from minigrad.ops.creation import tensor
from minigrad.ops.pointwise.compare import where
from minigrad.ops.shape.joining import cat
from minigrad.runtime.tensor import Tensor

NODES = 40  # of each panel
LARGE = 20.0  # order from which four terms of Stirling's series have an error below 1e-13
FALL = 40.0  # the logarithm by which the density falls on the interval


@composed(in_place=True)
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """Return the regularized lower incomplete gamma function of the order `input` from 0 to `other`.

    The result is nan for negative arguments, and where both arguments are 0 or both are infinite.
    Gradient: for other, g * other**(input - 1) * exp(-other) / gamma(input); for input, g times the derivative of the
    integral; both are 0 where an argument is 0 or infinite, and where the result is nan.
    """
    return regularized("igamma", input, other, True)


@composed(in_place=True)
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """Return the regularized upper incomplete gamma function, 1 - igamma(input, other), without cancellation.

    Gradient: that of `igamma`, with the opposite sign.
    """
    return regularized("igammac", input, other, False)


def regularized(name: str, a: Tensor, x: Tensor, lower: bool) -> Tensor:
    """Return one of both functions in the promoted dtype of a and x."""
    dtype = promote_all([(a.dtype, a.layout.ndim), (x.dtype, x.layout.ndim)])
    Floating.expect(name, **({} if dtype.is_float else {"input": a, "other": x}))
    a, x = a.to(float64), x.to(float64)
    below, tail = tail_of(a.clamp(1e-300, 1e300), x.clamp(1e-300, 1e300))
    result = where(below == lower, tail, 1 - tail)
    start, end = (0.0, 1.0) if lower else (1.0, 0.0)
    result = where((x == 0) | a.isinf(), start, where((a == 0) | x.isinf(), end, result))
    undefined = (a < 0) | (x < 0) | a.isnan() | x.isnan() | ((a == 0) & (x == 0)) | (a.isinf() & x.isinf())
    return where(undefined, np.nan, result).to(dtype)


def tail_of(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return whether x <= a, and the share of the gamma density on the side of x that does not contain a."""
    below, integral = gamma_integral(a, x, lambda log_t: 1.0)
    return below, log_density(a, x).exp() * integral


def log_density(a: Tensor, x: Tensor) -> Tensor:
    """Return a * log(x) - x - lgamma(a).

    Above LARGE, the terms would cancel.  Stirling's series replaces lgamma there, with u = (x - a) / a.
    """
    large = a >= LARGE
    b = where(large, a, LARGE)
    u = where(large, ((x - a) / b).clamp(min=-1 + 2.0**-52), 0.0)
    near = where(u.abs() < 0.1, u, 0.0)
    series = sum((-1.0) ** (k + 1) * near**k / k for k in range(2, 18))
    excess = where(u.abs() < 0.1, series, u.log1p() - u)
    rest = 1 / (12 * b) - 1 / (360 * b**3) + 1 / (1260 * b**5) - 1 / (1680 * b**7)
    stirling = b * excess + 0.5 * (b / (2 * np.pi)).log() - rest
    small = where(large, 1.0, a)
    return where(large, stirling, small * where(large, 1.0, x).log() - where(large, 1.0, x) - small.lgamma())


@cache
def _rule(device: Any) -> tuple[Tensor, Tensor]:
    """Return the nodes and the weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return tuple(tensor(x, dtype=float64, device=device) for x in ((nodes + 1) / 2, weights / 2))  # type: ignore[return-value]


def panels(length: Tensor, middle: Tensor) -> tuple[Tensor, Tensor]:
    """Return the nodes and weights of two panels, from 0 to a point that separates two scales, and on to `length`."""
    nodes, weights = _rule(length.device)
    first, second = middle.unsqueeze(-1), (length - middle).unsqueeze(-1)
    return cat([first * nodes, first + second * nodes], -1), cat([first * weights, second * weights], -1)


def gamma_integral(a: Any, x: Any, weight: Any) -> tuple[Any, Any]:
    """Return whether x <= a, and the integral of weight(log t) * density(t) / (density(x) * x) over the tail."""
    below, scale = x <= a, (3 * FALL / x).sqrt()
    smooth = where(scale <= 1, scale, (FALL + x) / a)
    wide = where(x > FALL, (2 * FALL / x).sqrt(), (4 * FALL / x).log1p())
    length = where(below, smooth, wide).minimum(FALL / (x - a).abs().clamp(min=1e-30)).detach()
    steps, weights = panels(length, where(below, length.clamp(max=30.0), (length - 6).clamp(min=0.0)))
    v = where(below, -1.0, 1.0).unsqueeze(-1) * steps
    a, x = a.unsqueeze(-1), x.unsqueeze(-1)
    return below, (((a * v - x * v.expm1()).exp() * weight(x.log() + v)) * weights).sum(-1)
