"""An op computed by its definition, and the backward pass through the definition over values of transforms.

`pulling.py` makes this pass for plain tensors, if the graph of the backward pass of an op with kernels is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.autodiff.tracked import TrackedTransform
from minigrad.core.dtype import as_dtype
from minigrad.core.op import Op, Spec
from minigrad.ops.casting import cast, cast_to
from minigrad.ops.reduction.sums import sum_to
from minigrad.runtime.recording import recording_on
from minigrad.runtime.tensor import Tensor


def by_definition_over(
    op: Op, params: dict[str, Any], out: Spec, operands: Sequence[Tensor], head: Tensor, asked: Sequence[bool]
) -> list[Tensor | None]:
    """Compute `by_definition` for values of transforms: reverse mode is a transform over these values."""
    with TrackedTransform() as transform, recording_on():
        placeholders = [transform.leaf(x) if ask else x for x, ask in zip(operands, asked)]
        y = defined(op, params, out, placeholders)
    leaves: Any = [x for x, ask in zip(placeholders, asked) if ask]
    gradients = iter(transform.pull([y], [head], leaves, op.label, True))
    return [next(gradients) if ask else None for ask in asked]


def defined(op: Op, params: dict[str, Any], out: Spec, operands: Sequence[Tensor]) -> Tensor:
    """Compute an op by its definition, in the dtype that its kernel computes in."""
    assert op.composed is not None
    dtype = as_dtype(out.dtype.compute)
    wide = [cast(x, dtype=dtype) if x.dtype.is_float and x.dtype is not dtype else x for x in operands]
    return fitted(op.composed(*wide, **params), out)


def fitted(partial: Tensor, spec: Spec) -> Tensor:
    """Return a partial gradient in the shape and dtype of its operand; broadcast dims are summed.

    The gradient of a real operand of a complex op is the real part.
    """
    if partial.layout.shape != spec.layout.shape:
        partial = sum_to(partial, spec.layout.shape)
    return partial if partial.dtype is spec.dtype else cast_to(partial, spec.dtype)
