"""Linear algebra under the older names of PyTorch, in `mg` itself and as methods: see `mg.linalg`."""

from __future__ import annotations

import math
from typing import Any

from minigrad.core.roles import Flag, Int, Scalar
from minigrad.declare.decorators import composed
from minigrad.declare.record import results_of
from minigrad.ops.creation import zeros
from minigrad.ops.linalg import factors, matrices, pseudo, spectra, systems
from minigrad.ops.linalg import qr as qr_ops
from minigrad.ops.pointwise.compare import where
from minigrad.runtime.tensor import Tensor

SVD_RESULT: Any = results_of("svd", ("U", "S", "V"))


@composed(of=factors.factor)
def cholesky(input: Tensor, upper: Flag = False) -> Tensor:
    """Return `mg.linalg.cholesky`: the triangle whose product with its transpose is a positive definite matrix."""
    return factors.cholesky(input, upper=upper)


@composed()
def cholesky_solve(input: Tensor, input2: Tensor, upper: Flag = False) -> Tensor:
    """Return X with A @ X = input by the factor of A that `cholesky` returned, input2; upper: by an upper one."""
    lower = input2.mT if upper else input2
    Y = factors.triangular(lower, input, upper=False, unit=False)
    return factors.triangular(lower.mT, Y, upper=True, unit=False)


@composed()
def cholesky_inverse(input: Tensor, upper: Flag = False) -> Tensor:
    """Return the inverse of a matrix by its factor of `cholesky`."""
    systems.expect_square("cholesky_inverse", input)
    return cholesky_solve(systems.identity(input), input, upper)


@composed(of=systems.determinant, out=False)
def det(input: Tensor) -> Tensor:
    """Return `mg.linalg.det`: the determinants of square matrices."""
    return systems.det(input)


@composed(of=systems.logarithm)
def slogdet(input: Tensor) -> Any:
    """Return `mg.linalg.slogdet`: (sign, logabsdet) of the determinants of square matrices."""
    return systems.slogdet(input)


@composed(out=False)
def logdet(input: Tensor) -> Tensor:
    """Return the logarithms of the determinants of square matrices: -inf for 0, nan for a negative one."""
    systems.expect_square("logdet", input)
    sign, logabsdet = systems.slogdet(input)
    return where(sign < 0, math.nan, logabsdet)


@composed()
def inverse(input: Tensor) -> Tensor:
    """Return `mg.linalg.inv`: the inverses of square matrices."""
    return systems.inv(input)


@composed(of=systems.lu_solve)
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Return `mg.linalg.lu_solve`: the solutions of systems by factors of `mg.linalg.lu_factor`."""
    return systems.lu_solve(LU_data, LU_pivots, input)


@composed(of=qr_ops.reflections)
def qr(input: Tensor, some: Flag = True) -> Any:
    """Return `mg.linalg.qr` with mode="reduced", or "complete" with some=False."""
    return qr_ops.qr(input, "reduced" if some else "complete")


@composed(of=spectra.singular)
def svd(input: Tensor, some: Flag = True, compute_uv: Flag = True) -> Any:
    """Return (U, S, V) with U * S @ V.mT = input; some: with min(m, n) columns each.  See `mg.linalg.svd`.

    compute_uv=False: U (..., m, m) and V (..., n, n) are zeros.
    """
    if compute_uv:
        U, S, Vh = spectra.svd(input, not some)
        return SVD_RESULT(U, S, Vh.mT)
    U, V = (zeros((*input.shape[:-2], n, n), dtype=input.dtype, device=input.device) for n in input.shape[-2:])
    return SVD_RESULT(U, spectra.svdvals(input), V)


@composed(out=False)
def pinverse(input: Tensor, rcond: Scalar = 1e-15) -> Tensor:
    """Return `mg.linalg.pinv` with rtol=rcond: the Moore-Penrose inverses of matrices."""
    return pseudo.pinv(input, rtol=rcond)


@composed(of=matrices.matrix_power)
def matrix_power(input: Tensor, n: Int) -> Tensor:
    """Return `mg.linalg.matrix_power`: a power of square matrices, also a negative one."""
    return matrices.matrix_power(input, n)
