"""Runs hooks: each sees what the one before it made of the gradient.

At a result: the hooks of the tensor in order, then what `retain_grad` keeps, then the node's own before its rules, the
rules, and those after them.  At a leaf: its hooks, the sum into `.grad`, the hooks after that.  A hook gives None to
leave a gradient as it is, or another of the same shape, dtype and device.  It is called in the grad mode of the walk,
so with `create_graph=True` what it does is differentiated too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from minigrad.autodiff.watching import versions
from minigrad.errors import GradientError
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.hooks import AFTER, BEFORE, leaf_hooks
from minigrad.runtime.likeness import unlike
from minigrad.runtime.observers import observed
from minigrad.runtime.tensor import Tensor, describe

Pairs = list[tuple[Any, Tensor]]


def hooked(node: BackpropOp, k: int, g: Tensor) -> Tensor:
    """The gradient of the k-th result, which is complete, after the hooks of that result.

    Raises GradientError, ShapeError, DTypeError or DeviceError for a hook that gives what is no such gradient, and
    GradientError for one that writes into the gradient: others may share it.
    """
    hooks = (node.hooks or {}).get(k)
    return run(hooks.values(), g, node.name if node.ids is None else Output(node, k).name) if hooks else g


def hooked_leaf(leaf: Tensor, g: Tensor) -> Tensor:
    """The gradient of a leaf after its hooks; raises as `hooked`."""
    hooks = leaf_hooks.get(leaf.id)
    return run(hooks.values(), g, f"the Var {describe(leaf)}") if hooks else g


def run(hooks: Iterable[Any], g: Tensor, owner: str) -> Tensor:
    """Call hooks of a tensor one after another."""
    for hook in tuple(hooks):
        whose = who("register_hook", hook, owner)
        (replacement,) = call(hook, (g,), (g,), whose)
        if replacement is not None:
            check_replacement(whose, g, replacement)
            g = replacement
    return g


def call(hook: Any, arguments: tuple[Any, ...], gradients: Sequence[Tensor | None], whose: str) -> tuple[Any, ...]:
    """What a hook gives, in a tuple.  Raises GradientError if it wrote into a gradient."""
    before = versions(gradients)
    returned = hook(*arguments)
    for g, then, now in zip(gradients, before, versions(gradients)):
        if then != now:
            raise GradientError(
                f"{whose} wrote into the gradient {describe(g)}, which others share; return a new tensor instead"
            )
    return (returned,)


def check_replacement(whose: str, g: Tensor, replacement: Any) -> None:
    """Raise unless what a hook gave can take the place of the gradient."""
    wrong = unlike(replacement, g)
    if wrong is not None:
        error, got = wrong
        raise error(
            f"{whose} gave {got}; expected None, or a gradient {describe(g)} on {g.device} as it was given"
        )  # fmt: skip


def who(name: str, hook: Any, owner: str) -> str:
    """The hook as messages name it, with the line where it was written."""
    code = getattr(hook, "__code__", None)
    position = "" if code is None else f" at {code.co_filename}:{code.co_firstlineno}"
    return f"{name}: the hook{position} on {owner}"


# ---- the hooks of a node --------------------------------------------------------------------------------------------


class Around:
    """A node as a walk sees it whose pull does something before and after: what stands in for it in the list."""

    __slots__ = ("node",)

    def __init__(self, node: Any) -> None:
        self.node = node

    @property
    def saved(self) -> Any:
        """The node's own."""
        return self.node.saved

    @saved.setter
    def saved(self, value: Any) -> None:
        self.node.saved = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)


class Hooked(Around):
    """A node with hooks of its own.  They do not run where a walk ends at it."""

    __slots__ = ()

    def pull(self, gradients: Sequence[Tensor | None], wanted: set[int] | None, create: bool) -> Pairs:
        """The node's pull between its hooks."""
        node = self.node
        if wanted is not None and not any(p is not None and p.id in wanted for p in node.parents):
            return []
        for hook in tuple(node.hooks.get(BEFORE, {}).values()):
            whose = who("register_prehook", hook, node.name)
            gradients = replaced(hook, (tuple(gradients),), gradients, gradients, whose)
        pairs: Pairs = node.pull(gradients, wanted, create)
        hooks = tuple(node.hooks.get(AFTER, {}).values())
        if not hooks:
            return pairs
        parts: list[Tensor | None] = [None] * len(node.parents)
        for k, (_, partial) in zip(operands_of(node, pairs), pairs, strict=True):
            parts[k] = partial
        for hook in hooks:
            whose = who("register_hook", hook, node.name)
            parts = list(replaced(hook, (tuple(parts), tuple(gradients)), (*parts, *gradients), parts, whose))
        return [(parent, g) for parent, g in zip(node.parents, parts) if g is not None]


def replaced(
    hook: Any, arguments: tuple[Any, ...], gradients: Sequence[Tensor | None], old: Sequence[Tensor | None], whose: str
) -> Sequence[Tensor | None]:
    """What a hook of a node makes of the gradients `old`; None keeps all, or one of them."""
    (returned,) = call(hook, arguments, gradients, whose)
    if returned is None:
        return old
    new = (returned,) if isinstance(returned, Tensor) else returned
    if not isinstance(new, (tuple, list)) or len(new) != len(old):
        got = f"{len(new)} gradients" if isinstance(new, (tuple, list)) else describe(returned)
        raise GradientError(f"{whose} gave {got}; expected None, or a tuple of {len(old)} gradients")
    for g, each in zip(old, new):
        if each is not None:
            if g is None:
                raise GradientError(f"{whose} gave {describe(each)} where there is no gradient; expected None there")
            check_replacement(whose, g, each)
    return [g if each is None else each for g, each in zip(old, new)]


def operands_of(node: Any, pairs: Pairs) -> list[int]:
    """Which operand each pair of a pull belongs to; they come in order."""
    result, k = [], 0
    for parent, _ in pairs:
        while node.parents[k] is not parent:
            k += 1
        result.append(k)
        k += 1
    return result


def looked_at(nodes: list[BackpropOp]) -> list[Any]:
    """The nodes of a walk, those that somebody wants to see with what stands in for them."""
    result: list[Any] = [Hooked(node) if node.hooks and {BEFORE, AFTER} & node.hooks.keys() else node for node in nodes]
    for pull in observed.pulling:
        result = [pull(node) for node in result]
    return result
