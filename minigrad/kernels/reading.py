"""Read the body of a scalar function: one traversal of its expressions for all that interprets them.

The interpretation decides what a literal, an operator, a conditional expression and a call are: the text of a kernel
(`rendering.py`), readable NumPy (`jitting/spelling.py`), a formula (`diagnostics/formula.py`), or a value with its
tangent (`declare/derivative.py`).  `Lines` composes a body of calls, for derivative rules and for programs of `mg.jit`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from minigrad.core.op import ScalarFn
from minigrad.kernels.scalar import of_lines, strip_docstring

V = TypeVar("V")


class Reader(Generic[V]):
    """An interpretation of one body; names: the interpreted values of its arguments and local names."""

    # The methods of an interpretation.
    literal: Callable[[float], V]  # of a number or a boolean
    constant: Callable[[str], V]  # of a constant of `math`, by name
    unary: Callable[[ast.unaryop, V], V]
    binary: Callable[[ast.BinOp, V, V], V]
    logic: Callable[[ast.boolop, list[V]], V]  # of `a and b and ...`
    comparison: Callable[[list[ast.cmpop], list[V]], V]  # of a chain such as `a < b < c`
    choice: Callable[[V, V, V], V]  # of the condition and both branches
    helper: Callable[[str, list[V]], list[V]]  # of the results of another scalar function
    # Of a function of `math`, of `abs`, `round` or `complex`, or of `x.real`, `x.imag` or `x.conjugate()`.
    call: Callable[[str, ast.expr, list[V]], V]

    def __init__(self, scalar: ScalarFn, values: Sequence[V]) -> None:
        self.scalar = scalar
        self.names: dict[str, V] = dict(zip(scalar.args, values, strict=True))

    def run(self) -> ast.expr:
        """Interpret all assignments of the body; return the expression of the results."""
        *steps, last = strip_docstring(self.scalar.node.body)
        for step in steps:
            assert isinstance(step, ast.Assign) and isinstance(step.targets[0], ast.Name)
            self.assign(step.targets[0].id, self.value(step.value))
        assert isinstance(last, ast.Return) and last.value is not None
        return last.value

    def results(self) -> list[V]:
        """Return the values of the results."""
        last = self.run()
        # The last line of a body with several results may call a helper with the same number of results.
        if self.scalar.results > 1 and isinstance(last, ast.Call):
            return self.helper(ast.unparse(last.func), [self.value(a) for a in last.args])
        return [self.value(part) for part in (last.elts if isinstance(last, ast.Tuple) else [last])]

    def assign(self, name: str, value: V) -> None:
        """Give a value a name."""
        self.names[name] = value

    def value(self, node: ast.expr) -> V:
        """Return the value of one expression."""
        match node:
            case ast.Name(id=name):
                return self.names[name]
            case ast.Constant(value=bool() | int() | float() as value):
                return self.literal(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if not isinstance(
                value, bool
            ):
                return self.literal(-value)
            case ast.Attribute(value=ast.Name(id="math"), attr=attr):
                return self.constant(attr)
            case ast.Attribute(value=inner, attr=("real" | "imag") as name):
                return self.call(name, node, [self.value(inner)])
            case ast.Call(func=ast.Attribute(value=inner, attr="conjugate"), args=[]):
                return self.call("conjugate", node, [self.value(inner)])
            case ast.BinOp(left=left, right=right):
                return self.binary(node, self.value(left), self.value(right))
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(op, self.value(operand))
            case ast.BoolOp(op=logic, values=parts):
                return self.logic(logic, [self.value(part) for part in parts])
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self.comparison(ops, [self.value(each) for each in (left, *others)])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen = self.condition(self.value(test))
                return self.choice(chosen, self.value(body), self.value(orelse))
            case ast.Call(func=ast.Name(id=name), args=args) if name in self.scalar.helpers:
                return self.helper(name, [self.value(a) for a in args])[0]
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
                return self.call(name, node, [self.value(a) for a in args])
        raise AssertionError(ast.dump(node))

    def condition(self, value: V) -> V:
        """Return the condition of a conditional expression, before its branches are read."""
        return value


class Lines:
    """Compose a scalar function of calls of others, one line each: `t0 = mul(g, y)`.

    A value that a later line reads stays in a register.  taken: names that no line may have.
    """

    def __init__(self, taken: Sequence[str] = ()) -> None:
        self.taken = taken
        self.lines: list[ast.stmt] = []
        self.helpers: dict[str, ScalarFn] = {}
        self.cost = 1

    def call(self, scalar: ScalarFn, arguments: list[ast.expr], truth: bool = False) -> ast.expr:
        """Add a call, and return its name.

        truth: whether the value is stored as a boolean: memory stores 1 for every nonzero number, so the register must
        do this too.
        """
        value: ast.expr = ast.Call(ast.Name(self.named(scalar)), arguments, [])
        if truth:
            value = ast.IfExp(value, ast.Constant(True), ast.Constant(False))
        target = f"t{len(self.lines)}"
        while target in self.taken:
            target += "_"
        self.lines.append(ast.Assign([ast.Name(target)], value, lineno=1))
        self.cost += scalar.cost
        return ast.Name(target)

    def named(self, scalar: ScalarFn) -> str:
        """Return the name by which lines call a scalar function."""
        name = scalar.name
        while self.helpers.setdefault(name, scalar) is not scalar or name[1:].isdecimal():
            name += "_"
        return name

    def function(self, name: str, args: Sequence[str], results: Sequence[ast.expr], where: str) -> ScalarFn:
        """Return the function of these arguments that returns these values."""
        return of_lines(name, args, self.lines, results, self.helpers, where, self.cost)
