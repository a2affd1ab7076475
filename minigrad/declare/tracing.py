"""Trace a derivative rule into a scalar function, by calling the rule once with symbols instead of tensors.

Every elementwise op that the rule applies to the symbols becomes a line of a scalar function.  The specialiser of
declarations compiles that function.  Only the rules of declarations with `fuse=True` are traced, because a single call
must show everything that the rule can do.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from minigrad.core.dtype import bool_, float32
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Rule, ScalarFn, Spec
from minigrad.declare.record import schema
from minigrad.kernels.reading import Lines
from minigrad.runtime.tensor import Tensor

OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "floordiv": "floor_divide",
    "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
# The ops that may combine booleans.  The sum of two booleans would be 2 in a kernel, but True as a tensor.
LOGIC = ("bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor", "logical_not",
         "eq", "ne", "where")  # fmt: skip
LIMIT = 6  # largest number of operands of a fused kernel
EXACT = 1 << 53  # largest integer that float64 represents exactly, with all smaller ones


class Unfusable(Exception):
    """Raised for a rule that does more than apply elementwise ops to its arguments."""


class Trace(Lines):
    """The lines of a rule, one for each op."""

    def op(self, op: Op, args: tuple[Any, ...]) -> Symbol:
        """Write one elementwise op as a line `t3 = name(t1, t2)`."""
        if op.scalar is None or op.kind != "elementwise" or op.scalar.results > 1 or len(args) != len(op.operands):
            raise Unfusable(op.name)
        specs = tuple(Spec(SCALAR, bool_ if isinstance(x, Symbol) and x._truth else float32) for x in args)
        assert op.dtype_rule is not None
        _, dtype = op.dtype_rule(op, specs)
        # One loop has one compute dtype: a boolean may only be a condition, or be combined with other booleans.
        chosen = specs[1:] if op.name == "where" else specs
        truths = [spec.dtype is bool_ for spec in chosen]
        if dtype not in (bool_, float32) or (any(truths) and not (all(truths) and op.name in LOGIC)):
            raise Unfusable(f"{op.name} of booleans")
        with_g = any(isinstance(x, Symbol) and x._with_g for x in args)
        return Symbol(self, self.call(op.scalar, [as_node(x) for x in args]), dtype is bool_, with_g)


class Symbol:
    """A placeholder for a tensor in a trace.

    `_truth` is True for a boolean value, and `_with_g` is True for a value that depends on the incoming gradient.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, node: ast.expr, truth: bool = False, with_g: bool = False) -> None:
        self._trace, self._node, self._truth, self._with_g = trace, node, truth, with_g

    def __getattr__(self, name: str) -> Callable[..., Symbol]:
        """Return the traced form of a tensor's method that is an elementwise op.

        Any other attribute raises Unfusable, because a trace has no shapes, dtypes or values.
        """
        op = method_op(name)
        return lambda *args: self._trace.op(op, (self, *args))

    def __bool__(self) -> bool:
        raise Unfusable("a rule that reads a value")

    def __neg__(self) -> Symbol:
        return self._trace.op(schema["neg"], (self,))

    def __abs__(self) -> Symbol:
        return self._trace.op(schema["abs"], (self,))


def method_op(name: str) -> Op:
    """Return the elementwise op for a tensor's method of this name.  Raises Unfusable for any other attribute."""
    # The arguments of `x.where(condition, other)` have another order than those of the op, so rules use `where_cond`.
    if name == "where_cond":
        return schema["where"]
    method = getattr(Tensor, name, None)
    op = getattr(method, "op", None)
    if not isinstance(op, Op) or op.public is not method:
        raise Unfusable(f"a rule that reads {name}")
    return op


def _attach() -> None:
    """Attach Python's operators to Symbol, each as the op with the same meaning."""
    for operator, name in OPERATORS.items():
        setattr(Symbol, f"__{operator}__", lambda a, b, name=name: a._trace.op(schema[name], (a, b)))
        setattr(Symbol, f"__r{operator}__", lambda b, a, name=name: b._trace.op(schema[name], (a, b)))
    for name in COMPARISONS:
        setattr(Symbol, f"__{name}__", lambda a, b, name=name: a._trace.op(schema[name], (a, b)))


_attach()
SCALAR = Layout.contiguous(())


def as_node(x: Any) -> ast.expr:
    """Return the name of a symbol, or the literal of a number.  Raises Unfusable for any other value."""
    if isinstance(x, Symbol):
        return x._node
    if type(x) not in (int, float) or x != x or x in (float("inf"), float("-inf")):
        raise Unfusable(f"{x!r}")
    if type(x) is int and not -EXACT <= x <= EXACT:
        raise Unfusable(f"{x!r}")
    return ast.UnaryOp(ast.USub(), ast.Constant(-x)) if x < 0 else ast.Constant(x)


def trace(op: Op, rule: Rule, name: str) -> ScalarFn | None:
    """Return the rule as a scalar function of g and its saved values, or None if the rule cannot be traced."""
    args = ("g", *rule.saves)
    if not op.fuse or rule.facts or len(args) > LIMIT:
        return None
    written = Trace(args)
    try:
        value = rule.fn(*[Symbol(written, ast.Name(a), with_g=a == "g") for a in args])
    except Exception:  # a rule that raises here also raises its error when it runs on tensors
        return None
    # A value that does not depend on g has the shape of the saved values, but the kernel would return it with the shape
    # of g.
    if not isinstance(value, Symbol) or value._truth or not value._with_g or not written.lines:
        return None
    return written.function(name, args, [value._node], op.where)
