"""The recorded graph: one BackpropOp for each op whose result may require a gradient.

A BackpropOp refers to its parents and to the values that its derivative rules name.  No node refers to its children, so
reference counting alone frees a graph with the last tensor that refers to it.  A parent is another BackpropOp, a Var (a
leaf), or None (a constant).  If the parent op has several results, the parent is an `Output`: a node and an index.  Ids
increase with creation, so descending ids are a reverse topological order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from minigrad.core.op import Op
from minigrad.runtime.hooks import AFTER, BEFORE, Hook, HookHandle, add_hook

ids = itertools.count(1)
FEW = 6  # maximum number of elements of an operand or a result whose storage a node keeps for pictures


class BackpropOp:
    """A recorded call: a node of the graph.

    op: the declaration.  parents: one entry per operand.  mask: bit k is 1 if operand k is tracked.
    saved: the values that the rules of the tracked operands name, or None once they are freed.
    versions: the version of each saved value's storage when it was saved.
    plan: the call plan with the operands' shapes and dtypes.  params: the static arguments.
    source: the user's line, under `mg.debug()`.
    read: the storages of operands of at most FEW elements, for pictures; None for a view, and for a larger call.
    ids: one id per result, of which the first is `id`; None for an op with one result.
    hooks: None, or the hooks of the results by index, together with the hooks of the node itself.
    """

    __slots__ = (
        "__weakref__", "hooks", "id", "ids", "mask", "op", "params", "parents", "plan", "read", "saved", "source",
        "versions",
    )  # fmt: skip

    def __init__(
        self, op: Op, plan: Any, params: dict[str, Any], parents: tuple[Any, ...], mask: int, saved: tuple[Any, ...]
    ) -> None:
        self.id = next(ids)
        self.ids: tuple[int, ...] | None = None
        self.hooks: dict[Any, dict[int, Hook]] | None = None
        self.op, self.plan, self.params, self.parents, self.mask = op, plan, params, parents, mask
        self.saved: tuple[Any, ...] | None = saved
        self.read: tuple[Any, ...] | None = None
        self.versions = tuple([t.storage.version for t in saved])
        self.source: str | None = None

    @property
    def name(self) -> str:
        return self.op.label

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.plan.layout.shape)

    # `pull(gradients, wanted, create)` returns (parent, partial gradient) for each operand, from the gradients of the
    # results.  `@pulls` sets it, because this layer lacks the derivative rules that it runs.
    pull: Callable[..., list[tuple[Any, Any]]]

    def register_hook(self, hook: Hook) -> HookHandle:
        """Call `hook(gradients of the operands, gradients of the results)` after the rules of this node.  A returned
        tuple replaces the first.  `Tensor.register_hook` is for one result."""
        return add_hook(self, AFTER, hook)

    def register_prehook(self, hook: Hook) -> HookHandle:
        """Call `hook(gradients of the results)` before the rules of this node; a returned tuple replaces them."""
        return add_hook(self, BEFORE, hook)

    def __repr__(self) -> str:
        return f"BackpropOp#{self.id}({self.op.label}, shape={self.shape})"


def pulls(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function the method `pull` of nodes."""
    BackpropOp.pull = function
    return function


class Output:
    """One result of a node with several results: the `op` of its tensor, and the target of its gradient.

    All other attributes are read from the node.
    """

    __slots__ = ("id", "index", "node")

    def __init__(self, node: BackpropOp, index: int) -> None:
        self.node, self.index = node, index
        self.id: int = node.ids[index]  # type: ignore[index]

    @property
    def name(self) -> str:
        """The name of the op and of the result, for example "sort.values"."""
        return f"{self.node.op.label}.{self.node.op.outputs[self.index]}"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.node.plan.outs[self.index].shape)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)

    def __repr__(self) -> str:
        return f"Output#{self.id}({self.name}, shape={self.shape})"
