"""Continuous relaxations of Bernoulli and categorical distributions, whose samples have gradients.

Source: Maddison, Mnih and Teh, The concrete distribution, 2017; Jang, Gu and Poole, Categorical reparameterization with
Gumbel-softmax, 2017.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.distributions import constraints
from minigrad.distributions.classes import PROBS, OfClasses
from minigrad.distributions.combined import TransformedDistribution
from minigrad.distributions.distribution import Odds
from minigrad.distributions.transforms import ExpTransform, SigmoidTransform
from minigrad.distributions.utils import broadcast_all, clamp_probs, formula
from minigrad.nn import functional as F
from minigrad.runtime.tensor import Tensor


class LogitRelaxedBernoulli(Odds):
    """Define the distributions of the log odds of `RelaxedBernoulli` samples.

    temperature: Positive number; samples approach 0 and 1 as it approaches 0.
    probs: Probability of 1.
    """

    has_rsample = True
    support = constraints.real

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        u = clamp_probs(self._uniform(self._param, sample_shape))
        return (u.log() - (-u).log1p() + self.logits) / self.temperature

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        off = logits - value * self.temperature
        scale = self.temperature.log() if isinstance(self.temperature, Tensor) else math.log(self.temperature)
        return scale + off - 2 * F.softplus(off)


class Relaxed(TransformedDistribution):
    """The base class of relaxations whose samples are transforms of samples of another relaxation.

    temperature: Positive number; samples approach the values without relaxation as it approaches 0.
    """

    has_rsample = True
    _logarithm: Any
    _transform: Any
    temperature: Any = property(lambda self: self.base_dist.temperature)
    probs: Any = property(lambda self: self.base_dist.probs)
    logits: Any = property(lambda self: self.base_dist.logits)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = self._logarithm(temperature, probs, logits, validate_args)
        super().__init__(base, self._transform(), validate_args)


class RelaxedBernoulli(Relaxed):
    """Define distributions of numbers from 0 to 1 near Bernoulli samples, whose samples have gradients.

    temperature: Positive number; samples approach 0 and 1 as it approaches 0.
    probs: Probability of 1.
    logits: Logarithm of the odds, instead of `probs`.
    """

    arg_constraints = Odds.arg_constraints
    support = constraints.unit_interval
    _logarithm, _transform = LogitRelaxedBernoulli, SigmoidTransform


class ExpRelaxedCategorical(OfClasses):
    """Define the distributions of the logarithms of `RelaxedOneHotCategorical` samples."""

    has_rsample = True
    support = constraints.real_vector

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        u = clamp_probs(self._uniform(self.logits, sample_shape))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return F.log_softmax(scores, -1)

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        n, t = self.event_shape[0], self.temperature
        logits, value = broadcast_all(self.logits, value)
        log_t = t.log() if isinstance(t, Tensor) else math.log(t)
        score = F.log_softmax(logits - value * t, -1).sum(-1)
        return score + math.lgamma(n) + (n - 1) * log_t


class RelaxedOneHotCategorical(Relaxed):
    """Define distributions of weights near one-hot vectors, whose samples have gradients (Gumbel-softmax).

    probs (Tensor): Probabilities, or weights, which are divided by their sum.
    logits (Tensor): Logarithms of weights, instead of `probs`.
    """

    arg_constraints = PROBS
    support = constraints.simplex
    _logarithm, _transform = ExpRelaxedCategorical, ExpTransform
