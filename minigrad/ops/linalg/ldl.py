"""Factors L D L.T of symmetric matrices that need not be definite, with LAPACK's pivoting and packing.

The host computes the factors, because each step depends on the values that it reads: D has blocks of 1x1 and 2x2.
Source: Bunch and Kaufman, "Some stable methods for calculating inertia and solving symmetric linear systems",
Mathematics of Computation 31 (1977); Golub and Van Loan, Matrix Computations, 4th edition, section 4.4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad.core.conditions import Square, Wide, expect_shapes
from minigrad.core.roles import Flag
from minigrad.declare.decorators import public
from minigrad.declare.names import LINALG
from minigrad.declare.record import results_of
from minigrad.errors import ArgumentError, check
from minigrad.ops.creation import tensor
from minigrad.ops.indexing.sorting import argsort
from minigrad.ops.linalg.factors import triangular
from minigrad.ops.linalg.lu import rows_of
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

Array = Any
FACTOR: Any = results_of("ldl_factor", ("LD", "pivots"))
FACTOR_EX: Any = results_of("ldl_factor_ex", ("LD", "pivots", "info"))
RATIO = (1 + math.sqrt(17)) / 8  # bounds the growth of elements in one step of either kind equally


def pivot_of(A: Array, k: int) -> tuple[int, int]:
    """Return the row that is exchanged in step k of the lower triangle, and the size of the block, 1 or 2."""
    below, corner = abs(A[k + 1 :, k]), abs(A[k, k])
    row = k + 1 + int(np.argmax(below)) if len(below) else k
    largest = np.max(below, initial=0.0)
    others = max(np.max(abs(part), initial=0.0) for part in (A[row, k:row], A[row + 1 :, row]))
    if math.isnan(corner + largest) or corner >= RATIO * largest or corner * others >= RATIO * largest * largest:
        return k, 1
    return row, 1 if abs(A[row, row]) >= RATIO * others else 2


def factorize(A: Array) -> tuple[Array, int]:
    """Replace the lower triangle of a matrix by its packed factors; return LAPACK's pivots and status."""
    n, k, info = len(A), 0, 0
    pivots = np.zeros(n, np.int32)
    while k < n:
        p, size = pivot_of(A, k)
        j, after = k + size - 1, k + size
        if p != j:  # exchange the rows and columns j and p of the part that is left
            A[p + 1 :, [j, p]] = A[p + 1 :, [p, j]]
            A[j + 1 : p, j], A[p, j + 1 : p] = A[p, j + 1 : p].copy(), A[j + 1 : p, j].copy()
            A[j, j], A[p, p] = A[p, p], A[j, j]
            if size == 2:
                A[j, k], A[p, k] = A[p, k], A[j, k]
        block = A[k:after, k:after]
        block = np.tril(block) + np.tril(block, -1).T
        if size == 1 and not abs(block[0, 0]) > 0:  # 0 or nan
            info = info or k + 1
        else:
            left = A[after:, k:after].copy()
            L = left @ np.linalg.inv(block)
            A[after:, after:] -= np.tril(L @ left.T)
            A[after:, k:after] = L
        pivots[k:after] = p + 1 if size == 1 else -(p + 1)
        k = after
    return pivots, info


def unpacked(LD: Array, pivots: Array) -> tuple[Array, Array, Array]:
    """Return the order of the rows, the unit lower triangular L and the inverse of D, from packed factors."""
    n, k = len(LD), 0
    L, D, order = np.tril(LD, -1), np.diag(np.diag(LD)), np.arange(n)
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        j, p = k + size - 1, abs(int(pivots[k])) - 1
        if size == 2:
            D[j, k] = D[k, j] = L[j, k]
            L[j, k] = 0.0
        order[[j, p]] = order[[p, j]]
        L[[j, p], :k] = L[[p, j], :k]  # the packed columns have the order of the rows at their step
        k += size
    try:
        return order, L, np.linalg.inv(D)
    except np.linalg.LinAlgError:
        raise ArgumentError("ldl_solve: D must be regular, got a singular D; use mg.linalg.lstsq") from None


def each_matrix(name: str, A: Tensor) -> Array:
    """Return a copy of square matrices as an array (batch, n, n) of the host."""
    expect_tensors(name, A)
    Square.expect(name, A=A)
    Wide.expect(name, A=A)
    return np.array(A.detach().tolist(), A.dtype.numpy).reshape(math.prod(A.shape[:-2]), *A.shape[-2:])


@public(namespace=LINALG)
def ldl_factor_ex(A: Tensor, *, hermitian: Flag = False, check_errors: Flag = False) -> Any:
    """Return (LD, pivots, info) with A = P L D L.T P.T, for symmetric matrices; not differentiable, as in PyTorch.

    A: matrices (..., n, n), of which the lower triangle is read.
    LD: D on the diagonal and, in its 2x2 blocks, below it; L, without its ones, below the diagonal.
    pivots: the row, counted from 1, that each step exchanged; it is negative, twice, for a 2x2 block.
    info: 0, or the first step whose block of D is 0 or nan, counted from 1.
    hermitian: no effect on real matrices.  check_errors: whether to raise ArgumentError unless info is 0.
    """
    matrices = each_matrix("ldl_factor_ex", A)
    steps = [factorize(matrix) for matrix in matrices]
    pivots, info = (np.array([step[k] for step in steps], np.int32) for k in range(2))
    message = "ldl_factor: D must be regular, but one of its blocks is 0 or nan for "
    check(not (check_errors and info.any()), ArgumentError, message, describe(A), "; use mg.linalg.lstsq")
    parts = (np.tril(matrices), A.shape), (pivots, A.shape[:-1]), (info, A.shape[:-2])
    return FACTOR_EX(*[tensor(values.reshape(shape), device=A.device) for values, shape in parts])


@public(namespace=LINALG)
def ldl_factor(A: Tensor, *, hermitian: Flag = False) -> Any:
    """Return (LD, pivots) of `ldl_factor_ex`.  Raises ArgumentError for a block of D that is 0 or nan.

    A: symmetric matrices (..., n, n), of which the lower triangle is read.  hermitian: no effect on real matrices.
    """
    return FACTOR(*ldl_factor_ex(A, hermitian=hermitian, check_errors=True)[:2])


@public(namespace=LINALG)
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: Flag = False) -> Tensor:
    """Return X with A @ X = B, from the factors that `ldl_factor` returned for A.

    LD, pivots: the results of `ldl_factor`, (..., n, n) and (..., n).  B: right-hand sides (..., n, k).
    hermitian: no effect on real matrices.
    Gradient: for B, the solution with g instead of B; LD counts as a constant.
    """
    packed = each_matrix("ldl_solve", LD)
    expect_tensors("ldl_solve", pivots, B)
    expect_shapes("ldl_solve", "pass the results of ldl_factor", "*, n, n; *, n; ..., n, k", LD=LD, pivots=pivots, B=B)
    rows = np.array(pivots.tolist(), np.int64).reshape(packed.shape[:-1])
    steps = [unpacked(*each) for each in zip(packed, rows)]
    kinds: Any = (LD.shape[:-1], np.int64), (LD.shape, LD.dtype.numpy), (LD.shape, LD.dtype.numpy)
    order, L, D = (
        tensor(np.array([step[k] for step in steps], dtype).reshape(shape), device=LD.device)
        for k, (shape, dtype) in enumerate(kinds)
    )
    half = D @ triangular(L, rows_of(B, order), upper=False, unit=True)
    return rows_of(triangular(L.mT, half, upper=True, unit=True), argsort(order, -1))
