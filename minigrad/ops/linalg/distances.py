"""Distances between tensors and between all rows of matrices: dist, cdist and pdist.

For many rows of float32, `cdist` computes Euclidean distances from one product in float64, |a|^2 + |b|^2 - 2 a.b.  The
error of this formula is smaller than the rounding of the rows' elements.  Other distances are computed from the
differences, which need memory for each pair of rows.  `pdist` has kernels for the orders 1 and 2, which do not need
this memory.
"""

from __future__ import annotations

import math
from typing import Any

from minigrad.backends.launch import Launch
from minigrad.core.dtype import promote
from minigrad.core.op import Spec
from minigrad.core.requests import PairDistances, PairGradients
from minigrad.core.roles import Scalar, Size
from minigrad.declare.decorators import composed, elementwise, kernel
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.rules import floating, joint, to_float
from minigrad.errors import ArgumentError, ShapeError
from minigrad.kernels.scalar import parse
from minigrad.ops.casting import cast
from minigrad.ops.creation import tensor, zeros_like
from minigrad.ops.indexing.gathering import index_select
from minigrad.ops.linalg.products import matmul
from minigrad.ops.reduction import norms
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.grids import choices
from minigrad.runtime.operands import are_plain
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor, describe

ORDERS = (1, 2)  # the orders for which `pdist` has a kernel
MANY = 25  # with more rows than this, distances are computed from products, as in PyTorch
MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@composed(method=False, out=False)
def dist(input: Tensor, other: Tensor, p: Scalar = 2) -> Tensor:
    """Return the norm of order p of input - other, over all elements; the operands broadcast."""
    return norms.norm(input - other, p)


@composed(method=False, out=False)
def cdist(x1: Tensor, x2: Tensor, p: Scalar = 2.0, compute_mode: Any = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """Return the distance of order p between each row of x1 and each row of x2.

    Shapes: x1 is (..., m, k), x2 is (..., n, k), and the result is (..., m, n).
    compute_mode: how Euclidean distances of float32 and narrower dtypes are computed. "use_mm_for_euclid_dist" uses a
    product of matrices, "donot_use_mm_for_euclid_dist" uses differences, and "use_mm_for_euclid_dist_if_necessary" uses
    a product for more than 25 rows. Distances of float64 always use differences.
    Gradient: for p = 2, g times the unit vector between the two rows; 0 for equal rows.
    Raises ShapeError for rows of different lengths or for p < 0, ArgumentError for another compute_mode.
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1] or p < 0:
        raise ShapeError(
            f"cdist: x1 and x2 must have rows of the same length and p must not be negative, got {describe(x1)}, "
            f"{describe(x2)} and p={p}; pass p=2, or rows of equal length"
        )
    if compute_mode not in MODES:
        raise ArgumentError(
            f"cdist: compute_mode must be one of {MODES}, got {compute_mode!r}; omit compute_mode for the default",
            op="cdist",
        )
    many = max(x1.shape[-2], x2.shape[-2]) > MANY if compute_mode == MODES[0] else compute_mode == MODES[1]
    if p == 2 and many and max(x1.dtype.itemsize, x2.dtype.itemsize) < 8 and x1.dtype.is_float and x2.dtype.is_float:
        return by_products(x1, x2)
    return norms.norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p if x1.shape[-1] else 2, -1)


@composed(namespace=(MG, FUNCTIONAL), method=False, out=False)
def pdist(input: Tensor, p: Scalar = 2.0) -> Tensor:
    """Return the distances of order p between all pairs of rows of a matrix (n, m), as a vector of n*(n - 1)/2.

    The pairs are in the order (0, 1), (0, 2), ..., (n - 2, n - 1).
    Gradient: for p = 2, g times the unit vector between the two rows; 0 for equal rows.
    """
    if input.ndim != 2 or not input.dtype.is_float or p < 0:
        raise ShapeError(
            f"pdist: input must be a matrix of floats and p must not be negative, got {describe(input)} and p={p}; "
            "convert with .float(), or pass p=2",
            op="pdist",
        )
    if p in ORDERS and input.shape[1] and are_plain(input):
        result: Tensor = pair_distances(input, order=int(p))
        return result
    return norms.norm(differences(input), p if input.shape[1] else 2, -1)


def differences(x: Tensor) -> Tensor:
    """Return the difference of each pair of rows, the first minus the second."""
    first, second = (index_select(x, 0, column) for column in indices_of_pairs(x))
    return first - second


def indices_of_pairs(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return two vectors: the index of the first row of each pair, and the index of the second row."""
    first, second = (tensor(column, device=x.device) for column in choices(x.shape[0], 2, True).T)
    return first, second


def _gradient(g: Tensor, x: Tensor, y: Tensor, order: int) -> Tensor:
    """Return the gradient of `pair_distances`: by its kernel, or in tensor code if it must be differentiable."""
    if not is_grad_enabled() and are_plain(g, x, y):
        result: Tensor = pair_gradients(g, y, x, order=order)
        return result
    d = differences(x)
    terms = norms.direction(d, norms.length(d, (1,), False), (1,)) if order == 2 else d.sign()
    first, second = indices_of_pairs(x)
    terms = terms * g.to(x.dtype).unsqueeze(1)
    return zeros_like(x).index_add(0, first, terms).index_add(0, second, -terms)


@kernel(
    dtype=floating, shape=lambda op, x, *, order: (x.shape[0] * (x.shape[0] - 1) // 2,),
    vjp=(lambda g, x, y, *, order: _gradient(g, x, y, order),), namespace=(), out=False, label="pdist",
)  # fmt: skip
def pair_distances(backend: Any, out: Spec, x: Tensor, *, order: Size) -> Launch:
    """Return the distance of order 1 or 2 between all pairs of rows.

    Gradient: for each row, a sum over all other rows, with d the difference of the two rows and y their distance. The
    term is g*d/y for order 2, which is 0 where y is 0, and g*sign(d) for order 1.
    """
    reducer = norms.SHORT_ORDERS[order].op.reducer  # type: ignore[attr-defined]
    return backend.prepare(PairDistances(reducer, x.dtype.compute), out, x)


@kernel(
    dtype=floating, shape=lambda op, g, y, x, *, order: x.shape, vjp=None,
    linear=joint("g"), namespace=(), out=False, label="the gradient of pdist",
)  # fmt: skip
def pair_gradients(backend: Any, out: Spec, g: Tensor, y: Tensor, x: Tensor, *, order: Size) -> Launch:
    """Return the gradient of `pair_distances` with respect to the rows x; y are the distances."""
    return backend.prepare(PairGradients(*GRADIENTS[order], x.dtype.compute), out, g, y, x)


def inverse(g, y):
    """Return g / y, the gradient divided by the distance; 0 where the distance is 0."""
    return 0 if y == 0 else g / y


def itself(d):
    """Return the difference d itself."""
    return d


def unchanged(g, y):
    """Return the gradient g itself."""
    return g


def side(d):
    """Return the sign of the difference d."""
    return (d > 0) - (d < 0)


# For each order: the factor of a pair and the direction of an element.  Their product is a term of the gradient.
GRADIENTS = {2: (parse(inverse), parse(itself)), 1: (parse(unchanged), parse(side))}


@elementwise(
    dtype=to_float, vjp=(lambda g: g, lambda g: g, lambda g: g * -2.0), namespace=(), method=False, label="cdist"
)
def squared_distance(a, b, product):
    """Return a + b - 2*product, from the squared lengths of two vectors and their product, all in float64.

    The result is 0 if the vectors are equal up to rounding; the gradient of `distance_of` is then 0 as well.
    Gradient: g for a, g for b, and -2*g for product.
    """
    square = a + b - 2 * product
    # 2**-50 times the squares is four times the largest rounding error of their sum in float64.
    return 0 if square <= 8.881784197001252e-16 * (a + b) else square


@elementwise(dtype=to_float, vjp="derived", namespace=(), method=False, label="cdist")
def over_double(g, y):
    """Return g / (2*y), the gradient of a square root y; 0 where y is 0."""
    return 0 if y == 0 else g / (2 * y)


@elementwise(dtype=to_float, vjp=(lambda g, y: over_double(g, y),), namespace=(), method=False, label="cdist")
def distance_of(square):
    """Return the square root of a squared distance.  Gradient: g / (2*y) with the result y; 0 where y is 0."""
    return math.sqrt(square)


def by_products(x1: Tensor, x2: Tensor) -> Tensor:
    """Return the Euclidean distances between all rows of x1 and x2, from a product in float64."""
    a, b = (cast(x, dtype="float64") for x in (x1, x2))
    squares = sum(a * a, -1, keepdim=True), sum(b * b, -1, keepdim=True).mT
    result = distance_of(cast(squared_distance(*squares, matmul(a, b.mT)), dtype="float32"))
    return result.to(promote(x1.dtype, x2.dtype))
