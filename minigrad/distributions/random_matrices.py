"""Distributions of matrices: Wishart, and LKJ for Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad import linalg
from minigrad.core.roles import Number
from minigrad.distributions import constraints
from minigrad.distributions.distribution import Distribution, expect_one
from minigrad.distributions.multivariate_normal import Covariance, solved
from minigrad.distributions.positive import Gamma
from minigrad.distributions.simplex import Beta
from minigrad.distributions.utils import broadcast_all, formula
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops import random
from minigrad.ops.creation import arange, zeros_like
from minigrad.ops.pointwise.special import mvlgamma
from minigrad.ops.shape.joining import cat
from minigrad.runtime.tensor import Tensor, describe


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
        if matrix.ndim < 2:
            raise ShapeError(f"Wishart: {name} must have at least 2 dims, got {describe(matrix)}; pass a matrix")
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
