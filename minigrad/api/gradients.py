"""Methods for a tensor's gradient: hooks, and `retain_grad`.

PyTorch's names and meanings; hooks of nodes, before and after their rules, are methods of `BackpropOp`.
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
    """Call `hook(gradient)` when the gradient of x is complete, once per backward pass; its result replaces it.

    Several run in order.  A hook belongs to the current value of x, and also runs where x is an input of `mg.grad`.
    Raises GradientError where x requires no gradient; in a pass also for a hook that returns another shape, dtype or
    device.
    """
    if not x.requires_grad:
        raise GradientError(f"register_hook: {describe(x)} does not require a gradient; make it a mg.Var")
    if x.is_variable:
        return add_leaf_hook(leaf_hooks, "register_hook", x, hook)
    node: Any = x.op if isinstance(x, Tracer) else current(x)
    return add_hook(node, 0, hook) if node.ids is None else add_hook(node.node, node.index, hook)


def register_post_accumulate_grad_hook(x: Tensor, hook: Hook) -> HookHandle:
    """Call `hook(x)` when a backward has added to `x.grad`.

    Several run in order; `mg.grad` calls none.  Raises GradientError for a tensor that is not a leaf."""
    if not x.is_variable:
        raise GradientError(
            f"register_post_accumulate_grad_hook: {describe(x)} is not a leaf with a gradient; use register_hook"
        )
    return add_leaf_hook(late_hooks, "register_post_accumulate_grad_hook", x, hook)


def retain_grad(x: Tensor) -> None:
    """Keep the gradient of a value in between, as it is after all hooks: `x.grad` then has it.  A Var always does."""
    if not x.requires_grad:
        raise GradientError(f"retain_grad: {describe(x)} does not require a gradient; make it a mg.Var")
    if not x.is_variable:
        retain(x)


def retains_grad(x: Tensor) -> bool:
    """Return whether `retain_grad` was called."""
    return not x.is_variable and x.id in retained


def grad(x: Tensor) -> Tensor | None:
    """Return the gradient for `retain_grad`, or that of a frozen Var, otherwise None; a Var has its own."""
    if hasattr(x, "_grad"):
        kept: Tensor | None = x._grad
        return kept
    entry = retained.get(x.id)
    return None if entry is None else entry.grad


def set_grad(x: Any, value: Tensor | None) -> None:
    """Reset the gradient with x.grad = None.  Raises GradientError for another value: only a Var, and a Var that was
    frozen, accepts a gradient."""
    if hasattr(x, "_grad"):
        if value is not None:
            Var._check_gradient(x, value)
        x._grad = value
        return
    if value is not None:
        raise GradientError(f"grad: {describe(x)} is not a Var; its .grad can only be set to None")
    if x.id in retained:
        retained[x.id].grad = None


def is_inference(x: Tensor) -> bool:
    """Return whether it was computed under `inference_mode`."""
    return isinstance(x.storage, InferenceStorage)


FUNCTIONS = (is_inference, register_hook, register_post_accumulate_grad_hook, retain_grad)
