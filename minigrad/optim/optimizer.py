"""Optimizer: parameter groups, their options, states, hooks, and the state dict.

Names, arguments and the structure of `state_dict` are the same as in PyTorch, so each library can load the state of the
other.  The steps are in `stepping.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, ClassVar

from minigrad.autodiff.grads import gradients_to_zero
from minigrad.errors import ArgumentError, DTypeError, absent_method, warn
from minigrad.optim import lists
from minigrad.optim.states import loaded, packed
from minigrad.runtime.changes import CountedDict
from minigrad.runtime.hooks import HookHandle
from minigrad.runtime.hosting import hosted
from minigrad.runtime.iterables import as_list, expect_some
from minigrad.runtime.recording import no_grad, recording_on
from minigrad.runtime.tensor import Tensor, describe

Params = Any  # an iterable of tensors, of dicts, or of pairs of a name and a tensor
HOOKS = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post")


# The hooks of all optimizers, by kind.
everywhere: dict[str, dict[int, Callable[..., Any]]] = {"step_pre": {}, "step_post": {}}


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> HookHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of any optimizer, before the hooks of the optimizer."""
    return HookHandle(everywhere["step_pre"], hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> HookHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of any optimizer, after the hooks of the optimizer."""
    return HookHandle(everywhere["step_post"], hook)


class Required:
    """The value of an option that has no default."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = Required()


class Optimizer:
    """Define the base class of the optimizers.

    A subclass passes its options as `defaults` and overrides `step`.

    params: Tensors, pairs of a name and a tensor (`model.named_parameters()`), or dicts. Each dict is a parameter
    group: it contains the entry "params" and the group's own options.
    defaults (dict): Values of the options that a group does not specify.

    Raises ArgumentError if there are no parameters, if a parameter is in two groups, or if a parameter is not a leaf.
    Raises DTypeError if `params` is a tensor, or contains an object that is not a tensor.

    Attributes:
        param_groups (list of dict): The groups: "params" and the options, which may be changed between steps.
        state (dict): Maps each parameter to a dict with the tensors that the optimizer stores for it.
    """

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        groups = as_list(type(self).__name__, params, "params")
        expect_some(type(self).__name__, params, groups)
        self.defaults = defaults
        self.state: dict[Any, Any] = CountedDict(CountedDict)
        self.param_groups: list[dict[str, Any]] = []
        self._hooks: dict[str, dict[int, Callable[..., Any]]] = {kind: {} for kind in HOOKS}
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        step = cls.__dict__.get("step")
        if step is not None and not hasattr(step, "hooked"):
            cls.step = hosted(with_hooks(step), Optimizer.parameters)  # type: ignore[method-assign]
            cls.step.hooked = True  # type: ignore[attr-defined]

    # ---- groups ----

    # Whether the parameters may be complex.
    complexes: ClassVar[bool] = False

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a parameter group; missing options are set to the defaults.

        param_group (dict): Options, and "params": a tensor, a list of tensors, or a list of pairs of a name and a
        tensor.
        """
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise DTypeError(
                f"{name}: a parameter group must be a dict, got {type(param_group).__name__}; pass a dict such as "
                "{'params': model.parameters()}"
            )
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, (set, frozenset)):
            raise DTypeError(f"{name}: params must have a fixed order, got a set; pass a list")
        params = as_list(name, params, "params")
        names = [each[0] for each in params if isinstance(each, tuple)]
        if names and len(names) != len(params):
            raise ArgumentError(
                f"{name}: either all parameters or no parameters must have a name, but only some have a name; pass "
                "model.named_parameters()"
            )
        if names:
            params = [each[1] for each in params]
        self.expect_parameters(params)
        for option, default in self.defaults.items():
            if default is required and option not in param_group:
                raise ArgumentError(
                    f"{name}: each parameter group must have a value of the option {option!r}, got a group without a "
                    f"value; pass {option}=... in this group"
                )
        group = {"params": params, **({"param_names": names} if names else {})}
        group |= {key: value for key, value in param_group.items() if key != "params"}
        for option, default in self.defaults.items():
            group.setdefault(option, default)
        known = {id(p) for p in self.parameters()}
        if not known.isdisjoint(map(id, params)):
            raise ArgumentError(
                f"{name}: a parameter must be in only one parameter group, but some parameters are in more than one; "
                "list each parameter once"
            )
        if self.param_groups and ("param_names" in self.param_groups[0]) != bool(names):
            raise ArgumentError(
                f"{name}: all parameter groups must have named parameters, or none; pass model.named_parameters() to "
                "each group, or model.parameters()"
            )
        self.param_groups.append(group)

    def expect_parameters(self, params: list[Any]) -> None:
        """Raise an error unless all are leaves; warn if a parameter occurs twice."""
        name = type(self).__name__
        for p in params:
            if not isinstance(p, Tensor):
                raise DTypeError(f"{name}: params must contain tensors, got {describe(p)}; pass model.parameters()")
            if p.dtype.is_complex and not self.complexes:
                raise DTypeError(
                    f"{name}: params must be real, got {describe(p)}; use Adam or SGD, or make a real Var of the "
                    "pairs, mg.view_as_real(p)"
                )
            if not p.is_leaf and not p.retains_grad and not self.defaults.get("differentiable"):
                raise ArgumentError(
                    f"{name}: params must be leaves, got {describe(p)}, the result of an op; create the parameter as a "
                    "mg.Var"
                )
        if len({id(p) for p in params}) < len(params):
            warn(
                f"{name}: params contains a parameter twice, so each step() updates this parameter twice; pass each "
                "parameter once"
            )

    def parameters(self) -> Iterable[Any]:
        """Return the parameters of all groups."""
        return chain.from_iterable(group["params"] for group in self.param_groups)

    # ---- gradients and steps ----

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients of all parameters, or set them to zero.

        set_to_none: Whether to set `.grad` to None. If False, one launch fills the gradients with zeros.
        """
        if set_to_none:
            for group in self.param_groups:
                for p in group["params"]:
                    p.grad = None
            return
        reached = [p for p in self.parameters() if p.grad is not None]
        leaves = [p for p in reached if hasattr(p, "_grad")]
        lists.zero_([*gradients_to_zero(leaves), *[p.grad.detach() for p in reached if not hasattr(p, "_grad")]])

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take a step; a subclass overrides this method."""
        raise absent_method(self, "an optimizer", "step(self, closure=None)")

    # ---- hooks ----

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; the hook may return other args and kwargs."""
        return HookHandle(self._hooks["step_pre"], hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return HookHandle(self._hooks["step_post"], hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(optimizer)` before a state dict is created."""
        return HookHandle(self._hooks["state_dict_pre"], hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(optimizer, state_dict)` after a state dict is created; the hook may return another dict."""
        return HookHandle(self._hooks["state_dict_post"], hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(optimizer, state_dict)` before a state dict is loaded; the hook may return another dict."""
        return HookHandle(self._hooks["load_state_dict_pre"], hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(optimizer)` after a state dict is loaded."""
        return HookHandle(self._hooks["load_state_dict_post"], hook, prepend=prepend)

    # ---- state ----

    def state_dict(self) -> dict[str, Any]:
        """Return the state of all parameters by index, and the options of all groups.

        Returns (dict): "state" maps the index of each parameter to its state. "param_groups" contains for each group
        its options, and the indices of its parameters as "params".  The tensors are those of the optimizer, not copies.
        """
        for hook in list(self._hooks["state_dict_pre"].values()):
            hook(self)
        result = packed(self.param_groups, self.state)
        for hook in list(self._hooks["state_dict_post"].values()):
            result = hook(self, result) or result
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state dict that an optimizer of minigrad or PyTorch returned.

        The state tensors are copied and converted to the dtype and device of their parameters, except step counts,
        which remain float32 on the CPU.

        state_dict (dict): "state" and "param_groups", as `state_dict` returns them.

        Raises ArgumentError if the number of groups or the number of parameters of a group differs.
        """
        state_dict = dict(state_dict)
        for hook in list(self._hooks["load_state_dict_pre"].values()):
            state_dict = hook(self, state_dict) or state_dict
        state, groups = loaded(type(self).__name__, self.param_groups, state_dict)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in list(self._hooks["load_state_dict_post"].values()):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("_hooks", {kind: {} for kind in HOOKS})
        for group in self.param_groups:
            for option, default in self.defaults.items():
                if default is not required:
                    group.setdefault(option, default)  # a state that was saved by an older version lacks this option

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for k, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {k}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            lines.append("")
        return "\n".join([*lines[:-1], ")"])


def with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method `step` that calls the hooks before and after the step."""

    @functools.wraps(step)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        hooks, attributes = self._hooks, self.__dict__
        if "_opt_called" in attributes:  # a schedule warns if its first step comes before this flag is set
            attributes["_opt_called"] = True
        if not (hooks["step_pre"] or hooks["step_post"] or everywhere["step_pre"] or everywhere["step_post"]):
            return step(self, *args, **kwargs)
        for hook in [*everywhere["step_pre"].values(), *hooks["step_pre"].values()]:
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise ArgumentError(
                        "step: a hook of register_step_pre_hook must return None or the pair (args, kwargs), got "
                        f"{describe(changed)}; return (args, kwargs)"
                    )
                args, kwargs = changed
        result = step(self, *args, **kwargs)
        for hook in [*hooks["step_post"].values(), *everywhere["step_post"].values()]:
            hook(self, args, kwargs)
        return result

    return hooked


def loss_of(closure: Callable[[], Any] | None) -> Any:
    """Call a closure with recording enabled, and return its result; return None without a closure."""
    if closure is None:
        return None
    with recording_on():
        return closure()


class GroupOptimizer(Optimizer):
    """Base class of the optimizers that update one parameter group after another, without recording."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient.

        closure: Function that computes the loss and its gradients again, and returns the loss.

        Returns (object): The result of the closure, or None without a closure.
        """
        loss = loss_of(closure)
        with no_grad():
            for group in self.param_groups:
                self.update(group)
        return loss

    def update(self, group: dict[str, Any]) -> None:
        """Update the parameters of a group; a subclass overrides this method."""
        raise absent_method(self, "an optimizer", "update(self, group)")
