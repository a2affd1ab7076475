"""The exponential distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.distributions.distribution import Distribution, broadcast_all
from minigrad.ops import random
from minigrad.runtime.tensor import Tensor


class Exponential(Distribution):
    """Define exponential distributions, one per element of the parameter.

    Parameters
    ----------
    rate : Tensor or float
        Inverse of the mean.
    validate_args : bool, optional
        Whether to check the parameters.

    Raises
    ------
    ArgumentError
        If a rate is not positive.

    Examples
    --------
    >>> import minigrad as mg
    >>> Exponential(2.0).mean.item(), Exponential(2.0).log_prob(mg.tensor(0.0)).exp().item()
    (0.5, 2.0)
    """

    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)

    def _check(self) -> None:
        self._require(self.rate > 0, "rate", "positive")

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples, whose gradients flow to the rate."""
        u = random.rand(self._extended_shape(sample_shape), dtype=self.rate.dtype, device=self.rate.device)
        return self.icdf(u)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a sample of at most `value`."""
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value that `cdf` maps to a probability."""
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return 1.0 - self.rate.log()

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.rate**-2
