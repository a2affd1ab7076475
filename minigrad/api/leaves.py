"""Convert a tensor to a leaf and back, in place: requires_grad_, detach_, .data.

Var is a subclass of Tensor.  To make a tensor without history a leaf in place, as in PyTorch's
`(mg.randn(3) * 0.1).requires_grad_()`, its class is changed to Var.
"""

from __future__ import annotations

from typing import Any

from minigrad.core.storage import ConstantStorage
from minigrad.errors import DTypeError, GradientError, StorageError
from minigrad.ops.indexing.assignment import set_value
from minigrad.runtime.changes import changes
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.rebasing import current
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer
from minigrad.runtime.var import Var


def requires_grad_(x: Tensor, requires_grad: bool = True) -> Tensor:
    """Make x a leaf that requires a gradient, in place; with False, make it a constant.  Return x.

    Existing views of x stay constants.
    Raises DTypeError if x is not a float tensor, StorageError for a constant of the program that other results share,
    and GradientError inside a transform, or for requires_grad=False on the result of a recorded op.
    """
    if bool(requires_grad) == x.requires_grad:
        return x
    if isinstance(x, Tracer):
        raise GradientError(
            f"requires_grad_: {describe(x)} belongs to a transform, which controls its gradient; call "
            "requires_grad_() outside the transform",
            op="requires_grad_",
        )
    if requires_grad:
        become_leaf(x)
    elif x.is_variable:
        x.__class__ = Tensor
        changes.count += 1  # the tensor may be a parameter of a module
    else:
        raise GradientError(
            f"requires_grad_: requires_grad=False is allowed for leaves only, got {describe(x)}, the result of "
            f"{current(x).name}; use x.detach()",
            op="requires_grad_",
        )
    return x


def become_leaf(x: Any) -> None:
    """Make a tensor without history a Var; a former Var keeps its gradient and its name."""
    if not x.dtype.is_float:
        raise DTypeError(
            f"requires_grad_: expected a tensor with a floating dtype, got {describe(x)}; convert it with "
            ".to(mg.float32) first",
            op="requires_grad_",
        )
    if isinstance(x.storage, ConstantStorage):
        raise StorageError(
            f"requires_grad_: {describe(x)} is a constant whose memory other results share; call requires_grad_() on "
            "x.clone()",
            op="requires_grad_",
        )
    changes.count += hasattr(x, "_grad")  # a former Var: a module may list it among its parameters
    x._grad, x.name = getattr(x, "_grad", None), getattr(x, "name", None)
    x.base = None
    x.storage.tracked = True
    x.__class__ = Var


def set_requires_grad(x: Tensor, requires_grad: bool) -> None:
    """Set `x.requires_grad`, as `requires_grad_` does."""
    requires_grad_(x, requires_grad)


def detach_(x: Tensor) -> Tensor:
    """Detach x from its history, in place, and return x: later results pass no gradient through x.

    Raises GradientError for a view of a tracked tensor, because that tensor would keep its history.
    """
    if x.base is not None and x.requires_grad:
        raise GradientError(
            f"detach_: a view of a tracked tensor cannot be detached in place, got {describe(x)}; use x = x.detach()",
            op="detach_",
        )
    if x.is_variable:
        return requires_grad_(x, False)
    x.op = None
    return x


def data(x: Tensor) -> Tensor:
    """Return the values without history, in the same memory, as `detach()`.

    The assignment `x.data = value` writes the values and is not recorded.  A backward pass that needs the old values
    then raises StorageError, while PyTorch silently uses the new values.
    """
    return x.detach()


def set_data(x: Tensor, value: Any) -> None:
    """Write a value into the memory of x, for `x.data = value`; the shape must be equal, and the dtype is cast.

    `x.data -= step` first writes in place and then assigns the same memory, which has no effect.
    """
    if isinstance(value, Tensor) and value.storage is x.storage and value.layout == x.layout:
        return
    set_value(x, value, "data")


def grad_fn(x: Tensor) -> BackpropOp | None:
    """Return the node of the recorded op that computed x; None for a leaf."""
    node: BackpropOp | None = None if x.is_variable else current(x)
    return node


FUNCTIONS = (requires_grad_, detach_)
