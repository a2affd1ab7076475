"""The destinations of gradients: the `.grad` of leaves, the gradients for `retain_grad`, and the GradStore.

`backward()` returns the GradStore: a mapping from leaves to gradients that explains why a gradient is missing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import indent
from typing import Any
from weakref import ref

from minigrad.autodiff.checks import node_of
from minigrad.autodiff.convention import conjugated
from minigrad.autodiff.hooks import hooked_leaf, who
from minigrad.autodiff.owning import Pairs, copied, handed_out, is_sole_holder, sole
from minigrad.core.storage import ConstantStorage
from minigrad.errors import GradientError
from minigrad.ops.creation import zeros_like
from minigrad.ops.pointwise.arithmetic import add
from minigrad.ops.shape.views import basic_index, diagonal, narrow, select
from minigrad.runtime.dispatch import apply
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.hooks import in_sequence, late_hooks, retain, retained
from minigrad.runtime.inference import InferenceStorage
from minigrad.runtime.rebasing import current
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor, describe

UNWRITTEN = ConstantStorage, InferenceStorage
_adding = threading.RLock()  # two threads may add to one `.grad`


class Stores:
    """All stores that exist, and the gradients that were read from stores.

    references: weak references to stores; those to stores that have ended are removed at times.
    lasting: weak references to the gradients that were read, to which passes do not add in place, by their ids.
    """

    def __init__(self) -> None:
        self.references: list[Callable[[], Any]] = []
        self.lasting: dict[int, Any] = {}
        self._most = 8

    def add(self, store: GradStore) -> None:
        """Add a store."""
        self.references.append(ref(store))  # a WeakSet would take five times as long
        if len(self.references) > self._most:
            self.forget()
            self._most = max(8, 2 * len(self.references))

    def forget(self) -> None:
        """Remove the references to stores that have ended."""
        with _adding:
            count = len(self.references)  # another thread may append in the meantime
            self.references[:count] = [each for each in self.references[:count] if each() is not None]

    def read(self, g: Tensor) -> Tensor:
        """Return a gradient that is read from a store; later passes replace it as `.grad` instead of adding to it."""
        key = id(g)
        if key not in self.lasting:
            self.lasting[key] = ref(g, lambda _: self.lasting.pop(key, None))
        return g

    def keep(self, g: Tensor) -> None:
        """Replace the gradient with the memory of g by a copy in each store, before the memory is written."""
        for each in tuple(self.references):
            if (store := each()) is not None:
                store.keep(g)


stores = Stores()


class GradStore:
    """Map tensors to the gradients that one backward pass computed.

    `grads[x]` raises GradientError with the reason if x has no gradient; `grads.get(x)` returns None instead.
    Iteration yields the tensors that have a gradient.
    """

    def __init__(self) -> None:
        self._grads: dict[int, tuple[Tensor, Tensor]] = {}
        self._keys: dict[int, int] | None = None  # the keys of gradients by the ids of their storages
        stores.add(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the gradients of a store that is copied."""
        self.__dict__.update(state)
        stores.add(self)

    def _put(self, x: Tensor, gradient: Tensor) -> None:
        self._grads[x.id], self._keys = (x, gradient), None

    def keep(self, g: Tensor) -> None:
        """Replace the gradient with the memory of g by a copy, before the memory is written."""
        if self._keys is None:
            self._keys = {id(each.storage): key for key, (_, each) in self._grads.items()}
        key = self._keys.pop(id(g.storage), None)
        if key is not None and (pair := self._grads[key])[1].storage is g.storage:
            self._grads[key] = pair[0], copied(pair[1], False)

    def get(self, x: Tensor, default: Any = None) -> Any:
        """Return the gradient of x, or the default."""
        entry = self._grads.get(x.id) if isinstance(x, Tensor) else None
        return default if entry is None else stores.read(entry[1])

    def __getitem__(self, x: Tensor) -> Tensor:
        """Return the gradient of x. Raise GradientError, with the reason, if it has none."""
        entry = self._grads.get(x.id) if isinstance(x, Tensor) else None
        if entry is None:
            raise GradientError(f"grads[...]: {self._reason(x)}")
        return stores.read(entry[1])

    def _reason(self, x: Any) -> str:
        if not isinstance(x, Tensor):
            return f"{describe(x)} is not a tensor; pass a mg.Var"
        if not x.is_leaf:
            return (
                f"{describe(x)} is not a leaf but the result of {current(x).name}; backward() returns only gradients "
                f"of Vars, so use mg.grad(y, x) or retain_grad() for the gradient of an intermediate value"
            )
        if not x.is_variable:
            return f"{describe(x)} does not require a gradient; make it a mg.Var before the computation"
        name = getattr(x, "name", None)
        who = f"the Var {name!r}, {describe(x)}," if name else f"the Var {describe(x)}"
        return f"{who} received no gradient: the differentiated result does not depend on this Var"

    def __contains__(self, x: Tensor) -> bool:
        """Return whether x has a gradient here."""
        return isinstance(x, Tensor) and x.id in self._grads

    def __iter__(self) -> Iterator[Tensor]:
        """Iterate over the tensors that have gradients."""
        return (x for x, _ in self._grads.values())

    def items(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Iterate over pairs of tensor and gradient."""
        return ((x, stores.read(g)) for x, g in self._grads.values())

    def __len__(self) -> int:
        """Return the number of tensors that have gradients."""
        return len(self._grads)

    def __repr__(self) -> str:
        """Return one entry per tensor: its name, and the gradient itself."""
        lines = [f"{getattr(x, 'name', None) or f'Var #{x.id}'} = {g!r}" for x, g in self._grads.values()]
        return (
            f"GradStore({', '.join(lines)})"
            if len(lines) < 2
            else "GradStore(\n{})".format("".join(indent(line, "    ") + ",\n" for line in lines))
        )


# ---- where gradients end --------------------------------------------------------------------------------------------


def collected(pairs: Pairs, inputs: Sequence[Any] | None, create: bool, store: GradStore) -> GradStore:
    """Add the gradients of a backward pass to `.grad` and to its store, then call the late hooks."""
    if inputs is not None:
        tensors = {node_of(x).id: x for x in inputs}
        pairs = [(tensors[target.id], g) for target, g in pairs]
    add_all(pairs, store, create, inputs is None)
    if late_hooks:
        before, mode.enabled = mode.enabled, create
        try:
            for x in [x for x, _ in pairs if x in store]:
                call_late_hooks(x)
        finally:
            mode.enabled = before
    return store


def add_all(pairs: Pairs, store: GradStore, create: bool, leaves: bool) -> None:
    """Add gradients to `.grad` and to a store.

    leaves: all targets were leaves that required a gradient when the graph was made; leaves frozen since then are
    skipped.
    """
    with _adding:
        for x, g in pairs:
            if leaves and not x.is_variable:
                continue
            if not (create or x.layout.is_contiguous):
                g = in_order_of(x, g)
            store._put(x, g)
            if not x.is_variable and x.id in retained:  # `keep` has added it
                continue
            if x.is_variable and x._grad is None:
                x._grad = g
            else:
                add_to(x, g, create)


def in_order_of(x: Any, g: Tensor) -> Tensor:
    """Return a gradient in the memory order of x; unchanged if x has gaps or repeated elements."""
    order = x.layout.memory_order()
    if g.layout.strides == x.layout.strides or not x.layout.permute(order).is_contiguous:
        return g
    # The detached result is not a view, so a later pass can add to its memory.
    return g.permute(order).contiguous().permute(sorted(range(len(order)), key=order.__getitem__)).detach()


def call_late_hooks(x: Tensor) -> None:
    """Call the hooks that run after the accumulation into the `.grad` of a leaf.

    Raises GradientError if a hook returns a value.
    """
    for hook in in_sequence(late_hooks.get(x.id, {})):
        if hook(x) is not None:
            name = "register_post_accumulate_grad_hook"
            raise GradientError(
                f"{who(name, hook, f'the Var {describe(x)}')} must return None, got another value; change x.grad "
                "inside the hook instead"
            )


class Early:
    """Hands out the gradients of leaves with late hooks, as soon as the last node that uses a leaf was visited.

    In this way a gradient can be sent to other processes while the traversal continues.
    """

    def __init__(self, nodes: Sequence[BackpropOp], leaves: Sequence[Tensor], create: bool, store: GradStore) -> None:
        waiting = {leaf.id: leaf for leaf in leaves if late_hooks.get(leaf.id)}
        last: dict[int, int] = {}
        # Nodes are in descending order of ids, so the node that is visited last remains in the table.
        for node in nodes:
            for parent in node.parents:
                if parent is not None and parent.id in waiting:
                    last[parent.id] = node.id
        self.due: dict[int, list[Tensor]] = {}
        for key, node_id in last.items():
            self.due.setdefault(node_id, []).append(waiting[key])
        self.create, self.store = create, store

    def passed(self, node_id: int, table: dict[int, Tensor]) -> None:
        """Hand out the gradients of the leaves that no node after this one uses."""
        for leaf in self.due.get(node_id, ()):
            if leaf.id in table:
                pairs = [(leaf, conjugated(hooked_leaf(leaf, table.pop(leaf.id))))]
                collected(handed_out(pairs, True, self.create), None, self.create, self.store)


def add_to(x: Tensor, g: Tensor, create: bool) -> None:
    """Add g to the `.grad` of x, in place unless `create`.

    The memory may be a part of a larger tensor that a user has assigned, as in PyTorch.  The gradient of a value that
    is not a leaf is replaced if another object refers to it.
    """
    owner, name = (x, "_grad") if x.is_variable else (retain(x), "grad")
    if getattr(owner, name) is None:
        setattr(owner, name, g)
        return
    before, mode.enabled = mode.enabled, create
    try:
        if create or not (is_open(x) if x.is_variable else is_sole_holder(owner, name)):
            setattr(owner, name, add(getattr(owner, name), g))
        else:
            add(getattr(owner, name), g, out=getattr(owner, name))
    finally:
        mode.enabled = before


def is_open(x: Any) -> bool:
    """Return whether a pass may add to the memory of the `.grad` of x; stores that contain it receive a copy."""
    return is_sole_holder(x, "_grad") or (not x._grad.layout.may_overlap_itself() and is_writable(x._grad))


def are_open(*xs: Any) -> bool:
    """Return whether passes may add to the memory of the `.grad` of all xs."""
    stores.forget()
    return all(map(is_open, xs))


def is_writable(g: Tensor) -> bool:
    """Return whether a gradient may be written; stores that contain it receive a copy."""
    if g.requires_grad or isinstance(g.storage, UNWRITTEN) or id(g) in stores.lasting:
        return False
    stores.keep(g)
    return True


def gradients_to_zero(xs: Iterable[Any]) -> list[Tensor]:
    """Return the gradients of leaves that are to be filled with zeros; others are replaced by zeros.

    A gradient with a graph, as a backward pass with create_graph=True makes it, is detached first.
    """
    written = []
    for x in xs:
        if x._grad.requires_grad:
            x._grad = x._grad.detach()
        if is_writable(x._grad):
            written.append(x._grad)
        else:
            x._grad = zeros_like(x._grad)
    return written


def kept_nodes(nodes: list[BackpropOp]) -> dict[int, Any]:
    """Return the nodes whose tensors retain their gradient."""
    ids = {key for node in nodes for key in node.ids or (node.id,)}
    alive = [entry.tensor() for entry in tuple(retained.values())]
    return {node_of(x).id: node_of(x) for x in alive if x is not None and x.op is not None and node_of(x).id in ids}


def keep(pairs: Pairs, targets: dict[int, Any], create: bool) -> Pairs:
    """Copy the gradients of tensors that retain them; return the pairs for `targets`."""
    arrived = {target.id: g for target, g in pairs}
    for entry in tuple(retained.values()):
        x = entry.tensor()
        if x is not None and x.op is not None and node_of(x).id in arrived:
            add_to(x, copied(conjugated(arrived[node_of(x).id]), create), create)
    return [(target, g) for target, g in pairs if target.id in targets]


# ---- a gradient of a part --------------------------------------------------------------------------------------------

# Views of distinct elements.  Views that repeat elements (`unfold`, `expand`) cannot be added to in one launch.
PARTS: frozenset[Any] = frozenset(view.op for view in (basic_index, diagonal, narrow, select))  # type: ignore[attr-defined]


def added_in_place(
    node: Any, g: Tensor | None, table: dict[int, Tensor], owned: set[int], wanted: set[int] | None
) -> bool:
    """Add the gradient of a view to the gradient of its operand in place, and return True; return False if impossible.

    The addition is impossible if the operand has no gradient yet, if another object refers to this gradient, or if the
    dtypes differ.  The caller must then call the VJP rule of the view.
    """
    key = node.parents[0].id
    if g is None or key not in table or (wanted is not None and key not in wanted):
        return False
    if key not in owned and not (owned.__class__ is set and sole(table, key)):
        return False
    total = table[key]
    if total.__class__ is not Tensor or g.__class__ is not Tensor or total.dtype is not g.dtype:
        return False
    part = apply(node.op, (total,), node.params)
    add(part, g, out=part)
    return True
