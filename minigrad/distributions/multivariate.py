"""Distributions of vectors and matrices: normal, Wishart, and LKJ for Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad import linalg
from minigrad.core.conditions import Ndim
from minigrad.core.roles import Number
from minigrad.core.shape import broadcast_shapes
from minigrad.distributions import constraints
from minigrad.distributions.distribution import Distribution, expect_one
from minigrad.distributions.positive import Gamma
from minigrad.distributions.simplex import Beta
from minigrad.distributions.utils import HALF_LOG_2PI, broadcast_all, derived, formula
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops import random
from minigrad.ops.creation import arange, eye, zeros_like
from minigrad.ops.pointwise.special import mvlgamma
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import expand
from minigrad.runtime.tensor import Tensor, describe


class Covariance(Distribution):
    """The base class of distributions with a covariance matrix, which is passed in one of three forms.

    Parameters
    ----------
    covariance_matrix : Tensor, optional
        Positive definite covariance, of shape (..., n, n).
    precision_matrix : Tensor, optional
        Inverse of the covariance, instead of `covariance_matrix`.
    scale_tril : Tensor, optional
        Lower triangular Cholesky factor of the covariance, instead of `covariance_matrix`.
    """

    has_rsample = True
    arg_constraints: Any = {
        "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    covariance_matrix: Any = derived(lambda self: self.scale_tril @ self.scale_tril.mT)
    precision_matrix: Any = derived(lambda self: linalg.inv(self.covariance_matrix))

    def _store(self, name: str, matrix: Tensor, batch: Any, event: Any, validate_args: bool | None) -> None:
        """Check the parameters, and store the matrix and its Cholesky factor, expanded to the batch shape."""
        shape = (*batch, *matrix.shape[-2:])
        setattr(self, name, expand(matrix, shape=shape))
        Distribution.__init__(self, batch, event, validate_args)
        if name != "scale_tril":
            covariance = matrix if name == "covariance_matrix" else linalg.inv(matrix)
            self.scale_tril = expand(linalg.cholesky(covariance), shape=shape)

    def _half_log_det(self) -> Tensor:
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class NormalVector(Distribution):
    """The base class of normal distributions of vectors; subclasses define `_half_log_det` and `_distance`."""

    has_rsample = True
    support = constraints.real_vector
    loc: Any
    _distance: Any
    _half_log_det: Any
    log_prob: Any = formula(
        lambda self, value: (
            -0.5 * self._distance(value - self.loc) - self.event_shape[0] * HALF_LOG_2PI - self._half_log_det()
        )
    )
    entropy: Any = formula(lambda self: self.event_shape[0] * (0.5 + HALF_LOG_2PI) + self._half_log_det())
    mean: Any = property(lambda self: self.loc)
    mode: Any = property(lambda self: self.loc)


class MultivariateNormal(NormalVector, Covariance):
    """Define normal distributions of vectors with a mean vector and a covariance matrix.

    Raises ArgumentError if not exactly one of the three matrices is given, or a matrix is not positive definite.
    Raises ShapeError if the mean has no dims, or the matrix has fewer than 2.

    >>> d = MultivariateNormal(mg.zeros(2), mg.eye(2))
    >>> round(d.log_prob(mg.zeros(2)).item(), 4)
    -1.8379
    """

    arg_constraints = {"loc": constraints.real_vector, **Covariance.arg_constraints}

    def __init__(
        self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        name, matrix = expect_one(
            "MultivariateNormal", covariance_matrix=covariance_matrix, precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )  # fmt: skip
        if loc.ndim < 1 or matrix.ndim < 2:
            raise ShapeError(
                f"MultivariateNormal: loc must have at least 1 dim and {name} at least 2, got {describe(loc)} and "
                f"{describe(matrix)}; pass a vector of means and a matrix"
            )
        n = matrix.shape[-1]
        batch = broadcast_shapes("MultivariateNormal", loc.shape[:-1], matrix.shape[:-2])
        self.loc = expand(loc, shape=(*batch, n))
        self._store(name, matrix, batch, (n,), validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        noise = random.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _distance(self, off: Tensor) -> Tensor:
        return mahalanobis(self.scale_tril, off)

    variance: Any = property(lambda self: self.scale_tril.square().sum(-1))


def solved(factor: Tensor, right: Tensor) -> Tensor:
    """Return the solution of lower triangular systems, whose batch dims are broadcast."""
    batch = broadcast_shapes("solve_triangular", factor.shape[:-2], right.shape[:-2])
    factor, right = (expand(x, shape=(*batch, *x.shape[-2:])) for x in (factor, right))
    return linalg.solve_triangular(factor, right, upper=False)


def mahalanobis(factor: Tensor, off: Tensor) -> Tensor:
    """Return the squared Mahalanobis distance of `off` from 0, for the Cholesky factor of a covariance."""
    return solved(factor, off.unsqueeze(-1)).square().sum((-2, -1))


class LowRankMultivariateNormal(NormalVector):
    """Define normal distributions of vectors with the covariance `cov_factor @ cov_factor.mT + diag(cov_diag)`.

    cov_factor: Factor of the covariance, of shape (..., n, k) with a small k.
    cov_diag: Positive numbers, of shape (..., n).

    Systems and determinants use the k x k matrix of the Woodbury identity and the matrix determinant lemma.
    """

    arg_constraints = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }  # fmt: skip

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if min(loc.ndim, cov_factor.ndim - 1, cov_diag.ndim) < 1 or not (
            loc.shape[-1] in (1, cov_factor.shape[-2]) and cov_factor.shape[-2] == cov_diag.shape[-1]
        ):
            raise ShapeError(
                "LowRankMultivariateNormal: expected loc (..., n), cov_factor (..., n, k) and cov_diag (..., n), got "
                f"{describe(loc)}, {describe(cov_factor)} and {describe(cov_diag)}; pass matching shapes"
            )
        batch = broadcast_shapes(
            "LowRankMultivariateNormal", loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]
        )
        n, k = cov_factor.shape[-2:]
        self.loc, self.cov_diag = (expand(x, shape=(*batch, n)) for x in (loc, cov_diag))
        self.cov_factor = expand(cov_factor, shape=(*batch, n, k))
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        inner = scaled @ self.cov_factor + eye(k, dtype=loc.dtype, device=loc.device)
        self._scaled, self._capacitance_tril = scaled, linalg.cholesky(inner)
        super().__init__(batch, (n,), validate_args)

    covariance_matrix: Any = property(lambda self: self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed())
    scale_tril: Any = property(lambda self: linalg.cholesky(self.covariance_matrix))

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        part = solved(self._capacitance_tril, self._scaled)
        return self.cov_diag.reciprocal().diag_embed() - part.mT @ part

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        kind: Any = {"dtype": self.loc.dtype, "device": self.loc.device}
        low = random.randn((*shape[:-1], self.cov_factor.shape[-1], 1), **kind)
        return self.loc + (self.cov_factor @ low).squeeze(-1) + self.cov_diag.sqrt() * random.randn(shape, **kind)

    def _half_log_det(self) -> Tensor:
        return self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + 0.5 * self.cov_diag.log().sum(-1)

    def _distance(self, off: Tensor) -> Tensor:
        low = (self._scaled @ off.unsqueeze(-1)).squeeze(-1)
        return (off.square() / self.cov_diag).sum(-1) - mahalanobis(self._capacitance_tril, low)

    variance: Any = property(lambda self: self.cov_factor.square().sum(-1) + self.cov_diag)


class Wishart(Covariance):
    """Define Wishart distributions of matrices: sums of `df` outer products of normal vectors.

    df: Degrees of freedom, above n - 1.

    Source: Odell and Feiveson, A numerical procedure to generate a sample covariance matrix, 1966 (Bartlett
    decomposition).
    """

    arg_constraints = {**Covariance.arg_constraints, "df": constraints.greater_than(0)}
    support = constraints.positive_definite

    def __init__(
        self, df: Any, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        name, matrix = expect_one(
            "Wishart", covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        Ndim(least=2, advice="pass a matrix").expect("Wishart", **{name: matrix})
        n = matrix.shape[-1]
        self.df = broadcast_all(df, zeros_like(matrix[..., 0, 0]))[0]
        batch = self.df.shape
        if (self.df <= n - 1).any().item():
            raise ArgumentError(f"Wishart: df must be above n - 1 = {n - 1}, got a smaller value; pass df={n}")
        self._store(name, matrix, batch, (n, n), validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples L @ A @ A.mT @ L.mT with chi numbers on the diagonal of A and normal numbers below."""
        shape, n = self._extended_shape(sample_shape), self.event_shape[0]
        kind: Any = {"dtype": self.df.dtype, "device": self.df.device}
        half = (self.df.unsqueeze(-1) - arange(n, **kind)) / 2
        diagonal = Gamma(half, 0.5, False).rsample(sample_shape).sqrt()
        factor = self.scale_tril @ (random.randn(shape, **kind).tril(-1) + diagonal.diag_embed())
        return factor @ factor.mT

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        n, df = self.event_shape[0], self.df
        scaled = solved(self.scale_tril, solved(self.scale_tril, value).mT)  # L^-1 V L^-T: V may be singular
        trace = scaled.diagonal(dim1=-2, dim2=-1).sum(-1)
        norm = 0.5 * df * (n * math.log(2) + 2 * self._half_log_det()) + mvlgamma(df / 2, n)
        return 0.5 * (df - n - 1) * linalg.slogdet(value).logabsdet - 0.5 * trace - norm

    def _digammas(self) -> Tensor:
        """Return the sum of digamma((df - k) / 2) over k from 0 to n - 1."""
        steps = arange(self.event_shape[0], dtype=self.df.dtype, device=self.df.device)
        return ((self.df.unsqueeze(-1) - steps) / 2).digamma().sum(-1)

    def entropy(self) -> Tensor:
        n, df = self.event_shape[0], self.df
        scale = 0.5 * (n + 1) * (n * math.log(2) + 2 * self._half_log_det())
        return scale + mvlgamma(df / 2, n) - 0.5 * (df - n - 1) * self._digammas() + 0.5 * n * df

    _column: Any = property(lambda self: self.df.reshape(*self.df.shape, 1, 1))
    mean: Any = property(lambda self: self._column * self.covariance_matrix)

    @property
    def mode(self) -> Tensor:
        """The mode; nan for df below n + 1."""
        factor = self._column - self.event_shape[0] - 1
        return factor.masked_fill(factor <= 0, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._column * (self.covariance_matrix.square() + outer)


class LKJCholesky(Distribution):
    """Define LKJ distributions of Cholesky factors of correlation matrices.

    Density of the matrix: proportional to its determinant ** (concentration - 1).

    dim: Number of rows n, at least 2.
    concentration: Positive number; 1 is the uniform distribution of correlation matrices.

    Source: Lewandowski, Kurowicka and Joe, Generating random correlation matrices based on vines and extended onion
    method, 2009, section 3.
    """

    has_rsample = False
    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        Number(2, whole=True, example=2).expect("LKJCholesky", dim=dim)
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return factors whose rows are directions with beta distributed lengths (onion method)."""
        kind: Any = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        n, rows = self.dim, arange(self.dim - 1, **kind)
        top = self.concentration.unsqueeze(-1) + 0.5 * (n - 2) - 0.5 * rows
        square = Beta(0.5 * rows + 0.5, top, False).sample(sample_shape)
        noise = random.randn((*square.shape[:-1], n - 1, n), **kind).tril()
        direction = noise / noise.square().sum(-1, keepdim=True).sqrt()
        body = direction * square.sqrt().unsqueeze(-1)
        first = body.new_zeros((*body.shape[:-2], 1, n))
        lower = cat([first, body], -2)
        return lower + (1 - lower.square().sum(-1)).clamp(min=1e-30).sqrt().diag_embed()

    @formula
    def log_prob(self, value: Tensor) -> Tensor:
        n, c = self.dim, self.concentration
        order = 2 * (c.unsqueeze(-1) - 1) + n - arange(2, n + 1, dtype=c.dtype, device=c.device)
        kernel = (order * value.diagonal(dim1=-2, dim2=-1)[..., 1:].log()).sum(-1)
        alpha = c + 0.5 * (n - 1)
        norm = 0.5 * (n - 1) * math.log(math.pi) + mvlgamma(alpha - 0.5, n - 1) - (n - 1) * alpha.lgamma()
        return kernel - norm
