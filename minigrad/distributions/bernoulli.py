"""The Bernoulli distribution, whose values are 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.core.dtype import finfo
from minigrad.distributions.distribution import Distribution, broadcast_all
from minigrad.errors import ArgumentError
from minigrad.nn import functional as F
from minigrad.ops import random
from minigrad.ops.shape.views import expand
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor


class Bernoulli(Distribution):
    """Define Bernoulli distributions, one per element of the parameter: 1 with a given probability, otherwise 0.

    Parameters
    ----------
    probs : Tensor or float, optional
        Probability of the value 1.
    logits : Tensor or float, optional
        Logarithm of the odds, instead of `probs`.
    validate_args : bool, optional
        Whether to check the parameter.

    Raises
    ------
    ArgumentError
        If both or none of the parameters are given, or a probability is not from 0 to 1.

    Examples
    --------
    >>> Bernoulli(probs=1.0).sample().item()
    1.0
    """

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ArgumentError(
                "Bernoulli: expected either probs or logits, got both or neither; pass probs, for example"
            )
        self._name = "probs" if logits is None else "logits"
        (self._parameter,) = broadcast_all(probs if logits is None else logits)
        super().__init__(self._parameter.shape, (), validate_args)

    def _check(self) -> None:
        if self._name == "probs":
            self._require((self._parameter >= 0) & (self._parameter <= 1), "probs", "from 0 to 1")

    @property
    def probs(self) -> Tensor:
        """The probability of the value 1."""
        return self._parameter if self._name == "probs" else self._parameter.sigmoid()

    @property
    def logits(self) -> Tensor:
        """The logarithm of the odds; probabilities are limited to [eps, 1 - eps] with the eps of the dtype."""
        if self._name == "logits":
            return self._parameter
        eps = float(finfo(self._parameter.dtype).eps)
        p = self._parameter.clamp(eps, 1 - eps)
        return p.log() - (-p).log1p()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return zeros and ones of shape `sample_shape + batch_shape`."""
        with no_grad():
            return random.bernoulli(expand(self.probs, shape=self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of `value`."""
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    @property
    def mean(self) -> Tensor:
        """The mean, which is the probability of the value 1."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """The variance, which is the product of both probabilities."""
        return self.probs * (1 - self.probs)
