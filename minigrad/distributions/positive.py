"""Distributions of positive numbers: exponential, gamma and their functions, Pareto, Weibull, half normal, F."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.distributions import constraints
from minigrad.distributions.distribution import Distribution, Elementwise, ExponentialFamily
from minigrad.distributions.real_line import Cauchy, Normal
from minigrad.distributions.sampling import GammaSample
from minigrad.distributions.utils import EULER, broadcast_all, formula
from minigrad.ops.creation import full_like, zeros_like
from minigrad.ops.pointwise.compare import where
from minigrad.ops.pointwise.incomplete import igamma
from minigrad.ops.shape.views import expand
from minigrad.runtime.tensor import Tensor


class Exponential(Elementwise, ExponentialFamily):
    """Define exponential distributions, one per element of the parameter.

    Density: rate * exp(-rate * x) for x of at least 0.

    rate: Inverse of the mean, which is positive.

    >>> Exponential(2.0).mean.item(), Exponential(2.0).log_prob(mg.tensor(0.0)).exp().item()
    (0.5, 2.0)
    """

    has_rsample = True
    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    _mean_carrier_measure = 0
    log_prob: Any = formula(lambda self, value: self.rate.log() - self.rate * value)
    cdf: Any = formula(lambda self, value: -(-self.rate * value).expm1())
    icdf: Any = formula(lambda self, value: -(-value).log1p() / self.rate)
    entropy: Any = formula(lambda self: 1.0 - self.rate.log())
    mean: Any = property(lambda self: self.rate.reciprocal())
    mode: Any = property(lambda self: zeros_like(self.rate))
    variance: Any = property(lambda self: 1 / self.rate**2)
    _natural_params: Any = property(lambda self: (-self.rate,))
    _log_normalizer: Any = formula(lambda self, x: -(-x).log())


class Gamma(Elementwise, ExponentialFamily):
    """Define gamma distributions, one per element of the parameters.

    Density: rate**c * x**(c - 1) * exp(-rate * x) / gamma(c) with c = concentration.

    concentration: Shape of the distribution, which is positive.
    rate: Inverse of the scale, which is positive.

    Source: Marsaglia and Tsang, A simple method for generating gamma variables, 2000; Figurnov, Mohamed and Mnih,
    Implicit reparameterization gradients, 2018.
    """

    has_rsample = True
    arg_constraints: Any = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.nonnegative
    _mean_carrier_measure = 0

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples, whose gradients flow to both parameters; those to the concentration are implicit."""
        x: Any = GammaSample.apply(expand(self.concentration, shape=self._extended_shape(sample_shape)))
        return x / self.rate

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        c = self.concentration
        return c.xlogy(self.rate) + (c - 1).xlogy(value) - self.rate * value - c.lgamma()

    @formula
    def cdf(self, value: Tensor) -> Tensor:
        c, x = broadcast_all(self.concentration, self.rate * value)
        return igamma(c, x)

    def entropy(self) -> Tensor:
        c = self.concentration
        return c - self.rate.log() + c.lgamma() + (1 - c) * c.digamma()

    mean: Any = property(lambda self: self.concentration / self.rate)
    mode: Any = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance: Any = property(lambda self: self.concentration / self.rate**2)
    _natural_params: Any = property(lambda self: (self.concentration - 1, -self.rate))
    _log_normalizer: Any = formula(lambda self, x, y: (x + 1).lgamma() - (x + 1) * (-y).log())


class Chi2(Gamma):
    """Define chi-squared distributions: sums of the squares of `df` standard normal numbers.

    df: Degrees of freedom, which are positive.
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (self.df,) = broadcast_all(df)
        super().__init__(0.5 * self.df, 0.5, validate_args)


class InverseGamma(Elementwise):
    """Define the distributions of 1 / x for gamma samples x with the same parameters.

    Density: rate**c * x**(-c - 1) * exp(-rate / x) / gamma(c) with c = concentration.

    concentration: Shape of the distribution, which is positive.
    rate: Scale of the distribution, which is positive.
    """

    has_rsample = True
    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    _gamma: Any = property(lambda self: Gamma(self.concentration, self.rate, False))
    rsample: Any = formula(lambda self, sample_shape=(): self._gamma.rsample(sample_shape).reciprocal())
    log_prob: Any = formula(lambda self, value: self._gamma.log_prob(value.reciprocal()) - 2 * value.log())
    cdf: Any = formula(lambda self, value: 1 - self._gamma.cdf(value.reciprocal()))

    def entropy(self) -> Tensor:
        c = self.concentration
        return c + self.rate.log() + c.lgamma() - (1 + c) * c.digamma()

    mean: Any = property(
        lambda self: where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf),
        doc="The mean; infinite for a concentration of at most 1.",
    )
    mode: Any = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def variance(self) -> Tensor:
        """The variance; infinite for a concentration of at most 2."""
        c = self.concentration
        return where(c > 2, self.rate**2 / ((c - 1) ** 2 * (c - 2)), math.inf)


class FisherSnedecor(Elementwise):
    """Define F-distributions: quotients of two chi-squared numbers, each divided by its degrees of freedom.

    df1 and df2: Degrees of freedom of the numerator and the denominator, which are positive.
    """

    has_rsample = True
    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples, whose gradients flow to both parameters; they are implicit."""
        top, bottom = (Gamma(df / 2, df / 2, False).rsample(sample_shape) for df in (self.df1, self.df2))
        return top / bottom

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        norm = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return norm + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()

    mean: Any = property(lambda self: where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan))
    mode: Any = property(
        lambda self: where(self.df1 > 2, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2), math.nan),
        doc="The mode; nan for df1 of at most 2.",
    )

    @property
    def variance(self) -> Tensor:
        """The variance; nan for df2 of at most 4."""
        a, b = self.df1, self.df2
        return where(b > 4, 2 * b**2 * (a + b - 2) / (a * (b - 2) ** 2 * (b - 4)), math.nan)


class Half(Distribution):
    """The base class of distributions of |x| for numbers x whose distribution is symmetric."""

    has_rsample = True
    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    _whole: Any = Normal

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        self.base_dist = self._whole(0, scale, validate_args)
        super().__init__(self.base_dist.batch_shape, (), validate_args)

    scale: Any = property(lambda self: self.base_dist.scale, doc="The scale of x.")
    rsample: Any = formula(lambda self, sample_shape=(): self.base_dist.rsample(sample_shape).abs())
    log_prob: Any = formula(
        lambda self, value: where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)
    )
    cdf: Any = formula(lambda self, value: 2 * self.base_dist.cdf(value) - 1)
    icdf: Any = formula(lambda self, value: self.base_dist.icdf((value + 1) / 2))
    entropy: Any = formula(lambda self: self.base_dist.entropy() - math.log(2))
    mode: Any = property(lambda self: zeros_like(self.scale))


class HalfNormal(Half):
    """Define the distributions of |x| for normal numbers x with mean 0, one per element of the parameter.

    scale: Standard deviation of x.
    """

    mean: Any = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance: Any = property(lambda self: self.scale**2 * (1 - 2 / math.pi))


class HalfCauchy(Half):
    """Define the distributions of |x| for Cauchy numbers x with median 0, one per element of the parameter.

    scale: Median of the distribution.
    """

    _whole = Cauchy
    mean: Any = property(lambda self: full_like(self.scale, math.inf))
    variance: Any = property(lambda self: full_like(self.scale, math.inf))


class Pareto(Distribution):
    """Define Pareto distributions of numbers of at least `scale`, one per element of the parameters.

    Density: alpha * scale**alpha / x**(alpha + 1).

    scale: Smallest value, which is positive.
    alpha: Exponent of the tail, which is positive.
    """

    has_rsample = True
    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(self.scale.shape, (), validate_args)

    support: Any = constraints.dependent_property(
        lambda self: constraints.greater_than_eq(self.scale), is_discrete=False, event_dim=0
    )
    log_prob: Any = formula(
        lambda self, value: self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()
    )
    cdf: Any = formula(lambda self, value: -(self.alpha * (self.scale / value).log()).expm1())
    icdf: Any = formula(lambda self, value: self.scale * (-(-value).log1p() / self.alpha).exp())
    entropy: Any = formula(lambda self: (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal())
    mean: Any = property(
        lambda self: where(self.alpha > 1, self.alpha * self.scale / (self.alpha - 1), math.inf),
        doc="The mean; infinite for alpha of at most 1.",
    )
    mode: Any = property(lambda self: self.scale)

    @property
    def variance(self) -> Tensor:
        """The variance; infinite for alpha of at most 2."""
        a = self.alpha
        return where(a > 2, self.scale**2 * a / ((a - 1) ** 2 * (a - 2)), math.inf)


class GeneralizedPareto(Elementwise):
    """Define generalized Pareto distributions, which approximate the values above a high threshold.

    Density: (1 + concentration * z) ** (-1 / concentration - 1) / scale with z = (x - loc) / scale; exp(-z) / scale for
    a concentration of 0.

    loc: Smallest value.
    scale: Scale of the distribution, which is positive.
    concentration: Heaviness of the tail; below 0, the values are at most loc - scale / concentration.
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Return the numbers of at least `loc`, up to the largest value for negative concentrations."""
        c = self.concentration
        top = where(c < 0, self.loc - self.scale / where(c < 0, c, -1.0), math.inf)
        return constraints.interval(self.loc, top)

    def _survival(self, value: Any) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the probability of larger values, and log(1 + concentration * z)."""
        z, c = (value - self.loc) / self.scale, self.concentration
        near = c.abs() < 1e-7
        log_factor = (where(near, 0.0, c) * z).log1p()
        return where(near, -z, -log_factor / where(near, 1.0, c)), log_factor

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        log_survival, log_factor = self._survival(value)
        return log_survival - log_factor - self.scale.log()

    cdf: Any = formula(lambda self, value: -self._survival(value)[0].expm1())

    def icdf(self, value: Tensor) -> Tensor:
        c, log_rest = self.concentration, (-value).log1p()
        near = c.abs() < 1e-7
        z = where(near, -log_rest, (-c * log_rest).expm1() / where(near, 1.0, c))
        return self.loc + self.scale * z

    entropy: Any = formula(lambda self: self.scale.log() + self.concentration + 1)
    mean: Any = property(
        lambda self: where(self.concentration < 1, self.loc + self.scale / (1 - self.concentration), math.inf),
        doc="The mean; infinite for a concentration of at least 1.",
    )
    mode: Any = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        """The variance; infinite for a concentration of at least 1/2."""
        c = self.concentration
        return where(c < 0.5, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.inf)


class Weibull(Elementwise):
    """Define Weibull distributions, one per element of the parameters.

    Density: (k / scale) * z**(k - 1) * exp(-z**k) with z = x / scale and k = concentration.

    scale: Scale of the distribution, which is positive.
    concentration: Shape of the distribution, which is positive; 1 is the exponential distribution.
    """

    has_rsample = True
    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _excludes_0 = True  # the support excludes 0

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        k, log_z = self.concentration, value.log() - self.scale.log()
        return k.log() - self.scale.log() + (k - 1) * log_z - (k * log_z).exp()

    cdf: Any = formula(lambda self, value: -(-((value / self.scale) ** self.concentration)).expm1())
    icdf: Any = formula(lambda self, value: self.scale * (-(-value).log1p()) ** self.concentration.reciprocal())
    entropy: Any = formula(
        lambda self: EULER * (1 - 1 / self.concentration) + (self.scale / self.concentration).log() + 1
    )

    def _moment(self, order: int) -> Tensor:
        return (1 + order / self.concentration).lgamma()

    mean: Any = property(lambda self: self.scale * self._moment(1).exp())

    @property
    def mode(self) -> Tensor:
        """The mode; 0 for a concentration of at most 1."""
        k = self.concentration
        return self.scale * ((k - 1) / k).clamp(min=0) ** k.reciprocal()

    variance: Any = property(lambda self: self.scale**2 * (self._moment(2).exp() - (2 * self._moment(1)).exp()))
