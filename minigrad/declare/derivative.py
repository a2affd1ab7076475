"""Differentiate a scalar function line by line; the derivative is a scalar function again.

A body is a straight line of arithmetic, calls and conditional expressions.  An operator or a call uses the declared
rule of the op with the same meaning (`exp`, `div`, `pow`, ...), so no derivative is written twice.  A conditional
expression passes the gradient to the branch that was taken and nothing to the other branch.  So an infinity in the
other branch is never multiplied by 0.  Source: Griewank and Walther, Evaluating Derivatives, chapter 3 (forward mode),
with the incoming gradient as the seed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import cache

from minigrad.core.op import ScalarFn
from minigrad.declare.fused import trace
from minigrad.declare.record import schema
from minigrad.errors import DeclarationError
from minigrad.kernels.reading import Reader
from minigrad.kernels.rendering import signed
from minigrad.kernels.scalar import of_lines

# The ops whose rules differentiate operators, and calls whose name differs from that of the op.
OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.Mod: "remainder"}
CALLS = {"fabs": "abs", "normal_cdf": "ndtr", "logistic": "sigmoid"}
# Functions that are constant between their jumps.
CONSTANT = ("floor", "ceil", "trunc", "rint", "round", "isnan", "isinf", "isfinite")
CONSTANT_IN = {("copysign", 1)}  # functions of several operands that are constant in one of them

Pair = tuple[ast.expr, ast.expr | None]


@cache
def derivative(f: ScalarFn, operand: int, there: tuple[bool, ...] = ()) -> ScalarFn:
    """Return the gradient with respect to one operand of f as a scalar function.

    The gradient is a sum over the results of f: the incoming gradient of a result times the derivative of this result.
    The arguments of the returned function are the incoming gradients, (g, ...) or (g0, g1, ...), and those arguments of
    f that the function reads.
    there: one boolean per result, False if the result has no incoming gradient; () if all incoming gradients exist.
    Raises DeclarationError if f calls a function whose op has no rule.
    """
    body = Tangents(f)
    heads = [body.fresh("g" if f.results == 1 else f"g{k}") for k in range(f.results)]
    result: ast.expr | None = None
    for k, head in enumerate(heads):
        if not there or there[k]:
            result = plus(result, body.tangent_of(k, {f.args[operand]: ast.Name(head)}))
    result = ast.Constant(0) if result is None else result
    lines = needed(body.lines, result)
    read = {n.id for line in (*lines, result) for n in ast.walk(line) if isinstance(n, ast.Name)}
    args = (*[g for k, g in enumerate(heads) if not there or there[k]], *[a for a in f.args if a in read])
    return of_lines(f"{f.name}_vjp_{f.args[operand]}", args, lines, [result], body.helpers, f.where, 2 * f.cost)


class Tangents(Reader[Pair]):
    """Rewrite the lines of a scalar function so that each value and each tangent has a unique name.

    known: maps the text of an expression to its name, if it has a name.
    """

    def __init__(self, f: ScalarFn) -> None:
        self.lines = list[ast.stmt]()
        self.helpers = dict(f.helpers)
        self.used = {*f.args, *f.helpers, *(n.id for n in ast.walk(f.node) if isinstance(n, ast.Name)), "math"}
        self.known: dict[str, str] = {}
        # Whether a tangent belongs to a part of an operand, or to a complex number that the body makes of parts.
        self.of_parts = self.from_parts = False
        super().__init__(f, [(ast.Name(a), None) for a in f.args])

    def fresh(self, name: str) -> str:
        """Return an unused name: `name`, followed by underscores if it is taken."""
        while name in self.used:
            name += "_"
        self.used.add(name)
        return name

    def tangent_of(self, k: int, seeds: dict[str, ast.expr]) -> ast.expr | None:
        """Return the tangent of the k-th result; `seeds` are the tangents of the operands, by name."""
        self.names = {a: (ast.Name(a), seeds.get(a)) for a in self.scalar.args}
        last = self.run()
        return self.value(last.elts[k] if isinstance(last, ast.Tuple) else last)[1]

    def assign(self, name: str, pair: Pair) -> None:
        """Name the value and the tangent of a local name."""
        self.names[name] = self.named(pair[0], name), self.kept(pair[1])

    def named(self, node: ast.expr, name: str = "") -> ast.expr:
        """Assign an expression to a name, so that it is computed once, and return the name.

        Without `name`, the names are t1, t2 ...; a name or a constant is returned as it is.
        """
        if isinstance(node, (ast.Name, ast.Constant)):
            return node
        text = ast.unparse(node)
        if text not in self.known:
            self.known[text] = self.fresh(name or f"t{len(self.lines) + 1}")
            self.lines.append(ast.Assign([ast.Name(self.known[text])], node, lineno=1))
        return ast.Name(self.known[text])

    def kept(self, tangent: ast.expr | None) -> ast.expr | None:
        """Assign a tangent to a name, and return the name; None, a tangent of 0, stays None."""
        return None if tangent is None else self.named(tangent)

    def literal(self, value: float) -> Pair:
        return signed(value), None

    def constant(self, name: str) -> Pair:
        return ast.Attribute(ast.Name("math"), name), None

    def unary(self, op: ast.unaryop, pair: Pair) -> Pair:
        if isinstance(op, ast.USub):
            return self.step("neg", [pair], lambda x: ast.UnaryOp(op, x))
        return ast.UnaryOp(op, pair[0]), None if isinstance(op, ast.Not) else pair[1]

    def binary(self, node: ast.BinOp, left: Pair, right: Pair) -> Pair:
        if type(node.op) not in OPERATORS:  # bit operations, and `//`, which is constant between its jumps
            return ast.BinOp(left[0], node.op, right[0]), None
        return self.step(OPERATORS[type(node.op)], (left, right), lambda x, y: ast.BinOp(x, node.op, y))

    def condition(self, pair: Pair) -> Pair:
        return self.named(pair[0]), None

    def choice(self, test: Pair, body: Pair, orelse: Pair) -> Pair:
        (a, da), (b, db) = body, orelse
        tangent = None if da is None and db is None else ast.IfExp(test[0], da or ZERO, db or ZERO)
        return ast.IfExp(test[0], a, b), tangent

    def comparison(self, ops: list[ast.cmpop], pairs: list[Pair]) -> Pair:
        first, *others = [x for x, _ in pairs]
        return ast.Compare(first, ops, others), None

    def logic(self, logic: ast.boolop, pairs: list[Pair]) -> Pair:
        """Return `a and b` or `a or b`, and its tangent.

        Operands without tangents are conditions.  Otherwise the value is that of the operand at which Python stops.
        """
        if all(d is None for _, d in pairs):
            return ast.BoolOp(logic, [x for x, _ in pairs]), None
        (a, da), *rest = pairs
        if not rest:
            return a, da
        b, db = self.logic(logic, rest)
        decided = self.named(
            ast.Compare(self.named(a), [ast.Eq() if isinstance(logic, ast.And) else ast.NotEq()], [ZERO])
        )
        return ast.IfExp(decided, a, b), ast.IfExp(decided, da or ZERO, db or ZERO)

    def call(self, name: str, node: ast.expr, pairs: list[Pair]) -> Pair:
        """Return a call of a `math` function or a builtin, or a part of a number, and its tangent."""
        if name in ("real", "imag", "conjugate", "complex"):
            return self.parts(name, pairs)
        assert isinstance(node, ast.Call)
        if name in CONSTANT:
            return ast.Call(node.func, [x for x, _ in pairs], []), None
        return self.step(CALLS.get(name, name), pairs, lambda *xs: ast.Call(node.func, list(xs), []))

    def parts(self, name: str, pairs: list[Pair]) -> Pair:
        """Return a part of a complex number, or a number from its parts, and its tangent.

        A gradient has the convention of a backward pass, so the tangent of a part is `g` or `-i*g`, of which the engine
        takes the real part for a real value.  A tangent of a part inside a complex number would need it sooner.
        """
        (x, d), *others = pairs
        if name == "complex":
            ((y, e),) = others
            self.from_parts |= d is not None or e is not None
            self.check_parts()
            tangent = plus(d, None if e is None else ast.BinOp(e, ast.Mult(), TIMES_I))
            return ast.Call(ast.Name("complex"), [x, y], []), tangent
        self.of_parts |= d is not None
        self.check_parts(name == "conjugate" and d is not None)
        if name == "conjugate":
            return ast.Call(ast.Attribute(x, name), [], []), None
        return ast.Attribute(x, name), d if d is None or name == "real" else ast.BinOp(d, ast.Mult(), TIMES_MINUS_I)

    def check_parts(self, wrong: bool = False) -> None:
        """Raise DeclarationError for a body whose tangent is not a product with a derivative."""
        if wrong or (self.of_parts and self.from_parts):
            raise DeclarationError(
                f"{self.scalar.where}: no rule of {self.scalar.name} can be derived, because it computes a complex "
                "number from parts or the conjugate of its operand; write vjp=(...)",
                op=self.scalar.name,
            )

    def step(self, name: str, pairs: Sequence[Pair], again: Callable[..., ast.expr]) -> Pair:
        """Return a call or an operator, and its tangent by the rules of the op `name`; `again` makes the expression."""
        if all(d is None for _, d in pairs):
            return again(*[x for x, _ in pairs]), None
        xs = [self.named(x) for x, _ in pairs]
        y, total = self.named(again(*xs)), None
        for k, (_, d) in enumerate(pairs):
            if d is not None and (name, k) not in CONSTANT_IN:
                total = plus(total, self.partial(name, k, self.named(d), xs, y))
        return y, total

    def partial(self, name: str, k: int, d: ast.expr, xs: Sequence[ast.expr], y: ast.expr) -> ast.expr:
        """Return the tangent that operand k contributes: its declared rule, with the tangent d as the gradient."""
        if name == "mul":
            return ast.BinOp(d, ast.Mult(), xs[1 - k])
        if name == "neg" or (name == "sub" and k == 1):
            return ast.UnaryOp(ast.USub(), d)
        if name in ("add", "sub") or (name == "remainder" and k == 0):
            return d
        rule = rule_of(name, k)
        if rule is None:
            raise DeclarationError(
                f"{self.scalar.where}: {self.scalar.name} calls {name}, which has no derivative rule, so no rule of "
                f"{self.scalar.name} can be derived; write vjp=(...)",
                op=self.scalar.name,
            )
        operands = dict(zip(schema[name].operands, xs, strict=True)) | {"y": y}
        return self.calls(rule, [d, *[operands[a] for a in rule.args[1:]]])

    def helper(self, name: str, pairs: list[Pair]) -> list[Pair]:
        """Return a call of another scalar function, and its tangent from the derivatives of that function."""
        function = self.scalar.helpers[name]
        xs = [self.named(x) for x, _ in pairs]
        total = None
        for k, (_, d) in enumerate(pairs):
            if d is not None:
                part = derivative(function, k)
                values = dict(zip(function.args, xs, strict=True))
                total = plus(total, self.calls(part, [self.named(d), *[values[a] for a in part.args[1:]]]))
        return [(ast.Call(ast.Name(name), xs, []), total)]

    def calls(self, function: ScalarFn, args: list[ast.expr]) -> ast.expr:
        """Return a call of a scalar function, and add the function to the helpers."""
        known = next((name for name, each in self.helpers.items() if each is function), None)
        name = known or self.fresh(function.name)
        self.helpers[name] = function
        return ast.Call(ast.Name(name), args, [])


ZERO = ast.Constant(0)
TIMES_I = ast.Call(ast.Name("complex"), [ZERO, ast.Constant(1)], [])
TIMES_MINUS_I = ast.Call(ast.Name("complex"), [ZERO, ast.UnaryOp(ast.USub(), ast.Constant(1))], [])


def plus(a: ast.expr | None, b: ast.expr | None) -> ast.expr | None:
    """Return the sum of two tangents; None is a tangent of 0."""
    return b if a is None else a if b is None else ast.BinOp(a, ast.Add(), b)


@cache
def rule_of(name: str, k: int) -> ScalarFn | None:
    """Return the declared VJP rule of a primitive as a scalar function of g and its saved values, or None.

    Ops that users declare are not searched, because such an op may have the name of a `math` function but compute
    something else.
    """
    op = schema.get(name)
    if op is None or op.derived or not str(op.public.__module__).startswith("minigrad."):
        return None
    rule = op.rules[k]
    return None if rule is None else trace(op, rule, f"{name}_vjp_{op.operands[k]}")


def needed(lines: Sequence[ast.stmt], result: ast.expr) -> list[ast.stmt]:
    """Return the lines on which the result depends, in their order."""
    names = {n.id for n in ast.walk(result) if isinstance(n, ast.Name)}
    kept: list[ast.stmt] = []
    for line in reversed(lines):
        assert isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)
        if line.targets[0].id in names:
            kept.append(line)
            names |= {n.id for n in ast.walk(line.value) if isinstance(n, ast.Name)}
    return kept[::-1]
