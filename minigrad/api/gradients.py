"""What a tensor is asked about its gradient: hooks, and keeping it.

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
    """Call `hook(gradient)` when the gradient of x is complete, once a walk; what it returns takes its place.

    Several run in order.  It belongs to the value that x is now, and counts where x is an input of `mg.grad` too.
    Raises GradientError where no gradient comes; in a walk also for a hook that gives another shape, dtype or device.
    """
    if not x.requires_grad:
        raise GradientError(f"register_hook: {describe(x)} does not require a gradient; make it a mg.Var")
    if x.is_variable:
        return add_leaf_hook(leaf_hooks, "register_hook", x, hook)
    node: Any = x.op if isinstance(x, Tracer) else current(x)
    return add_hook(node, 0, hook) if node.ids is None else add_hook(node.node, node.index, hook)


def register_post_accumulate_grad_hook(x: Tensor, hook: Hook) -> HookHandle:
    """Call `hook(x)` when a backward has added to `x.grad`.

    Several run in order; `mg.grad` calls none.  Raises GradientError for what is no leaf."""
    if not x.is_variable:
        raise GradientError(
            f"register_post_accumulate_grad_hook: {describe(x)} is no leaf that requires a gradient; use register_hook"
        )
    return add_leaf_hook(late_hooks, "register_post_accumulate_grad_hook", x, hook)


def retain_grad(x: Tensor) -> None:
    """Keep the gradient of a value in between, as it is after all hooks: `x.grad` then has it.  A Var does anyway."""
    if not x.requires_grad:
        raise GradientError(f"retain_grad: {describe(x)} does not require a gradient; make it a mg.Var")
    if not x.is_variable:
        retain(x)


def retains_grad(x: Tensor) -> bool:
    """Whether `retain_grad` was asked for."""
    return not x.is_variable and x.id in retained


def grad(x: Tensor) -> Tensor | None:
    """The gradient that `retain_grad` has kept, or that a Var had when it was frozen, else None; a Var has its own."""
    if hasattr(x, "_grad"):
        kept: Tensor | None = x._grad
        return kept
    entry = retained.get(x.id)
    return None if entry is None else entry.grad


def set_grad(x: Any, value: Tensor | None) -> None:
    """x.grad = None starts again.  Raises GradientError for anything else: only a Var can be given a gradient, and a
    Var that was frozen."""
    if hasattr(x, "_grad"):
        if value is not None:
            Var._check_gradient(x, value)
        x._grad = value
        return
    if value is not None:
        raise GradientError(f"grad: {describe(x)} is no Var, so its gradient can be set to None only")
    if x.id in retained:
        retained[x.id].grad = None


def is_inference(x: Tensor) -> bool:
    """Whether it was computed under `inference_mode`."""
    return isinstance(x.storage, InferenceStorage)


FUNCTIONS = (is_inference, register_hook, register_post_accumulate_grad_hook, retain_grad)
