"""Distances between tensors and between all rows of matrices: dist, cdist and pdist.

Euclidean distances and sums of magnitudes (the orders 1 and 2) have kernels, which compute with differences and need
no memory for the differences.  Other orders are composed.
"""

from __future__ import annotations

from typing import Annotated, Any

from minigrad.backends.launch import Launch
from minigrad.core.conditions import Floating, Ndim, expect_shapes
from minigrad.core.dtype import promote
from minigrad.core.op import Spec
from minigrad.core.requests import PairDistances, PairGradients, RowDistances, RowGradients
from minigrad.core.roles import Choice, Number, Scalar, Size
from minigrad.core.shape import broadcast_shapes
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.rules import floating, joint
from minigrad.errors import ShapeError
from minigrad.kernels.scalar import formula
from minigrad.ops.creation import tensor, zeros_like
from minigrad.ops.indexing.gathering import index_select
from minigrad.ops.reduction import norms
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.diagonals import choices
from minigrad.ops.shape.views import expand
from minigrad.runtime.operands import are_plain
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor

ORDERS = (1, 2)  # the orders that have kernels
MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
Power = Annotated[float, Number(0, example=2, error=ShapeError)]


@composed(method=False, out=False)
def dist(input: Tensor, other: Tensor, p: Scalar = 2) -> Tensor:
    """Return the norm of order p of input - other, over all elements; the operands broadcast."""
    return norms.norm(input - other, p)


@composed(method=False, out=False)
def cdist(
    x1: Tensor, x2: Tensor, p: Power = 2.0,
    compute_mode: Annotated[Any, Choice(*MODES, advice="omit compute_mode for the default")] = MODES[0],
) -> Tensor:  # fmt: skip
    """Return the distance of order p between each row of x1 and each row of x2.

    Shapes: x1 is (..., m, k), x2 is (..., n, k), and the result is (..., m, n).
    compute_mode: one of PyTorch's three modes. All of them compute distances from differences: a product of matrices
    loses the digits of small distances and would not be faster here.
    Gradient: for p = 2, g times the unit vector between the two rows; 0 for equal rows. For another p, it is that of
    `norm` with this order.
    Raises ShapeError for rows of different lengths or for p < 0, ArgumentError for another compute_mode.
    """
    expect_shapes("cdist", "pass rows of equal length", "..., m, k; ..., n, k", x1=x1, x2=x2)
    if p in ORDERS and x1.shape[-1] and are_plain(x1, x2):
        dtype = promote(x1.dtype, x2.dtype)
        if dtype.is_float:
            batch = broadcast_shapes("cdist", x1.shape[:-2], x2.shape[:-2])
            a, b = (in_batch(x.to(dtype), batch) for x in (x1, x2))
            return row_distances(a, b, order=int(p))
    return norms.norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p if x1.shape[-1] else 2, -1)


def in_batch(x: Tensor, batch: tuple[int, ...]) -> Tensor:
    """Return the matrices x, expanded to the shape of a batch."""
    return x if x.shape[:-2] == batch else expand(x, shape=(*batch, *x.shape[-2:]))


@composed(namespace=(MG, FUNCTIONAL), method=False, out=False)
def pdist(input: Annotated[Tensor, Ndim(2), Floating.but(error=ShapeError)], p: Power = 2.0) -> Tensor:
    """Return the distances of order p between all pairs of rows of a matrix (n, m), as a vector of n*(n - 1)/2.

    The pairs are in the order (0, 1), (0, 2), ..., (n - 2, n - 1).
    Gradient: for p = 2, g times the unit vector between the two rows; 0 for equal rows. For another p, it is that of
    `norm` with this order.
    Raises ShapeError if the input is not a matrix of floats, or if p < 0.
    """
    if p in ORDERS and input.shape[1] and are_plain(input):
        return pair_distances(input, order=int(p))
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
        return pair_gradients(g, y, x, order=order)
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


@kernel(
    dtype=floating, shape=lambda op, a, b, **params: (*a.shape[:-1], b.shape[-2]), namespace=(), out=False,
    label="cdist",
    vjp=(
        lambda g, a, b, y, *, order: gradient_of_rows(g, y, a, b, order),
        lambda g, a, b, y, *, order: gradient_of_rows(g.mT, y.mT, b, a, order),
    ),
)  # fmt: skip
def row_distances(backend: Any, out: Spec, a: Tensor, b: Tensor, *, order: Size) -> Launch:
    """Return the distance of order 1 or 2 between each row of a (..., n, k) and each row of b (..., m, k).

    Gradient: for each row, a sum over all rows of the other matrix, with d the difference of the two rows and y their
    distance. The term is g*d/y for order 2, which is 0 where y is 0, and g*sign(d) for order 1.
    """
    reducer = norms.SHORT_ORDERS[order].op.reducer  # type: ignore[attr-defined]
    return backend.prepare(RowDistances(reducer, a.dtype.compute), out, a, b)


def gradient_of_rows(g: Tensor, y: Tensor, a: Tensor, b: Tensor, order: int) -> Tensor:
    """Return the gradient of `row_distances` for a: by its kernel, or in tensor code if it must be differentiable."""
    if not is_grad_enabled() and are_plain(g, y, a, b):
        return row_gradients(g, y, a, b, order=order)
    d = a.unsqueeze(-2) - b.unsqueeze(-3)
    terms = norms.direction(d, norms.length(d, (-1,), False), (-1,)) if order == 2 else d.sign()
    return sum(terms * g.to(a.dtype).unsqueeze(-1), -2)


@kernel(
    dtype=floating, shape=lambda op, g, y, a, b, *, order: a.shape, vjp=None, linear=joint("g"), namespace=(),
    out=False, label="the gradient of cdist",
)  # fmt: skip
def row_gradients(backend: Any, out: Spec, g: Tensor, y: Tensor, a: Tensor, b: Tensor, *, order: Size) -> Launch:
    """Return the gradient of `row_distances` with respect to the rows a; y are the distances."""
    return backend.prepare(RowGradients(*GRADIENTS[order], a.dtype.compute), out, g, y, a, b)


INVERSE = formula("inverse(g, y)", "0 if y == 0 else g / y")
ITSELF = formula("itself(d)", "d")
UNCHANGED = formula("unchanged(g, y)", "g")
SIDE = formula("side(d)", "(d > 0) - (d < 0)")  # the sign of a difference
# For each order: the factor of a pair and the direction of an element.  Their product is a term of the gradient.
GRADIENTS = {2: (INVERSE, ITSELF), 1: (UNCHANGED, SIDE)}
