"""The base classes of distributions: shapes, checks, and methods that follow from other methods."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minigrad.core.dtype import finfo
from minigrad.core.shape import Size
from minigrad.distributions import constraints
from minigrad.distributions.utils import all_hold, broadcast_all, derived, logits_to_probs, probs_to_logits, summed
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops import random
from minigrad.ops.shape.views import expand
from minigrad.runtime.recording import is_grad_enabled, no_grad, recording_on
from minigrad.runtime.tensor import Tensor, describe


class Distribution:
    """Define the base class of the distributions of tensors of shape `event_shape`.

    One object represents a batch of independent distributions, one per index of `batch_shape`.  The parameters are
    attributes whose shapes begin with `batch_shape`, which is how `expand` finds them.

    batch_shape: Shape of the parameters.
    event_shape: Shape of one sample.
    validate_args: Whether to raise ArgumentError for parameters outside their domains and values outside the support.
    As in PyTorch, the default is True, and False under `python -O`. Nothing is checked while `mg.jit` records or
    another transform runs, because no values can be read there.

    Raises ArgumentError if a parameter is outside its domain, in `arg_constraints`.
    """

    has_rsample = False
    has_enumerate_support = False
    stores_tensors = True  # `mg.jit` looks for tensors among the attributes
    arg_constraints: Any = {}
    support: Any = None
    batch_shape: tuple[int, ...]
    event_shape: tuple[int, ...]
    _validate_args = __debug__
    _excludes_0 = False  # whether the probability 0 is not drawn for `icdf`

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None
    ) -> None:
        self.batch_shape, self.event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions that are created later check their arguments by default."""
        if value not in (True, False):
            raise ArgumentError(f"set_default_validate_args: expected True or False, got {value!r}; pass True")
        Distribution._validate_args = value

    def _check(self) -> None:
        """Raise ArgumentError if a parameter is outside its domain."""
        for name, constraint in self.arg_constraints.items():
            if name in vars(self) and not constraints.is_dependent(constraint):
                self._require(constraint.check(vars(self)[name]), name, constraint.words)

    def _require(self, holds: Tensor, name: str, expected: str) -> None:
        """Raise ArgumentError unless a condition holds for all elements of a parameter."""
        if all_hold(holds) is False:
            raise ArgumentError(
                f"{type(self).__name__}: expected {name} to be {expected}, got another value; correct this value, or "
                "pass validate_args=False"
            )

    def _validate_sample(self, value: Any) -> None:
        """Raise an error if the arguments are checked and a value does not belong to the distribution."""
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ArgumentError(
                f"{type(self).__name__}: the value must be a tensor, got {describe(value)}; convert it with mg.tensor"
            )
        shape, own = value.shape, (*self.batch_shape, *self.event_shape)
        events = len(shape) >= len(self.event_shape) and shape[len(shape) - len(self.event_shape) :] == self.event_shape
        if not events or any(1 != i != j != 1 for i, j in zip(reversed(shape), reversed(own), strict=False)):
            raise ShapeError(
                f"{type(self).__name__}: the shape of a value must broadcast to {own} and end with {self.event_shape}, "
                f"got {tuple(shape)}; draw a value with sample(), for example"
            )
        support = self.support
        if support is not None and not constraints.is_dependent(support):
            self._require(support.check(value), "the value", support.words)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """Return the distribution with parameters that are expanded to another batch shape, without a copy."""
        new, dims = copy.copy(self), len(self.batch_shape)
        batch = Size(batch_shape)
        for name, value in vars(self).items():
            if isinstance(value, Tensor) and name != "temperature":  # which all elements of the batch share
                setattr(new, name, expand(value, shape=(*batch, *value.shape[dims:])))
            elif isinstance(value, Distribution):
                setattr(new, name, value.expand((*batch, *value.batch_shape[dims:])))
        new.batch_shape = batch
        return new

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> tuple[int, ...]:
        """Return the shape of samples: `sample_shape + batch_shape + event_shape`."""
        return Size((*sample_shape, *self.batch_shape, *self.event_shape))

    @property
    def _like(self) -> Tensor:
        """A parameter, for the dtype and the device of samples."""
        return next(value for value in vars(self).values() if isinstance(value, Tensor))

    def _uniform(self, like: Tensor, sample_shape: Sequence[int], smallest: bool = False) -> Tensor:
        """Return uniform numbers of the shape of samples; with `smallest`, at least the smallest normal number."""
        u = random.rand(self._extended_shape(sample_shape), dtype=like.dtype, device=like.device)
        return u.clamp(min=float(finfo(u.dtype).tiny)) if smallest else u

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples without a gradient, of shape `sample_shape + batch_shape + event_shape`."""
        with no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """Return `sample((n,))`, under PyTorch's older name."""
        return self.sample((n,))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples whose gradients flow to the parameters.

        If a distribution does not define this method, uniform numbers are mapped by `icdf`.

        Raises NotImplementedError if samples are not differentiable functions of the parameters.
        """
        if self.has_rsample:
            return self.icdf(self._uniform(self._like, sample_shape, self._excludes_0))
        raise NotImplementedError(
            f"{type(self).__name__}.rsample: samples are not differentiable with respect to the parameters; use "
            "sample() and log_prob()"
        )

    def _lacks(self, name: str, advice: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__}.{name}: this distribution has no {name}; {advice}")

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability, at `value`."""
        raise self._lacks("log_prob", "define log_prob in a subclass")

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a sample of at most `value`."""
        raise self._lacks("cdf", "count samples of at most the value")

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value that `cdf` maps to a probability."""
        raise self._lacks("icdf", "take a quantile of samples")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values in dim 0; with `expand=False`, the batch dims have length 1.

        Raises NotImplementedError if the distribution does not have finitely many values that are equal over the batch.
        """
        raise self._lacks("enumerate_support", "draw samples")

    def _enumerated(self, values: Tensor, expanded: bool) -> Tensor:
        """Return values of dim 0 with batch dims, which are expanded or of length 1."""
        column = values.reshape(-1, *[1] * len(self.batch_shape), *self.event_shape)
        return expand(column, shape=(values.shape[0], *self.batch_shape, *self.event_shape)) if expanded else column

    def entropy(self) -> Tensor:
        """Return the entropy in nats, a tensor of shape `batch_shape`."""
        raise self._lacks("entropy", "estimate the entropy as the mean of -log_prob of samples")

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy."""
        return self.entropy().exp()

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise self._lacks("mean", "estimate the mean from samples")

    @property
    def mode(self) -> Tensor:
        """The value of the largest density or probability."""
        raise self._lacks("mode", "maximize log_prob")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise self._lacks("variance", "estimate the variance from samples")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def __repr__(self) -> str:
        shown = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        words = [f"{k}: {v if v.numel() == 1 else tuple(v.shape)}" for k, v in shown.items() if isinstance(v, Tensor)]
        return f"{type(self).__name__}({', '.join(words)})" if words else self._shapes()

    def _shapes(self) -> str:
        return f"{type(self).__name__}(batch_shape={self.batch_shape}, event_shape={self.event_shape})"


class Elementwise(Distribution):
    """The base class of distributions that broadcast their parameters, with one distribution per element.

    A direct subclass receives a constructor for the parameters in its `arg_constraints`.
    """

    _defaults: Any = {}  # of the last parameters, which need not be passed

    if TYPE_CHECKING:

        def __init__(self, *parameters: Any, validate_args: bool | None = None, **named: Any) -> None: ...

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if Elementwise in cls.__bases__:
            cls.__init__ = constructor(cls)  # type: ignore[method-assign]


def constructor(kind: type[Elementwise]) -> Any:
    """Return a method `__init__` that broadcasts the parameters of a class and stores them as attributes."""
    names = tuple(kind.arg_constraints)
    listed = ", ".join(names)

    def store(self: Any, values: tuple[Any, ...], validate_args: bool | None) -> None:
        tensors = broadcast_all(*values)
        vars(self).update(zip(names, tensors, strict=True))
        Distribution.__init__(self, tensors[0].shape, (), validate_args)

    # A function with these parameters has the right signature and error messages, and needs no binding of arguments.
    scope: dict[str, Any] = {"store": store}
    exec(f"def __init__(self, {listed}, validate_args): store(self, ({listed},), validate_args)", scope)
    method = scope["__init__"]
    method.__defaults__ = (*kind._defaults.values(), None)
    method.__annotations__ = dict.fromkeys(names, Any) | {"validate_args": bool | None}
    method.__qualname__, method.__module__ = f"{kind.__qualname__}.__init__", kind.__module__
    return method


class LocationScale(Elementwise):
    """The base class of distributions of `loc + scale * x` with a positive `scale` and a standard distribution of x."""

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    mean: Any = property(lambda self: self.loc)
    mode: Any = property(lambda self: self.loc)


class Odds(Distribution):
    """The base class of distributions with the probability of an outcome as `probs`, or its log odds as `logits`.

    probs: Probability of the outcome.
    logits: Logarithm of the odds, instead of `probs`.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name, parameter = expect_one(type(self).__name__, probs=probs, logits=logits)
        others = {key: vars(self)[key] for key in self.arg_constraints if key in vars(self)}  # set by a subclass before
        vars(self).update(zip((name, *others), broadcast_all(parameter, *others.values()), strict=True))
        self._name = name
        super().__init__(self._param.shape, (), validate_args)

    @property
    def _param(self) -> Tensor:
        """The parameter that the constructor received, probs or logits."""
        return vars(self)[self._name]

    probs: Any = derived(lambda self: logits_to_probs(self.logits, is_binary=True))
    logits: Any = derived(lambda self: probs_to_logits(self.probs, is_binary=True))


class ExponentialFamily(Distribution):
    """The base class of distributions with the density `exp(<t(x), p> - F(p) + k(x))` for natural parameters p.

    A subclass defines `_natural_params`, `_log_normalizer` (F) and `_mean_carrier_measure` (the mean of k). `entropy`
    and `kl_divergence` follow from the gradient of F.

    Source: Nielsen and Nock, Entropies and cross-entropies of exponential families, 2010.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise self._lacks("_natural_params", "define the natural parameters in a subclass")

    def _log_normalizer(self, *natural: Tensor) -> Tensor:
        raise self._lacks("_log_normalizer", "define the logarithm of the normalizer in a subclass")

    @property
    def _mean_carrier_measure(self) -> Any:
        raise self._lacks("_mean_carrier_measure", "define the mean of the carrier measure in a subclass")

    def _normalizer_gradient(self) -> tuple[Any, tuple[Tensor, ...], list[Any]]:
        """Return F(p), p, and the gradient of F with respect to p; all have gradients."""
        from minigrad.autodiff.engine import grad

        recorded = is_grad_enabled()
        with recording_on():
            natural = tuple([x if x.requires_grad else x.detach().requires_grad_() for x in self._natural_params])
            normalizer = self._log_normalizer(*natural)
            return normalizer, natural, list(grad(normalizer.sum(), list(natural), create_graph=recorded))

    def entropy(self) -> Tensor:
        """Return the entropy in nats: `F(p) - <p, gradient of F> - mean of k`."""
        normalizer, natural, gradients = self._normalizer_gradient()
        result: Any = normalizer - self._mean_carrier_measure
        for p, g in zip(natural, gradients, strict=True):
            result = result - summed(p * g, p.ndim - len(self.batch_shape))
        return result


def expect_one(name: str, **options: Any) -> tuple[str, Any]:
    """Return the name and the value of the only option that was passed.  Raises ArgumentError for several, or none."""
    options_set = [(key, value) for key, value in options.items() if value is not None]
    if len(options_set) != 1:
        words = " and ".join(options)
        if len(options) == 2:
            raise ArgumentError(
                f"{name}: expected either {words.replace(' and ', ' or ')}, got both or neither; pass "
                f"{next(iter(options))}, for example"
            )
        raise ArgumentError(f"{name}: expected exactly one of {', '.join(options)}, got {len(options_set)}; pass one")
    return options_set[0]
