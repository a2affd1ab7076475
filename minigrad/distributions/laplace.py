"""The Laplace distribution."""

from __future__ import annotations

from collections.abc import Sequence

from minigrad.core.dtype import finfo
from minigrad.distributions.distribution import LocationScale
from minigrad.ops import random
from minigrad.runtime.tensor import Tensor


class Laplace(LocationScale):
    """Define Laplace distributions, one per element of the parameters: exponential on both sides of `loc`.

    Parameters
    ----------
    loc : Tensor or float
        Mean of the distribution.
    scale : Tensor or float
        Scale: the mean distance from `loc`.
    validate_args : bool, optional
        Whether to check the parameters.

    Raises
    ------
    ArgumentError
        If a scale is not positive.

    Examples
    --------
    >>> import minigrad as mg
    >>> round(Laplace(0.0, 1.0).log_prob(mg.tensor(0.0)).item(), 4)
    -0.6931
    """

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples, whose gradients flow to the parameters."""
        u = random.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        # At u = 0, the sample would be -inf.  eps / 2 is the smallest u for which 0.5 - u is not rounded to 0.5.
        return self.icdf(u.clamp(min=float(finfo(u.dtype).eps) / 2))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a sample of at most `value`."""
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value that `cdf` maps to a probability."""
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return 1 + (2 * self.scale).log()

    @property
    def mean(self) -> Tensor:
        """The mean, `loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return 2 * self.scale**2
