"""Eigenvalues of symmetric matrices and singular values, with derivatives of every order.

Source of the derivatives: Giles, "An extended collection of matrix derivative results for forward and reverse mode
automatic differentiation" (2008), sections 3.1 and 3.2; for matrices that are not square, Wan and Zhang, arXiv
1909.02659.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.lowering.functions import NOT_FINITE
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Choice, Flag
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.record import results_of
from minigrad.ops.creation import eye, zeros
from minigrad.ops.linalg.factors import real_dtype, refusing, square_shape
from minigrad.ops.linalg.lu import matrix_shape
from minigrad.ops.shape.diagonals import diag_embed
from minigrad.ops.shape.joining import cat
from minigrad.runtime.tensor import Tensor

Shape = tuple[int, ...]
UNFOUND = "contains nan or inf, so its {} are not found"
SVD_RESULT: Any = results_of("svd", ("U", "S", "Vh"))
EIGH_RESULT: Any = results_of("eigh", ("eigenvalues", "eigenvectors"))


def gaps(x: Tensor) -> Tensor:
    """Return the matrix of the differences x[j] - x[i] in row i and column j, with ones on the diagonal."""
    return x.unsqueeze(-2) - x.unsqueeze(-1) + eye(x.shape[-1], dtype=x.dtype, device=x.device)


# ---- symmetric matrices ---------------------------------------------------------------------------------------------


def eigh_shapes(op: Op, A: Spec) -> tuple[Shape, Shape]:
    """Return the shapes of eigenvalues and eigenvectors."""
    shape = square_shape(op, A)
    return shape[:-1], shape


def eigh_gradient(g: Tensor | None, gV: Tensor | None, w: Tensor, V: Tensor) -> Tensor:
    """Return the symmetric gradient of A, V (diag(g) + skew(V.T gV) / gaps) V.T with skew(M) = (M - M.T)/2."""
    inner: Any = 0.0 if g is None else diag_embed(g)
    if gV is not None:
        M = V.mT @ gV
        inner = inner + (M - M.mT) * 0.5 / gaps(w)
    return V @ inner @ V.mT


def eigh_tangent(dA: Tensor, w: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tangents of the eigenvalues and eigenvectors, from P = V.T sym(dA) V with sym(X) = (X + X.T)/2.

    They are the diagonal of P, and V (P / gaps) with 0 instead of this diagonal.
    """
    P = V.mT @ (dA + dA.mT) * 0.5 @ V
    diagonal = P.diagonal(0, -2, -1)
    return diagonal, V @ ((P - diag_embed(diagonal)) / gaps(w))


@kernel(
    dtype=lambda op, specs: (real_dtype(op, specs),) * 2, shape=eigh_shapes, outputs=("eigenvalues", "eigenvectors"),
    name="eigh", namespace=(),
    vjp=(lambda g0, g1, eigenvalues, eigenvectors: eigh_gradient(g0, g1, eigenvalues, eigenvectors),),
    jvp=lambda dA, eigenvalues, eigenvectors: eigh_tangent(dA, eigenvalues, eigenvectors),
    batch="front",
)  # fmt: skip
def eigen(backend, eigenvalues, eigenvectors, A: Tensor):
    """Return the eigenvalues in ascending order and the eigenvectors of symmetric matrices; the upper triangle is read.

    Gradient: see `eigh_gradient`.
    """
    steps = Steps(backend, (eigenvalues, eigenvectors), (A,))
    steps.ask(requests.Eigh(), steps.outs, *steps.operands)
    sentence = UNFOUND.format("eigenvalues")
    return refusing(steps, "eigh", steps.outs[0], NOT_FINITE, lambda x: ~np.isfinite(x), sentence)


@composed(of=eigen)
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Return (eigenvalues, eigenvectors) of symmetric matrices (..., n, n).

    The eigenvalues are in ascending order, and the eigenvectors are the columns.  The sign of an eigenvector is
    arbitrary.
    UPLO: the triangle that is read, "L" or "U".
    Gradient: the symmetric part of V (diag(g) + (V.T gV) / (w[j] - w[i])) V.T, with the incoming gradients g of the
    eigenvalues w and gV of the eigenvectors V. If the eigenvectors are not used, there is only the first term. The
    second term is inf or nan for equal eigenvalues, as in PyTorch, because their eigenvectors are not unique; for close
    eigenvalues, it is large.
    Raises ArgumentError for a matrix with nan or infinities; the message contains its index in the batch.
    """
    Choice("L", "U").expect("eigh", UPLO=str(UPLO).upper())
    # For other shapes, the error message should show the shape that was passed.
    lower = UPLO.upper() == "L" and A.shape[-1:] == A.shape[-2:-1]
    return EIGH_RESULT._make(eigen(A.mT if lower else A))


@composed()
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Return the eigenvalues of symmetric matrices in ascending order; see `eigh`.

    Gradient: V diag(g) V.T with the eigenvectors V, also for equal eigenvalues.
    """
    return eigh(A, UPLO).eigenvalues


# ---- singular values ------------------------------------------------------------------------------------------------


def svd_shapes(op: Op, A: Spec, *, full: bool) -> tuple[Shape, Shape, Shape]:
    """Return the shapes of the singular vectors and values."""
    *batch, m, n = matrix_shape(op, A)
    k = min(m, n)
    return (*batch, m, m if full else k), (*batch, k), (*batch, n if full else k, n)


def outside(x: Tensor, basis: Tensor) -> Tensor:
    """Return x minus its projection onto the space that the orthonormal columns of `basis` span."""
    return x - basis @ (basis.mT @ x)


def svd_gradient(gU: Tensor | None, gS: Tensor | None, gVh: Tensor | None, U: Tensor, S: Tensor, Vh: Tensor) -> Tensor:
    """Return the gradient of A, U (diag(gS) + skew(U.T gU) / E S + S skew(V.T gV) / E) V.T.

    Here E = S[j]^2 - S[i]^2 and skew(X) = X - X.T.  If U or V is not square, the part of its gradient outside its
    column space is divided by S and added.  Columns of U and rows of Vh beyond min(m, n) count as constants.
    """
    k = S.shape[-1]
    U, Vh = U.narrow(-1, 0, k), Vh.narrow(-2, 0, k)
    inner = diag_embed(gS) if gS is not None else zeros((*S.shape, k), dtype=S.dtype, device=S.device)
    row, column = S.unsqueeze(-2), S.unsqueeze(-1)
    beside = None
    if gU is not None:
        gU = gU.narrow(-1, 0, k)
        M = U.mT @ gU
        inner = inner + (M - M.mT) / gaps(S * S) * row
        if U.shape[-2] > k:
            beside = outside(gU / row, U) @ Vh
    if gVh is not None:
        gV = gVh.narrow(-2, 0, k).mT
        M = Vh @ gV
        inner = inner + column * ((M - M.mT) / gaps(S * S))
        if Vh.shape[-1] > k:
            beside = U @ outside(gV / row, Vh.mT).mT
    whole = U @ inner @ Vh
    return whole if beside is None else whole + beside


def widened(x: Tensor, columns: int) -> Tensor:
    """Return x with additional columns of zeros, so that it has `columns` columns."""
    more = columns - x.shape[-1]
    return cat([x, zeros((*x.shape[:-1], more), dtype=x.dtype, device=x.device)], -1) if more else x


def svd_tangent(dA: Tensor, U: Tensor, S: Tensor, Vh: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the tangents of U, S and Vh, from P = U.T dA V.

    dS is the diagonal of P, dU is U (sym(P S) / E), and dV is V (sym(S P) / E), with E = S[j]^2 - S[i]^2 and sym(X) =
    X + X.T without the diagonal.  If U or V is not square, the part of dA V / S or dA.T U / S outside its column space
    is added.
    """
    k, columns, rows = S.shape[-1], U.shape[-1], Vh.shape[-2]
    U, Vh = U.narrow(-1, 0, k), Vh.narrow(-2, 0, k)
    row, column = S.unsqueeze(-2), S.unsqueeze(-1)
    P = U.mT @ dA @ Vh.mT
    dS = P.diagonal(0, -2, -1)
    P = P - diag_embed(dS)
    dU = U @ ((P * row + column * P.mT) / gaps(S * S))
    dV = Vh.mT @ ((column * P + P.mT * row) / gaps(S * S))
    if U.shape[-2] > k:
        dU = dU + outside(dA @ Vh.mT / row, U)
    if Vh.shape[-1] > k:
        dV = dV + outside(dA.mT @ U / row, Vh.mT)
    return widened(dU, columns), dS, widened(dV, rows).mT


@kernel(
    dtype=lambda op, specs, **params: (real_dtype(op, specs),) * 3, shape=svd_shapes, outputs=("U", "S", "Vh"),
    name="svd", namespace=(),
    vjp=(lambda g0, g1, g2, U, S, Vh: svd_gradient(g0, g1, g2, U, S, Vh),),
    jvp=lambda dA, U, S, Vh: svd_tangent(dA, U, S, Vh),
    batch="front",
)  # fmt: skip
def singular(backend, U, S, Vh, A: Tensor, *, full: Flag):
    """Return the singular values in descending order, and the singular vectors.

    full: whether U and Vh are square.  Gradient: see `svd_gradient`.
    """
    steps = Steps(backend, (U, S, Vh), (A,))
    steps.ask(requests.SVD(), steps.outs, *steps.operands)
    sentence = UNFOUND.format("singular values")
    return refusing(steps, "svd", steps.outs[1], NOT_FINITE, lambda x: ~np.isfinite(x), sentence)


@composed(of=singular)
def svd(A: Tensor, full_matrices: Flag = True, *, driver: Any = None) -> Any:
    """Return (U, S, Vh) with U * S @ Vh = A for matrices (..., m, n).

    U has orthonormal columns, Vh has orthonormal rows, and S is in descending order.  The common sign of a pair of
    singular vectors is arbitrary.
    full_matrices: whether U and Vh are square; if False, they have min(m, n) columns and rows.
    driver: has no effect; there is one algorithm.
    Gradient: for S alone, U diag(g) Vh. Singular vectors add terms with 1 / (S[j]^2 - S[i]^2) and 1 / S, which are inf
    or nan for equal singular values and for 0, as in PyTorch. Vectors beyond min(m, n) count as constants.
    Raises ArgumentError for a matrix with nan or infinities; the message contains its index in the batch.
    """
    return SVD_RESULT._make(singular(A, full=full_matrices))


@composed()
def svdvals(A: Tensor, *, driver: Any = None) -> Tensor:
    """Return the singular values of matrices in descending order; see `svd`.

    Gradient: U diag(g) Vh with the singular vectors U and Vh, also for equal singular values.
    """
    return singular(A, full=False).S
