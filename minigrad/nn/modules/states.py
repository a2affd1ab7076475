"""The state of a module by name: `state_dict` and `load_state_dict`, with PyTorch's keys."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from minigrad.errors import DeclarationError, StateError, absent_method
from minigrad.nn.modules.hooks import Hooked, RemovableHandle
from minigrad.nn.modules.members import BUFFERS, CHILDREN, PARAMETERS
from minigrad.nn.parameter import Uninitialized, adopt
from minigrad.ops.creation import from_numpy
from minigrad.runtime.changes import changes
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe

EXTRA = "_extra_state"
SHOWN = 8  # largest number of keys of one kind in an error message


class State(OrderedDict[str, Any]):
    """A state dict with the versions of the modules in `_metadata`, which pickle and `torch.save` preserve."""

    _metadata: dict[str, dict[str, Any]]


class Loading(State):
    """A copy of a state dict while it is loaded: values are written after every module has checked its part."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._metadata = getattr(state, "_metadata", {})
        self.writes: list[Callable[[], Any]] = []

    def part(self, prefix: str) -> Loading:
        """Return the part for a child, whose keys have a prefix; hooks of the child receive this part alone."""
        child = Loading({key: value for key, value in self.items() if key.startswith(prefix)})
        child._metadata, child.writes = self._metadata, self.writes
        return child


class IncompatibleKeys(NamedTuple):
    """The result of `load_state_dict`: keys that the state lacks, and keys that the module does not have."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class Stateful(Hooked):
    """The state of a module by name; this is a base class of `Module`."""

    _version = 1
    _state_hooks: dict[str, dict[int, Any]] | None = None

    # ---- out

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return the parameters and persistent buffers by name.

        destination (dict): Dict that receives the values; a new OrderedDict if None.
        prefix: Prefix of each key.
        keep_vars: Whether to return the parameters themselves, instead of tensors without history that share their
        memory.

        Returns (OrderedDict): PyTorch's keys in PyTorch's order. The tensors share memory with the module. A parameter
        with several names appears under each of them.

        >>> list(mg.nn.Sequential(mg.nn.Linear(2, 3)).state_dict())
        ['0.weight', '0.bias']
        """
        named: tuple[Any, ...] = (destination, prefix, keep_vars)
        destination, prefix, keep_vars = [*args, *named[len(args) :]]
        if destination is None:
            destination = State()
            destination._metadata = {}
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._hooks_of("pre"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name in self.__dict__[CHILDREN]:
            child = self.__dict__[name]
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._hooks_of("post"):
            new = hook(self, destination, prefix, metadata)
            destination = destination if new is None else new
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Add the members of this module, without its children, to a state dict."""
        d = self.__dict__
        for name in [*d[PARAMETERS], *[name for name, persistent in d[BUFFERS].items() if persistent]]:
            if d[name] is not None:
                destination[prefix + name] = d[name] if keep_vars else d[name].detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """Return additional state for `state_dict`; a subclass that overrides it also overrides `set_extra_state`."""
        raise absent_method(self, "a module with extra state", "get_extra_state(self)")

    def set_extra_state(self, state: Any) -> None:
        """Restore the additional state, which is the result of `get_extra_state`."""
        raise absent_method(self, "a module with extra state", "set_extra_state(self, state)")

    # ---- in

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Write a state into the parameters and buffers.

        state_dict (mapping of str to Tensor or array): Values by name. Each value is converted to the dtype and device
        of the member that receives it.
        strict: Whether the keys must be exactly the keys of the module.
        assign: Whether the members adopt the memory, dtype and device of the given tensors. The members remain the same
        objects, so an existing optimizer continues to train them.

        Returns: `missing_keys` and `unexpected_keys`.

        Raises StateError if keys are missing or unexpected with `strict`, or if shapes differ. The message lists these
        keys, and no value is written.
        Raises DeclarationError if `state_dict` is not a mapping.
        """
        if not isinstance(state_dict, Mapping):
            raise DeclarationError(
                f"load_state_dict: state_dict must be a dict of tensors, got {describe(state_dict)}; read a file with "
                "mg.load(path) first"
            )
        loading = Loading(state_dict)
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        self._load_parts(loading, "", strict, missing, unexpected, errors, assign)
        result = IncompatibleKeys(missing, unexpected)
        early = strict and bool(missing or unexpected)
        if early:
            self._after_loading(result)  # a hook may remove keys that it expects to be missing
        if errors or (strict and (missing or unexpected)):
            raise self._misfit(missing if strict else [], unexpected if strict else [], errors, set(self.state_dict()))
        with no_grad():
            for write in loading.writes:
                write()
        changes.count += 1
        if not early:
            self._after_loading(result)
            if strict and (missing or unexpected):
                raise StateError(
                    f"load_state_dict: the state was loaded, but a hook of {type(self).__name__} added missing keys, "
                    f"{missing}, and unexpected keys, {unexpected}",
                    missing_keys=missing, unexpected_keys=unexpected, errors=[],
                )  # fmt: skip
        return result

    def _after_loading(self, result: IncompatibleKeys) -> None:
        for module in self.modules():
            for hook in module._hooks_of("load_post"):
                hook(module, result)

    def _load_parts(
        self, state: Loading, prefix: str, strict: bool, missing: list[str], unexpected: list[str], errors: list[str],
        assign: bool,
    ) -> None:  # fmt: skip
        metadata = {**state._metadata.get(prefix[:-1], {}), "assign_to_params_buffers": assign}
        for hook, with_module in self._hooks_of("load_pre"):
            arguments = (state, prefix, metadata, strict, missing, unexpected, errors)
            hook(self, *arguments) if with_module else hook(*arguments)
        self._load_from_state_dict(state, prefix, metadata, strict, missing, unexpected, errors)
        for name in self.__dict__[CHILDREN]:
            child = self.__dict__[name]
            if child is not None:
                path = f"{prefix}{name}."
                child._load_parts(state.part(path), path, strict, missing, unexpected, errors, assign)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Check the part of a state that belongs to this module, and schedule the writes; subclasses may extend it."""
        d = self.__dict__
        assign = local_metadata.get("assign_to_params_buffers", False)
        persistent = [name for name, keep in d[BUFFERS].items() if keep]
        own = {name: d[name] for name in [*d[PARAMETERS], *persistent] if d[name] is not None}
        # A subclass may pass a plain dict, whose values are written at once.
        later: Callable[[Any], Any] = state_dict.writes.append if isinstance(state_dict, Loading) else lambda f: f()
        for name, x in own.items():
            if prefix + name not in state_dict:
                missing_keys.append(prefix + name)
                continue
            value = as_tensor(state_dict[prefix + name])
            if isinstance(x, Uninitialized) and value is not None:
                if not isinstance(value, Uninitialized):
                    later(partial(fill, x, value, assign))
            elif isinstance(value, Uninitialized):
                error_msgs.append(f"{prefix}{name}: the shape of an uninitialized tensor in the state is not known")
            elif value is None or fitting(value, x).shape != x.shape:
                error_msgs.append(f"{prefix}{name}: {describe(state_dict[prefix + name] if value is None else value)} "
                                  f"in the state, {describe(x)} in the module")  # fmt: skip
            else:
                later(partial(write, x, fitting(value, x), assign))
        names = {*own, *d[CHILDREN]}
        if type(self).set_extra_state is not Stateful.set_extra_state:
            names.add(EXTRA)
            if prefix + EXTRA not in state_dict:
                missing_keys.append(prefix + EXTRA)
            else:
                later(partial(self.set_extra_state, state_dict[prefix + EXTRA]))
        rests = [key[len(prefix) :] for key in state_dict if key.startswith(prefix)]
        unexpected_keys += [prefix + key for key in rests if self._is_unexpected(key, names)]

    def _is_unexpected(self, key: str, names: set[str]) -> bool:
        first, _, rest = key.partition(".")
        return first not in names or (bool(rest) and first not in self.__dict__[CHILDREN])

    def _misfit(self, missing: list[str], unexpected: list[str], errors: list[str], own: set[str]) -> StateError:
        """Return the error that lists all keys that do not match."""
        parts = ((f"{len(missing)} missing", missing), (f"{len(unexpected)} unexpected", unexpected),
                 (f"{len(errors)} not fitting", errors))  # fmt: skip
        lines = [f"\n  {title}: {', '.join(keys[:SHOWN])}{', ...' if len(keys) > SHOWN else ''}"
                 for title, keys in parts if keys]  # fmt: skip
        cut = [key.partition(".")[2] for key in unexpected]
        heads = {key.partition(".")[0] for key in unexpected}
        if unexpected and len(heads) == 1 and set(cut) <= own:
            (head,) = heads
            lines.append(f"\n  every unexpected key begins with {head!r}: write "
                         f"{{k.removeprefix('{head}.'): v for k, v in state.items()}}")  # fmt: skip
        return StateError(
            f"load_state_dict: the state does not fit {type(self).__name__}; nothing was loaded{''.join(lines)}",
            missing_keys=missing, unexpected_keys=unexpected, errors=errors,
        )  # fmt: skip

    # ---- hooks

    def _hooks_of(self, kind: str) -> list[Any]:
        return list(self._state_hooks.get(kind, {}).values()) if self._state_hooks else []

    def _add_state_hook(self, kind: str, entry: Any) -> RemovableHandle:
        if self._state_hooks is None:
            object.__setattr__(self, "_state_hooks", {})
        assert self._state_hooks is not None
        return RemovableHandle(self._state_hooks.setdefault(kind, {}), entry)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` reads the module."""
        return self._add_state_hook("pre", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict` has read the module."""
        return self._add_state_hook("post", hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook in `load_state_dict`, before the module reads its values from the state.

        The hook is called as `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)`.  It may change `state_dict`, which is a copy.
        """
        return self._add_state_hook("load_pre", (hook, True))

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> Any:
        return self._add_state_hook("load_pre", (hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after a state was loaded."""
        return self._add_state_hook("load_post", hook)


def as_tensor(value: Any) -> Tensor | None:
    """Return a value of a state as a tensor, or None for a value that is not an array."""
    if isinstance(value, Tensor):
        return value
    if not hasattr(value, "__array__"):
        return None
    return from_numpy(np.asarray(value))


def fitting(value: Tensor, x: Tensor) -> Tensor:
    """Return a value of shape (1,) with shape () for a member of shape (), as old PyTorch files require."""
    return value.reshape(()) if x.ndim == 0 and value.shape == (1,) else value


def write(x: Tensor, value: Tensor, assign: bool) -> None:
    """Copy a value into a member; with `assign`, the member adopts its memory."""
    if assign:
        adopt(x, value.detach())
    else:
        x.copy_(value)


def fill(x: Uninitialized, value: Tensor, assign: bool) -> None:
    """Copy a value into a member without a shape, which gets that of the value."""
    x.materialize(value.shape)
    write(x, value, assign)
