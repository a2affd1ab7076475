"""Eigenvalues and eigenvectors of general matrices, with derivatives of every order.

Source of the derivatives: Giles, "An extended collection of matrix derivative results for forward and reverse mode
automatic differentiation" (2008), section 3.1; the vectors have length 1, as in PyTorch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.lowering.functions import NOT_FINITE
from minigrad.core import requests
from minigrad.core.op import Op, Spec
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.record import results_of
from minigrad.ops.linalg.factors import refusing, wide_dtype
from minigrad.ops.linalg.spectra import UNFOUND, eigh_shapes, expect_no_phase, gaps
from minigrad.ops.linalg.systems import solve_ex
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.diagonals import diag_embed
from minigrad.ops.shape.parts import imag, real
from minigrad.runtime.tensor import Tensor

EIG_RESULT: Any = results_of("eig", ("eigenvalues", "eigenvectors"))


def over_gaps(x: Tensor, w: Tensor) -> Tensor:
    """Return x / gaps(w) with a diagonal of 0."""
    return (x - diag_embed(x.diagonal(0, -2, -1))) / gaps(w)


def eig_gradient(g: Tensor | None, gV: Tensor | None, w: Tensor, V: Tensor) -> Tensor:
    """Return the gradient of A, V^-T (diag(g) + V.T P / gaps) V.T, with P = gV - conj(V) Re(sum(gV * V)).

    P is the gradient with respect to vectors whose length is not 1.
    """
    inner: Any = 0.0 if g is None else diag_embed(g)
    if gV is not None:
        along = sum(gV * V, -2, True)
        expect_no_phase("eig", imag(along), gV)
        inner = inner + over_gaps(V.mT @ (gV - V.conj() * real(along)), w)
    return solve_ex(V.mT, inner @ V.mT).result


def eig_tangent(dA: Tensor, w: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tangents: the diagonal of P = V^-1 dA V, and V (P / gaps) without the part that changes a length."""
    P = solve_ex(V, dA.to(V.dtype) @ V).result
    dV = V @ over_gaps(P, w)
    return P.diagonal(0, -2, -1), dV - V * real(sum(V.conj() * dV, -2, True))


def complex_results(op: Op, specs: tuple[Spec, ...]) -> Any:
    """Return the complex dtype of both results."""
    return (wide_dtype(op, specs).to_complex(),) * 2


@kernel(
    dtype=complex_results, shape=eigh_shapes, outputs=("eigenvalues", "eigenvectors"), name="eig", namespace=(),
    vjp=(lambda g0, g1, eigenvalues, eigenvectors: eig_gradient(g0, g1, eigenvalues, eigenvectors),),
    jvp=lambda dA, eigenvalues, eigenvectors: eig_tangent(dA, eigenvalues, eigenvectors),
    batch="front", complex=True,
)  # fmt: skip
def general(steps, eigenvalues, eigenvectors, A: Tensor):
    """Return the eigenvalues and the eigenvectors of square matrices.  Gradient: see `eig_gradient`."""
    steps.ask(requests.Eigh(general=True), steps.outs, *steps.operands)
    sentence = UNFOUND.format("eigenvalues")
    return refusing(steps, "eig", steps.outs[0], NOT_FINITE, lambda x: ~np.isfinite(x), sentence)


@composed(of=general)
def eig(A: Tensor) -> Any:
    """Return (eigenvalues, eigenvectors) of square matrices (..., n, n), with A @ V = V * eigenvalues.

    Both are complex, also for real matrices.  The eigenvalues are not sorted.  The eigenvectors are columns of length
    1; their phase is arbitrary, and a loss that depends on it raises GradientError in its backward pass.
    Gradient: V^-H (diag(g) + (V.H gV) / conj(w[j] - w[i])) V.H for eigenvalues w and eigenvectors V of length 1. It is
    inf or nan for equal eigenvalues, if the vectors are used, and for matrices without n independent eigenvectors.
    Raises ArgumentError for a matrix with nan or infinities; the message contains its index in the batch.
    Source: Golub and Van Loan, Matrix Computations, 4th edition, sections 7.4 to 7.6.
    """
    return EIG_RESULT._make(general(A))


@composed()
def eigvals(A: Tensor) -> Tensor:
    """Return the complex eigenvalues of square matrices, which are not sorted; see `eig`.

    Gradient: V^-H diag(g) V.H with the eigenvectors V.
    """
    return general(A).eigenvalues
