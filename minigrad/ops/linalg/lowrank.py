"""A few singular values or eigenvalues of large matrices: `svd_lowrank`, `pca_lowrank` and `lobpcg`.

Source of the first two: Halko, Martinsson and Tropp, "Finding structure with randomness" (2011), 4.4 and 5.1.
"""

from __future__ import annotations

from typing import Annotated, Any

from minigrad.core.conditions import Floating, Square
from minigrad.core.roles import Flag, Number
from minigrad.declare.decorators import composed
from minigrad.errors import ArgumentError, check
from minigrad.ops.linalg.factors import cholesky, triangular
from minigrad.ops.linalg.lu import MATRICES, qr
from minigrad.ops.linalg.spectra import eigh, svd
from minigrad.ops.random import randn
from minigrad.ops.reduction.sums import mean
from minigrad.ops.shape.views import flip
from minigrad.runtime.tensor import Tensor

Count = Annotated[Any, Number(0, whole=True, optional=True)]


@composed(method=False, out=False)
def svd_lowrank(
    A: Annotated[Tensor, MATRICES, Floating], q: Count = 6, niter: Count = 2, M: Tensor | None = None
) -> Any:
    """Return (U, S, V) with U * S @ V.mT close to A, or to A - M, for matrices (..., m, n) of a low rank.

    The result is the decomposition of the projection of A onto q random directions, so it is exact up to rounding if
    the rank is at most q.  `mg.linalg.svd` is exact for all matrices.
    q: the number of singular values; a few more than are needed.  niter: the number of subspace iterations.
    M: is subtracted from A, with broadcasting.
    Gradient: that of the products, `qr` and `svd`; nan if q is larger than the rank.
    """
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    A = A if M is None else A - M
    wide = A.shape[-2] < A.shape[-1]
    A = A.mT if wide else A
    Q = qr(A @ randn(A.shape[-1], q, dtype=A.dtype, device=A.device)).Q
    for _ in range(niter):
        Q = qr(A @ qr(A.mT @ Q).Q).Q
    U, S, Vh = svd(Q.mT @ A, False)
    left, right = Q @ U, Vh.mT
    return (right, S, left) if wide else (left, S, right)


@composed(method=False, out=False)
def pca_lowrank(
    A: Annotated[Tensor, MATRICES, Floating], q: Count = None, center: Flag = True,
    niter: Annotated[int, Number(0, whole=True)] = 2,
) -> Any:  # fmt: skip
    """Return (U, S, V) of `svd_lowrank` for the rows of A minus their mean: a principal component analysis.

    The columns of V are the principal directions, and S ** 2 / (m - 1) are the variances along them.
    q: the number of components, at most min(m, n), and by default at most 6.  center: whether to subtract the mean.
    Raises ArgumentError for a larger q.
    """
    most = min(A.shape[-2:])
    Number(0, most, whole=True, optional=True, example=most).expect("pca_lowrank", A, q=q)
    return svd_lowrank(A - mean(A, -2, True) if center else A, min(6, most) if q is None else q, niter)


@composed(method=False, out=False)
def lobpcg(
    A: Annotated[Tensor, Square, Floating], k: Count = None, B: Tensor | None = None, X: Tensor | None = None,
    n: int | None = None, iK: Tensor | None = None, niter: Any = None, tol: Any = None, largest: bool | None = None,
    method: Any = None, tracker: Any = None, ortho_iparams: Any = None,
    ortho_fparams: Any = None, ortho_bparams: Any = None,
) -> Any:  # fmt: skip
    """Return the k largest or smallest eigenvalues of symmetric matrices, and their eigenvectors.

    The pairs solve A @ x = e * B @ x, with x.T @ B @ x = 1, and begin with the most extreme one.
    PyTorch iterates from X, because its A may be sparse.  All matrices are dense here, so the pairs come from `eigh`.
    k: the number of pairs, by default the number of columns of X, or 1.  X: only sets the default of k.
    B: positive definite matrices, or None for the identity.  largest: whether the largest pairs are returned.
    n, iK, niter, tol, method, ortho_iparams, ortho_fparams, ortho_bparams: accepted without effect; they belong to the
    iteration.
    tracker: must be None, because there is no iteration.
    Gradient: that of `cholesky` and `eigh`.
    Raises ArgumentError for a tracker, and unless k is from 1 to the size of A.
    """
    k = (1 if X is None else X.shape[-1]) if k is None else k
    Number(1, A.shape[-1], whole=True, example=1).expect("lobpcg", A, k=k)
    check(tracker is None, ArgumentError, "lobpcg: tracker must be None, because there is no iteration; leave it out")
    L = None if B is None else cholesky(B)
    whole = A if L is None else triangular(L, triangular(L, A, upper=False, unit=False).mT, upper=False, unit=False)
    E, V = eigh((whole + whole.mT) / 2)  # eigh reads one triangle, and the gradient belongs to both
    V = V if L is None else triangular(L.mT, V, upper=True, unit=False)
    if largest is not False:
        E, V = flip(E, -1), flip(V, -1)
    return E.narrow(-1, 0, k), V.narrow(-1, 0, k)
