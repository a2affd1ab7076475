"""The node of a tensor's memory after any number of in-place writes.

A tensor that is not a view owns its memory; it is the `base` of its views.  A recorded write into the base or through a
view consists of three ordinary nodes: the op on the old values; `put`, the whole with the written part replaced; and a
view of `put`.  The base gets its new node immediately.  A view gets its new node at its next use, if its node does not
lead to the base's.  Since all nodes are ordinary, derivatives of every order follow.

A view of the parts of complex numbers has another dtype than its base.  Then the nodes between them compute with the
parts: the base's node is seen as parts, and the new node of a complex base is a view of the parts as pairs.

A write that is not recorded, under `no_grad` or through `detach()`, is detected by the version of the memory.  A tensor
that is used afterwards gets a WRITE as its node, through which no gradient passes. docs/decisions/026 has the reasons.
"""

from __future__ import annotations

from typing import Any

from minigrad.config import settings
from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.errors import StorageError
from minigrad.runtime.changes import rebind
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.noting import noted, savers
from minigrad.runtime.planning import make_plan
from minigrad.runtime.plans import NO_PARAMS, plan_of
from minigrad.runtime.tensor import Tensor, describe

# The node between a computed value and the same memory after a write.  It has no rule, so no gradient passes through
# it.  Its kind is "view", because it has the same memory.
WRITE = Op("write", "view", ("x",), {}, f"{__file__}:1")
WRITE.doc = "A write in place that was not recorded."
WRITE.saves = WRITE.picks = ((), ())
WRITE.prepare = lambda layout: layout


class Sealed:
    """The base of memory that may be written under `no_grad` only, because its writes could not be recorded."""

    op = base = None
    is_variable = False

    def __init__(self, why: str) -> None:
        self.why = why


NO_GRAD = Sealed(
    "is a view that was made under mg.no_grad() of what gradients flow through, so the write could not be recorded; "
    "make the view outside, or write under mg.no_grad()"
)
GAPS = Sealed("shows memory beside its operand; write into a copy of it, as clone() gives, or under mg.no_grad()")
RETURNED = Sealed("is memory of an argument that a Function returned; write into a copy of it, as clone() gives")
INPUT = Sealed("is an input of a transform, or a view of one; write into a copy of it, as clone() gives")


class Ops:
    """The ops that the records of writes consist of; `ops/shape/put.py` declares and registers them."""

    put: Op
    look: Op
    parts: Op  # a view of complex numbers as a last dim of two parts
    pairs: Op  # a view of this last dim as complex numbers
    permute: Op
    reshape: Op
    clone: Op
    cast: Op


def owner_of(x: Tensor) -> Any:
    """Return the tensor that owns the memory of x: its base, x itself, or a `Sealed` base.

    If an owner was shown in another layout in place, it is a view itself, of the owner that replaces it.
    """
    base = x.base
    if base is None:
        return x
    if base.base is not None:
        x.base = base = base.base
    return base


def root_of(node: Any) -> Any:
    """Return the node that made the memory of a chain of views, or the write that changed it.

    The result is None if the memory belongs to a Var.
    """
    while node.op.kind == "view" and node.op is not WRITE:
        node = node.parents[0]
        if node.__class__ is not BackpropOp and node.__class__ is not Output and not isinstance(node, BackpropOp):
            return None
    return node


def made_at(root: Any) -> int:
    """Return the version of a root's memory when its result was made: 0 for new memory, a later version for a write."""
    op = root.op
    if op is WRITE or (op is Ops.put and root.versions):
        return int(root.versions[0])
    own = -1 - root.index if root.__class__ is Output else -1
    which = kept_by(root)
    return int(root.versions[which.index(own)]) if own in which else 0


def kept_by(node: Any) -> tuple[int, ...]:
    """Return the indices of the values that a node saved, as in `Op.saves`; () if it saved none."""
    saves: tuple[tuple[int, ...], ...] = node.op.saves
    return saves[node.mask] if node.versions and node.mask < len(saves) else ()


def current(x: Tensor) -> Any:
    """Return the node or Var that receives the gradient of x, given the writes to its storage so far.

    Return None if x is not tracked.  For an op that used x before a write, the node from before the write still
    receives the gradient.
    """
    if x.is_variable:
        return x
    node, base = x.op, x.base
    if base is not None and base.__class__ is not Sealed and not base.is_variable:
        base = owner_of(x)
        whole = current(base)
        if whole is not None:
            root = root_of(whole)
            if root is None:  # the base was a Var when x was made
                return node
            if node is None or root_of(node) is not root:
                x.op = node = seen_through(x, base, ground_of(base, whole))
            return node
    if node is None:
        return None
    root = root_of(node)
    if root is None or made_at(root) == x.storage.version:
        return node
    x.op = written = BackpropOp(WRITE, make_plan(WRITE, (x,), {}), {}, (node,), 1, ())
    written.versions = (x.storage.version,)
    return written


def ground_of(base: Tensor, whole: Any) -> Any:
    """Return the node whose gradient has the shape `extent`: the base's own node, or the one that it is a view of.

    For a result without gaps in another order than row by row, this is the node of its memory as a vector.
    """
    if base.layout.is_contiguous:
        return whole
    if whole.op is Ops.look:  # after a write it is a view of `put`, for parts of one of their pairs: see `rebase`
        return whole.parents[0]
    order = base.layout.memory_order()
    ordered = Tensor(base.storage, base.layout.permute(order))
    if not ordered.layout.is_contiguous:  # the memory has gaps: see `check_dense`
        return whole
    permuted = view_node(Ops.permute, base, whole, {"dims": order})
    return view_node(Ops.reshape, ordered, permuted, {"shape": extent(base)[1]})


def ground_under(x: Tensor) -> Any:
    """Return the ground of the tensor that owns the memory of x."""
    base = owner_of(x)
    return ground_of(base, current(base))


def extent(base: Tensor) -> tuple[int, tuple[int, ...]]:
    """Return the offset of a base's memory and the shape of its gradient.

    The shape is the base's own, or, for a layout with gaps or in another order, that of the memory it spans.
    """
    layout = base.layout
    if layout.is_contiguous:
        return layout.offset, layout.shape
    low, high = layout.span()
    return low, (high - low,)


def position_of(x: Tensor, base: Tensor) -> tuple[Tensor, dict[str, Any]]:
    """Return the memory of a base as one dense tensor, and the parameters of x as a view of that tensor.

    If only one of them is complex, these are the memory of parts and the parts of x.
    """
    low, shape = extent(base)
    whole, layout = Tensor(base.storage, Layout.contiguous(shape)), x.layout
    if x.dtype is not base.dtype:
        whole, low = (as_parts(whole), 2 * low) if base.dtype.is_complex else (whole, low)
        layout = as_parts(x).layout if x.dtype.is_complex else layout
    return whole, {"size": layout.shape, "stride": layout.strides, "storage_offset": layout.offset - low}


def as_parts(x: Tensor) -> Tensor:
    """Return the parts of complex numbers, without a node."""
    return Tensor(x.storage.seen_as(x.dtype.to_real()), Ops.parts.prepare(x.layout))  # type: ignore[misc]


def view_node(op: Op, x: Tensor, node: Any, params: dict[str, Any] = NO_PARAMS) -> BackpropOp:
    """Return the node of a view of x, whose own node is given."""
    plan = plan_of(op, (x,), params)
    return BackpropOp(op, plan, plan.params, (node,), 1, ())


def seen_through(x: Tensor, base: Tensor, ground: Any) -> BackpropOp:
    """Return the node of x as a view of the current memory of its base."""
    whole, position = position_of(x, base)
    if x.dtype is base.dtype:
        return view_node(Ops.look, whole, ground, position)
    if base.dtype.is_complex:
        of_parts = view_node(Ops.parts, Tensor(base.storage, Layout.contiguous(extent(base)[1])), ground)
        return view_node(Ops.look, whole, of_parts, position)
    return view_node(Ops.pairs, as_parts(x), view_node(Ops.look, whole, ground, position))


def spare(root: Any) -> None:
    """Copy the result that the last write may have saved, because the next write destroys it."""
    node: Any = root.parents[1] if root.op is Ops.put and root.versions else None
    if node is not None and node.op is Ops.parts:
        node = node.parents[0]
    which = () if node is None or not node.saved else kept_by(node)
    if -1 in which:
        k = which.index(-1)
        values, versions = list(node.saved), list(node.versions)
        if values[k].__class__ is Tensor and values[k].storage.version == versions[k]:
            values[k], versions[k] = Ops.clone.public(values[k]), 0  # type: ignore[misc]
            node.saved, node.versions = tuple(values), tuple(versions)


class WriteRecord:
    """The record of a write.  It saves the values that it needs before the write, and adds the nodes afterwards."""

    __slots__ = ("base", "mask", "old", "op", "operands", "out", "parents", "plan", "tracks")

    def __init__(self, op: Op, plan: Any, operands: tuple[Tensor, ...], out: Tensor) -> None:
        self.op, self.plan, self.out = op, plan, out
        self.base: Any = owner_of(out)
        # A write that covers the whole base cuts the base off from its earlier values.
        whole = current(self.base)
        if whole is not None:
            spare(root_of(whole))
        covered = out.layout is self.base.layout and out.dtype is self.base.dtype
        self.old = None if whole is None or covered else ground_of(self.base, whole)
        self.keep(operands)
        self.tracks = whole is not None or (self.mask != 0 and plan.tracks)

    def keep(self, operands: tuple[Tensor, ...]) -> None:
        """Store the edges of the operands, and copies of operands in the written memory that a rule will read."""
        parents = [current(x) for x in operands]
        self.mask = sum(1 << k for k, parent in enumerate(parents) if parent is not None)
        values = list(operands)
        if self.mask and self.plan.tracks and not self.op.variadic:
            for k in {k for k in self.op.saves[self.mask] if k >= 0}:
                if values[k].storage.memory is self.out.storage.memory:
                    values[k] = Ops.clone.public(values[k])  # type: ignore[misc]
                    parents[k] = values[k].op
        self.operands, self.parents = tuple(values), tuple(parents)

    def done(self) -> None:
        """Add the op's node and the new node of the base, after the memory has been written."""
        node = None
        if self.mask and self.plan.tracks:
            node = self.node()
            if settings.noting:
                node.source = noted(node, self.operands)
        rebase(self.out, self.base, self.old, node)

    def node(self) -> BackpropOp:
        """Return the node of the op on the values from before the write."""
        op, out = self.op, self.out
        which = op.saves[0 if op.variadic else self.mask]
        result = Tensor(out.storage, out.layout)
        # `spare` could not replace a value that a saver stores.
        if savers.stack and min(which, default=0) < 0:
            result = Ops.clone.public(result)  # type: ignore[misc]
        saved = tuple([self.operands[k] if k >= 0 else result for k in which])
        return BackpropOp(op, self.plan, self.plan.params, self.parents, 0 if op.variadic else self.mask, saved)


def rebase(out: Tensor, base: Tensor, old: Any, node: Any) -> None:
    """Set the node of a base to `old` with the result of `node` at the position of `out`.

    `node` is None if the written value is a constant.
    """
    whole, position = position_of(out, base)
    other = out.dtype is not base.dtype
    if other and old is not None and base.dtype.is_complex:
        old = view_node(Ops.parts, Tensor(base.storage, Layout.contiguous(extent(base)[1])), old)
    if other and out.dtype.is_complex:
        node = None if node is None else view_node(Ops.parts, out, node)
        out = as_parts(out)
    plan = plan_of(Ops.put, (whole, out), position, fresh=False)
    put = BackpropOp(Ops.put, plan, plan.params, (old, node), (old is not None) + 2 * (node is not None), ())
    put.versions = (out.storage.version,)
    if settings.noting:
        put.source = noted(put, ())
    out.storage.tracked = True
    ground = view_node(Ops.pairs, whole, put) if other and base.dtype.is_complex else put
    base.op = ground if base.layout.is_contiguous else seen_through(base, base, ground)


def can_lay_out(x: Tensor) -> bool:
    """Return whether `lay_out` can record another layout of x: gradients flow through x to other tensors than a Var."""
    base, node = owner_of(x), current(x)
    return node is not None and base.__class__ is Tensor and not x.is_variable and root_of(node) is not None


def lay_out(x: Tensor, layout: Layout) -> None:
    """Make a tracked tensor show its memory in another layout, and record it as a write that changes no element.

    A graph that saved x would read it in the new layout, so it must detect this write.  An owner becomes a view of a
    new tensor, since the layout of an owner is that of its gradient.
    """
    if x.base is None:
        x.base = Tensor(x.storage, x.layout, x.op)
    base = owner_of(x)
    whole = current(base)
    spare(root_of(whole))
    old = ground_of(base, whole)
    x.storage.version += 1
    rebase(Tensor(base.storage, base.layout.as_strided((0,), (1,), extent(base)[0])), base, old, None)
    rebind(x, x.storage, layout)  # `current` makes the node of x at its next use


def check_dense(name: str, base: Tensor) -> None:
    """Raise StorageError for a tracked tensor that owns memory with gaps.

    The gradient of such a tensor has no element for the memory in the gaps.
    """
    if base.op is None or base.layout.is_contiguous:
        return
    if tuple(ground_of(base, base.op).shape) != extent(base)[1]:
        raise StorageError(
            f"{name}: cannot write into {describe(base)} with strides {base.strides}, whose layout differs from that "
            "of the recorded result; write into x.clone()"
        )
