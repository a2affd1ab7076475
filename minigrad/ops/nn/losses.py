"""Losses for classification: cross_entropy and nll_loss, for class indices and for probabilities.

If the targets are class indices, without weights or label smoothing, and the scores of a row are neighbours in memory,
the forward pass and the backward pass are one kernel each, which does not store log-probabilities.  The other cases are
composed of log_softmax and `minus_named`.  `softmax.py` has the row functions; `classes.py` has the ops for class
indices, and explains the `share` of a row.
"""

from __future__ import annotations

from typing import Annotated, Any

from minigrad.core.conditions import Ndim, expect_shape, expect_shapes
from minigrad.core.roles import Number
from minigrad.core.shape import as_int
from minigrad.declare.decorators import composed
from minigrad.declare.record import schema
from minigrad.declare.rows import picks
from minigrad.errors import ArgumentError, DTypeError, check
from minigrad.ops.indexing.gathering import gather
from minigrad.ops.linalg.products import linear
from minigrad.ops.nn import classes
from minigrad.ops.nn.loss import joined, named_reduction
from minigrad.ops.nn.softmax import LOG_SOFTMAX, SOFTMAX, log_softmax, softmax, softmax_gradient
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.sums import mean, sum, wide
from minigrad.ops.shape.views import expand, permute, unsqueeze
from minigrad.runtime.dispatch import number
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import derives

# ---- the loss of rows whose classes are neighbours in memory, in one kernel ------------------------------------------


def picked(x: Tensor, target: Tensor, counts: Tensor) -> Tensor:
    """Return the element of the last dim of x at the class of each row, and 0 where the row does not count."""
    named = where(counts, classes.wide_classes(target), 0)
    return where(counts, gather(x, x.ndim - 1, unsqueeze(named, dim=-1)).squeeze(-1), 0.0)


def gradient_of_loss(g: Tensor, x: Tensor, target: Tensor, ignore: int, reduction: str) -> Tensor:
    """Call the backward op of cross_entropy, which the decorator `picks` makes below."""
    return schema["cross_entropy_backward"].public(  # type: ignore[misc]
        g, x, target, ignore=ignore, reduction=reduction
    )


def tangent_of_loss(dx: Tensor, x: Tensor, target: Tensor, ignore: int, reduction: str) -> Tensor:
    """Return the tangent of the loss: the sum of dx times the gradient.

    The backward kernel computes the gradient if no derivative with respect to x is needed.
    """
    if not derives(x, is_grad_enabled()) and reduction != "none":
        return sum(gradient_of_loss(number(1.0, x.dtype, x.device), x, target, ignore, reduction) * dx)
    counts = classes.shares_of(target, ignore)
    rows = where(counts, sum(softmax(x, -1) * dx, -1), 0.0) - picked(dx, target, counts)
    return joined(rows, reduction, counts)


def tangent_of_gradient(v: Tensor, g: Tensor, x: Tensor, target: Tensor, ignore: int, reduction: str) -> Tensor:
    """Return the derivative of the gradient in the direction v: that of softmax, times g for each row that counts.

    This derivative is symmetric, so the function serves both modes.
    """
    v, g, x = wide(v), wide(g), wide(x)
    counts = classes.shares_of(target, ignore)
    v = v * unsqueeze(where(counts, g / sum(counts) if reduction == "mean" else g, 0.0), dim=target.ndim)
    p, recorded = softmax(x, -1), is_grad_enabled()
    if derives(v, recorded) or derives(p, recorded):
        return softmax_gradient(v, p, -1)
    return schema["softmax_backward"].public(v, p, dim=-1)  # type: ignore[misc]


@picks(
    LOG_SOFTMAX, backward=SOFTMAX, name="cross_entropy", namespace=(), dtype=classes.class_dtype,
    jvp=lambda dinput, input, target, *, ignore, reduction: tangent_of_loss(dinput, input, target, ignore, reduction),
    batch=lambda input, target, *, ignore, reduction: classes.loss_of_samples(
        cross_entropy_rows(input, target, ignore=ignore, reduction="none"), reduction, classes.shares_of(target, ignore)
    ),
    back_vjp=(
        lambda g0, input, target, *, ignore, reduction: tangent_of_loss(g0, input, target, ignore, reduction),
        lambda g0, g, input, target, *, ignore, reduction: tangent_of_gradient(g0, g, input, target, ignore, reduction),
        None,
    ),
    back_jvp=lambda dinput, g, input, target, *, ignore, reduction: tangent_of_gradient(
        dinput, g, input, target, ignore, reduction
    ),
    back_batch=lambda g, input, target, *, ignore, reduction: gradient_of_loss(
        classes.gradient_of_rows(g, reduction, classes.shares_of(target, ignore)), input, target, ignore, "none"
    ),
)  # fmt: skip
def cross_entropy_rows(input, target, *, ignore, reduction):
    """Return -log_softmax(input) at the class of each row, after the reduction.

    Gradient: g times softmax(input), minus g at the class.
    """
    counts = classes.shares_of(target, ignore)
    return joined(-picked(log_softmax(input, -1), target, counts), reduction, counts)


# ---- the public forms -----------------------------------------------------------------------------------------------


@composed(of=cross_entropy_rows)
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
    label_smoothing: Annotated[float, Number(0, 1, example=0.1)] = 0.0,
) -> Tensor:  # fmt: skip
    """Return the cross entropy of softmax(input) and the target along the class dim.

    Shapes: the input is (C,), (N, C) or (N, C, d1, ...). The target contains class indices in the same shape without
    C, or probabilities in the shape of the input.
    reduction: "none", "sum" or "mean". For class indices, a mean is divided by the sum of the weights of the classes
    that count; for probabilities, it is divided by the number of rows.
    size_average, reduce: PyTorch's older forms of `reduction`.
    Gradient: for input, without weights, g*(softmax(input) - target), with a class index as a one-hot vector.
    Raises IndexOutOfRange for a class that does not exist.
    """
    reduction = named_reduction("cross_entropy", reduction, size_average, reduce)
    x, dim = expect_scores("cross_entropy", input, target, weight)
    ignore = as_int(ignore_index, "ignore_index", "cross_entropy")
    smooth = float(label_smoothing)
    if target.shape == x.shape and target.dtype.is_float:
        text = "cross_entropy: ignore_index must be negative for probabilities ", describe(target), ", got ", ignore
        check(ignore < 0, ArgumentError, *text, "; leave it out")
        return loss_of_probabilities(x, target, weight, reduction, smooth, dim)
    expect_classes("cross_entropy", x, target, dim)
    # The classes of (N, C, d1, ...) are not neighbours in memory.
    if weight is None and smooth == 0.0 and (abs(x.layout.strides[dim]) <= 1 or x.dtype.itemsize < 4):
        rows = x if dim == x.ndim - 1 else permute(x, dims=(*(d for d in range(x.ndim) if d != dim), dim))
        return cross_entropy_rows(rows, target, ignore=ignore, reduction=reduction)
    logs = log_softmax(x, dim)
    if smooth == 0.0:
        return nll_loss(logs, target, weight, ignore_index=ignore, reduction=reduction)
    if weight is None:
        even = expand(mean(logs, dim, keepdim=True), shape=logs.shape)
        parts = [nll_loss(each, target, ignore_index=ignore, reduction=reduction) for each in (logs, even)]
        return parts[0] * (1.0 - smooth) + parts[1] * smooth
    loss, share = classes.weighted_loss(logs, target, weight, dim, ignore)
    spread = -mean(logs * along_classes(weight, logs, dim), dim)
    loss = loss * (1.0 - smooth) + where(classes.shares_of(target, ignore), spread, 0.0) * smooth
    return joined(loss, reduction, share)


@composed()
def linear_cross_entropy(
    input: Annotated[Tensor, Ndim(1, 2)], linear_weight: Annotated[Tensor, Ndim(least=2)], target: Tensor, *,
    linear_bias: Tensor | None = None, weight: Tensor | None = None, reduction: str = "mean",
    ignore_index: int | None = None, label_smoothing: Annotated[float, Number(0, 1, example=0.1)] = 0.0,
    options: Any = None,
) -> Tensor:  # fmt: skip
    """Return the cross entropy of the target and the logits of a linear layer; see `linear` and `cross_entropy`.

    Shapes: the input is (in_features,) or (N, in_features), the weight (C, in_features), or (C, d1, ..., in_features)
    for an input with N, and the bias has the shape of the weight without in_features.
    ignore_index: -100 if None.
    options: accepted without effect; PyTorch's options divide the batch into parts to save memory.
    Gradient: for input, weight and bias, that of `linear` after that of `cross_entropy`.
    """
    name, (C, *dims, _), batch = "linear_cross_entropy", linear_weight.shape, input.shape[:-1]
    advice = "pass the weight of a Linear layer with this input"
    expect_shapes(name, advice, "..., k; ..., k", input=input, linear_weight=linear_weight)
    expect_shape(name, (C, *dims), "that of linear_weight", linear_weight, linear_bias=linear_bias)
    if dims:
        Ndim(2, layout="(batch, in_features)").expect(name, input=input)
    flat = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight.reshape(-1, linear_weight.shape[-1]), flat).reshape(*batch, C, *dims)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


@composed()
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return minus the log-probability in `input` at the class in `target`, for each row.

    Shapes, reductions and errors are those of `cross_entropy` with class indices.
    """
    reduction = named_reduction("nll_loss", reduction, size_average, reduce)
    x, dim = expect_scores("nll_loss", input, target, weight)
    ignore = as_int(ignore_index, "ignore_index", "nll_loss")
    if weight is None or not derives(weight, is_grad_enabled()):
        return classes.minus_named(x, target, weight, dim=dim, ignore=ignore, reduction=reduction)
    expect_classes("nll_loss", x, target, dim)
    loss, share = classes.weighted_loss(x, target, weight, dim, ignore)
    return joined(loss, reduction, share)


def expect_scores(name: str, x: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, int]:
    """Run the checks that both losses share, and return x and its class dim."""
    Ndim(least=1, advice="pass scores of shape (N, C) or (C,)").expect(name, input=x)
    if not x.dtype.is_float:
        classes.refuse_swapped(name, x, target)
        raise DTypeError(
            f"{name}: input must have a floating dtype, got {describe(x)}; convert it with .to(mg.float32)"
        )
    dim = 0 if x.ndim == 1 else 1
    expect_shape(name, (x.shape[dim],), "one element per class of", x, "pass one weight per class", weight=weight)
    return x, dim


def expect_classes(name: str, x: Tensor, target: Tensor, dim: int) -> None:
    """Raise DTypeError or ShapeError unless the target has one class index per row of x."""
    if not target.dtype.is_int:
        classes.refuse_swapped(name, x, target)
        raise DTypeError(
            f"{name}: target must contain class indices of an integer dtype, got {describe(target)} for input "
            f"{describe(x)}; convert target with .long()"
        )
    wanted = (*x.shape[:dim], *x.shape[dim + 1 :])
    expect_shape(
        name, wanted, f"without the class dim {dim} of input", x, "pass one class index per row", target=target
    )


def loss_of_probabilities(
    x: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smooth: float, dim: int
) -> Tensor:
    """Return the cross entropy for a target of probabilities; a mean is divided by the number of rows."""
    logs = log_softmax(x, dim)
    if weight is not None:
        logs = logs * along_classes(weight, logs, dim)
    if smooth:
        target = target * (1.0 - smooth) + smooth / x.shape[dim]
    return joined(-sum(logs * target, dim), reduction)


def along_classes(weight: Tensor, x: Tensor, dim: int) -> Tensor:
    """Return the weights of the classes, expanded to the shape of x."""
    return expand(weight.reshape(*(weight.shape[0] if d == dim else 1 for d in range(x.ndim))), shape=x.shape)
