"""The base classes of distributions: shapes, checks, and methods that follow from other methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.core.dtype import default_float
from minigrad.core.shape import broadcast_shapes
from minigrad.errors import ArgumentError
from minigrad.ops import creation
from minigrad.ops.shape.views import expand
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor


class Distribution:
    """Define the base class of the distributions of tensors of shape `event_shape`.

    One object represents a batch of independent distributions, one per index of `batch_shape`.

    Parameters
    ----------
    batch_shape : tuple of int
        Shape of the parameters.
    event_shape : tuple of int
        Shape of one sample.
    validate_args : bool, optional
        Whether to check the parameters. As in PyTorch, the default is True, and False under `python -O`.
    """

    has_rsample = False
    stores_tensors = True  # `mg.jit` looks for tensors among the attributes
    batch_shape: tuple[int, ...]
    event_shape: tuple[int, ...]

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None
    ) -> None:
        self.batch_shape, self.event_shape = tuple(batch_shape), tuple(event_shape)
        if __debug__ if validate_args is None else validate_args:
            self._check()

    def _check(self) -> None:
        """Raise ArgumentError if a parameter is outside its domain."""

    def _require(self, holds: Tensor, name: str, expected: str) -> None:
        """Raise ArgumentError unless a condition holds for all elements of a parameter."""
        if not holds.all().item():
            raise ArgumentError(
                f"{type(self).__name__}: expected {name} to be {expected}, got another value; correct this value, or "
                "pass validate_args=False"
            )

    def _extended_shape(self, sample_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of samples: `sample_shape + batch_shape + event_shape`."""
        return (*sample_shape, *self.batch_shape, *self.event_shape)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples without a gradient, of shape `sample_shape + batch_shape + event_shape`."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples whose gradients flow to the parameters.

        Raises
        ------
        NotImplementedError
            If samples are not differentiable functions of the parameters.
        """
        raise NotImplementedError(
            f"{type(self).__name__}.rsample: samples are not differentiable with respect to the parameters; use "
            "sample() and log_prob()"
        )

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability, at `value`."""
        raise NotImplementedError(
            f"{type(self).__name__}.log_prob: this distribution does not implement log_prob; define log_prob in a "
            "subclass"
        )

    def entropy(self) -> Tensor:
        """Return the entropy in nats, a tensor of shape `batch_shape`."""
        raise NotImplementedError(
            f"{type(self).__name__}.entropy: this distribution does not implement entropy; estimate the entropy as the "
            "mean of -log_prob of samples"
        )

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError(
            f"{type(self).__name__}.mean: this distribution does not implement mean; estimate the mean from samples"
        )

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError(
            f"{type(self).__name__}.variance: this distribution does not implement variance; estimate the variance "
            "from samples"
        )

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_shape={self.batch_shape}, event_shape={self.event_shape})"


class LocationScale(Distribution):
    """The base class of distributions of `loc + scale * x` with a positive `scale` and a standard distribution of x."""

    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)

    def _check(self) -> None:
        self._require(self.scale > 0, "scale", "positive")


def summed(x: Any, dims: int) -> Any:
    """Return the sum over the last `dims` dims."""
    return x.sum(tuple(range(-dims, 0))) if dims else x


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Return numbers and tensors as tensors of the same shape; numbers take the dtype of the first tensor."""
    first = next((value for value in values if isinstance(value, Tensor)), None)
    dtype, device = (default_float(), None) if first is None else (first.dtype, first.device)
    tensors = [
        value if isinstance(value, Tensor) else creation.tensor(float(value), dtype=dtype, device=device)
        for value in values
    ]
    shape = broadcast_shapes("distributions", *[x.shape for x in tensors])
    return tuple([x if x.shape == shape else expand(x, shape=shape) for x in tensors])
