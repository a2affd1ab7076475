"""The graph as PyTorch's users traverse it: `grad_fn`, `next_functions`, saved values, hooks of leaves and edges.

The recorded graph consists of BackpropOps, whose parents are nodes or leaves (`runtime/graph.py`).  A `Node` here is a
view of one of them with PyTorch's names.  Views are made at the first access, so a program that does not traverse its
graph pays nothing for them, and a view is the same object as long as the program refers to it.
"""

from __future__ import annotations

import weakref
from functools import lru_cache
from typing import Any

from minigrad.autodiff.checks import GradientEdge
from minigrad.autodiff.engine import add
from minigrad.autodiff.holding import saved_values
from minigrad.autodiff.hooks import operands_of
from minigrad.errors import GradientError
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.hooks import Hook, HookHandle, add_leaf_hook, late_hooks, leaf_hooks
from minigrad.runtime.rebasing import current
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor, describe

_views: weakref.WeakValueDictionary[int, Node] = weakref.WeakValueDictionary()  # by the id of the node or the leaf
_metadata: weakref.WeakKeyDictionary[BackpropOp, dict[Any, Any]] = weakref.WeakKeyDictionary()
SAVED = "_saved_"


class Node:
    """A node of the graph: one recorded call, or the accumulation of the gradient of a leaf.

    Its class has the name of the derivative, such as `MulBackward0`.  An attribute `_saved_x` is the saved value of the
    operand x, `_saved_result` that of the result, and the static arguments of the call are in `_saved_dim` and so on.
    Other attributes are those of the BackpropOp; the node of a `Function` also has the attributes of its context.

    node (BackpropOp or Var): The recorded call, or the leaf.
    """

    __slots__ = ("__weakref__", "_node")
    _node: Any

    def __init__(self, node: Any) -> None:
        self._node = node

    def name(self) -> str:
        """Return the name of the derivative."""
        return type(self).__name__

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own values, which lives as long as the graph."""
        return _metadata.setdefault(self._node, {})

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each operand: the node that receives its gradient, or None for a constant, and the index of the result
        of this node."""
        return tuple([(node_view(parent), getattr(parent, "index", 0)) for parent in self._node.parents])

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved values, in the order of `ctx.save_for_backward` for a Function.

        Raises GradientError if a backward pass has freed them.
        """
        node = self._node
        values = self._values()
        positions = getattr(node.op, "positions", None)
        return tuple(values) if positions is None else tuple([None if k is None else values[k] for k in positions])

    def register_hook(self, hook: Hook) -> HookHandle:
        """Call `hook(gradients of the operands, gradients of the results)` after the rules of this node."""
        return self._node.register_hook(hook)

    def register_prehook(self, hook: Hook) -> HookHandle:
        """Call `hook(gradients of the results)` before the rules of this node; a returned tuple replaces them."""
        return self._node.register_prehook(hook)

    def __call__(self, *gradients: Any) -> Any:
        """Return the gradients of the operands, given one gradient per result."""
        node, count = self._node, len(self._node.ids or (0,))
        if len(gradients) != count or any(g is not None and not isinstance(g, Tensor) for g in gradients):
            raise GradientError(
                f"{self.name()}: expected {count} tensors, one gradient per result of {node.name}, got "
                f"{', '.join(map(describe, gradients)) or 'nothing'}; pass one gradient per result"
            )
        pairs = node.pull(list(gradients), None, is_grad_enabled())
        parts: list[Any] = [None] * len(node.parents)
        for k, (_, partial) in zip(operands_of(node, pairs), pairs, strict=True):
            parts[k] = partial
        return parts[0] if len(parts) == 1 else tuple(parts)

    def _values(self) -> Any:
        """Return the saved values as parts of the graph."""
        if self._node.saved is None:
            raise GradientError(
                f"{self.name()}: a backward pass has freed the saved values of {self._node.name}; pass "
                "retain_graph=True to it"
            )
        return saved_values(self._node, True)

    def _saved_names(self) -> dict[str, int]:
        """Return the positions of the saved values by PyTorch's names and by the op's own names."""
        op, names = self._node.op, {}
        codes = op.saves[self._node.mask] if self._node.mask < len(op.saves) else ()
        for position, k in enumerate(codes):
            own = op.value_name(k)
            single = self._node.ids is None
            theirs = ("self" if k == 0 else "other" if k == 1 else own) if k >= 0 else "result" if single else own
            names[theirs] = names[own] = position
        return names

    def __getattr__(self, name: str) -> Any:
        node = self._node
        if name.startswith(SAVED):
            position = self._saved_names().get(name.removeprefix(SAVED))
            if position is not None:
                return self._values()[position]
            for own in (name.removeprefix(SAVED), f"{name.removeprefix(SAVED)}s"):  # `dim` may be `dims` here
                if own in node.params:
                    return node.params[own]
        elif hasattr(node, name):
            return getattr(node, name)
        else:
            context = getattr(node.op, "context", None)
            if context is not None and name in vars(context):
                return getattr(context, name)
        raise AttributeError(f"{self.name()!r} object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *[SAVED + name for name in (*self._saved_names(), *self._node.params)]]

    def __repr__(self) -> str:
        return f"<{self.name()} of {self._node!r}>"


class AccumulateGrad(Node):
    """The node that adds the gradient of a leaf to its `.grad`.

    Its hooks run only in passes that change `.grad`: prehooks after the hooks of the tensor and before the addition,
    hooks after the addition.
    """

    __slots__ = ("_notes",)
    next_functions = ()

    @property
    def variable(self) -> Any:
        """The leaf."""
        return self._node

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own values, which lives as long as this object."""
        if not hasattr(self, "_notes"):
            self._notes: dict[Any, Any] = {}
        return self._notes

    def register_prehook(self, hook: Hook) -> HookHandle:
        """Call `hook((gradient,))` before the addition; a returned tuple replaces the gradient."""

        def before(g: Tensor) -> Any:
            returned = hook((g,))
            return returned[0] if isinstance(returned, (tuple, list)) else returned

        return add_leaf_hook(leaf_hooks, "register_prehook", self._node, before, last=True)

    def register_hook(self, hook: Hook) -> HookHandle:
        """Call `hook((), (gradient,))` after the addition."""
        arrived: list[Tensor] = []

        def after(x: Tensor) -> None:
            hook((), (arrived.pop(),))

        def before(g: Tensor) -> None:
            arrived[:] = [g]

        add_leaf_hook(leaf_hooks, "register_hook", self._node, before, last=True)
        return add_leaf_hook(late_hooks, "register_hook", self._node, after, last=True)

    def __call__(self, *gradients: Any) -> None:
        """Add a gradient to the `.grad` of the leaf."""
        (g,) = gradients
        x = self._node
        x.grad = g if x.grad is None else add(x.grad, g)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'AccumulateGrad' object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return list(object.__dir__(self))

    def __repr__(self) -> str:
        return f"<AccumulateGrad of {describe(self._node)}>"


def node_view(target: Any) -> Node | None:
    """Return the view of a node, of the node of a result, or of a leaf; None for None."""
    if target is None:
        return None
    node = target.node if target.__class__ is Output else target
    view = _views.get(node.id)
    if view is None:
        kind = class_of(node.op.kind, node.op.label) if isinstance(node, BackpropOp) else AccumulateGrad
        view = _views[node.id] = kind(node)
    return view


@lru_cache(maxsize=4096)
def class_of(kind: str, label: str) -> type[Node]:
    """Return the class of the views of an op's nodes; only its name is its own."""
    words = "".join([word[:1].upper() + word[1:] for word in label.split("_")])
    name = f"{label}Backward" if kind == "function" else f"{words}Backward0"
    return type(name, (Node,), {"__slots__": (), "__doc__": Node.__doc__})


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge of the graph to which the gradient of a tensor flows.

    tensor: Tensor that requires a gradient.

    Returns: The node of the tensor, and the index of its result.  `autograd.grad` and `autograd.backward` take edges
    where they take tensors, so a program can keep an edge and free the tensor.

    Raises GradientError if the tensor does not require a gradient.

    >>> y = mg.Var([1.0, 2.0]) * 3.0
    >>> edge = mg.autograd.graph.get_gradient_edge(y)
    >>> edge.node.name(), edge.output_nr
    ('MulBackward0', 0)
    """
    target = current(tensor) if tensor.requires_grad else None
    if target is None:
        raise GradientError(
            f"get_gradient_edge: expected a tensor that requires a gradient, got {describe(tensor)}; compute it from a "
            "mg.Var"
        )
    return GradientEdge(node_view(target), getattr(target, "index", 0))
