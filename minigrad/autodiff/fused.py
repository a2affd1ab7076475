"""A derivative rule as one kernel: `g * (1 - y * y)` is one loop, not three.

The rule of an elementwise op is called once with symbols in place of tensors.  Every elementwise op that it applies
to them becomes a line of a scalar function, which is compiled by the same specialiser as any declaration.  The engine
uses it wherever the graph of the backward pass is not wanted.  A rule that does anything else than elementwise ops,
or only one of them, runs as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from minigrad.core.dtype import bool_, float32
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Rule, ScalarFn, Spec
from minigrad.ops.declare import public_function, schema
from minigrad.ops.rules import promote

OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "floordiv": "floor_divide",
    "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
LIMIT = 6  # operands of a fused kernel at most


class Unfusable(Exception):
    """The rule does something that is no elementwise op."""


class Trace:
    """The lines that a rule has written so far, and the scalar functions that they call; `taken` are its arguments."""

    def __init__(self, taken: tuple[str, ...]) -> None:
        self.taken = taken
        self.lines: list[ast.stmt] = []
        self.helpers: dict[str, ScalarFn] = {}
        self.cost = 1

    def call(self, name: str, args: tuple[Any, ...]) -> Symbol:
        """One elementwise op as a line `t3 = name(t1, t2)`."""
        # `x.where(condition, other)` has another order than the op; rules speak candle's where_cond.
        op = None if name == "where" else schema.get("where" if name == "where_cond" else name)
        if op is None or op.scalar is None or op.kind != "elementwise" or len(args) != len(op.operands):
            raise Unfusable(name)
        specs = tuple(Spec(SCALAR, bool_ if isinstance(x, Symbol) and x.truth else float32) for x in args)
        assert op.dtype_rule is not None
        _, dtype = op.dtype_rule(op, specs)
        # In one loop everything has one compute dtype: truth values may be chosen by, and combined with each other.
        chosen = specs[1:] if op.name == "where" else specs
        truths = [spec.dtype is bool_ for spec in chosen]
        if any(truths) and not (all(truths) and dtype is bool_):
            raise Unfusable(f"{name} of truth values")
        self.helpers[op.name] = op.scalar
        self.cost += op.scalar.cost
        target = f"t{len(self.lines)}"
        while target in self.taken:
            target += "_"
        value = ast.Call(ast.Name(op.name), [as_node(x) for x in args], [])
        self.lines.append(ast.Assign([ast.Name(target)], value, lineno=1))
        return Symbol(self, ast.Name(target), dtype is bool_)


class Symbol:
    """Stands for a tensor while a rule is traced.  truth: it is a bool."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, node: ast.expr, truth: bool = False) -> None:
        self._trace, self._node, self.truth = trace, node, truth

    def __getattr__(self, name: str) -> Callable[..., Symbol]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args: self._trace.call(name, (self, *args))

    def __bool__(self) -> bool:
        raise Unfusable("a rule that asks for a value")

    def __neg__(self) -> Symbol:
        return self._trace.call("neg", (self,))

    def __abs__(self) -> Symbol:
        return self._trace.call("abs", (self,))


def _attach() -> None:
    """Python's operators, each as the op of its name."""
    for operator, name in OPERATORS.items():
        setattr(Symbol, f"__{operator}__", lambda a, b, name=name: a._trace.call(name, (a, b)))
        setattr(Symbol, f"__r{operator}__", lambda b, a, name=name: b._trace.call(name, (a, b)))
    for name in COMPARISONS:
        setattr(Symbol, f"__{name}__", lambda a, b, name=name: a._trace.call(name, (a, b)))


_attach()
SCALAR = Layout.contiguous(())


def as_node(x: Any) -> ast.expr:
    """A symbol's name, or a number as a literal."""
    if isinstance(x, Symbol):
        return x._node
    if type(x) not in (int, float) or x != x or x in (float("inf"), float("-inf")):
        raise Unfusable(f"{x!r}")
    return ast.UnaryOp(ast.USub(), ast.Constant(-x)) if x < 0 else ast.Constant(x)


def trace(op: Op, rule: Rule, name: str) -> ScalarFn | None:
    """The rule as a scalar function of g and what it saves; None where that is not possible."""
    args = ("g", *rule.saves)
    if rule.facts or op.kind != "elementwise" or len(args) > LIMIT:
        return None
    written = Trace(args)
    try:
        value = rule.fn(*[Symbol(written, ast.Name(a)) for a in args])
    except (Unfusable, TypeError, AttributeError):
        return None
    if not isinstance(value, Symbol) or value.truth or not written.lines:
        return None
    arguments = ast.arguments([], [ast.arg(a) for a in args], None, [], [], None, [])
    node = ast.FunctionDef(name, arguments, [*written.lines, ast.Return(value._node)], [])
    scalar = ScalarFn(name, args, ast.fix_missing_locations(node), written.helpers, op.where)
    scalar.cost = written.cost
    return scalar


def only_call(scalar: ScalarFn) -> Callable[..., Any] | None:
    """The op that a traced rule consists of, if it is one, called with the same operands in the same order."""
    first = scalar.node.body[0]
    if len(scalar.node.body) != 2 or not (isinstance(first, ast.Assign) and isinstance(first.value, ast.Call)):
        return None
    operands = [ast.unparse(a) for a in first.value.args]
    return schema[ast.unparse(first.value.func)].public if operands == list(scalar.args) else None


def fuse(op: Op, operand: int) -> Callable[..., Any]:
    """What the engine calls for the rule of one operand: a fused kernel, or the rule itself.  Kept with the rule."""
    rule = op.rules[operand]
    assert rule is not None
    name = f"{op.name}_vjp_{op.operands[operand]}"
    scalar = trace(op, rule, name)
    if scalar is None or len(scalar.node.body) == 2:
        # One op needs no kernel of its own, and no lambda around it where its operands are the rule's.
        rule.fused = (only_call(scalar) if scalar else None) or rule.fn
    else:
        hidden = Op(name, "elementwise", scalar.args, {}, op.where)
        hidden.doc, hidden.scalar, hidden.dtype_rule = f"The derivative of {op.name}, as one loop.", scalar, promote
        hidden.saves = ((),) * (1 << len(scalar.args))
        hidden.public = rule.fused = public_function(hidden)
    return rule.fused
