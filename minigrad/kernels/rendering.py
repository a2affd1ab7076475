"""Write a scalar function as text for a compute dtype: statements and one expression, which kernels paste.

`scalar.py` has checked the body.  Here its literals become values of the compute dtype, `math.*` becomes the target's
replacement, and helper functions are expanded in place.  A comparison stays a condition where a condition is needed;
everywhere else it becomes 0 or 1 in the compute dtype.
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
from minigrad.errors import DeclarationError, DTypeError
from minigrad.kernels.reading import Reader
from minigrad.kernels.scalar import COMPLEX, INTEGER, INTEGER_CALLS, MATH, OPERATORS, line_of

KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
# Pasted names have this ending until all names of the text are final.
MARK = "__pasted"
PASTED = re.compile(rf"\w+{MARK}\b")
# The ending of the names of vectorised functions, such as `exp_32` and `sin_any_64`: see `vecmath`.
VECTORISED = re.compile(r"_(32|64)$")
QUESTIONS = ("isnan", "isinf", "isfinite")  # functions of `math` that return booleans
BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
BITS = (*BITWISE, ast.LShift, ast.RShift)  # the operators that floats do not have
PARTS = ("real", "imag", "conjugate")  # the attributes and the method of Python's numbers
ROUNDING = ("floor", "ceil", "trunc", "rint")
EXACT = 1 << 53  # float64 represents all integers up to this one exactly
MASK64 = (1 << 64) - 1


class Value(NamedTuple):
    """A rendered expression, and whether it is a condition such as `a > 0`, `not a` or `math.isnan(a)`.

    real: whether it is a real number in a complex loop, such as `x.real`, `abs(x)` or a literal.
    """

    text: ast.expr
    condition: bool = False
    real: bool = False


def call(name: str, *args: ast.expr) -> ast.Call:
    """Return the call of a function by its name, such as `math.exp`."""
    return ast.Call(ast.parse(name, mode="eval").body, list(args), [])


class _Render(Reader[Value]):
    """Rewrites the expressions of one body; the helpers' statements go to `lines`."""

    def __init__(
        self, scalar: ScalarFn, values: Sequence[Value], compute: np.dtype[Any], lines: list[str], used: set[str],
        prefix: str, calls: Mapping[str, str],
    ) -> None:  # fmt: skip
        self.compute, self.lines, self.used, self.prefix, self.calls = compute, lines, used, prefix, calls
        self.kind = KINDS[compute.kind]
        self.real_type = f"np.float{4 * compute.itemsize}"  # of the parts of complex numbers
        super().__init__(scalar, values)
        for name, value in zip(scalar.args, values, strict=True):
            self.assign(name, value)

    def assign(self, name: str, value: Value) -> None:
        """Assign a value to a new pasted name, unless it is such a name already."""
        if isinstance(value.text, ast.Name) and value.text.id in self.used:
            self.names[name] = value
            return
        pasted = fresh(self.prefix + name, self.used)
        self.lines.append(f"{pasted} = {ast.unparse(value.text)}")
        self.names[name] = Value(ast.Name(pasted), value.condition, value.real)

    def counted(self, value: Value) -> ast.expr:
        """Return a condition as 0 or 1 of the compute dtype, and a number unchanged."""
        if not value.condition or self.kind == "bool":
            return value.text
        return call(self.real_type if self.kind == "complex" else "T", value.text)

    def are_real(self, values: Iterable[Value]) -> bool:
        """Return whether all values are real numbers in a complex loop; a condition counts as 0 or 1."""
        return self.kind == "complex" and all(value.real or value.condition for value in values)

    def alike(self, values: Sequence[Value]) -> tuple[list[ast.expr], bool]:
        """Return expressions that are all conditions or all numbers, and which they are."""
        if all(value.condition for value in values):
            return [value.text for value in values], True
        return [self.counted(value) for value in values], False

    def literal(self, value: float) -> Value:
        """Return a boolean as a condition, and a number as a literal of the compute dtype."""
        if isinstance(value, bool):
            return Value(ast.Constant(value), True)
        return Value(self.number(value), real=self.kind == "complex")

    def number(self, value: float) -> ast.expr:
        """Return a number of the text as a literal of the compute dtype, converted by the casts of `core.dtype`.

        With a bare 0.5, Numba would compute in float64, and with a bare 2 in int64.
        """
        dtype = as_dtype(self.compute)
        if self.kind != "int":
            if isinstance(value, int) and not -EXACT <= value <= EXACT:
                value = float(value)
        elif isinstance(value, float):
            value = int(cast_array(np.asarray(value), dtype))
        elif not int(dtype.lowest) <= value <= int(dtype.highest):
            value = int(np.uint64(value & MASK64).astype(self.compute))
        return signed(value) if self.kind == "bool" else call(self.typed, signed(value))

    @property
    def typed(self) -> str:
        """The name of the type of literals: the compute dtype, or that of its parts."""
        return self.real_type if self.kind == "complex" else "T"

    def constant(self, name: str) -> Value:
        if name in ("inf", "nan") and self.kind == "int":
            return Value(self.number(float(name)))
        return Value(call(self.typed, ast.parse(f"np.{name}", mode="eval").body), real=self.kind == "complex")

    def unary(self, op: ast.unaryop, value: Value) -> Value:
        if isinstance(op, ast.Not):
            return Value(ast.UnaryOp(op, value.text), True)
        return Value(self.narrow(ast.UnaryOp(op, self.counted(value))), real=self.are_real([value]))

    def logic(self, op: ast.boolop, values: list[Value]) -> Value:
        texts, condition = self.alike(values)
        return Value(ast.BoolOp(op, texts), condition)

    def comparison(self, ops: list[ast.cmpop], values: list[Value]) -> Value:
        equality = all(isinstance(op, ast.Eq | ast.NotEq) for op in ops)
        if self.kind == "complex" and not equality and not self.are_real(values):
            raise self.for_reals("compares the order of its operands")
        (first, *rest), _ = self.alike(values)
        return Value(ast.Compare(first, ops, rest), True)

    def choice(self, test: Value, body: Value, orelse: Value) -> Value:
        (one, other), condition = self.alike([body, orelse])
        real = self.are_real([body, orelse])
        if self.kind == "complex" and not condition and not real:  # both branches must have one type
            one, other = call("T", one), call("T", other)
        return Value(ast.IfExp(test.text, one, other), condition, real and not condition)

    def binary(self, node: ast.BinOp, left: Value, right: Value) -> Value:
        """Return a binary operation; `&`, `|` and `^` of two conditions are conditions."""
        if left.condition and right.condition and isinstance(node.op, BITWISE):
            return Value(ast.BinOp(left.text, node.op, right.text), True)
        a, b = self.counted(left), self.counted(right)
        name = INTEGER.get(type(node.op)) if self.kind == "int" else None
        if self.kind == "complex":
            return self.complex_binary(node, [left, right], [a, b])
        if self.kind == "float":
            if isinstance(node.op, BITS):
                raise self.for_integers(node)
            name = self.calls.get(OPERATORS.get(type(node.op), ""))
        result: ast.expr = ast.BinOp(a, node.op, b) if name is None else call(name, a, b)
        if self.kind == "int" and isinstance(node.op, ast.Div):
            return Value(call("saturate", result))
        return Value(self.narrow(result))

    def complex_binary(self, node: ast.BinOp, values: list[Value], args: list[ast.expr]) -> Value:
        """Return a binary operation in a complex loop; between real numbers it is that of a loop of floats."""
        real = self.are_real(values)
        if isinstance(node.op, BITS) or (isinstance(node.op, ast.FloorDiv | ast.Mod) and not real):
            raise self.for_reals(f"computes {ast.unparse(node)}")
        name = OPERATORS.get(type(node.op), "div" if isinstance(node.op, ast.Div) and not real else "")
        name = self.calls.get(f"real {name}" if real else name, "")
        return Value(call(name, *args) if name else ast.BinOp(args[0], node.op, args[1]), real=real)

    def narrow(self, node: ast.expr) -> ast.expr:
        # Numba widens every integer result to int64, but a later comparison must use the wrapped value.
        return call("T", node) if self.kind == "int" else node

    def for_integers(self, node: ast.expr) -> DeclarationError:
        """Return the error for an operator or a function that the compute dtype does not have."""
        rule = "mg.rules.integer, which rejects floats" if self.kind == "float" else "a rule that rejects bool"
        remedy = f"declare the op with the dtype rule {rule}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
            power = ast.unparse(ast.BinOp(node.left, ast.Pow(), node.right))
            remedy = f"write {power} for a power, or {remedy}"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, BITWISE):
            remedy = f"write `and` or `or` for conditions, or {remedy}"
        return DeclarationError(
            f"{line_of(self.scalar, node)}: {ast.unparse(node)} is for integers, and {self.scalar.name} computes in "
            f"{self.compute}; {remedy}", op=self.scalar.name,
        )  # fmt: skip

    def for_reals(self, why: str) -> DTypeError:
        """Return the error for a body without a meaning for complex numbers; it is raised when a call is planned."""
        return DTypeError(f"expected real operands, because {self.scalar.name} {why}; pass x.abs(), x.real or x.imag")

    def helper(self, name: str, values: list[Value]) -> list[Value]:
        """Return the results of a helper, after appending its statements."""
        prefix = f"{name.strip('_')}_"
        lines, results = bodies_of(self.scalar.helpers[name], values, self.compute, self.used, prefix, self.calls)
        self.lines.extend(lines)
        return results

    def call(self, name: str, node: ast.expr, values: list[Value]) -> Value:
        """Return a call of a builtin or of a function of `math`, or a part of a number."""
        args = [self.counted(value) for value in values]
        if name in PARTS:
            return self.part(name, values[0])
        if self.kind == "complex":
            return self.complex_call(name, values, args)
        if name == "complex":
            raise DTypeError(f"{self.scalar.name} returns a complex number, and it computes in {self.compute}")
        if name == "abs" or (name == "fabs" and self.kind == "int"):
            return Value(self.narrow(call("abs", *args)))
        return self.mathematics("rint" if name == "round" else name, node, args)

    def part(self, name: str, value: Value) -> Value:
        """Return the real or imaginary part or the conjugate of a number; a real number is its own conjugate."""
        if self.kind != "complex" or value.real or value.condition:
            return self.literal(0) if name == "imag" else value
        if name == "conjugate":
            return Value(ast.Call(ast.Attribute(value.text, name), [], []))
        return Value(ast.Attribute(value.text, name), real=True)

    def complex_call(self, name: str, values: list[Value], args: list[ast.expr]) -> Value:
        """Return a call in a complex loop.  A function of real numbers is that of a loop of floats."""
        real = self.are_real(values)
        name = "rint" if name == "round" else name
        if name == "complex":
            if not real:
                raise self.for_reals("makes a complex number of complex parts")
            return Value(call("T", call("complex", *args)))
        if real:
            text = "abs" if name == "abs" else self.calls.get(f"real {name}", MATH.get(name, name))
            return Value(call(text, *args), name in QUESTIONS, real=name not in QUESTIONS)
        if name not in COMPLEX:
            raise self.for_reals(f"calls {name}")
        text = self.calls.get(name, MATH.get(name, name))
        return Value(call(text, *args), name in QUESTIONS, real=name in ("abs", "fabs"))

    def mathematics(self, name: str, node: ast.expr, args: list[ast.expr]) -> Value:
        """Return a call of a `math` function.

        Integers and booleans are computed in float64 and cast back.
        """
        if self.kind == "int" and name in INTEGER_CALLS:
            return Value(self.narrow(call(INTEGER_CALLS[name], *args)))
        if name == "gcd":
            raise self.for_integers(node)
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


def complex_results(scalar: ScalarFn, compute: np.dtype[Any]) -> list[bool]:
    """Return which results of a scalar function are complex numbers in a loop of complex numbers.

    Raises DTypeError, which states the reason, if the body has no meaning for complex numbers.
    """
    args = [Value(ast.Name(name)) for name in scalar.args]
    _, values = bodies_of(scalar, args, compute, set(), "", MappingProxyType({}))
    return [not (value.real or value.condition) for value in values]


def signed(value: float) -> ast.expr:
    """Return a number as a literal, with a unary minus if it is negative."""
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


def fresh(wish: str, used: set[str]) -> str:
    """Return a name for a pasted value that is not in `used`; it has the ending MARK until `settle` removes it."""
    while wish in used:
        wish += "_"
    used |= {wish, wish + MARK}
    return wish + MARK


def settle(text: str, taken: Iterable[str] = ()) -> str:
    """Return the text of one function without the MARK of its pasted names.

    Each name stays different from every other word of the text, from the vectorised functions, and from the words in
    `taken`, which are added to the text later.
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


def render_results(
    scalar: ScalarFn, args: list[ast.expr], compute: np.dtype[Any], used: set[str],
    calls: Mapping[str, str] = MappingProxyType({}), conditions: Sequence[bool] = (),
) -> tuple[list[str], list[ast.expr]]:  # fmt: skip
    """Return a scalar function as statements and one expression per result.

    args: the expression of each operand.  compute: the dtype `T`.

    used: the names that the kernel already has; the new names are added, for `settle`.

    calls: the replacements of math.NAME and of the operators in `OPERATORS`.  They are for float64 if `compute` is not
    a float.  A function that is not in `calls` has its text in `MATH`.

    conditions: for each result, whether it may be a condition instead of a number.
    """
    conditions = conditions or [False] * scalar.results
    lines, values = bodies_of(scalar, [Value(a) for a in args], compute, used, "", calls)
    counted = KINDS[compute.kind] != "bool"
    number = f"np.float{4 * compute.itemsize}" if compute.kind == "c" else "T"
    return lines, [
        call(number, value.text) if value.condition and counted and not condition else value.text
        for value, condition in zip(values, conditions, strict=True)
    ]


def bodies_of(
    scalar: ScalarFn, args: list[Value], compute: np.dtype[Any], used: set[str], prefix: str, calls: Mapping[str, str]
) -> tuple[list[str], list[Value]]:
    """Return the statements of a body, and one value per result; prefix: begins the names of a helper."""
    lines: list[str] = []
    return lines, _Render(scalar, args, compute, lines, used, prefix, calls).results()


class _Powers(ast.NodeTransformer):
    """Replaces a ** b by _power(a, b): NumPy's integers reject negative exponents."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        return ast.Call(ast.Name("_power", ast.Load()), [node.left, node.right], [])


def as_python(
    scalar: ScalarFn, compute: np.dtype[Any], namespace: dict[str, Any], rewriter: type[ast.NodeTransformer] = _Powers
) -> Callable[..., Any]:
    """Return the scalar function as a plain Python function over NumPy scalars, which the reference backend calls.

    namespace: the names that the text uses: T, np, math, saturate, _power (for `**` of floats) and the names of
    integer.py.

    rewriter: the class that replaces expressions for other values than scalars.  Several results are returned as a
    tuple.
    """
    used: set[str] = set()
    args = [fresh(a, used) for a in scalar.args]
    lines, results = render_results(scalar, [ast.Name(a) for a in args], compute, used)
    lines.append(f"return {', '.join([f'T({ast.unparse(each)})' for each in results])}")
    # The name of the op is not used, because a function called `abs` would hide the builtin that its body calls.
    text = f"def scalar_function({', '.join(args)}):\n" + "".join(f"    {line}\n" for line in lines)
    tree = ast.fix_missing_locations(rewriter().visit(ast.parse(settle(text, ("_power",)))))
    exec(compile(tree, f"<reference {scalar.name}>", "exec"), namespace)
    return namespace["scalar_function"]
