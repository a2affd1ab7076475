"""Systems of linear equations, inverses and determinants, computed from LU factors with partial pivoting.

The gradient of a determinant is the matrix of cofactors, which also exists for a singular matrix.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from minigrad.backends.launch import remapped
from minigrad.core.conditions import Condition, Square, expect_shapes
from minigrad.core.dtype import DType, int32
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Copy
from minigrad.core.roles import Flag
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.record import results_of
from minigrad.errors import ArgumentError, DTypeError
from minigrad.ops.creation import arange, eye
from minigrad.ops.indexing.sorting import argsort
from minigrad.ops.linalg.factors import first_step, square_shape, triangular, wide_dtype
from minigrad.ops.linalg.lu import factors, rows_of, solved
from minigrad.ops.linalg.products import matmul
from minigrad.ops.pointwise.compare import where
from minigrad.ops.pointwise.complexes import angle, complex, sgn, unit_of
from minigrad.ops.pointwise.explog import log
from minigrad.ops.reduction.sums import prod, sum
from minigrad.ops.shape.diagonals import diag_embed, tril, triu
from minigrad.ops.shape.parts import imag, real
from minigrad.runtime.tensor import Tensor

RESULTS: dict[str, Any] = {
    name: results_of(name, fields) for name, fields in {
        "lu": ("P", "L", "U"), "lu_factor": ("LU", "pivots"), "lu_factor_ex": ("LU", "pivots", "info"),
        "slogdet": ("sign", "logabsdet"), "inv_ex": ("inverse", "info"), "solve_ex": ("result", "info"),
    }.items()
}  # fmt: skip


SQUARE = Square.but(advice="use lstsq for other shapes")


def expect_pivots(name: str, pivot: bool) -> None:
    """Raise ArgumentError for pivot=False, because for many matrices such factors do not exist or are inaccurate."""
    if not pivot:
        raise ArgumentError(
            f"{name}: pivot must be True, because minigrad always exchanges rows, got False; omit pivot"
        )


def eye_of(A: Tensor) -> Tensor:
    """Return the identity matrix with the size, dtype and device of square matrices."""
    return eye(A.shape[-1], dtype=A.dtype, device=A.device)


def pivots_of(LU: Tensor) -> Tensor:
    """Return the pivots, which are the diagonal of U in packed factors."""
    return LU.diagonal(0, -2, -1)


# ---- factors --------------------------------------------------------------------------------------------------------


@composed()
def lu(A: Tensor, *, pivot: Flag = True) -> Any:
    """Return (P, L, U) with A = P @ L @ U for matrices (..., m, n).

    P is a permutation matrix, L is lower triangular with ones on the diagonal, and U is upper triangular.  With
    k = min(m, n), L is (..., m, k) and U is (..., k, n).
    Gradient: computed from triangular systems, for matrices of full rank. If the leading square part is singular, the
    gradient contains inf or nan, as in PyTorch.
    """
    expect_pivots("lu", pivot)
    LU, _, order = factors(A, regular=False)
    m, n = A.shape[-2:]
    k = min(m, n)
    P = (arange(m, device=A.device).unsqueeze(-1) == order.unsqueeze(-2)).to(LU.dtype)
    L = tril(LU.narrow(-1, 0, k), -1) + eye(m, k, dtype=LU.dtype, device=LU.device)
    return RESULTS["lu"](P, L, triu(LU.narrow(-2, 0, k)))


@composed(of=factors)
def lu_factor(A: Tensor, *, pivot: Flag = True) -> Any:
    """Return (LU, pivots): the factors L and U of `lu` in one matrix, and the row exchanges in int32.

    pivots[k] is the row, counted from 1, that step k exchanged with row k + 1.
    Raises ArgumentError for a pivot that is 0; `lu` and `lu_factor_ex` do not.
    """
    expect_pivots("lu_factor", pivot)
    LU, exchanges, _ = factors(A, regular=True)
    return RESULTS["lu_factor"](LU, (exchanges + 1).to(int32))


@composed()
def lu_factor_ex(A: Tensor, *, pivot: Flag = True, check_errors: Flag = False) -> Any:
    """Return (LU, pivots, info): the results of `lu_factor`, and an int32 status for each matrix.

    info is 0 if all pivots are nonzero, and otherwise the first step whose pivot is 0, counted from 1.
    check_errors: whether to raise ArgumentError for a pivot that is 0.
    """
    expect_pivots("lu_factor_ex", pivot)
    LU, exchanges, _ = factors(A, regular=check_errors)
    return RESULTS["lu_factor_ex"](LU, (exchanges + 1).to(int32), first_step(pivots_of(LU.detach()) == 0))


Pivots = Condition(DTypeError, "have the dtype int32", "pass the pivots of lu_factor", lambda x, _: x.dtype is int32)


def row_order(pivots: Tensor, rows: int) -> Tensor:
    """Return the original position of each row after the row exchanges of `lu_factor`, which are applied in order."""
    position = arange(rows, device=pivots.device)
    order = position.expand(*pivots.shape[:-1], rows)
    for j in range(pivots.shape[-1]):
        p = pivots.narrow(-1, j, 1).to(order.dtype) - 1
        p = where(p < 0, rows, p)  # a row before the first does not exist; it is not counted from the end
        moved = where(position == p, order.narrow(-1, j, 1), order)
        order = where(position == j, order.gather(-1, p), moved)
    return order


@composed()
def lu_solve(
    LU: Tensor, pivots: Annotated[Tensor, Pivots], B: Tensor, *, left: Flag = True, adjoint: Flag = False
) -> Tensor:
    """Return X with A @ X = B, from the factors that `lu_factor` returned for A; batch dims broadcast.

    left: whether to solve A @ X = B; if False, X @ A = B is solved.
    adjoint: whether to solve with A.mH instead of A.
    Gradient: for LU and B, computed from triangular systems.
    """
    SQUARE.expect("lu_solve", LU=LU)
    expect_shapes("lu_solve", "pass the results of lu_factor", "*, n, n; *, n", LU=LU, pivots=pivots)
    sides = "n, k" if left else "k, n"
    expect_shapes("lu_solve", "pass right-hand sides of the size of LU", f"..., n, n; ..., {sides}", LU=LU, B=B)
    if not left:
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    order = row_order(pivots, LU.shape[-1])
    if adjoint:
        X = triangular(LU.mH, triangular(LU.mH, B, upper=False, unit=False), upper=True, unit=True)
        return rows_of(X, argsort(order, -1))
    return triangular(LU, triangular(LU, rows_of(B, order), upper=False, unit=True), upper=True, unit=False)


# ---- systems --------------------------------------------------------------------------------------------------------


def solution(name: str, A: Tensor, B: Tensor, left: bool, LU: Tensor, order: Tensor) -> Tensor:
    """Return the solution of a system from the factors of A; the right-hand sides B may be vectors or matrices."""
    SQUARE.expect(name, A=A)
    if B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1]):
        return solved(A, LU, order, B.unsqueeze(-1), adjoint=not left).squeeze(-1)
    return solved(A, LU, order, B, adjoint=False) if left else solved(A, LU, order, B.mT, adjoint=True).mT


@composed(of=solved)
def solve(A: Tensor, B: Tensor, *, left: Flag = True) -> Tensor:
    """Return X with A @ X = B for square matrices (..., n, n); batch dims broadcast.

    B contains vectors if it has one dim, or the shape of A without the last dim. Otherwise B contains matrices
    (..., n, k).
    left: whether to solve A @ X = B; if False, X @ A = B is solved.
    Gradient: h = A^-T @ g for B, and -h @ X.mT for A.
    Raises ArgumentError for a singular matrix; the message contains its index in the batch.
    """
    SQUARE.expect("solve", A=A)
    LU, _, order = factors(A.detach(), regular=True)
    return solution("solve", A, B, left, LU, order)


@composed()
def solve_ex(A: Tensor, B: Tensor, *, left: Flag = True, check_errors: Flag = False) -> Any:
    """Return (result, info): the result of `solve`, and an int32 status for each matrix.

    info is 0 if all pivots are nonzero, and otherwise the first step whose pivot is 0, counted from 1.  If info is not
    0, the result contains inf or nan.
    check_errors: whether to raise ArgumentError for a pivot that is 0.
    """
    LU, _, order = factors(A.detach(), regular=check_errors)
    return RESULTS["solve_ex"](solution("solve_ex", A, B, left, LU, order), first_step(pivots_of(LU) == 0))


@composed()
def inv(A: Tensor) -> Tensor:
    """Return the inverses of square matrices.

    Gradient: -X.mT @ g @ X.mT with the inverse X.
    Raises ArgumentError for a singular matrix, with its index in the batch.
    """
    SQUARE.expect("inv", A=A)
    LU, _, order = factors(A.detach(), regular=True)
    return solved(A, LU, order, eye_of(A), adjoint=False)


@composed()
def inv_ex(A: Tensor, *, check_errors: Flag = False) -> Any:
    """Return (inverse, info): the result of `inv`, and an int32 status for each matrix.

    info is 0 if all pivots are nonzero, and otherwise the first step whose pivot is 0, counted from 1.  If info is not
    0, the inverse contains inf or nan.
    check_errors: whether to raise ArgumentError for a pivot that is 0.
    """
    SQUARE.expect("inv_ex", A=A)
    LU, _, order = factors(A.detach(), regular=check_errors)
    return RESULTS["inv_ex"](solved(A, LU, order, eye_of(A), adjoint=False), first_step(pivots_of(LU) == 0))


# ---- determinants ---------------------------------------------------------------------------------------------------


def parity(exchanges: Tensor) -> Tensor:
    """Return 1 for an even number of row exchanges, and -1 for an odd number (int64)."""
    own = arange(exchanges.shape[-1], device=exchanges.device)
    return prod(where(exchanges == own, 1, -1), -1)


def value_dtype(op: Op, specs: tuple[Spec, ...]) -> DType:
    """Return the dtype of the last operand, the precomputed value of a function of matrices."""
    return wide_dtype(op, specs[-1:])


def value_shape(op: Op, *specs: Spec) -> tuple[int, ...]:
    """Return the shape of the last operand, the precomputed value of a function of square matrices."""
    square_shape(op, specs[0])
    return specs[-1].shape


def cofactors_by_factors(A: Tensor) -> Tensor:
    """Return det(A) * A^-T, without recording it.

    A pivot of 0 is replaced by a number that is so small that it does not change the result.
    """
    A = A.detach()
    LU, exchanges, order = factors(A, regular=False)
    pivots = pivots_of(LU)
    size = sum(abs(A), (-2, -1), True).squeeze(-1)
    fixed = where(pivots == 0, float(np.finfo(A.dtype.compute).eps) * where(size > 0, size, 1.0), pivots)
    inverse = solved(A, LU + diag_embed(fixed - pivots), order, eye_of(A), adjoint=True)
    return inverse * (prod(fixed, -1) * parity(exchanges)).unsqueeze(-1).unsqueeze(-1)


def cofactors(A: Tensor) -> Tensor:
    """Return the cofactors of square matrices, which are the gradient of the determinant."""
    return cofactors_of(A, cofactors_by_factors(A))


def cofactors_gradient(g: Tensor, A: Tensor, y: Tensor) -> Tensor:
    """Return the gradient of A, sum(g * y) A^-T - y g.T A^-T, with the cofactors y."""
    return matmul(sum(g * y, (-2, -1), True) * eye_of(A) - y @ g.mT, inv(A).mT)


def cofactors_tangent(dA: Tensor, A: Tensor, y: Tensor) -> Tensor:
    """Return the tangent of the cofactors y, sum(A^-T * dA) y - A^-T dA.T y."""
    X = inv(A).mT
    return sum(X * dA, (-2, -1), True) * y - X @ dA.mT @ y


@kernel(
    dtype=value_dtype, shape=value_shape, name="cofactors", namespace=(),
    vjp=(lambda g, A, y: cofactors_gradient(g, A, y), None), jvp=lambda dA, A, y: cofactors_tangent(dA, A, y),
    batch="front", complex=True,
)  # fmt: skip
def cofactors_of(backend, out, A: Tensor, value: Tensor):
    """Return a copy of `value`, the cofactors of A, as a differentiable function of A.

    Gradient: see `cofactors_gradient`; it requires invertible matrices.
    """
    return known(backend, out, A, value)


def known(backend: Any, out: Any, A: Any, value: Any) -> Any:
    """Return the launch that copies `value`, the value of a function of A that was computed without recording it."""
    return remapped(backend.prepare(Copy(), out, value), (1, 2), 3)


@kernel(
    dtype=value_dtype, shape=value_shape, name="det", namespace=(),
    vjp=(lambda g, A: g.unsqueeze(-1).unsqueeze(-1) * cofactors(A), None),
    jvp=lambda dA, A: sum(dA * cofactors(A), (-2, -1)),
    batch="front", complex=True,
)  # fmt: skip
def determinant(backend, out, A: Tensor, value: Tensor):
    """Return a copy of `value`, the determinants of A, as a differentiable function of A.

    Gradient: g times the cofactors.
    """
    return known(backend, out, A, value)


@composed(of=determinant)
def det(A: Tensor) -> Tensor:
    """Return the determinants of square matrices, computed from LU factors.

    Gradient: g times the cofactors, also for a singular matrix. Second derivatives need the inverse, and raise
    ArgumentError for a singular matrix.
    """
    SQUARE.expect("det", A=A)
    LU, exchanges, _ = factors(A.detach(), regular=False)
    return determinant(A, prod(pivots_of(LU), -1) * parity(exchanges))


@kernel(
    dtype=value_dtype, shape=value_shape, name="slogdet",
    namespace=(),
    vjp=(lambda g, A, LU, order: g.unsqueeze(-1).unsqueeze(-1) * solved(A, LU, order, eye_of(A), adjoint=True), None,
         None, None),
    jvp=lambda dA, A, LU, order: sum(dA * solved(A, LU, order, eye_of(A), adjoint=True), (-2, -1)),
    batch="front", complex=True,
)  # fmt: skip
def logarithm(backend, out, A: Tensor, LU: Tensor, order: Tensor, value: Tensor):
    """Return a copy of `value`, log(det) of A or log|det| of a real A, as a differentiable function of A.

    Gradient: g * A^-T.
    """
    return remapped(backend.prepare(Copy(), out, value), (3, 4), 5)


@composed(of=logarithm)
def slogdet(A: Tensor) -> Any:
    """Return (sign, logabsdet): the signs and the logarithms of the magnitudes of determinants.

    For a singular matrix, sign is 0 and logabsdet is -inf.  The sign of a complex determinant is det/|det|.
    Gradient: for logabsdet, g * A^-H, which is inf or nan for a singular matrix. No gradient flows through the sign of
    a real matrix; that of a complex matrix is exp(i*angle), with the imaginary part of log(det) as its angle.
    """
    SQUARE.expect("slogdet", A=A)
    LU, exchanges, order = factors(A.detach(), regular=False)
    pivots = pivots_of(LU)
    sign, size = prod(sgn(pivots), -1) * parity(exchanges), sum(log(abs(pivots)), -1)
    if not A.dtype.is_complex:
        return RESULTS["slogdet"](sign, logarithm(A, LU, order, size))
    value = logarithm(A, LU, order, complex(size, angle(sign)))
    return RESULTS["slogdet"](where(sign == 0, 0.0, unit_of(imag(value))), real(value))
