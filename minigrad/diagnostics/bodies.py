"""The body of an elementwise op as a formula, from which readers see the computation of a derived rule."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from minigrad.core.op import ScalarFn
from minigrad.declare.derivative import CALLS, OPERATORS
from minigrad.diagnostics.terms import Term, number
from minigrad.kernels.reading import Reader

COMPARISONS = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
LOGIC = {ast.And: "logical_and", ast.Or: "logical_or", ast.Not: "logical_not", ast.USub: "neg"}
BITS = {ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor", ast.FloorDiv: "floor_divide"}
NAMES: dict[Any, str] = {**OPERATORS, **COMPARISONS, **LOGIC, **BITS}


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
