"""Nested tuples, lists and dicts of tensors: flatten them into leaves, and rebuild them.

Every other object is a leaf: a tensor, None, a number, or an object of another class.  A named tuple keeps its class.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from minigrad.errors import ArgumentError
from minigrad.runtime.tensor import Tensor, describe


class Tree:
    """Describe how a value is nested.

    `kind` is None for a leaf, and otherwise the class of the container.  `keys` are the keys of a dict, and `parts` the
    trees of the entries.  If the class is a subclass of dict, `empty` is a copy of the dict without its entries, which
    preserves other state, such as a default factory.
    """

    __slots__ = ("empty", "keys", "kind", "parts", "size")

    def __init__(
        self, kind: Any = None, keys: tuple[Any, ...] = (), parts: Sequence[Tree] = (), empty: Any = None
    ) -> None:
        self.kind, self.keys, self.parts, self.empty = kind, keys, tuple(parts), empty
        self.size: int = sum(part.size for part in self.parts) if kind is not None else 1

    def build(self, leaves: Iterator[Any]) -> Any:
        """Return the nested value with these leaves."""
        if self.kind is None:
            return next(leaves)
        parts = [part.build(leaves) for part in self.parts]
        if self.kind is dict:
            return dict(zip(self.keys, parts))
        if self.empty is not None:
            made = copy.copy(self.empty)
            for key, part in zip(self.keys, parts):
                made[key] = part
            return made
        return self.kind(*parts) if hasattr(self.kind, "_fields") else self.kind(parts)

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        shown = [f"{key!r}: {part}" for key, part in zip(self.keys, self.parts)] if self.keys else map(repr, self.parts)
        return f"{self.kind.__name__}({', '.join(shown)})"


LEAF = Tree()


def flatten(value: Any) -> tuple[list[Any], Tree]:
    """Return the leaves of a value in order, and its tree."""
    if isinstance(value, Tensor):
        return [value], LEAF
    leaves: list[Any] = []
    return leaves, _take_apart(value, leaves)


def _take_apart(value: Any, leaves: list[Any]) -> Tree:
    kind = value.__class__
    if issubclass(kind, dict):
        parts = [_take_apart(value[key], leaves) for key in value]
        return Tree(kind, tuple(value), parts, None if kind is dict else emptied(value))
    if issubclass(kind, (tuple, list)):
        return Tree(kind, (), [_take_apart(each, leaves) for each in value])
    leaves.append(value)
    return LEAF


def emptied(value: dict[Any, Any]) -> dict[Any, Any]:
    """Return a copy without entries; this does not call the class, whose arguments may differ (defaultdict)."""
    empty = copy.copy(value)
    empty.clear()
    return empty


def unflatten(tree: Tree, leaves: Sequence[Any]) -> Any:
    """Return the value with a given tree and leaves."""
    return leaves[0] if tree.kind is None else tree.build(iter(leaves))


def tree_map(function: Callable[..., Any], value: Any, *others: Any) -> Any:
    """Return the value with each leaf x replaced by function(x, *matching leaves of `others`).

    Tuples, named tuples, lists and dicts are traversed to any depth; every other object is a leaf.
    Raises ArgumentError if one of `others` is not nested like `value`.

    >>> tree_map(lambda x, g: x - g, {"a": 3.0, "b": [1.0, 2.0]}, {"a": 1.0, "b": [0.5, 0.5]})
    {'a': 2.0, 'b': [0.5, 1.5]}
    """
    if isinstance(value, Tensor) and not others:
        return function(value)
    leaves, tree = flatten(value)
    columns = [leaves]
    for each in others:
        more = leaves_as(tree, each)
        if more is None:
            raise ArgumentError(
                f"tree_map: all trees must be nested as {tree}, got {flatten(each)[1]}; pass trees with the same "
                "structure"
            )
        columns.append(more)
    return unflatten(tree, [function(*xs) for xs in zip(*columns)])


def leaves_as(tree: Tree, value: Any) -> list[Any] | None:
    """Return the leaves of a value in the order of a tree, or None if the value is nested differently.

    The order of the keys of a dict does not matter.
    """
    if tree.kind is None and isinstance(value, Tensor):
        return [value]
    leaves: list[Any] = []
    pending = [(tree, value)]
    while pending:
        part, x = pending.pop()
        if part.kind is None:
            if isinstance(x, (tuple, list, dict)):
                return None
            leaves.append(x)
            continue
        if x.__class__ is not part.kind or len(x) != len(part.parts) or (part.keys and set(x) != set(part.keys)):
            return None
        inner = [x[key] for key in part.keys] if part.keys else x
        pending += reversed(list(zip(part.parts, inner)))
    return leaves


def spread(prefix: Any, tree: Tree, name: str, whole: str) -> list[Any]:
    """Return one entry of `prefix` for each leaf of the tree; a value in `prefix` applies to all leaves below it.

    Raises ArgumentError if the two are nested differently.
    """
    if prefix is None or isinstance(prefix, int):
        return [prefix] * tree.size
    kind = tree.kind
    entries: list[Any] | None = None
    if isinstance(prefix, dict) and kind is not None and issubclass(kind, dict):
        if set(prefix) == set(tree.keys):
            entries = [prefix[key] for key in tree.keys]
    elif isinstance(prefix, (tuple, list)) and kind is not None and not issubclass(kind, dict):
        entries = list(prefix)
    if entries is None or len(entries) != len(tree.parts):
        raise ArgumentError(
            f"{name} must be nested as {whole} or a prefix of it, which is nested as {tree}, got {describe(prefix)}; "
            "pass a single value for all leaves"
        )
    return [each for entry, part in zip(entries, tree.parts) for each in spread(entry, part, name, whole)]
