"""The variants of an op with optional operands: one op for each set of operands that are present.

`linear(input, weight)` is an op of two operands, `linear(input, weight, bias)` is an op of three operands, and one
declaration defines both.  A variant has the rules of the operands that are present.  It calls the functions of the
declaration with None for the absent operands.  A family has one declaration for functions over 1, 2 and 3 dims.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from minigrad.core.forward import Jvp, Linear
from minigrad.core.op import Op, Rule
from minigrad.core.parameters import EMPTY, deferred_signature, parameters_of
from minigrad.declare.record import enter_rules

Present = tuple[bool, ...]


def variant(op: Op, present: Present) -> Op:
    """Return the variant of an op for the operands that are present; it is made at its first use."""
    result = op.variants.get(present)
    if result is None:
        result = op.variants[present] = reduced(op, present)
    return result


def reduced(op: Op, present: Present) -> Op:
    """Make the variant of an op for the operands that are present."""
    names = tuple(name for name, there in zip(op.operands, present) if there)
    made = Op(op.name, op.kind, names, op.params, op.where)
    made.complex = op.complex
    for field in ("doc", "label", "outputs", "zeros", "result", "roles", "target", "public", "along", "signature"):
        setattr(made, field, getattr(op, field))
    made.writes = tuple(name for name in op.writes if name in names)
    count = len(op.outputs) + 1  # the backend and the results come first
    made.dtype_rule = op.dtype_rule
    made.shape_rule = widened(op.shape_rule, present, 1)
    made.prepare = widened(op.prepare, present, count)
    made.composed = widened(op.composed, present, 0)
    absent = frozenset(op.operands) - set(names)
    kept = [rule for rule, there in zip(op.rules, present) if there]
    made.rules = tuple(None if rule is None else without(rule, absent) for rule in kept)
    made.joint = None if op.joint is None else joint_without(op.joint, absent, present)
    made.linear = None if op.linear is None else linear_without(op.linear, names)
    made.jvp = None if op.jvp is None else jvp_without(op.jvp, present)
    made.batch = batch_without(op.batch, present)
    enter_rules(made, made.rules)
    return made


def spread(values: tuple[Any, ...], present: Present, head: int) -> list[Any]:
    """Return the values with None inserted for absent operands; the first `head` values are not operands."""
    rest = iter(values[head:])
    return [*values[:head], *[next(rest) if there else None for there in present]]


def widened(function: Callable[..., Any] | None, present: Present, head: int) -> Any:
    """Return a function of the operands that are present, which calls `function` with None for the absent ones."""
    if function is None:
        return None
    return lambda *values, **params: function(*spread(values, present, head), **params)


def without(rule: Rule, absent: frozenset[str]) -> Rule:
    """Return a VJP rule whose function receives None for the absent operands."""
    there = tuple(name not in absent for name in rule.saves)
    fn = rule.fn if all(there) else widened(rule.fn, there, len(rule.gradients))
    saves = tuple(name for name in rule.saves if name not in absent)
    made = Rule(fn, saves, rule.facts, rule.gradients, rule.asked)
    made.smooth, made.foreign = rule.smooth, rule.foreign
    return made


def joint_without(rule: Rule, absent: frozenset[str], present: Present) -> Rule:
    """Return the joint rule, which returns only the gradients of the operands that are present."""
    made = without(rule, absent)
    inner = made.fn

    def some(*values: Any, **facts: Any) -> Any:
        if rule.asked:
            facts["asked"] = tuple([bool(flag) for flag in spread(facts["asked"], present, 0)])
        return tuple([g for g, there in zip(inner(*values, **facts), present) if there])

    made.fn = some
    return made


def linear_without(linear: Linear, names: tuple[str, ...]) -> Linear:
    """Return the linearity claim without the absent operands; `names` are those that are present."""
    groups = [tuple(name for name in group if name in names) for group in linear.groups]
    return Linear(tuple(group for group in groups if group))


def jvp_without(rule: Jvp, present: Present) -> Jvp:
    """Return a JVP rule whose function receives None for the absent operands."""
    index = [sum(present[:k]) for k in range(len(present))]
    there = tuple(kind == "result" or present[k] for kind, k in rule.wants)
    wants = tuple((kind, k if kind == "result" else index[k]) for (kind, k), kept in zip(rule.wants, there) if kept)
    made = Jvp(rule.fn if all(there) else widened(rule.fn, there, 0), wants, rule.facts)
    made.foreign = rule.foreign
    return made


def batch_without(batch: Any, present: Present) -> Any:
    """Return a batching rule that receives None for the absent operands; the name of a kind stays as it is."""
    if batch is None or isinstance(batch, str):
        return batch

    def some(*operands: Any, **known: Any) -> Any:
        if "flags" in known:
            known["flags"] = tuple([bool(flag) for flag in spread(known["flags"], present, 0)])
        return batch(*spread(operands, present, 0), **known)

    some.declared_parameters = parameters_of(batch)  # type: ignore[attr-defined]
    return some


OWN = ("name", "dims")


def family(declare: Callable[..., Any], **others: str) -> Callable[[FunctionType], Any]:
    """Declare the functions of a family, such as `conv1d`, `conv2d` and `conv3d`, from the definition of one of them.

    The definition has the parameters `name` and `dims` after a `*`: the name of the function that a user calls, and the
    number of dims in a name such as `conv2d`.  The public functions do not have them.

    declare: the decorator of each function, such as `composed()`.
    others: the first half of the docstrings of the other functions, by name; they refer to the definition for the rest.
    """

    def decorate(definition: FunctionType) -> Any:
        name = definition.__name__
        docs = {**{other: f"{text}; see `{name}`." for other, text in others.items()}, name: definition.__doc__}
        made = {each: declare(member(definition, each, docs[each])) for each in sorted(docs)}
        definition.__globals__.update(made)
        return made[name]

    return decorate


def member(definition: FunctionType, name: str, doc: str | None) -> FunctionType:
    """Return the function `name` of a family; it shares the code of the definition."""
    code, space = definition.__code__, definition.__globals__
    made = FunctionType(code, space, name, definition.__defaults__, definition.__closure__)
    made.__module__, made.__qualname__, made.__doc__ = definition.__module__, name, doc
    made.__kwdefaults__ = {"name": name, "dims": int(name[-2]) if name[-2].isdigit() else 0}
    made.__annotations__ = {key: text for key, text in definition.__annotations__.items() if key not in OWN}
    kept = [p for p in parameters_of(definition) if p.name not in OWN]
    made.declared_parameters = kept  # type: ignore[attr-defined]
    returned = made.__annotations__.get("return", EMPTY)
    made.__signature__ = deferred_signature(lambda: ([p.full() for p in kept], returned))  # type: ignore[attr-defined]
    return made
