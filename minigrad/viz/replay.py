"""A repeated backward pass of a small graph, for the gradients that a picture shows after `backward()`.

`backward()` frees the values that rules saved.  The node of a call on few elements also keeps the storages of its
operands (see `runtime/graph.py`), so the saved values can be restored for one more backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from minigrad.autodiff.holding import Holder
from minigrad.diagnostics.flow import flow
from minigrad.errors import MinigradError
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.tensor import Tensor
from minigrad.viz.known import Known, operand_of

SMALL = 100  # largest number of nodes for which a picture computes gradients


def gradients_after_backward(
    y: Tensor, nodes: Sequence[BackpropOp], leaves: Sequence[Tensor], known: Known
) -> dict[int, Tensor]:
    """Return the gradient of y with respect to each result in its graph, by the id of the node or of the leaf.

    The dict is empty if no backward pass has run, if a value that a rule needs is gone or was changed, or if the graph
    has more than SMALL nodes.
    """
    ran = any(node.saved is None for node in nodes) or any(x.is_variable and x.grad is not None for x in leaves)
    if not ran or len(nodes) > SMALL:
        return {}
    restored: list[BackpropOp] = []
    try:
        for node in nodes:
            if node.saved is None:
                node.saved = saved_again(node, known)
                restored.append(node)
                if node.saved is None:
                    return {}
        return flow(y, name="viz.graph").gradients
    except MinigradError:  # raised if a saved value was changed in place, or an op has no gradient
        return {}
    finally:
        for node in restored:
            node.saved = None


def saved_again(node: BackpropOp, known: Known) -> tuple[Tensor, ...] | None:
    """Return the values that the rules of a freed node read, or None if a value is gone."""
    values = []
    for k in node.op.saves[node.mask]:
        if k >= len(node.parents):
            return None
        value = operand_of(node, k, False) if k >= 0 else None
        if value is None and k >= -1:  # it is a result of this node, or of the view that made the operand
            value = known.results.get(getattr(node if k < 0 else node.parents[k], "id", 0), ("", None))[1]
        if not isinstance(value, Tensor) or isinstance(value, Holder):
            return None
        values.append(value)
    return tuple(values)
