"""The supported Python subset of scalar functions, which are the innermost line of a loop.

`declaration.py` finds the text of a declaration.  Its body is parsed, checked at import, and stored as a `ScalarFn`.
`rendering.py` converts it to statements and one expression for a given compute dtype.  The CPU kernels, the CUDA
kernels and the reference backend are all written from the same `ScalarFn`, so an op has the same meaning on all of
them.
"""

from __future__ import annotations

import ast
import sys
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from minigrad.core.op import ScalarFn
from minigrad.errors import DeclarationError, quantity
from minigrad.kernels.declaration import closure_of, definition

# The text for math.NAME in a kernel.  It is np.NAME if Python's math changes the type (math.floor returns an int) or if
# Numba does not support the math function.
MATH = {name: f"math.{name}" for name in (
    "exp expm1 log log10 log1p sqrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
    "erf erfc lgamma gamma hypot copysign isnan isinf isfinite fabs pow").split()}  # fmt: skip
MATH |= {name: f"np.{name}" for name in ("floor", "ceil", "trunc", "exp2", "log2", "cbrt", "fmod", "nextafter")}
MATH |= {"rint": "np.rint", "normal_cdf": "math.normal_cdf", "logistic": "math.logistic", "gcd": "math.gcd"}
CHEAP = ("floor", "ceil", "trunc", "rint", "fabs", "copysign", "isnan", "isinf", "isfinite", "sqrt")
# Costs, in units of one addition (0.15 ns per element): of a vectorised call such as exp (0.3 to 0.6 ns), and of a
# library call or a slow operator (1.5 to 10 ns).
CALL_COST, SLOW_COST = 3, 12
SLOW = ("gamma", "lgamma", "fmod", "pow", "gcd")
BUILTINS = ("abs", "round", "complex")
# The functions that have a complex form: `vecmath/complexes.py`.
COMPLEX = frozenset((
    "abs fabs exp log log10 log2 log1p expm1 sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp2 "
    "logistic pow isnan isinf isfinite"
).split())  # fmt: skip
OF_TWO = "atan2 hypot copysign fmod pow gcd nextafter".split()  # functions of two arguments; the others have one
# Replacements for the names of functions and constants in NumPy, PyTorch and Python.
INSTEAD = {name: f"math.{name.replace('arc', 'a')}" for name in (
    "arcsin arccos arctan arctan2 arcsinh arccosh arctanh").split()}  # fmt: skip
INSTEAD |= {"absolute": "abs", "fabs": "abs", "power": "a ** b", "float_power": "a ** b", "sigmoid": "math.logistic"}
INSTEAD |= {"round_": "round", "fix": "math.trunc", "remainder": "a % b", "mod": "a % b", "square": "x * x"}
INSTEAD |= dict.fromkeys(("max", "maximum", "fmax"), "a if a > b else b")
INSTEAD |= dict.fromkeys(("min", "minimum", "fmin"), "a if a < b else b") | {"where": "a if condition else b"}
INSTEAD |= {"sign": "(x > 0) - (x < 0)", "int": "math.trunc", "bool": "x != 0", "floor_divide": "a // b"}
INSTEAD |= {"float": "the operand itself, which has the compute dtype", "negative": "-x", "neg": "-x"}
INSTEAD |= {"logical_and": "a and b", "logical_or": "a or b", "logical_not": "not a", "tau": "2 * math.pi"}
# The replacements of statements that a body cannot contain.
STATEMENTS: dict[type[ast.stmt], str] = {
    ast.If: "write `name = a if condition else b`",
    ast.AugAssign: "write `name = name + value` instead of `name += value`",
    ast.AnnAssign: "write `name = value` without an annotation",
    ast.Assign: "write one `name = expression` per line",
    **dict.fromkeys((ast.For, ast.While), "write the op in tensor code with @mg.composed()"),
}
CONSTANTS = ("pi", "e", "inf", "nan")
# The functions that replace these operators and functions for integers: see `kernels/integer.py`.
INTEGER = {ast.Pow: "int_power", ast.FloorDiv: "int_divide", ast.Mod: "int_modulo"}
INTEGER_CALLS = {"fmod": "int_fmod", "gcd": "int_gcd"}
# The names under which `calls` has the replacements of these operators for floats.
OPERATORS = {ast.Pow: "pow", ast.FloorDiv: "floor_divide", ast.Mod: "remainder"}
BINARY = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow,
    ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift,
)  # fmt: skip


def parse(
    function: Callable[..., Any], defaults: bool = False, results: int | None = 1, of: str = "output",
    keywords: bool = False,
) -> ScalarFn:  # fmt: skip
    """Check a function against the supported Python subset, and return it as a `ScalarFn`.

    Raises DeclarationError with file and line.

    defaults: whether its arguments may have defaults, which the function that users call fills in.

    results: the number of values that it must return, as a tuple if there are several; None accepts any number.

    of: the name of the returned values in error messages.

    keywords: whether it may have keyword-only arguments, without defaults; they become the last arguments.
    """
    node, where = definition(function)
    spec = node.args
    if defaults:
        spec.defaults = []
    if keywords:
        spec.args, spec.kwonlyargs, spec.kw_defaults = [*spec.args, *spec.kwonlyargs], [], []
    if results is None:
        last = node.body[-1]
        results = len(last.value.elts) if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple) else 1
    if spec.kwonlyargs or spec.vararg or spec.kwarg or spec.defaults:
        raise DeclarationError(
            f"{where}: the scalar function {node.name} takes plain positional arguments only; "
            f"make a bound or an exponent an operand",
            op=node.name,
        )
    args = tuple(a.arg for a in (*spec.posonlyargs, *spec.args))
    scalar = ScalarFn(node.name, args, node, {}, where)
    scalar.results = results
    _Check(scalar, ChainMap(closure_of(function), function.__globals__), of).body()
    return scalar


def checked(scalar: ScalarFn) -> ScalarFn:
    """Check a scalar function derived from another one, and compute its cost."""
    scalar.cost = 1
    _Check(scalar, dict(scalar.helpers), "output").body()
    return scalar


def scalar_of(function: Callable[..., Any], defaults: bool = False, results: int = 1, of: str = "output") -> ScalarFn:
    """Return a function as a `ScalarFn`, checked by `parse`: now, or at its first use if it is a part of minigrad."""

    def fill(scalar: ScalarFn) -> None:
        made = parse(function, defaults, results, of)
        scalar.node, scalar.helpers, scalar.cost = made.node, made.helpers, made.cost

    if not str(function.__module__).startswith("minigrad."):
        return parse(function, defaults, results, of)
    code = function.__code__
    args, where = code.co_varnames[: code.co_argcount], f"{code.co_filename}:{code.co_firstlineno}"
    return postponed(code.co_name, args, where, results, fill)


def postponed(
    name: str, args: tuple[str, ...], where: str, results: int, fill: Callable[[ScalarFn], None],
    helpers: dict[str, ScalarFn] | None = None,
) -> ScalarFn:  # fmt: skip
    """Return a scalar function whose node, cost and, unless given, helpers are set by `fill` at their first use."""
    node: Any = None
    scalar = ScalarFn(name, args, node, helpers or {}, where)
    scalar.results = results
    scalar.leave(("node", "cost") if helpers else ("node", "cost", "helpers"), fill)
    return scalar


@lru_cache(maxsize=256)  # cached, so that equal requests return the same object
def projected(scalar: ScalarFn, k: int) -> ScalarFn:
    """Return the scalar function that computes only result k of a function with several results."""

    def fill(result: ScalarFn) -> None:
        *body, last = scalar.node.body
        assert isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)
        node = ast.FunctionDef(result.name, scalar.node.args, [*body, ast.Return(last.value.elts[k])], [])
        result.node, result.helpers, result.cost = ast.fix_missing_locations(node), scalar.helpers, scalar.cost

    return postponed(f"{scalar.name}_{k}", scalar.args, scalar.where, 1, fill)


def written(name: str, args: tuple[str, ...], text: str, like: ScalarFn, **helpers: ScalarFn) -> ScalarFn:
    """Return the scalar function `return text` with as many results as `like`.

    helpers: the scalar functions that the text calls.
    """

    def fill(scalar: ScalarFn) -> None:
        scalar.node, scalar.cost = definition_of(scalar, text), sum(helper.cost for helper in helpers.values())

    return postponed(name, args, like.where, like.results, fill, helpers)


def formula(head: str, text: str, results: int = 1) -> ScalarFn:
    """Return the scalar function with this head, such as "sub(a, b)", that returns the values of a text."""
    name, args = head.removesuffix(")").split("(")
    caller = sys._getframe(1)

    def fill(scalar: ScalarFn) -> None:
        scalar.node, scalar.helpers = definition_of(scalar, text), {}
        checked(scalar)

    where = f"{caller.f_code.co_filename}:{caller.f_lineno}"
    return postponed(name, tuple(args.split(", ")), where, results, fill)


def definition_of(scalar: ScalarFn, text: str) -> ast.FunctionDef:
    """Return the parsed `def` of a scalar function that returns the values of a text."""
    node = ast.parse(f"def {scalar.name}({', '.join(scalar.args)}):\n    return {text}").body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def mapped(body: ScalarFn, function: ScalarFn) -> ScalarFn:
    """Return one step of a reduction of mapped elements, (acc, x, ...): body(acc, function(x, ...))."""
    taken, accumulators = list(function.args), []
    for acc in body.args[:-1]:
        while acc in taken:
            acc += "_"
        taken.append(acc)
        accumulators.append(acc)
    text = f"step({', '.join(accumulators)}, value({', '.join(function.args)}))"
    return written(body.name, (*accumulators, *function.args), text, body, step=body, value=function)


def separately(body: ScalarFn) -> ScalarFn:
    """Return a function that joins two sets of accumulators.

    It joins each accumulator with its counterpart in the same way as the body joins that accumulator with an element.
    """
    count = body.results
    one, other = ([f"{letter}{k}" for k in range(count)] for letter in "ab")
    text = ", ".join(f"step_{k}({', '.join(one)}, {other[k]})" for k in range(count))
    return written(body.name, (*one, *other), text, body, **{f"step_{k}": projected(body, k) for k in range(count)})


def bound(function: ScalarFn, *constants: float) -> ScalarFn:
    """Return a scalar function whose last arguments are replaced by constants."""
    args = function.args[: -len(constants)]
    values = [*map(ast.Name, args), *[ast.Constant(constant) for constant in constants]]
    call = ast.Call(ast.Name("value"), values, [])
    return of_lines(function.name, args, [], [call], {"value": function}, function.where, function.cost)


def of_lines(
    name: str, args: Sequence[str], lines: Sequence[ast.stmt], results: Sequence[ast.expr],
    helpers: Mapping[str, ScalarFn], where: str, cost: int,
) -> ScalarFn:  # fmt: skip
    """Return the scalar function that runs some lines and returns some values."""
    arguments = ast.arguments([], [ast.arg(each) for each in args], None, [], [], None, [])
    last = ast.Return(results[0] if len(results) == 1 else ast.Tuple([*results]))
    node = ast.fix_missing_locations(ast.FunctionDef(name, arguments, [*lines, last], []))
    scalar = ScalarFn(name, tuple(args), node, dict(helpers), where)
    scalar.cost, scalar.results = cost, len(results)
    return scalar


class _Check:
    """Checks one body for code that kernels cannot contain, and adds up its cost."""

    def __init__(self, scalar: ScalarFn, names: Mapping[str, Any], of: str) -> None:
        self.scalar, self.names, self.of = scalar, names, of
        self.locals = set(scalar.args)

    def fail(self, node: ast.AST, message: str, remedy: str = "") -> None:
        raise DeclarationError(
            f"{line_of(self.scalar, node)}: {message} in the scalar function {self.scalar.name}"
            f"{remedy and f'; {remedy}'}",
            op=self.scalar.name,
        )

    def body(self) -> None:
        statements = strip_docstring(self.scalar.node.body)
        if not statements or not isinstance(statements[-1], ast.Return) or statements[-1].value is None:
            last = statements[-1] if statements else self.scalar.node
            branch = "write `return a if condition else b`" if isinstance(last, ast.If) else ""
            self.fail(last, "the last statement must return a value", branch)
        for statement in statements[:-1]:
            if not (
                isinstance(statement, ast.Assign)
                and len(statement.targets) == 1
                and isinstance(statement.targets[0], ast.Name)
            ):
                only = f"only `name = expression` is allowed before the return, not {kind_of(statement)}"
                self.fail(statement, only, STATEMENTS.get(type(statement), ""))
                raise AssertionError
            self.expression(statement.value)
            self.locals.add(statement.targets[0].id)
        final = statements[-1]
        assert isinstance(final, ast.Return) and final.value is not None
        self.expressions(self.returned(final.value))

    def returned(self, value: ast.expr) -> list[ast.expr]:
        """Return the expressions of a return statement, after checking their count."""
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        if isinstance(value, ast.Tuple) and self.scalar.results == 1:
            names = ", ".join(f'"{part.id}"' for part in parts if isinstance(part, ast.Name))
            example = names if len(names.split()) == len(parts) else '"a", "b"'
            several = f"only @elementwise or @reduction with outputs=({example}) has several results"
            remedy = several if self.of == "output" else "write identity= with one entry for each value"
            self.fail(value, "a tuple is returned", remedy)
        if len(parts) != self.scalar.results:
            wanted = quantity(self.scalar.results, self.of)
            self.fail(value, f"{quantity(len(parts), 'value')} returned for {wanted}")
        return parts

    def expression(self, node: ast.expr) -> None:
        match node:
            case ast.Constant(value=value) if isinstance(value, (bool, int, float)):
                if abs(value) > sys.float_info.max and isinstance(value, int):
                    self.fail(node, f"the literal of {len(str(value))} digits is beyond every dtype")
            case ast.Name(id=name):
                if name not in self.locals:
                    self.refuse_name(node)
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
            case ast.Attribute(value=inner, attr="real" | "imag") if self.is_local(inner):
                self.expression(inner)
            case ast.Attribute(value=ast.Name(id="math"), attr=attr):
                self.not_local(node, "math")
                if attr not in CONSTANTS:
                    self.fail(node, f"math.{attr} is not a constant of the dialect ({', '.join(CONSTANTS)})")
            case ast.Attribute():
                self.refuse_attribute(node)
            case ast.Call(func=ast.Attribute(value=inner, attr="conjugate"), args=[]) if self.is_local(inner):
                self.expression(inner)
            case ast.Call(func=func, args=args, keywords=[]) if not any(isinstance(a, ast.Starred) for a in args):
                count = self.callee(func, args)
                if len(args) != count:
                    takes = f"takes {quantity(count, 'argument')}, got {len(args)}"
                    self.fail(node, f"{ast.unparse(func)} {takes}")
                self.expressions(args)
            case ast.Call(func=func):
                self.fail(node, f"{ast.unparse(func)} takes arguments by position only")
            case _:
                remedy = "write `not c` for a condition c, or -1 - n for the bits of an integer n"
                inverts = isinstance(node, ast.UnaryOp)  # the other unary operators are allowed
                self.fail(node, f"{kind_of(node)} is outside the scalar dialect", remedy if inverts else "")

    def expressions(self, nodes: list[ast.expr]) -> None:
        for node in nodes:
            self.expression(node)

    def not_local(self, node: ast.AST, name: str) -> None:
        if name in self.locals:
            self.fail(node, f"{name} is an operand or a local name, which cannot be called and has no attributes,")

    def callee(self, func: ast.expr, args: list[ast.expr]) -> int:
        """Check a called function, and return how many arguments it takes."""
        match func:
            case ast.Attribute(value=ast.Name(id="math"), attr=attr):
                self.not_local(func, "math")
                if attr not in MATH:
                    listed = f"math.{attr} is not one of the supported functions ({', '.join(sorted(MATH))})"
                    self.fail(func, listed, self.remedy(attr, args))
                self.scalar.cost += 0 if attr in CHEAP else SLOW_COST if attr in SLOW else CALL_COST
                return 2 if attr in OF_TWO else 1
            case ast.Name(id=name):
                self.not_local(func, name)
                helper = self.names.get(name)
                helper = getattr(helper, "scalar", helper)
                if isinstance(helper, ScalarFn):
                    if name == self.scalar.name:
                        self.fail(func, f"{name} calls itself, and recursion is not supported,")
                    if helper.results > 1:
                        self.fail(func, f"{name} has {helper.results} results, but a helper must have one,")
                    self.scalar.helpers[name] = helper
                    self.scalar.cost += helper.cost - 1
                    return len(helper.args)
                if name not in BUILTINS:
                    remedy = self.remedy(name, args) or "declare it with @mg.scalar"
                    self.fail(func, f"{name} is not a scalar function", remedy)
                return 2 if name == "complex" else 1
            case ast.Attribute(value=root, attr=attr):
                method = self.is_local(root)
                remedy = self.remedy(attr, [root, *args] if method else args) or (
                    f"call a function of math ({', '.join(sorted(MATH))}) or one declared with @mg.scalar"
                )
                self.fail(func, f"{ast.unparse(func)} is not a scalar function", remedy)
            case _:
                self.fail(func, f"a call of {kind_of(func)} is outside the scalar dialect")
        return 1

    def is_local(self, node: ast.expr) -> bool:
        """Return whether an expression contains an operand or a local name, so that its attribute is a method."""
        return any(isinstance(part, ast.Name) and part.id in self.locals for part in ast.walk(node))

    def remedy(self, name: str, args: list[ast.expr]) -> str:
        """Return the remedy for a function that the supported subset has under another name, or ""."""
        function = INSTEAD.get(name) or (f"math.{name}" if name in MATH else name if name in BUILTINS else "")
        if not function:
            return ""
        call = function.startswith("math.") or function in BUILTINS
        return f"write {function}({', '.join(map(ast.unparse, args))})" if call else f"write {function}"

    def refuse_name(self, node: ast.Name) -> None:
        """Raise DeclarationError for a name from outside the function; the remedy shows the value of a number."""
        value = self.names.get(node.id)
        remedy = f"make {node.id!r} an operand, or assign it before"
        if isinstance(value, (bool, int, float)):
            remedy = f"write the number {value!r}, or make {node.id!r} an operand"
        self.fail(node, f"the name {node.id!r} is neither an operand nor assigned before", remedy)

    def refuse_attribute(self, node: ast.Attribute) -> None:
        """Raise DeclarationError for an attribute, with a remedy."""
        if self.is_local(node):
            self.fail(node, f"{ast.unparse(node)} is an attribute, and an operand is one number", "make it an operand")
        known = f"math.{node.attr}" if node.attr in CONSTANTS else INSTEAD.get(node.attr)
        some = known or f"a number, or one of {', '.join(f'math.{name}' for name in CONSTANTS)}"
        self.fail(node, f"{ast.unparse(node)} is not a constant of the dialect", f"write {some}")


def kind_of(node: ast.AST) -> str:
    """Return how error messages name a piece of syntax: "a For" for `for x in y`, "an If" for `if x: y`."""
    name = type(node).__name__
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


def line_of(scalar: ScalarFn, node: ast.AST) -> str:
    """Return the file and the line of a part of a scalar function, as "file:line"."""
    path, _, line = scalar.where.rpartition(":")
    return f"{path}:{getattr(node, 'lineno', getattr(scalar.node, 'lineno', line))}"


def strip_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a function without its docstring."""
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body
