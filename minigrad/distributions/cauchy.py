"""The Cauchy distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minigrad.distributions.distribution import LocationScale
from minigrad.ops import random
from minigrad.ops.creation import full_like
from minigrad.runtime.tensor import Tensor


class Cauchy(LocationScale):
    """Define Cauchy distributions, which have no mean, one per element of the parameters.

    Parameters
    ----------
    loc : Tensor or float
        Median of the distribution.
    scale : Tensor or float
        Half the interquartile range.
    validate_args : bool, optional
        Whether to check the parameters.

    Raises
    ------
    ArgumentError
        If a scale is not positive.

    Examples
    --------
    >>> import minigrad as mg
    >>> Cauchy(1.0, 2.0).cdf(mg.tensor(3.0)).item()
    0.75
    """

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples, whose gradients flow to the parameters."""
        u = random.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.icdf(u)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a sample of at most `value`."""
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value that `cdf` maps to a probability."""
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return math.log(4 * math.pi) + self.scale.log()

    @property
    def mean(self) -> Tensor:
        """Nan, because the distribution has no mean."""
        return full_like(self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        """Infinity, because the variance does not exist."""
        return full_like(self.loc, math.inf)
