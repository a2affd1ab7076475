"""Derived rules: `vjp="derived"` of an elementwise op.

The VJP rule of an operand is itself an elementwise op.  Its operands are the incoming gradients and the operands that
the rule reads.  It runs as one kernel, and its own rules are derived in the same way, so derivatives of every order
exist.  The rule is linear in the gradient, so its own rule with respect to the gradient is the same function.

The rules of an op of this package are derived when the op is first recorded.  The rules of a user's op are derived at
the declaration, so that an error appears there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from minigrad.core.forward import joint
from minigrad.core.op import Op, Rule, ScalarFn, Spec
from minigrad.declare.bodies import fast_path
from minigrad.declare.derivative import OPERATORS, derivative
from minigrad.declare.record import enter_rules, read_rule, schema
from minigrad.declare.rules import Pair, to_float
from minigrad.errors import MinigradError


def leave_rules(op: Op, vjp: Sequence[Any], later: bool) -> None:
    """Derive the rules that `vjp` declares as "derived": now, or with `later` when they are first used."""
    op.derived, op.complete = True, None not in vjp
    while len(op.outputs) < 2 and op.outputs[0] in op.operands:  # a rule saves `y`, which is the operand
        op.outputs = (f"{op.outputs[0]}_",)

    def derive(op: Op) -> None:
        rules = enumerate(vjp)
        enter_rules(op, tuple([derived_rule(op, k) if fn == "derived" else read(op, fn) for k, fn in rules]))

    if later:
        op.leave(("rules", "saves", "picks"), derive)
    else:
        derive(op)


def read(op: Op, fn: Any) -> Rule | None:
    """Return the record of a handwritten rule, or None for an operand without a rule."""
    return None if fn is None else read_rule(op, fn)


def derived_rule(op: Op, operand: int) -> Rule:
    """Derive the rule of one operand from the body of the op."""
    assert op.scalar is not None
    return rule_of(op, operand, derivative(op.scalar, operand))


def rule_of(op: Op, operand: int, scalar: ScalarFn) -> Rule:
    """Return an operand's rule from its derivative, a scalar function of the results' gradients and saved values."""
    if op.result is None:
        return single(op, operand, scalar, 1)
    count, made = len(op.outputs), dict[tuple[bool, ...], Rule]()
    saves = scalar.args[count:]

    def rule(*args: Any) -> Any:
        """Use only the gradients that exist; a 0 for a missing gradient could be multiplied by infinity."""
        assert op.scalar is not None
        there = tuple([g is not None for g in args[:count]])
        if there not in made:
            part = scalar if all(there) else derivative(op.scalar, operand, there)
            made[there] = single(op, operand, part, sum(there))
        values = dict(zip(saves, args[count:], strict=True))
        return made[there].fn(*[g for g in args[:count] if g is not None], *[values[x] for x in made[there].saves])

    return as_rule(rule, saves, count)


def single(op: Op, operand: int, scalar: ScalarFn, heads: int) -> Rule:
    """Return a rule that runs a scalar function as an undeclared op; its first `heads` arguments are gradients."""
    known = known_op(scalar)
    if known is not None:
        return as_rule(known, scalar.args[heads:], heads)
    rule = Op(scalar.name, "elementwise", scalar.args, {}, op.where)
    rule.doc = f"The gradient of {op.name} with respect to {op.operands[operand]}."
    rule.primal, rule.scalar, rule.dtype_rule = op, scalar, as_wide
    rule.linear = joint(*scalar.args[:heads])
    leave_rules(rule, ("derived",) * len(scalar.args), later=True)
    if heads == 1:
        rule.leave(("rules", "saves", "picks"), derive_rest)
    rule.public = fast_path(rule)
    rule.public.op = rule  # type: ignore[attr-defined]
    return as_rule(rule.public, scalar.args[heads:], heads)


def as_wide(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return the promoted float dtype, with a compute dtype that is at least as wide as that of the primal op."""
    compute, dtype = to_float(op, specs)
    primal, known = op.primal, dict(zip(op.operands, specs, strict=True))
    assert primal is not None and primal.dtype_rule is not None
    try:
        own, _ = primal.dtype_rule(primal, tuple([known.get(name, specs[0]) for name in primal.operands]))
    except MinigradError:  # an operand that the rule does not read has another dtype than the gradient
        own = compute
    return (own if own.kind in "fc" and own.itemsize > compute.itemsize else compute), dtype


def derive_rest(op: Op) -> None:
    """Set the rules of a rule; the rule is linear in the gradient, so it is its own rule for that operand."""
    assert op.public is not None
    itself = as_rule(op.public, op.operands[1:], 1)
    enter_rules(op, (itself, *[derived_rule(op, k) for k in range(1, len(op.operands))]))


def known_op(scalar: ScalarFn) -> Callable[..., Any] | None:
    """Return a derivative that needs no new kernel: the gradient itself, or one call of an existing op.

    Returns None for any other derivative.
    """
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
    """Return the Rule of a differentiable function that runs as one kernel."""
    rule = Rule(function, saves, (), tuple(range(heads)))
    rule.fused, rule.foreign = function, False
    return rule
