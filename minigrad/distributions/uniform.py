"""The uniform distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.distributions.distribution import Distribution, broadcast_all
from minigrad.ops import random
from minigrad.ops.pointwise.compare import where
from minigrad.runtime.tensor import Tensor


class Uniform(Distribution):
    """Define uniform distributions between two bounds, one per element of the parameters.

    Parameters
    ----------
    low, high : Tensor or float
        Lower and upper bound; `high` itself does not occur.
    validate_args : bool, optional
        Whether to check the parameters.

    Raises
    ------
    ArgumentError
        If `low` is not less than `high`.

    Examples
    --------
    >>> Uniform(0.0, 4.0).mean.item()
    2.0
    """

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, (), validate_args)

    def _check(self) -> None:
        self._require(self.low < self.high, "low", "below high")

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples, whose gradients flow to the bounds."""
        noise = random.rand(self._extended_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + noise * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, which is -inf outside the bounds."""
        inside = (self.low <= value) & (value < self.high)
        return where(inside, -(self.high - self.low).log(), -math.inf)

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return (self.high - self.low).log()

    @property
    def mean(self) -> Tensor:
        """The mean, which is the midpoint of the bounds."""
        return (self.low + self.high) / 2

    @property
    def variance(self) -> Tensor:
        """The variance, which is (high - low)**2 / 12."""
        return (self.high - self.low) ** 2 / 12
