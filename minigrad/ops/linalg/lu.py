"""LU factors with partial pivoting, and solutions of systems by factors, with derivatives of every order.

`systems.py` has the public functions.  They find the factors of a matrix once, outside of any graph; the derivative of
`solved` is a solution with the same factors.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.lowering.functions import IS_ZERO
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType, int64
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Gather, ScatterAdd, SolveTriangular
from minigrad.core.roles import Flag
from minigrad.core.shape import broadcast_shapes
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import joint as linear_in
from minigrad.errors import ShapeError
from minigrad.ops.batch_rules import Flags, ranked, stretched
from minigrad.ops.creation import eye
from minigrad.ops.indexing.gathering import gather
from minigrad.ops.indexing.sorting import argsort
from minigrad.ops.linalg.factors import real_dtype, solution_shape, triangular
from minigrad.ops.linalg.failures import refusing
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.triangles import tril, triu
from minigrad.runtime.tensor import Tensor

Shape = tuple[int, ...]


def matrix_shape(op: Op, A: Spec) -> Shape:
    """Return the shape of matrices."""
    if len(A.shape) < 2:
        raise ShapeError(f"{op.label}: expected matrices of shape (..., m, n), got {A!r}", op=op.label)
    return A.shape


def unit_lower(LU: Tensor) -> Tensor:
    """Return L, with the ones on its diagonal, of packed square factors."""
    return tril(LU, -1) + eye(LU.shape[-1], dtype=LU.dtype, device=LU.device)


def rows_of(x: Tensor, order: Tensor) -> Tensor:
    """Return the rows of matrices in another order; batch dims broadcast."""
    batch = broadcast_shapes("rows", x.shape[:-2], order.shape[:-1])
    index = order.unsqueeze(-1).expand(*batch, order.shape[-1], x.shape[-1])
    return gather(x.expand(*batch, *x.shape[-2:]), -2, index)


# ---- factors --------------------------------------------------------------------------------------------------------


def lu_dtypes(op: Op, specs: tuple[Spec, ...], **params: Any) -> tuple[DType, DType, DType]:
    """Return the dtypes of factors, exchanges and rows."""
    return real_dtype(op, specs), int64, int64


def lu_shapes(op: Op, A: Spec, **params: Any) -> tuple[Shape, Shape, Shape]:
    """Return the shapes of factors, exchanges and rows."""
    *batch, m, n = matrix_shape(op, A)
    return A.shape, (*batch, min(m, n)), (*batch, m)


def parts(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the square part of matrices, the part below it and the part to the right; one of the latter is empty."""
    m, n = x.shape[-2:]
    k = min(m, n)
    return x.narrow(-2, 0, k).narrow(-1, 0, k), x.narrow(-2, k, m - k), x.narrow(-1, k, n - k)


def over_upper(x: Tensor, LU: Tensor) -> Tensor:
    """Return x @ U^-T for packed square factors."""
    return triangular(LU, x.mT, upper=True, unit=False).mT


def lu_gradient(g: Tensor, LU: Tensor, order: Tensor) -> Tensor:
    """Return the gradient of a matrix from the gradient of its packed factors.

    Of a square matrix: L^-T (tril(L.T gL, -1) + triu(gU U.T)) U^-T, with its rows in their original order.  Rows below
    are L2 = A2 U^-1, columns to the right U2 = L^-1 A2; their part is added to the square first.
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
    """Return the tangent of packed factors: L tril(F, -1) + triu(F) U of F = L^-1 dA U^-1, and those of the rest."""
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
    dtype=lu_dtypes, shape=lu_shapes, outputs=("LU", "exchanges", "order"), name="lu_factor", namespace=(),
    vjp=(lambda g, LU, order: lu_gradient(g, LU, order),), jvp=lambda dA, LU, order: lu_tangent(dA, LU, order),
    batch=lambda A, *, batch, regular: factors(A, regular=regular),
)  # fmt: skip
def factors(backend, LU, exchanges, order, A: Tensor, *, regular: Flag):
    """Return L and U in one matrix, the row exchange of each step, and the origin of each row; positions start at 0.

    regular: raise ArgumentError for a pivot that is 0.  Gradient: see `lu_gradient`.
    """
    steps = Steps(backend, (LU, exchanges, order), (A,))
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


def system_dtype(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    """Return the dtype of the matrices and the right-hand sides."""
    return real_dtype(op, (specs[0], specs[-1]))


def system_shape(op: Op, A: Spec, LU: Spec, order: Spec, B: Spec, **params: Any) -> Shape:
    """Return the shape of the solutions; the batch dims of all operands broadcast."""
    shape = solution_shape(op, A, B)
    return (*broadcast_shapes(op.label, shape[:-2], LU.shape[:-2], order.shape[:-1]), *shape[-2:])


def matrix_gradient(h: Tensor, y: Tensor, adjoint: bool) -> Tensor:
    """Return the gradient of the matrix by that of the right-hand side, the solution of the other system."""
    return -(y @ h.mT) if adjoint else -(h @ y.mT)


def system_gradients(
    g: Tensor, A: Tensor, LU: Tensor, order: Tensor, y: Tensor, adjoint: bool, asked: tuple[bool, ...]
) -> tuple[Tensor | None, ...]:
    """Return both gradients, by one solution."""
    h = solved(A, LU, order, g, adjoint=not adjoint)
    return matrix_gradient(h, y, adjoint) if asked[0] else None, None, None, h if asked[3] else None


def batched_system(A: Tensor, LU: Tensor, order: Tensor, B: Tensor, adjoint: bool, size: int, flags: Flags) -> Tensor:
    """Return the solutions of a batch of systems, whose dims are further batch dims."""
    xs = (A, LU, order, B)
    rank = max(x.ndim - flag for x, flag in zip(xs, flags))
    whole = [ranked(x, flag, rank - (x is order), size) for x, flag in zip(xs, flags)]
    return stretched(solved(*whole, adjoint=adjoint), True, size)


@kernel(
    dtype=system_dtype, shape=system_shape, name="solve", namespace=(), linear=linear_in("B"),
    vjp=(lambda g, A, LU, order, y, *, adjoint: matrix_gradient(
            solved(A, LU, order, g, adjoint=not adjoint), y, adjoint), None, None,
         lambda g, A, LU, order, *, adjoint: solved(A, LU, order, g, adjoint=not adjoint)),
    joint=lambda g, A, LU, order, y, *, adjoint, asked: system_gradients(g, A, LU, order, y, adjoint, asked),
    jvp=lambda dA, A, LU, order, y, *, adjoint: -solved(A, LU, order, (dA.mT if adjoint else dA) @ y, adjoint=adjoint),
    batch=lambda A, LU, order, B, *, adjoint, batch, flags: batched_system(A, LU, order, B, adjoint, batch, flags),
)  # fmt: skip
def solved(backend, out, A: Tensor, LU: Tensor, order: Tensor, B: Tensor, *, adjoint: Flag):
    """Return the solution of A @ y = B, or of A.mT @ y = B, by factors of A, which count as constants.

    Gradient: h = A^-T @ g for B, and -h @ y.T for A; those of the other system with the roles of A and A.mT exchanged.
    """
    steps = Steps(backend, (out,), (A, LU, order, B))
    (y,), (_, lu, where, b) = steps.outs, steps.operands
    if not out.layout.numel:
        return steps.launch
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
        steps.ask(ScatterAdd(d), y, zero.seen(zero.layout.expand(out.shape)), index, second)
        return steps.launch
    steps.ask(Gather(d), first, b, index)
    steps.ask(SolveTriangular(False, True), second, lu, first)
    steps.ask(SolveTriangular(True, False), y, lu, second)
    return steps.launch
