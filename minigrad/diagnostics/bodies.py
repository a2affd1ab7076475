"""The body of an elementwise op as a formula, from which readers see the computation of a derived rule."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from minigrad.core.op import ScalarFn
from minigrad.declare.derivative import CALLS, OPERATORS
from minigrad.kernels.reading import Reader

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
    """Return a number as text, floats with six significant digits."""
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

    def call(self, name: str, node: ast.Call, values: list[Term]) -> Term:
        return Term(CALLS.get(name, name), tuple(values))


def joined(name: str, parts: Sequence[Term]) -> Term:
    """Return the terms joined by a binary op, from left to right."""
    first, *rest = parts
    for part in rest:
        first = Term(name, (first, part))
    return first
