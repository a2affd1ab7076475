"""The op `rearranged`: one copy of the elements in another order and shape, also with repeated elements.

A copy of a permuted or expanded view in another shape is one op with one launch.  Reshapes that need a copy, pixel
shuffles and repetitions use it.
"""

from __future__ import annotations

from minigrad.backends.steps import Steps
from minigrad.declare.decorators import kernel
from minigrad.declare.forms import handed_on
from minigrad.declare.rules import joint
from minigrad.ops.casting import same_dtype
from minigrad.runtime.tensor import Tensor

Ints = tuple[int, ...]


def rearrange(x: Tensor, sizes: Ints, order: Ints, shape: Ints, spread: Ints = ()) -> Tensor:
    """Return a copy of x, seen with `sizes`, with its dims in another order, in a shape.

    spread: dims of `sizes` along which x is repeated; x has the size 1 there.
    """
    return handed_on(REARRANGED, x, {"sizes": sizes, "order": order, "shape": shape, "spread": spread})


def _arranged_back(g: Tensor, to: Ints, sizes: Ints, order: Ints, spread: Ints) -> Tensor:
    """Return the gradient of `rearrange` for an operand of shape `to`."""
    inverse = tuple([order.index(d) for d in range(len(order))])
    seen = tuple([sizes[d] for d in order])
    if not spread:
        return rearrange(g, seen, inverse, to)
    return g.reshape(seen).permute(inverse).sum(spread).reshape(to)


@kernel(
    dtype=same_dtype, shape=lambda op, input, *, sizes, order, shape, spread: shape, linear=joint("input"),
    vjp=(lambda g, *, in_shape, sizes, order, shape, spread: _arranged_back(g, in_shape, sizes, order, spread),),
    namespace=(), label="reshape",
    batch=lambda input, *, sizes, order, shape, spread, batch: rearrange(
        input, (batch, *sizes), (0, *[d + 1 for d in order]), (batch, *shape), tuple([d + 1 for d in spread])
    ),
)  # fmt: skip
def rearranged(backend, out, input: Tensor, *, sizes, order, shape, spread):
    """Return a copy of the input, seen with `sizes`, expanded along `spread`, with permuted dims, in another shape.

    Gradient: g, with its elements in the old order, and summed over the dims in `spread`.
    """
    steps = Steps(backend, (out,), (input,))
    (result,), (source,) = steps.outs, steps.operands
    narrow = tuple([1 if d in spread else n for d, n in enumerate(sizes)])
    seen = source.layout.reshape(narrow)
    if seen is None:
        source = steps.dense(source)
        seen = source.layout.view(narrow)
    moved = source.seen(seen.expand(sizes).permute(order))
    steps.copy(result.seen(out.layout.view(moved.shape)), moved)
    return steps.launch


REARRANGED = rearranged.op  # type: ignore[attr-defined]
