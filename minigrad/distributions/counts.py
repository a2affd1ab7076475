"""Distributions of integers: Bernoulli, binomial, geometric, negative binomial and Poisson."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.distributions import constraints
from minigrad.distributions.distribution import Elementwise, ExponentialFamily, Odds
from minigrad.distributions.sampling import binomial, log_standard_gamma, poisson
from minigrad.distributions.utils import broadcast_all, formula
from minigrad.nn import functional as F
from minigrad.ops import random
from minigrad.ops.creation import arange, full_like
from minigrad.ops.pointwise.compare import where
from minigrad.ops.shape.views import expand
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor


class Bernoulli(Odds, ExponentialFamily):
    """Define Bernoulli distributions, one per element of the parameter: 1 with a given probability, otherwise 0.

    probs: Probability of the value 1.

    Raises ArgumentError if both or none of the parameters are given, or a probability is not from 0 to 1.

    >>> Bernoulli(probs=1.0).sample().item()
    1.0
    """

    has_enumerate_support = True
    support = constraints.boolean
    _mean_carrier_measure = 0

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return random.bernoulli(expand(self.probs, shape=self._extended_shape(sample_shape)))

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    entropy: Any = formula(lambda self: F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none"))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    mean: Any = property(lambda self: self.probs)
    variance: Any = property(lambda self: self.probs * (1 - self.probs))
    mode: Any = property(
        lambda self: where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs.dtype)),
        doc="The more probable value; nan for a probability of 1/2.",
    )
    _natural_params: Any = property(lambda self: (self.logits,))
    _log_normalizer: Any = formula(lambda self, x: F.softplus(x))


class Binomial(Odds):
    """Define the distributions of the number of successes in `total_count` trials.

    Probability of k: n! / (k! (n - k)!) * p**k * (1 - p) ** (n - k).

    total_count (int or Tensor): Number of trials n.
    probs: Probability p of a success.
    """

    has_enumerate_support = True
    arg_constraints = {"total_count": constraints.nonnegative_integer, **Odds.arg_constraints}

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    support: Any = constraints.dependent_property(
        lambda self: constraints.integer_interval(0, self.total_count), is_discrete=True, event_dim=0
    )

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(expand(self.total_count, shape=shape), expand(self.probs, shape=shape))

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        if self._name == "probs":  # exact for probabilities of 0 and 1
            return ways + value.xlogy(self.probs) + (n - value).xlogy(1 - self.probs)
        return ways + value * self.logits - n * F.softplus(self.logits)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(arange(1 + self._trials("enumerate_support"), dtype=self._param.dtype), expand)

    def _trials(self, method: str) -> int:
        """Return the common number of trials.  Raises NotImplementedError if the numbers differ."""
        n = int(self.total_count.max().item()) if self.total_count.numel() else 0
        if not (self.total_count == n).all().item():
            raise NotImplementedError(
                f"Binomial.{method}: the elements of total_count must be equal, got different values; use one "
                "distribution per value"
            )
        return n

    def entropy(self) -> Tensor:
        """Return the entropy in nats, a sum over all values; all elements of `total_count` must be equal."""
        log_p = self.log_prob(self._enumerated(arange(1 + self._trials("entropy"), dtype=self._param.dtype), False))
        return -(log_p.exp() * where(log_p > -math.inf, log_p, 0.0)).sum(0)

    mean: Any = property(lambda self: self.total_count * self.probs)
    mode: Any = property(lambda self: ((self.total_count + 1) * self.probs).floor().minimum(self.total_count))
    variance: Any = property(lambda self: self.total_count * self.probs * (1 - self.probs))


class Geometric(Odds):
    """Define the distributions of the number of failures before the first success.

    Probability of k: (1 - p)**k * p.

    probs: Probability p of a success, which is positive.
    """

    support = constraints.nonnegative_integer

    def _check(self) -> None:
        super()._check()
        if self._name == "probs":
            self._require(self.probs > 0, "probs", "positive")

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            u = self._uniform(self._param, sample_shape, smallest=True)
            return (u.log() / (-self.probs).log1p()).floor()

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        if self._name == "logits":
            return self.logits - (value + 1) * F.softplus(self.logits)
        return value.xlogy(1 - self.probs) + self.probs.log()

    entropy: Any = formula(
        lambda self: F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
    )
    mean: Any = property(lambda self: 1 / self.probs - 1)
    mode: Any = property(lambda self: full_like(self.probs, 0.0))
    variance: Any = property(lambda self: (1 / self.probs - 1) / self.probs)


class NegativeBinomial(Odds):
    """Define the distributions of the number of successes before `total_count` failures.

    Probability of k: gamma(n + k) / (k! gamma(n)) * p**k * (1 - p)**n.

    total_count (Tensor or float): Number of failures n, which is at least 0 and need not be an integer.
    probs: Probability p of a success, at least 0 and below 1.
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples: Poisson numbers whose means are gamma samples with the factor exp(logits)."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            log_mean = log_standard_gamma(expand(self.total_count, shape=shape)) + self.logits
            return poisson(log_mean.exp().to(self._param.dtype))

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        if self._name == "logits":
            chances = -n * F.softplus(self.logits) - value * F.softplus(-self.logits)
        else:
            chances = n.xlogy(1 - self.probs) + value.xlogy(self.probs)
        return chances + where(n + value == 0, 0.0, (n + value).lgamma() - (1 + value).lgamma() - n.lgamma())

    mean: Any = property(lambda self: self.total_count * self.logits.exp())
    mode: Any = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0))
    variance: Any = property(lambda self: self.mean / (-self.logits).sigmoid())


class Poisson(Elementwise, ExponentialFamily):
    """Define Poisson distributions of numbers of events, one per element of the parameter.

    Probability of k: rate**k * exp(-rate) / k!.

    rate: Mean, which is at least 0.

    >>> Poisson(mg.tensor(0.0)).log_prob(mg.tensor(0.0)).item()
    0.0
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return poisson(expand(self.rate, shape=self._extended_shape(sample_shape)))

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    mean: Any = property(lambda self: self.rate)
    mode: Any = property(lambda self: self.rate.floor())
    variance: Any = property(lambda self: self.rate)
    _natural_params: Any = property(lambda self: (self.rate.log(),))
    _log_normalizer: Any = formula(lambda self, x: x.exp())
