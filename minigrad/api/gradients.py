"""Methods for the gradient of a tensor: hooks, and `retain_grad`.

Names and behaviour are those of PyTorch.  Hooks that run before or after the rule of a node are methods of
`BackpropOp`.
"""

from __future__ import annotations

from typing import Any

from minigrad.errors import GradientError
from minigrad.runtime.hooks import Hook, HookHandle, add_hook, add_leaf_hook, late_hooks, leaf_hooks, retain, retained
from minigrad.runtime.inference import InferenceStorage
from minigrad.runtime.rebasing import current
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer
from minigrad.runtime.var import Var


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
    """Return the gradient that `retain_grad` stored, or that of a frozen Var, otherwise None.

    The class Var defines its own `grad`.
    """
    if hasattr(x, "_grad"):
        kept: Tensor | None = x._grad
        return kept
    entry = retained.get(x.id)
    return None if entry is None else entry.grad


def set_grad(x: Any, value: Tensor | None) -> None:
    """Set `x.grad` to None; for a frozen Var, `value` may also be a gradient.

    Raises GradientError for another value of a tensor that was never a Var.
    """
    if hasattr(x, "_grad"):
        if value is not None:
            Var._check_gradient(x, value)
        x._grad = value
        return
    if value is not None:
        raise GradientError(
            f"grad: {describe(x)} is not a Var, so its .grad can only be set to None; set the .grad of a mg.Var instead"
        )
    if x.id in retained:
        retained[x.id].grad = None


def is_inference(x: Tensor) -> bool:
    """Return whether x was computed under `inference_mode`."""
    return isinstance(x.storage, InferenceStorage)


FUNCTIONS = (is_inference, register_hook, register_post_accumulate_grad_hook, retain_grad)
