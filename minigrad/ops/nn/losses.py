"""Losses for classification: cross_entropy and nll_loss, for class indices and for probabilities.

If the targets are class indices, without weights or label smoothing, and the scores of a row are neighbours in memory,
the forward pass and the backward pass are one kernel each, which does not store log-probabilities.  The other cases are
composed of log_softmax and `minus_named`.  `softmax.py` has the row functions, and `classes.py` has the ops for class
indices.
"""

from __future__ import annotations

from typing import Annotated

from minigrad.core.conditions import Ndim, expect_shape
from minigrad.core.roles import Number
from minigrad.core.shape import as_int
from minigrad.declare.decorators import composed
from minigrad.declare.record import schema
from minigrad.declare.rows import picks
from minigrad.errors import DTypeError
from minigrad.ops.casting import cast
from minigrad.ops.indexing.gathering import gather
from minigrad.ops.nn.classes import (
    class_dtype,
    class_shares,
    gradient_batch,
    loss_batch,
    minus_named,
    refuse_swapped,
    wide_classes,
)
from minigrad.ops.nn.loss import joined, named_reduction, weighted_mean
from minigrad.ops.nn.softmax import LOG_SOFTMAX, SOFTMAX, log_softmax, softmax, softmax_gradient
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.sums import mean, sum, wide
from minigrad.ops.shape.views import expand, permute, unsqueeze
from minigrad.runtime.dispatch import number
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import derives


def _picked(logs: Tensor, target: Tensor, ignore: int, dim: int) -> tuple[Tensor, Tensor]:
    """Return the element of `logs` at the class of each row, 0 for an ignored class, and a mask of rows that count."""
    target = wide_classes(target)
    counts = target != ignore
    classes = where(counts, target, 0)
    return where(counts, gather(logs, dim, unsqueeze(classes, dim=dim)).squeeze(dim), 0.0), counts


def _cross_batch(x: Tensor, target: Tensor, ignore: int, reduction: str) -> Tensor:
    """Return the loss of each sample of a batch: the losses of all rows, reduced over the rows of each sample."""
    return loss_batch(cross_entropy_rows(x, target, ignore=ignore, reduction="none"), target, ignore, reduction)


def _backward_op(g: Tensor, x: Tensor, target: Tensor, ignore: int, reduction: str) -> Tensor:
    """Call the backward op of cross_entropy, which the decorator `picks` makes below."""
    result: Tensor = schema["cross_entropy_backward"].public(  # type: ignore[misc]
        g, x, target, ignore=ignore, reduction=reduction
    )
    return result


def _cross_back_batch(g: Tensor, x: Tensor, target: Tensor, ignore: int, reduction: str) -> Tensor:
    """Return the gradient of each sample of a batch, from the incoming gradient of each sample."""
    return _backward_op(gradient_batch(g, target, ignore, reduction), x, target, ignore, "none")


def _cross_tangent(dx: Tensor, x: Tensor, target: Tensor, ignore: int, reduction: str) -> Tensor:
    """Return the tangent of the loss: the sum of dx times the gradient.

    The backward kernel computes the gradient if no derivative with respect to x is needed.
    """
    if not derives(x, is_grad_enabled()) and reduction != "none":
        return sum(_backward_op(number(1.0, x.dtype, x.device), x, target, ignore, reduction) * dx)
    picked, counts = _picked(dx, target, ignore, x.ndim - 1)
    rows = where(counts, sum(softmax(x, -1) * dx, -1), 0.0) - picked
    return _reduced(rows, cast(counts, dtype=x.dtype), reduction)


def _cross_bend(v: Tensor, g: Tensor, x: Tensor, target: Tensor, ignore: int, reduction: str) -> Tensor:
    """Return the derivative of the gradient in the direction v: that of softmax, times g for each row that counts.

    This derivative is symmetric, so the function serves both modes.
    """
    v, g, x = wide(v), wide(g), wide(x)
    counts = wide_classes(target) != ignore
    share = g / sum(counts) if reduction == "mean" else g
    p = softmax(x, -1)
    v = v * unsqueeze(where(counts, share, 0.0), dim=target.ndim)
    recorded = is_grad_enabled()
    if derives(v, recorded) or derives(p, recorded):
        return softmax_gradient(v, p, -1)
    result: Tensor = schema["softmax_backward"].public(v, p, dim=-1)  # type: ignore[misc]
    return result


@picks(
    LOG_SOFTMAX, backward=SOFTMAX, name="cross_entropy", namespace=(), dtype=class_dtype,
    jvp=lambda dinput, input, target, *, ignore, reduction: _cross_tangent(dinput, input, target, ignore, reduction),
    batch=lambda input, target, *, ignore, reduction: _cross_batch(input, target, ignore, reduction),
    back_vjp=(
        lambda g0, input, target, *, ignore, reduction: _cross_tangent(g0, input, target, ignore, reduction),
        lambda g0, g, input, target, *, ignore, reduction: _cross_bend(g0, g, input, target, ignore, reduction),
        None,
    ),
    back_jvp=lambda dinput, g, input, target, *, ignore, reduction: _cross_bend(
        dinput, g, input, target, ignore, reduction
    ),
    back_batch=lambda g, input, target, *, ignore, reduction: _cross_back_batch(g, input, target, ignore, reduction),
)  # fmt: skip
def cross_entropy_rows(input, target, *, ignore, reduction):
    """Return -log_softmax(input) at the class of each row, after the reduction.

    Gradient: g times softmax(input), minus g at the class.
    """
    picked, counts = _picked(log_softmax(input, -1), target, ignore, input.ndim - 1)
    return _reduced(-picked, cast(counts, dtype=input.dtype), reduction)


# ---- the public forms -----------------------------------------------------------------------------------------------


@composed(of=cross_entropy_rows)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: Annotated[float, Number(0, 1, example=0.1)] = 0.0,
) -> Tensor:
    """Return the cross entropy of softmax(input) and the target along the class dim.

    Shapes: the input is (C,), (N, C) or (N, C, d1, ...). The target contains class indices in the same shape without
    C, or probabilities in the shape of the input.
    reduction: "none", "sum" or "mean". For class indices, a mean is divided by the sum of the weights of the classes
    that count; for probabilities, it is divided by the number of rows.
    size_average, reduce: PyTorch's older forms of `reduction`.
    label_smoothing: the share of the target that is distributed evenly over all classes.
    Gradient: for input, without weights, g*(softmax(input) - target), with a class index as a one-hot vector.
    Raises IndexOutOfRange for a class that does not exist.
    """
    reduction = named_reduction("cross_entropy", reduction, size_average, reduce)
    x, dim = _expect_loss("cross_entropy", input, target, weight)
    ignore = as_int(ignore_index, "ignore_index", "cross_entropy")
    smooth = float(label_smoothing)
    if target.shape == x.shape and target.dtype.is_float:
        return _probability_loss(x, target, weight, reduction, smooth, dim)
    _expect_classes("cross_entropy", x, target, dim)
    # The classes of (N, C, d1, ...) are not neighbours in memory.
    if weight is None and smooth == 0.0 and (abs(x.layout.strides[dim]) <= 1 or x.dtype.itemsize < 4):
        rows = x if dim == x.ndim - 1 else permute(x, dims=(*(d for d in range(x.ndim) if d != dim), dim))
        return cross_entropy_rows(rows, target, ignore=ignore, reduction=reduction)
    logs = log_softmax(x, dim)
    if smooth == 0.0:
        loss: Tensor = nll_loss(logs, target, weight, ignore_index=ignore, reduction=reduction)
        return loss
    if weight is None:
        even = expand(mean(logs, dim, keepdim=True), shape=logs.shape)
        parts = [nll_loss(each, target, ignore_index=ignore, reduction=reduction) for each in (logs, even)]
        return parts[0] * (1.0 - smooth) + parts[1] * smooth
    loss, share = _class_loss(logs, target, weight, ignore, dim)
    spread = -mean(logs * _along_classes(weight, logs, dim), dim)
    loss = loss * (1.0 - smooth) + where(wide_classes(target) == ignore, 0.0, spread) * smooth
    return _reduced(loss, share, reduction)


@composed()
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return minus the log-probability in `input` at the class in `target`, for each row.

    Shapes, reductions and errors are those of `cross_entropy` with class indices.
    """
    reduction = named_reduction("nll_loss", reduction, size_average, reduce)
    x, dim = _expect_loss("nll_loss", input, target, weight)
    ignore = as_int(ignore_index, "ignore_index", "nll_loss")
    if weight is None or not derives(weight, is_grad_enabled()):
        return minus_named(x, target, weight, dim=dim, ignore=ignore, reduction=reduction)
    _expect_classes("nll_loss", x, target, dim)
    return _reduced(*_class_loss(x, target, weight, ignore, dim), reduction)


def _expect_loss(name: str, x: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, int]:
    """Run the checks that both losses share, and return x and its class dim."""
    Ndim(least=1, advice="pass scores of shape (N, C) or (C,)").expect(name, input=x)
    if not x.dtype.is_float:
        refuse_swapped(name, x, target)
        raise DTypeError(
            f"{name}: input must have a floating dtype, got {describe(x)}; convert it with .to(mg.float32)", op=name
        )
    dim = 0 if x.ndim == 1 else 1
    expect_shape(name, (x.shape[dim],), "one element per class of", x, "pass one weight per class", weight=weight)
    return x, dim


def _expect_classes(name: str, x: Tensor, target: Tensor, dim: int) -> None:
    if not target.dtype.is_int:
        refuse_swapped(name, x, target)
        raise DTypeError(
            f"{name}: target must contain class indices of an integer dtype, got {describe(target)} for input "
            f"{describe(x)}; convert target with .long()"
        )
    wanted = (*x.shape[:dim], *x.shape[dim + 1 :])
    expect_shape(
        name, wanted, f"without the class dim {dim} of input", x, "pass one class index per row", target=target
    )


def _class_loss(logs: Tensor, target: Tensor, weight: Tensor, ignore: int, dim: int) -> tuple[Tensor, Tensor]:
    """Return the loss of each row and its weight in a mean; both are 0 for a row that does not count."""
    share = class_shares(weight, target, logs.shape, dim, ignore)
    return minus_named(logs, target, dim=dim, ignore=ignore, reduction="none") * share, share


def _probability_loss(
    x: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smooth: float, dim: int
) -> Tensor:
    """Return the cross entropy for a target of probabilities; a mean is divided by the number of rows."""
    logs = log_softmax(x, dim)
    if weight is not None:
        logs = logs * _along_classes(weight, logs, dim)
    if smooth:
        target = target * (1.0 - smooth) + smooth / x.shape[dim]
    loss = -sum(logs * target, dim)
    return joined(loss, reduction)


def _along_classes(weight: Tensor, x: Tensor, dim: int) -> Tensor:
    """Return the weights of the classes, expanded to the shape of x."""
    return expand(weight.reshape(*(weight.shape[0] if d == dim else 1 for d in range(x.ndim))), shape=x.shape)


def _reduced(loss: Tensor, share: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return loss
    return weighted_mean(loss, share) if reduction == "mean" else sum(loss)
