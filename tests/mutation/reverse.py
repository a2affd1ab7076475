"""Mutants of reverse mode: derivative rules, what they call, joint rules, and definitions that higher orders go by."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from op_calls import everything_kept

from minigrad.core.op import Op, Rule, ScalarFn
from minigrad.declare.derivative import derivative
from minigrad.declare.derived import rule_of
from minigrad.ops.nn import loss
from tests.mutation.checkers import derivatives, ours, own_rows
from tests.mutation.mutant import Mutant, attribute, rewritten
from tests.mutation.trees import Make, helpers, shown, tree_of, variants


def mutants() -> Iterator[Mutant]:
    """Those of every op that is differentiable."""
    for op in ours().values():
        if op.differentiable:
            yield from of_joint(op)
            yield from of_definition(op)
            for k, rule in enumerate(op.rules):
                if rule is not None and not (nothing(rule) or constant(op, k)):
                    yield from of_rule(op, k, rule)


def of_joint(op: Op) -> Iterator[Mutant]:
    """One gradient of several that come at once has the wrong sign, or is another's."""
    for k, rule in enumerate(op.rules) if op.joint is not None else ():
        if rule is not None:
            what = f"{op.operands[k]} negated in the joint rule"
            yield Mutant("vjp", op.name, what, partial(negated_jointly, op, k), partial(derivatives, op.name))


def of_definition(op: Op) -> Iterator[Mutant]:
    """The definition that the second derivative of an op with a joint rule goes by."""
    if op.joint is None or op.composed is None or op.joint.smooth:
        return
    for fn in (op.composed, *helpers(op.composed)):
        where = "" if fn is op.composed else f"{fn.__name__}: "
        for what, make in variants(tree_of(fn)):
            broken = partial(rewritten, fn, make)
            yield Mutant("definition", op.name, where + what, broken, partial(derivatives, op.name))


def of_rule(op: Op, k: int, rule: Rule) -> Iterator[Mutant]:
    """The rule of one operand."""
    label, check = op.operands[k], partial(derivatives, op.name)
    yield Mutant("vjp", op.name, f"{label}: negated", partial(negated, op, k), check)
    if op.derived:
        yield from of_derived(op, k, rule)
        return
    fn = getattr(rule.fn, "joint", rule.fn)  # the joint rule, if the rule only calls it for one operand
    by_package = fn is not rule.fn and fn.__closure__ is not None  # a function of the package makes it
    for what, make in () if by_package else variants(tree_of(fn)):
        yield Mutant("vjp", op.name, f"{label}: {what}", partial(alone, op, fn, make), check)
    for helper in () if by_package else helpers(fn):
        for what, make in variants(tree_of(helper), statements=True):
            text = f"{helper.__name__}: {what}"
            yield Mutant("vjp", op.name, f"{label}: {text}", partial(alone, op, helper, make), check, text)
    yield from of_saves(op, k, rule)


def of_derived(op: Op, k: int, rule: Rule) -> Iterator[Mutant]:
    """A rule that is derived: the scalar function that it is."""
    assert op.scalar is not None
    scalar = derivative(op.scalar, k)
    for what, make in variants(scalar.node):
        broken = partial(derived_from, op, k, scalar, make)
        yield Mutant("vjp", op.name, f"{op.operands[k]}: {what}", broken, partial(derivatives, op.name))
    yield from of_saves(op, k, rule)


def of_saves(op: Op, k: int, rule: Rule) -> Iterator[Mutant]:
    """Another value of the op is saved than a rule asks for."""
    for j, name in enumerate(rule.saves):
        for other in (*op.operands, *op.outputs):
            if other != name and not op.variadic:
                text = f"{op.operands[k]}: {other} saved instead of {name}"
                yield Mutant("vjp", op.name, text, partial(saving, op, k, j, other), partial(derivatives, op.name))


def nothing(rule: Rule) -> bool:
    """Whether a rule gives zeros whatever comes: nothing in it can be broken."""
    try:
        return re.search(r": zeros_like\(\w+\)$", shown(tree_of(rule.fn))) is not None
    except LookupError:
        return False


def constant(op: Op, k: int) -> bool:
    """Whether the derivative of an elementwise op, or of what a reduction maps, is 0 by what it is made of."""
    rule = op.rules[k]
    if rule is None or not (op.derived or rule.fn.__module__ == loss.__name__):
        return False
    scalar = op.scalar if op.derived else op.reducer.map
    (last,) = derivative(scalar, k).node.body[-1:]
    return isinstance(last, ast.Return) and isinstance(last.value, ast.Constant)


# ---- what is broken -------------------------------------------------------------------------------------------------


@contextmanager
def alone(op: Op, fn: Any, make: Make) -> Iterator[None]:
    """A rule with other code; a joint rule would stand in for it."""
    with attribute(op, "joint", None), rewritten(fn, make):
        yield


@contextmanager
def with_rule(op: Op, k: int, rule: Rule) -> Iterator[None]:
    """An op with another rule for one operand."""
    rules = tuple(rule if j == k else each for j, each in enumerate(op.rules))
    with attribute(op, "joint", None), attribute(op, "rules", rules):
        yield


def derived_from(op: Op, k: int, scalar: ScalarFn, make: Make) -> AbstractContextManager[None]:
    """An op with the rule that another derivative of its scalar function makes."""
    wrong = ScalarFn(scalar.name, scalar.args, make(), scalar.helpers, scalar.where)  # type: ignore[arg-type]
    return with_rule(op, k, rule_of(op, k, wrong))


def negated(op: Op, k: int) -> AbstractContextManager[None]:
    """The rule of an operand has the wrong sign."""
    rule: Any = op.rules[k]
    wrong = Rule(lambda g, *a, **b: -rule.fn(g, *a, **b), rule.saves, rule.facts, rule.gradients)
    wrong.foreign = False
    return with_rule(op, k, wrong)


@contextmanager
def saving(op: Op, k: int, j: int, other: str) -> Iterator[None]:
    """The rule of an operand is given another of the op's values."""
    rule: Any = op.rules[k]
    saves = tuple(other if i == j else name for i, name in enumerate(rule.saves))
    wrong = Rule(rule.fn, saves, rule.facts, rule.gradients)
    with with_rule(op, k, wrong), everything_kept():
        yield


@contextmanager
def negated_jointly(op: Op, k: int) -> Iterator[None]:
    """One of the gradients that a joint rule gives has the wrong sign."""
    joint: Any = op.joint
    flipped = lambda at, x: -x if at == k and x is not None else x
    wrong = Rule(
        lambda g, *a, **b: tuple(flipped(at, x) for at, x in enumerate(joint.fn(g, *a, **b))),
        joint.saves, joint.facts, asked=joint.asked,
    )  # fmt: skip
    wrong.foreign = False
    with attribute(op, "joint", wrong):
        yield


def unbroken(some: Iterable[Mutant]) -> list[str]:
    """The rules of ours that none of some mutants breaks."""
    broken = {(m.of, m.what.partition(":")[0]) for m in some if m.kind == "vjp"}
    return [
        f"{name}-{op.operands[k]}"
        for name, op in ours().items() if op.differentiable and name in own_rows()
        for k, rule in enumerate(op.rules)
        if rule is not None and (name, op.operands[k]) not in broken and not (nothing(rule) or constant(op, k))
    ]  # fmt: skip
