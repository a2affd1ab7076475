"""The normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minigrad.distributions.distribution import LocationScale
from minigrad.ops import random
from minigrad.runtime.tensor import Tensor

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class Normal(LocationScale):
    """Define normal distributions, one per element of the parameters.

    Parameters
    ----------
    loc : Tensor or float
        Mean of the distribution.
    scale : Tensor or float
        Standard deviation of the distribution.
    validate_args : bool, optional
        Whether to check the parameters.

    Raises
    ------
    ArgumentError
        If a standard deviation is not positive.

    Examples
    --------
    >>> import minigrad as mg
    >>> round(Normal(0.0, 1.0).log_prob(mg.tensor(0.0)).item(), 4)
    -0.9189
    """

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples `loc + scale * noise`, whose gradients flow to both parameters."""
        noise = random.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - HALF_LOG_2PI

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a sample of at most `value`."""
        return 0.5 * (1 + ((value - self.loc) / (self.scale * math.sqrt(2))).erf())

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return 0.5 + HALF_LOG_2PI + self.scale.log()

    @property
    def mean(self) -> Tensor:
        """The mean, `loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance, which is the square of `scale`."""
        return self.scale**2
