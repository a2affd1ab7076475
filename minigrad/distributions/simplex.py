"""Distributions of numbers from 0 to 1 and of weights with the sum 1: beta, Dirichlet, Kumaraswamy and others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.distributions import constraints
from minigrad.distributions.distribution import Elementwise, ExponentialFamily, Odds
from minigrad.distributions.sampling import DirichletSample
from minigrad.distributions.utils import EULER, clamp_probs, formula
from minigrad.errors import ShapeError
from minigrad.nn import functional as F
from minigrad.ops.pointwise.compare import where
from minigrad.ops.shape.joining import stack
from minigrad.ops.shape.views import expand
from minigrad.runtime.tensor import Tensor, describe


class Dirichlet(ExponentialFamily):
    """Define Dirichlet distributions of vectors of weights with the sum 1.

    Density: the product of x[i] ** (concentration[i] - 1), divided by the multivariate beta function.

    concentration: Positive numbers, of shape (..., n); the mean is proportional to them.

    Source: Figurnov, Mohamed and Mnih, Implicit reparameterization gradients, 2018.
    """

    has_rsample = True
    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if not isinstance(concentration, Tensor) or concentration.ndim < 1:
            raise ShapeError(
                f"Dirichlet: concentration must have at least 1 dim, got {describe(concentration)}; pass mg.ones(3)"
            )
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples, whose gradients with respect to the concentrations are implicit."""
        return DirichletSample.apply(expand(self.concentration, shape=self._extended_shape(sample_shape)))

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        c = self.concentration
        return (c - 1).xlogy(value).sum(-1) + c.sum(-1).lgamma() - c.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        c, k = self.concentration, self.concentration.shape[-1]
        total = c.sum(-1)
        return c.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma() - ((c - 1) * c.digamma()).sum(-1)

    mean: Any = property(lambda self: self.concentration / self.concentration.sum(-1, keepdim=True))

    @property
    def mode(self) -> Tensor:
        """The mode; a one-hot vector if all concentrations are below 1."""
        rest = (self.concentration - 1).clamp(min=0)
        result = rest / rest.sum(-1, keepdim=True)
        corner = F.one_hot(self.concentration.argmax(-1), self.concentration.shape[-1])
        return where((self.concentration < 1).all(-1, keepdim=True), corner, result)

    variance: Any = property(lambda self: self.mean * (1 - self.mean) / (self.concentration.sum(-1, keepdim=True) + 1))
    _natural_params: Any = property(lambda self: (self.concentration,))
    _mean_carrier_measure: Any = property(lambda self: -self._mean_log.sum(-1))
    _mean_log: Any = property(lambda self: self.concentration.digamma() - self.concentration.sum(-1, True).digamma())
    _log_normalizer: Any = formula(lambda self, x: x.lgamma().sum(-1) - x.sum(-1).lgamma())


class Beta(Elementwise, ExponentialFamily):
    """Define beta distributions of numbers from 0 to 1, one per element of the parameters.

    Density: x ** (concentration1 - 1) * (1 - x) ** (concentration0 - 1), divided by the beta function.

    concentration1: Weight of 1, which is positive; `alpha` in most books.
    concentration0: Weight of 0, which is positive; `beta` in most books.
    """

    has_rsample = True
    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    _dirichlet: Any = property(lambda self: Dirichlet(stack([self.concentration1, self.concentration0], -1), False))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples, whose gradients flow to both parameters; they are implicit."""
        return self._dirichlet.rsample(sample_shape)[..., 0]

    log_prob: Any = formula(lambda self, value: self._dirichlet.log_prob(stack([value, 1 - value], -1)))
    entropy: Any = formula(lambda self: self._dirichlet.entropy())
    _total: Any = property(lambda self: self.concentration1 + self.concentration0)
    mean: Any = property(lambda self: self.concentration1 / self._total)
    mode: Any = property(lambda self: self._dirichlet.mode[..., 0])
    variance: Any = property(
        lambda self: self.concentration1 * self.concentration0 / (self._total**2 * (self._total + 1))
    )
    _natural_params: Any = property(lambda self: (self.concentration1, self.concentration0))
    _mean_carrier_measure: Any = property(lambda self: self._dirichlet._mean_carrier_measure)
    _log_normalizer: Any = formula(lambda self, x, y: x.lgamma() + y.lgamma() - (x + y).lgamma())


class Kumaraswamy(Elementwise):
    """Define Kumaraswamy distributions of numbers from 0 to 1, which resemble beta distributions.

    Density: a * b * x**(a - 1) * (1 - x**a) ** (b - 1).

    concentration1: The exponent a, which is positive.
    concentration0: The exponent b, which is positive.
    """

    has_rsample = True
    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(clamp_probs(self._uniform(self.concentration1, sample_shape)))

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return a.log() + b.log() + (a - 1).xlogy(value) + (b - 1) * (-(value**a)).log1p()

    cdf: Any = formula(lambda self, value: -(self.concentration0 * (-(value**self.concentration1)).log1p()).expm1())
    icdf: Any = formula(
        lambda self, value: (-((-value).log1p() / self.concentration0).expm1()) ** self.concentration1.reciprocal()
    )

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + EULER
        return 1 - 1 / b + (1 - 1 / a) * harmonic - a.log() - b.log()

    def _moment(self, order: int) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (b.log() + (1 + order / a).lgamma() + b.lgamma() - (1 + order / a + b).lgamma()).exp()

    @property
    def mode(self) -> Tensor:
        """The mode; nan if both exponents are at most 1."""
        a, b = self.concentration1, self.concentration0
        result = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return where((a < 1) | (b < 1) | ((a == 1) & (b == 1)), math.nan, result)

    mean: Any = property(lambda self: self._moment(1))
    variance: Any = property(lambda self: self._moment(2) - self._moment(1) ** 2)


class ContinuousBernoulli(Odds, ExponentialFamily):
    """Define continuous Bernoulli distributions of numbers from 0 to 1, for example of brightness.

    Density: proportional to probs**x * (1 - probs) ** (1 - x).

    probs: Parameter from 0 to 1, which is not the mean.
    lims: Limits between which the formulas are replaced by their Taylor series at 0.5.

    Source: Loaiza-Ganem and Cunningham, The continuous Bernoulli: fixing a pervasive error in variational autoencoders,
    2019.
    """

    has_rsample = True
    support = constraints.unit_interval
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._lims = lims
        super().__init__(probs, logits, validate_args)

    def _near(self) -> tuple[Tensor, Tensor]:
        """Return whether the log odds are near 0, and log odds that are 1 there."""
        low, high = (math.log(p / (1 - p)) for p in self._lims)
        x = self.logits
        near = (x > low) & (x < high)
        return near, where(near, 1.0, x)

    @property
    def _log_norm(self) -> Tensor:
        """log C: the logarithm of the factor of probs**x * (1 - probs) ** (1 - x)."""
        near, x = self._near()
        size, small = x.abs(), where(near, self.logits, 0.0)
        # C = 2 * atanh(1 - 2 p) / (1 - 2 p) = |x| / tanh(|x| / 2)
        return where(near, math.log(2) + small**2 / 12, size.log() - (size / 2).tanh().log())

    log_prob: Any = formula(lambda self, value: self.log_prob_of_mean(value))

    def log_prob_of_mean(self, value: Tensor) -> Tensor:
        """Return the mean of `log_prob` over samples with the mean `value`, in which the log density is linear."""
        x = self.logits
        return value * x - F.softplus(x) + self._log_norm

    @formula
    def cdf(self, value: Tensor) -> Tensor:
        near, x = self._near()
        result = where(x > 0, ((value - 1) * x).exp() - (-x).exp(), (value * x).expm1())
        result = result / where(x > 0, -(-x).expm1(), x.expm1())
        return where(near, value, result).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        near, x = self._near()
        size = x.abs()
        v = where(x > 0, 1 - value, value)
        low = -(v * (-size).expm1()).log1p() / size
        return where(near, value, where(x > 0, 1 - low, low)).clamp(0, 1)

    @property
    def mean(self) -> Tensor:
        near, x = self._near()
        small = where(near, self.logits, 0.0)
        return where(near, 0.5 + small / 12, 1 / (-(-x).expm1()) - 1 / x)

    @property
    def variance(self) -> Tensor:
        near, x = self._near()
        small = where(near, self.logits, 0.0)
        rise = (x.abs() / 2).sinh().clamp(max=1e18)
        return where(near, 1 / 12 - small**2 / 240, 1 / x**2 - 1 / (4 * rise**2))

    entropy: Any = formula(lambda self: -self.log_prob_of_mean(self.mean))
    _natural_params: Any = property(lambda self: (self.logits,))

    def _log_normalizer(self, *natural: Tensor) -> Tensor:
        x = natural[0]
        near = x.abs() < 1e-3
        safe = where(near, 1.0, x)
        return where(near, x / 2 + x**2 / 24, (safe.expm1() / safe).log())
