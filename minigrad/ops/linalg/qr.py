"""QR factors from Householder reflections, with derivatives of every order from triangular systems.

Source of the derivatives: Walter and Lehmann, "Algorithmic differentiation of linear algebra functions with
application in optimum experimental design" (2010), section 3; for wide matrices Roberts and Roberts, arXiv 2009.10071.
"""

from __future__ import annotations

from typing import Annotated, Any

from minigrad.core import requests
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Choice, Flag
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.rules import twice
from minigrad.errors import ArgumentError
from minigrad.ops.creation import zeros
from minigrad.ops.linalg.factors import real_dtype, triangular
from minigrad.ops.linalg.lu import matrix_shape, over_upper
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.triangles import tril, triu
from minigrad.runtime.tensor import Tensor

Shape = tuple[int, ...]


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
            f"the first {n} are arbitrary; use mode='reduced'",
            op="qr",
        )
    return p


def qr_gradient(gQ: Tensor | None, gR: Tensor | None, Q: Tensor, R: Tensor) -> Tensor:
    """Return the gradient of A, (gQ + Q S) R^-T; S is symmetric, with the lower triangle of R gR.T - gQ.T Q.

    A wide matrix has additional columns A2 = Q R2 to the right of the square.  Since R2 = Q.T A2, A2 gR2.T is added to
    gQ, and the gradient of A2 is Q gR2.
    """
    p, n = expect_smooth(Q, R), R.shape[-1]
    gQ = zeros(Q.shape, dtype=Q.dtype, device=Q.device) if gQ is None else gQ
    gR = zeros(R.shape, dtype=R.dtype, device=R.device) if gR is None else gR
    square, right, g_right = R.narrow(-1, 0, p), R.narrow(-1, p, n - p), gR.narrow(-1, p, n - p)
    if n > p:
        gQ = gQ + Q @ (right @ g_right.mT)
    M = square @ gR.narrow(-1, 0, p).mT - gQ.mT @ Q
    g = over_upper(gQ + Q @ (tril(M) + tril(M, -1).mT), square)
    return cat([g, Q @ g_right], -1) if n > p else g


def qr_tangent(dA: Tensor, Q: Tensor, R: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tangents of Q and R; Q.T dQ is antisymmetric, with the lower triangle of Q.T W for W = dA R^-1."""
    p, n = expect_smooth(Q, R), R.shape[-1]
    square, right = R.narrow(-1, 0, p), R.narrow(-1, p, n - p)
    W = triangular(square.mT, dA.narrow(-1, 0, p).mT, upper=False, unit=False).mT
    inner = Q.mT @ W
    turn = tril(inner, -1) - tril(inner, -1).mT
    dQ = W + Q @ (turn - inner)
    dR = triu(inner - turn) @ square
    if n > p:
        dR = cat([dR, dQ.mT @ (Q @ right) + Q.mT @ dA.narrow(-1, p, n - p)], -1)
    return dQ, dR


@kernel(
    dtype=twice(real_dtype), shape=qr_shapes, outputs=("Q", "R"), name="qr", namespace=(),
    vjp=(lambda g0, g1, Q, R: qr_gradient(g0, g1, Q, R),), jvp=lambda dA, Q, R: qr_tangent(dA, Q, R),
    batch=lambda A, *, batch, complete: reflections(A, complete=complete),
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
