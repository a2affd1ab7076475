"""Eigenvalues of symmetric matrices and singular values, with derivatives of every order.

Source of the derivatives: Giles, "An extended collection of matrix derivative results for forward and reverse mode
automatic differentiation" (2008), sections 3.1 and 3.2; for matrices that are not square, Wan and Zhang, arXiv
1909.02659.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from minigrad.backends.limits import IndexLimits
from minigrad.backends.lowering.functions import NOT_FINITE
from minigrad.core import requests
from minigrad.core.dtype import DType, int64
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Choice, Flag
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.record import results_of
from minigrad.declare.rules import index_dtype
from minigrad.errors import GradientError
from minigrad.kernels.scalar import formula
from minigrad.ops.creation import eye, zeros
from minigrad.ops.linalg.factors import conjugated, real_diagonals, refusing, square_shape, wide_dtype
from minigrad.ops.linalg.lu import matrix_shape
from minigrad.ops.pointwise.arithmetic import maximum
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.diagonals import diag_embed
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.parts import imag, real
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer

Shape = tuple[int, ...]
UNFOUND = "contains nan or inf, so its {} are not found"
SVD_RESULT: Any = results_of("svd", ("U", "S", "Vh"))
EIGH_RESULT: Any = results_of("eigh", ("eigenvalues", "eigenvectors"))


def gaps(x: Tensor) -> Tensor:
    """Return the matrix of the differences x[j] - x[i] in row i and column j, with ones on the diagonal."""
    return x.unsqueeze(-2) - x.unsqueeze(-1) + eye(x.shape[-1], dtype=x.dtype, device=x.device)


def skew(x: Tensor) -> Tensor:
    """Return x - x.H with a diagonal of 0."""
    return real_diagonals(x - x.mH)


class Phases(IndexLimits):
    """Create the error of a loss that depends on the phases of complex vectors."""

    __slots__ = ()

    def error(self, buffers: tuple[Any, ...]) -> Any:
        """Return the error; it does not depend on the values."""
        return GradientError(
            f"{self.label}: the loss depends on the phases of complex vectors, which are arbitrary, so it has no "
            "gradient; use a function of the vectors that a phase does not change, such as abs(V)"
        )


# Whether a derivative is larger than rounding errors of gradients of some size, which is at least 1.
MORE = formula("is_more(turned, least, size)", "not abs(turned) <= least * (size if size > 1 else 1)")


@kernel(dtype=index_dtype, shape=lambda op, turned, size, **params: turned.shape, namespace=(), name="expect_no_phase")
def phases(steps, out, turned: Tensor, size: Tensor, *, of: str):
    """Return zeros.  The launch raises GradientError if a derivative with respect to a phase is not near 0.

    size: the largest magnitude of the gradients.  of: the name of the op in the error.
    """
    bounds, least = steps.work((2,), int64), float(np.finfo(turned.dtype.compute).eps) ** 0.4
    constant = steps.constant(least, turned.dtype)
    steps.each(MORE, steps.outs, turned, constant, size, compute=turned.dtype.compute)
    steps.ask(requests.Bounds(), bounds, *steps.outs)
    steps.check(bounds, 0, 0)
    return steps.launch.within(Phases(steps.backend, of, 0, turned, turned, -1))


def expect_no_phase(name: str, turned: Tensor, *gradients: Tensor | None) -> None:
    """Raise GradientError if a loss depends on the phases of complex vectors, which are arbitrary.

    turned: the derivatives of the loss with respect to the phases.  gradients: those of the vectors, by which the size
    of rounding errors is estimated; it is at least 1, because gradients may be rounding errors themselves.  In a
    recording, the check is a launch of the program.  A value of a transform cannot be read and is not checked.
    """
    if isinstance(turned, Tracer) or not turned.numel():
        return
    sizes = [abs(g.detach()).amax() for g in gradients if g is not None]
    phases(turned.detach(), reduce(maximum, sizes), of=name)


# ---- symmetric matrices ---------------------------------------------------------------------------------------------


def eigh_shapes(op: Op, A: Spec) -> tuple[Shape, Shape]:
    """Return the shapes of eigenvalues and eigenvectors."""
    shape = square_shape(op, A)
    return shape[:-1], shape


def eigh_gradient(g: Tensor | None, gV: Tensor | None, w: Tensor, V: Tensor) -> Tensor | None:
    """Return the symmetric or Hermitian gradient of A, V (diag(g) + skew(V.H gV)/2 / gaps) V.H."""
    gV = conjugated(gV)
    inner: Any = 0.0 if g is None else diag_embed(g).to(V.dtype)
    if gV is not None:
        M = V.mH @ gV
        if V.dtype.is_complex:
            expect_no_phase("eigh", imag(M.diagonal(0, -2, -1)), gV)
        inner = inner + skew(M) * 0.5 / gaps(w)
    return conjugated(V @ inner @ V.mH)


def eigh_tangent(dA: Tensor, w: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tangents of the eigenvalues and eigenvectors, from P = V.H sym(dA) V with sym(X) = (X + X.H)/2.

    They are the diagonal of P, which is real, and V (P / gaps) with 0 instead of this diagonal.
    """
    P = V.mH @ (dA + dA.mH) * 0.5 @ V
    diagonal = P.diagonal(0, -2, -1)
    return real(diagonal), V @ ((P - diag_embed(diagonal)) / gaps(w))


def values_gradient(g: Tensor, V: Tensor) -> Tensor | None:
    """Return the gradient of A for eigenvalues alone, V diag(g) V.H."""
    return conjugated(V @ diag_embed(g).to(V.dtype) @ V.mH)


def values_tangent(dA: Tensor, V: Tensor) -> Tensor:
    """Return the tangents of the eigenvalues, the diagonal of V.H sym(dA) V."""
    return real((V.mH @ (dA + dA.mH) * 0.5 @ V).diagonal(0, -2, -1))


def with_real(op: Op, specs: tuple[Spec, ...]) -> tuple[DType, DType]:
    """Return the dtype of the real parts, and that of the matrices."""
    dtype = wide_dtype(op, specs)
    return dtype.to_real(), dtype


@kernel(
    dtype=with_real, shape=eigh_shapes, outputs=("eigenvalues", "eigenvectors"),
    name="eigh", namespace=(),
    vjp=(lambda g0, g1, eigenvalues, eigenvectors: eigh_gradient(g0, g1, eigenvalues, eigenvectors),),
    jvp=lambda dA, eigenvalues, eigenvectors: eigh_tangent(dA, eigenvalues, eigenvectors),
    batch="front", complex=True,
)  # fmt: skip
def eigen(steps, eigenvalues, eigenvectors, A: Tensor):
    """Return the eigenvalues in ascending order and the eigenvectors of symmetric or Hermitian matrices.

    The upper triangle is read.  Gradient: see `eigh_gradient`.
    """
    steps.ask(requests.Eigh(), steps.outs, *steps.operands)
    sentence = UNFOUND.format("eigenvalues")
    return refusing(steps, "eigh", steps.outs[0], NOT_FINITE, lambda x: ~np.isfinite(x), sentence)


def upper(A: Tensor, UPLO: str) -> Tensor:
    """Return matrices in whose upper triangles `eigen` finds the elements."""
    Choice("L", "U").expect("eigh", UPLO=str(UPLO).upper())
    # For other shapes, the error message should show the shape that was passed.
    return A.mH if UPLO.upper() == "L" and A.shape[-1:] == A.shape[-2:-1] else A


@composed(of=eigen)
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Return (eigenvalues, eigenvectors) of symmetric or Hermitian matrices (..., n, n).

    The eigenvalues are real and in ascending order, and the eigenvectors are the columns.  The sign of an eigenvector
    is arbitrary, and so is the phase of a complex one: a loss that depends on it raises GradientError in its backward
    pass.
    UPLO: the triangle that is read, "L" or "U".
    Gradient: the Hermitian part of V (diag(g) + (V.H gV) / (w[j] - w[i])) V.H, with the incoming gradients g of the
    eigenvalues w and gV of the eigenvectors V. If the eigenvectors are not used, there is only the first term. The
    second term is inf or nan for equal eigenvalues, as in PyTorch, because their eigenvectors are not unique; for close
    eigenvalues, it is large.
    Raises ArgumentError for a matrix with nan or infinities; the message contains its index in the batch.
    """
    return EIGH_RESULT._make(eigen(upper(A, UPLO)))


@kernel(
    dtype=lambda op, specs: with_real(op, specs)[0], shape=lambda op, A: eigh_shapes(op, A)[0],
    name="eigvalsh", namespace=(),
    vjp=(lambda g, A: values_gradient(g, eigen(A)[1]),), jvp=lambda dA, A: values_tangent(dA, eigen(A)[1]),
    batch="front", complex=True,
)  # fmt: skip
def eigenvalues_of(steps, eigenvalues, A: Tensor):
    """Return the eigenvalues of symmetric or Hermitian matrices, in ascending order.  The upper triangle is read.

    Gradient: that of `eigen`, which its rule computes.
    """
    vectors = steps.work(A.layout.shape, A.dtype)
    steps.ask(requests.Eigh(vectors=False), (*steps.outs, vectors), *steps.operands)
    sentence = UNFOUND.format("eigenvalues")
    return refusing(steps, "eigvalsh", steps.outs[0], NOT_FINITE, lambda x: ~np.isfinite(x), sentence)


@composed(of=eigenvalues_of)
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Return the eigenvalues of symmetric or Hermitian matrices in ascending order; see `eigh`.

    Gradient: V diag(g) V.H with the eigenvectors V, also for equal eigenvalues.
    """
    if is_grad_enabled() and A.requires_grad:  # the backward pass needs the eigenvectors
        return eigh(A, UPLO).eigenvalues
    return eigenvalues_of(upper(A, UPLO))


# ---- singular values ------------------------------------------------------------------------------------------------


def svd_shapes(op: Op, A: Spec, *, full: bool) -> tuple[Shape, Shape, Shape]:
    """Return the shapes of the singular vectors and values."""
    *batch, m, n = matrix_shape(op, A)
    k = min(m, n)
    return (*batch, m, m if full else k), (*batch, k), (*batch, n if full else k, n)


def outside(x: Tensor, basis: Tensor) -> Tensor:
    """Return x minus its projection onto the space that the orthonormal columns of `basis` span."""
    return x - basis @ (basis.mH @ x)


def phase_gradient(gU: Tensor | None, gV: Tensor | None, U: Tensor, S: Tensor, V: Tensor) -> Tensor:
    """Return the gradient of the imaginary diagonal of U.H dA V, i Im(U.H gU)/S, for complex singular vectors.

    A phase multiplies a pair of vectors, so the sum of their imaginary parts is 0 unless a loss depends on phases.
    """
    of_U, of_V = (0.0 if g is None else imag(sum(x.conj() * g, -2)) for g, x in ((gU, U), (gV, V)))
    expect_no_phase("svd", of_U + of_V, gU, gV)
    return diag_embed(of_U * 1j / S) if gU is not None else zeros((), dtype=U.dtype, device=U.device)


def svd_gradient(
    gU: Tensor | None, gS: Tensor | None, gVh: Tensor | None, U: Tensor, S: Tensor, Vh: Tensor
) -> Tensor | None:
    """Return the gradient of A, U (diag(gS) + skew(U.H gU) / E S + S skew(V.H gV) / E) V.H.

    Here E = S[j]^2 - S[i]^2 and skew(X) = X - X.H.  If U or V is not square, the part of its gradient outside its
    column space is divided by S and added.  Columns of U and rows of Vh beyond min(m, n) count as constants.
    """
    k = S.shape[-1]
    U, Vh, gU, gVh = U.narrow(-1, 0, k), Vh.narrow(-2, 0, k), conjugated(gU), conjugated(gVh)
    inner = diag_embed(gS).to(U.dtype) if gS is not None else zeros((*S.shape, k), dtype=U.dtype, device=S.device)
    if U.dtype.is_complex and (gU is not None or gVh is not None):
        columns = None if gU is None else gU.narrow(-1, 0, k), None if gVh is None else gVh.narrow(-2, 0, k).mH
        inner = inner + phase_gradient(*columns, U, S, Vh.mH)
    row, column = S.unsqueeze(-2), S.unsqueeze(-1)
    beside = None
    if gU is not None:
        gU = gU.narrow(-1, 0, k)
        inner = inner + skew(U.mH @ gU) / gaps(S * S) * row
        if U.shape[-2] > k:
            beside = outside(gU / row, U) @ Vh
    if gVh is not None:
        gV = gVh.narrow(-2, 0, k).mH
        inner = inner + column * (skew(Vh @ gV) / gaps(S * S))
        if Vh.shape[-1] > k:
            beside = U @ outside(gV / row, Vh.mH).mH
    whole = U @ inner @ Vh
    return conjugated(whole if beside is None else whole + beside)


def widened(x: Tensor, columns: int) -> Tensor:
    """Return x with additional columns of zeros, so that it has `columns` columns."""
    more = columns - x.shape[-1]
    return cat([x, zeros((*x.shape[:-1], more), dtype=x.dtype, device=x.device)], -1) if more else x


def svd_tangent(dA: Tensor, U: Tensor, S: Tensor, Vh: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the tangents of U, S and Vh, from P = U.H dA V.

    dS is the diagonal of P, dU is U (sym(P S) / E), and dV is V (sym(S P) / E), with E = S[j]^2 - S[i]^2 and sym(X) =
    X + X.H without the diagonal.  If U or V is not square, the part of dA V / S or dA.H U / S outside its column space
    is added.  An imaginary part of the diagonal of P turns the phases of U and V by half of it, divided by S.
    """
    k, columns, rows = S.shape[-1], U.shape[-1], Vh.shape[-2]
    U, Vh = U.narrow(-1, 0, k), Vh.narrow(-2, 0, k)
    row, column = S.unsqueeze(-2), S.unsqueeze(-1)
    V = Vh.mH
    P = U.mH @ dA @ V
    diagonal = P.diagonal(0, -2, -1)
    P = P - diag_embed(diagonal)
    dU = U @ ((P * row + column * P.mH) / gaps(S * S))
    dV = V @ ((column * P + P.mH * row) / gaps(S * S))
    if U.dtype.is_complex:
        phases = imag(diagonal).unsqueeze(-2) * 0.5j / row
        dU, dV = dU + U * phases, dV - V * phases
    if U.shape[-2] > k:
        dU = dU + outside(dA @ V / row, U)
    if Vh.shape[-1] > k:
        dV = dV + outside(dA.mH @ U / row, V)
    return widened(dU, columns), real(diagonal), widened(dV, rows).mH


@kernel(
    dtype=lambda op, specs, **params: (*with_real(op, specs)[::-1], specs[0].dtype), shape=svd_shapes,
    outputs=("U", "S", "Vh"),
    name="svd", namespace=(),
    vjp=(lambda g0, g1, g2, U, S, Vh: svd_gradient(g0, g1, g2, U, S, Vh),),
    jvp=lambda dA, U, S, Vh: svd_tangent(dA, U, S, Vh),
    batch="front", complex=True,
)  # fmt: skip
def singular(steps, U, S, Vh, A: Tensor, *, full: Flag):
    """Return the singular values in descending order, and the singular vectors.

    full: whether U and Vh are square.  Gradient: see `svd_gradient`.
    """
    steps.ask(requests.SVD(), steps.outs, *steps.operands)
    sentence = UNFOUND.format("singular values")
    return refusing(steps, "svd", steps.outs[1], NOT_FINITE, lambda x: ~np.isfinite(x), sentence)


@composed(of=singular)
def svd(A: Tensor, full_matrices: Flag = True, *, driver: Any = None) -> Any:
    """Return (U, S, Vh) with U * S @ Vh = A for matrices (..., m, n).

    U has orthonormal columns, Vh has orthonormal rows, and S is real and in descending order.  The common sign of a
    pair of singular vectors is arbitrary, and so is the common phase of a complex pair: a loss that depends on it
    raises GradientError in its backward pass.
    full_matrices: whether U and Vh are square; if False, they have min(m, n) columns and rows.
    driver: has no effect; there is one algorithm.
    Gradient: for S alone, U diag(g) Vh. Singular vectors add terms with 1 / (S[j]^2 - S[i]^2) and 1 / S, which are inf
    or nan for equal singular values and for 0, as in PyTorch. Vectors beyond min(m, n) count as constants.
    Raises ArgumentError for a matrix with nan or infinities; the message contains its index in the batch.
    """
    return SVD_RESULT._make(singular(A, full=full_matrices))


def singular_tangent(dA: Tensor, U: Tensor, S: Tensor, Vh: Tensor) -> Tensor:
    """Return the tangents of the singular values alone, the diagonal of U.H dA V."""
    return real((U.mH @ dA @ Vh.mH).diagonal(0, -2, -1))


@kernel(
    dtype=lambda op, specs: with_real(op, specs)[0], shape=lambda op, A: svd_shapes(op, A, full=False)[1],
    name="svdvals", namespace=(),
    vjp=(lambda g, A: svd_gradient(None, g, None, *singular(A, full=False)),),
    jvp=lambda dA, A: singular_tangent(dA, *singular(A, full=False)),
    batch="front", complex=True,
)  # fmt: skip
def singular_values_of(steps, values, A: Tensor):
    """Return the singular values in descending order.

    Gradient: that of `singular`, which its rule computes.
    """
    steps.ask(requests.SVD(vectors=False), steps.outs, *steps.operands)
    sentence = UNFOUND.format("singular values")
    return refusing(steps, "svdvals", steps.outs[0], NOT_FINITE, lambda x: ~np.isfinite(x), sentence)


@composed(of=singular_values_of)
def svdvals(A: Tensor, *, driver: Any = None) -> Tensor:
    """Return the singular values of matrices in descending order; see `svd`.

    Gradient: U diag(g) Vh with the singular vectors U and Vh, also for equal singular values.
    """
    if is_grad_enabled() and A.requires_grad:  # the backward pass needs the singular vectors
        return singular(A, full=False).S
    return singular_values_of(A)
