"""LU and QR factors, and solutions of systems from LU factors, with derivatives of every order.

`systems.py` has the public functions of LU factors.  They compute the factors of a matrix once, without recording them;
the derivative of `solved` is another solution with the same factors.  QR factors come from Householder reflections.
Source of their derivatives: Walter and Lehmann, "Algorithmic differentiation of linear algebra functions with
application in optimum experimental design" (2010), section 3; for wide matrices Roberts and Roberts, arXiv 2009.10071.
"""

from __future__ import annotations

from typing import Annotated, Any

from minigrad.backends.lowering.functions import IS_ZERO
from minigrad.core import requests
from minigrad.core.conditions import Shaped
from minigrad.core.dtype import int64
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Gather, Scatter, SolveTriangular
from minigrad.core.roles import Choice, Flag
from minigrad.core.shape import broadcast_shapes
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.rules import joint as linear_in
from minigrad.declare.rules import twice
from minigrad.errors import ArgumentError
from minigrad.ops.batch_rules import Flags, ranked, stretched
from minigrad.ops.creation import eye, zeros
from minigrad.ops.indexing.gathering import gather
from minigrad.ops.indexing.sorting import argsort
from minigrad.ops.linalg.factors import conjugated, real_diagonals, refusing, solution_shape, triangular, wide_dtype
from minigrad.ops.shape.diagonals import tril, triu
from minigrad.ops.shape.joining import cat
from minigrad.runtime.tensor import Tensor

# ---- LU factors with partial pivoting --------------------------------------------------------------------------------


Shape = tuple[int, ...]

MATRICES = Shaped("..., m, n", "matrices", "add a dim with unsqueeze(0)")


def matrix_shape(op: Op, A: Spec) -> Shape:
    """Return the shape of matrices (..., m, n).  Raises ShapeError for a tensor with fewer than two dims."""
    MATRICES.expect(op.label, A=A)
    return A.shape


def unit_lower(LU: Tensor) -> Tensor:
    """Return L with ones on its diagonal, from packed square factors."""
    return tril(LU, -1) + eye(LU.shape[-1], dtype=LU.dtype, device=LU.device)


def rows_of(x: Tensor, order: Tensor) -> Tensor:
    """Return the rows of matrices in the order of the indices `order`; batch dims broadcast."""
    batch = broadcast_shapes("rows", x.shape[:-2], order.shape[:-1])
    index = order.unsqueeze(-1).expand(*batch, order.shape[-1], x.shape[-1])
    return gather(x.expand(*batch, *x.shape[-2:]), -2, index)


# ---- factors --------------------------------------------------------------------------------------------------------


def lu_shapes(op: Op, A: Spec, **params: Any) -> tuple[Shape, Shape, Shape]:
    """Return the shapes of the factors, the row exchanges and the order of the rows."""
    *batch, m, n = matrix_shape(op, A)
    return A.shape, (*batch, min(m, n)), (*batch, m)


def parts(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the square part of matrices, the rows below it and the columns to the right; one of these is empty."""
    m, n = x.shape[-2:]
    k = min(m, n)
    return x.narrow(-2, 0, k).narrow(-1, 0, k), x.narrow(-2, k, m - k), x.narrow(-1, k, n - k)


def over_upper(x: Tensor, LU: Tensor) -> Tensor:
    """Return x @ U^-T, with U from packed square factors."""
    return triangular(LU, x.mT, upper=True, unit=False).mT


def lu_gradient(g: Tensor, LU: Tensor, order: Tensor) -> Tensor:
    """Return the gradient of a matrix from the gradient g of its packed factors.

    For a square matrix, it is L^-T (tril(L.T gL, -1) + triu(gU U.T)) U^-T, with the rows in their original order.
    Additional rows below have L2 = A2 U^-1, and additional columns have U2 = L^-1 A2; their gradients are first added
    to the gradient of the square factors.
    """
    square, below, right = parts(LU)
    g, g_below, g_right = parts(g)
    if below.shape[-2]:
        g_below = over_upper(g_below, square)
        g = g - triu(below.mT @ g_below)
    if right.shape[-1]:
        g_right = triangular(square.mT, g_right, upper=True, unit=True)
        g = g - tril(g_right @ right.mT, -1)
    inner = tril(unit_lower(square).mT @ tril(g, -1), -1) + triu(triu(g) @ triu(square).mT)
    whole = triangular(square.mT, over_upper(inner, square), upper=True, unit=True)
    whole = cat([whole, g_below], -2) if below.shape[-2] else cat([whole, g_right], -1) if right.shape[-1] else whole
    return rows_of(whole, argsort(order, -1))


def lu_tangent(dA: Tensor, LU: Tensor, order: Tensor) -> tuple[Tensor, None, None]:
    """Return the tangent of the packed factors, and None for the integer results.

    For a square matrix, it is L tril(F, -1) + triu(F) U with F = L^-1 dA U^-1.
    """
    square, below, right = parts(LU)
    dA, dA_below, dA_right = parts(rows_of(dA, order))
    lower, upper = unit_lower(square), triu(square)
    inner = triangular(square, dA, upper=False, unit=True)
    inner = triangular(square.mT, inner.mT, upper=False, unit=False).mT
    dL, dU = lower @ tril(inner, -1), triu(inner) @ upper
    whole = dL + dU
    if below.shape[-2]:
        rest = triangular(square.mT, (dA_below - below @ dU).mT, upper=False, unit=False).mT
        whole = cat([whole, rest], -2)
    if right.shape[-1]:
        whole = cat([whole, triangular(square, dA_right - dL @ right, upper=False, unit=True)], -1)
    return whole, None, None


@kernel(
    dtype=lambda op, specs, **params: (wide_dtype(op, specs), int64, int64), shape=lu_shapes,
    outputs=("LU", "exchanges", "order"), name="lu_factor", namespace=(),
    vjp=(lambda g, LU, order: lu_gradient(g, LU, order),), jvp=lambda dA, LU, order: lu_tangent(dA, LU, order),
    batch="front", complex=True,
)  # fmt: skip
def factors(steps, LU, exchanges, order, A: Tensor, *, regular: Flag):
    """Return L and U in one matrix, the row exchanged in each step, and the original position of each row.

    Positions start at 0.  regular: whether a pivot of 0 raises ArgumentError.  Gradient: see `lu_gradient`.
    """
    steps.ask(requests.LU(), steps.outs, *steps.operands)
    if not regular:
        return steps.launch
    d = len(LU.shape) - 2
    pivots = steps.outs[0].seen(LU.layout.diagonal(0, d, d + 1))
    return refusing(
        steps, "lu_factor", pivots, IS_ZERO, lambda x: x == 0,
        "is singular: the pivot of its column {}, counted from 0, is 0, so it has no inverse",
    )  # fmt: skip


# ---- systems --------------------------------------------------------------------------------------------------------


def system_shape(op: Op, A: Spec, LU: Spec, order: Spec, B: Spec, **params: Any) -> Shape:
    """Return the shape of the solutions; the batch dims of all operands broadcast."""
    shape = solution_shape(op, A, B)
    return (*broadcast_shapes(op.label, shape[:-2], LU.shape[:-2], order.shape[:-1]), *shape[-2:])


def matrix_gradient(h: Tensor, y: Tensor, adjoint: bool) -> Tensor:
    """Return the gradient of the matrix, from the solution y and the gradient h of the right-hand side."""
    return -(y @ h.mT) if adjoint else -(h @ y.mT)


def system_gradients(g, A, LU, order, y, *, adjoint, asked):
    """Return the requested gradients of A and B, which need one solution of the transposed system."""
    h = solved(A, LU, order, g, adjoint=not adjoint)
    return matrix_gradient(h, y, adjoint) if asked[0] else None, None, None, h if asked[3] else None


def batched_system(A: Tensor, LU: Tensor, order: Tensor, B: Tensor, adjoint: bool, size: int, flags: Flags) -> Tensor:
    """Return the solutions of a batch of systems; the batch becomes an additional batch dim of the op."""
    xs = (A, LU, order, B)
    rank = max(x.ndim - flag for x, flag in zip(xs, flags))
    whole = [ranked(x, flag, rank - (x is order), size) for x, flag in zip(xs, flags)]
    return stretched(solved(*whole, adjoint=adjoint), True, size)


@kernel(
    dtype=lambda op, specs, **params: wide_dtype(op, (specs[0], specs[-1])), shape=system_shape, name="solve",
    namespace=(), complex=True, linear=linear_in("B"),
    vjp=(lambda g, A, LU, order, y, *, adjoint: matrix_gradient(
            solved(A, LU, order, g, adjoint=not adjoint), y, adjoint), None, None,
         lambda g, A, LU, order, *, adjoint: solved(A, LU, order, g, adjoint=not adjoint)),
    joint=system_gradients,
    jvp=lambda dA, A, LU, order, y, *, adjoint: -solved(A, LU, order, (dA.mT if adjoint else dA) @ y, adjoint=adjoint),
    batch=lambda A, LU, order, B, *, adjoint, batch, flags: batched_system(A, LU, order, B, adjoint, batch, flags),
)  # fmt: skip
def solved(steps, out, A: Tensor, LU: Tensor, order: Tensor, B: Tensor, *, adjoint: Flag):
    """Return the solution y of A @ y = B, or with `adjoint` of A.mT @ y = B, from the factors of A.

    The factors count as constants.
    Gradient: h = A^-T @ g for B, and -h @ y.T for A. With `adjoint`, h = A^-1 @ g for B, and -y @ h.T for A.
    """
    _, lu, where, b = steps.operands
    if not out.layout.numel:
        return
    d = len(out.shape) - 2
    batch = out.shape[:d]
    lu = lu.seen(lu.layout.expand((*batch, *lu.shape[-2:])))
    lu = lu.seen(lu.layout.transpose(d, d + 1)) if adjoint else lu
    b = b.seen(b.layout.expand(out.shape))
    index = where.seen(where.layout.unsqueeze(len(where.shape)).expand(out.shape))
    first, second = steps.work(out.shape, out.dtype), steps.work(out.shape, out.dtype)
    if adjoint:
        steps.ask(SolveTriangular(False, False), first, lu, b)
        steps.ask(SolveTriangular(True, True), second, lu, first)
        zero = steps.constant(0, out.dtype)
        steps.ask(Scatter(d), out, zero.seen(zero.layout.expand(out.shape)), index, second)
        return
    steps.ask(Gather(d), first, b, index)
    steps.ask(SolveTriangular(False, True), second, lu, first)
    steps.ask(SolveTriangular(True, False), out, lu, second)


# ---- QR factors ------------------------------------------------------------------------------------------------------


def qr_shapes(op: Op, A: Spec, *, complete: bool) -> tuple[Shape, Shape]:
    """Return the shapes of Q and R."""
    *batch, m, n = matrix_shape(op, A)
    p = m if complete else min(m, n)
    return (*batch, m, p), (*batch, p, n)


def expect_smooth(Q: Tensor, R: Tensor) -> int:
    """Return the number of rows of R.  Raises ArgumentError if columns of Q are arbitrary and have no derivative."""
    p, n = R.shape[-2:]
    if p > n:
        raise ArgumentError(
            f"qr: mode='complete' has no derivative for {p} rows and {n} columns, because the columns of Q after "
            f"the first {n} are arbitrary; use mode='reduced'"
        )
    return p


def qr_gradient(gQ: Tensor | None, gR: Tensor | None, Q: Tensor, R: Tensor) -> Tensor | None:
    """Return the gradient of A, (gQ + Q S) R^-H; S is Hermitian, with the lower triangle of R gR.H - gQ.H Q.

    A wide matrix has additional columns A2 = Q R2 to the right of the square.  Since R2 = Q.H A2, A2 gR2.H is added to
    gQ, and the gradient of A2 is Q gR2.
    """
    gQ, gR = conjugated(gQ), conjugated(gR)
    p, n = expect_smooth(Q, R), R.shape[-1]
    gQ = zeros(Q.shape, dtype=Q.dtype, device=Q.device) if gQ is None else gQ
    gR = zeros(R.shape, dtype=R.dtype, device=R.device) if gR is None else gR
    square, right, g_right = R.narrow(-1, 0, p), R.narrow(-1, p, n - p), gR.narrow(-1, p, n - p)
    if n > p:
        gQ = gQ + Q @ (right @ g_right.mH)
    M = square @ gR.narrow(-1, 0, p).mH - gQ.mH @ Q
    g = over_upper(gQ + Q @ real_diagonals(tril(M) + tril(M, -1).mH), square.conj())
    return conjugated(cat([g, Q @ g_right], -1) if n > p else g)


def qr_tangent(dA: Tensor, Q: Tensor, R: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tangents of Q and R; Q.H dQ is skew-Hermitian, with the lower triangle of Q.H W for W = dA R^-1.

    The diagonal of R is real, so Q.H dQ has the imaginary part of the diagonal of Q.H W.
    """
    p, n = expect_smooth(Q, R), R.shape[-1]
    square, right = R.narrow(-1, 0, p), R.narrow(-1, p, n - p)
    W = triangular(square.mT, dA.narrow(-1, 0, p).mT, upper=False, unit=False).mT
    inner = Q.mH @ W
    turn = tril(inner, -1) - tril(inner, -1).mH
    if Q.dtype.is_complex:
        turn = turn + (inner - real_diagonals(inner))
    dQ = W + Q @ (turn - inner)
    dR = triu(inner - turn) @ square
    if n > p:
        dR = cat([dR, dQ.mH @ (Q @ right) + Q.mH @ dA.narrow(-1, p, n - p)], -1)
    return dQ, dR


@kernel(
    dtype=twice(wide_dtype), shape=qr_shapes, outputs=("Q", "R"), name="qr", namespace=(),
    vjp=(lambda g0, g1, Q, R: qr_gradient(g0, g1, Q, R),), jvp=lambda dA, Q, R: qr_tangent(dA, Q, R),
    batch="front", complex=True,
)  # fmt: skip
def reflections(backend, Q, R, A: Tensor, *, complete: Flag):
    """Return Q with orthonormal columns and an upper triangular R, with Q @ R = A.

    complete: whether Q is square.  Gradient: see `qr_gradient`; R must have full rank.
    """
    return backend.prepare(requests.QR(), (Q, R), A)


@composed(of=reflections)
def qr(A: Tensor, mode: Annotated[str, Choice("reduced", "complete", "r")] = "reduced") -> Any:
    """Return (Q, R) with Q @ R = A for matrices (..., m, n); Q has orthonormal columns, and R is upper triangular.

    mode: with "reduced", Q has k = min(m, n) columns. With "complete", Q has m columns. With "r", Q is empty, and R is
    the same as with "reduced".
    Gradient: computed from triangular systems. If the first k columns of A are linearly dependent, the gradient
    contains inf or nan, as in PyTorch.
    Raises ArgumentError for another mode, and in the backward pass of "complete" if m > n.
    """
    result = reflections(A, complete=mode == "complete")
    return result._replace(Q=zeros(0, dtype=A.dtype, device=A.device)) if mode == "r" else result
