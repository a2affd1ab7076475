"""The arguments of derivative rules: the incoming gradients, the positions of saved values, and static facts.

Facts and positions follow from the plan of a call, which caches them.  `pulling.py` calls the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.core.op import Rule
from minigrad.ops.creation import zeros
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.tensor import Tensor


def heads_for(node: BackpropOp, rule: Rule, gradients: Sequence[Tensor | None]) -> list[Tensor | None] | None:
    """Return the gradients that a rule takes, or None if all are missing; with `Op.zeros`, none is missing."""
    heads = [gradients[i] for i in rule.gradients]
    if all(g is None for g in heads):
        return None
    if node.op.zeros:
        device = node.plan.device
        specs = [node.plan.outs[i] for i in rule.gradients]
        heads = [zeros(s.shape, dtype=s.dtype, device=device) if g is None else g for g, s in zip(heads, specs)]
    return heads


def saved_positions(node: BackpropOp, rule: Rule, count: int) -> tuple[int | None, ...]:
    """Return the positions, among `count` saved values, of those that a joint rule reads; None for a missing one."""
    planned, key = node.__class__ is BackpropOp, (rule, "saved", node.mask, count)
    positions: tuple[int | None, ...] | None = node.plan.facts.get(key) if planned else None
    if positions is None:
        names = [node.op.value_name(k) for k in node.op.saves[node.mask][:count]]
        positions = tuple([names.index(name) if name in names else None for name in rule.saves])
        if planned:
            node.plan.facts[key] = positions
    return positions


def facts(node: BackpropOp, rule: Any, operand: int) -> dict[str, Any]:
    """Return the parameters and static facts that a rule requires.  The plan caches this dict; do not change it."""
    params, plan, op = node.params, node.plan, node.op
    planned = node.__class__ is BackpropOp  # other nodes have no plan of the op, only facts about their call
    known: dict[str, Any] | None = plan.facts.get((rule, operand)) if planned else None
    if known is None:
        known = {name: params[name] if name in params else plan.fact(name, op, operand) for name in rule.facts}
        if planned:
            plan.facts[rule, operand] = known
    return known


def every_operand(node: BackpropOp) -> list[tuple[int, tuple[int, ...]]]:
    """Return the entries of `Op.picks` for an op over any number of operands."""
    return [(k, ()) for k, parent in enumerate(node.parents) if parent is not None]
