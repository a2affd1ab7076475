"""Parametrizations: a parameter is computed from other tensors at each use.

`register_parametrization(module, "weight", f)` moves the parameter to `module.parametrizations.weight.original` and
makes `module.weight` the result of `f`.  The module gets a new class with a property for the name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, reduce
from typing import Any

from minigrad.errors import ArgumentError, DeclarationError, StateError
from minigrad.nn.modules.containers import ModuleDict, ModuleList
from minigrad.nn.modules.members import BUFFERS, PARAMETERS
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter, adopt
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe

PRUNED = "_pruned"  # the attribute with the pruning methods of a module


class Cache:
    """The results of parametrizations in `cached` blocks, of which `enabled` are open.

    `values` maps the id of a ParametrizationList to its result.
    """

    enabled = 0
    values: dict[int, Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Open a block in which each parametrized tensor is computed once, at its first use."""
    Cache.enabled += 1
    try:
        yield
    finally:
        Cache.enabled -= 1
        if not Cache.enabled:
            Cache.values.clear()


class ParametrizationList(ModuleList):
    """Apply the parametrizations of one tensor, in order, to the original tensor or tensors.

    Attributes:
        original (Tensor): The tensor that is trained. If the `right_inverse` that is called last (that of the first
            parametrization) returns several tensors, they are named `original0`, `original1`, ...
    """

    def __init__(self, modules: Any, original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        values = inverted(list(self), original)
        self.is_tensor = isinstance(values, Tensor)
        if self.is_tensor and not unsafe and values.dtype is not original.dtype:
            raise ArgumentError(
                f"register_parametrization: right_inverse must keep the dtype of {describe(original)}, got "
                f"{describe(values)}; convert the result, or pass unsafe=True"
            )
        parts = {"original": values} if self.is_tensor else {f"original{k}": v for k, v in enumerate(values)}
        self.names = list(parts)
        trained = isinstance(original, Parameter)
        for name, value in parts.items():
            if trained and self.is_tensor:  # the same object, because an optimizer may already train it
                adopt(original, value.detach())
                self.register_parameter(name, original)
            elif trained:
                self.register_parameter(name, Parameter(value.detach(), original.requires_grad))
            else:
                self.register_buffer(name, value)

    def right_inverse(self, value: Tensor) -> None:
        """Write original tensors from which the parametrizations compute `value`.

        Raises StateError if a parametrization has no `right_inverse`.
        """
        for module in self:
            if not hasattr(module, "right_inverse"):
                raise StateError(
                    f"right_inverse: {type(module).__name__} does not define right_inverse, so the parametrized tensor "
                    "cannot be assigned; define right_inverse, or write into the original tensor"
                )
        values = inverted(list(self), value)
        with no_grad():
            for name, x in zip(self.names, [values] if self.is_tensor else values, strict=True):
                getattr(self, name).copy_(x)

    def forward(self) -> Tensor:
        x = self[0](*[getattr(self, name) for name in self.names])
        for k in range(1, len(self)):
            x = self[k](x)
        return x


def inverted(modules: list[Any], value: Any) -> Any:
    """Return the original of a value: apply the `right_inverse` of each parametrization, starting with the last."""
    with no_grad():
        for module in reversed(modules):
            if hasattr(module, "right_inverse"):
                with suppress(NotImplementedError):  # a parametrization without `right_inverse` uses the identity
                    value = module.right_inverse(value)
    return value


# ---- the class of a parametrized module -----------------------------------------------------------------------------


class Parametrized:
    """Base of the classes of parametrized modules.

    `base` is the class that the module had before, and `names` are the names of the properties.
    """

    base: Any
    names: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self).names:
            object.__setattr__(self, name, value)  # the property of the class stores the value
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        """Return a tensor of a parametrization by its old name, such as `weight_g`; `OldKeys` lists them."""
        path = self.__dict__.get("_old_names", {}).get(name)
        if path is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return reduce(getattr, path.split("."), self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return restored, (type(self).base, type(self).names), self.__dict__


@lru_cache(maxsize=1024)
def class_with(base: Any, names: tuple[str, ...]) -> Any:
    """Return a subclass of `base` with a property for each name."""
    properties = {name: property_of(name) for name in names}
    return type(f"Parametrized{base.__name__}", (Parametrized, base), {**properties, "base": base, "names": names})


def restored(base: Any, names: tuple[str, ...]) -> Any:
    """Return a module for unpickling, without its state."""
    kind = class_with(base, names)
    return kind.__new__(kind)


def property_of(name: str) -> property:
    """Return a property that computes a parametrized or pruned tensor."""

    def get(module: Any) -> Any:
        method = pruned(module).get(name)
        if method is not None:
            return method.apply_mask(module)
        parametrization = module.__dict__["parametrizations"].__dict__[name]
        if not Cache.enabled:
            return parametrization()
        key = id(parametrization)
        if key not in Cache.values:
            Cache.values[key] = parametrization()
        return Cache.values[key]

    def put(module: Any, value: Tensor) -> None:
        if name in pruned(module):
            raise StateError(
                f"{type(module).__name__}.{name} is the product of {name}_orig and {name}_mask, so it cannot be "
                f"assigned; write into {name}_orig"
            )
        module.__dict__["parametrizations"].__dict__[name].right_inverse(value)

    return property(get, put)


def pruned(module: Any) -> dict[str, Any]:
    """Return the pruning methods of a module by the names of their parameters; see `prune.py`."""
    return module.__dict__.get(PRUNED, {})


def computed(module: Any, name: str) -> None:
    """Give a module, which has no attribute `name`, a class in which a property computes it."""
    base, names = base_and_names(module)
    module.__class__ = class_with(base, (*names, name))


def uncomputed(module: Any, name: str) -> None:
    """Give a module a class without the property `name`."""
    base, names = base_and_names(module)
    rest = tuple([each for each in names if each != name])
    module.__class__ = class_with(base, rest) if rest else base


# ---- registration ---------------------------------------------------------------------------------------------------


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let another module compute a parameter or buffer of a module at each use.

    module: The module that owns the tensor; it is changed in place.
    parametrization: Module whose `forward` maps the original tensor to the parametrized tensor. If it has a method
    `right_inverse`, this method maps a value of the tensor to an original from which `forward` computes this value.
    unsafe: Whether the parametrization may change dtype and shape.

    Raises ArgumentError if the module has no such tensor, or if dtype or shape change and `unsafe` is False.

    >>> class Symmetric(mg.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = mg.nn.utils.parametrize.register_parametrization(mg.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all()), [name for name, _ in layer.named_parameters()]
    (True, ['bias', 'parametrizations.weight.original'])
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        append(module.__dict__["parametrizations"].__dict__[tensor_name], tensor_name, parametrization, unsafe)
        return module
    d = module.__dict__
    if d.get(tensor_name) is None or tensor_name not in {**d[PARAMETERS], **d[BUFFERS]}:
        raise ArgumentError(
            f"register_parametrization: {type(module).__name__} has no parameter or buffer {tensor_name!r}; list the "
            "names with named_parameters()"
        )
    original = d[tensor_name]
    before, values = describe(original), original.detach()
    listed = ParametrizationList([parametrization], original, unsafe)
    try:
        check(listed, tensor_name, before, unsafe)
    except Exception:
        adopt(original, values)
        raise
    delattr(module, tensor_name)
    if "parametrizations" not in d:
        module.register_module("parametrizations", ModuleDict())
    d["parametrizations"].register_module(tensor_name, listed)
    computed(module, tensor_name)
    return module


def append(listed: ParametrizationList, name: str, parametrization: Module, unsafe: bool) -> None:
    """Add a parametrization after the existing ones of a tensor."""
    with no_grad():
        before = listed()
    listed.append(parametrization)
    try:
        check(listed, name, describe(before), unsafe)
        if not unsafe:
            check_inverse(name, parametrization, before)
    except Exception:
        del listed[len(listed) - 1]
        raise
    listed.unsafe = listed.unsafe or unsafe


def check(listed: ParametrizationList, name: str, before: str, unsafe: bool) -> None:
    """Raise ArgumentError if dtype or shape change, unless `unsafe` is True."""
    with no_grad():
        after = describe(listed())
    if not unsafe and after != before:
        raise ArgumentError(
            f"register_parametrization: the parametrization of {name!r} must not change {before}, got {after}; pass "
            "unsafe=True to allow the change"
        )


def check_inverse(name: str, parametrization: Any, value: Tensor) -> None:
    """Raise ArgumentError if `right_inverse` of an added parametrization changes dtype or shape."""
    if not hasattr(parametrization, "right_inverse"):
        return
    with no_grad(), suppress(NotImplementedError):
        after = describe(parametrization.right_inverse(parametrization(value)))
        if after != describe(value):
            raise ArgumentError(
                f"register_parametrization: right_inverse of the parametrization of {name!r} must return "
                f"{describe(value)}, got {after}; pass unsafe=True to allow the change"
            )


def base_and_names(module: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the class of a module before parametrization, and the names of its parametrized and pruned tensors."""
    kind = type(module)
    return (kind.base, kind.names) if issubclass(kind, Parametrized) else (kind, ())


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Return whether a module is parametrized, or whether the given tensor is."""
    table = module.__dict__.get("parametrizations", ())
    return bool(len(table)) if tensor_name is None else tensor_name in table


def type_before_parametrizations(module: Any) -> Any:
    """Return the class of a module before parametrization."""
    return base_and_names(module)[0]


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized tensor an ordinary parameter or buffer again.

    module: The module, changed in place.
    leave_parametrized: Whether the tensor keeps the computed value. If False, the tensor has its original value.

    Raises ArgumentError if the tensor is not parametrized, or has several originals and `leave_parametrized` is False.
    """
    if not is_parametrized(module, tensor_name):
        raise ArgumentError(
            f"remove_parametrizations: {type(module).__name__} has no parametrization {tensor_name!r}; check with "
            "is_parametrized first"
        )
    table = module.__dict__["parametrizations"]
    listed: Any = table[tensor_name]
    if not listed.is_tensor and not leave_parametrized:
        raise ArgumentError(
            f"remove_parametrizations: {tensor_name!r} has {len(listed.names)} original tensors, so it can only be "
            "replaced by its present value; pass leave_parametrized=True"
        )
    with no_grad():
        value = listed() if leave_parametrized else listed.original
    first = getattr(listed, listed.names[0])
    trained = listed.names[0] in listed.__dict__[PARAMETERS]
    if trained and listed.is_tensor and first.shape == value.shape:
        with no_grad():
            first.copy_(value)  # the values are copied, so an optimizer still trains the same object
        value = first
    elif trained and listed.is_tensor:
        adopt(first, value.detach())
        value = first
    elif trained:
        value = Parameter(value.clone()).requires_grad_(first.requires_grad)
    del table[tensor_name]
    if not len(table):
        del module.parametrizations
    uncomputed(module, tensor_name)
    if trained:
        module.register_parameter(tensor_name, value)
    else:
        module.register_buffer(tensor_name, value)
    return module


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Give another module the parametrizations of a module, with the same original tensors.

    from_module: Module with parametrizations; without them, nothing happens.
    to_module: Module that receives them. A tensor that it does not have is created.
    tensor_name: Name of one parametrized tensor; by default all are transferred.

    Returns (Module): `to_module`.

    Raises DeclarationError if `from_module` has parametrizations, but not one of `tensor_name`.
    """
    if not is_parametrized(from_module):
        return to_module
    if tensor_name is not None and not is_parametrized(from_module, tensor_name):
        raise DeclarationError(
            f"transfer_parametrizations_and_params: {type(from_module).__name__} has no parametrized tensor "
            f"{tensor_name!r}, only {', '.join(from_module.parametrizations)}; pass one of these names"
        )
    for name in [*from_module.parametrizations] if tensor_name is None else [tensor_name]:
        source: Any = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for function in source:
            register_parametrization(to_module, name, function)
        for original in source.names:
            setattr(to_module.parametrizations[name], original, getattr(source, original))
    return to_module


def expect_module(name: str, module: Any, tensor_name: str) -> Any:
    """Return a tensor of a module; raise DeclarationError if there is no such tensor."""
    weight = getattr(module, tensor_name, None)
    if not isinstance(weight, Tensor):
        raise DeclarationError(
            f"{name}: {type(module).__name__} has no parameter {tensor_name!r}; list the names with named_parameters()"
        )
    return weight
