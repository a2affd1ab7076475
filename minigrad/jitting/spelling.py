"""Scalar functions as readable text: Python and NumPy without the names of a kernel.

`kernels/rendering.py` writes every number in the compute dtype, since a compiler needs it.  NumPy converts a bare
number next to a scalar to the scalar's dtype, so here only the other numbers are converted.  A helper of one short line
is inserted where it is called; every other function is defined once at the top of the program.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.backends.reference import scalars
from minigrad.core.dtype import as_dtype, cast_array
from minigrad.core.op import ScalarFn
from minigrad.kernels.reading import Reader
from minigrad.kernels.rendering import BITWISE, MASK64, QUESTIONS, ROUNDING, call
from minigrad.kernels.scalar import strip_docstring

LINE = 72  # maximum length of a helper that is inserted where it is called
OF_NUMPY = {name: f"np.{function.__name__}" for name, function in
            (*scalars.ROUNDED.items(), *scalars.DIRECT.items(), *scalars.WHOLE.items())
            if name not in ("erf", "erfc", "pow")}  # fmt: skip
OF_MATH = ("erf", "erfc")
SATURATE = '''def saturate(x, kind):
    """Return a float as an integer without its fraction: 0 for nan, the limit for one that is too large."""
    lowest, highest = np.iinfo(kind).min, np.iinfo(kind).max
    return kind(0 if np.isnan(x) else highest if x >= highest else lowest if x <= lowest else int(x))'''


class Value(NamedTuple):
    """An expression.

    kind: "number", a NumPy scalar of the compute dtype; "literal", which may be a Python number; or "condition".
    """

    node: ast.expr
    kind: str = "number"

    def __str__(self) -> str:
        return ast.unparse(self.node)


def variable(name: str) -> Value:
    """Return a name as a number."""
    return Value(ast.parse(name, mode="eval").body)


def type_of(dtype: np.dtype[Any]) -> str:
    """Return the text of a dtype."""
    return "bool" if dtype.kind == "b" else f"np.{dtype.name}"


def literal(value: Any, compute: np.dtype[Any]) -> Value:
    """Return a number of a program as a literal of the compute dtype."""
    if isinstance(value, bool):
        return Value(ast.Constant(value), "condition")
    if compute.kind in "iu":
        dtype = as_dtype(compute)
        if isinstance(value, float):
            value = int(cast_array(np.asarray(value), dtype))
        elif not int(dtype.lowest) <= value <= int(dtype.highest):
            value = int(np.uint64(value & MASK64).astype(compute))
    elif compute.kind == "f" and isinstance(value, float):
        value = float(str(compute.type(value)))  # the shortest text that the dtype reads as this number
        if not np.isfinite(value):
            return Value(ast.parse(f"np.{value}".replace("np.-", "-np."), mode="eval").body, "literal")
    sign = value < 0 or (value == 0 and str(value)[0] == "-")
    number: ast.expr = ast.Constant(abs(value))
    return Value(ast.UnaryOp(ast.USub(), number) if sign else number, "literal")


class Speller:
    """The functions of one program. texts: their definitions, by name."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.known: dict[Any, tuple[str, list[str]]] = {}
        self.condensed: dict[ScalarFn, ScalarFn] = {}

    def define(self, name: str, text: str) -> str:
        """Return the name of a function with this text, in which {name} is the placeholder for its name."""
        wish = name
        while self.texts.setdefault(wish, text.replace("{name}", wish)) != text.replace("{name}", wish):
            wish += "_"
        return wish

    def apply(self, scalar: ScalarFn, values: Sequence[Value], compute: np.dtype[Any]) -> list[Value]:
        """Return the results of a scalar function."""
        scalar = self.condensed.setdefault(scalar, condensed(scalar))
        if inserted(scalar, values):
            made = Body(self, scalar, values, compute).results()
            if len(str(made[0])) <= LINE:
                return made
        name, kinds = self.function(scalar, [value.kind for value in values], compute)
        result = ast.Call(ast.Name(name), [value.node for value in values], [])
        if len(kinds) == 1:
            return [Value(result, kinds[0])]
        return [Value(ast.Subscript(result, ast.Constant(k)), kind) for k, kind in enumerate(kinds)]

    def function(self, scalar: ScalarFn, kinds: Sequence[str], compute: np.dtype[Any]) -> tuple[str, list[str]]:
        """Define a scalar function; return its name and the kinds of its results."""
        key = scalar, tuple(kinds), compute
        if key not in self.known:
            body = Body(self, scalar, [Value(ast.Name(a), kind) for a, kind in zip(scalar.args, kinds)], compute)
            results = body.results()
            lines = [f"{name} = {value}" for name, value in body.lines]
            lines.append(f"return {', '.join(map(str, results))}")
            name = scalar.name if scalar.name.isidentifier() else "function"
            head = f"def {{name}}({', '.join(scalar.args)}):\n    "
            self.known[key] = self.define(name, head + "\n    ".join(lines)), [value.kind for value in results]
        return self.known[key]

    def provided(self, name: str) -> str:
        """Return the name of a function of the reference device, whose source is printed."""
        function = getattr(scalars, name)
        return self.define(name, inspect.getsource(function).strip())

    def saturated(self, value: Value, compute: np.dtype[Any]) -> Value:
        """Return a float as an integer."""
        self.define("saturate", SATURATE)
        return Value(call("saturate", value.node, ast.Name(type_of(compute))))

    def typed(self, value: Value, compute: np.dtype[Any]) -> ast.expr:
        """Return an expression whose value is a scalar of the compute dtype."""
        if value.kind == "number" or compute.kind == "b":
            return value.node
        return call(type_of(compute), value.node)


def inserted(scalar: ScalarFn, values: Sequence[Value]) -> bool:
    """Return whether a function is inserted where it is called: one line that computes no argument twice."""
    statements = strip_docstring(scalar.node.body)
    if len(statements) != 1 or scalar.results != 1:
        return False
    uses = Counter(node.id for node in ast.walk(statements[0]) if isinstance(node, ast.Name))
    return all(uses[a] <= 1 or is_read(v.node) for a, v in zip(scalar.args, values))


def is_read(node: ast.expr) -> bool:
    """Return whether an expression is a name, a number or an element of an array."""
    if isinstance(node, ast.Subscript):
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return isinstance(node.value, ast.Name) and all(isinstance(each, (ast.Name, ast.Constant)) for each in indices)
    return isinstance(node, (ast.Name, ast.Constant))


class Names(ast.NodeTransformer):
    """Transformer that replaces names by expressions."""

    def __init__(self, by_name: dict[str, ast.expr]) -> None:
        self.by_name = by_name

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.by_name.get(node.id, node)


def condensed(scalar: ScalarFn) -> ScalarFn:
    """Return a function without the statements whose value is used once: traced functions have many of them."""
    statements: list[Any] = strip_docstring(ast.parse(ast.unparse(scalar.node)).body[0].body)  # type: ignore[attr-defined]
    before = statements[:-1]
    assigned = [statement.targets[0].id for statement in before]
    uses: Counter[str] = Counter(
        node.id for s in statements for node in ast.walk(s.value) if isinstance(node, ast.Name)
    )
    joined: dict[str, ast.expr] = {}
    kept = []
    for name, statement in zip([*assigned, ""], statements, strict=True):
        statement.value = Names(joined).visit(statement.value)
        once = uses[name] == 1 and assigned.count(name) == 1 and name not in scalar.args
        if once and len(ast.unparse(statement.value)) <= LINE and not moves(statement.value, assigned):
            joined[name] = statement.value
        else:
            kept.append(statement)
    node = ast.FunctionDef(scalar.name, scalar.node.args, kept, [], lineno=1)
    made = ScalarFn(scalar.name, scalar.args, node, scalar.helpers, scalar.where)
    made.results = scalar.results
    return made


def moves(node: ast.expr, assigned: Sequence[str]) -> bool:
    """Return whether an expression reads a name that is assigned twice, so it cannot be moved."""
    return any(isinstance(each, ast.Name) and assigned.count(each.id) > 1 for each in ast.walk(node))


class Body(Reader[Value]):
    """The body of a scalar function with values as its arguments. lines: its statements."""

    def __init__(self, speller: Speller, scalar: ScalarFn, values: Sequence[Value], compute: np.dtype[Any]) -> None:
        self.speller, self.compute = speller, compute
        self.lines: list[tuple[str, Value]] = []
        super().__init__(scalar, values)

    def assign(self, name: str, value: Value) -> None:
        self.lines.append((name, value))
        self.names[name] = Value(ast.Name(name), value.kind)

    def literal(self, value: float) -> Value:
        return literal(abs(value) if self.compute.kind == "b" and not isinstance(value, bool) else value, self.compute)

    def constant(self, name: str) -> Value:
        if self.compute.kind in "iu":
            return literal(float(getattr(np, name)), self.compute)
        return Value(ast.parse(f"np.{name}", mode="eval").body, "literal")

    def logic(self, op: ast.boolop, values: list[Value]) -> Value:
        nodes, kind = self.alike(values)
        return Value(ast.BoolOp(op, nodes), kind)

    def comparison(self, ops: list[ast.cmpop], values: list[Value]) -> Value:
        first, *rest = [value.node for value in values]
        return Value(ast.Compare(first, ops, rest), "condition")

    def choice(self, test: Value, body: Value, orelse: Value) -> Value:
        (one, other), kind = self.alike([body, orelse])
        return Value(ast.IfExp(test.node, one, other), kind)

    def helper(self, name: str, values: list[Value]) -> list[Value]:
        return self.speller.apply(self.scalar.helpers[name], values, self.compute)

    def alike(self, values: list[Value]) -> tuple[list[ast.expr], str]:
        """Return the expressions of several values, converted to one kind, and this kind."""
        kinds = {value.kind for value in values}
        if kinds == {"condition"}:
            return [value.node for value in values], "condition"
        nodes = [value.node if value.kind != "condition" else self.typed(value) for value in values]
        if self.compute.kind == "f":  # an int 0 cannot represent -0.0, so literals become floats
            nodes = [ast.Constant(float(x.value)) if isinstance(x, ast.Constant) and type(x.value) is int else x
                     for x in nodes]  # fmt: skip
        return nodes, "literal" if "literal" in kinds else "number"

    def typed(self, value: Value) -> ast.expr:
        return self.speller.typed(value, self.compute)

    def unary(self, op: ast.unaryop, value: Value) -> Value:
        """Return `not x`, `-x` or `+x`."""
        if isinstance(op, ast.Not):
            return Value(ast.UnaryOp(op, value.node), "condition")
        if self.compute.kind == "b" or isinstance(op, ast.UAdd):
            return value
        return Value(ast.UnaryOp(op, self.typed(value)))

    def binary(self, node: ast.BinOp, left: Value, right: Value) -> Value:
        """Return the value of an operator."""
        op = node.op
        both = left.kind == right.kind == "condition"
        if both and isinstance(op, BITWISE):
            return Value(ast.BinOp(left.node, op, right.node), "condition")
        if self.compute.kind == "b":
            if isinstance(op, ast.Sub):
                return Value(ast.Compare(left.node, [ast.NotEq()], [right.node]), "condition")
            return Value(ast.BinOp(call("bool", left.node), op, call("bool", right.node)))
        if left.kind != "number" and right.kind != "number":
            left, right = Value(self.typed(left)), Value(self.typed(right)) if both else right
        elif "condition" in (left.kind, right.kind):
            left, right = Value(self.typed(left), left.kind), Value(self.typed(right), right.kind)
        if self.compute.kind in "iu":
            if isinstance(op, ast.Div):
                return self.speller.saturated(Value(ast.BinOp(left.node, op, right.node)), self.compute)
            if isinstance(op, ast.Pow):
                power = call(self.speller.provided("integer_power"), left.node, right.node)
                cast = ast.Attribute(call("np.int64", power), "astype")
                return Value(ast.Call(cast, [ast.Name(type_of(self.compute))], []))
        return Value(ast.BinOp(left.node, op, right.node))

    def call(self, name: str, node: ast.expr, values: list[Value]) -> Value:
        """Return the value of a call."""
        if name == "abs":
            return Value(call("abs", self.typed(values[0])))
        return self.mathematics("rint" if name == "round" else name, values)

    def mathematics(self, name: str, values: list[Value]) -> Value:
        """Return the value of a function of `math`."""
        nodes = [self.typed(value) for value in values]
        whole = self.compute.kind in "iu"
        if self.compute.kind == "f":
            return self.float_function(name, nodes)
        if whole and name in ("fmod", "gcd", "fabs"):
            return Value(call({"fabs": "abs"}.get(name, f"np.{name}"), *nodes))
        if name in ROUNDING:
            return Value(nodes[0])
        wide = Body(self.speller, self.scalar, list(self.names.values())[: len(self.scalar.args)], np.dtype(np.float64))
        result = wide.float_function(name, [call("np.float64", node) for node in nodes])
        if result.kind == "condition":
            return result
        if whole:
            return self.speller.saturated(result, self.compute)
        return Value(ast.Compare(result.node, [ast.NotEq()], [ast.Constant(0)]), "condition")

    def float_function(self, name: str, nodes: list[ast.expr]) -> Value:
        """Return the value of a function of floats."""
        if name == "pow":
            return Value(ast.BinOp(nodes[0], ast.Pow(), nodes[1]))
        if name in OF_NUMPY:
            return Value(call(OF_NUMPY[name], *nodes), "condition" if name in QUESTIONS else "number")
        if name in OF_MATH:
            return Value(call(type_of(self.compute), call(f"math.{name}", *nodes)))
        floats = [call("float", node) for node in nodes]
        return Value(call(type_of(self.compute), call(self.speller.provided(name), *floats)))
