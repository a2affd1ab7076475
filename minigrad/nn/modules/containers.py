"""Containers: sequences and dicts of modules, which register their modules as children."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import index
from typing import Any, Self

from minigrad.core.roles import Number
from minigrad.errors import DeclarationError, IndexOutOfRange
from minigrad.nn.modules.members import CHILDREN
from minigrad.nn.modules.module import Module
from minigrad.runtime.changes import changes
from minigrad.runtime.tensor import describe


def position(container: Any, idx: Any) -> int:
    """Return an index of a container, counted from 0, or raise IndexOutOfRange."""
    k, n = index(idx), len(container)
    if not -n <= k < n:
        raise IndexOutOfRange(
            f"{type(container).__name__}: expected an index from {-n} to {n - 1}, got {k}; pass an index in this range"
        )
    return k % n


class Identity(Module):
    """Return the input; all arguments of the constructor are ignored, so `Identity` can replace any layer.

    >>> mg.nn.Identity(54, unused=True)(3)
    3
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class _Row(Module):
    """A module whose children are named "0", "1", ...: the common base of Sequential and ModuleList."""

    def _rename(self, modules: Iterable[Any]) -> Self:
        """Replace the children by these modules, named "0", "1", ...."""
        values = list(modules)
        for name in list(self.__dict__[CHILDREN]):
            delattr(self, name)
        for k, module in enumerate(values):
            self.register_module(str(k), module)
        return self

    def _next(self, module: Any) -> None:
        self.register_module(str(len(self)), module)

    def __len__(self) -> int:
        return len(self.__dict__[CHILDREN])

    def __iter__(self) -> Iterator[Any]:
        d = self.__dict__
        return iter([d[name] for name in d[CHILDREN]])

    def __setitem__(self, idx: Any, module: Module) -> None:
        name = list(self.__dict__[CHILDREN])[position(self, idx)]
        setattr(self, name, module)

    def __delitem__(self, idx: Any) -> None:
        kept = list(self)
        if isinstance(idx, slice):
            del kept[idx]
        else:
            del kept[position(self, idx)]
        self._rename(kept)

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before the module with this index, and return the container."""
        modules = list(self)
        modules.insert(index, module)
        return self._rename(modules)

    def append(self, module: Module) -> Self:
        """Add a module at the end, and return the container."""
        self._next(module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end, and return the container."""
        if not isinstance(modules, Iterable):
            raise DeclarationError(
                f"{type(self).__name__}.extend: modules must be an iterable of modules, got {describe(modules)}; pass "
                "a list of modules"
            )
        for module in list(modules):
            self._next(module)
        return self

    def pop(self, key: Any) -> Any:
        """Remove the module with this index, and return it."""
        module = list(self)[position(self, key)]
        del self[key]
        return module

    def __iadd__(self, other: Iterable[Module]) -> Self:
        return self.extend(other)


class Sequential(_Row):
    """Call modules one after another, each with the result of the previous module.

    args (Module, or one dict of str to Module): The modules in order. The keys of a dict are used as names.

    >>> net = mg.nn.Sequential(mg.nn.Linear(4, 8), mg.nn.ReLU(), mg.nn.Linear(8, 2))
    >>> net(mg.zeros(3, 4)).shape
    (3, 2)
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.register_module(name, module)
        else:
            self.extend(args)

    def forward(self, input: Any) -> Any:
        d = self.__dict__
        for name in d[CHILDREN]:
            input = d[name](input)
        return input

    def __getitem__(self, idx: Any) -> Any:
        names = list(self.__dict__[CHILDREN])
        if isinstance(idx, slice):
            return type(self)({name: self.__dict__[name] for name in names[idx]})
        return self.__dict__[names[position(self, idx)]]

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before the module with this index; raise IndexOutOfRange if the index is out of range."""
        n, advice = len(self), "pass an index in this range"
        Number(-n, n, whole=True, advice=advice, error=IndexOutOfRange).expect("Sequential.insert", index=index)
        return super().insert(index, module)

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            return NotImplemented
        return Sequential(*self, *other)

    def __mul__(self, other: int) -> Sequential:
        advice = "write 2 * model, for example"
        Number(1, whole=True, advice=advice).expect("Sequential", repetitions=other)
        return Sequential(*[module for _ in range(other) for module in self])

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        return self._rename(self * other)


class ModuleList(_Row):
    """Store modules in a list and register them as children.

    modules: Initial modules.

    >>> layers = mg.nn.ModuleList(mg.nn.Linear(4, 4) for _ in range(3))
    >>> len(layers), layers[-1].out_features
    (3, 4)
    """

    _collapses = True

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return list(self)[position(self, idx)]

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])


class _Dictionary(Module):
    """A module that is a dict: the common base of ModuleDict and ParameterDict."""

    def _table(self) -> dict[str, Any]:
        """Return a dict whose keys are those of the module, in their order."""
        return self.__dict__[CHILDREN]

    def __len__(self) -> int:
        return len(self._table())

    def __iter__(self) -> Iterator[str]:
        return iter(self._table())

    def __contains__(self, key: object) -> bool:
        return key in self._table()

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self):
            del self[key]

    def pop(self, key: Any) -> Any:
        """Remove a key and return its value."""
        value = self[key]
        del self[key]
        return value

    def __getitem__(self, key: Any) -> Any:
        if key not in self:
            raise KeyError(key)
        return self.__dict__[str(key)]

    def __delitem__(self, key: Any) -> None:
        self[key]
        delattr(self, str(key))


class ModuleDict(_Dictionary):
    """Store modules in a dict, in insertion order, and register them as children.

    modules (mapping of str to Module, or iterable of pairs): Initial modules by name.

    >>> heads = mg.nn.ModuleDict({"a": mg.nn.Linear(2, 1), "b": mg.nn.Identity()})
    >>> list(heads), "a" in heads
    (['a', 'b'], True)
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __setitem__(self, key: str, module: Module) -> None:
        self.register_module(key, module)

    def keys(self) -> Any:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Return pairs of name and module."""
        return self._modules.items()

    def values(self) -> Any:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping, or from an iterable of (name, module) pairs."""
        changes.count += 1
        for name, module in modules.items() if hasattr(modules, "items") else modules:
            self[name] = module
