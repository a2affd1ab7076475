"""Cholesky factors and triangular systems, with derivatives of every order that need no inverse; checks of factors.

The VJP rule of a holomorphic function, such as the solution of a system, has transposes.  The other rules are derived
for PyTorch's gradient, dL/dRe + i*dL/dIm, and have adjoints: they conjugate their gradients at the beginning and at the
end (`conjugated`), because the gradient inside a rule is the conjugate.

The derivative of a Cholesky factor takes two triangular solves.  Source: Murray, "Differentiation of the Cholesky
decomposition" (2016), section 3.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import Backend
from minigrad.backends.launch import Launch
from minigrad.backends.limits import IndexLimits
from minigrad.backends.steps import Steps, Value
from minigrad.core.conditions import Square, expect_shapes
from minigrad.core.device import CPU
from minigrad.core.dtype import DType, int32, int64
from minigrad.core.layout import Layout
from minigrad.core.op import Op, ScalarFn, Spec
from minigrad.core.requests import Bounds, Cholesky, Copy, SolveTriangular
from minigrad.core.roles import Flag
from minigrad.core.shape import broadcast_shapes
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.record import results_of
from minigrad.errors import ArgumentError, DTypeError
from minigrad.ops.batch_rules import Flags, ranked, stretched
from minigrad.ops.creation import arange, zeros
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.sums import amin
from minigrad.ops.shape.diagonals import diag_embed, tril, triu
from minigrad.ops.shape.parts import imag
from minigrad.runtime.tensor import Tensor

# ---- checks: the error of a launch names the first matrix without a valid factor -------------------------------------


class Failure(IndexLimits):
    """Create the error of a failed factorization; it names the first matrix of the batch with an invalid value.

    refused: a function that receives the values as a NumPy array and returns True for each invalid value.
    sentence: the description of the fault; {} is replaced by the index of the value in its matrix, counted from 0.
    """

    __slots__ = ("refused", "sentence")

    def __init__(self, backend: Backend, label: str, a: Spec, result: Value, refused: Any, sentence: str) -> None:
        super().__init__(backend, label, result.slot, result.spec, a, -1)
        self.refused, self.sentence = refused, sentence

    def error(self, buffers: tuple[Any, ...]) -> Any:
        """Return the error for a call on these buffers."""
        index = self.index
        copy = self.backend.allocate(index.layout.numel, index.dtype, CPU)
        spec = Spec(Layout.contiguous(index.shape), index.dtype)
        self.backend.prepare(Copy(), spec, index)(buffers[self.slot], copy.buffer)
        values = self.backend.to_host(copy)[: index.layout.numel].reshape(index.shape)
        *where, k = np.argwhere(self.refused(values))[0].tolist()
        which = f"the matrix{f' {where} of the batch' if where else ''} {self.x!r}"
        return ArgumentError(f"{self.label}: {which} {self.sentence.format(k)}", batch=tuple(where), position=k)


def refusing(steps: Steps, label: str, result: Value, function: ScalarFn, refused: Any, sentence: str) -> Launch:
    """Return a launch that ends with an error if a scalar function of any element of a result is not 0.

    refused: the same function of an array on the host.  sentence: as for `Failure`.
    """
    a = steps.operands[0]
    if not result.layout.numel:
        return steps.launch
    wrong, bounds = steps.work(result.shape, int64), steps.work((2,), int64)
    steps.each(function, wrong, result, compute=result.dtype.compute)
    steps.ask(Bounds(), bounds, wrong)
    steps.check(bounds, 0, 0)
    return steps.launch.within(Failure(steps.backend, label, a.spec, result, refused, sentence))


# ---- factors and triangular systems ----------------------------------------------------------------------------------


CHOLESKY_EX: Any = results_of("cholesky_ex", ("L", "info"))


def wide_dtype(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    """Return the dtype of all operands.  Raises DTypeError unless it is float32, float64 or complex."""
    dtype = specs[0].dtype
    if dtype.is_inexact and dtype.itemsize >= 4 and all(spec.dtype is dtype for spec in specs):
        return dtype
    shown, one = ", ".join(map(repr, specs)), ", the same for all" if len(specs) > 1 else ""
    remedy = "complex64" if any(spec.dtype.is_complex for spec in specs) else "float32"
    raise DTypeError(
        f"{op.label}: expected float32, float64 or complex numbers{one}, got {shown}; convert with .to(mg.{remedy})"
    )


def conjugated(g: Tensor | None) -> Tensor | None:
    """Return a gradient in the other convention, its conjugate; a real gradient and None are returned themselves."""
    return g if g is None or not g.dtype.is_complex else g.conj_physical()


def real_diagonals(x: Tensor) -> Tensor:
    """Return matrices without the imaginary parts of their diagonals."""
    return x - diag_embed(imag(x.diagonal(0, -2, -1)) * 1j) if x.dtype.is_complex else x


def square_shape(op: Op, a: Spec, *others: Spec, **params: Any) -> tuple[int, ...]:
    """Return the shape of square matrices.  Raises ShapeError for any other shape."""
    Square.expect(op.label, input=a)
    return a.shape


# ---- factors --------------------------------------------------------------------------------------------------------


def half_upper(x: Tensor) -> Tensor:
    """Return the upper triangle of x, with its diagonal multiplied by 0.5."""
    return (triu(x) + triu(x, 1)) * 0.5


def factor_gradient(g: Tensor, y: Tensor) -> Tensor:
    """Return the symmetric gradient of the matrix, y^-1 S y^-H, from the gradient g of its upper factor y.

    S is the Hermitian part of `half_upper(g @ y.H)`.
    """
    half = half_upper(conjugated(g) @ y.mH)
    inner = triangular(y, (half + half.mH) * 0.5, upper=True, unit=False)
    # The transpose of the Hermitian result is its conjugate, which is the gradient inside a rule.
    return triangular(y, inner.mH, upper=True, unit=False).mT


def factor_tangent(da: Tensor, y: Tensor) -> Tensor:
    """Return the tangent of the upper factor y, from the Hermitian part of the tangent of the matrix."""
    inner = triangular(y.mH, (da + da.mH) * 0.5, upper=False, unit=False)
    return half_upper(triangular(y.mH, inner.mH, upper=False, unit=False)) @ y


@kernel(
    dtype=lambda op, specs, **params: (wide_dtype(op, specs), int64),
    shape=lambda op, a, **params: (square_shape(op, a), a.shape[:-1]),
    outputs=("factor", "wrong"), vjp=(lambda g, factor: factor_gradient(g, factor),),
    jvp=lambda da, factor: (factor_tangent(da, factor), None),
    batch="front", name="cholesky", namespace=(), complex=True,
)  # fmt: skip
def factor(steps, u, wrong, a: Tensor, *, checked: Flag):
    """Return u with u.H @ u = a, computed from the upper triangle of a, and 1 for each pivot that is not positive.

    checked: whether such a pivot raises ArgumentError.  Gradient: that of a symmetric matrix.
    """
    steps.ask(Cholesky(), steps.outs, *steps.operands)
    if not checked or not a.layout.numel:
        return steps.launch
    bounds = steps.work((2,), int64)
    steps.ask(Bounds(), bounds, steps.outs[1])
    steps.check(bounds, 0, 0)
    return steps.launch.within(Pivots(steps.backend, a))


class Pivots(IndexLimits):
    """The data for the error of a Cholesky factor: the first failing matrix of a batch and its first failing minor."""

    def __init__(self, backend: Backend, a: Spec) -> None:
        super().__init__(backend, "cholesky", 0, a, a, -1)

    def error(self, buffers: tuple[Any, ...]) -> Any:
        """Return the error for a call on these buffers, which factors the matrices again on the host."""
        spec, a = Spec(Layout.contiguous(self.x.shape), self.x.dtype), self.x
        copy = self.backend.allocate(a.layout.numel, a.dtype, CPU)
        self.backend.prepare(Copy(), spec, a)(buffers[0], copy.buffer)
        n = a.shape[-1]
        wide = np.complex128 if a.dtype.is_complex else np.float64
        matrices = np.array(self.backend.to_host(copy)[: a.layout.numel], wide).reshape(-1, n, n)
        minors = [first_minor(matrix) for matrix in matrices]
        batch = next((k for k, order in enumerate(minors) if order), 0)
        where = tuple(map(int, np.unravel_index(batch, a.shape[:-2])))
        return ArgumentError(
            f"cholesky: the matrix{f' {list(where)} of the batch' if where else ''} {a!r} is not positive "
            f"definite: its leading minor of order {minors[batch] or n} is not positive; add a multiple of mg.eye",
            batch=where, order=minors[batch] or n,
        )  # fmt: skip


def first_minor(a: Any) -> int:
    """Return the order of the first leading minor that is not positive, or 0 if all are positive."""
    u = np.triu(a)
    for j in range(len(u)):
        u[j, j:] -= u[:j, j].conj() @ u[:j, j:]
        if not u[j, j].real > 0:
            return j + 1
        u[j, j:] /= np.sqrt(u[j, j].real)
    return 0


@composed(of=factor)
def cholesky(A: Tensor, *, upper: Flag = False) -> Tensor:
    """Return the lower triangular L with L @ L.mH = A for positive definite matrices (..., n, n).

    A real matrix is symmetric, and a complex one is Hermitian.
    upper: whether to return L.mH and to read only the upper triangle of A; by default, only the lower triangle is read.
    Gradient: a symmetric or Hermitian matrix, computed by two triangular solves.
    Source: Murray, Differentiation of the Cholesky decomposition, 2016, section 3.1.
    Raises ArgumentError for a matrix that is not positive definite; the message contains the index of the matrix in the
    batch and the order of the leading minor that is not positive.
    """
    square = A.shape[-1:] == A.shape[-2:-1]  # for other shapes, the error message should show the shape that was passed
    return factor(A, checked=True).factor if upper or not square else factor(A.mH, checked=True).factor.mH


def first_step(wrong: Tensor) -> Tensor:
    """Return the first nonzero position in each row of `wrong`, counted from 1, or 0 if there is none (int32)."""
    k = wrong.shape[-1]
    if not k:
        return zeros(wrong.shape[:-1], dtype=int32, device=wrong.device)
    step = amin(where(wrong != 0, arange(1, k + 1, device=wrong.device), k + 1), -1)
    return where(step > k, 0, step).to(int32)


@composed()
def cholesky_ex(A: Tensor, *, upper: Flag = False, check_errors: Flag = False) -> Any:
    """Return (L, info): the result of `cholesky`, and an int32 status for each matrix.

    info is 0 for a valid factor, and otherwise the order of the first leading minor that is not positive.  If info is
    not 0, the elements of L are meaningless.
    check_errors: whether to raise ArgumentError if info is not 0.
    """
    square = A.shape[-1:] == A.shape[-2:-1]
    u, wrong = factor(A if upper or not square else A.mH, checked=check_errors)
    return CHOLESKY_EX(u if upper else u.mH, first_step(wrong))


# ---- triangular systems ---------------------------------------------------------------------------------------------


def solution_shape(op: Op, a: Spec, b: Spec, **params: Any) -> tuple[int, ...]:
    """Return the shape (..., n, k) of the solution, for matrices (..., n, n) and right-hand sides (..., n, k).

    The batch dims broadcast.  Raises ShapeError if the shapes do not fit.
    """
    square_shape(op, a)
    expect_shapes(
        op.label, "reshape or transpose B, whose shape is (..., k, n) for left=False", "..., n, n; ..., n, k", A=a, B=b
    )
    return (*broadcast_shapes(op.label, a.shape[:-2], b.shape[:-2]), *b.shape[-2:])


def matrix_gradient(g: Tensor, a: Tensor, y: Tensor, upper: bool, unit: bool) -> Tensor:
    """Return the gradient of the matrix of a triangular system.

    It is minus the gradient of b times y.mT, restricted to the triangle that is read.
    """
    whole = triangular(a.mT, g, upper=not upper, unit=unit) @ y.mT
    return -(triu(whole, int(unit)) if upper else tril(whole, -int(unit)))


def batched_system(a: Tensor, b: Tensor, upper: bool, unit: bool, size: int, flags: Flags) -> Tensor:
    """Return the solutions of a batch of systems; the batch becomes an additional batch dim of the op."""
    rank = max(a.ndim - flags[0], b.ndim - flags[1])
    a, b = ranked(a, flags[0], rank, size), ranked(b, flags[1], rank, size)
    return stretched(triangular(a, b, upper=upper, unit=unit), True, size)


@kernel(
    dtype=wide_dtype, shape=solution_shape, name="solve_triangular", namespace=(), complex=True,
    vjp=(lambda g, a, y, *, upper, unit: matrix_gradient(g, a, y, upper, unit),
         lambda g, a, *, upper, unit: triangular(a.mT, g, upper=not upper, unit=unit)),
    batch=lambda a, b, *, upper, unit, batch, flags: batched_system(a, b, upper, unit, batch, flags),
)  # fmt: skip
def triangular(backend, out, a: Tensor, b: Tensor, *, upper: Flag, unit: Flag):
    """Return y with a @ y = b, where only one triangle of a is read.

    Gradient: h = a^-T @ g for b, and this triangle of -h @ y.T for a.
    """
    batch = out.shape[:-2]
    left, right = (Spec(x.layout.expand((*batch, *x.shape[-2:])), x.dtype) for x in (a, b))
    return backend.prepare(SolveTriangular(upper, unit), out, left, right)


@composed(of=triangular)
def solve_triangular(A: Tensor, B: Tensor, *, upper: Flag, left: Flag = True, unitriangular: Flag = False) -> Tensor:
    """Return X with A @ X = B for triangular matrices A; batch dims broadcast.

    upper: whether A is upper triangular. The other triangle is not read.
    left: whether to solve A @ X = B; if False, X @ A = B is solved.
    unitriangular: whether the diagonal of A counts as ones and is not read.
    Gradient: h = A^-T @ g for B, and the triangle of -h @ X.mT for A.
    """
    if left or A.ndim < 2 or B.ndim < 2:
        return triangular(A, B, upper=upper, unit=unitriangular)
    return triangular(A.mT, B.mT, upper=not upper, unit=unitriangular).mT
