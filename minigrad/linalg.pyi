"""The names of minigrad.linalg.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.core.dtype import DType
from minigrad.runtime.tensor import Tensor
__version__: str


def cholesky(A: Tensor, *, upper: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return the triangle L with L @ L.mT = A for symmetric positive definite matrices (..., n, n); upper: L.mT."""

def cholesky_ex(A: Tensor, *, upper: builtins.bool = ..., check_errors: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return (L, info): as `cholesky`, and the order of the first leading minor that is not positive, or 0 (int32)."""

def cond(A: Tensor, p: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the condition numbers of matrices: the norm of order p times that of the inverse; inf for singular ones."""

def cross(input: Tensor, other: Tensor, *, dim: builtins.int = ..., out: Tensor | None = ...) -> Tensor:
    """Return `mg.cross` along the last dim, unless another is given."""

def det(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the determinants of square matrices, by LU factors."""

def diagonal(A: Tensor, *, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
    """Return `mg.diagonal` of matrices in the last two dims: a view."""

def eigh(A: Tensor, UPLO: builtins.str = ..., *, out: Tensor | None = ...) -> Any:
    """Return (eigenvalues, eigenvectors) of symmetric matrices (..., n, n): values rising, vectors as columns."""

def eigvalsh(A: Tensor, UPLO: builtins.str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the eigenvalues of symmetric matrices, rising: see `eigh`."""

def inv(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse of square matrices.  Gradient: -X.mT @ g @ X.mT of the inverse X."""

def inv_ex(A: Tensor, *, check_errors: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return (inverse, info): as `inv`, and the first pivot that is 0, counted from 1, or 0 (int32); then inf or nan."""

def lstsq(A: Tensor, B: Tensor, rcond: builtins.float | None = ..., *, driver: builtins.str | None = ..., out: Tensor | None = ...) -> Any:
    """Return (solution, residuals, rank, singular_values) of least squares, min |A @ X - B|, X of minimal norm."""

def lu(A: Tensor, *, pivot: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return (P, L, U) with A = P @ L @ U for matrices (..., m, n): a permutation, unit lower and upper triangles."""

def lu_factor(A: Tensor, *, pivot: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return (LU, pivots): L and U of `lu` in one matrix, and the row, from 1 on, that each step exchanged (int32)."""

def lu_factor_ex(A: Tensor, *, pivot: builtins.bool = ..., check_errors: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return (LU, pivots, info) as `lu_factor`; info is the first step whose pivot is 0, counted from 1, or 0 (int32)."""

def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: builtins.bool = ..., adjoint: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return X with A @ X = B by the factors of A that `lu_factor` returned; batch dims broadcast."""

def matrix_norm(A: Tensor, ord: Any = ..., dim: Any = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the norm of matrices over two dims, of the order "fro", "nuc", 1, -1, 2, -2, inf or -inf."""

def matrix_power(A: Tensor, n: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return A @ A @ ... n times, by repeated squares; the identity for 0, powers of the inverse for negative n."""

def matrix_rank(A: Tensor, *, atol: Any = ..., rtol: Any = ..., hermitian: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return how many singular values of matrices are larger than max(atol, rtol * the largest) (int64): see `pinv`."""

def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Return the product of two or more matrices in the cheapest order; the first and the last may be vectors."""

def norm(input: Tensor, ord: Any = ..., dim: Any = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return `vector_norm` over one dim, or over all without `ord` and `dim`; `matrix_norm` over two dims."""

def pinv(A: Tensor, *, atol: Any = ..., rtol: Any = ..., hermitian: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return the Moore-Penrose inverses (..., n, m) of matrices (..., m, n), by singular values."""

def qr(A: Tensor, mode: builtins.str = ..., *, out: Tensor | None = ...) -> Any:
    """Return (Q, R) with Q @ R = A for matrices (..., m, n), orthonormal columns in Q, and R an upper triangle."""

def slogdet(A: Tensor, *, out: Tensor | None = ...) -> Any:
    """Return (sign, logabsdet) of the determinants of square matrices; 0 and -inf for a singular one."""

def solve(A: Tensor, B: Tensor, *, left: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return X with A @ X = B for square matrices (..., n, n), or X @ A = B with left=False; batch dims broadcast."""

def solve_ex(A: Tensor, B: Tensor, *, left: builtins.bool = ..., check_errors: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return (result, info): as `solve`, and the first pivot that is 0, counted from 1, or 0 (int32); then inf or nan."""

def solve_triangular(A: Tensor, B: Tensor, *, upper: builtins.bool, left: builtins.bool = ..., unitriangular: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return X with A @ X = B for triangular matrices A, or X @ A = B with left=False; batch dims broadcast."""

def svd(A: Tensor, full_matrices: builtins.bool = ..., *, driver: Any = ..., out: Tensor | None = ...) -> Any:
    """Return (U, S, Vh) with U * S @ Vh = A for matrices (..., m, n): orthonormal columns and rows, S falling."""

def svdvals(A: Tensor, *, driver: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the singular values of matrices, falling: see `svd`.  Gradient: U diag(g) Vh, also for equal values."""

def vander(x: Tensor, N: builtins.int | None = ...) -> Tensor:
    """Return the powers 0 to N - 1 of each element, as a last dim; N is the length of the last dim if None."""

def vecdot(x: Tensor, y: Tensor, *, dim: builtins.int = ..., out: Tensor | None = ...) -> Tensor:
    """Return the inner products of vectors along `dim`; the two broadcast."""

def vector_norm(x: Tensor, ord: Any = ..., dim: Any = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the norm of order `ord` over `dim`, by default of all elements: `mg.norm`."""
