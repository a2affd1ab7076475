"""The names of minigrad.linalg.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.core.dtype import DType
from minigrad.runtime.tensor import Tensor
__version__: str


def cholesky(A: Tensor, *, upper: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return the triangle L with L @ L.mT = A for symmetric positive definite matrices (..., n, n); upper: L.mT."""

def cross(input: Tensor, other: Tensor, *, dim: builtins.int = ..., out: Tensor | None = ...) -> Tensor:
    """`mg.cross` along the last dim, unless another is given."""

def matrix_norm(A: Tensor, ord: Any = ..., dim: Any = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """The norm of matrices over two dims: "fro", or the largest (1) or smallest (-1) sum of a column, inf of a row."""

def matrix_power(A: Tensor, n: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """A @ A @ ... n times, by repeated squares; the identity for 0.  Negative powers are not offered."""

def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """The product of two matrices or more in the order that multiplies least; the first and the last may be vectors."""

def solve_triangular(A: Tensor, B: Tensor, *, upper: builtins.bool, left: builtins.bool = ..., unitriangular: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return X with A @ X = B for triangular matrices A, or X @ A = B with left=False; batch dims broadcast."""

def vander(x: Tensor, N: builtins.int | None = ...) -> Tensor:
    """The powers 0 to N - 1 of each element, as a last dim; N is the length of the last dim if None."""

def vecdot(x: Tensor, y: Tensor, *, dim: builtins.int = ..., out: Tensor | None = ...) -> Tensor:
    """The inner products of vectors along `dim`; the two broadcast."""

def vector_norm(x: Tensor, ord: Any = ..., dim: Any = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """The norm of order `ord` over `dim`, of all elements without one: `mg.norm`."""
