"""The categorical distribution, whose values are class indices."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minigrad.core.dtype import finfo
from minigrad.core.shape import broadcast_shapes
from minigrad.distributions.distribution import Distribution
from minigrad.errors import ArgumentError, ShapeError
from minigrad.nn import functional as F
from minigrad.ops import random
from minigrad.ops.indexing.gathering import gather
from minigrad.ops.shape.views import expand
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe


class Categorical(Distribution):
    """Define distributions of an index from 0 to n - 1; the n probabilities are in the last dim of the parameter.

    Parameters
    ----------
    probs : Tensor, optional
        Probabilities, or weights, which are divided by their sum.
    logits : Tensor, optional
        Logarithms of weights, instead of `probs`.
    validate_args : bool, optional
        Whether to check the parameter.

    Raises
    ------
    ArgumentError
        If both or none of the parameters are given, or a weight is negative.
    ShapeError
        If the parameter has no dims.

    Examples
    --------
    >>> import minigrad as mg
    >>> d = Categorical(mg.tensor([0.0, 0.25, 0.75]))
    >>> round(d.log_prob(mg.tensor(1)).exp().item(), 4)
    0.25
    """

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ArgumentError(
                "Categorical: expected either probs or logits, got both or neither; pass probs, for example"
            )
        parameter = probs if logits is None else logits
        if parameter is None or parameter.ndim < 1:
            raise ShapeError(
                "Categorical: probs or logits must have at least 1 dim, whose length is the number of classes, got "
                f"{describe(parameter)}; pass mg.ones(3) for 3 classes, for example"
            )
        self._probs = None if probs is None else probs / probs.sum(-1, keepdim=True)
        self._logits = None if logits is None else logits - logits.logsumexp(-1, keepdim=True)
        self._num_events = parameter.shape[-1]
        super().__init__(parameter.shape[:-1], (), validate_args)

    def _check(self) -> None:
        if self._probs is not None:
            self._require(self._probs >= 0, "probs", "weights of at least 0 with a positive sum")

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return F.softmax(self.logits, -1) if self._probs is None else self._probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities, limited to [eps, 1 - eps]."""
        if self._probs is None:
            assert self._logits is not None
            return self._logits
        eps = float(finfo(self._probs.dtype).eps)
        return self._probs.clamp(eps, 1 - eps).log()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return indices of shape `sample_shape + batch_shape`."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            return random.multinomial(rows, math.prod(sample_shape), replacement=True).T.reshape(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of the classes in `value`."""
        logits, index = self.logits, value.long().unsqueeze(-1)
        shape = broadcast_shapes("log_prob", value.shape, self.batch_shape)
        rows = expand(logits, shape=(*shape, self._num_events))
        return gather(rows, -1, expand(index, shape=(*shape, 1))).squeeze(-1)

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        smallest = float(finfo(self.logits.dtype).min)
        return -(self.logits.clamp(min=smallest) * self.probs).sum(-1)
