"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minigrad import linalg
from minigrad.core.shape import broadcast_shapes
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.normal import HALF_LOG_2PI
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops import random
from minigrad.ops.shape.views import expand
from minigrad.runtime.tensor import Tensor, describe


class MultivariateNormal(Distribution):
    """Define normal distributions of vectors with a mean vector and a covariance matrix.

    Parameters
    ----------
    loc : Tensor
        Mean, of shape (..., n).
    covariance_matrix : Tensor, optional
        Positive definite covariance, of shape (..., n, n).
    precision_matrix : Tensor, optional
        Inverse of the covariance, instead of `covariance_matrix`.
    scale_tril : Tensor, optional
        Lower triangular Cholesky factor of the covariance, instead of `covariance_matrix`.
    validate_args : bool, optional
        Whether to check that the diagonal of the factor is positive.

    Raises
    ------
    ArgumentError
        If not exactly one of the three matrices is given, or the diagonal of the factor is not positive.
    ShapeError
        If the mean has no dims.

    Examples
    --------
    >>> import minigrad as mg
    >>> d = MultivariateNormal(mg.zeros(2), mg.eye(2))
    >>> round(d.log_prob(mg.zeros(2)).item(), 4)
    -1.8379
    """

    has_rsample = True

    def __init__(
        self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        matrices = [x for x in (covariance_matrix, precision_matrix, scale_tril) if x is not None]
        if len(matrices) != 1:
            raise ArgumentError(
                "MultivariateNormal: expected exactly one of covariance_matrix, precision_matrix and scale_tril, got "
                f"{len(matrices)}; pass covariance_matrix"
            )
        if loc.ndim < 1:
            raise ShapeError(
                f"MultivariateNormal: loc must have at least 1 dim, got {describe(loc)}; pass a vector of means"
            )
        n = loc.shape[-1]
        batch = broadcast_shapes("MultivariateNormal", loc.shape[:-1], matrices[0].shape[:-2])
        if scale_tril is None:
            covariance = matrices[0] if precision_matrix is None else linalg.inv(precision_matrix)
            scale_tril = linalg.cholesky(covariance)
        self.loc = expand(loc, shape=(*batch, n))
        self.scale_tril = expand(scale_tril, shape=(*batch, n, n))
        super().__init__(batch, (n,), validate_args)

    def _check(self) -> None:
        self._require(self.scale_tril.diagonal(dim1=-2, dim2=-1) > 0, "the diagonal of scale_tril", "positive")

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return self.scale_tril @ self.scale_tril.mT

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples whose gradients flow to the mean and to the factor."""
        noise = random.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        off = (value - self.loc).unsqueeze(-1)
        factor = expand(self.scale_tril, shape=(*off.shape[:-2], *self.scale_tril.shape[-2:]))
        distance = linalg.solve_triangular(factor, off, upper=False).square().sum((-2, -1))
        return -0.5 * distance - self.event_shape[0] * HALF_LOG_2PI - self._half_log_det()

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return 0.5 * self.event_shape[0] * (1 + math.log(2 * math.pi)) + self._half_log_det()

    @property
    def mean(self) -> Tensor:
        """The mean, `loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance of each element, which is the diagonal of the covariance."""
        return self.scale_tril.square().sum(-1)
