"""Modules as functions of their parameters: calls with other values, and stacks of many models."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

from minigrad.errors import ArgumentError, DeclarationError
from minigrad.ops.shape.joining import stack
from minigrad.runtime.tensor import Tensor, describe

ABSENT = object()


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Mapping[str, Any] | None = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call a module with other values of its parameters and buffers.

    module: Module to call. After the call, the module has its original parameters and buffers again.
    parameter_and_buffer_dicts (dict of str to Tensor, or tuple of dicts): Values by name, such as
    `dict(module.named_parameters())`. Members that are not in the dicts keep their values. Other names are attributes
    during the call. All values must be tensors or None. If the call assigns another tensor to a member, such as a new
    running mean, its dict receives this tensor.
    args (Any or tuple): Positional arguments of the module; a value that is not a tuple is the only argument.
    kwargs (dict): Keyword arguments of the module.
    tie_weights: Whether a value replaces a shared parameter under all of its names.
    strict: Whether every parameter and buffer must have a value, and no other names are allowed.

    Returns: The result of the call. Gradients flow to the passed tensors, so `mg.func.grad` and `mg.func.vmap` can
    transform this call.

    Raises DeclarationError if a value, or an attribute that it replaces, is not a tensor.
    Raises ArgumentError if a name is in two dicts, if names are missing or unknown with `strict`, or if two names of
    one parameter have different values.
    Raises AttributeError if a name belongs to a module that does not exist.

    >>> layer = mg.nn.Linear(2, 1)
    >>> zeros = {name: mg.zeros_like(p) for name, p in layer.named_parameters()}
    >>> mg.func.functional_call(layer, zeros, mg.ones(1, 2)).tolist()
    [[0.0]]
    """
    dicts = parameter_and_buffer_dicts
    dicts = [dicts] if isinstance(dicts, Mapping) else dicts
    values = joined(dicts)
    arguments = args if isinstance(args, tuple) else () if args is None else (args,)
    with replaced(module, values, tie_weights, strict, dicts):
        return module(*arguments, **(kwargs or {}))


def joined(dicts: Any) -> dict[str, Any]:
    """Return the entries of several dicts as one dict."""
    if not isinstance(dicts, Sequence) or not all(isinstance(each, Mapping) for each in dicts):
        raise DeclarationError(
            f"functional_call: expected a dict or a tuple of dicts, got {describe(dicts)}; pass "
            "dict(model.named_parameters()), for example"
        )
    values: dict[str, Any] = {}
    for each in dicts:
        if twice := values.keys() & each.keys():
            raise ArgumentError(
                f"functional_call: each name must be in only one of the dicts, got {sorted(twice)[0]!r} in two of "
                "them; pass one value for this name"
            )
        values.update(each)
    return values


@contextmanager
def replaced(
    module: Any, values: dict[str, Any], tie_weights: bool, strict: bool, dicts: Sequence[Any] = ()
) -> Iterator[None]:
    """Open a block in which members of a module have other values; `dicts`: the dicts that receive new values."""
    if tie_weights or strict:  # only these need all members, which a module that contains itself cannot list
        members = dict(module.named_parameters(remove_duplicate=False))
        members.update(module.named_buffers(remove_duplicate=False))
        if strict and (unknown := [name for name in values if name not in members]):
            raise ArgumentError(
                f"functional_call: {type(module).__name__} has no {unknown[0]!r} among its parameters and buffers; "
                "pass names of named_parameters() and named_buffers()"
            )
        if tie_weights:
            values = values | tied(members, values)
        if strict and (missing := [name for name in members if name not in values]):
            raise ArgumentError(
                "functional_call: strict=True requires a value for every parameter and buffer, got none for "
                f"{missing[0]!r}; pass values for all names"
            )
    before: list[tuple[str, dict[str, Any], str, Any]] = []
    try:
        for key, value in values.items():
            prefix, _, name = key.rpartition(".")
            d = module.get_submodule(prefix).__dict__
            old = d.get(name, ABSENT)
            for x, whose in ((value, "the value"), (old, "the attribute that it replaces")):
                if x is not None and x is not ABSENT and not isinstance(x, Tensor):
                    raise DeclarationError(
                        f"functional_call: {whose} of {key!r} must be a tensor or None, got {describe(x)}; pass values "
                        "of parameters and buffers"
                    )
            before.append((key, d, name, old))
            d[name] = value
        yield
    finally:
        new = {key: d[name] for key, d, name, _ in before if d.get(name, values[key]) is not values[key]}
        for _, d, name, value in reversed(before):
            d[name] = value
            if value is ABSENT:
                del d[name]
        for each in dicts:
            if isinstance(each, MutableMapping):
                each.update({key: value for key, value in new.items() if key in each})


def tied(members: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return values under all names of each member; a shared member has several."""
    names: dict[int, list[str]] = {}
    for name, x in members.items():
        names.setdefault(id(x), []).append(name)
    result = {}
    for group in names.values():
        chosen = [values[name] for name in group if name in values]
        if any(x is not chosen[0] for x in chosen):
            raise ArgumentError(
                f"functional_call: {', '.join(group)} are one tensor in the module, but got different values; pass one "
                "value, or tie_weights=False"
            )
        result.update(dict.fromkeys(group, chosen[0]) if chosen else {})
    return result


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Stack the parameters and the buffers of models of the same class, for `vmap` over `functional_call`.

    Parameters
    ----------
    models : sequence of Module
        Models with the same structure and mode.

    Returns
    -------
    params : dict of str to Tensor
        Copies of the parameters, stacked along dim 0. The copies are leaves, and require a gradient if the parameters
        do.
    buffers : dict of str to Tensor
        Copies of the buffers, stacked along dim 0.

    Raises
    ------
    ArgumentError
        If there are no models, or if they differ in class, in mode or in the parameters that require a gradient.
    """
    if not models:
        raise ArgumentError("stack_module_state: expected at least one model, got none; pass a list of models")
    if len({(type(model), model.training) for model in models}) > 1:
        raise ArgumentError(
            "stack_module_state: all models must have the same class and the same mode, training or evaluation, got "
            "different ones; call eval() on each model, for example"
        )
    params = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return stacked(params), stacked(buffers)


def stacked(each: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return the tensors of several dicts, stacked by name along a new first dim."""
    result = {}
    for name, first in each[0].items():
        if len({d[name].requires_grad for d in each}) > 1:
            raise ArgumentError(
                f"stack_module_state: {name!r} must require a gradient in all models or in none, got a mixture; call "
                "requires_grad_() on each model"
            )
        x: Any = stack([d[name].detach() for d in each])
        result[name] = x.requires_grad_() if first.requires_grad else x
    return result


class FunctionalModule:
    """A module as a function of its parameters; `make_functional` returns it.

    stateless_model: the module that a call uses.  param_names: the names of the values of the first argument.
    """

    def __init__(self, stateless_model: Any) -> None:
        self.stateless_model = stateless_model
        self.param_names = tuple([name for name, _ in stateless_model.named_parameters()])

    def __call__(self, params: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        """Return the result of the module with these parameters."""
        return functional_call(self.stateless_model, dict(zip(self.param_names, params, strict=True)), args, kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.stateless_model!r})"


class FunctionalModuleWithBuffers(FunctionalModule):
    """A module as a function of its parameters and buffers; `make_functional_with_buffers` returns it.

    buffer_names: the names of the values of the second argument.
    """

    def __init__(self, stateless_model: Any) -> None:
        super().__init__(stateless_model)
        self.buffer_names = tuple([name for name, _ in stateless_model.named_buffers()])

    def __call__(self, params: Iterable[Any], buffers: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        """Return the result of the module with these parameters and buffers."""
        values = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, values, args, kwargs)


def make_functional(model: Any, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """Return a copy of a module as a function of its parameters, as the package `functorch` does.

    Parameters
    ----------
    model : Module
        Module without buffers. New code can call `functional_call`, which needs no copy.
    disable_autograd_tracking : bool, default False
        Whether the returned parameters require no gradient, because only transforms differentiate.

    Returns
    -------
    function : FunctionalModule
        Function of a tuple of parameters and the arguments of the module.
    params : tuple of Tensor
        Copies of the parameters, in the order of `named_parameters()`.

    Raises
    ------
    ArgumentError
        If the module has buffers: call `make_functional_with_buffers`.

    Examples
    --------
    >>> function, params = mg.func.make_functional(mg.nn.Linear(2, 1))
    >>> function([mg.zeros_like(p) for p in params], mg.ones(1, 2)).tolist()
    [[0.0]]
    """
    if any(True for _ in model.buffers()):
        raise ArgumentError(
            f"make_functional: the module must have no buffers, got {next(model.named_buffers())[0]!r} in "
            f"{type(model).__name__}; call make_functional_with_buffers"
        )
    function = FunctionalModule(copy.deepcopy(model))
    return function, members_of(function, disable_autograd_tracking)


def make_functional_with_buffers(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return a copy of a module as a function of its parameters and buffers; see `make_functional`.

    Parameters
    ----------
    model : Module
        Any module.
    disable_autograd_tracking : bool, default False
        Whether the returned parameters require no gradient, because only transforms differentiate.

    Returns
    -------
    function : FunctionalModuleWithBuffers
        Function of a tuple of parameters, a tuple of buffers, and the arguments of the module.
    params : tuple of Tensor
        Copies of the parameters, in the order of `named_parameters()`.
    buffers : tuple of Tensor
        Copies of the buffers, in the order of `named_buffers()`.
    """
    function = FunctionalModuleWithBuffers(copy.deepcopy(model))
    params = members_of(function, disable_autograd_tracking)
    return function, params, tuple(function.stateless_model.buffers())


def members_of(function: FunctionalModule, disable_autograd_tracking: bool) -> tuple[Tensor, ...]:
    """Return the parameters of the module of a function; with the flag, they no longer require a gradient."""
    model = function.stateless_model
    return tuple((model.requires_grad_(False) if disable_autograd_tracking else model).parameters())


def combine_state_for_ensemble(
    models: Sequence[Any],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Stack the states of models of the same class, for `vmap` over one of them as a function.

    Parameters
    ----------
    models : sequence of Module
        Models with the same structure and mode. New code can call `stack_module_state`.

    Returns
    -------
    function : FunctionalModuleWithBuffers
        Function of a tuple of parameters, a tuple of buffers, and the arguments of a model.
    params, buffers : tuple of Tensor
        Copies of the values of all models, stacked along dim 0, which require no gradient.

    Raises
    ------
    ArgumentError
        As `stack_module_state`.
    """
    params, buffers = stack_module_state(models)
    function = FunctionalModuleWithBuffers(copy.deepcopy(models[0]))
    return function, tuple([x.detach() for x in params.values()]), tuple(buffers.values())


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Remove the running statistics of all batch normalizations of a module, so that `vmap` can call it.

    root (Module): Module to change, which may itself be a batch normalization.

    Returns (Module): The same module. Its batch normalizations use the statistics of their batch, also in evaluation.
    """
    for module in root.modules():
        if hasattr(module, "_forget_running_stats"):
            module._forget_running_stats()
    return root
