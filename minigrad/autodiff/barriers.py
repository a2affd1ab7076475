"""Barriers: nodes that no gradient can pass, used where the derivative would otherwise be silently wrong.

A gradient that was computed as a plain value is no longer connected to its inputs.  PyTorch continues with a derivative
that lacks a part.  Here the graph has a barrier, which raises an error if a gradient would have to pass it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minigrad.autodiff.engine import reachable
from minigrad.autodiff.replacing import alike
from minigrad.backends.registry import backend_of
from minigrad.core.op import Op, Rule, Spec
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.planning import CallPlan, make_plan
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer


def refusal(name: str, reason: str) -> Op:
    """Return an op that no gradient can pass; `reason` is the error message of such an attempt."""
    op = Op(name, "refusal", ("x",), {}, f"{__file__}:1")
    op.doc = reason
    op.variadic, op.rules, op.saves = True, (None,), ((),)
    return op


def barred(x: Tensor, parents: Iterable[Any], name: str, reason: str) -> Tensor:
    """Return the same values, as if an op without a derivative had computed them from `parents`."""
    if isinstance(x, Tracer):
        return rewrapped(x, lambda inner: barred(inner, parents, name, reason))
    edges = tuple([parent for parent in parents if parent is not None])
    spec = Spec(x.layout, x.dtype)
    plan = CallPlan(backend_of(x.device), x.device, (spec,) * len(edges), None, spec)
    return Tensor(x.storage, x.layout, BackpropOp(refusal(name, reason), plan, {}, edges, 0, ()))


# The result of this op has the same values and a separate node.
ALIAS = Op("alias", "view", ("x",), {}, f"{__file__}:1")
ALIAS.doc = "The same values."
ALIAS.rules = (Rule(lambda g: g, (), ()),)
ALIAS.saves, ALIAS.picks = ((), ()), ((), ((0, ()),))
ALIAS.complete = True
ALIAS.prepare = lambda layout: layout


def beneath(x: Any) -> Any:
    """Return the innermost plain tensor of a value of transforms."""
    while isinstance(x, Tracer) and x.transform.inside is not None:
        x = getattr(x, x.transform.inside)
    return x


def rewrapped(x: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a value with the same transforms as x, whose innermost plain tensor was passed through `change`."""
    if not isinstance(x, Tracer):
        return change(x)
    twin: Any = alike(x)
    if x.transform.inside is not None:
        setattr(twin, x.transform.inside, rewrapped(getattr(x, x.transform.inside), change))
    return twin


def alias(x: Tensor) -> Tensor:
    """Return the same values under a new node.  If x has no node, the new node has no parent."""
    if isinstance(x, Tracer):
        return rewrapped(x, alias)
    parent: Any = x.op if x.op is not None else x if x.is_variable else None
    node = BackpropOp(ALIAS, make_plan(ALIAS, (x,), {}), {}, (parent,), parent is not None, ())
    return Tensor(x.storage, x.layout, node)


def depends(y: Tensor, xs: Sequence[Tensor | None]) -> bool:
    """Return whether the graph shows that y was computed from one of the aliases xs."""
    y = beneath(y)
    ids = {x.op.id for x in map(beneath, xs) if x is not None and x.op is not None}
    if y.op is None or not ids:
        return False
    nodes, _ = reachable([y.op], min(ids))
    return any(node.id in ids for node in nodes)
