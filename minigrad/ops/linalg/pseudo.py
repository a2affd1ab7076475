"""Functions that are computed from singular values: pseudoinverses, ranks, condition numbers, least squares."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from minigrad.core.conditions import expect_shapes
from minigrad.core.roles import Choice, Flag
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.record import results_of
from minigrad.ops.creation import zeros
from minigrad.ops.linalg.factors import conjugated, triangular
from minigrad.ops.linalg.lu import reflections
from minigrad.ops.linalg.matrices import matrix_norm
from minigrad.ops.linalg.spectra import eigh, singular, svdvals
from minigrad.ops.linalg.systems import inv_ex, known, value_dtype
from minigrad.ops.pointwise.arithmetic import maximum
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.sums import amax, sum
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import readable

LSTSQ: Any = results_of("lstsq", ("solution", "residuals", "rank", "singular_values"))
DRIVERS = ("gelsy", "gels", "gelsd", "gelss", None)


def above(name: str, A: Tensor, sizes: Tensor, atol: Any, rtol: Any) -> Tensor:
    """Return which sizes along the last dim are larger than max(atol, rtol * the largest size).

    sizes: the magnitudes of the singular values or eigenvalues of A.  The default of rtol is the machine epsilon times
    the larger side of A, or 0 if atol is given.
    """
    if rtol is None:
        rtol = 0.0 if atol is not None else float(np.finfo(A.dtype.compute).eps) * max(A.shape[-2:])
    atol, rtol = (x.unsqueeze(-1) if isinstance(x, Tensor) else x for x in (0.0 if atol is None else atol, rtol))
    if not sizes.shape[-1]:
        return sizes > 0
    limit = amax(sizes, -1, True) * rtol
    return sizes > (maximum(limit, atol) if isinstance(atol, Tensor) else limit.clamp(min=atol))


# ---- pseudoinverses -------------------------------------------------------------------------------------------------


def pinv_gradient(g: Any, A: Tensor, y: Tensor) -> Tensor | None:
    """Return the gradient of A: -Y.H g Y.H + (I - A Y) g.H Y Y.H + Y.H Y g.H (I - Y A), with the pseudoinverse Y."""
    g = conjugated(g)
    left, right = g.mH @ y @ y.mH, y.mH @ y @ g.mH
    return conjugated(left - A @ (y @ left) + right - (right @ y) @ A - y.mH @ g @ y.mH)


def pinv_tangent(dA: Tensor, A: Tensor, y: Tensor) -> Tensor:
    """Return the tangent -Y dA Y + Y Y.H dA.H (I - A Y) + (I - Y A) dA.H Y.H Y of the pseudoinverse Y."""
    left, right = y @ (y.mH @ dA.mH), (dA.mH @ y.mH) @ y
    return left - (left @ A) @ y + right - y @ (A @ right) - y @ dA @ y


@kernel(
    dtype=value_dtype, shape=lambda op, A, value: value.shape, name="pinv", namespace=(),
    vjp=(lambda g, A, y: pinv_gradient(g, A, y), None), jvp=lambda dA, A, y: pinv_tangent(dA, A, y),
    batch="front", complex=True,
)  # fmt: skip
def pseudoinverse(backend, out, A: Tensor, value: Tensor):
    """Return a copy of `value`, the pseudoinverses of A, as a differentiable function of A.

    The derivative holds as long as the rank of A does not change.
    Source of the derivative: Golub and Pereyra, "The differentiation of pseudo-inverses" (1973).
    """
    return known(backend, out, A, value)


@composed(of=pseudoinverse)
def pinv(
    A: Tensor, rcond: Any = None, hermitian: Flag = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:  # fmt: skip
    """Return the Moore-Penrose inverses (..., n, m) of matrices (..., m, n), computed from singular values.

    Singular values up to max(atol, rtol * the largest singular value) count as 0.
    atol: the absolute tolerance, 0 if None.  rcond: the older name of rtol.
    rtol: the relative tolerance. None stands for the machine epsilon of the dtype times max(m, n), or for 0 if atol is
    given.
    hermitian: whether the matrices are symmetric or Hermitian. The inverses are then computed from eigenvalues, and
    only the lower triangle of a matrix is read.
    Gradient: correct where small changes of A do not change the rank, also for equal singular values.
    """
    rtol = rcond if rtol is None else rtol
    if hermitian:
        w, V = eigh(A.detach())
        counted = above("pinv", A, abs(w), atol, rtol)
        value = (V * where(counted, 1 / w, 0.0).unsqueeze(-2)) @ V.mH
    else:
        U, S, Vh = singular(A.detach(), full=False)
        value = (Vh.mH * where(above("pinv", A, S, atol, rtol), 1 / S, 0.0).unsqueeze(-2)) @ U.mH
    return pseudoinverse(A, value)


@composed()
def matrix_rank(
    A: Tensor, tol: Any = None, hermitian: Flag = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:  # fmt: skip
    """Return the rank of matrices in int64: the number of singular values above a tolerance.

    The tolerance is max(atol, rtol * the largest singular value); see `pinv` for the defaults.
    tol: the older form, an absolute tolerance.
    """
    A = A.detach()
    atol, rtol = (atol, rtol) if tol is None else (tol, 0.0)
    sizes = abs(eigh(A).eigenvalues) if hermitian else svdvals(A)
    return sum(above("matrix_rank", A, sizes, atol, rtol), -1)


@composed()
def cond(A: Tensor, p: Any = None) -> Tensor:
    """Return the condition numbers of matrices: the norm of order p of A times that of its inverse.

    The result is inf for a singular matrix.

    p: the order of the norm, as for `matrix_norm`. None stands for 2: the result is then the largest singular value
    divided by the smallest, and the matrices need not be square.
    """
    if not A.numel():
        return zeros(A.shape[:-2], dtype=A.dtype.to_real(), device=A.device)
    if p in (None, 2, -2):
        S = svdvals(A)
        first, last = (0, -1) if p != -2 else (-1, 0)
        return S[..., first] / S[..., last]
    X, info = inv_ex(A)
    singular = info != 0
    X = where(singular.unsqueeze(-1).unsqueeze(-1), 0.0, X)  # their inverses contain inf and nan
    return where(singular, math.inf, matrix_norm(A, p) * matrix_norm(X, p))


# ---- least squares --------------------------------------------------------------------------------------------------


def full_rank_solution(A: Tensor, B: Tensor) -> Tensor:
    """Return the least-squares solution R^-1 Q.H B from A = QR, or Q R^-H B from A.H = QR for a wide matrix."""
    if A.shape[-2] >= A.shape[-1]:
        Q, R = reflections(A, complete=False)
        return triangular(R, Q.mH @ B, upper=True, unit=False)
    Q, R = reflections(A.mH, complete=False)
    return Q @ triangular(R.mH, B, upper=False, unit=False)


@composed()
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: Annotated[Any, Choice(*DRIVERS)] = None) -> Any:
    """Return (solution, residuals, rank, singular_values) of the least-squares problem min |A @ X - B|.

    If there are several solutions, the result is the one with the smallest norm.  As in PyTorch, some results may be
    empty.  The residuals, sums of squares, are computed only for m > n, with "gels", or with "gelsd" and "gelss" if
    all ranks are n, or if they cannot be read, as inside `vmap`.  The rank is computed with every driver except
    "gels", and the singular values only with "gelsd" and "gelss".

    Shapes: A is (..., m, n), and B is (..., m, k), or (..., m) for vectors.
    driver: "gels" uses QR factors and requires matrices of full rank. "gelsy", the default, "gelsd" and "gelss" use the
    pseudoinverse with rtol=rcond.
    Gradient: the gradients of the solution and of the residuals are computed with the VJP rules of `qr` ("gels") or
    `pinv` (other drivers). No gradient flows through rank.
    """
    vector = A.ndim - 1 == B.ndim and B.shape == A.shape[:-1]
    Y = B.unsqueeze(-1) if vector else B
    expect_shapes("lstsq", "pass one row of B per row of A", "..., m, n; ..., m, k", A=A, B=Y)
    m, n = A.shape[-2:]
    rank = values = zeros(0, dtype=A.dtype.to_real(), device=A.device)
    if driver == "gels":
        X, rank = full_rank_solution(A, Y), rank.to("int64")
    else:
        X, rank = pinv(A, rtol=rcond) @ Y, matrix_rank(A, rtol=rcond)
        values = svdvals(A.detach()) if driver in ("gelsd", "gelss") else values
    residuals = zeros(0, dtype=A.dtype.to_real(), device=A.device)
    full = driver == "gels" or not readable(rank)
    if m > n and driver in ("gels", "gelsd", "gelss") and (full or bool((rank == n).all())):
        rest = A @ X - Y
        residuals = sum((abs(rest) if A.dtype.is_complex else rest) ** 2, -2)
    return LSTSQ(X.squeeze(-1) if vector else X, residuals, rank, values)
