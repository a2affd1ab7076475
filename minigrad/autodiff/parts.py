"""The gradient of a part of a tensor, added in place to the gradient that the tensor already has.

The rule of a slice writes its gradient into zeros of the whole shape, which are then added: two passes over the whole
tensor for each slice.  With this rule alone, a loop over the time steps of a sequence would take time proportional to
the square of its length.  Here the rule runs only for the first slice; the gradient of every other slice is added to
its elements only.
"""

from __future__ import annotations

from typing import Any

from minigrad.autodiff.owning import sole
from minigrad.ops.pointwise.arithmetic import add
from minigrad.ops.shape.views import basic_index, diagonal, narrow, select
from minigrad.runtime.dispatch import apply
from minigrad.runtime.tensor import Tensor

# Views of distinct elements.  Views that repeat elements (`unfold`, `expand`) cannot be added to in one launch.
PARTS: frozenset[Any] = frozenset(view.op for view in (basic_index, diagonal, narrow, select))  # type: ignore[attr-defined]


def added_in_place(
    node: Any, g: Tensor | None, table: dict[int, Tensor], owned: set[int], wanted: set[int] | None
) -> bool:
    """Add the gradient of a view to the gradient of its operand in place, and return True; return False if impossible.

    The addition is impossible if the operand has no gradient yet, if another object refers to this gradient, or if the
    dtypes differ.  The caller must then call the VJP rule of the view.
    """
    key = node.parents[0].id
    if g is None or key not in table or (wanted is not None and key not in wanted):
        return False
    if key not in owned and not (owned.__class__ is set and sole(table, key)):
        return False
    total = table[key]
    if total.__class__ is not Tensor or g.__class__ is not Tensor or total.dtype is not g.dtype:
        return False
    part = apply(node.op, (total,), node.params)
    add(part, g, out=part)
    return True
