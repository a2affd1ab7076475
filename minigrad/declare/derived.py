"""Rules that a declaration leaves to us: `vjp="derived"` of an elementwise op.

The rule of an operand is an elementwise op of the gradients and of those operands that it reads: one kernel, whose
rules are derived in their turn, so every order is there.  It is linear in the gradient, so its own rule for that is
itself.  Rules of our own ops are derived when one of them is first recorded, those of users' at the declaration, where
errors belong.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from minigrad.core.forward import joint
from minigrad.core.op import Op, Rule, ScalarFn
from minigrad.declare.derivative import OPERATORS, derivative
from minigrad.declare.record import enter_rules, schema
from minigrad.declare.rules import to_float
from minigrad.runtime.dispatch import fast_path


def leave_rules(op: Op, later: bool) -> None:
    """Let the rules of an op be derived: at their first use, or now."""
    op.derived = op.complete = True
    while op.result is None and op.outputs[0] in op.operands:  # a rule saves `y`, the operand
        op.outputs = (f"{op.outputs[0]}_",)
    op.zeros = op.result is not None  # a rule takes the gradients of all results
    if later:
        op.leave(("rules", "saves", "picks"), derive)
    else:
        derive(op)


def derive(op: Op) -> None:
    """Enter a derived rule for each operand."""
    enter_rules(op, tuple([derived_rule(op, k) for k in range(len(op.operands))]))


def derived_rule(op: Op, operand: int) -> Rule:
    """The rule of one operand."""
    assert op.scalar is not None
    return rule_of(op, operand, derivative(op.scalar, operand))


def rule_of(op: Op, operand: int, scalar: ScalarFn) -> Rule:
    """A scalar function as a rule: an op of the gradients and of what it reads, declared by nobody."""
    heads = len(op.outputs)
    known = known_op(scalar)
    if known is not None:
        return as_rule(known, scalar.args[heads:], heads)
    rule = Op(scalar.name, "elementwise", scalar.args, {}, op.where)
    rule.doc = f"The gradient of {op.name} with respect to {op.operands[operand]}."
    rule.primal, rule.scalar, rule.dtype_rule = op, scalar, to_float
    rule.linear = joint(*scalar.args[:heads])
    leave_rules(rule, later=True)
    if heads == 1:
        rule.leave(("rules", "saves", "picks"), derive_rest)
    rule.public = fast_path(rule)
    rule.public.op = rule  # type: ignore[attr-defined]
    return as_rule(rule.public, scalar.args[heads:], heads)


def derive_rest(op: Op) -> None:
    """Enter the rules of a rule: its derivative in the gradient is itself."""
    assert op.public is not None
    itself = as_rule(op.public, op.operands[1:], 1)
    enter_rules(op, (itself, *[derived_rule(op, k) for k in range(1, len(op.operands))]))


def known_op(scalar: ScalarFn) -> Callable[..., Any] | None:
    """What a derivative is without a kernel of its own: the gradient itself, or one call of an op on its arguments."""
    (last,) = scalar.node.body[-1:]
    assert isinstance(last, ast.Return)
    match last.value:
        case ast.Name() if scalar.args == (ast.unparse(last.value),):
            return lambda g: g
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id=a)) if scalar.args == (a,):
            return schema["neg"].public
        case ast.BinOp(left=ast.Name(id=a), op=op, right=ast.Name(id=b)) if scalar.args == (a, b):
            return schema[OPERATORS[type(op)]].public
    return None


def as_rule(function: Callable[..., Any], saves: tuple[str, ...], heads: int) -> Rule:
    """A rule that is one kernel, of which derivatives can be asked."""
    rule = Rule(function, saves, (), tuple(range(heads)))
    rule.fused, rule.foreign = function, False
    return rule
