"""Execution of hooks: each receives the gradient that the previous one returned.

For a result, the order is: the hooks of the tensor, `retain_grad`, the node's hooks before its rules, the rules, and
the node's hooks after its rules.  For a leaf, the order is: the hooks of the leaf, the accumulation into `.grad`, and
the hooks after the accumulation.  A hook returns None to leave a gradient unchanged, or another gradient of the same
shape, dtype and device.  A hook runs in the grad mode of the backward pass, so with `create_graph=True` its ops are
recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from minigrad.autodiff.convention import all_conjugated, conjugated
from minigrad.autodiff.watching import versions
from minigrad.errors import GradientError
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.hooks import AFTER, BEFORE, in_sequence, leaf_hooks
from minigrad.runtime.observers import observed
from minigrad.runtime.recording import definition_of
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.var import unlike

Pairs = list[tuple[Any, Tensor]]


def hooked(node: BackpropOp, k: int, g: Tensor) -> Tensor:
    """Return the complete gradient of the k-th result after the hooks of that result.

    Raises GradientError, ShapeError, DTypeError or DeviceError if the result of a hook does not match the gradient, and
    GradientError if a hook writes into the gradient, whose memory may be shared.
    """
    hooks = (node.hooks or {}).get(k)
    return run(hooks.values(), g, node.name if node.ids is None else Output(node, k).name) if hooks else g


def hooked_leaf(leaf: Tensor, g: Tensor, accumulates: bool = True) -> Tensor:
    """Return the gradient of a leaf after its hooks, with the errors of `hooked`.

    accumulates: whether the pass changes `.grad`, so that the hooks of the leaf's own node run too.
    """
    hooks = leaf_hooks.get(leaf.id)
    return run(in_sequence(hooks, accumulates), g, f"the Var {describe(leaf)}") if hooks else g


def run(hooks: Iterable[Any], g: Tensor, owner: str) -> Tensor:
    """Call the hooks of a tensor in order, and return the gradient after them."""
    g = conjugated(g)
    for hook in tuple(hooks):
        whose = who("register_hook", hook, owner)
        (replacement,) = call(hook, (g,), (g,), whose)
        if replacement is not None:
            check_replacement(whose, g, replacement)
            g = replacement
    return conjugated(g)


def call(hook: Any, arguments: tuple[Any, ...], gradients: Sequence[Tensor | None], whose: str) -> tuple[Any, ...]:
    """Return the result of a hook in a tuple.  Raise GradientError if it wrote into a gradient."""
    before = versions(gradients)
    returned = hook(*arguments)
    for g, then, now in zip(gradients, before, versions(gradients)):
        if then != now:
            raise GradientError(
                f"{whose} must not write into the gradient {describe(g)}, because other tensors share its memory; "
                "return a new tensor instead"
            )
    return (returned,)


def check_replacement(whose: str, g: Tensor, replacement: Any) -> None:
    """Raise an error unless the result of a hook can replace the gradient."""
    wrong = unlike(replacement, g)
    if wrong is not None:
        error, got = wrong
        raise error(
            f"{whose} must return None or a gradient {describe(g)} on {g.device}, like the gradient that it received, "
            f"got {got}"
        )  # fmt: skip


def who(name: str, hook: Any, owner: str) -> str:
    """Describe the hook for messages, with the line where it was defined."""
    definition = definition_of(hook)
    return f"{name}: the hook{definition and f' at {definition}'} on {owner}"


# ---- the hooks of a node --------------------------------------------------------------------------------------------


class Around:
    """A replacement for a node in a backward pass, whose `pull` does additional work before and after the node's."""

    __slots__ = ("node",)

    def __init__(self, node: Any) -> None:
        self.node = node

    @property
    def saved(self) -> Any:
        """The node's own saved values."""
        return self.node.saved

    @saved.setter
    def saved(self, value: Any) -> None:
        self.node.saved = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)


class Hooked(Around):
    """A node with hooks.  They do not run if a backward pass ends at the node."""

    __slots__ = ()

    def pull(self, gradients: Sequence[Tensor | None], wanted: set[int] | None, create: bool) -> Pairs:
        """Run the node's pull between its hooks."""
        node = self.node
        if wanted is not None and not any(p is not None and p.id in wanted for p in node.parents):
            return []
        gradients = all_conjugated(gradients)
        for hook in tuple(node.hooks.get(BEFORE, {}).values()):
            whose = who("register_prehook", hook, node.name)
            gradients = replaced(hook, (tuple(gradients),), gradients, gradients, whose)
        pairs: Pairs = node.pull(all_conjugated(gradients), wanted, create)
        hooks = tuple(node.hooks.get(AFTER, {}).values())
        if not hooks:
            return pairs
        parts: list[Tensor | None] = [None] * len(node.parents)
        for k, (_, partial) in zip(operands_of(node, pairs), pairs, strict=True):
            parts[k] = conjugated(partial)
        for hook in hooks:
            whose = who("register_hook", hook, node.name)
            parts = list(replaced(hook, (tuple(parts), tuple(gradients)), (*parts, *gradients), parts, whose))
        return [(parent, conjugated(g)) for parent, g in zip(node.parents, parts) if g is not None]


def replaced(
    hook: Any, arguments: tuple[Any, ...], gradients: Sequence[Tensor | None], old: Sequence[Tensor | None], whose: str
) -> Sequence[Tensor | None]:
    """Return the gradients of a node after a hook that received the gradients `old`.

    A hook returns None to keep all of them, or a tuple in which None keeps one of them.
    """
    (returned,) = call(hook, arguments, gradients, whose)
    if returned is None:
        return old
    new = (returned,) if isinstance(returned, Tensor) else returned
    if not isinstance(new, (tuple, list)) or len(new) != len(old):
        got = f"{len(new)} gradients" if isinstance(new, (tuple, list)) else describe(returned)
        raise GradientError(
            f"{whose} must return None or a tuple of {len(old)} gradients, got {got}; return one gradient per input"
        )
    for g, each in zip(old, new):
        if each is not None:
            if g is None:
                raise GradientError(
                    f"{whose} must return None for an input without a gradient, got {describe(each)}; return None for "
                    "this input"
                )
            check_replacement(whose, g, each)
    return [g if each is None else each for g, each in zip(old, new)]


def operands_of(node: Any, pairs: Pairs) -> list[int]:
    """Return the index of the operand that each pair of a `pull` belongs to; the pairs are in operand order."""
    result, k = [], 0
    for parent, _ in pairs:
        while node.parents[k] is not parent:
            k += 1
        result.append(k)
        k += 1
    return result


def looked_at(nodes: list[BackpropOp]) -> list[Any]:
    """Return the nodes of a backward pass; nodes with hooks or observers are replaced."""
    result: list[Any] = [Hooked(node) if node.hooks and {BEFORE, AFTER} & node.hooks.keys() else node for node in nodes]
    for pull in observed.pulling:
        result = [pull(node) for node in result]
    return result
