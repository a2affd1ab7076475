"""Calls of derivative rules from outside this package, with checks of their results and side effects.

Tests check that the rules of `minigrad.ops` fulfil their contract.  Other rules are checked at each call.  The message
names the op, the operand, the line of the rule, the result and the expected result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minigrad.core.op import Op, Rule, Spec
from minigrad.core.shape import broadcast_shapes
from minigrad.declare.fused import Unfusable
from minigrad.errors import DeviceError, DTypeError, GradientError, MinigradError, ShapeError
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.recording import definition_of
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer


def watched(
    node: BackpropOp,
    rule: Rule,
    k: int,
    fn: Callable[..., Any],
    heads: list[Any],
    saved: list[Any],
    facts: dict[str, Any],
) -> Tensor:
    """Return the gradient of operand k by its rule; fn is the rule or its fused form.

    Raises GradientError, ShapeError, DTypeError or DeviceError for a result that is not a gradient of that operand.
    """
    partial = without_writing(node.op, rule, k, fn, heads, saved, facts)
    check_partial(node, who(node.op, rule, k), k, partial)
    return partial


def watched_joint(
    node: BackpropOp, rule: Rule, heads: list[Any], saved: list[Any], facts: dict[str, Any]
) -> tuple[Tensor, ...]:
    """Return the gradients of all operands by the joint rule.

    The errors are those of `watched`, and GradientError for a wrong number of gradients.
    """
    partials = without_writing(node.op, rule, None, rule.fn, heads, saved, facts)
    expected = len(node.parents)
    if not isinstance(partials, (tuple, list)) or len(partials) != expected:
        got = f"{len(partials)} gradients" if isinstance(partials, (tuple, list)) else describe(partials)
        raise GradientError(
            f"{who(node.op, rule, None)} must return a tuple of {expected} gradients, one for each operand, got "
            f"{got}; return None where no gradient is required",
            op=node.op.label,
        )
    asked = facts.get("asked", (True,) * expected)
    for k, partial in enumerate(partials):
        if asked[k]:
            check_partial(node, who(node.op, rule, k, joint=True), k, partial)
    return tuple(partials)


def without_writing(
    op: Op,
    rule: Rule,
    k: int | None,
    fn: Callable[..., Any],
    heads: list[Any],
    saved: list[Any],
    facts: dict[str, Any],
) -> Any:
    """Return the result of the rule.  Raise GradientError if it wrote into its arguments, which are shared."""
    values = (*heads, *saved)
    before = versions(values)
    try:
        try:
            result = fn(*values, **facts)
        except Unfusable:
            result = rule.fn(*values, **facts)
    except MinigradError as error:
        raise blamed(error, op, who(op, rule, k)) from None
    names = ["g"] if op.result is None else [f"g{i}" for i in rule.gradients]
    check_unwritten(op, who(op, rule, k), (*names, *rule.saves), values, before)
    return result


TENSOR_CODE = "write x.cos() instead of math.cos(x) or np.cos(x.numpy()), for example"
# For each conversion of a tensor to Python's or NumPy's values, the code that a rule may use instead.
INSTEAD = {
    **dict.fromkeys(("float", "complex", "numpy", "item"), TENSOR_CODE),
    "bool": "write mg.where(x > 0, a, b) instead of a if x > 0 else b, for example",
}


def blamed(error: MinigradError, op: Op, whose: str) -> MinigradError:
    """Return the error that a rule raised, with the rule in its message or in a note.

    If the rule converted a tensor to a value of Python or NumPy, the advice is to write tensor code.
    """
    conversion = error.__dict__.get("op")
    if conversion not in INSTEAD:
        error.add_note(f"raised in {whose}")
        return error
    problem = str(error).partition(";")[0].removeprefix(f"{conversion}: ")
    return type(error)(f"{whose} called {conversion}(): {problem}; {INSTEAD[conversion]}", op=op.label)


def versions(values: Iterable[Tensor | None]) -> list[int | None]:
    """Return the version of each value's memory; for a value of a transform its id, for a zero None."""
    return [None if x is None else x.id if isinstance(x, Tracer) else x.storage.version for x in values]


def check_unwritten(
    op: Op, whose: str, names: Iterable[str], values: Sequence[Tensor | None], before: list[int | None]
) -> None:
    """Raise GradientError if a value was written after `versions` returned `before`.

    whose: the rule that received the values, for the message.
    """
    for name, x, then, now in zip(names, values, before, versions(values), strict=True):
        if now != then:
            raise GradientError(
                f"{whose} must not write into its argument {name!r}, {describe(x)}, because other tensors share its "
                "memory; compute a new tensor instead",
                op=op.label,
            )


def check_partial(node: BackpropOp, whose: str, k: int, partial: Any) -> None:
    """Raise an error unless `partial` is a gradient of operand k.

    It must be a float tensor on the device of the operand that can be summed to its shape.
    whose: the rule that computed it, for the message.
    """
    op, plan = node.op, node.plan
    spec, device = plan.specs[k], plan.source
    error: type[MinigradError]
    if not isinstance(partial, Tensor):
        error = GradientError
    elif partial.device is not device:
        error = DeviceError
    elif not partial.dtype.is_inexact:
        error = DTypeError
    elif not fits(partial.shape, spec, plan.layout.shape if op.kind == "elementwise" else None):
        error = ShapeError
    else:
        return
    got = f"{describe(partial)} on {partial.device}" if error is DeviceError else describe(partial)
    hint = "; if there is no gradient, return mg.zeros_like(operand)" if partial is None else ""
    expected = f"expected a tensor {spec!r} on {device}, as the operand"
    raise error(f"{whose} returned {got}; {expected}{hint}", op=op.label)


def fits(shape: tuple[int, ...], spec: Spec, result: tuple[int, ...] | None) -> bool:
    """Return whether a gradient of this shape fits an operand.

    The shape must be the operand's own, or one that it broadcasts to and that is not larger than the op's result.
    """
    if shape == spec.shape:
        return True
    try:
        wide = broadcast_shapes("gradient", spec.shape, shape) == shape
        return wide and (result is None or broadcast_shapes("gradient", shape, result) == result)
    except ShapeError:
        return False


def who(op: Op, rule: Rule, k: int | None, joint: bool = False) -> str:
    """Describe the rule for messages, with its line. k: the operand, or None for all operands."""
    what = "the joint derivative rule" if joint or k is None else "the derivative rule"
    return f"{op.label}: {what}{'' if k is None else f' for {operand_name(op, k)!r}'} at {position(op, rule.fn)}"


def position(op: Op, fn: Callable[..., Any]) -> str:
    """Return file and line of a rule, or of the declaration as a fallback."""
    return definition_of(fn) or op.where


def operand_name(op: Op, k: int) -> str:
    """Return the name of an operand; an op over any number of operands has one name and an index."""
    return f"{op.operands[0]}[{k}]" if op.variadic else op.operands[k]
