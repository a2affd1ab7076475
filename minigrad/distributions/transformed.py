"""Distributions of a function of samples: `TransformedDistribution` and `LogNormal`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.distributions.distribution import Distribution, summed
from minigrad.distributions.normal import Normal
from minigrad.distributions.transforms import ComposeTransform, ExpTransform, Transform
from minigrad.errors import ArgumentError
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe


class TransformedDistribution(Distribution):
    """Define the distribution of the values that transforms compute from samples x of a base distribution.

    Parameters
    ----------
    base_distribution : Distribution
        Distribution of x.
    transforms : Transform or list of Transform
        Transforms in the order in which they are applied.
    validate_args : bool, optional
        Has no effect, because the parameters of the base were already checked.

    Raises
    ------
    ArgumentError
        If an entry of `transforms` is not a Transform, or the event dims of the transforms exceed the dims of the base.

    Examples
    --------
    >>> import minigrad as mg
    >>> from minigrad.distributions.transforms import TanhTransform
    >>> policy = TransformedDistribution(Normal(mg.zeros(2), 1.0), TanhTransform(cache_size=1))
    >>> bool((policy.rsample((100,)).abs() <= 1).all())
    True
    """

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        self.base_dist = base_distribution
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        for each in self.transforms:
            if not isinstance(each, Transform):
                raise ArgumentError(
                    "TransformedDistribution: transforms must be a Transform or a list of Transforms, got "
                    f"{describe(each)}; pass ExpTransform(), for example"
                )
        whole, event = ComposeTransform(self.transforms), base_distribution.event_shape
        shape = whole.forward_shape((*base_distribution.batch_shape, *event))
        dims = max(whole.event_dim, len(event))
        if dims > len(shape):
            raise ArgumentError(
                f"TransformedDistribution: the transforms require at least {dims} dims, got {base_distribution} with "
                "fewer dims; expand the parameters of base_distribution"
            )
        if shape[len(shape) - len(event) :] != event:
            raise ArgumentError(
                f"TransformedDistribution: the transforms change the shape of a value of {base_distribution} to "
                f"{shape}; expand the parameters of base_distribution to this shape first"
            )
        kept = len(shape) - dims
        super().__init__(shape[:kept], shape[kept:], validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Return whether samples have gradients."""
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples without a gradient."""
        with no_grad():
            return self._mapped(self._drawn(self.base_dist.sample, sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples, whose gradients flow to the parameters of the base and of the transforms."""
        return self._mapped(self._drawn(self.base_dist.rsample, sample_shape))

    def _drawn(self, draw: Callable[[Sequence[int]], Tensor], sample_shape: Sequence[int]) -> Tensor:
        """Return samples of the base, broadcast to the shape of the transforms."""
        own = (*self.base_dist.batch_shape, *self.base_dist.event_shape)
        shape = (*self.batch_shape, *self.event_shape)
        first = len(shape) - len(own)  # number of dims that the base does not have
        stretched = [d for d, n in enumerate(own) if n != shape[first + d]]
        x = draw((*sample_shape, *shape[:first], *[shape[first + d] for d in stretched]))
        # The samples for an expanded dim come before the dims of the base; exchange this dim with the dim of length 1.
        before = len(sample_shape) + first
        for k, d in enumerate(stretched):
            x = x.transpose(before + k, before + len(stretched) + d)
        return x.reshape((*sample_shape, *shape)) if stretched else x

    def _mapped(self, x: Tensor) -> Tensor:
        for each in self.transforms:
            x = each(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log density: that of the base, minus the log absolute Jacobian determinants of the transforms."""
        total: Any = 0.0
        y: Any = value
        for each in reversed(self.transforms):
            x = each.inverse(y)
            total = total - summed(each.log_abs_det_jacobian(x, y), len(self.event_shape) - each.event_dim)
            y = x
        rest = len(self.event_shape) - len(self.base_dist.event_shape)
        result: Tensor = total + summed(self.base_dist.log_prob(y), rest)
        return result

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a sample of at most `value` (elementwise only)."""
        sign: Any = 1
        for each in reversed(self.transforms):
            value = each.inverse(value)
            sign = sign * each.sign
        base: Any = self.base_dist
        below = base.cdf(value)
        return below if isinstance(sign, int) and sign == 1 else sign * (below - 0.5) + 0.5


class LogNormal(TransformedDistribution):
    """Define the distributions of exp(x) for normally distributed x, one per element of the parameters.

    Parameters
    ----------
    loc, scale : Tensor or float
        Mean and standard deviation of x.
    validate_args : bool, optional
        Whether to check the parameters.

    Raises
    ------
    ArgumentError
        If a standard deviation is not positive.

    Examples
    --------
    >>> import minigrad as mg
    >>> round(LogNormal(0.0, 1.0).mean.item(), 4)
    1.6487
    """

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._normal = Normal(loc, scale, validate_args)
        super().__init__(self._normal, ExpTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of x."""
        return self._normal.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of x."""
        return self._normal.scale

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return self._normal.entropy() + self.loc

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def variance(self) -> Tensor:
        """The variance."""
        square = self.scale**2
        return square.expm1() * (2 * self.loc + square).exp()
