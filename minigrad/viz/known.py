"""Values and names in a graph that the graph itself does not store.

A graph stores the values that its rules read, and frees them in the backward pass.  Names and further values are found
in the caller's variables, and in the dicts, lists and objects that these contain.  Under `mg.debug()`, the journal has
weak references to the operands of each op.  After `backward()`, the saved values of a small graph are restored for one
more backward pass, which computes the gradients that a picture shows.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import CO_OPTIMIZED
from types import FunctionType, MethodType, ModuleType
from typing import Any

from minigrad.autodiff.holding import Holder
from minigrad.diagnostics.flow import flow
from minigrad.errors import MinigradError
from minigrad.nn.modules.module import Module
from minigrad.runtime import journal
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer

DEEP = 3  # largest number of attributes and indices from a variable to a tensor, as in model.layers[0].weight
LOOKED_AT = 20_000  # largest number of objects that are searched
OF_NOTEBOOKS = ("In", "Out", "exit", "quit", "get_ipython")  # variables that every notebook defines
CLOSED = (str, bytes, int, float, complex, type, ModuleType, FunctionType, MethodType, BackpropOp, Output)


class Known:
    """Names and values of vertices; `named` contains the user's tensors by name."""

    def __init__(self, named: Mapping[str, Tensor]) -> None:
        self.results: dict[int, tuple[str, Tensor]] = {}
        self.names: dict[int, str] = {}
        self.positions: dict[Any, str] = {}
        for name, t in named.items():
            self.names.setdefault(id(t), name)
            if t.op is not None:
                self.results.setdefault(getattr(t.op, "node", t.op).id, (name, t))
            elif not isinstance(t, Tracer) and not t.is_variable:
                self.positions.setdefault(position_of(t), name)

    def add_saved(self, nodes: Sequence[BackpropOp]) -> None:
        """Add results that an op saved and that have not changed since, or that it read and were never overwritten."""
        for node in nodes:
            for k, maker in enumerate(node.parents):
                x = operand_of(node, k) if isinstance(maker, BackpropOp) else None
                if x is not None:
                    self.results.setdefault(maker.id, ("", x))
            for k, x, version in zip(node.op.saves[node.mask], node.saved or (), node.versions):
                maker = node if k < 0 else node.parents[k] if k < len(node.parents) else None
                usable = not isinstance(x, Holder | Tracer) and x.storage.version == version
                if usable and isinstance(maker, BackpropOp) and k >= -1:
                    self.results.setdefault(maker.id, ("", x))
        for node in sorted(nodes, key=lambda node: node.id):  # the operand of a view comes before the view
            if node.op.kind == "view":
                self.add_view(node)

    def add_view(self, node: BackpropOp) -> None:
        """Add the result of a view, if its operand is known and was never overwritten."""
        (parent,) = node.parents
        x = parent if isinstance(parent, Tensor) else self.results.get(getattr(parent, "id", 0), ("", None))[1]
        if isinstance(x, Tracer) or not isinstance(x, Tensor) or x.dtype is not node.plan.dtype:
            return  # a view with another dtype, such as x.real, counts its positions in other units
        if not x.storage.version:
            self.results.setdefault(node.id, ("", Tensor(x.storage, node.plan.layout)))

    def result(self, node: BackpropOp) -> tuple[str, Tensor | complex | None]:
        """Return the user's name for the result of an op, or "", and its value, or None."""
        if node.id in self.results:
            return self.results[node.id]
        entry = journal.entry_of_node(node) if node.ids is None else None
        return "", None if entry is None else entry.tensor() if entry.tensor() is not None else entry.number

    def constant(self, node: BackpropOp, k: int) -> tuple[str, Tensor | complex | None]:
        """Return the name and the value of an operand that receives no gradient."""
        held: Tensor | complex | None = None
        if node.saved and k in node.op.saves[node.mask]:
            saved = node.saved[node.op.saves[node.mask].index(k)]
            held = None if isinstance(saved, Holder) else saved
        held = operand_of(node, k) if held is None else held
        entry = journal.entry_of_node(node)
        if held is None and entry is not None:
            of_operand = entry.parents[k]
            held = of_operand.tensor()
            held = of_operand.number if held is None else held
        return self.positions.get(position_of(held), "") if isinstance(held, Tensor) else "", held


def operand_of(node: BackpropOp, k: int, unwritten: bool = True) -> Tensor | None:
    """Return an operand of a call on few elements, or None if the node did not keep it.

    With `unwritten`, None is also returned if the memory of the operand was ever written in place.
    """
    storage = None if node.read is None else node.read[k]
    if storage is None or (unwritten and storage.version):
        return None
    return Tensor(storage, node.plan.specs[k].layout)


def position_of(x: Tensor) -> Any:
    """Return a key that is equal for two tensors with the same elements in memory."""
    return None if isinstance(x, Tracer) else (id(x.storage), x.layout, x.dtype)


def caller_names(depth: int = 2) -> dict[str, Tensor]:
    """Return tensors by name in the frame `depth` calls up: locals before globals, short paths before long ones."""
    frame: Any = sys._getframe(depth)
    local = frame.f_locals
    variables = {**local, **{name: value for name, value in frame.f_globals.items() if name not in local}}
    if frame.f_code.co_flags & CO_OPTIMIZED and sys.version_info < (3, 13):
        local.clear()  # clears the copy of the frame's variables, which would keep memory alive that the function frees
    own = [(name, value) for name, value in variables.items() if usual(name) and name not in OF_NOTEBOOKS]
    return dict(tensors_in(own))


def usual(name: Any) -> bool:
    """Return whether a name can be shown: it is an identifier that does not begin with an underscore."""
    return isinstance(name, str) and name.isidentifier() and not name.startswith("_")


def tensors_in(variables: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Tensor]]:
    """Yield (name, tensor) for variables and the objects in them; each object is visited once, near ones first."""
    waiting = deque((name, value, 0) for name, value in variables)
    seen: set[int] = set()
    while waiting and len(seen) < LOOKED_AT:
        name, value, steps = waiting.popleft()
        kind = type(value)  # isinstance also reads `__class__`, which may be the user's code
        if issubclass(kind, Tensor):
            yield name, value
        elif steps < DEEP and id(value) not in seen and not issubclass(kind, CLOSED):
            seen.add(id(value))
            waiting.extend((name + step, part, steps + 1) for step, part in inside(value))


def inside(value: Any) -> list[tuple[str, Any]]:
    """Return (text, part) for the parts of a module, a dict, a list or a user's object, without running user's code.

    The parameters of a module have the names of its state dict.
    """
    if issubclass(type(value), Module):
        return [(f".{name}", part) for name, part in Module.named_parameters(value)]
    if type(value) in (list, tuple):
        return [(f"[{k}]", part) for k, part in enumerate(value[:LOOKED_AT])]
    if issubclass(type(value), dict):
        return [(f"[{key!r}]", part) for key, part in dict.items(value) if isinstance(key, str | int)]
    if type(value).__module__.partition(".")[0] in ("minigrad", "numpy", "builtins"):
        return []
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return []
    return [(f".{name}", part) for name, part in attributes.items() if usual(name)] if type(attributes) is dict else []


# ---- values that a backward pass has freed ---------------------------------------------------------------------------

SMALL = 100  # largest number of nodes for which a picture computes gradients


def gradients_after_backward(
    y: Tensor, nodes: Sequence[BackpropOp], leaves: Sequence[Tensor], known: Known
) -> dict[int, Tensor]:
    """Return the gradient of y with respect to each result in its graph, by the id of the node or of the leaf.

    The dict is empty if no backward pass has run, if a value that a rule needs is gone or was changed, or if the graph
    has more than SMALL nodes.
    """
    ran = any(node.saved is None for node in nodes) or any(x.is_variable and x.grad is not None for x in leaves)
    if not ran or len(nodes) > SMALL:
        return {}
    restored: list[BackpropOp] = []
    try:
        for node in nodes:
            if node.saved is None:
                node.saved = saved_again(node, known)
                restored.append(node)
                if node.saved is None:
                    return {}
        return flow(y, name="viz.graph").gradients
    except MinigradError:  # raised if a saved value was changed in place, or an op has no gradient
        return {}
    finally:
        for node in restored:
            node.saved = None


def saved_again(node: BackpropOp, known: Known) -> tuple[Tensor, ...] | None:
    """Return the values that the rules of a freed node read, or None if a value is gone."""
    values = []
    for k in node.op.saves[node.mask]:
        if k >= len(node.parents):
            return None
        value = operand_of(node, k, False) if k >= 0 else None
        if value is None and k >= -1:  # it is a result of this node, or of the view that made the operand
            value = known.results.get(getattr(node if k < 0 else node.parents[k], "id", 0), ("", None))[1]
        if not isinstance(value, Tensor) or isinstance(value, Holder):
            return None
        values.append(value)
    return tuple(values)
