"""A derivative rule as one kernel: `g * (1 - y * y)` is one loop, not three.

A rule is called once with symbols instead of tensors, and each elementwise op that it applies to them becomes a line of
a scalar function.  The engine uses the kernel of this function if the graph of the backward pass is not required.  A
rule runs op by op if it consists of one elementwise op, if it calls an op that is not elementwise, or if its operands
have several dtypes.  Only the rules of declarations with `fuse=True` are traced, because a single call must show
everything that the rule can do.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from minigrad.core.dtype import DType, bool_, float32
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Rule, ScalarFn, Spec
from minigrad.declare.bodies import fast_path
from minigrad.declare.record import schema
from minigrad.errors import DTypeError
from minigrad.kernels.reading import Lines
from minigrad.kernels.rendering import complex_results
from minigrad.runtime.tensor import Tensor

OPERATORS = ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "and", "or", "xor")
OTHERS = ("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs")  # operators without a reflected form
# The arguments of `x.where(condition, other)` have another order than those of the op, so rules use `where_cond`.
# The methods of == and != accept any object.
NAMED = {"where_cond": "where", "__eq__": "eq", "__ne__": "ne"}
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


def method_op(name: str) -> Op:
    """Return the elementwise op for a tensor's method of this name.  Raises Unfusable for any other attribute."""
    if name in NAMED:
        return schema[NAMED[name]]
    method = getattr(Tensor, name, None)
    op = getattr(method, "op", None)
    if not isinstance(op, Op) or op.public is not getattr(method, "function", method):
        raise Unfusable(f"a rule that reads {name}")
    return op


for _name in (*OPERATORS, *OTHERS):
    setattr(Symbol, f"__{_name}__", lambda *args, name=f"__{_name}__": args[0]._trace.op(method_op(name), args))
for _name in OPERATORS:
    setattr(Symbol, f"__r{_name}__", lambda b, a, name=f"__{_name}__": b._trace.op(method_op(name), (a, b)))
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


# ---- from the scalar function to a kernel ---------------------------------------------------------------------------


def fuse(op: Op, operand: int) -> Callable[..., Any]:
    """Return the function that the engine calls for the VJP rule of one operand: a fused kernel, or the rule itself.

    The rule caches this function.  The fused kernel raises Unfusable if its result would differ from the result of the
    rule; the caller must then call the rule.
    """
    rule = op.rules[operand]
    assert rule is not None
    scalar = trace(op, rule, f"{op.name}_vjp_{op.operands[operand]}")
    if scalar is not None and len(scalar.node.body) > 2:
        rule.fused = kernel_of(op, scalar)
    else:  # a rule that is one op needs no fused kernel
        rule.fused = (only_call(scalar) if scalar is not None else None) or rule.fn
    return rule.fused


def only_call(scalar: ScalarFn) -> Callable[..., Any] | None:
    """Return the op of a rule that is one call, with the operands of the rule in the same order, or None."""
    (helper,) = scalar.helpers
    call = f"t0 = {helper}({', '.join(scalar.args)})"
    return schema[helper].public if ast.unparse(scalar.node.body[0]) == call else None


def kernel_of(op: Op, scalar: ScalarFn) -> Callable[..., Any]:
    """Return the public function of an undeclared op: a rule of `op`, as one loop."""
    hidden = Op(scalar.name, "elementwise", scalar.args, {}, op.where)
    hidden.doc, hidden.scalar, hidden.dtype_rule = f"The derivative of {op.name}, as one loop.", scalar, one_dtype
    hidden.saves = ((),) * (1 << len(scalar.args))
    hidden.public = fast_path(hidden)
    return hidden.public


def one_dtype(op: Op, specs: Sequence[Spec]) -> tuple[Any, DType]:
    """Return the dtype of all operands, or raise Unfusable if they have several dtypes.

    In a loop, every intermediate value would have the widest dtype; in tensor code, it has the promoted dtype of its
    own operands.
    """
    dtype = specs[0].dtype
    if any(spec.dtype is not dtype for spec in specs):
        raise Unfusable("operands of several dtypes")
    if dtype.is_complex:  # the rule may choose other ops for complex operands, as that of `abs`
        assert op.scalar is not None
        try:
            complex_results(op.scalar, dtype.compute)
        except DTypeError as error:
            raise Unfusable(str(error)) from None
    return dtype.compute, dtype
