"""Hooks of a module: functions that run before or after its forward and backward pass.

For a module without hooks, a call costs one additional comparison.  `Hooks` stores the hooks of one module in the order
in which they run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.autodiff.function import Function
from minigrad.errors import ArgumentError
from minigrad.nn.modules.members import Members
from minigrad.ops.creation import zeros
from minigrad.runtime.changes import changes
from minigrad.runtime.hooks import HookHandle
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor, describe

Hook = Callable[..., Any]


class RemovableHandle(HookHandle):
    """The handle of a hook of a module; `changes.count` counts its changes."""

    __slots__ = ()

    def __init__(self, hooks: dict[int, Any], entry: Any, prepend: bool = False) -> None:
        super().__init__(hooks, entry, prepend=prepend)
        changes.count += 1

    def remove(self) -> None:
        """Remove the hook; a second call has no effect."""
        super().remove()
        changes.count += 1


class Hooks:
    """The hooks of one module, by kind.

    `pre` stores (hook, with_kwargs) and `forward` stores (hook, with_kwargs, always_call); `backward_pre` and
    `backward` store the hooks alone.
    """

    def __init__(self) -> None:
        self.pre: dict[int, tuple[Hook, bool]] = {}
        self.forward: dict[int, tuple[Hook, bool, bool]] = {}
        self.backward_pre: dict[int, Hook] = {}
        self.backward: dict[int, Hook] = {}

    def call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the hooks and `forward`, and return the result; hooks with `always_call` also run after an error."""
        reached: set[int] = set()
        try:
            return self._call(module, args, kwargs, reached)
        except Exception:
            for k, (hook, with_kwargs, always) in tuple(self.forward.items()):
                if always and k not in reached:
                    hook(module, args, kwargs, None) if with_kwargs else hook(module, args, None)
            raise

    def _call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], reached: set[int]) -> Any:
        for hook, with_kwargs in tuple(self.pre.values()):
            args, kwargs = after_pre_hook(hook, with_kwargs, module, args, kwargs)
        crossing = Crossing(self, module) if self.backward or self.backward_pre else None
        if crossing is not None:
            args = crossing.entered(args)
        result = module.forward(*args, **kwargs)
        for k, (hook, with_kwargs, _) in tuple(self.forward.items()):
            reached.add(k)
            new = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            result = result if new is None else new
        return result if crossing is None else crossing.left(result)


def after_pre_hook(
    hook: Hook, with_kwargs: bool, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments for `forward`, which a forward pre-hook may replace."""
    if not with_kwargs:
        new = hook(module, args)
        return (args if new is None else new if isinstance(new, tuple) else (new,)), kwargs
    pair = hook(module, args, kwargs)
    if pair is None:
        return args, kwargs
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ArgumentError(
            "register_forward_pre_hook: a hook with with_kwargs=True must return None or the pair (args, kwargs), got "
            f"{describe(pair)}; return (args, kwargs)"
        )
    return pair


# ---- backward -------------------------------------------------------------------------------------------------------


class Crossing:
    """One call of a module with backward hooks; identity ops at its inputs and outputs intercept the gradients."""

    def __init__(self, hooks: Hooks, module: Any) -> None:
        self.hooks, self.module = hooks, module
        self.grad_output: tuple[Tensor | None, ...] | None = None  # until the backward hooks have run
        self.inputs: list[Any] = []  # shape, dtype and device of each argument; None for one that is not a tensor
        self.watched: list[int] = []

    def entered(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments; each tensor that requires a gradient is replaced by the result of an identity op."""
        self.inputs = [(x.shape, x.dtype, x.device) if isinstance(x, Tensor) else None for x in args]
        tensors = [k for k, x in enumerate(args) if isinstance(x, Tensor)]
        self.watched = [k for k in tensors if args[k].requires_grad] if is_grad_enabled() else []
        if not self.watched:
            return args
        passed = Passing.apply(lambda *gs: self.finish(self.watched, gs), *[args[k] for k in self.watched])
        new = dict(zip(self.watched, passed, strict=True))
        return tuple([new.get(k, x) for k, x in enumerate(args)])

    def left(self, result: Any) -> Any:
        """Return the result; each tensor in it that requires a gradient is replaced by the result of an identity op."""
        if isinstance(result, Tensor):
            return self.left((result,))[0]
        if isinstance(result, dict):
            new = result.copy()
            for key, x in zip(result, self.left(tuple(result.values())), strict=True):
                new[key] = x
            return new
        parts = list(result) if isinstance(result, (tuple, list)) else []
        tensors = [k for k, x in enumerate(parts) if isinstance(x, Tensor) and x.requires_grad]
        if not tensors or not is_grad_enabled():
            return result
        passed = Passing.apply(lambda *gs: self.start(len(parts), tensors, gs), *[parts[k] for k in tensors])
        for k, x in zip(tensors, passed, strict=True):
            parts[k] = x
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)

    def start(self, count: int, positions: list[int], gradients: tuple[Tensor | None, ...]) -> tuple[Any, ...]:
        """Call the backward pre-hooks; return the gradients of the module's results."""
        arrived = dict(zip(positions, gradients, strict=True))
        passed: tuple[Tensor | None, ...] = tuple([arrived.get(k) for k in range(count)])
        for hook in tuple(self.hooks.backward_pre.values()):
            passed = replaced("register_full_backward_pre_hook", hook(self.module, passed), passed)
        self.grad_output = passed
        if not self.watched:
            self.finish([], ())
        return tuple([passed[k] for k in positions])

    def finish(self, positions: list[int], gradients: tuple[Tensor | None, ...]) -> tuple[Any, ...]:
        """Call the backward hooks; return the gradients of the module's inputs."""
        # A second derivative may reach the inputs by values that `forward` saved, and not by the results.
        if self.grad_output is None:  # then no hook is called, as in PyTorch
            return gradients
        full: list[Tensor | None] = [None] * max(len(self.inputs), 1)
        for k, g in zip(positions, gradients, strict=True):
            full[k] = g
        for k, like in enumerate(self.inputs if positions else ()):
            if full[k] is None and like is not None:  # as in PyTorch, the gradient is 0 if none is required or arrived
                full[k] = zeros(*like[0], dtype=like[1], device=like[2])
        grad_input: tuple[Tensor | None, ...] = tuple(full)
        for hook in tuple(self.hooks.backward.values()):
            new = hook(self.module, grad_input, self.grad_output)
            grad_input = replaced("register_full_backward_hook", new, grad_input)
        if not positions and any(g is not None for g in grad_input):
            raise ArgumentError(
                "register_full_backward_hook: no input of the module requires a gradient, so the hook must return "
                f"None, got {describe(new)}; return None in this case"
            )
        self.grad_output = None
        return tuple([grad_input[k] for k in positions])


def replaced(name: str, new: Any, old: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the new gradients from a hook, or the old ones if it returned None."""
    if new is None:
        return old
    new = (new,) if isinstance(new, Tensor) else tuple(new)
    if len(new) != len(old):
        raise ArgumentError(
            f"{name}: the hook must return None or a tuple of {len(old)} gradients, got {len(new)}; return one "
            "gradient per tensor"
        )
    return new


class Passing(Function):
    """The identity of several tensors; the function `see` receives all their gradients and returns new ones.

    The results are copies, because layers with `inplace=True` may write into them.
    """

    @staticmethod
    def forward(ctx: Any, see: Hook, *tensors: Tensor) -> Any:
        """Return copies of the tensors."""
        ctx.see = see
        ctx.set_materialize_grads(False)  # the gradient of an unused result is None
        return tuple([x.clone() for x in tensors])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        """Return the gradients that `see` returns."""
        return (None, *ctx.see(*gradients))


# ---- registration ---------------------------------------------------------------------------------------------------


class Hooked(Members):
    """Methods of `Module` that register hooks."""

    _hooks: Hooks | None = None

    def _own_hooks(self) -> Hooks:
        if self._hooks is None:
            object.__setattr__(self, "_hooks", Hooks())
        assert self._hooks is not None
        return self._hooks

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before each `forward`.

        hook: Function that returns None, or the positional arguments that replace `args`. With `with_kwargs`, it is
        called as `hook(module, args, kwargs)` and returns None or `(args, kwargs)`.
        """
        return RemovableHandle(self._own_hooks().pre, (hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after each `forward`.

        hook: Function that returns None, or a new output. With `with_kwargs`, it is called as `hook(module, args,
        kwargs, output)`.
        """
        return RemovableHandle(self._own_hooks().forward, (hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the backward pass of the module.

        hook: Function that returns None, or the gradients that replace `grad_output`, the gradients of the loss with
        respect to the outputs.
        """
        return RemovableHandle(self._own_hooks().backward_pre, hook, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are complete.

        hook: Function that returns None, or the gradients that replace `grad_input`. `grad_input` has one entry per
        positional tensor argument; the entry is zeros if only other arguments require a gradient, and None if no
        argument does. `grad_output` has one entry per output; the entry is None if the loss does not depend on the
        output.
        """
        return RemovableHandle(self._own_hooks().backward, hook, prepend)

    register_backward_hook = register_full_backward_hook
