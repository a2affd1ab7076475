"""Derivative rules of one node: from the gradients of its results to the gradients of its operands.

A rule is ordinary tensor code.  Without `create_graph`, a rule may run as one kernel.  With `create_graph`, an op whose
rules are kernels is differentiated through its definition.  `engine.py` visits the nodes; `repeating.py` repeats calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.autodiff.arguments import every_operand, facts, heads_for, saved_positions
from minigrad.autodiff.checks import node_of
from minigrad.autodiff.definition import by_definition_over, defined, fitted
from minigrad.autodiff.engine import Gradients, leading_to, pull_back, reachable
from minigrad.autodiff.tracked import Record
from minigrad.autodiff.watching import watched, watched_joint
from minigrad.core.op import Op, Rule, Spec
from minigrad.declare.fused import Unfusable, fuse
from minigrad.ops.shape.views import expand
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.recording import recording_on
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer
from minigrad.runtime.var import Var

NO_FACTS: dict[str, Any] = {}


def partial_gradients(
    node: BackpropOp, gradients: Gradients, wanted: set[int] | None, create: bool, saved: Any = None
) -> list[tuple[int, Tensor]]:
    """Return (index, partial gradient) for each operand of a node, from the gradients of its results.

    gradients: one per result, None for an unused one.  wanted: the ids of the parents to compute, or None for all.
    saved: the saved values, if the caller has other forms of them than the node.
    """
    op, specs, parents = node.op, node.plan.specs, node.parents
    if saved is None:
        saved = saved_in_graph(node) if create and node.saved else node.saved
    joint: Any = None
    if op.joint is not None:
        joint = at_once(node, op.joint, saved, gradients, wanted, create)
    pairs: list[tuple[int, Tensor]] = []
    for k, pick in op.picks[node.mask] if not op.variadic else every_operand(node):
        if wanted is not None and (parents[k] is None or parents[k].id not in wanted):
            continue
        at = 0 if op.variadic else k
        rule: Any = op.rules[at]
        # A fused rule is one kernel, which cannot be differentiated again.
        fn = rule.fn if create or joint is not None else rule.fused or fuse(op, at)
        picked = [] if joint is not None else [saved[i] for i in pick]
        if joint is not None:
            if (partial := joint[k]) is None:
                continue
        elif op.result is not None or rule.foreign:
            if (heads := heads_for(node, rule, gradients)) is None:
                continue
            known = facts(node, rule, k)
            if rule.foreign:
                partial = watched(node, rule, k, fn, heads, picked, known)
            else:
                partial = fn(*heads, *picked, **known)
        else:
            known = facts(node, rule, k) if rule.facts else NO_FACTS
            try:
                partial = fn(gradients[0], *picked, **known)
            except Unfusable:
                partial = rule.fn(gradients[0], *picked, **known)
        spec = specs[k]
        if partial.layout is not spec.layout or partial.dtype is not spec.dtype:
            partial = fitted(partial, spec)
        pairs.append((k, partial))
    return pairs


def at_once(
    node: BackpropOp, rule: Rule, saved: Any, gradients: Gradients, wanted: set[int] | None, create: bool
) -> Sequence[Any] | None:
    """Return the gradients of all operands from the op's joint rule, or from its definition if a graph is recorded.
    Return None if neither can leave out an operand that requires no gradient, or if values are not saved."""
    op = node.op
    asked = tuple([parent is not None and (wanted is None or parent.id in wanted) for parent in node.parents])
    composed = create and op.composed is not None and not rule.smooth
    if False in asked and not (rule.asked or composed):
        return None
    if (heads := gradients if op.result is None else heads_for(node, rule, gradients)) is None:
        return None
    if composed:
        head: Any = heads[0]
        return by_definition(op, node.params, node.plan.outs[0], saved[-len(op.operands) :], head, asked)
    positions = saved_positions(node, rule, len(saved))
    if None in positions and not rule.foreign:
        return None
    picked = [None if k is None else saved[k] for k in positions]
    known = facts(node, rule, 0) | ({"asked": asked} if rule.asked else {})
    if rule.foreign:
        return watched_joint(node, rule, list(heads), picked, known)
    return rule.fn(*heads, *picked, **known)


def by_definition(
    op: Op, params: dict[str, Any], out: Spec, operands: Sequence[Tensor], head: Tensor, asked: Sequence[bool]
) -> list[Tensor | None]:
    """Return the requested gradients as parts of the graph, by a backward pass through the definition of the op.

    The pass ends at views that replace the operands, so that one tensor may be several operands.  Floats are computed
    in the precision of the op's own kernel.
    """
    if any(isinstance(x, Tracer) for x in operands):
        return by_definition_over(op, params, out, operands, head, asked)
    with recording_on():
        placeholders = [
            expand(x, shape=x.shape) if x.requires_grad else Var.placeholder(x) if ask else x
            for x, ask in zip(operands, asked)
        ]
        y = defined(op, params, out, placeholders)
    nodes, _ = reachable([node_of(y)], 1 + max(node_of(x).id for x in placeholders))
    nodes, wanted = leading_to(nodes, {node_of(x).id: node_of(x) for x, ask in zip(placeholders, asked) if ask})
    _, table = pull_back(nodes, [(node_of(y), head)], wanted, create=True)
    return [table.get(node_of(x).id) if ask else None for x, ask in zip(placeholders, asked)]


def saved_in_graph(node: BackpropOp) -> tuple[Tensor, ...]:
    """Return the saved values of a node as parts of the graph again, for derivatives of higher order."""
    if node.__class__ is Record:  # an outer transform wraps its saved values
        return node.saved or ()
    return tuple(
        value
        if k >= len(node.parents)  # such a value is an intermediate value of a Function
        else operand_in_graph(value, node.parents[k])
        if k >= 0
        else Tensor(value.storage, value.layout, edge_of(node, -1 - k))
        for k, value in zip(node.op.saves[node.mask], node.saved or ())
    )


def operand_in_graph(value: Tensor, parent: Any) -> Tensor:
    """Return a saved operand with the history that it had when it was saved."""
    if parent is value.op:  # the parent of a constant is None
        return value.detach() if parent is None and value.is_variable else value
    return value if parent is value else Tensor(value.storage, value.layout, parent)


def edge_of(node: BackpropOp, k: int) -> Any:
    """Return the `op` of the tensor of a node's k-th result."""
    if node.ids is None:
        return node
    return Output(node, k) if node.plan.outs[k].dtype.is_inexact else None
