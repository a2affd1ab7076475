"""Distances between tensors and between all rows of matrices: dist, cdist and pdist.

Euclidean distances of many rows of float32 come from one product in float64, |a|^2 + |b|^2 - 2 a.b, whose error is
below the spacing of the rows' own elements; others come from differences, which need memory for each pair of rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad.core.dtype import promote
from minigrad.core.roles import Scalar
from minigrad.declare.decorators import composed, elementwise
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.rules import to_float
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.creation import tensor
from minigrad.ops.indexing.gathering import index_select
from minigrad.ops.linalg.products import matmul
from minigrad.ops.reduction import norms
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.grids import choices
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import narrow, reshape
from minigrad.runtime.tensor import Tensor, describe

BLOCK = 256  # rows per product in pdist
MANY = 25  # number of rows above which PyTorch also computes distances by products
MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@composed(method=False, out=False)
def dist(input: Tensor, other: Tensor, p: Scalar = 2) -> Tensor:
    """Return the norm of order p of input - other, over all elements; the two broadcast."""
    return norms.norm(input - other, p)


@composed(method=False, out=False)
def cdist(x1: Tensor, x2: Tensor, p: Scalar = 2.0, compute_mode: Any = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """Return the distance of order p of each row of x1 from each row of x2, (..., m, k) and (..., n, k) to (..., m, n).

    compute_mode: whether Euclidean distances of float32 and narrower rows may come from a product, "if_necessary" for
    more than 25 rows; "use_mm_for_euclid_dist" and "donot_use_mm_for_euclid_dist" decide it; float64 takes differences.
    Gradient: for p = 2 g times the unit vector between the rows, 0 for equal rows.
    Raises ShapeError for rows of two lengths and p < 0, ArgumentError for another compute_mode.
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1] or p < 0:
        raise ShapeError(
            f"cdist: expected rows of the same length and p >= 0, got {describe(x1)}, {describe(x2)} and {p}"
        )
    if compute_mode not in MODES:
        raise ArgumentError(f"cdist: compute_mode must be one of {MODES}, got {compute_mode!r}", op="cdist")
    many = max(x1.shape[-2], x2.shape[-2]) > MANY if compute_mode == MODES[0] else compute_mode == MODES[1]
    if p == 2 and many and max(x1.dtype.itemsize, x2.dtype.itemsize) < 8 and x1.dtype.is_float and x2.dtype.is_float:
        return by_products(x1, x2)
    return norms.norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p if x1.shape[-1] else 2, -1)


@composed(namespace=(MG, FUNCTIONAL), method=False, out=False)
def pdist(input: Tensor, p: Scalar = 2.0) -> Tensor:
    """Return the distance of order p of each pair of rows of a matrix (n, m), as a vector of n * (n - 1) / 2.

    The pairs are (0, 1), (0, 2), ..., (n - 2, n - 1).  Gradient: as for `cdist`; 0 for equal rows if p is 2.
    """
    if input.ndim != 2 or not input.dtype.is_float or p < 0:
        raise ShapeError(f"pdist: expected a matrix of floats and p >= 0, got {describe(input)} and {p}", op="pdist")
    n = input.shape[0]
    if p == 2 and n > MANY and input.dtype.itemsize < 8:
        # A block of rows is compared with itself and the later rows, so half of the matrix is not computed.
        parts, later = [], []
        for start in range(0, n, BLOCK):
            rows, rest = min(BLOCK, n - start), n - start
            parts.append(reshape(by_products(narrow(input, 0, start, rows), narrow(input, 0, start, rest)), (-1,)))
            later.append(~np.tri(rows, rest, dtype=bool).ravel())
        return index_select(cat(parts), 0, tensor(np.flatnonzero(np.concatenate(later)), device=input.device))
    first, second = (index_select(input, 0, tensor(column, device=input.device)) for column in choices(n, 2, True).T)
    return norms.norm(first - second, p if input.shape[1] else 2, -1)


@elementwise(dtype=to_float, vjp="derived", namespace=(), method=False, label="cdist")
def distance_of(a, b, product):
    """Return sqrt(a + b - 2*product), the distance of two vectors from their squared lengths and their product.

    Gradient: 0 where the vectors are equal up to rounding.
    """
    square = a + b - 2 * product
    # 2**-50 times the squares is four times the rounding error of their sum in float64.
    return 0 if square <= 8.881784197001252e-16 * (a + b) else math.sqrt(square)


def by_products(x1: Tensor, x2: Tensor) -> Tensor:
    """Return Euclidean distances of all rows by a product in float64."""
    a, b = (cast(x, dtype="float64") for x in (x1, x2))
    squares = sum(a * a, -1, keepdim=True), sum(b * b, -1, keepdim=True).mT
    result = distance_of(*squares, matmul(a, b.mT))
    return result.to(promote(x1.dtype, x2.dtype))
