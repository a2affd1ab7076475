"""A derivative rule as one kernel: `g * (1 - y * y)` is one loop, not three.

The rule of an elementwise op is traced to a scalar function (`declare/tracing.py`).  The engine uses its kernel if the
graph of the backward pass is not required.  A rule runs op by op if it consists of one elementwise op, if it calls an
op that is not elementwise, or if its operands have several dtypes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from minigrad.core.dtype import DType
from minigrad.core.op import Op, ScalarFn, Spec
from minigrad.declare.record import schema
from minigrad.declare.tracing import Unfusable, trace
from minigrad.runtime.dispatch import fast_path


def only_call(scalar: ScalarFn) -> Callable[..., Any] | None:
    """Return the op of a traced rule that is a single call with the same operands in the same order; otherwise None."""
    first = scalar.node.body[0]
    if len(scalar.node.body) != 2 or not (isinstance(first, ast.Assign) and isinstance(first.value, ast.Call)):
        return None
    operands = [ast.unparse(a) for a in first.value.args]
    return schema[ast.unparse(first.value.func)].public if operands == list(scalar.args) else None


def fuse(op: Op, operand: int) -> Callable[..., Any]:
    """Return the function that the engine calls for the VJP rule of one operand: a fused kernel, or the rule itself.

    The rule caches this function.  The fused kernel raises Unfusable if its result would differ from the result of the
    rule; the caller must then call the rule.
    """
    rule = op.rules[operand]
    assert rule is not None
    name = f"{op.name}_vjp_{op.operands[operand]}"
    scalar = trace(op, rule, name)
    if scalar is None:
        rule.fused = rule.fn
    elif len(scalar.node.body) == 2:
        # A rule that is one op needs no fused kernel.  If the op has the operands of the rule in the same order, the
        # lambda is not needed either.
        rule.fused = only_call(scalar) or rule.fn
    else:
        rule.fused = kernel_of(op, scalar)
    return rule.fused


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
    return dtype.compute, dtype
