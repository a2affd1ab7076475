"""`BackpropOp.pull`: the derivative rules of a node, whose calls later backward passes repeat without the rules.

The plan of a node, the layouts of the values that its rules read and the requested operands determine the calls of all
its rules (`pulling.py`).  The second backward pass of such a kind collects the calls (`runtime/compositions.py`).  A
backward pass that is recorded always runs the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.autodiff.checks import Node
from minigrad.autodiff.engine import Gradients
from minigrad.autodiff.pulling import partial_gradients
from minigrad.config import settings
from minigrad.core.plans import bounded
from minigrad.runtime.compositions import Composition
from minigrad.runtime.graph import BackpropOp, pulls
from minigrad.runtime.observers import DIRECT
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor


@pulls
def pull(
    node: BackpropOp, gradients: Gradients, wanted: set[int] | None, create: bool, saved: Any = None
) -> list[tuple[Node, Tensor]]:
    """Return (parent, partial gradient) for each operand of a node, from the gradients of its results.

    The parameters are those of `partial_gradients`.
    """
    parents = node.parents
    if create or saved is not None or node.__class__ is not BackpropOp:
        return [(parents[k], partial) for k, partial in partial_gradients(node, gradients, wanted, create, saved)]
    single, stored = node.ids is None, node.saved or ()
    values: Any = (gradients[0], *stored) if single else (*[g for g in gradients if g is not None], *stored)
    if not DIRECT.issuperset(map(type, values)):
        return [(parents[k], partial) for k, partial in partial_gradients(node, gradients, wanted, create)]
    key: Any = (node.mask, values[0].dtype, *[x.layout for x in values])
    if wanted is not None or not single or node.op.variadic:
        key = (*key, *presence(node, gradients, wanted))
    facts = node.plan.facts
    entry: Pulled | None = facts.get(key)
    if entry is None:
        entry = bounded(facts, key, Pulled(), settings.plan_limit)  # slices at many offsets are many kinds
    elif entry.function is not None:
        return [(parents[k], partial) for k, partial in zip(entry.operands, entry.function(*values))]
    pairs = partial_gradients(node, gradients, wanted, create)
    if entry.waits > 0 and not mode.enabled:
        entry.collect(node, gradients, wanted, values)
    return [(parents[k], partial) for k, partial in pairs]


def presence(node: BackpropOp, gradients: Gradients, wanted: set[int] | None) -> tuple[Any, ...]:
    """Return which operands require a gradient, and the dtypes of the gradients of the results."""
    asked = [parent is not None and (wanted is None or parent.id in wanted) for parent in node.parents]
    return tuple(asked), tuple([None if g is None else g.dtype for g in gradients])


class Pulled(Composition):
    """The calls of the rules of a node, collected once.  operands: the indices of the operands of the results."""

    __slots__ = ("operands",)

    def collect(
        self, node: BackpropOp, gradients: Gradients, wanted: set[int] | None, values: Sequence[Tensor]
    ) -> None:
        """Collect the calls, if this is the second call of this kind.

        Rules from outside this package are not collected: `watched` reads the memory of their arguments before it calls
        them, and placeholders have none.
        """
        present = [g is not None for g in gradients]

        def definition(*values: Any) -> tuple[Any, ...]:
            rest = iter(values)
            heads = [next(rest) if there else None for there in present]
            pairs = partial_gradients(node, heads, wanted, False, tuple(rest))
            self.operands = [k for k, _ in pairs]
            return tuple([partial for _, partial in pairs])

        self.learn(definition, values, {})
