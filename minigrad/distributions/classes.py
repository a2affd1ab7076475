"""Distributions of classes: indices, one-hot vectors, counts of classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.core.dtype import finfo
from minigrad.core.roles import Number
from minigrad.core.shape import broadcast_shapes
from minigrad.distributions import constraints
from minigrad.distributions.counts import Binomial
from minigrad.distributions.distribution import Distribution, expect_one
from minigrad.distributions.utils import derived, formula, logits_to_probs, probs_to_logits
from minigrad.errors import ShapeError
from minigrad.nn import functional as F
from minigrad.ops import random
from minigrad.ops.creation import arange, eye, full
from minigrad.ops.indexing.gathering import gather
from minigrad.ops.shape.views import expand
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe

PROBS = {"probs": constraints.simplex, "logits": constraints.real_vector}


class Categorical(Distribution):
    """Define distributions of an index from 0 to n - 1; the n probabilities are in the last dim of the parameter.

    probs: Probabilities, or weights, which are divided by their sum.
    logits: Logarithms of weights, instead of `probs`.

    Raises ArgumentError if both or none of the parameters are given, or a weight is negative.
    Raises ShapeError if the parameter has no dims.

    >>> d = Categorical(mg.tensor([0.0, 0.25, 0.75]))
    >>> round(d.log_prob(mg.tensor(1)).exp().item(), 4)
    0.25
    """

    has_enumerate_support = True
    arg_constraints = PROBS

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._name, weights = expect_one("Categorical", probs=probs, logits=logits)
        if not isinstance(weights, Tensor) or weights.ndim < 1:
            raise ShapeError(
                "Categorical: probs or logits must have at least 1 dim, whose length is the number of classes, got "
                f"{describe(weights)}; pass mg.ones(3) for 3 classes, for example"
            )
        if logits is None:
            self.probs = weights / weights.sum(-1, keepdim=True)
        else:
            self.logits = weights - weights.logsumexp(-1, keepdim=True)
        self._num_events = weights.shape[-1]
        super().__init__(weights.shape[:-1], (), validate_args)

    probs: Any = derived(lambda self: logits_to_probs(self.logits))
    logits: Any = derived(lambda self: probs_to_logits(self.probs))
    _param: Any = property(lambda self: vars(self)[self._name])
    param_shape: Any = property(lambda self: self._param.shape)
    support: Any = constraints.dependent_property(
        lambda self: constraints.integer_interval(0, self._num_events - 1), is_discrete=True, event_dim=0
    )

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            return random.multinomial(rows, math.prod(sample_shape), replacement=True).T.reshape(shape)

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        logits, index = self.logits, value.long().unsqueeze(-1)
        shape = broadcast_shapes("log_prob", value.shape, self.batch_shape)
        rows = expand(logits, shape=(*shape, self._num_events))
        return gather(rows, -1, expand(index, shape=(*shape, 1))).squeeze(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(arange(self._num_events, device=self._param.device), expand)

    entropy: Any = formula(
        lambda self: -(self.logits.clamp(min=float(finfo(self.logits.dtype).min)) * self.probs).sum(-1)
    )
    mean: Any = property(lambda self: full(self.batch_shape, math.nan, dtype=self._param.dtype))
    mode: Any = property(lambda self: self.probs.argmax(-1))
    variance: Any = property(lambda self: self.mean)


class OfClasses(Distribution):
    """The base class of distributions of vectors with one element per class.

    probs: Probabilities, or weights, which are divided by their sum.
    logits: Logarithms of weights, instead of `probs`.
    """

    arg_constraints = PROBS

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,), validate_args)

    probs: Any = property(lambda self: self._categorical.probs)
    logits: Any = property(lambda self: self._categorical.logits)
    _param: Any = property(lambda self: self._categorical._param)
    param_shape: Any = property(lambda self: self._param.shape)


class OneHotCategorical(OfClasses):
    """Define distributions of one-hot vectors, which are 1 at the index of a class and 0 elsewhere.

    >>> d = OneHotCategorical(mg.tensor([0.0, 1.0, 0.0]))
    >>> d.sample().tolist(), d.event_shape
    ([0.0, 1.0, 0.0], (3,))
    """

    has_enumerate_support = True
    support = constraints.one_hot

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        index: Any = self._categorical.sample(sample_shape)
        return F.one_hot(index, self._categorical._num_events).to(self.probs.dtype)

    log_prob: Any = formula(lambda self, value: self._categorical.log_prob(value.argmax(-1)))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(eye(self.event_shape[0], dtype=self._param.dtype, device=self._param.device), expand)

    entropy: Any = formula(lambda self: self._categorical.entropy())
    mean: Any = property(lambda self: self.probs)
    mode: Any = property(lambda self: F.one_hot(self.probs.argmax(-1), self.event_shape[0]).to(self.probs.dtype))
    variance: Any = property(lambda self: self.probs * (1 - self.probs))


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples have the gradient of the probabilities.

    Source: Bengio, Leonard and Courville, Estimating or propagating gradients through stochastic neurons, 2013.
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return one-hot vectors, whose gradients are passed unchanged to the probabilities."""
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())


class Multinomial(OfClasses):
    """Define the distributions of the counts of the classes in `total_count` draws.

    Probability of counts k: n! times the product of p[i] ** k[i] / k[i]!.

    total_count: Number of draws n.
    """

    total_count: int

    def __init__(
        self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if isinstance(total_count, bool) or not isinstance(total_count, int):
            raise NotImplementedError(
                f"Multinomial: total_count must be an int, got {describe(total_count)}; use one distribution per count"
            )
        Number(0, whole=True, example=1).expect("Multinomial", total_count=total_count)
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)
        self._name = self._categorical._name

    support: Any = constraints.dependent_property(
        lambda self: constraints.multinomial(self.total_count), is_discrete=True, event_dim=1
    )

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        draws = self._categorical.sample((self.total_count, *sample_shape)) if self.total_count else None
        if draws is None:
            return self._param.detach().new_zeros(self._extended_shape(sample_shape))
        return F.one_hot(draws, self.event_shape[0]).sum(0).to(self._param.dtype)

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        if self._name == "probs":  # exact for probabilities of 0
            return ways + value.xlogy(self.probs).sum(-1)
        logits = self.logits.masked_fill((value == 0) & (self.logits == -math.inf), 0.0)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        """Return the entropy in nats, by sums over the counts of each class alone."""
        n = self.total_count
        single = Binomial(n, probs=self.probs, validate_args=False)
        counts = arange(n + 1, dtype=self._param.dtype).reshape(-1, *[1] * self.probs.ndim)
        same = (single.log_prob(counts).exp() * (counts + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - math.lgamma(n + 1) + same

    mean: Any = property(lambda self: self.probs * self.total_count)
    variance: Any = property(lambda self: self.total_count * self.probs * (1 - self.probs))
