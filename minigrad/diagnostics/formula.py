"""Derivative rules and the bodies of elementwise ops as formulas.

A rule runs once on values that record the ops applied to them.  No formula is written by hand: `written` returns the
ops of the declared rule, for the given operands and masks, and `value` is the rule's result.  The body of an
elementwise op is read from its source, which shows the computation of a derived rule.  `viz/mathematics.py` converts a
formula to text or MathML.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from minigrad.autodiff.arguments import facts
from minigrad.autodiff.following import Followed, Following
from minigrad.autodiff.holding import values_of
from minigrad.core.dtype import DType
from minigrad.core.op import Op, ScalarFn
from minigrad.declare.derivative import CALLS, OPERATORS
from minigrad.diagnostics.flow import Step, values
from minigrad.errors import MinigradError
from minigrad.kernels.reading import Reader
from minigrad.runtime.data import store
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.program import Call
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor

COMPARISONS = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
LOGIC = {ast.And: "logical_and", ast.Or: "logical_or", ast.Not: "logical_not", ast.USub: "neg"}
BITS = {ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor", ast.FloorDiv: "floor_divide"}
NAMES: dict[Any, str] = {**OPERATORS, **COMPARISONS, **LOGIC, **BITS}


@dataclass(frozen=True, eq=False)
class Term:
    """Represent a part of a formula: a name, a number, or an op applied to other terms.

    Terms are compared by identity, because each computed value is one term.  `name` is the name of the op or of the
    leaf.  For an op with several results, `result` is the name of the result; otherwise it is "".
    """

    name: str
    args: tuple[Term, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    result: str = ""


def number(value: Any) -> str:
    """Return a number as text, floats with six significant digits, both parts of a complex number in parentheses."""
    if isinstance(value, complex):
        real, imag = f"{value.real:.6g}", f"{value.imag:.6g}j"
        return f"({value:.6g})" if value.real and value.imag else imag if value.imag else real
    return str(value) if isinstance(value, bool | int) else f"{value:.6g}"


def body_of(scalar: ScalarFn, operands: Sequence[Term]) -> tuple[Term, ...]:
    """Return the results of a scalar function of some terms; a named value in the body becomes one shared term."""
    return tuple(_Terms(scalar, operands).results())


class _Terms(Reader[Term]):
    """Reads a body as terms of ops."""

    def literal(self, value: float) -> Term:
        return Term(number(value))

    def constant(self, name: str) -> Term:
        return Term(name)

    def unary(self, op: ast.unaryop, value: Term) -> Term:
        return value if isinstance(op, ast.UAdd) else Term(NAMES[type(op)], (value,))

    def binary(self, node: ast.BinOp, left: Term, right: Term) -> Term:
        return Term(NAMES.get(type(node.op), type(node.op).__name__.lower()), (left, right))

    def logic(self, op: ast.boolop, values: list[Term]) -> Term:
        return joined(NAMES[type(op)], values)

    def comparison(self, ops: list[ast.cmpop], values: list[Term]) -> Term:
        pairs = zip(ops, values, values[1:], strict=False)
        return joined("logical_and", [Term(NAMES[type(op)], (a, b)) for op, a, b in pairs])

    def choice(self, test: Term, body: Term, orelse: Term) -> Term:
        return Term("where", (test, body, orelse))

    def helper(self, name: str, values: list[Term]) -> list[Term]:
        return list(body_of(self.scalar.helpers[name], values))

    def call(self, name: str, node: ast.expr, values: list[Term]) -> Term:
        return Term(CALLS.get(name, name), tuple(values))


def joined(name: str, parts: Sequence[Term]) -> Term:
    """Return the terms joined by a binary op, from left to right."""
    first, *rest = parts
    for part in rest:
        first = Term(name, (first, part))
    return first


UNWRITTEN = (MinigradError, TypeError, ValueError, AttributeError)  # raised by a rule that needs tensors with memory
BAR = "\u0304"  # a combining bar above the preceding letter: the gradient of the value with this letter


class Writing(Following):
    """Record a rule; terms: the formulas of values, by slot."""

    inside = None
    floats = False

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[int, Term] = {}

    def named(self, x: Tensor, term: Term) -> Followed:
        """Return a tensor as a value with a formula."""
        value = Followed(self, x)
        self.terms[value.slot] = term
        return value

    def term(self, x: Any) -> Term:
        """Return the formula of a value or a constant."""
        return self.terms[x.slot] if self.owns(x) else constant(x)

    def record(self, call: Call) -> None:
        super().record(call)
        terms = tuple([self.terms.get(slot) or constant(self.program.values[slot]) for slot in call.reads])
        self.terms |= zip(call.writes, results_of(call.op, terms, call.params), strict=True)

    def detached(self, x: Any) -> Tensor:
        return self.named(x.value.detach(), self.terms[x.slot])

    def derives(self, x: Any, recorded: bool) -> bool:
        return False


def results_of(op: Any, terms: tuple[Term, ...], params: dict[str, Any]) -> Sequence[Term]:
    """Return the formulas of the results of a call."""
    if op.primal is not None and op.scalar is not None:
        return body_of(op.scalar, terms)
    return [term_of(op, terms, params, "" if op.result is None else name) for name in op.outputs]


def term_of(op: Op, terms: tuple[Term, ...], params: dict[str, Any], result: str = "") -> Term:
    """Return the term of a call of an op, with the name by which users call the op.

    `cube` is called as a power; its exponent is not an operand.
    """
    return Term(op.label, (*terms, Term("3")) if op.name == "cube" else terms, params, result)


def constant(x: Tensor) -> Term:
    """Return the term of a tensor from the rule: a number if all elements are equal, otherwise dtype and shape."""
    elements = values(x)
    if elements.size and (elements == elements.flat[0]).all():
        return Term(number(elements.flat[0].item()))
    return Term(f"{x.dtype}{x.shape}")


def barred(name: str) -> str:
    """Return the name of a gradient: a bar above a name of one letter, otherwise a "d" before the name."""
    return name + BAR if len(name) == 1 else f"d {name}"


@dataclass(frozen=True)
class Rule:
    """Describe the partial gradient of one operand in a step of the backward pass.

    `operand` is the index of the operand, and `parent` is the node that receives the partial gradient.  `term` is the
    formula of the VJP rule, or None if no formula can be derived, for example because a user wrote the rule with NumPy.
    `value` is the partial gradient.
    """

    operand: int
    parent: Any
    term: Term | None
    value: Tensor


def rules_of(step: Step) -> list[Rule]:
    """Return the rules that a step of a backward pass ran, in order.

    Their formulas contain the incoming gradients and the saved values.
    """
    node, left = step.node, list(step.passed)
    result = []
    for k, pick in enumerate_operands(node):
        if left and node.parents[k] is left[0][0]:
            parent, partial = left.pop(0)
            result.append(Rule(k, parent, written(step, k, pick), partial))
    return result


def enumerate_operands(node: BackpropOp) -> Sequence[tuple[int, tuple[int, ...]]]:
    """Return pairs of an operand that requires a gradient, and the indices of the saved values that its rule reads."""
    if node.op.variadic or node.op.kind == "function":
        return [(k, ()) for k, parent in enumerate(node.parents) if parent is not None]
    return [pair for pair in node.op.picks[node.mask] if node.parents[pair[0]] is not None]


def written(step: Step, operand: int, pick: Sequence[int]) -> Term | None:
    """Return the formula of one rule, or None if the rule cannot be followed."""
    node, rule = step.node, rule_of(step.node, operand)
    if rule is None:
        return None
    try:
        writing = Writing()
        partial = followed(writing, step, operand, pick, rule.fn)
        term = writing.term(partial)
    except UNWRITTEN:
        return None
    shape = node.plan.specs[operand].shape
    # The engine sums the gradient of an operand that was broadcast in the forward pass.
    return term if partial.shape == shape else Term("sum", (term,), {"to": shape})


def rule_of(node: BackpropOp, operand: int) -> Any:
    """Return the declared rule of an operand, or None if there is none, as for a user's Function."""
    return None if node.op.kind == "function" else node.op.rules[0 if node.op.variadic else operand]


def followed(transform: Writing, step: Step, operand: int, pick: Sequence[int], fn: Callable[..., Any]) -> Any:
    """Return the result of a rule, or of its fused form, for values that the transform records."""
    node, op = step.node, step.node.op
    rule = rule_of(node, operand)
    names = [op.value_name(k) for k in op.saves[node.mask]]
    with transform, no_grad():
        heads = [None if g is None else transform.named(g, Term(barred(name)))
                 for g, name in zip(step.arrived, op.outputs, strict=False)]  # fmt: skip
        saved = [transform.named(x, Term(name)) for x, name in zip(values_of(node), names, strict=True)]
        arrived = [heads[i] for i in rule.gradients]
        return fn(*arrived, *[saved[i] for i in pick], **facts(node, rule, operand))


def forward_of(node: BackpropOp) -> Term:
    """Return the computation of a node as a term with the names of its operands."""
    op = node.op
    names = [op.operands[k] if not op.variadic else f"x{k + 1}" for k in range(len(node.parents))]
    if op.derived and op.scalar is not None and op.result is None:
        return body_of(op.scalar, [Term(name) for name in names])[0]
    params = {name: value for name, value in node.params.items() if value != op.params.get(name)}
    return term_of(op, tuple(map(Term, names)), params)


def gradients_of(node: BackpropOp) -> list[tuple[int, Term]]:
    """Return the formulas of an elementwise op's rules, for the operands that require a gradient.

    The rules run on numbers, because no incoming gradient exists before a backward pass.  A rule without a formula is
    left out.
    """
    op, transform = node.op, Writing()
    if op.kind != "elementwise" or op.result is not None:
        return []
    dtypes = [node.plan.dtype if k < 0 else node.plan.specs[k].dtype for k in op.saves[node.mask]]
    formulas = []
    with transform, no_grad():
        head = one(transform, barred(op.outputs[0]), node.plan.dtype)
        saved = [one(transform, op.value_name(k), dtype) for k, dtype in zip(op.saves[node.mask], dtypes, strict=True)]
        for k, pick in enumerate_operands(node):
            rule = rule_of(node, k)
            with suppress(*UNWRITTEN):
                partial = rule.fn(head, *[saved[i] for i in pick], **facts(node, rule, k))
                formulas.append((k, transform.term(partial)))
    return formulas


def one(transform: Writing, name: str, dtype: DType) -> Followed:
    """Return a number with a name, which a rule can take instead of a tensor."""
    return transform.named(Tensor(*store(1, dtype, "reference")), Term(name))
