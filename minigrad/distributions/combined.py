"""Distributions that consist of distributions: independent elements, transforms of samples, mixtures."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from minigrad.distributions import constraints
from minigrad.distributions.classes import Categorical
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.real_line import Normal
from minigrad.distributions.transform_base import widened
from minigrad.distributions.transforms import ComposeTransform, ExpTransform, StickBreakingTransform, Transform
from minigrad.distributions.utils import formula, summed
from minigrad.errors import ArgumentError
from minigrad.nn import functional as F
from minigrad.ops.indexing.gathering import gather
from minigrad.ops.shape.views import expand
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe


class Independent(Distribution):
    """Reinterpret the last batch dims of a distribution as event dims, so that `log_prob` sums over these dims.

    base_distribution: The distribution of the elements.
    reinterpreted_batch_ndims: Number of batch dims that become event dims.
    validate_args: Has no effect, because the parameters of `base_distribution` were already checked.

    Raises ArgumentError if the distribution has fewer batch dims than `reinterpreted_batch_ndims`.

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
                f"{base_distribution._shapes()}, got {reinterpreted_batch_ndims}; pass a smaller number"
            )
        kept = len(batch) - reinterpreted_batch_ndims
        super().__init__(batch[:kept], (*batch[kept:], *base_distribution.event_shape), validate_args)

    has_rsample: Any = property(lambda self: self.base_dist.has_rsample)
    has_enumerate_support: Any = property(
        lambda self: self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support
    )

    @constraints.dependent_property
    def support(self) -> Any:
        """Return the support of the base, with more event dims."""
        n, own = self.reinterpreted_batch_ndims, self.base_dist.support
        return constraints.independent(own, n) if n and own is not None else own

    sample: Any = formula(lambda self, sample_shape=(): self.base_dist.sample(sample_shape))
    rsample: Any = formula(lambda self, sample_shape=(): self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log density of `value`, summed over the reinterpreted dims."""
        return summed(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """Return the entropy in nats, summed over the reinterpreted dims."""
        return summed(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise self._lacks("enumerate_support", "enumerate the support of base_dist")
        return self.base_dist.enumerate_support(expand)

    mean: Any = property(lambda self: self.base_dist.mean)
    mode: Any = property(lambda self: self.base_dist.mode)
    variance: Any = property(lambda self: self.base_dist.variance)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """Define the distribution of the values that transforms compute from samples x of a base distribution.

    base_distribution: Distribution of x.
    transforms (Transform or list of Transform): Transforms in the order in which they are applied.

    Raises ArgumentError if an entry of `transforms` is not a Transform, or the event dims of the transforms exceed the
    dims of the base.

    >>> from minigrad.distributions.transforms import TanhTransform
    >>> policy = TransformedDistribution(Normal(mg.zeros(2), 1.0), TanhTransform(cache_size=1))
    >>> bool((policy.rsample((100,)).abs() <= 1).all())
    True
    """

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        for each in self.transforms:
            if not isinstance(each, Transform):
                raise ArgumentError(
                    "TransformedDistribution: transforms must be a Transform or a list of Transforms, got "
                    f"{describe(each)}; pass ExpTransform(), for example"
                )
        whole, event = self._whole, base_distribution.event_shape
        own = (*base_distribution.batch_shape, *event)
        inner = whole.domain.event_dim
        if inner > len(own):
            raise ArgumentError(
                f"TransformedDistribution: the transforms require at least {inner} dims, got "
                f"{base_distribution._shapes()} with fewer dims; expand the parameters of base_distribution"
            )
        shape = whole.forward_shape(own)
        stretched = whole.inverse_shape(shape)
        kept = len(stretched) - len(event)
        if stretched[kept:] != event:
            raise ArgumentError(
                f"TransformedDistribution: the transforms change the shape of a value of {base_distribution._shapes()} "
                f"to {shape}; expand the parameters of base_distribution to this shape first"
            )
        base = base_distribution.expand(stretched[:kept]) if stretched != own else base_distribution
        self.base_dist = Independent(base, inner - len(event)) if inner > len(event) else base
        dims = max(whole.codomain.event_dim, len(self.base_dist.event_shape) + whole.codomain.event_dim - inner)
        super().__init__(shape[: len(shape) - dims], shape[len(shape) - dims :], validate_args)

    # All transforms as one.
    _whole: Any = property(lambda self: ComposeTransform(self.transforms))

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = copy.copy(self)
        shape = self._whole.inverse_shape((*batch_shape, *self.event_shape))
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.batch_shape = type(self.batch_shape)(batch_shape)
        return new

    has_rsample: Any = property(lambda self: self.base_dist.has_rsample)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """Return the codomain of the last transform, with the event dims of the distribution."""
        if not self.transforms:
            return self.base_dist.support
        return widened(self.transforms[-1].codomain, len(self.event_shape))

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return self._whole(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples, whose gradients flow to the parameters of the base and of the transforms."""
        return self._whole(self.base_dist.rsample(sample_shape))

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log density: that of the base, minus the log absolute Jacobian determinants of the transforms."""
        total: Any = 0.0
        dims = len(self.event_shape)
        y: Any = value
        for each in reversed(self.transforms):
            x = each.inverse(y)
            dims += each.domain.event_dim - each.codomain.event_dim
            total = total - summed(each.log_abs_det_jacobian(x, y), dims - each.domain.event_dim)
            y = x
        return total + summed(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    @formula
    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a sample of at most `value` (elementwise only)."""
        return self._reflected(self.base_dist.cdf(self._whole.inverse(value)))

    icdf: Any = formula(lambda self, value: self._whole(self.base_dist.icdf(self._reflected(value))))

    def _reflected(self, p: Tensor) -> Tensor:
        sign = self._whole.sign
        return p if isinstance(sign, int) and sign == 1 else sign * (p - 0.5) + 0.5

    def __repr__(self) -> str:
        return self._shapes()


class LogNormal(TransformedDistribution):
    """Define the distributions of exp(x) for normally distributed x, one per element of the parameters.

    loc and scale: Mean of x, and its standard deviation, which is positive.

    >>> round(LogNormal(0.0, 1.0).mean.item(), 4)
    1.6487
    """

    arg_constraints = Normal.arg_constraints
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    loc: Any = property(lambda self: self.base_dist.loc)
    scale: Any = property(lambda self: self.base_dist.scale)
    entropy: Any = formula(lambda self: self.base_dist.entropy() + self.loc)
    mean: Any = property(lambda self: (self.loc + self.scale**2 / 2).exp())
    mode: Any = property(lambda self: (self.loc - self.scale**2).exp())
    variance: Any = property(lambda self: (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp())


class LogisticNormal(TransformedDistribution):
    """Define distributions of weights with the sum 1: the broken stick of normal numbers.

    loc and scale: Means and standard deviations of the normal numbers, of shape (..., n - 1) for n weights.
    """

    arg_constraints = Normal.arg_constraints
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        normal = Normal(loc, scale, validate_args)
        normal = normal if normal.batch_shape else normal.expand((1,))
        super().__init__(normal, StickBreakingTransform(), validate_args)

    loc: Any = property(lambda self: self.base_dist.base_dist.loc)
    scale: Any = property(lambda self: self.base_dist.base_dist.scale)


class MixtureSameFamily(Distribution):
    """Define mixtures: a class selects one of several distributions, from which a sample is drawn.

    mixture_distribution: The distribution of the class, with the batch shape of the mixture.
    component_distribution: The distributions of all classes, whose last batch dim is the class.
    validate_args: Whether to check values.
    """

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        weights, parts = mixture_distribution, component_distribution
        if not isinstance(weights, Categorical):
            raise ArgumentError(
                f"MixtureSameFamily: mixture_distribution must be a Categorical, got {describe(weights)}; pass "
                "Categorical(mg.ones(3))"
            )
        if not isinstance(parts, Distribution) or not parts.batch_shape:
            raise ArgumentError(
                "MixtureSameFamily: component_distribution must be a Distribution with at least 1 batch dim, got "
                f"{describe(parts)}; pass Normal(mg.zeros(3), 1.0)"
            )
        batch, n = parts.batch_shape[:-1], parts.batch_shape[-1]
        fits = all(i == j or 1 in (i, j) for i, j in zip(reversed(batch), reversed(weights.batch_shape), strict=False))
        if not fits or weights._num_events != n:
            raise ArgumentError(
                f"MixtureSameFamily: the batch dims of component_distribution must be those of mixture_distribution "
                f"and its number of classes, {(*weights.batch_shape, weights._num_events)}, got "
                f"{parts.batch_shape}; expand its parameters"
            )
        self._component_distribution = parts
        self._mixture_distribution = weights if weights.batch_shape == batch else weights.expand(batch)
        self._num_component = n
        super().__init__(batch, parts.event_shape, validate_args)

    mixture_distribution: Any = property(lambda self: self._mixture_distribution)
    component_distribution: Any = property(lambda self: self._component_distribution)
    has_rsample = False
    support: Any = constraints.dependent_property(
        lambda self: constraints.MixtureSameFamilyConstraint(self._component_distribution.support)
    )

    def _padded(self, x: Tensor) -> Tensor:
        """Return x with a dim of length 1 for the components."""
        return x.unsqueeze(-1 - len(self.event_shape))

    def _averaged(self, x: Tensor) -> Tensor:
        """Return the mean of a property of the components, by their probabilities."""
        events = len(self.event_shape)
        p = self._mixture_distribution.probs
        return (p.reshape(*p.shape, *[1] * events) * x).sum(-1 - events)

    mean: Any = property(lambda self: self._averaged(self._component_distribution.mean))

    @property
    def variance(self) -> Tensor:
        """The mean of the variances of the components, and the variance of their means."""
        parts = self._component_distribution
        return self._averaged(parts.variance) + self._averaged((parts.mean - self._padded(self.mean)).square())

    cdf: Any = formula(
        lambda self, value: (
            self._component_distribution.cdf(self._padded(value)) * self._mixture_distribution.probs
        ).sum(-1)
    )

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        inner = self._component_distribution.log_prob(self._padded(value))
        return (inner + F.log_softmax(self._mixture_distribution.logits, -1)).logsumexp(-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            index = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            events = len(self.event_shape)
            dim = drawn.ndim - events - 1
            index = index.reshape(*index.shape, *[1] * (events + 1))
            index = expand(index, shape=(*index.shape[: dim + 1], *self.event_shape))
            return gather(drawn, dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self._mixture_distribution}, {self._component_distribution})"
