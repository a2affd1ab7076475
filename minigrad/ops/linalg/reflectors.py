"""Factors in LAPACK's packed form: `lu_unpack`, and Householder reflections with `geqrf`, `orgqr` and `ormqr`.

Column j of packed QR factors has R on and above the diagonal, and below it the vector v of the reflection I - tau v v.H
without its first element, which is 1.  A product of reflections is I - V T V.H with an upper triangular T.
Source: Joffrain, Low, Quintana-Orti, van de Geijn and Van Zee, "Accumulating Householder transformations, revisited"
(2006), section 3.
"""

from __future__ import annotations

from typing import Annotated, Any

from minigrad.core.conditions import Condition, Inexact, expect_same, expect_shapes
from minigrad.core.roles import Flag, Number
from minigrad.declare.decorators import composed
from minigrad.declare.names import LINALG
from minigrad.declare.record import results_of
from minigrad.errors import ShapeError
from minigrad.ops.creation import arange, eye, zeros
from minigrad.ops.linalg.factors import triangular
from minigrad.ops.linalg.lu import MATRICES
from minigrad.ops.linalg.matrices import vector_norm
from minigrad.ops.linalg.systems import Pivots, row_order
from minigrad.ops.pointwise.compare import where
from minigrad.ops.pointwise.rounding import isreal
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.diagonals import diag_embed, tril, triu
from minigrad.ops.shape.joining import cat, stack
from minigrad.ops.shape.padding import constant_pad_nd
from minigrad.ops.shape.parts import real
from minigrad.runtime.tensor import Tensor

LU_UNPACK: Any = results_of("lu_unpack", ("P", "L", "U"))
GEQRF: Any = results_of("geqrf", ("a", "tau"))
Tall = Condition(
    ShapeError, "have at least as many rows as columns", "pass A[..., :m]", lambda A, _: A.shape[-2] >= A.shape[-1]
)


@composed(method=False)
def lu_unpack(
    LU_data: Annotated[Tensor, MATRICES], LU_pivots: Annotated[Tensor, Pivots], unpack_data: Flag = True,
    unpack_pivots: Flag = True,
) -> Any:  # fmt: skip
    """Return (P, L, U) with A = P @ L @ U from the results of `mg.linalg.lu_factor`.

    unpack_data: whether to return L and U; if False, they are empty.  unpack_pivots: whether to return P.
    Gradient: the triangles below the diagonal of the gradient of L, and from the diagonal on of that of U.
    """
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    advice = "pass the results of lu_factor"
    expect_shapes("lu_unpack", advice, f"*, m, n; *, {k}", LU_data=LU_data, LU_pivots=LU_pivots)
    P = L = U = zeros(0, dtype=LU_data.dtype, device=LU_data.device)
    if unpack_data:
        L = tril(LU_data.narrow(-1, 0, k), -1) + eye(m, k, dtype=LU_data.dtype, device=LU_data.device)
        U = triu(LU_data.narrow(-2, 0, k))
    if unpack_pivots:
        order = row_order(LU_pivots, m)
        P = (arange(m, device=LU_data.device).unsqueeze(-1) == order.unsqueeze(-2)).to(LU_data.dtype)
    return LU_UNPACK(P, L, U)


# ---- reflections -----------------------------------------------------------------------------------------------------


@composed()
def geqrf(input: Annotated[Tensor, MATRICES, Inexact]) -> Any:
    """Return (a, tau): the packed QR factors of matrices (..., m, n), with min(m, n) reflections.

    Gradient: that of the reflections of each column; nan for a column that is 0 on and below its diagonal.
    Source: Golub and Van Loan, Matrix Computations, 4th edition, algorithm 5.2.1, with LAPACK's signs.
    """
    m, n = input.shape[-2:]
    rest, parts, taus = input, [], []
    for j in range(min(m, n)):
        x, below = rest.narrow(-1, 0, 1), m - j - 1
        first, v = x.narrow(-2, 0, 1), x.narrow(-2, 1, below)
        done = (v == 0).all(-2, True)  # the column has its form already, so there is no reflection
        if x.dtype.is_complex:  # a corner with an imaginary part becomes real
            done = done & isreal(first)
        size = vector_norm(where(done, 1.0, x), dim=-2, keepdim=True)
        corner = where(done, first, where(real(first) < 0, size, -size))
        tau = where(done, 0.0, (corner - first) / where(done, 1.0, corner))
        v = v / where(done, 1.0, first - corner)
        w = constant_pad_nd(v, (0, 0, 1, 0), 1.0)
        reflected = rest.narrow(-1, 1, n - j - 1)
        reflected = reflected - tau.conj() * w @ (w.mH @ reflected)
        row = cat([corner, reflected.narrow(-2, 0, 1)], -1)
        parts.append(constant_pad_nd(row, (j, 0, j, below)) + constant_pad_nd(v, (j, n - j - 1, j + 1, 0)))
        taus.append(tau.squeeze(-1))
        rest = reflected.narrow(-2, 1, below)
    if not taus:
        return GEQRF(input.clone(), input.new_zeros((*input.shape[:-2], 0)))
    return GEQRF(sum(stack(parts), 0), cat(taus, -1))


def reflections_of(name: str, A: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """Return V and T of a product of reflections I - V T V.H, of which A has the vectors below its diagonal."""
    expect_same("dtype", name, A=A, tau=tau)
    expect_shapes(name, "pass the results of geqrf", "*, m, n; *, k", A=A, tau=tau)
    k = tau.shape[-1]
    fits = Number(0, min(A.shape[-2:]), whole=True, advice="pass the results of geqrf", error=ShapeError)
    fits.expect(name, A, **{"the size of tau": k})
    V = tril(A.narrow(-1, 0, k), -1) + eye(A.shape[-2], k, dtype=A.dtype, device=A.device)
    return V, triangular(tau.unsqueeze(-1) * (V.mH @ V), diag_embed(tau), upper=True, unit=True)


@composed(namespace=LINALG)
def householder_product(A: Annotated[Tensor, MATRICES, Inexact, Tall], tau: Tensor) -> Tensor:
    """Return the first n columns of the product of the reflections of `mg.geqrf`, for matrices (..., m, n).

    Gradient: from the triangular system of T; only the elements of A below the diagonal have one.
    Raises ShapeError if m < n, or tau has more than n elements per matrix.
    """
    m, n = A.shape[-2:]
    V, T = reflections_of("householder_product", A, tau)
    return eye(m, n, dtype=A.dtype, device=A.device) - V @ (T @ V.narrow(-2, 0, n).mH)


@composed()
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """Return the first columns of a product of reflections, as `mg.linalg.householder_product`; input2: tau."""
    return householder_product(input, input2)


@composed()
def ormqr(
    input: Annotated[Tensor, MATRICES, Inexact], input2: Tensor, input3: Annotated[Tensor, MATRICES],
    left: Flag = True, transpose: Flag = False,
) -> Tensor:  # fmt: skip
    """Return Q @ input3 for the square product Q of the reflections of `mg.geqrf`, without computing Q.

    input, input2: the matrices and tau that `mg.geqrf` returned.
    input3: matrices with as many rows as input, or columns with left=False.
    left: whether to return Q @ input3; if False, input3 @ Q.  transpose: whether to use Q.mH instead of Q.
    Gradient: for all three tensors, from the triangular system of T.
    """
    if not left:
        return ormqr(input, input2, input3.mH, True, not transpose).mH
    V, T = reflections_of("ormqr", input, input2)
    expect_same("dtype", "ormqr", input=input, input3=input3)
    expect_shapes("ormqr", "pass one row of input3 per row of input", "*, m, k; *, m, n", input=input, input3=input3)
    return input3 - V @ ((T.mH if transpose else T) @ (V.mH @ input3))
