"""Distances and similarities of vectors, and losses that compare such distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from minigrad.core.conditions import expect_same
from minigrad.core.dtype import promote
from minigrad.core.roles import Flag, Number, Scalar
from minigrad.core.shape import broadcast_shapes
from minigrad.declare.decorators import composed
from minigrad.declare.forms import as_float
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.errors import ShapeError
from minigrad.ops.nn.likelihood import at_least
from minigrad.ops.nn.loss import joined, named_reduction
from minigrad.ops.pointwise.arithmetic import minimum
from minigrad.ops.pointwise.blends import clamp
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.norms import length, norm
from minigrad.ops.reduction.sums import sum, wide
from minigrad.ops.shape.views import expand
from minigrad.runtime.tensor import Tensor, describe

BOTH = (MG, FUNCTIONAL)


@composed(namespace=BOTH)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: Scalar = 1e-08) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`; the operands broadcast.

    eps: the smallest length of a vector in the divisor.
    """
    dtype = promote(x1.dtype, x2.dtype)
    if x1.shape != x2.shape:
        shape = broadcast_shapes("cosine_similarity", x1.shape, x2.shape)
        x1, x2 = (expand(x, shape=shape) for x in (x1, x2))
    x1, x2 = (wide(as_float("cosine_similarity", x)) for x in (x1, x2))
    lengths = [at_least(length(x, (dim,), False), eps) for x in (x1, x2)]
    cosine = sum(x1 * x2, dim) / (lengths[0] * lengths[1])
    return cosine.to(dtype) if dtype.is_float else cosine


@composed(namespace=BOTH)
def pairwise_distance(x1: Tensor, x2: Tensor, p: Scalar = 2.0, eps: Scalar = 1e-06, keepdim: Flag = False) -> Tensor:
    """Return the norm of order p of x1 - x2 + eps along the last dim; the operands broadcast."""
    gap = x1 - x2 + eps
    return length(gap, (-1,), keepdim).to(gap.dtype) if p == 2 else norm(gap, p, -1, keepdim)


@composed()
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: Scalar = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return a loss for pairs of vectors: 1 - cosine for target 1, and max(0, cosine - margin) for target -1.

    The cosine is that of the angle between the vectors, which are the rows of input1 and input2.
    """
    name = "cosine_embedding_loss"
    reduction = named_reduction(name, reduction, size_average, reduce)
    if target.ndim > 1 or not target.ndim + 1 == input1.ndim == input2.ndim:
        raise ShapeError(
            f"{name}: input1 and input2 must be matrices with a vector as target, or vectors with a scalar as target, "
            f"got {', '.join(map(describe, (input1, input2, target)))}; reshape target",
            op=name,
        )
    squares = (sum(input1 * input1, -1) + 1e-12) * (sum(input2 * input2, -1) + 1e-12)
    cosine = sum(input1 * input2, -1) / squares.sqrt()
    return joined(where(target == 1, 1.0 - cosine, where(target == -1, clamp(cosine - margin, 0), 0.0)), reduction)


Margin = Annotated[float, Number(above=0, example=1.0)]


@composed()
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: Margin = 1.0, p: Scalar = 2, eps: Scalar = 1e-06,
    swap: Flag = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return max(0, d(anchor, positive) - d(anchor, negative) + margin), with `pairwise_distance` as d.

    p: the order of the distance.
    eps: the number that `pairwise_distance` adds to each difference.
    swap: whether d(positive, negative) replaces d(anchor, negative) where d(positive, negative) is less.
    """
    reduction = named_reduction("triplet_margin_loss", reduction, size_average, reduce)

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    return joined(triplets("triplet_margin_loss", anchor, positive, negative, distance, margin, swap), reduction)


@composed()
def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: Margin = 1.0, swap: Flag = False,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return `triplet_margin_loss` with any distance function; the default is `pairwise_distance`."""
    name = "triplet_margin_with_distance_loss"
    reduction = named_reduction(name, reduction)
    distance = pairwise_distance if distance_function is None else distance_function
    return joined(triplets(name, anchor, positive, negative, distance, margin, swap), reduction)


def triplets(
    name: str, anchor: Tensor, positive: Tensor, negative: Tensor, distance: Callable[[Tensor, Tensor], Tensor],
    margin: float, swap: bool,
) -> Tensor:  # fmt: skip
    """Return max(0, d(anchor, positive) - d(anchor, negative) + margin) for each triplet and a distance function d."""
    expect_same("dims", name, anchor=anchor, positive=positive, negative=negative)
    apart = distance(anchor, negative)
    if swap:
        apart = minimum(apart, distance(positive, negative))
    return clamp(distance(anchor, positive) - apart + margin, 0)
