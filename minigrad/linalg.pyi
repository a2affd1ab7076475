"""The names of minigrad.linalg.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.core.dtype import DType
from minigrad.runtime.tensor import Tensor
from minigrad.errors import ArgumentError as ArgumentError
__version__: str

LinAlgError = ArgumentError

def cholesky(A: Tensor, *, upper: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return the lower triangular L with L @ L.mH = A for positive definite matrices (..., n, n)."""

def cholesky_ex(A: Tensor, *, upper: builtins.bool = ..., check_errors: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return (L, info): the result of `cholesky`, and an int32 status for each matrix."""

def cond(A: Tensor, p: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the condition numbers of matrices: the norm of order p of A times that of its inverse."""

def cross(input: Tensor, other: Tensor, *, dim: builtins.int = ..., out: Tensor | None = ...) -> Tensor:
    """Return the cross products of vectors along `dim`, which is the last dim by default; see `mg.cross`."""

def det(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the determinants of square matrices, computed from LU factors."""

def diagonal(A: Tensor, *, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor:
    """Return a view of the diagonals of matrices, which are in the last two dims by default; see `mg.diagonal`."""

def eig(A: Tensor, *, out: Tensor | None = ...) -> Any:
    """Return (eigenvalues, eigenvectors) of square matrices (..., n, n), with A @ V = V * eigenvalues."""

def eigh(A: Tensor, UPLO: builtins.str = ..., *, out: Tensor | None = ...) -> Any:
    """Return (eigenvalues, eigenvectors) of symmetric or Hermitian matrices (..., n, n)."""

def eigvals(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the complex eigenvalues of square matrices, which are not sorted; see `eig`."""

def eigvalsh(A: Tensor, UPLO: builtins.str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the eigenvalues of symmetric or Hermitian matrices in ascending order; see `eigh`."""

def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the first n columns of the product of the reflections of `mg.geqrf`, for matrices (..., m, n)."""

def inv(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverses of square matrices."""

def inv_ex(A: Tensor, *, check_errors: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return (inverse, info): the result of `inv`, and an int32 status for each matrix."""

def ldl_factor(A: Tensor, *, hermitian: Any = ...) -> Any:
    """Return (LD, pivots) of `ldl_factor_ex`.  Raises ArgumentError for a block of D that is 0 or nan."""

def ldl_factor_ex(A: Tensor, *, hermitian: Any = ..., check_errors: Any = ...) -> Any:
    """Return (LD, pivots, info) with A = P L D L.T P.T, for symmetric matrices; not differentiable, as in PyTorch."""

def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: Any = ...) -> Tensor:
    """Return X with A @ X = B, from the factors that `ldl_factor` returned for A."""

def lstsq(A: Tensor, B: Tensor, rcond: builtins.float | None = ..., *, driver: builtins.str | None = ..., out: Tensor | None = ...) -> Any:
    """Return (solution, residuals, rank, singular_values) of the least-squares problem min |A @ X - B|."""

def lu(A: Tensor, *, pivot: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return (P, L, U) with A = P @ L @ U for matrices (..., m, n)."""

def lu_factor(A: Tensor, *, pivot: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return (LU, pivots): the factors L and U of `lu` in one matrix, and the row exchanges in int32."""

def lu_factor_ex(A: Tensor, *, pivot: builtins.bool = ..., check_errors: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return (LU, pivots, info): the results of `lu_factor`, and an int32 status for each matrix."""

def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: builtins.bool = ..., adjoint: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return X with A @ X = B, from the factors that `lu_factor` returned for A; batch dims broadcast."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the matrix product; batch dims broadcast."""

def matrix_exp(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the exponentials of square matrices: the sum of input^k / k! over all k."""

def matrix_norm(A: Tensor, ord: Any = ..., dim: Any = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the norms of the matrices in two dims."""

def matrix_power(A: Tensor, n: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return the n-th power of square matrices, computed by repeated squaring."""

def matrix_rank(A: Tensor, tol: Any = ..., hermitian: builtins.bool = ..., *, atol: Any = ..., rtol: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the rank of matrices in int64: the number of singular values above a tolerance."""

def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Return the product of two or more matrices, computed in the order with the fewest multiplications."""

def norm(input: Tensor, ord: Any = ..., dim: Any = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return `vector_norm` over one dim, or `matrix_norm` over two dims."""

def pinv(A: Tensor, rcond: Any = ..., hermitian: builtins.bool = ..., *, atol: Any = ..., rtol: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the Moore-Penrose inverses (..., n, m) of matrices (..., m, n), computed from singular values."""

def qr(A: Tensor, mode: builtins.str = ..., *, out: Tensor | None = ...) -> Any:
    """Return (Q, R) with Q @ R = A for matrices (..., m, n); Q has orthonormal columns, and R is upper triangular."""

def slogdet(A: Tensor, *, out: Tensor | None = ...) -> Any:
    """Return (sign, logabsdet): the signs and the logarithms of the magnitudes of determinants."""

def solve(A: Tensor, B: Tensor, *, left: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return X with A @ X = B for square matrices (..., n, n); batch dims broadcast."""

def solve_ex(A: Tensor, B: Tensor, *, left: builtins.bool = ..., check_errors: builtins.bool = ..., out: Tensor | None = ...) -> Any:
    """Return (result, info): the result of `solve`, and an int32 status for each matrix."""

def solve_triangular(A: Tensor, B: Tensor, *, upper: builtins.bool, left: builtins.bool = ..., unitriangular: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return X with A @ X = B for triangular matrices A; batch dims broadcast."""

def svd(A: Tensor, full_matrices: builtins.bool = ..., *, driver: Any = ..., out: Tensor | None = ...) -> Any:
    """Return (U, S, Vh) with U * S @ Vh = A for matrices (..., m, n)."""

def svdvals(A: Tensor, *, driver: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the singular values of matrices in descending order; see `svd`."""

def tensorinv(A: Tensor, ind: builtins.int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse of `tensordot(A, ., A.ndim - ind)`: A as a matrix with `ind` dims of rows, inverted."""

def tensorsolve(A: Tensor, B: Tensor, dims: builtins.int | Sequence[builtins.int] | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return X with tensordot(A, X, X.ndim) = B."""

def vander(x: Tensor, N: builtins.int | None = ...) -> Tensor:
    """Return the Vandermonde matrix: the powers 0 to N - 1 of each element, along a new last dim."""

def vecdot(x: Tensor, y: Tensor, *, dim: builtins.int = ..., out: Tensor | None = ...) -> Tensor:
    """Return the inner products of vectors along `dim`, with x conjugated if it is complex; the operands broadcast."""

def vector_norm(x: Tensor, ord: Any = ..., dim: Any = ..., keepdim: builtins.bool = ..., *, dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Return the vector norm of order `ord`, a number, over `dim`, by default over all elements; see `mg.norm`."""
