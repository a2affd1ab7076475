"""Class indices: their checks, and the op that reads the element of the class in each row, with its adjoint.

`losses.py` uses these ops.  A row whose class is ignored contributes 0, and a mean is over the rows that count.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.launch import as_launch
from minigrad.backends.limits import ClassLimits, IndexLimits, no_class, wrong_classes
from minigrad.backends.lowering.functions import CHOSEN, EQUAL, PICKED_GRADIENT, QUOTIENT
from minigrad.backends.lowering.rows import counted
from minigrad.backends.steps import Steps, viewed
from minigrad.core.dtype import DType, bool_, float64, int64
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Pick, ScatterAdd
from minigrad.core.rows import RowFn
from minigrad.declare.decorators import kernel, scalar
from minigrad.declare.rules import common, joint, refuse
from minigrad.errors import DTypeError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.reduction.sums import sum, wide
from minigrad.ops.shape.views import expand, reshape
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor


def class_dtype(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    """Return the promoted dtype of the operands except the last, which contains the classes and must be integer."""
    *floats, target = specs
    if not target.dtype.is_int:
        refuse_swapped(op.label, floats[-1], target)
        raise refuse(
            op, specs, "target must contain class indices of an integer dtype; convert target with .to(mg.int64)"
        )
    dtype = common(floats)
    if not dtype.is_float:
        raise refuse(op, specs, "input must have a floating dtype; convert it with .to(mg.float32)")
    return dtype


def refuse_swapped(name: str, input: Any, target: Any) -> None:
    """Raise DTypeError if the operands of a loss seem to be swapped; called only for operands that are wrong.

    input, target: tensors or Specs.
    """
    if target.dtype.is_float and (not input.dtype.is_float or len(target.shape) > len(input.shape)):
        raise DTypeError(
            f"{name}: are input and target swapped? input must contain the scores and target the class indices, got "
            f"input {input.dtype}{input.shape} and target {target.dtype}{target.shape}; pass the scores first",
            op=name,
        )


def check_classes(name: str, target: Tensor, classes: int, ignore: int | None = None) -> None:
    """Raise IndexOutOfRange for a class that is outside 0 to `classes` - 1 and is not ignored."""
    wrong = wrong_classes(host_array(target), classes, ignore)
    if wrong:
        raise no_class(name, wrong, Spec(target.layout, target.dtype), classes, ignore)


def wide_classes(target: Tensor) -> Tensor:
    """Return the class indices in int64, because a narrower dtype may not be able to represent the ignored class."""
    return target if target.dtype is int64 else cast(target, dtype=int64)


# ---- batches --------------------------------------------------------------------------------------------------------


def loss_batch(loss: Tensor, target: Tensor, ignore: int, reduction: str) -> Tensor:
    """Reduce the losses of rows for each sample of a batch; each sum or mean is over the rows of one sample."""
    own = tuple(range(1, target.ndim))
    if reduction == "none" or (reduction == "sum" and not own):
        return loss
    if reduction == "sum":
        return sum(loss, own)
    return (sum(wide(loss), own) / counted_classes(target, ignore, own)).to(loss.dtype)


def gradient_batch(g: Tensor, target: Tensor, ignore: int, reduction: str) -> Tensor:
    """Return the gradients of the losses of rows, from the gradient of the reduced loss of each sample of a batch."""
    if reduction == "none":
        return g
    own = tuple(range(1, target.ndim))
    if reduction == "mean":
        g = g / counted_classes(target, ignore, own)
    return expand(reshape(g, (g.shape[0], *(1 for _ in own))), shape=target.shape)


def counted_classes(target: Tensor, ignore: int, dims: tuple[int, ...]) -> Tensor:
    """Return the number of rows that count, for each sample of a batch; an integer, since float16 ends at 65504."""
    return sum(wide_classes(target) != ignore, dims)


# ---- the elements that classes select -------------------------------------------------------------------------------


@scalar
def _itself(input):
    return input


ELEMENT = RowFn("element", ("input",), (), _itself)


def named_shape(op: Op, input: Spec, target: Spec, *, dim: int, ignore: int, reduction: str) -> tuple[int, ...]:
    """Return the shape of the result: one value per row, or a single value for all rows."""
    if target.shape != (*input.shape[:dim], *input.shape[dim + 1 :]):
        raise ShapeError(
            f"{op.label}: target must have the shape of input {input!r} without the class dim {dim}, got {target!r}; "
            "pass one class index per row"
        )
    return target.shape if reduction == "none" else ()


@kernel(
    dtype=class_dtype, shape=named_shape, linear=joint("input"), namespace=(), label="nll_loss",
    vjp=(
        lambda g, target, *, input_shape, **params: named_gradient(g, target, shape=input_shape, **params),
        None,
    ),
    batch=lambda input, target, *, dim, ignore, reduction, batch: loss_batch(
        minus_named(input, target, dim=dim + 1, ignore=ignore, reduction="none"), target, ignore, reduction
    ),
)  # fmt: skip
def minus_named(backend, out, input: Tensor, target: Tensor, *, dim, ignore, reduction):
    """Return minus the element of the class `target` in each row along `dim`, and 0 where the class is `ignore`.

    reduction: "none" for one value per row, "sum", or "mean" over the rows that count.
    Gradient: -g at the selected elements, and 0 elsewhere; for a mean, divided by the number of rows that count.
    """
    d = len(input.shape) - 1
    rows = input.layout.permute((*[k for k in range(d + 1) if k != dim], dim))
    made = backend.prepare(Pick(ELEMENT, ignore, reduction), out, Spec(rows, input.dtype), target)
    return as_launch(made, 3, "nll_loss").within(ClassLimits(backend, "nll_loss", 1, target, input.shape[dim], ignore))


@kernel(
    dtype=class_dtype, shape=lambda op, g, target, *, shape, **params: shape, linear=joint("g"), namespace=(),
    label="nll_loss_backward",
    vjp=(lambda g0, target, *, shape, **params: minus_named(g0, target, **params), None),
    batch=lambda g, target, *, shape, dim, ignore, reduction, batch: named_gradient(
        gradient_batch(g, target, ignore, reduction), target, shape=(batch, *shape), dim=dim + 1, ignore=ignore,
        reduction="none",
    ),
)  # fmt: skip
def named_gradient(backend, out, g: Tensor, target: Tensor, *, shape, dim, ignore, reduction):
    """Return -g at the element of the class `target` in each row along `dim`, 0 elsewhere: minus_named's adjoint."""
    steps = Steps(backend, (out,), (g, target))
    (result,), (head, chosen) = steps.outs, steps.operands
    ignored, index = steps.work(target.shape, bool_), steps.work(target.shape, int64)
    added, share = steps.work(target.shape, out.dtype), steps.constant(1.0, float64)
    zero = steps.constant(0, out.dtype)
    steps.each(EQUAL, ignored, chosen, steps.constant(ignore, int64), compute=int64.compute)
    steps.each(CHOSEN, index, ignored, steps.constant(0, int64), chosen)
    if reduction == "mean":
        share = steps.work((), float64)
        steps.each(QUOTIENT, share, steps.constant(1.0, float64), viewed(counted(steps, ignored), ()))
    steps.each(PICKED_GRADIENT, added, zero, steps.constant(1, out.dtype), ignored, head, share)
    spread = [x.seen(x.layout.unsqueeze(dim)) for x in (index, added)]
    steps.ask(ScatterAdd(dim), result, zero.seen(Layout.contiguous(()).expand(shape)), *spread)
    return steps.launch.within(IndexLimits(backend, "nll_loss_backward", 1, target, out, dim))
