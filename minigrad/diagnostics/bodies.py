"""The body of an elementwise op as a formula, from which readers see the computation of a derived rule."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.core.op import ScalarFn
from minigrad.declare.derivative import CALLS, OPERATORS
from minigrad.diagnostics.terms import Term, number
from minigrad.kernels.scalar import strip_docstring

COMPARISONS = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
LOGIC = {ast.And: "logical_and", ast.Or: "logical_or", ast.Not: "logical_not", ast.USub: "neg"}
BITS = {ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor", ast.FloorDiv: "floor_divide"}
NAMES: dict[Any, str] = {**OPERATORS, **COMPARISONS, **LOGIC, **BITS}


def body_of(scalar: ScalarFn, operands: Sequence[Term]) -> tuple[Term, ...]:
    """Return the results of a scalar function of some terms; a named value in the body becomes one shared term."""
    names = dict(zip(scalar.args, operands, strict=True))
    *steps, last = strip_docstring(scalar.node.body)
    for step in steps:
        assert isinstance(step, ast.Assign) and isinstance(step.targets[0], ast.Name)
        names[step.targets[0].id] = term_of(step.value, names, scalar)
    assert isinstance(last, ast.Return) and last.value is not None
    results = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
    return tuple([term_of(result, names, scalar) for result in results])


def term_of(node: ast.expr, names: Mapping[str, Term], scalar: ScalarFn) -> Term:
    """Return the term of one expression."""

    def terms(*nodes: ast.expr) -> tuple[Term, ...]:
        return tuple([term_of(each, names, scalar) for each in nodes])

    match node:
        case ast.Name(id=name):
            return names[name]
        case ast.Constant(value=value):
            return Term(number(value))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return Term(number(-value))
        case ast.UnaryOp(op=op, operand=operand):
            return terms(operand)[0] if isinstance(op, ast.UAdd) else Term(NAMES[type(op)], terms(operand))
        case ast.BinOp(left=left, op=op, right=right):
            return Term(NAMES.get(type(op), type(op).__name__.lower()), terms(left, right))
        case ast.BoolOp(op=op, values=values):
            return joined(NAMES[type(op)], terms(*values))
        case ast.Compare(left=left, ops=ops, comparators=others):
            parts = terms(left, *others)
            pairs = zip(ops, parts, parts[1:], strict=False)
            return joined("logical_and", tuple([Term(NAMES[type(op)], (a, b)) for op, a, b in pairs]))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return Term("where", terms(test, body, orelse))
        case ast.Call(func=ast.Name(id=name), args=args) if name in scalar.helpers:
            return body_of(scalar.helpers[name], terms(*args))[0]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
            return Term(CALLS.get(name, name), terms(*args))
    return Term(ast.unparse(node).removeprefix("math."))


def joined(name: str, parts: tuple[Term, ...]) -> Term:
    """Return the terms joined by a binary op, from left to right."""
    first, *rest = parts
    for part in rest:
        first = Term(name, (first, part))
    return first
