"""Margin losses, and the distances and similarities of vectors that some of them compare.

The op of `multi_margin_loss` and its backward op are one launch each, of a few kernels that also check the classes.
The launches are composed of requests, so every device runs them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from typing import Annotated

from minigrad.backends.limits import ClassLimits
from minigrad.backends.lowering.functions import SUM
from minigrad.backends.steps import Steps, Value
from minigrad.core.conditions import expect_same, expect_shape
from minigrad.core.dtype import DType, as_dtype, int64, promote
from minigrad.core.requests import Pick, Reduce
from minigrad.core.roles import Choice, Flag, Number, Scalar
from minigrad.core.shape import broadcast_shapes
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.forms import as_float
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.partials import declared
from minigrad.declare.rules import joint
from minigrad.errors import DTypeError, ShapeError
from minigrad.kernels.scalar import formula, scalar_of
from minigrad.ops.casting import cast
from minigrad.ops.creation import arange
from minigrad.ops.indexing.gathering import gather, index_select, scatter_add, zeros_of
from minigrad.ops.nn.activation import log_sigmoid, relu
from minigrad.ops.nn.classes import ELEMENT, NO_CLASS, class_dtype, existing_classes, refuse_swapped
from minigrad.ops.nn.likelihood import at_least
from minigrad.ops.nn.loss import joined, named_reduction
from minigrad.ops.pointwise.arithmetic import minimum
from minigrad.ops.pointwise.blends import clamp
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.norms import length, norm
from minigrad.ops.reduction.scan import cumprod
from minigrad.ops.reduction.sums import mean, sum, wide
from minigrad.ops.shape.views import expand, reshape, unsqueeze
from minigrad.runtime.operands import are_plain
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import derives

# ---- the op of multi_margin_loss -------------------------------------------------------------------------------------


def excess(score, below, index, named, share, scale, margin, power):
    """Return the loss of a class: the power 1 or 2 of the part of its score above the named class's minus the margin.

    below: minus the score of the named class.  index, named: the class, and the named class, whose loss is 0.
    share: minus the weight of the named class.  scale: a further factor.
    """
    gap = margin + below + score
    return 0 if index == named or gap <= 0 else -share * scale * (gap if power == 1 else gap * gap)


def excess_derivative(g, score, below, index, named, share, scale, margin, power):
    """Return g times the derivative of `excess` with respect to the score of a class that is not the named class."""
    gap = margin + below + score
    return 0 if index == named or gap <= 0 else -share * scale * g * (1 if power == 1 else 2 * gap)


# The gradient of a score; for the named class, minus the sum over the row.
BALANCED = formula("balanced(derivative, total, index, named)", "-total if index == named else derivative")
ADDED = formula("added(acc, x)", "acc + x")
EXCESSES = declared(ADDED, "zero", order="sum", map=excess)
EXCESS_DERIVATIVE = scalar_of(excess_derivative)


def scale_of(shape: Sequence[int], reduction: str) -> float:
    """Return the factor of a sum of losses of classes: 1 / the number of classes, and for a mean also of rows."""
    count = prod(shape) if reduction == "mean" else shape[1]
    return 1.0 / count if count else math.nan


def terms_of(
    steps: Steps, operands: Sequence[Value], dtype: DType, power: int, margin: float, reduction: str
) -> list[Value]:
    """Add the steps that compute the arguments of `excess` after the score, and return these arguments."""
    rows, target, *weight = operands
    shape = rows.shape
    below = steps.work((shape[0],), rows.dtype)
    steps.ask(Pick(ELEMENT, NO_CLASS, "none"), below, rows, target)
    share = steps.constant(-1.0, dtype)
    if weight:
        share = steps.work((shape[0],), weight[0].dtype)
        steps.ask(Pick(ELEMENT, NO_CLASS, "none"), share, weight[0].seen(weight[0].layout.expand(shape)), target)
        share = column(share)
    numbers = [steps.constant(float(number), dtype) for number in (scale_of(shape, reduction), margin, power)]
    arguments = (column(below), steps.positions(shape[1], 2, 1), column(target), share, *numbers)
    return [x.seen(x.layout.expand(shape)) for x in arguments]


def column(x: Value) -> Value:
    """Return a vector with one element per row as a column."""
    return x.seen(x.layout.unsqueeze(1))


def gradient(g, input, target, weight, *, power, margin, reduction):
    """Return the gradient of `margin_losses`: by its op, or in tensor code if it must be differentiable."""
    if not is_grad_enabled() and are_plain(g, input, target, weight):
        return margin_gradients(g, input, target, weight, power=power, margin=margin, reduction=reduction)
    gap, share, named = gaps(input, target, weight, margin)
    derivatives = share * where(gap > 0, 1.0 if power == 1 else 2.0 * gap, 0.0)
    derivatives = where(
        named, 0.0, derivatives * (unsqueeze(g, dim=1) if g.ndim else g) * scale_of(input.shape, reduction)
    )
    return where(named, -sum(derivatives, 1, True), derivatives)


@kernel(
    dtype=class_dtype,
    shape=lambda op, input, target, weight=None, *, reduction, **params: target.shape if reduction == "none" else (),
    namespace=(), out=False, label="multi_margin_loss",
    vjp=(gradient, None, None),
)  # fmt: skip
def margin_losses(steps, out, input: Tensor, target: Tensor, weight: Tensor | None = None, *, power, margin, reduction):
    """Return the loss of each row of scores, or their sum or mean; see `multi_margin_loss`.

    Gradient: for each class with an excess, g times the derivative of its term; for the named class, minus their sum.
    """
    wide = as_dtype(out.dtype.accumulator)
    arguments = terms_of(steps, steps.operands, wide, power, margin, reduction)
    dims, kept = ((1,), (input.shape[0], 1)) if reduction == "none" else ((0, 1), (1, 1))
    if reduction == "mean" and not input.layout.numel:
        steps.fill(out, math.nan)
        return steps.launch
    steps.ask(Reduce(EXCESSES, wide.compute, dims), out.seen(out.layout.view(kept)), input, *arguments)
    return steps.launch.within(ClassLimits(steps.backend, "multi_margin_loss", 1, target, input.shape[1], None))


@kernel(
    dtype=class_dtype, shape=lambda op, g, input, target, weight=None, **params: input.shape, vjp=None,
    linear=joint("g"), namespace=(), out=False, label="the gradient of multi_margin_loss",
)  # fmt: skip
def margin_gradients(
    steps, out, g: Tensor, input: Tensor, target: Tensor, weight: Tensor | None = None, *, power, margin, reduction
):
    """Return the gradient of `margin_losses` with respect to the scores."""
    head, wide = steps.operands[0], as_dtype(out.dtype.compute)
    arguments = terms_of(steps, steps.operands[1:], wide, power, margin, reduction)
    derivatives, total = steps.work(input.shape, wide), steps.work((input.shape[0], 1), wide)
    heads = column(head) if head.shape else head
    steps.each(EXCESS_DERIVATIVE, derivatives, heads, input, *arguments)
    steps.reducer(SUM, total, derivatives, (1,))
    steps.each(BALANCED, out, derivatives, total, *arguments[1:3])
    return steps.launch.within(ClassLimits(steps.backend, "multi_margin_loss", 2, target, input.shape[1], None))


def gaps(x: Tensor, target: Tensor, weight: Tensor | None, margin: float) -> tuple[Tensor, Tensor | float, Tensor]:
    """Return, in tensor code, the margin + each score - the named score, the weight of each row, and a mask.

    The mask is True at the named class of each row.
    """
    classes = existing_classes(target, name="multi_margin_loss", low=0, classes=x.shape[1])
    named = unsqueeze(classes, dim=1)
    share = 1.0 if weight is None else unsqueeze(index_select(weight, 0, classes), dim=1)
    return (
        margin - gather(x, 1, named) + x,
        share,
        reshape(arange(x.shape[1], device=x.device), (1, x.shape[1])) == named,
    )


# ---- public functions ------------------------------------------------------------------------------------------------


@composed()
def multi_margin_loss(
    input: Tensor, target: Tensor, p: Annotated[int, Choice(1, 2)] = 1, margin: Scalar = 1.0,
    weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return the sum of max(0, margin - input[target] + input[c])**p over all other classes c, divided by C.

    Shapes: the input is (C,) or (N, C), and the target is () or (N,).
    p: the exponent, 1 or 2.
    weight: a vector of length C; weight[target] is the factor of the loss of a row.
    Raises ArgumentError for another p.
    """
    name = "multi_margin_loss"
    reduction = named_reduction(name, reduction, size_average, reduce)
    shape = target.shape
    rows, target = expect_rows(name, input, target, input.shape[:-1])
    expect_shape(name, rows.shape[1:], "one element per class of", input, "pass one weight per class", weight=weight)
    if are_plain(rows, target, weight) and (weight is None or not derives(weight, is_grad_enabled())):
        loss = margin_losses(rows, target, weight, power=p, margin=margin, reduction=reduction)
        return loss if loss.shape == shape or not loss.ndim else reshape(loss, shape)
    gap, share, named = gaps(rows, target, weight, margin)
    gap = relu(gap)
    gap = share * (gap if p == 1 else gap * gap)
    return joined(reshape(mean(where(named, 0.0, gap), 1), shape), reduction)


@composed()
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """Return the sum of max(0, 1 - input[label] + input[c]) over all labels and all other classes c, divided by C.

    target: the labels of each row, in the shape of the input; -1 ends the list of labels.
    """
    name = "multilabel_margin_loss"
    reduction = named_reduction(name, reduction, size_average, reduce)
    rows, target = expect_rows(name, input, target, input.shape)
    target = target.reshape(rows.shape)
    target = existing_classes(target, name=name, low=-1, classes=rows.shape[1])
    there = cumprod(cast(target >= 0, dtype=int64), 1)
    label = target * there
    labelled = scatter_add(zeros_of(rows.shape, there), 1, label, there) > 0
    gap = relu(1.0 - gather(rows, 1, label).unsqueeze(2) + rows.unsqueeze(1))
    counts = (there > 0).unsqueeze(2) & (labelled == 0).unsqueeze(1)
    loss = sum(where(counts, gap, 0.0), (1, 2)) / max(rows.shape[1], 1)
    return joined(loss.reshape(input.shape[:-1]), reduction)


@composed()
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return the mean over classes of -target*log(sigmoid(input)) - (1 - target)*log(sigmoid(-input))."""
    reduction = named_reduction("multilabel_soft_margin_loss", reduction, size_average, reduce)
    loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    return joined(mean(loss if weight is None else loss * weight, -1), reduction)


def expect_rows(name: str, x: Tensor, target: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Return the scores as a matrix and the classes as an int64 vector.

    Raises ShapeError or DTypeError if they do not fit.
    """
    if x.ndim > 2 or (target.shape != shape and (shape, target.shape) != ((), (1,))):
        refuse_swapped(name, x, target)
        raise ShapeError(
            f"{name}: input must have at most 2 dims, and target the shape {shape}, got input {describe(x)} and "
            f"target {describe(target)}; reshape target"
        )
    if x.ndim and not x.shape[-1]:
        raise ShapeError(f"{name}: input must have at least one class, got {describe(x)}; pass one score per class")
    if not x.dtype.is_float or not target.dtype.is_int:
        refuse_swapped(name, x, target)
        raise DTypeError(
            f"{name}: input must have a floating dtype and target an integer dtype, got {describe(x)} and "
            f"{describe(target)}; convert input with .float() and target with .long()"
        )
    rows = x if x.ndim == 2 else x.reshape(1, x.numel())
    return rows, target.reshape(target.numel()).to(int64)


# ---- distances and similarities, and losses that compare them --------------------------------------------------------


BOTH = (MG, FUNCTIONAL)


@composed(namespace=BOTH)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: Annotated[float, Number(0)] = 1e-08) -> Tensor:
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
    short = p == 2 and not gap.dtype.is_complex
    return length(gap, (-1,), keepdim).to(gap.dtype) if short else norm(gap, p, -1, keepdim)


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
            f"got {', '.join(map(describe, (input1, input2, target)))}; reshape target"
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
