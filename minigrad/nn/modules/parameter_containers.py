"""Lists and dicts of parameters, which register their parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from minigrad.errors import DeclarationError
from minigrad.nn.modules.containers import _Dictionary, position
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter, is_parameter
from minigrad.runtime.tensor import Tensor, describe


def as_parameter(value: Any) -> Any:
    """Return a tensor without history as a parameter that shares its memory; return any other value unchanged."""
    if isinstance(value, Tensor) and not is_parameter(value):
        return Parameter(value)
    return value


def line(name: Any, value: Any) -> str:
    """Return the line of `repr` for one value of a container."""
    if not isinstance(value, Tensor):
        return f"({name}): Object of type: {type(value).__name__}"
    size = "x".join(map(str, value.shape))
    kind = "Parameter" if is_parameter(value) else "Tensor"
    return f"({name}): {kind} containing: [{value.dtype} of size {size}]"


class ParameterList(Module):
    """Store parameters in a list and register them; other values may be stored as well, and are not trained.

    values: Initial values. A tensor becomes a parameter.

    >>> weights = mg.nn.ParameterList([mg.zeros(2), mg.zeros(3)])
    >>> [name for name, _ in weights.named_parameters()]
    ['0', '1']
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(() if values is None else values)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)([self[k] for k in range(self._size)[idx]])
        return self.__dict__[str(position(self, idx))]

    def __setitem__(self, idx: Any, param: Any) -> None:
        setattr(self, str(position(self, idx)), as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[k] for k in range(self._size)])

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add a value at the end, and return the list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end, and return the list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise DeclarationError(
                f"ParameterList.extend: values must be an iterable of parameters, got {describe(values)}; pass a list "
                "of nn.Parameter"
            )
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(line(k, value) for k, value in enumerate(self))


class ParameterDict(_Dictionary):
    """Store parameters in a dict, in insertion order, and register them; other values are not trained.

    parameters (mapping, or iterable of pairs): Initial values by name. A tensor becomes a parameter.

    >>> table = mg.nn.ParameterDict({"scale": mg.ones(1)})
    >>> table["scale"].requires_grad, list(table)
    (True, ['scale'])
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _table(self) -> dict[str, Any]:
        return self._keys

    def __setitem__(self, key: Any, value: Any) -> None:
        name = str(key)
        if name not in self._keys and hasattr(self, name):
            raise KeyError(f"ParameterDict: {name!r} is the name of an attribute and cannot be a key; use another key")
        self._keys[name] = None
        setattr(self, name, as_parameter(value))

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(key)
        del self._keys[str(key)]

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return str(key) in self._keys

    def __or__(self, other: Any) -> ParameterDict:
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: Any) -> ParameterDict:
        result = ParameterDict(OrderedDict(other))
        result.update(self)
        return result

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """Return a new ParameterDict with the same values."""
        return ParameterDict(self)

    def fromkeys(self, keys: Iterable[Any], default: Any = None) -> ParameterDict:
        """Return a new ParameterDict with the same value for all keys."""
        return ParameterDict((key, default) for key in keys)

    def popitem(self) -> tuple[str, Any]:
        """Remove the key that was added last, and return the key and its value."""
        if not self._keys:
            raise KeyError("popitem: the ParameterDict must not be empty, got no entries; check len() first")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key; an absent key is first added with a default value."""
        if key not in self:
            self[key] = default
        return self[key]

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, or a default if the key is absent."""
        return self.__dict__[str(key)] if key in self else default

    def keys(self) -> Any:
        """Return the keys."""
        return self._keys.keys()

    def items(self) -> list[tuple[str, Any]]:
        """Return pairs of key and value."""
        return [(key, self[key]) for key in self]

    def values(self) -> list[Any]:
        """Return the values."""
        return [self[key] for key in self]

    def update(self, parameters: Any) -> None:
        """Add values from a mapping, or from (key, value) pairs; the keys of a plain dict are sorted first."""
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            # The keys are sorted as in PyTorch, because the state of an optimizer depends on the order of the
            # parameters.
            pairs = sorted(pairs)
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(line(key, value) for key, value in self.items())
