"""Nested tuples, lists and dicts of tensors: taken apart into leaves, and put together again.

What is none of the three is a leaf: a tensor, None, a number, any other object.  A named tuple keeps its class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from minigrad.errors import ArgumentError
from minigrad.runtime.tensor import Tensor, describe


class Tree:
    """How a value is nested.  kind: None for a leaf, else the class; keys: those of a dict; parts: what it holds."""

    __slots__ = ("keys", "kind", "parts", "size")

    def __init__(self, kind: Any = None, keys: tuple[Any, ...] = (), parts: Sequence[Tree] = ()) -> None:
        self.kind, self.keys, self.parts = kind, keys, tuple(parts)
        self.size: int = sum(part.size for part in self.parts) if kind is not None else 1

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tree) and self.kind is other.kind and set(self.keys) == set(other.keys)
            and self.parts == other.parts
        )  # fmt: skip

    __hash__ = None  # type: ignore[assignment]

    def build(self, leaves: Iterator[Any]) -> Any:
        """The nested value with these leaves."""
        if self.kind is None:
            return next(leaves)
        parts = [part.build(leaves) for part in self.parts]
        if issubclass(self.kind, dict):
            return self.kind(zip(self.keys, parts))
        return self.kind(*parts) if hasattr(self.kind, "_fields") else self.kind(parts)

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        shown = [f"{key!r}: {part}" for key, part in zip(self.keys, self.parts)] if self.keys else map(repr, self.parts)
        return f"{self.kind.__name__}({', '.join(shown)})"


LEAF = Tree()


def flatten(value: Any) -> tuple[list[Any], Tree]:
    """The leaves in order, and the tree."""
    if isinstance(value, Tensor):
        return [value], LEAF
    leaves: list[Any] = []
    return leaves, _take_apart(value, leaves)


def _take_apart(value: Any, leaves: list[Any]) -> Tree:
    kind = value.__class__
    if issubclass(kind, dict):
        return Tree(kind, tuple(value), [_take_apart(value[key], leaves) for key in value])
    if issubclass(kind, (tuple, list)):
        return Tree(kind, (), [_take_apart(each, leaves) for each in value])
    leaves.append(value)
    return LEAF


def unflatten(tree: Tree, leaves: Sequence[Any]) -> Any:
    """The value of a tree with these leaves."""
    return leaves[0] if tree.kind is None else tree.build(iter(leaves))


def tree_map(function: Callable[[Any], Any], value: Any) -> Any:
    """The value with `function` of each leaf in the leaf's place."""
    if isinstance(value, Tensor):
        return function(value)
    leaves, tree = flatten(value)
    return unflatten(tree, [function(x) for x in leaves])


def spread(prefix: Any, tree: Tree, name: str, whole: str) -> list[Any]:
    """One entry of `prefix` for each leaf of the tree: a value stands for all that is nested below its place.

    Raises ArgumentError where the two are not nested alike.
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
        raise ArgumentError(f"{name}={describe(prefix)} does not fit {whole}, which is nested as {tree}")
    return [each for entry, part in zip(entries, tree.parts) for each in spread(entry, part, name, whole)]
