"""The categorical distribution whose samples are one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.distributions.categorical import Categorical
from minigrad.distributions.distribution import Distribution
from minigrad.nn import functional as F
from minigrad.runtime.tensor import Tensor


class OneHotCategorical(Distribution):
    """Define distributions of one-hot vectors, which are 1 at the index of a class and 0 elsewhere.

    The arguments are the same as for `Categorical`.

    Examples
    --------
    >>> import minigrad as mg
    >>> d = OneHotCategorical(mg.tensor([0.0, 1.0, 0.0]))
    >>> d.sample().tolist(), d.event_shape
    ([0.0, 1.0, 0.0], (3,))
    """

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,), validate_args)

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities of the classes."""
        return self._categorical.logits

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return one-hot vectors of shape `sample_shape + batch_shape + event_shape`."""
        index: Any = self._categorical.sample(sample_shape)
        result: Tensor = F.one_hot(index, self._categorical._num_events).to(self.probs.dtype)
        return result

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of the classes in `value`."""
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return self._categorical.entropy()

    @property
    def mean(self) -> Tensor:
        """The mean, which is the vector of probabilities."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """The variance of each element of a sample."""
        return self.probs * (1 - self.probs)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples have the gradient of the probabilities.

    References
    ----------
    Bengio, Leonard and Courville, Estimating or propagating gradients through stochastic neurons, 2013.
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return one-hot vectors, whose gradients are passed unchanged to the probabilities."""
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())
