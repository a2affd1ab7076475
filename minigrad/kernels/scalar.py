"""The scalar dialect: which Python may stand in the innermost line of a loop, and how it is written into one.

A declaration's body is parsed from its text, which `declaration.py` finds, checked at import, and kept as a
`ScalarFn`.  `render` turns it into statements and one expression for a given compute dtype: literals take that dtype,
`math.*` becomes what Numba compiles well, helper functions are expanded in place.  The CPU kernels, the CUDA kernels
and the reference backend all render from here, so there is one meaning of an op.
"""

from __future__ import annotations

import ast
import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from minigrad.core.op import ScalarFn
from minigrad.errors import DeclarationError
from minigrad.kernels.declaration import closure_of, definition

# The text that stands for math.NAME in a kernel.  np.* where Python's math would change the type (math.floor gives an
# int) or where Numba lacks the math function.
MATH = {name: f"math.{name}" for name in (
    "exp expm1 log log10 log1p sqrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
    "erf erfc lgamma gamma hypot copysign isnan isinf isfinite fabs pow").split()}  # fmt: skip
MATH |= {name: f"np.{name}" for name in ("floor", "ceil", "trunc", "exp2", "log2", "cbrt", "fmod")}
MATH |= {"rint": "np.rint", "normal_cdf": "math.normal_cdf", "logistic": "math.logistic"}
CHEAP = ("floor", "ceil", "trunc", "rint", "fabs", "copysign", "isnan", "isinf", "isfinite", "sqrt")
# Additions that a vectorised call such as exp is worth: 0.3 to 0.6 ns an element against 0.15; and a call of the
# library or one of the slow operators, 1.5 to 10 ns.
CALL_COST, SLOW_COST = 3, 12
SLOW = ("gamma", "lgamma", "hypot", "fmod", "pow")
BUILTINS = ("abs", "round")
CONSTANTS = ("pi", "e", "inf", "nan")
# The ending of a pasted name while the words around it are not all known yet.
MARK = "__pasted"
PASTED = re.compile(rf"\w+{MARK}\b")
VECTORISED = re.compile(r"_(32|64)$")  # `exp_32`, `sin_any_64`: see `vecmath`
# What these operators become for integers: see `kernels/integer.py`.
INTEGER = {ast.Pow: "int_power", ast.FloorDiv: "int_divide", ast.Mod: "int_modulo"}
# The names in `calls` of what these operators become for floats.
OPERATORS = {ast.Pow: "pow", ast.FloorDiv: "floor_divide", ast.Mod: "remainder"}
BINARY = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow,
    ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift,
)  # fmt: skip


def parse(function: Callable[..., Any]) -> ScalarFn:
    """Check a function against the dialect and keep it.  Raises DeclarationError with file and line."""
    node, where = definition(function)
    spec = node.args
    if spec.kwonlyargs or spec.vararg or spec.kwarg or spec.defaults:
        raise DeclarationError(
            f"{where}: the scalar function {node.name} takes plain positional arguments only; "
            f"make a bound or an exponent an operand",
            op=node.name,
        )
    args = tuple(a.arg for a in (*spec.posonlyargs, *spec.args))
    scalar = ScalarFn(node.name, args, node, {}, where)
    _Check(scalar, ChainMap(closure_of(function), function.__globals__)).body()
    return scalar


class _Check:
    """Walks one body and rejects what no kernel could hold."""

    def __init__(self, scalar: ScalarFn, names: Mapping[str, Any]) -> None:
        self.scalar, self.names = scalar, names
        self.locals = set(scalar.args)

    def fail(self, node: ast.AST, message: str) -> None:
        path, _, _ = self.scalar.where.rpartition(":")
        line = getattr(node, "lineno", self.scalar.node.lineno)
        raise DeclarationError(
            f"{path}:{line}: {message} in the scalar function {self.scalar.name}", op=self.scalar.name
        )

    def body(self) -> None:
        statements = strip_docstring(self.scalar.node.body)
        if not statements or not isinstance(statements[-1], ast.Return) or statements[-1].value is None:
            self.fail(self.scalar.node, "the last statement must return a value")
        for statement in statements[:-1]:
            if not (
                isinstance(statement, ast.Assign)
                and len(statement.targets) == 1
                and isinstance(statement.targets[0], ast.Name)
            ):
                self.fail(statement, f"only `name = expression` may stand before the return, not {kind_of(statement)}")
                raise AssertionError
            self.expression(statement.value)
            self.locals.add(statement.targets[0].id)
        final = statements[-1]
        assert isinstance(final, ast.Return) and final.value is not None
        self.expression(final.value)

    def expression(self, node: ast.expr) -> None:
        match node:
            case ast.Constant(value=value) if isinstance(value, (bool, int, float)):
                pass
            case ast.Name(id=name):
                if name not in self.locals:
                    self.fail(node, f"the name {name!r} is neither an operand nor assigned before")
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, BINARY):
                self.scalar.cost += SLOW_COST if type(op) in OPERATORS else 0
                self.expression(left)
                self.expression(right)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
                self.expression(operand)
            case ast.BoolOp(values=parts):
                self.expressions(parts)
            case ast.Compare(left=left, comparators=others):
                self.expressions([left, *others])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.expressions([test, body, orelse])
            case ast.Attribute(value=ast.Name(id="math"), attr=attr):
                self.not_local(node, "math")
                if attr not in CONSTANTS:
                    self.fail(node, f"math.{attr} is no constant of the dialect ({', '.join(CONSTANTS)})")
            case ast.Call(func=func, args=args, keywords=[]):
                self.callee(func)
                self.expressions(args)
            case _:
                self.fail(node, f"{kind_of(node)} is outside the scalar dialect")

    def expressions(self, nodes: list[ast.expr]) -> None:
        for node in nodes:
            self.expression(node)

    def not_local(self, node: ast.AST, name: str) -> None:
        if name in self.locals:
            self.fail(node, f"{name} is an operand or a local name, which cannot be called or asked,")

    def callee(self, func: ast.expr) -> None:
        match func:
            case ast.Attribute(value=ast.Name(id="math"), attr=attr):
                self.not_local(func, "math")
                if attr not in MATH:
                    self.fail(func, f"math.{attr} is not on the white list ({', '.join(sorted(MATH))})")
                self.scalar.cost += 0 if attr in CHEAP else SLOW_COST if attr in SLOW else CALL_COST
            case ast.Name(id=name):
                self.not_local(func, name)
                helper = self.names.get(name)
                helper = getattr(helper, "scalar", helper)
                if isinstance(helper, ScalarFn):
                    if name == self.scalar.name:
                        self.fail(func, f"{name} calls itself, and its text would not end,")
                    self.scalar.helpers[name] = helper
                    self.scalar.cost += helper.cost - 1
                elif name not in BUILTINS:
                    self.fail(func, f"{name} is not a scalar function (declare it with @scalar)")
            case _:
                self.fail(func, f"a call of {kind_of(func)} is outside the scalar dialect")


def kind_of(node: ast.AST) -> str:
    """`for x in y` -> "a For"; how a message names a piece of syntax."""
    return f"a {type(node).__name__}"


def strip_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function without its docstring."""
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body


class _Render(ast.NodeTransformer):
    """Rewrites one expression: names, literals, math calls; statements of helpers go to `out`."""

    def __init__(
        self,
        scalar: ScalarFn,
        names: dict[str, ast.expr],
        kind: str,
        out: list[str],
        used: set[str],
        calls: Mapping[str, str],
    ) -> None:
        self.scalar, self.names, self.kind, self.out, self.used, self.calls = scalar, names, kind, out, used, calls

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        # A bare 0.5 would make Numba compute in float64, a bare 2 in int64.
        if isinstance(node.value, bool) or self.kind == "bool":
            return node
        return ast.Call(ast.Name("T"), [node], [])

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.names.get(node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.Call(ast.Name("T"), [ast.parse(f"np.{node.attr}", mode="eval").body], [])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        name = INTEGER.get(type(node.op)) if self.kind == "int" else None
        if self.kind == "float":
            name = self.calls.get(OPERATORS.get(type(node.op), ""))
        return self.narrow(node if name is None else ast.Call(ast.Name(name), [node.left, node.right], []))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant) and self.kind != "bool":
            return ast.Call(ast.Name("T"), [node], [])
        self.generic_visit(node)
        return node if isinstance(node.op, ast.Not) else self.narrow(node)

    def narrow(self, node: ast.expr) -> ast.expr:
        # Numba widens every integer result to int64; a later comparison must see the wrapped value.
        return ast.Call(ast.Name("T"), [node], []) if self.kind == "int" else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        args = [self.visit(a) for a in node.args]
        match node.func:
            case ast.Name(id=name) if name in self.scalar.helpers:
                lines, expr = render(
                    self.scalar.helpers[name], args, self.kind, self.used, f"{name.strip('_')}_", self.calls
                )
                self.out.extend(lines)
                return expr
            case ast.Attribute(attr="floor" | "ceil" | "trunc" | "rint") | ast.Name(id="round") if self.kind != "float":
                return args[0]  # whole already, and float64 would not hold all of them
            case ast.Attribute(attr=attr):
                return ast.Call(ast.parse(self.calls.get(attr, MATH[attr]), mode="eval").body, args, [])
            case ast.Name(id="abs"):
                return self.narrow(ast.Call(ast.Name("abs"), args, []))
            case ast.Name(id="round"):
                return ast.Call(ast.parse(self.calls.get("rint", MATH["rint"]), mode="eval").body, args, [])
        raise AssertionError(ast.dump(node))


def fresh(wish: str, used: set[str]) -> str:
    """A name for a pasted value, unlike those in `used`; it carries MARK until `settle` has seen the whole text."""
    while wish in used:
        wish += "_"
    used |= {wish, wish + MARK}
    return wish + MARK


def settle(text: str, taken: Iterable[str] = ()) -> str:
    """The text of one function whose pasted names lose their MARK: each differs from every other word of the text, from
    the words in `taken`, which stand there later, and from the vectorised functions."""
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
    kind: str,
    used: set[str],
    prefix: str = "",
    calls: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[str], ast.expr]:
    """Write a scalar function as statements and a result expression.

    args: what stands for each operand.  kind: "float", "int" or "bool", the kind of the compute dtype `T`.
    used: names that are taken in the kernel; new ones are added, for `settle`.  prefix: for the names of a helper.
    calls: what stands for math.NAME (and for the operators in `OPERATORS`) where it is not the text in `MATH`.
    """
    lines: list[str] = []
    names: dict[str, ast.expr] = {}

    def bind(name: str, value: ast.expr) -> None:
        if isinstance(value, ast.Name) and value.id in used:
            names[name] = value
            return
        pasted = fresh(prefix + name, used)
        lines.append(f"{pasted} = {ast.unparse(value)}")
        names[name] = ast.Name(pasted)

    for name, value in zip(scalar.args, args, strict=True):
        bind(name, value)

    def rewrite(node: ast.expr) -> ast.expr:
        return _Render(scalar, names, kind, lines, used, calls).visit(ast.parse(ast.unparse(node), mode="eval").body)

    for statement in strip_docstring(scalar.node.body):
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
            assert isinstance(target, ast.Name)
            bind(target.id, rewrite(statement.value))
        else:
            assert isinstance(statement, ast.Return) and statement.value is not None
            return lines, rewrite(statement.value)
    raise AssertionError(f"{scalar.name} does not return")


class _Powers(ast.NodeTransformer):
    """a ** b -> _power(a, b): NumPy's integers refuse negative exponents."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        return ast.Call(ast.Name("_power", ast.Load()), [node.left, node.right], [])


def as_python(
    scalar: ScalarFn, kind: str, namespace: dict[str, Any], loads: list[str], store: str
) -> Callable[..., Any]:
    """The scalar function as a plain Python function over NumPy scalars: what the reference backend calls.

    namespace: what the text calls: T, np, math, _power (for `**` of floats) and the names of `INTEGER`.
    loads, store: expressions in `{}` that turn a stored value into the compute dtype and back.
    """
    used: set[str] = set()
    args = [fresh(a, used) for a in scalar.args]
    lines = [f"{a} = {load.format(a)}" for a, load in zip(args, loads, strict=True)]
    more, expr = render(scalar, [ast.Name(a) for a in args], kind, used)
    # Not named after the op: a function called `abs` would hide the builtin that its own body calls.
    text = f"def scalar_function({', '.join(args)}):\n" + "".join(f"    {line}\n" for line in lines + more)
    text = settle(f"{text}    return {store.format(ast.unparse(expr))}\n", ("_power",))
    tree = ast.fix_missing_locations(_Powers().visit(ast.parse(text)))
    exec(compile(tree, f"<reference {scalar.name}>", "exec"), namespace)
    result: Callable[..., Any] = namespace["scalar_function"]
    return result
