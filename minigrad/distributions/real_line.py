"""Distributions of real numbers: normal, Laplace, Cauchy, Gumbel, Student's t, uniform, and von Mises on the circle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.core.dtype import finfo, float64
from minigrad.distributions import constraints
from minigrad.distributions.distribution import Elementwise, ExponentialFamily, LocationScale
from minigrad.distributions.sampling import GammaSample, until_accepted
from minigrad.distributions.utils import EULER, HALF_LOG_2PI, formula
from minigrad.ops import random
from minigrad.ops.creation import full_like
from minigrad.ops.pointwise.compare import where
from minigrad.ops.pointwise.special import i0e, i1e
from minigrad.ops.shape.views import expand
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor


class Normal(LocationScale, ExponentialFamily):
    """Define normal distributions, one per element of the parameters.

    Density: exp(-((x - loc) / scale)**2 / 2) / (scale * sqrt(2 pi)).

    loc: Mean of the distribution.
    scale: Standard deviation of the distribution, which is positive.

    >>> round(Normal(0.0, 1.0).log_prob(mg.tensor(0.0)).item(), 4)
    -0.9189
    """

    _mean_carrier_measure = 0

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        noise = random.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + noise * self.scale

    log_prob: Any = formula(
        lambda self, value: -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - HALF_LOG_2PI
    )
    cdf: Any = formula(lambda self, value: 0.5 * (1 + ((value - self.loc) / (self.scale * math.sqrt(2))).erf()))
    icdf: Any = formula(lambda self, value: self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2))
    entropy: Any = formula(lambda self: 0.5 + HALF_LOG_2PI + self.scale.log())
    variance: Any = property(lambda self: self.scale**2)
    _natural_params: Any = property(lambda self: (self.loc / self.scale**2, -0.5 / self.scale**2))
    _log_normalizer: Any = formula(lambda self, x, y: -0.25 * x**2 / y + 0.5 * (-math.pi / y).log())


class Laplace(LocationScale):
    """Define Laplace distributions, one per element of the parameters.

    Density: exp(-|x - loc| / scale) / (2 scale).

    loc: Mean of the distribution.
    scale: Mean distance of a sample from `loc`, which is positive.

    >>> Laplace(0.0, 1.0).log_prob(mg.tensor(0.0)).exp().item()
    0.5
    """

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        u = self._uniform(self.loc, sample_shape) - 0.5
        rest = (1 - 2 * u.abs()).clamp(min=float(finfo(u.dtype).tiny))  # without the bound, u = -0.5 would return -inf
        return self.loc - self.scale * u.sign() * rest.log()

    log_prob: Any = formula(lambda self, value: -(2 * self.scale).log() - (value - self.loc).abs() / self.scale)

    @formula
    def cdf(self, value: Tensor) -> Tensor:
        off = value - self.loc
        return 0.5 - 0.5 * off.sign() * (-off.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        off = value - 0.5
        return self.loc - self.scale * off.sign() * (-2 * off.abs()).log1p()

    entropy: Any = formula(lambda self: 1 + (2 * self.scale).log())
    variance: Any = property(lambda self: 2 * self.scale**2)


class Cauchy(LocationScale):
    """Define Cauchy distributions, which have no mean, one per element of the parameters.

    Density: 1 / (pi * scale * (1 + ((x - loc) / scale)**2)).

    loc: Median of the distribution.
    scale: Half the interquartile range, which is positive.

    >>> Cauchy(1.0, 2.0).cdf(mg.tensor(3.0)).item()
    0.75
    """

    log_prob: Any = formula(
        lambda self, value: -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()
    )
    cdf: Any = formula(lambda self, value: ((value - self.loc) / self.scale).atan() / math.pi + 0.5)
    icdf: Any = formula(lambda self, value: (math.pi * (value - 0.5)).tan() * self.scale + self.loc)
    entropy: Any = formula(lambda self: math.log(4 * math.pi) + self.scale.log())
    mean: Any = property(lambda self: full_like(self.loc, math.nan))
    variance: Any = property(lambda self: full_like(self.loc, math.inf))


class Gumbel(LocationScale):
    """Define Gumbel distributions, which approximate the maximum of many samples, one per element of the parameters.

    Density: exp(z - exp(z)) / scale with z = (loc - x) / scale.

    loc: Mode of the distribution.
    scale: Positive scale of the distribution; the standard deviation is scale * pi / sqrt(6).

    >>> round(Gumbel(0.0, 1.0).mean.item(), 4)
    0.5772
    """

    _excludes_0 = True  # icdf(0) is -inf

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    cdf: Any = formula(lambda self, value: (-((self.loc - value) / self.scale).exp()).exp())
    icdf: Any = formula(lambda self, value: self.loc - self.scale * (-value.log()).log())
    entropy: Any = formula(lambda self: self.scale.log() + (1 + EULER))
    mean: Any = property(lambda self: self.loc + self.scale * EULER)
    variance: Any = property(lambda self: self.scale**2 * (math.pi**2 / 6))


class Uniform(Elementwise):
    """Define uniform distributions between two bounds, one per element of the parameters.

    Density: 1 / (high - low) from low to high.

    low and high: Lower and upper bound; `high` itself does not occur.

    Raises ArgumentError if `low` is not less than `high`.

    >>> Uniform(0.0, 4.0).mean.item()
    2.0
    """

    has_rsample = True
    arg_constraints = {"low": constraints.dependent, "high": constraints.dependent}

    def _check(self) -> None:
        self._require(self.low < self.high, "low", "below high")

    support: Any = constraints.dependent_property(
        lambda self: constraints.interval(self.low, self.high), is_discrete=False, event_dim=0
    )
    log_prob: Any = formula(
        lambda self, value: where((self.low <= value) & (value < self.high), -(self.high - self.low).log(), -math.inf)
    )
    cdf: Any = formula(lambda self, value: ((value - self.low) / (self.high - self.low)).clamp(0, 1))
    icdf: Any = formula(lambda self, value: value * (self.high - self.low) + self.low)
    entropy: Any = formula(lambda self: (self.high - self.low).log())
    mean: Any = property(lambda self: (self.low + self.high) / 2)
    mode: Any = property(lambda self: self.low * math.nan)
    variance: Any = property(lambda self: (self.high - self.low) ** 2 / 12)


class StudentT(Elementwise):
    """Define Student's t-distributions: normal samples divided by the root of `Chi2(df)` samples over df.

    Density: proportional to (1 + z**2 / df) ** (-(df + 1) / 2) with z = (x - loc) / scale.

    df: Degrees of freedom, which are positive.
    loc: Mode of the distribution.
    scale: Factor of z.
    """

    has_rsample = True
    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _defaults = {"loc": 0.0, "scale": 1.0}

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples, whose gradients flow to all parameters; those to df are implicit."""
        shape = self._extended_shape(sample_shape)
        noise: Any = random.randn(shape, dtype=self.df.dtype, device=self.df.device)
        half = expand(self.df / 2, shape=shape)
        square: Any = GammaSample.apply(half)
        return self.loc + self.scale * noise * (half / square).sqrt()

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * (self.df * math.pi).log() + (self.df / 2).lgamma()
        return -0.5 * (self.df + 1) * (z**2 / self.df).log1p() - norm + ((self.df + 1) / 2).lgamma()

    def entropy(self) -> Tensor:
        half, more = self.df / 2, (self.df + 1) / 2
        beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + beta

    mean: Any = property(lambda self: where(self.df <= 1, math.nan, self.loc))
    mode: Any = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        """The variance; infinite for df from 1 to 2, and nan for df of at most 1."""
        finite = self.scale**2 * self.df / (self.df - 2).clamp(min=1e-30)
        return where(self.df > 2, finite, where(self.df > 1, math.inf, math.nan))


class VonMises(Elementwise):
    """Define von Mises distributions of angles, which resemble normal distributions on a circle.

    Density: exp(concentration * cos(x - loc)) / (2 pi I0(concentration)) for x from -pi to pi.

    loc: Mean angle in radians.
    concentration: Approximately the inverse of the variance; positive.

    Source: Best and Fisher, Efficient simulation of the von Mises distribution, 1979.
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return angles from -pi to pi, by rejection from a wrapped Cauchy distribution, in float64."""
        shape, device = self._extended_shape(sample_shape), self.loc.device
        with no_grad():
            k = self.concentration.to(float64)
            tau = 1 + (1 + 4 * k * k).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            # For small concentrations, the quotient cancels; the first terms of its series are exact there.
            r = where(k < 1e-5, 1 / k + k, (1 + rho * rho) / (2 * rho))

            def propose() -> tuple[Tensor, Tensor]:
                u, v, w = random.rand((3, *shape), dtype=float64, device=device).unbind(0)
                z = (math.pi * u).cos()
                f = ((1 + r * z) / (r + z)).clamp(-1, 1)
                c = k * (r - f)
                kept = (c * (2 - c) - v > 0) | ((c / v).log() + 1 - c >= 0)
                return (w - 0.5).sign() * f.acos(), kept

            angle = until_accepted(propose) + self.loc.to(float64)
            return ((angle + math.pi) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density; i0e is exp(-k) * I0(k)."""
        off = self.concentration * ((value - self.loc).cos() - 1)
        return off - math.log(2 * math.pi) - i0e(self.concentration).log()

    def entropy(self) -> Tensor:
        k = self.concentration
        return k * (1 - i1e(k) / i0e(k)) + math.log(2 * math.pi) + i0e(k).log()

    mean: Any = property(lambda self: self.loc)
    mode: Any = property(lambda self: self.loc)
    variance: Any = property(lambda self: 1 - i1e(self.concentration) / i0e(self.concentration))
