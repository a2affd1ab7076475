"""Find normalizations whose product with an incoming gradient is 0, although their derivative is not.

The results of a softmax sum to 1 and those of a layer norm sum to 0, whatever the operand is.  So a loss that adds up
all results of one group is constant, and its gradient is 0 or consists of rounding errors.  `reasons.py` writes these
texts into its sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.autodiff.holding import values_of
from minigrad.diagnostics.flow import Step, values
from minigrad.runtime.graph import BackpropOp

Grouping = Callable[[BackpropOp, NDArray[Any]], NDArray[Any]]


def along_dim(node: BackpropOp, a: NDArray[Any]) -> NDArray[Any]:
    """Return the elements with the dim of a softmax as the last one."""
    return np.moveaxis(a, node.params["dim"], -1)


def in_rows(node: BackpropOp, a: NDArray[Any]) -> NDArray[Any]:
    """Return the elements unchanged: the groups are along the last dim."""
    return a


def in_channels(node: BackpropOp, a: NDArray[Any]) -> NDArray[Any]:
    """Return one row per channel, which is dim 1."""
    return np.moveaxis(a, 1, 0).reshape(a.shape[1], -1)


def in_groups(node: BackpropOp, a: NDArray[Any]) -> NDArray[Any]:
    """Return one row per group of channels of a sample."""
    return a.reshape(a.shape[0] * node.params["groups"], -1)


# For each op, the arrangement of its results in groups, and the property of each group.
GROUPS: dict[str, tuple[Grouping, str]] = {
    "softmax": (along_dim, "its results sum to 1 along the dim, whatever the operand is"),
    "log_softmax": (along_dim, "the exponentials of its results sum to 1 along the dim, whatever the operand is"),
    "layer_norm": (in_rows, "the normalized elements of a row sum to 0, whatever the operand is"),
    "normalized_channels": (in_channels, "the normalized elements of a channel sum to 0, whatever the operand is"),
    "normalized_groups": (in_groups, "the normalized elements of a group sum to 0, whatever the operand is"),
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
