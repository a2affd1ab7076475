"""Hooks of all modules: functions that run around every call, or at every registration of a member.

Without such hooks, calls have no overhead: `Module.__call__` is replaced only while at least one hook is registered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.declare.manual import document_all
from minigrad.nn.modules.hooks import Hook, Hooks, RemovableHandle
from minigrad.nn.modules.members import BUFFERS, CHILDREN, PARAMETERS, registrations

everywhere = Hooks()


class Switch:
    """Stores the class whose calls are replaced, `module`, and its original `__call__`, `plain`."""

    module: Any = None
    plain: Callable[..., Any]


def install(module: Any) -> None:
    """Store the class, `Module`, whose calls the hooks of this file surround."""
    Switch.module, Switch.plain = module, module.__call__


def refresh() -> None:
    """Select the `__call__` of modules: `hooked` if at least one hook is registered, otherwise the original."""
    Switch.module.__call__ = hooked if any(vars(everywhere).values()) else Switch.plain


def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a module between the hooks of all modules, which run first, and its hooks."""
    both, own = Hooks(), self._hooks
    for name, hooks in vars(everywhere).items():
        getattr(both, name).update(hooks)
        if own is not None:
            getattr(both, name).update(getattr(own, name))
    return both.call(self, args, kwargs)


class GlobalHandle(RemovableHandle):
    """The handle of a hook that is registered for all modules."""

    __slots__ = ()

    def __init__(self, hooks: dict[int, Any], entry: Any) -> None:
        super().__init__(hooks, entry)
        refresh()

    def remove(self) -> None:
        """Remove the hook; a second call has no effect."""
        super().remove()
        refresh()


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before each `forward` of any module, before the module's own hooks.

    hook: Function that returns None, or the positional arguments that replace `args`.
    """
    return GlobalHandle(everywhere.pre, (hook, False))


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after each `forward` of any module, before the module's own hooks.

    hook: Function that returns None, or a new output. With `with_kwargs`, it is called as `hook(module, args, kwargs,
    output)`.

    >>> names = []
    >>> with mg.nn.modules.module.register_module_forward_hook(lambda m, args, y: names.append(type(m).__name__)):
    ...     _ = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.ReLU())(mg.ones(2))
    >>> names
    ['Linear', 'ReLU', 'Sequential']
    """
    return GlobalHandle(everywhere.forward, (hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward pass of any module; the hook may return new gradients."""
    return GlobalHandle(everywhere.backward_pre, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward pass of any module.

    The arguments are the same as for `Module.register_full_backward_hook`.
    """
    return GlobalHandle(everywhere.backward, hook)


register_module_backward_hook = register_module_full_backward_hook


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, param)` when any module registers a parameter; the hook may return a replacement."""
    return RemovableHandle(registrations[PARAMETERS], hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when any module registers a buffer; the hook may return a replacement."""
    return RemovableHandle(registrations[BUFFERS], hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` when any module registers a child; the hook may return a replacement."""
    return RemovableHandle(registrations[CHILDREN], hook)


REGISTER = {name: function for name, function in globals().items() if name.startswith("register_")}
document_all(globals())
