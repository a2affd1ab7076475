"""May this memory be written?  The checks before every in-place form, `out=` and item assignment.

A write may neither lose a gradient, nor change what other results share, nor read what it has just written.  What a
recorded op saved is guarded by versions instead: see `autodiff/checks.py`.  A write under `no_grad` into what a graph
computed is allowed, and noticed when the value is used again: `current` gives it a node that no gradient passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.core.storage import ConstantStorage
from minigrad.errors import GradientError, StorageError
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.planning import make_plan
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor, describe

# What stands between a value that was computed and the same memory once it was written: there is no rule to pass it.
# It shows the same memory, so it is a view.
WRITE = Op("write", "view", ("x",), {}, f"{__file__}:1")
WRITE.doc = "A write in place that was not recorded."
WRITE.saves = WRITE.picks = ((), ())
WRITE.prepare = lambda layout: layout


def check_writable(name: str, out: Tensor, operands: tuple[Tensor, ...] = ()) -> None:
    """Raise unless writing `out` can neither lose a gradient nor read what it has just written."""
    if mode.enabled:
        check_untracked(name, out, operands)
    out.storage.version  # noqa: B018  raises for a result of inference_mode that must not be written here
    if isinstance(out.storage, ConstantStorage):
        raise StorageError(
            f"{name}: {describe(out)} is a number of the program that other results share; clone() it first", op=name
        )
    if not out.layout.is_contiguous and out.layout.may_overlap_itself():
        raise StorageError(
            f"{name}: cannot write into {describe(out)} with strides {out.strides}: its elements share memory; "
            f"clone() it first",
            op=name,
        )
    for x in operands:
        if x.storage is out.storage and x.layout is not out.layout and overlap(x.layout, out.layout):
            raise StorageError(
                f"{name}: out {describe(out)} overlaps an operand {describe(x)} in memory; clone() the operand", op=name
            )


def check_untracked(name: str, out: Tensor, operands: tuple[Tensor, ...]) -> None:
    """Raise if recording is on and a gradient would have to pass a write."""
    if out.is_variable:
        raise GradientError(f"{name}: cannot write into a Var, {describe(out)}; do it under mg.no_grad()", op=name)
    if out.op is not None and root_of(out.op) is None:
        raise GradientError(
            f"{name}: cannot write into a view of a Var, {describe(out)}; do it under mg.no_grad()", op=name
        )
    if out.op is not None:
        raise GradientError(
            f"{name}: cannot write into {describe(out)}, the result of {out.op.name} that gradients flow through; "
            f"compute a new tensor, as in y = y + 1, or write into y.detach().clone()",
            op=name,
        )
    for x in operands:
        if x.op is not None or x.is_variable:
            raise GradientError(
                f"{name}: writing a tracked operand into {describe(out)} would lose its gradient; "
                f"use the functional form, or mg.no_grad()",
                op=name,
            )


def overlap(a: Layout, b: Layout) -> bool:
    """Whether two layouts of one storage share an element.  Exact for small cases, else by their spans."""
    if not a.numel or not b.numel or a.span()[0] >= b.span()[1] or b.span()[0] >= a.span()[1]:
        return False
    base = np.empty(max(a.span()[1], b.span()[1]), np.uint8)
    views = [np.lib.stride_tricks.as_strided(base[x.offset :], x.shape, x.strides) for x in (a, b)]
    try:
        return bool(np.shares_memory(views[0], views[1], max_work=100_000))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


# ---- after a write --------------------------------------------------------------------------------------------------


def root_of(node: BackpropOp) -> BackpropOp | None:
    """The op that computed (or the write that changed) what a chain of views shows; None where that is a Var."""
    while node.op.kind == "view" and node.op is not WRITE:
        parent = node.parents[0]
        if not isinstance(parent, (BackpropOp, Output)):
            return None
        node = parent  # type: ignore[assignment]
    return node


def made_at(root: Any) -> int:
    """The version of the memory of a root's result when it was made: 0, fresh memory, but for a write."""
    op = root.op
    if op is WRITE:
        return int(root.versions[0])
    own = -1 - root.index if root.__class__ is Output else -1
    which = () if op.variadic else op.saves[root.mask]
    return int(root.versions[which.index(own)]) if own in which else 0


def current(x: Tensor) -> BackpropOp:
    """The node of a result whose memory has been written some time: its own while its values are those that the graph
    computed, else a new one, a write that no gradient passes.

    Whoever used x before the write keeps the old node, and its gradient.  Views of a Var show it as it is now.
    """
    node: BackpropOp = x.op  # type: ignore[assignment]
    root = root_of(node)
    version = x.storage.version
    if root is None or made_at(root) == version:
        return node
    x.op = written = BackpropOp(WRITE, make_plan(WRITE, (x,), {}), {}, (node,), 1, ())
    written.versions = (version,)
    return written
