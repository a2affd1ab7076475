"""Linear algebra under PyTorch's older names, in `mg` itself and as methods; `mg.linalg` has the newer names."""

from __future__ import annotations

import math
from typing import Any

from minigrad.core.roles import Flag, Int, Scalar
from minigrad.declare.decorators import composed
from minigrad.declare.record import results_of
from minigrad.ops.creation import zeros
from minigrad.ops.linalg import factors, matrices, pseudo, spectra, systems
from minigrad.ops.linalg import lu as triangles
from minigrad.ops.pointwise.compare import where
from minigrad.ops.pointwise.complexes import angle, complex
from minigrad.runtime.tensor import Tensor

LU_RESULT: Any = results_of("lu", ("LU", "pivots"))
SVD_RESULT: Any = results_of("svd", ("U", "S", "V"))


@composed(of=factors.factor)
def cholesky(input: Tensor, upper: Flag = False) -> Tensor:
    """Return the Cholesky factor of symmetric positive definite matrices, as `mg.linalg.cholesky`."""
    return factors.cholesky(input, upper=upper)


@composed()
def cholesky_solve(input: Tensor, input2: Tensor, upper: Flag = False) -> Tensor:
    """Return X with A @ X = input, from the factor `input2` that `cholesky` returned for A.

    upper: whether `input2` is an upper triangular factor.
    """
    lower = input2.mH if upper else input2
    Y = factors.triangular(lower, input, upper=False, unit=False)
    return factors.triangular(lower.mH, Y, upper=True, unit=False)


@composed()
def cholesky_inverse(input: Tensor, upper: Flag = False) -> Tensor:
    """Return the inverse of a matrix, from the factor that `cholesky` returned for the matrix."""
    systems.SQUARE.expect("cholesky_inverse", input=input)
    return cholesky_solve(systems.eye_of(input), input, upper)


@composed(of=systems.determinant, out=False)
def det(input: Tensor) -> Tensor:
    """Return the determinants of square matrices, as `mg.linalg.det`."""
    return systems.det(input)


@composed(of=systems.logarithm)
def slogdet(input: Tensor) -> Any:
    """Return (sign, logabsdet) of the determinants of square matrices, as `mg.linalg.slogdet`."""
    return systems.slogdet(input)


@composed(out=False)
def logdet(input: Tensor) -> Tensor:
    """Return the logarithms of the determinants of square matrices.

    The result is -inf for a determinant of 0, and nan for a negative determinant.  For complex matrices, it is the
    principal value.
    """
    systems.SQUARE.expect("logdet", input=input)
    sign, logabsdet = systems.slogdet(input)
    if input.dtype.is_complex:
        return complex(logabsdet, angle(sign))
    return where(sign < 0, math.nan, logabsdet)


@composed()
def inverse(input: Tensor) -> Tensor:
    """Return the inverses of square matrices, as `mg.linalg.inv`."""
    return systems.inv(input)


@composed(of=systems.lu_solve)
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Return the solutions of systems from the factors of `mg.linalg.lu_factor`, as `mg.linalg.lu_solve`."""
    return systems.lu_solve(LU_data, LU_pivots, input)


@composed(of=triangles.factors)
def lu(A: Tensor, pivot: Flag = True, get_infos: Flag = False) -> Any:
    """Return (LU, pivots) as `mg.linalg.lu_factor`, also for singular matrices.

    get_infos: whether to return (LU, pivots, info) instead, as `mg.linalg.lu_factor_ex`.
    """
    LU, pivots, info = systems.lu_factor_ex(A, pivot=pivot)
    return (LU, pivots, info) if get_infos else LU_RESULT(LU, pivots)


@composed(of=triangles.reflections)
def qr(input: Tensor, some: Flag = True) -> Any:
    """Return the QR factors of matrices, as `mg.linalg.qr` with mode="reduced", or "complete" with some=False."""
    return triangles.qr(input, "reduced" if some else "complete")


@composed(of=spectra.singular)
def svd(input: Tensor, some: Flag = True, compute_uv: Flag = True) -> Any:
    """Return (U, S, V) with U * S @ V.mH = input; see `mg.linalg.svd`.

    some: whether U and V have min(m, n) columns; if False, they are square.
    compute_uv: whether to compute U and V; if False, they are zeros of shapes (..., m, m) and (..., n, n).
    """
    if compute_uv:
        U, S, Vh = spectra.svd(input, not some)
        return SVD_RESULT(U, S, Vh.mH)
    U, V = (zeros((*input.shape[:-2], n, n), dtype=input.dtype, device=input.device) for n in input.shape[-2:])
    return SVD_RESULT(U, spectra.svdvals(input), V)


@composed(out=False)
def pinverse(input: Tensor, rcond: Scalar = 1e-15) -> Tensor:
    """Return the Moore-Penrose inverses of matrices, as `mg.linalg.pinv` with rtol=rcond."""
    return pseudo.pinv(input, rtol=rcond)


@composed(of=matrices.matrix_power)
def matrix_power(input: Tensor, n: Int) -> Tensor:
    """Return the n-th power of square matrices, as `mg.linalg.matrix_power`; n may be negative."""
    return matrices.matrix_power(input, n)
