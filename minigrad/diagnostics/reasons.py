"""Describe the effect of one node of the backward pass on a gradient: it blocked the gradient, or produced nan or inf.

The text depends on the saved values and on the incoming and outgoing gradients.  For ops with a well-known failure
(a dead relu, a saturated sigmoid), the text contains its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.autodiff.checks import end_of
from minigrad.autodiff.engine import reachable
from minigrad.autodiff.holding import values_of
from minigrad.core.dtype import float32
from minigrad.diagnostics.flow import Step, values
from minigrad.ops.casting import cast
from minigrad.ops.creation import tensor
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.journal import entry_of
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe

REACHED = "at every element whose incoming gradient is not 0"

# The name of the failure of an op that passes no gradient because of the values of its operand.
KNOWN = {
    "relu": f"its operand is 0 or below {REACHED} (a dead relu)",
    "relu6": f"its operand lies outside (0, 6) {REACHED}",
    "clamp": f"its operand lies outside the limits {REACHED}",
    "sigmoid": "the magnitude of its operand is so large that the derivative is 0 in this dtype (saturated)",
    "tanh": "the magnitude of its operand is so large that the derivative is 0 in this dtype (saturated)",
    **dict.fromkeys(
        ("sign", "round", "floor", "ceil", "trunc", "floor_divide"),
        "the derivative of a step function is 0 wherever it exists",
    ),
    "where": f"the condition chose the other operand {REACHED}",
}


def named(node: BackpropOp | Output) -> str:
    """Return a description of a node, with the user's line if it is known."""
    return f"{node.name}{node.shape}" + (f" at {node.source}" if node.source else "")


def blocked(step: Step, parent: Any, partial: Tensor) -> str:
    """Return the reason why a node passed no gradient to an operand."""
    lost = underflow(step, parent)
    if lost:
        return f"{named(step.node)} loses the gradient: {lost}"
    return f"{named(step.node)} passes no gradient on: {why(step, parent)}{range_of_operands(step.node)}"


def why(step: Step, parent: Any) -> str:
    """Return the reason why the product of a derivative and the incoming gradient is 0.

    The VJP rule with another incoming gradient shows whether the derivative itself is 0.
    """
    if any(values(g).any() for other, g in probed(step, parent) if other.id == parent.id):
        total = constant_total(step) if parent is step.node.parents[0] else ""
        return total or "its derivative is not 0, but the product of the derivative and this incoming gradient is"
    known = KNOWN.get(step.node.op.name) or without_derivative(step.node)
    return known or f"its derivative is 0 {REACHED}"


def probed(step: Step, parent: Any) -> list[tuple[Any, Tensor]]:
    """Return the gradients that a node passes on if the incoming gradients are irregular where they are not 0."""
    heads = [None if g is None else irregular(g) for g in step.arrived]
    with no_grad():
        return step.node.pull(heads, {parent.id}, False)


def irregular(g: Tensor) -> Tensor:
    """Return a tensor between 1 and 2 whose elements follow no simple law, and that is 0 where g is 0."""
    there = values(g) != 0
    fractions = np.sqrt(2.0) * np.arange(1, there.size + 1) % 1.0
    return tensor(np.where(there, 1 + fractions.reshape(there.shape), 0.0), dtype=g.dtype, device=g.device)


def through(step: Step) -> str:
    """Return a description of a node through which a gradient flows, or through which only rounding errors do."""
    total = constant_total(step) if any(parent is step.node.parents[0] for parent, _ in step.passed) else ""
    return f"through {named(step.node)}" + (f", which passes rounding errors on: {total}" if total else "")


def underflow(step: Step, parent: Any) -> str:
    """Return a text about an underflow, or "" if float32 would not pass a nonzero gradient either."""
    kinds = [g.dtype for g in step.arrived if g is not None]
    if not kinds or all(kind.itemsize >= 4 for kind in kinds):
        return ""
    wide = in_float32(step)
    for other, partial in wide:
        if other.id == parent.id and values(partial).any():
            small = float(np.abs(values(partial)).max())
            return f"its largest element would be {small:.3g} in float32, which rounds to 0 in {kinds[0]} (underflow)"
    return ""


def in_float32(step: Step) -> list[tuple[Any, Tensor]]:
    """Return the gradients that a node would pass on if it had been recorded in float32.

    The list is empty or incomplete if a rule needs more than its values, or is not a rule of this package.
    """
    node, op = step.node, step.node.op
    if op.variadic:
        return []
    result = []
    with no_grad():
        wide = [widened(x) for x in values_of(node)]
        heads = [None if g is None else widened(g) for g in step.arrived]
        for k, pick in op.picks[node.mask]:
            rule, parent = op.rules[k], node.parents[k]
            if rule is not None and parent is not None and not rule.facts and not rule.foreign:
                partial = rule.fn(*[heads[i] for i in rule.gradients], *[wide[i] for i in pick])
                result.append((parent, partial))
    return result


def widened(x: Tensor) -> Tensor:
    """Return x in float32 if it is float16 or bfloat16."""
    return cast(x, dtype=float32) if x.dtype.is_float and x.dtype.itemsize < 4 else x


def range_of_operands(node: BackpropOp) -> str:
    """Return the ranges of the saved operands as text."""
    parts = []
    for k, x in zip(node.op.saves[node.mask], values_of(node)):
        if k >= 0 and x.dtype.is_inexact and x.numel():
            sizes = np.abs(values(x)) if x.dtype.is_complex else values(x)
            name = f"|{node.op.operands[k]}|" if x.dtype.is_complex else node.op.operands[k]
            parts.append(f"{name} from {np.nanmin(sizes):.6g} to {np.nanmax(sizes):.6g}")
    return f" ({', '.join(parts)})" if parts else ""


def spoiled(step: Step, partial: Tensor, chosen_by: BackpropOp | None) -> str:
    """Return a text about a node that turned a finite gradient into nan or inf.

    `chosen_by` is the `where` through which the gradient came, or None.
    """
    bad = ~np.isfinite(values(partial))
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    kind = "nan" if np.isnan(values(partial)[index]) else "inf"
    words = f"{named(step.node)} turns it into {kind} at {int(bad.sum())} of {bad.size} elements, first at {index}"
    words += operands_at(step.node, index, bad.shape)
    g = next((values(g) for g in step.arrived if g is not None), None)
    if g is not None and g.shape == bad.shape and g[index] == 0:
        words += "; the incoming gradient there is 0, and 0 times a derivative that is nan or inf is nan"
        if chosen_by is not None:
            words += (
                f". {named(chosen_by)} chose the other branch there, but backward differentiates both branches; "
                f"put a where() around the operand of {step.node.name} as well, so that it never receives such a value"
            )
    return words


def operands_at(node: BackpropOp, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Return the values of the saved operands at an index as text."""
    parts = []
    for k, x in zip(node.op.saves[node.mask], values_of(node)):
        if x.shape == shape and x.dtype.is_inexact:
            parts.append(f"{node.op.value_name(k)} = {values(x)[index]:.6g}")
    return f", where {' and '.join(parts)}" if parts else ""


def not_finite(y: Tensor) -> str | None:
    """Return a text about the first op whose result is not finite, or None.

    Under `mg.debug()` the journal determines the op; otherwise the saved values of the graph do, where they suffice."""
    if np.isfinite(values(y)).all():
        return None
    entry = entry_of(y)
    while entry is not None and (bad := next((p for p in entry.parents if not p.finite), None)) is not None:
        entry = bad
    if entry is not None:
        what = f"{entry.op or 'an input'}{entry.shape}" + (f" at {entry.source}" if entry.source else "")
        return f"the result of {what} is already nan or inf"
    nodes, _ = reachable([end_of(y)])
    for node in reversed(nodes):
        for k, x in zip(node.op.saves[node.mask], values_of(node)):
            if x.dtype.is_inexact and not np.isfinite(values(x)).all():
                maker = node if k < 0 else node.parents[k]
                made = named(maker) if isinstance(maker, (BackpropOp, Output)) else describe(x)
                return f"the result of {made} is already nan or inf"
    return f"{describe(y)} is already nan or inf; run the program under mg.debug() to find the op that made it"


# ---- normalizations --------------------------------------------------------------------------------------------------

Grouping = Callable[[BackpropOp, NDArray[Any]], NDArray[Any]]


def along_dim(node: BackpropOp, a: NDArray[Any]) -> NDArray[Any]:
    """Return the elements with the dim of a softmax as the last one."""
    return np.moveaxis(a, node.params["dim"], -1)


# For each op, the arrangement of its results in groups along the last dim, and the property of each group.
GROUPS: dict[str, tuple[Grouping, str]] = {
    "softmax": (along_dim, "its results sum to 1 along the dim, whatever the operand is"),
    "log_softmax": (along_dim, "the exponentials of its results sum to 1 along the dim, whatever the operand is"),
    "layer_norm": (lambda node, a: a, "the normalized elements of a row sum to 0, whatever the operand is"),
    "normalized_channels": (
        lambda node, a: np.moveaxis(a, 1, 0).reshape(a.shape[1], -1),
        "the normalized elements of a channel sum to 0, whatever the operand is",
    ),
    "normalized_groups": (
        lambda node, a: a.reshape(a.shape[0] * node.params["groups"], -1),
        "the normalized elements of a group sum to 0, whatever the operand is",
    ),
}


def constant_total(step: Step) -> str:
    """Return the reason why the loss does not depend on the operand of a normalization, or "" if it may depend."""
    node, g = step.node, step.arrived[0]
    if node.op.name not in GROUPS or g is None or not g.numel():
        return ""
    grouping, law = GROUPS[node.op.name]
    weights = grouping(node, values(g) * scale(node, values(g).ndim))
    if node.op.name == "log_softmax":
        weights = weights / np.exp(grouping(node, values(values_of(node)[0])))
    spread, size = np.ptp(weights, axis=-1), np.abs(weights).max(axis=-1)
    if not (spread <= 1e-5 * size).all():
        return ""
    return f"{law}, and the incoming gradient gives all of them the same weight"


def scale(node: BackpropOp, ndim: int) -> Any:
    """Return the weight of a normalization in the shape in which it multiplies the normalized elements, or 1."""
    saved = {node.op.value_name(k): x for k, x in zip(node.op.saves[node.mask], values_of(node))}
    if "weight" not in saved:
        return 1.0
    weight = values(saved["weight"])
    return weight if node.op.name == "layer_norm" else weight.reshape(-1, *(1,) * (ndim - 2))


def without_derivative(node: BackpropOp) -> str:
    """Return the reason why the derivative of a normalization is 0, or "" if none is known."""
    if node.op.name not in GROUPS:
        return ""
    grouping = GROUPS[node.op.name][0]
    if grouping(node, np.empty(node.shape)).shape[-1] == 1:
        return "it normalizes each element alone, so its result does not depend on the operand"
    if not node.op.name.endswith("softmax"):
        return ""
    y = grouping(node, values(values_of(node)[0]))
    if (y.max(axis=-1) == (1 if node.op.name == "softmax" else 0)).all():
        return "one class has the whole probability (saturated)"
    return "each probability whose incoming gradient is not 0 is 0 or 1 in this dtype (saturated)"
