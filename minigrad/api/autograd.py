"""Methods for gradients: leaves (requires_grad_, detach_, .data), hooks, `retain_grad` and `explain_grad`.

Names and behaviour are those of PyTorch.  Var is a subclass of Tensor.  To make a tensor without history a leaf in
place, as in PyTorch's `(mg.randn(3) * 0.1).requires_grad_()`, its class is changed to Var.  Hooks that run before or
after the rule of a node are methods of `BackpropOp`.
"""

from __future__ import annotations

from typing import Any

from minigrad.autodiff.replacing import ReplacingTransform
from minigrad.core.roles import read_flag
from minigrad.core.storage import ConstantStorage
from minigrad.declare.advice import defined_above
from minigrad.errors import DTypeError, GradientError, StorageError
from minigrad.ops.casting import clone
from minigrad.ops.indexing.assignment import set_value
from minigrad.runtime.changes import changes, move, rebind
from minigrad.runtime.dispatch import number
from minigrad.runtime.hooks import Hook, HookHandle, add_hook, add_leaf_hook, late_hooks, leaf_hooks, retain, retained
from minigrad.runtime.inference import is_inference
from minigrad.runtime.rebasing import current, owner_of
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer
from minigrad.runtime.var import Var

# ---- leaves ----------------------------------------------------------------------------------------------------------


def requires_grad_(x: Tensor, requires_grad: bool = True) -> Tensor:
    """Make x a leaf that requires a gradient, in place; with False, make it a constant.  Return x.

    Existing views of x stay constants.
    Raises DTypeError if x is not a float tensor, StorageError for a constant of the program, and GradientError inside a
    transform, or for requires_grad=False on the result of a recorded op.
    """
    if read_flag(requires_grad, "requires_grad_", "requires_grad") == x.requires_grad:
        return x
    if isinstance(x, Tracer):
        raise GradientError(
            f"requires_grad_: {describe(x)} belongs to a transform, which controls its gradient; call "
            "requires_grad_() outside the transform"
        )
    if requires_grad:
        become_leaf(x)
    elif x.is_variable:
        x.__class__ = Tensor
        changes.count += 1  # the tensor may be a parameter of a module
    else:
        raise GradientError(
            f"requires_grad_: requires_grad=False is allowed for leaves only, got {describe(x)}, the result of "
            f"{current(x).name}; use x.detach()"
        )
    return x


def become_leaf(x: Any) -> None:
    """Make a tensor without history a Var; a former Var keeps its gradient and its name."""
    if not x.dtype.is_inexact:
        raise DTypeError(
            f"requires_grad_: expected a tensor with a floating dtype, got {describe(x)}; convert it with "
            ".to(mg.float32) first"
        )
    if isinstance(x.storage, ConstantStorage):  # other results share the memory, and no op writes into it
        if x.ndim == 0 and number(x.item(), x.dtype, x.device) is x:
            raise StorageError(
                f"requires_grad_: {describe(x)} is a constant that other results share; call requires_grad_() on "
                "x.detach()"
            )
        own = clone(x.detach())
        rebind(x, own.storage, own.layout)
    changes.count += hasattr(x, "_grad")  # a former Var: a module may list it among its parameters
    x._grad, x.name = grad(x), getattr(x, "name", None)
    vars(x).pop("grad", None)
    x.base = None
    x.storage.tracked = True
    x.__class__ = Var


def detach_(x: Tensor) -> Tensor:
    """Detach x from its history, in place, and return x: later results pass no gradient through x.

    Raises GradientError for a view of a tracked tensor, because that tensor would keep its history.
    """
    if x.base is not None and x.requires_grad:
        raise GradientError(
            f"detach_: a view of a tracked tensor cannot be detached in place, got {describe(x)}; use x = x.detach()"
        )
    if x.is_variable:
        return requires_grad_(x, False)
    if isinstance(x, Tracer) and isinstance(x.transform, ReplacingTransform):
        x.transform.replace(x, x.detach())
    x.op = None
    return x


def data(x: Tensor) -> Tensor:
    """Return the values without history, in the same memory, as `detach()`.

    The assignment `x.data = value` writes the values and is not recorded.  A backward pass that needs the old values
    then raises StorageError, while PyTorch silently uses the new values.
    """
    return x.detach()


def set_data(x: Tensor, value: Any) -> None:
    """Write a value into the memory of x, for `x.data = value`; x moves to new memory if its kind differs.

    The kind of a tensor is its shape, dtype and device.  `x.data -= step` first writes in place and then assigns the
    same memory, which has no effect.
    """
    if isinstance(value, Tensor) and value.storage is x.storage and value.layout == x.layout:
        return
    plain = x.op is None and isinstance(value, Tensor) and not isinstance(value, Tracer)
    if plain and (value.shape, value.dtype, value.device) != (x.shape, x.dtype, x.device):
        if x.requires_grad and not value.dtype.is_inexact:
            raise DTypeError(
                f"data: expected a floating dtype for {describe(x)}, which requires a gradient, got {describe(value)}; "
                "convert the value with .float()"
            )
        copy = clone(value.detach())
        move(x, copy.storage, copy.layout)
    else:
        set_value(x, value, "data")


def grad_fn(x: Tensor) -> Any:
    """Return the node of the recorded op that computed x, for PyTorch's traversal of the graph; None for a leaf."""
    if x.is_variable:
        return None
    from minigrad.autodiff.walking import node_view

    return node_view(current(x))


def output_nr(x: Tensor) -> int:
    """Return the index of the tensor among the results of its node; 0 for a leaf."""
    return getattr(x.op, "index", 0)


# ---- gradients -------------------------------------------------------------------------------------------------------


def register_hook(x: Tensor, hook: Hook) -> HookHandle:
    """Call `hook(gradient)` in each backward pass, when the gradient of x is complete.

    If the hook returns a tensor, this tensor replaces the gradient.  Several hooks run in the order of their
    registration.  A hook belongs to the current value of x, and also runs if x is an input of `mg.grad`.  The result of
    `register_hook` is a handle; `handle.remove()` removes the hook.
    Raises GradientError if x does not require a gradient, and in a backward pass if the hook returns a tensor of
    another shape, dtype or device.
    """
    if not x.requires_grad:
        raise GradientError(
            f"register_hook: expected a tensor that requires a gradient, got {describe(x)}; compute it from a mg.Var, "
            "or call x.requires_grad_() first"
        )
    if x.is_variable:
        return add_leaf_hook(leaf_hooks, "register_hook", x, hook)
    node: Any = x.op if isinstance(x, Tracer) else current(x)
    return add_hook(node, 0, hook) if node.ids is None else add_hook(node.node, node.index, hook)


def register_post_accumulate_grad_hook(x: Tensor, hook: Hook) -> HookHandle:
    """Call `hook(x)` after `backward` has added to `x.grad`.

    Several hooks run in the order of their registration.  `mg.grad` does not call these hooks.  The result is a handle;
    `handle.remove()` removes the hook.
    Raises GradientError if x is not a leaf that requires a gradient.
    """
    if not x.is_variable:
        raise GradientError(
            f"register_post_accumulate_grad_hook: expected a leaf that requires a gradient, got {describe(x)}; use "
            "register_hook for the result of an op"
        )
    return add_leaf_hook(late_hooks, "register_post_accumulate_grad_hook", x, hook)


def retain_grad(x: Tensor) -> None:
    """Make backward passes set `x.grad` for an intermediate result; the gradient includes the changes of all hooks.

    A Var always stores its gradient.  Raises GradientError if x does not require a gradient.
    """
    if not x.requires_grad:
        raise GradientError(
            f"retain_grad: expected a tensor that requires a gradient, got {describe(x)}; compute it from a mg.Var, or "
            "call x.requires_grad_() first"
        )
    if not x.is_variable:
        retain(x)


def retains_grad(x: Tensor) -> bool:
    """Return whether x is an intermediate result for which `retain_grad` was called."""
    return not x.is_variable and x.id in retained


def grad(x: Tensor) -> Tensor | None:
    """Return the gradient that `retain_grad` stored, that of a frozen Var, or one that a user has set; otherwise None.

    The class Var defines its own `grad`.
    """
    if hasattr(x, "_grad"):
        return x._grad
    entry = retained.get(x.id)
    return vars(x).get("grad") if entry is None else entry.grad


def set_grad(x: Any, value: Tensor | None = None) -> None:
    """Set `x.grad` to None, or to a gradient with the shape, the dtype and the device of x."""
    if value is not None:
        Var._check_gradient(x, value)
    if hasattr(x, "_grad"):
        x._grad = value
    elif x.id in retained:
        retained[x.id].grad = value
    else:
        vars(x)["grad"] = value


def count_of_writes(x: Tensor) -> int:
    """Return the count of writes into the memory of x.  Raise GradientError for a result of `inference_mode`."""
    if is_inference(x):
        raise GradientError(
            f"_version: {describe(x)} was computed under mg.inference_mode(), which counts no writes; use x.clone()"
        )
    return x.storage.version


def view_base(x: Tensor) -> Tensor | None:
    """Return the tensor whose memory x is a view of; None for a tensor that owns its memory."""
    return owner_of(x) if isinstance(x.base, Tensor) else None


def explain_grad(x: Tensor, y: Tensor | None = None) -> Any:
    """Explain why the gradient of y with respect to x is None, zero, nan or inf.

    For any other gradient, the explanation lists the ops through which the gradient flows.
    y: the result of the computation.  Under `mg.debug()`, y is optional, and the default is the newest result that was
    computed from x.
    """
    return defined_above("diagnostics.gradient", "explain_grad")(x, y)


FUNCTIONS = (
    requires_grad_, detach_, is_inference, register_hook, register_post_accumulate_grad_hook, retain_grad, explain_grad,
)  # fmt: skip
PROPERTIES = {
    "requires_grad": Tensor.requires_grad.setter(requires_grad_),  # type: ignore[attr-defined]
    "data": property(data, set_data), "grad": property(grad, set_grad, set_grad), "grad_fn": property(grad_fn),
    "output_nr": property(output_nr), "_version": property(count_of_writes), "_base": property(view_base),
    "retains_grad": property(retains_grad),
}  # fmt: skip
