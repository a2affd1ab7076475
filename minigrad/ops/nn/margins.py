"""Margin losses for classification: the score of the correct class must exceed the other scores by a margin."""

from __future__ import annotations

from typing import Annotated

from minigrad.core.conditions import expect_shape
from minigrad.core.dtype import int64
from minigrad.core.roles import Choice, Scalar
from minigrad.declare.decorators import composed
from minigrad.errors import DTypeError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.indexing.gathering import gather, scatter_add, zeros_of
from minigrad.ops.nn.activation import log_sigmoid, relu
from minigrad.ops.nn.classes import existing_classes, refuse_swapped
from minigrad.ops.nn.loss import joined, named_reduction
from minigrad.ops.nn.margin_rows import gaps, margin_losses
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.scan import cumprod
from minigrad.ops.reduction.sums import mean, sum
from minigrad.ops.shape.views import reshape
from minigrad.runtime.operands import are_plain
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import derives


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
            f"target {describe(target)}; reshape target",
            op=name,
        )
    if not x.dtype.is_float or not target.dtype.is_int:
        refuse_swapped(name, x, target)
        raise DTypeError(
            f"{name}: input must have a floating dtype and target an integer dtype, got {describe(x)} and "
            f"{describe(target)}; convert input with .float() and target with .long()",
            op=name,
        )
    rows = x if x.ndim == 2 else x.reshape(1, x.numel())
    return rows, target.reshape(target.numel()).to(int64)
