"""Class indices: their checks, and the op that reads the element of the class in each row, with its adjoint.

`losses.py` uses these ops.  A row whose class is ignored contributes 0, and a mean is over the rows that count.  The
`share` of a row in a mean is the weight of its class, and 0 for an ignored class; without weights, it is True or False.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.launch import as_launch
from minigrad.backends.limits import ClassLimits
from minigrad.core.conditions import expect_shape
from minigrad.core.dtype import DType, int64
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Bounds, Pick, Unpick
from minigrad.core.rows import RowFn
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import common, index_dtype, joint, refuse, same_shape
from minigrad.errors import DTypeError
from minigrad.kernels.scalar import formula
from minigrad.ops.casting import cast
from minigrad.ops.nn.loss import joined
from minigrad.ops.reduction.sums import sum, wide
from minigrad.ops.shape.views import expand, reshape
from minigrad.runtime.tensor import Tensor

NO_CLASS = -(2**63)  # the ignored index of a `Pick` or `Unpick` that ignores no row: the lowest int64


def class_dtype(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    """Return the promoted dtype of the operands except `target`, which contains the classes and must be integer."""
    at = op.operands.index("target")
    target, floats = specs[at], (*specs[:at], *specs[at + 1 :])
    if not target.dtype.is_int:
        refuse_swapped(op.label, specs[at - 1], target)
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
            f"input {input.dtype}{input.shape} and target {target.dtype}{target.shape}; pass the scores first"
        )


@kernel(
    dtype=index_dtype, shape=same_shape, namespace=(), label="class indices",
    batch="front",
)  # fmt: skip
def existing_classes(steps, out, target: Tensor, *, name, low, classes):
    """Return class indices in int64.

    The launch raises IndexOutOfRange for an index that is not from `low` to `classes` - 1.

    name: the name of the function, for the message.
    low: 0, or -1 if the index -1 is allowed and stands for no class.
    """
    if target.layout.numel:
        bounds = steps.work((2,), int64)
        steps.ask(Bounds(), bounds, target)
        steps.check(bounds, low, classes - 1)
    steps.copy(out, target)
    return steps.launch.within(ClassLimits(steps.backend, name, 0, target, classes, low if low < 0 else None))


def wide_classes(target: Tensor) -> Tensor:
    """Return the class indices in int64, because a narrower dtype may not be able to represent the ignored class."""
    return target if target.dtype is int64 else cast(target, dtype=int64)


def shares_of(
    target: Tensor, ignore: int, weight: Tensor | None = None, shape: tuple[int, ...] = (), dim: int = 0
) -> Tensor:
    """Return the share of each row in a mean.

    weight: one element per class, the dim `dim` of the rows; also in front of it the batch dim of `shape`, which is the
    shape of the rows.
    """
    if weight is None:
        return wide_classes(target) != ignore
    ones = tuple(1 for _ in shape[dim + 1 :])
    lead = (shape[0], *(1 for _ in shape[1:dim])) if weight.ndim == 2 else tuple(1 for _ in shape[:dim])
    spread = expand(reshape(weight, (*lead, shape[dim], *ones)), shape=shape)
    return -minus_named(spread, target, dim=dim, ignore=ignore, reduction="none")


# ---- batches of `vmap`: the rows of a sample are reduced over all dims except the first ------------------------------


def loss_of_samples(loss: Tensor, reduction: str, share: Tensor) -> Tensor:
    """Return the loss of each sample from the losses of its rows."""
    return joined(loss, reduction, share, tuple(range(1, share.ndim)))


def gradient_of_rows(g: Tensor, reduction: str, share: Tensor) -> Tensor:
    """Return the gradients of the losses of rows from those of the samples: the adjoint of `loss_of_samples`."""
    if reduction == "none":
        return g
    own = tuple(range(1, share.ndim))
    if reduction == "mean":
        g = g / sum(wide(share), own)
    return expand(reshape(g, (g.shape[0], *(1 for _ in own))), shape=share.shape)


# ---- the elements that classes select -------------------------------------------------------------------------------


ELEMENT = RowFn("element", ("input",), (), formula("itself(input)", "input"))


def named_shape(
    op: Op, input: Spec, target: Spec, weight: Spec | None = None, *, dim: int, ignore: int, reduction: str
) -> tuple[int, ...]:
    """Return the shape of the result: one value per row, or a single value for all rows."""
    wanted = (*input.shape[:dim], *input.shape[dim + 1 :])
    expect_shape(
        op.label, wanted, f"without the class dim {dim} of input", input, "pass one class index per row", target=target
    )
    return target.shape if reduction == "none" else ()


def _loss_batch(x: Tensor, target: Tensor, weight: Tensor | None, dim: int, ignore: int, reduction: str) -> Tensor:
    """Return `minus_named` for each sample of a batch; `dim` is the class dim of a batch."""
    loss, share = weighted_loss(x, target, weight, dim, ignore)
    return loss_of_samples(loss, reduction, share)


def weighted_loss(x: Tensor, target: Tensor, weight: Tensor | None, dim: int, ignore: int) -> tuple[Tensor, Tensor]:
    """Return the loss of each row and its share in a mean, in tensor code that a gradient of the weight may cross."""
    loss = minus_named(x, target, dim=dim, ignore=ignore, reduction="none")
    share = shares_of(target, ignore, weight, x.shape, dim)
    return loss if weight is None else loss * share, share


def _gradient_batch(
    g: Tensor, target: Tensor, weight: Tensor | None, shape: tuple[int, ...], dim: int, ignore: int, reduction: str
) -> Tensor:
    """Return `named_gradient` for each sample of a batch; `shape` and `dim` are those of a batch."""
    share = shares_of(target, ignore, weight, shape, dim)
    g = gradient_of_rows(g, reduction, share)
    g = g if weight is None else g * share
    return named_gradient(g, target, shape=shape, dim=dim, ignore=ignore, reduction="none")


@kernel(
    dtype=class_dtype, shape=named_shape, linear=joint("input"), namespace=(), label="nll_loss",
    vjp=(
        lambda g, target, weight, *, input_shape, **more: named_gradient(g, target, weight, shape=input_shape, **more),
        None, None,
    ),
    batch=lambda input, target, weight, *, dim, ignore, reduction: _loss_batch(
        input, target, weight, dim + 1, ignore, reduction
    ),
)  # fmt: skip
def minus_named(backend, out, input: Tensor, target: Tensor, weight: Tensor | None = None, *, dim, ignore, reduction):
    """Return minus the element of the class `target` in each row along `dim`, and 0 where the class is `ignore`.

    weight: one factor per class, for the elements of this class; no gradient reaches it.
    reduction: "none" for one value per row, "sum", or "mean" over the rows that count, weighted by their factors.
    Gradient: -g at the selected elements, and 0 elsewhere, times the factors; for a mean, divided by their sum, or by
    the number of rows that count.
    """
    more = () if weight is None else (weight,)
    made = backend.prepare(Pick(ELEMENT, ignore, reduction), out, class_last(input, dim), target, *more)
    launch = as_launch(made, 3 + len(more), "nll_loss")
    return launch.within(ClassLimits(backend, "nll_loss", 1, target, input.shape[dim], ignore))


@kernel(
    dtype=class_dtype, shape=lambda op, g, target, weight=None, *, shape, **params: shape, linear=joint("g"),
    namespace=(), label="nll_loss_backward",
    vjp=(lambda g0, target, weight, *, shape, **params: minus_named(g0, target, weight, **params), None, None),
    batch=lambda g, target, weight, *, shape, dim, ignore, reduction, batch: _gradient_batch(
        g, target, weight, (batch, *shape), dim + 1, ignore, reduction
    ),
)  # fmt: skip
def named_gradient(
    backend, out, g: Tensor, target: Tensor, weight: Tensor | None = None, *, shape, dim, ignore, reduction
):
    """Return -g at the element of the class `target` in each row along `dim`, 0 elsewhere: minus_named's adjoint."""
    more = () if weight is None else (weight,)
    made = backend.prepare(Unpick(ignore, reduction), class_last(out, dim), g, target, *more)
    launch = as_launch(made, 3 + len(more), "nll_loss_backward")
    return launch.within(ClassLimits(backend, "nll_loss_backward", 1, target, out.shape[dim], ignore))


def class_last(x: Spec, dim: int) -> Spec:
    """Return a Spec of the same memory whose last dim is the class dim."""
    return Spec(x.layout.permute((*[d for d in range(len(x.shape)) if d != dim], dim)), x.dtype)
