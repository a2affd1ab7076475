"""Distributions whose last batch dims become event dims."""

from __future__ import annotations

from collections.abc import Sequence

from minigrad.distributions.distribution import Distribution, summed
from minigrad.errors import ArgumentError
from minigrad.runtime.tensor import Tensor


class Independent(Distribution):
    """Reinterpret the last batch dims of a distribution as event dims, so that `log_prob` sums over these dims.

    Parameters
    ----------
    base_distribution : Distribution
        The distribution of the elements.
    reinterpreted_batch_ndims : int
        Number of batch dims that become event dims.
    validate_args : bool, optional
        Has no effect, because the parameters of `base_distribution` were already checked.

    Raises
    ------
    ArgumentError
        If the distribution has fewer batch dims than `reinterpreted_batch_ndims`.

    Examples
    --------
    >>> import minigrad as mg
    >>> d = Independent(mg.distributions.Normal(mg.zeros(5, 2), 1.0), 1)
    >>> d.batch_shape, d.event_shape
    ((5,), (2,))
    """

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        batch = base_distribution.batch_shape
        if not 0 <= reinterpreted_batch_ndims <= len(batch):
            raise ArgumentError(
                f"Independent: reinterpreted_batch_ndims must be at most {len(batch)}, the number of batch dims of "
                f"{base_distribution}, got {reinterpreted_batch_ndims}; pass a smaller number"
            )
        kept = len(batch) - reinterpreted_batch_ndims
        super().__init__(batch[:kept], (*batch[kept:], *base_distribution.event_shape), validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Return whether samples have gradients."""
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples without a gradient."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples whose gradients flow to the parameters."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log density of `value`, summed over the reinterpreted dims."""
        result: Tensor = summed(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)
        return result

    def entropy(self) -> Tensor:
        """Return the entropy in nats, summed over the reinterpreted dims."""
        result: Tensor = summed(self.base_dist.entropy(), self.reinterpreted_batch_ndims)
        return result

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.base_dist.mean

    @property
    def variance(self) -> Tensor:
        """The variance of each element of a sample."""
        return self.base_dist.variance
