"""The Gumbel distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minigrad.core.dtype import finfo
from minigrad.distributions.distribution import LocationScale
from minigrad.ops import random
from minigrad.runtime.tensor import Tensor

EULER = 0.57721566490153286061


class Gumbel(LocationScale):
    """Define Gumbel distributions, which approximate the maximum of many samples, one per element of the parameters.

    Parameters
    ----------
    loc : Tensor or float
        Mode of the distribution.
    scale : Tensor or float
        Scale of the distribution; the standard deviation is scale * pi / sqrt(6).
    validate_args : bool, optional
        Whether to check the parameters.

    Raises
    ------
    ArgumentError
        If a scale is not positive.

    Examples
    --------
    >>> round(Gumbel(0.0, 1.0).mean.item(), 4)
    0.5772
    """

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples, whose gradients flow to the parameters."""
        u = random.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.icdf(u.clamp(min=float(finfo(u.dtype).tiny)))  # without the bound, u = 0 would return -inf

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a sample of at most `value`."""
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value that `cdf` maps to a probability."""
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return self.scale.log() + (1 + EULER)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc + self.scale * EULER

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale**2 * (math.pi**2 / 6)
