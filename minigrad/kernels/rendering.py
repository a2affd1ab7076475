"""A scalar function as text: statements and one expression for a compute dtype, as kernels paste them.

`scalar.py` checks the body.  Here its literals take the compute dtype, `math.*` becomes what a target
has for it, and helper functions are expanded in place.  A comparison is a condition where a condition is needed;
everywhere else it counts as 0 or 1 in the compute dtype.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.dtype import as_dtype, cast_array
from minigrad.core.op import ScalarFn
from minigrad.errors import DeclarationError
from minigrad.kernels.scalar import INTEGER, INTEGER_CALLS, MATH, OPERATORS, strip_docstring

KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float"}
# The temporary ending of a pasted name until all names in the text have been determined.
MARK = "__pasted"
PASTED = re.compile(rf"\w+{MARK}\b")
# The ending of vectorised functions such as `exp_32` and `sin_any_64`: see `vecmath`.
VECTORISED = re.compile(r"_(32|64)$")
QUESTIONS = ("isnan", "isinf", "isfinite")  # functions of `math` that return booleans
BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
ROUNDING = ("floor", "ceil", "trunc", "rint")
EXACT = 1 << 53  # largest integer that float64 represents exactly, with all smaller ones
MASK64 = (1 << 64) - 1


class Value(NamedTuple):
    """A rendered expression, and whether it is a condition: `a > 0`, `not a`, `math.isnan(a)`."""

    text: ast.expr
    condition: bool = False


def call(name: str, *args: ast.expr) -> ast.Call:
    """A call of a function by its name, such as `math.exp`."""
    return ast.Call(ast.parse(name, mode="eval").body, list(args), [])


class _Render:
    """Rewrites the expressions of one body; statements of helpers go to `lines`."""

    def __init__(
        self, scalar: ScalarFn, compute: np.dtype[Any], lines: list[str], used: set[str], calls: Mapping[str, str]
    ) -> None:
        self.scalar, self.compute, self.lines, self.used, self.calls = scalar, compute, lines, used, calls
        self.kind = KINDS[compute.kind]
        self.names: dict[str, Value] = {}

    def bind(self, name: str, value: Value, prefix: str) -> None:
        """Give a value a name in the pasted text; one that is a name there keeps it."""
        if isinstance(value.text, ast.Name) and value.text.id in self.used:
            self.names[name] = value
            return
        pasted = fresh(prefix + name, self.used)
        self.lines.append(f"{pasted} = {ast.unparse(value.text)}")
        self.names[name] = Value(ast.Name(pasted), value.condition)

    def number(self, node: ast.expr) -> ast.expr:
        """An expression where a number is needed."""
        return self.counted(self.value(node))

    def counted(self, value: Value) -> ast.expr:
        """A condition as 0 or 1; with the compute dtype bool it is of that type already."""
        return call("T", value.text) if value.condition and self.kind != "bool" else value.text

    def alike(self, nodes: list[ast.expr]) -> tuple[list[ast.expr], bool]:
        """Expressions that become one value: all conditions, or all numbers."""
        values = [self.value(node) for node in nodes]
        if all(value.condition for value in values):
            return [value.text for value in values], True
        return [self.counted(value) for value in values], False

    def value(self, node: ast.expr) -> Value:
        """Rewrite one expression."""
        match node:
            case ast.Constant(value=value):
                assert isinstance(value, (int, float))
                return Value(node, True) if isinstance(value, bool) else Value(self.literal(value))
            case ast.Name(id=name):
                return self.names[name]
            case ast.Attribute(attr="inf" | "nan") if self.kind == "int":
                return Value(self.literal(float(node.attr)))
            case ast.Attribute(attr=attr):
                return Value(call("T", ast.parse(f"np.{attr}", mode="eval").body))
            case ast.BinOp():
                return self.binary(node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Value(ast.UnaryOp(node.op, self.value(operand).text), True)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if (
                self.kind != "bool" and not isinstance(value, bool)
            ):
                return Value(self.literal(-value))
            case ast.UnaryOp(op=op, operand=operand):
                return Value(self.narrow(ast.UnaryOp(op, self.number(operand))))
            case ast.BoolOp(op=logic, values=parts):
                texts, condition = self.alike(parts)
                return Value(ast.BoolOp(logic, texts), condition)
            case ast.Compare(left=left, ops=ops, comparators=others):
                (first, *rest), _ = self.alike([left, *others])
                return Value(ast.Compare(first, ops, rest), True)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen = self.value(test).text
                (one, other), condition = self.alike([body, orelse])
                return Value(ast.IfExp(chosen, one, other), condition)
            case ast.Call():
                return self.called(node)
        raise AssertionError(ast.dump(node))

    def literal(self, value: float) -> ast.expr:
        """A number of the text as one of the compute dtype, by the project's casts; a bare 0.5 would make Numba compute
        in float64, a bare 2 in int64."""
        dtype = as_dtype(self.compute)
        if self.kind != "int":
            if isinstance(value, int) and not -EXACT <= value <= EXACT:
                value = float(value)
        elif isinstance(value, float):
            value = int(cast_array(np.asarray(value), dtype))
        elif not int(dtype.lowest) <= value <= int(dtype.highest):
            value = int(np.uint64(value & MASK64).astype(self.compute))
        return signed(value) if self.kind == "bool" else call("T", signed(value))

    def binary(self, node: ast.BinOp) -> Value:
        """An operator; `&`, `|` and `^` of conditions are conditions."""
        (left, right), condition = self.alike([node.left, node.right])
        if condition and isinstance(node.op, BITWISE):
            return Value(ast.BinOp(left, node.op, right), True)
        left, right = (self.counted(Value(text, condition)) for text in (left, right))
        name = INTEGER.get(type(node.op)) if self.kind == "int" else None
        if self.kind == "float":
            name = self.calls.get(OPERATORS.get(type(node.op), ""))
        result: ast.expr = ast.BinOp(left, node.op, right) if name is None else call(name, left, right)
        if self.kind == "int" and isinstance(node.op, ast.Div):
            return Value(call("saturate", result))
        return Value(self.narrow(result))

    def narrow(self, node: ast.expr) -> ast.expr:
        # Numba widens every integer result to int64; a later comparison must see the wrapped value.
        return call("T", node) if self.kind == "int" else node

    def called(self, node: ast.Call) -> Value:
        """A call of a helper, of a builtin or of a function of `math`."""
        match node.func:
            case ast.Name(id=name) if name in self.scalar.helpers:
                (value,) = self.expanded(name, node.args)
                return value
            case ast.Name(id="abs") | ast.Attribute(attr="fabs") if self.kind == "int" or isinstance(
                node.func, ast.Name
            ):
                return Value(self.narrow(call("abs", self.number(node.args[0]))))
            case ast.Name(id="round"):
                return self.mathematics("rint", node)
            case ast.Attribute(attr=attr):
                return self.mathematics(attr, node)
        raise AssertionError(ast.dump(node))

    def expanded(self, name: str, args: list[ast.expr]) -> list[Value]:
        """The results of a helper."""
        values, prefix = [self.value(a) for a in args], f"{name.strip('_')}_"
        lines, results = bodies_of(self.scalar.helpers[name], values, self.compute, self.used, prefix, self.calls)
        self.lines.extend(lines)
        return results

    def mathematics(self, name: str, node: ast.Call) -> Value:
        """A function of `math`: of integers and bool it is that of float64, cast back."""
        args = [self.number(a) for a in node.args]
        if self.kind == "int" and name in INTEGER_CALLS:
            return Value(self.narrow(call(INTEGER_CALLS[name], *args)))
        if name == "gcd":
            raise DeclarationError(
                f"{self.scalar.where}: math.gcd is for integers, and {self.scalar.name} computes in {self.compute}; "
                f"write a dtype rule that refuses others", op=self.scalar.name,
            )  # fmt: skip
        if self.kind == "float":
            return Value(call(self.calls.get(name, MATH[name]), *args), name in QUESTIONS)
        if name in ROUNDING:
            return Value(args[0])  # integers need no rounding, and float64 cannot represent all of them
        result = call(self.calls.get(name, MATH[name]), *[call("np.float64", a) for a in args])
        if name in QUESTIONS:
            return Value(result, True)
        if self.kind == "bool":
            return Value(ast.Compare(result, [ast.NotEq()], [ast.Constant(0)]), True)
        return Value(call("saturate", result))


def signed(value: float) -> ast.expr:
    """A number as a literal."""
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


def fresh(wish: str, used: set[str]) -> str:
    """A name for a pasted value, unlike those in `used`; it carries MARK until `settle` has seen the whole text."""
    while wish in used:
        wish += "_"
    used |= {wish, wish + MARK}
    return wish + MARK


def settle(text: str, taken: Iterable[str] = ()) -> str:
    """Return the text of one function without the MARK of its pasted names.

    Each name differs from every other word of the text, from the words in `taken`, which are added later, and from the
    vectorised functions.
    """
    pasted = dict.fromkeys(PASTED.findall(text))
    if not pasted:
        return text
    words = {*re.findall(r"\w+", re.sub(r'"""[\s\S]*?"""|#.*', "", text)), *taken}
    for marked in pasted:
        name = marked.removesuffix(MARK)
        while name in words or VECTORISED.search(name):
            name += "_"
        words.add(name)
        pasted[marked] = name
    return PASTED.sub(lambda match: pasted[match[0]] or "", text)


def render(
    scalar: ScalarFn,
    args: list[ast.expr],
    compute: np.dtype[Any],
    used: set[str],
    calls: Mapping[str, str] = MappingProxyType({}),
    condition: bool = False,
) -> tuple[list[str], ast.expr]:
    """Write a scalar function as statements and a result expression.

    args: the expression of each operand.  compute: the dtype `T`.
    used: names that are taken in the kernel; new ones are added, for `settle`.
    calls: the text for math.NAME, of float64 where `compute` is not a float, and for the operators in `OPERATORS`; for
    others the text is in `MATH`.
    condition: the result may be a condition instead of a number.
    """
    lines, (result,) = render_results(scalar, args, compute, used, calls, [condition])
    return lines, result


def render_results(
    scalar: ScalarFn, args: list[ast.expr], compute: np.dtype[Any], used: set[str], calls: Mapping[str, str],
    conditions: Sequence[bool],
) -> tuple[list[str], list[ast.expr]]:  # fmt: skip
    """`render` with one expression per result.  conditions: which of the results may be conditions."""
    lines, values = bodies_of(scalar, [Value(a) for a in args], compute, used, "", calls)
    counted = KINDS[compute.kind] != "bool"
    return lines, [
        call("T", value.text) if value.condition and counted and not condition else value.text
        for value, condition in zip(values, conditions, strict=True)
    ]


def bodies_of(
    scalar: ScalarFn, args: list[Value], compute: np.dtype[Any], used: set[str], prefix: str, calls: Mapping[str, str]
) -> tuple[list[str], list[Value]]:
    """The statements and the values of a body, one per result.  prefix: for the names of a helper."""
    lines: list[str] = []
    writer = _Render(scalar, compute, lines, used, calls)
    for name, value in zip(scalar.args, args, strict=True):
        writer.bind(name, value, prefix)
    for statement in strip_docstring(scalar.node.body):
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
            assert isinstance(target, ast.Name)
            writer.bind(target.id, writer.value(statement.value), prefix)
        else:
            assert isinstance(statement, ast.Return) and statement.value is not None
            last = statement.value
            # The last line calls a helper with the same number of results.
            if scalar.results > 1 and isinstance(last, ast.Call):
                return lines, writer.expanded(ast.unparse(last.func), last.args)
            return lines, [writer.value(part) for part in (last.elts if isinstance(last, ast.Tuple) else [last])]
    raise AssertionError(f"{scalar.name} does not return")


class _Powers(ast.NodeTransformer):
    """a ** b -> _power(a, b): NumPy's integers refuse negative exponents."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        return ast.Call(ast.Name("_power", ast.Load()), [node.left, node.right], [])


def as_python(
    scalar: ScalarFn, compute: np.dtype[Any], namespace: dict[str, Any], loads: list[str], store: str
) -> Callable[..., Any]:
    """The scalar function as a plain Python function over NumPy scalars: what the reference backend calls.

    namespace: what the text calls: T, np, math, saturate, _power (for `**` of floats) and the names of integer.py.
    loads, store: expressions in `{}` that turn a stored value into the compute dtype and back.  Several results are a
    tuple.
    """
    used: set[str] = set()
    args = [fresh(a, used) for a in scalar.args]
    lines = [f"{a} = {load.format(a)}" for a, load in zip(args, loads, strict=True)]
    conditions = [False] * scalar.results
    more, results = render_results(scalar, [ast.Name(a) for a in args], compute, used, MappingProxyType({}), conditions)
    stored = ", ".join([store.format(ast.unparse(each)) for each in results])
    # Not named after the op: a function called `abs` would hide the builtin that its own body calls.
    text = f"def scalar_function({', '.join(args)}):\n" + "".join(f"    {line}\n" for line in lines + more)
    text = settle(f"{text}    return {stored}\n", ("_power",))
    tree = ast.fix_missing_locations(_Powers().visit(ast.parse(text)))
    exec(compile(tree, f"<reference {scalar.name}>", "exec"), namespace)
    result: Callable[..., Any] = namespace["scalar_function"]
    return result
