"""Distributions of positive numbers: exponential, gamma and their functions, Pareto, Weibull, half normal, F."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.distributions import constraints
from minigrad.distributions.distribution import Elementwise, ExponentialFamily
from minigrad.distributions.sampling import GammaSample
from minigrad.distributions.utils import broadcast_all, formula
from minigrad.ops.creation import zeros_like
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
