"""Members of a module: its parameters, buffers and children are ordinary attributes.

The values are in the dictionary of the instance, so `self.weight` costs as much as any other attribute.  Three more
entries of the dictionary list the names of each kind in the order of their registration.  `__new__` creates these
entries, so a subclass may omit `super().__init__()`.  The text of a module has PyTorch's layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from itertools import groupby
from types import MappingProxyType
from typing import Any, Self

from minigrad.errors import DeclarationError, quantity, warn
from minigrad.nn.parameter import Uninitialized, buffers, is_parameter
from minigrad.runtime.changes import changes
from minigrad.runtime.tensor import Tensor, describe

PARAMETERS, BUFFERS, CHILDREN = "_parameter_names", "_buffer_names", "_child_names"
PLAIN = "_plain_containers"
KINDS = {PARAMETERS: "parameter", BUFFERS: "buffer", CHILDREN: "module"}
# Hooks that run at each registration of a member, by kind; `global_hooks.py` adds them.
registrations: dict[str, dict[int, Callable[..., Any]]] = {kind: {} for kind in KINDS}


class Registered(MutableMapping[str, Any]):
    """The members of one kind by name, such as `module._parameters`; writes change the module."""

    def __init__(self, module: Members, kind: str) -> None:
        self._values, self._names = module.__dict__, module.__dict__[kind]

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._names.setdefault(name, True)
        self._values[name] = value
        changes.count += 1

    def __delitem__(self, name: str) -> None:
        del self._names[name], self._values[name]
        changes.count += 1

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


class Members:
    """The attributes of a module; this is a base class of `Module`."""

    training: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        # `training` exists from the beginning. Otherwise the first `train()` would add an attribute, and mg.jit would
        # record again.
        self.__dict__.update({"training": True, PARAMETERS: {}, BUFFERS: {}, CHILDREN: {}})
        return self

    @property
    def _parameters(self) -> Registered:
        return Registered(self, PARAMETERS)

    @property
    def _buffers(self) -> Registered:
        return Registered(self, BUFFERS)

    @property
    def _modules(self) -> Registered:
        return Registered(self, CHILDREN)

    def __setattr__(self, name: str, value: Any) -> None:
        kind = kind_of(value)
        if kind is not None:
            self._enter(kind, name, value, kind is not BUFFERS or buffers[value.id])
            return
        d = self.__dict__
        for kind in KINDS:
            if name in d[kind]:
                changes.count += 1
                if value is not None and not (kind is BUFFERS and isinstance(value, Tensor)):
                    raise self._refused(name, value, KINDS[kind])
                value = self._seen(kind, name, value)
        if name == "training":
            changes.count += self.training != value
        elif isinstance(value, (list, tuple, dict)) and not self._warn_of_hidden(name, value):
            # `_check_plain` checks whether modules were added to this container later.
            d.setdefault(PLAIN, {})[name] = True
        changes.count += d.get(name) is not value
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for kind in KINDS:
            changes.count += self.__dict__[kind].pop(name, None) is not None
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]  # the modules of a Sequential are x[0]

    def _enter(self, kind: str, name: str, value: Any, persistent: bool = True) -> None:
        """Register a value as a member of one kind, and of no other kind."""
        d = self.__dict__
        value = self._seen(kind, name, value)
        for other in KINDS:
            if other is not kind:
                d[other].pop(name, None)
        d[kind][name] = persistent if kind is BUFFERS else True
        d[name] = value
        changes.count += 1

    def _seen(self, kind: str, name: str, value: Any) -> Any:
        """Return a value after the registration hooks; as in PyTorch, the hooks do not receive None as a parameter."""
        for hook in tuple(registrations[kind].values()) if value is not None or kind is not PARAMETERS else ():
            new = hook(self, name, value)
            value = value if new is None else new
        return value

    def _refused(self, name: str, value: Any, kind: str, registering: bool = False) -> DeclarationError:
        """Return the error for a value that is not a member of a kind; only an assignment may mean another use."""
        needed = {"parameter": "an mg.nn.Parameter", "buffer": "a tensor", "module": "an mg.nn.Module"}[kind]
        other_use = "" if registering else f", or del {name} first to use the name for another value"
        return DeclarationError(
            f"{type(self).__name__}.{name}: expected {needed} or None for a registered {kind}, got {describe(value)}; "
            f"{instead_of(value, kind)}{other_use}"
        )

    def _check_member(self, name: Any, value: Any, kind: str, fits: bool) -> None:
        """Raise an error for a name that a member of this kind cannot have, or for a value that does not fit."""
        if not isinstance(name, str):
            raise DeclarationError(
                f"register_{KINDS[kind]}: name must be a str, got {describe(name)}; pass 'weight', for example"
            )
        if not name or "." in name:
            raise KeyError(
                f"register_{KINDS[kind]}: name must not be empty or contain '.', got {name!r}; pass a name such as "
                "'weight'"
            )
        if hasattr(self, name) and name not in self.__dict__[kind]:
            raise KeyError(
                f"register_{KINDS[kind]}: {type(self).__name__} has an attribute {name!r} already; pass another name"
            )
        if value is not None and not fits:
            raise self._refused(name, value, KINDS[kind], registering=True)

    def _check_plain(self) -> None:
        """Warn, once per container, of modules that were added to plain containers after these were assigned."""
        d = self.__dict__
        d[PLAIN] = {name: True for name in d[PLAIN]
                    if isinstance(d.get(name), (list, dict)) and not self._warn_of_hidden(name, d[name])}  # fmt: skip

    def _warn_of_hidden(self, name: str, value: Any) -> bool:
        """Warn of modules and parameters in a plain container, which no traversal reaches; return whether any exist."""
        parts = value.values() if isinstance(value, dict) else value
        members = [x for x in parts if kind_of(x) in (PARAMETERS, CHILDREN)]
        if not members:
            return False
        known = {id(x) for x in [*self.modules(), *self.__dict__.values()]}
        hidden = [x for x in members if id(x) not in known]
        if hidden:
            noun = "Parameter" if isinstance(hidden[0], Tensor) else "Module"
            container = f"mg.nn.{noun}{'Dict' if isinstance(value, dict) else 'List'}"
            warn(
                f"{type(self).__name__}.{name} is a {type(value).__name__} with {quantity(len(hidden), noun.lower())}, "
                f"which parameters() does not return and an optimizer does not train; write {container}(...)"
            )
        return bool(hidden)

    def modules(self) -> Iterator[Any]:
        """Yield this module and all modules below it; `Module` implements this method."""
        raise NotImplementedError

    # ---- copies

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes of a copy or a pickle, with separate lists of names."""
        self.__dict__.update(state)
        for kind in KINDS:
            self.__dict__[kind] = dict(self.__dict__[kind])

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy with separate memory; as in PyTorch, its parameters have no gradients."""
        reduced: Any = self.__reduce_ex__(4)
        make, arguments, state = reduced[:3]
        twin: Self = make(*arguments)
        memo[id(self)] = twin
        twin.__setstate__(deepcopy(state, memo))
        for name in twin.__dict__[PARAMETERS]:
            x = twin.__dict__[name]
            if x is not None:
                x._grad = None
        return twin

    # ---- registration

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter as an attribute; None marks a parameter that is absent.

        name: Name of the attribute and of the key in `state_dict`.
        param (Parameter or None): The parameter to add.

        Raises KeyError if the name is empty, contains a dot, or is the name of another attribute.
        Raises DeclarationError if `param` is not a parameter.
        """
        self._check_member(name, param, PARAMETERS, is_parameter(param))
        self._enter(PARAMETERS, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state of the module but is not trained, such as running statistics.

        name: Name of the attribute and of the key in `state_dict`.
        tensor: The buffer to add.

        Raises KeyError if the name is empty, contains a dot, or is the name of another attribute.
        Raises DeclarationError if `tensor` is not a tensor.
        """
        self._check_member(name, tensor, BUFFERS, isinstance(tensor, Tensor))
        self._enter(BUFFERS, name, tensor, persistent)

    def register_module(self, name: str, module: Any) -> None:
        """Add a child module under a name; `add_module` is the same method.

        Raises KeyError if the name is empty, contains a dot, or is the name of another attribute.
        Raises DeclarationError if `module` is not a module.
        """
        self._check_member(name, module, CHILDREN, isinstance(module, Members))
        self._enter(CHILDREN, name, module)

    add_module = register_module


def instead_of(value: Any, kind: str) -> str:
    """Return what to pass instead of a value that is not a member of a kind."""
    if kind != "module":
        return "pass mg.nn.Parameter(tensor)" if kind == "parameter" else "pass a tensor"
    if isinstance(value, type) and issubclass(value, Members):
        return f"create an instance, as in {value.__name__}()"
    function = str(getattr(value, "__name__", "")).replace("_", "")
    like = next((name for name in sorted(layers(Members)) if name.lower() == function), "ReLU")
    return f"pass a module such as mg.nn.{like}()"


def layers(kind: Any) -> Iterator[str]:
    """Iterate over the names of the layers of this package that derive from a class."""
    for each in kind.__subclasses__():
        if each.__module__.startswith("minigrad.nn."):
            yield each.__name__
            yield from layers(each)


def kind_of(value: Any) -> str | None:
    """Return the kind of member that a value becomes when it is assigned, or None for an ordinary attribute."""
    if isinstance(value, Members):
        return CHILDREN
    if not isinstance(value, Tensor):
        return None
    return BUFFERS if value.id in buffers else PARAMETERS if is_parameter(value) else None


class Shown(Members):
    """The text of a module; this is a base class of `Module`."""

    def parameters(self, recurse: bool = True) -> Any:
        """Yield all parameters; `Module` implements this method."""
        raise NotImplementedError

    _shown: str = ""  # names of the attributes that `repr` shows; those before a "/" are shown without their names
    _shown_unless: Mapping[str, Any] = MappingProxyType({})  # attributes that `repr` shows unless they have this value

    def extra_repr(self) -> str:
        """Return the arguments that `repr` shows; a subclass may override this method."""
        unnamed, _, named = self._shown.rpartition("/")
        values = {name: getattr(self, name) for name in [*unnamed.split(), *named.split(), *self._shown_unless]}
        if "bias" in values and not isinstance(values["bias"], bool):
            values["bias"] = values["bias"] is not None  # as the argument of the constructor
        parts = [f"{value}" if name in unnamed.split() else f"{name}={value}" for name, value in values.items()
                 if name not in self._shown_unless or value != self._shown_unless[name]]  # fmt: skip
        return ", ".join(parts)

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        parameters, text = list(self.parameters()), shown(self)
        if "\n" not in text or any(isinstance(p, Uninitialized) for p in parameters):
            return text
        return f"{text}  # {sum(p.numel() for p in parameters):,} parameters"


def shown(module: Any) -> str:
    """Return the text of a module without the number of its parameters."""
    text = module.extra_repr()
    extra = text.split("\n") if text else []
    children = [f"({name}): {indented(child)}" for name, child in children_of(module)]
    if len(extra) == 1 and not children:
        return f"{module._get_name()}({extra[0]})"
    lines = extra + children
    return f"{module._get_name()}(" + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"


def children_of(module: Any) -> list[tuple[str, str]]:
    """Return names and texts of the children; equal neighbors in a list form one line, `(0-5): 6 x Linear(...)`."""
    d = module.__dict__
    pairs = [(name, own_text(d[name])) for name in d[CHILDREN]]
    if not getattr(module, "_collapses", False):
        return pairs
    lines = []
    for text, run in groupby(pairs, key=lambda pair: pair[1]):
        names = [name for name, _ in run]
        name = names[0] if len(names) == 1 else f"{names[0]}-{names[-1]}"
        lines.append((name, text if len(names) == 1 else f"{len(names)} x {text}"))
    return lines


def own_text(child: Any) -> str:
    """Return the text of a child, which its class may define in `__repr__`."""
    kind: Any = type(child)
    return shown(child) if kind.__repr__ is Shown.__repr__ else repr(child)


def indented(text: str) -> str:
    """Return a text in which all lines after the first are indented by two spaces."""
    return text.replace("\n", "\n  ")
