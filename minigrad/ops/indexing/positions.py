"""Combine several index tensors, as in `x[i, j]`, into one index of a dim that merges the indexed dims.

The index tensors broadcast, and each contains positions along its own dim.  They are combined into row-major positions
in the indexed dims.  The new dims replace the indexed dims if these are adjacent; otherwise the new dims come first.
NumPy and PyTorch have the same rule.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.launch import Launch
from minigrad.backends.limits import IndexLimits
from minigrad.backends.lowering.functions import BEHIND, FROM_FRONT
from minigrad.backends.steps import Steps
from minigrad.core.dtype import bool_, int64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.shape import broadcast_shapes, numel
from minigrad.declare.decorators import kernel
from minigrad.errors import MinigradError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.indexing.gathering import check_positions, check_within
from minigrad.ops.indexing.masks import nonzero
from minigrad.ops.pointwise.arithmetic import remainder
from minigrad.ops.shape.views import expand, permute
from minigrad.runtime.operands import are_plain
from minigrad.runtime.tensor import Tensor, describe

Gathers = list[tuple[int, Tensor]]


def side_by_side(y: Tensor, gathers: Gathers) -> tuple[Tensor, int, int, Tensor]:
    """Return (y, dim, count, positions): y with the indexed dims next to each other, and one index for them.

    The indexed dims are `count` dims, beginning with `dim`.  `positions` are row-major positions in these dims.
    gathers: each index tensor or mask with its dim in y, in the order of the dims.
    Raises IndexOutOfRange for a position outside its dim, and ShapeError for index tensors that do not broadcast.
    """
    each = [one for dim, index in gathers for one in columns(dim, index)]
    dims = [dim for dim, _ in each]
    shape = joint_shape(y, [index for _, index in each])
    positions: Any = None
    plain = are_plain(*[index for _, index in each])
    for dim, index in each:
        positions = (behind if plain else traced_behind)(positions, index, y, dim)
    positions = positions if positions.shape == shape else expand(positions, shape=shape)
    if dims == list(range(dims[0], dims[0] + len(dims))):
        return y, dims[0], len(dims), positions
    front = permute(y, dims=(*dims, *[d for d in range(y.ndim) if d not in dims]))
    return front, 0, len(dims), positions


def behind(before: Tensor | None, index: Tensor, y: Tensor, dim: int) -> Tensor:
    """Return row-major positions from the positions in the dims before, or None, and the index along `dim`."""
    x = {"shape": y.shape, "dtype": y.dtype, "dim": dim}
    result: Tensor = first_position(index, **x) if before is None else next_position(before, index, **x)
    return result


def traced_behind(before: Tensor | None, index: Tensor, y: Tensor, dim: int) -> Tensor:
    """Return the result of `behind` for an index inside a transform; the positions of all samples are checked now."""
    check_positions("index", index, Spec(y.layout, y.dtype), dim)
    position: Tensor = remainder(cast(index, dtype="int64"), y.shape[dim])
    return position if before is None else before * y.shape[dim] + position


@kernel(dtype=lambda op, specs, **x: int64, shape=lambda op, index, **x: index.shape, namespace=(), label="index")
def first_position(backend: Any, out: Spec, index: Tensor, *, shape, dtype, dim) -> Launch:
    """Return the positions along `dim`, with negative positions counted from the front.

    The launch raises IndexOutOfRange for a position outside the dim.
    """
    steps = Steps(backend, (out,), (index,))
    (position,) = steps.operands
    check_within(steps, position, shape[dim])
    steps.each(FROM_FRONT, steps.outs[0], position, steps.constant(shape[dim], int64))
    limits = IndexLimits(backend, "index", 0, position.spec, Spec(Layout.contiguous(shape), dtype), dim)
    return steps.launch.within(limits)


@kernel(
    dtype=lambda op, specs, **x: int64, namespace=(), label="index",
    shape=lambda op, before, index, **x: broadcast_shapes("index", before.shape, index.shape),
)  # fmt: skip
def next_position(backend: Any, out: Spec, before: Tensor, index: Tensor, *, shape, dtype, dim) -> Launch:
    """Return row-major positions from the positions in the dims before and an index along `dim`.

    The launch raises IndexOutOfRange for a position outside the dim.
    """
    steps = Steps(backend, (out,), (before, index))
    start, position = steps.operands
    check_within(steps, position, shape[dim])
    steps.each(BEHIND, steps.outs[0], start, position, steps.constant(shape[dim], int64))
    limits = IndexLimits(backend, "index", 1, position.spec, Spec(Layout.contiguous(shape), dtype), dim)
    return steps.launch.within(limits)


def columns(dim: int, index: Tensor) -> Gathers:
    """Return an index tensor with its dim; for a mask, return one index tensor for each dim that it covers."""
    if index.dtype is not bool_:
        return [(dim, index)]
    return [(dim + k, column) for k, column in enumerate(nonzero(index, as_tuple=True))]


def joint_shape(y: Tensor, indices: list[Tensor]) -> tuple[int, ...]:
    """Return the shape to which the index tensors broadcast.  Raises ShapeError if they do not broadcast."""
    shape = indices[0].shape
    try:
        for index in indices[1:]:
            shape = broadcast_shapes("index", shape, index.shape)
    except MinigradError:
        raise ShapeError(
            f"index: the index tensors for {describe(y)} must broadcast to one shape, got "
            f"{', '.join(map(describe, indices))}; from the right, each size must be equal or 1, so reshape an index",
            op="index",
        ) from None
    return shape


def order_back(gathers: Gathers, ndim: int) -> tuple[int, ...]:
    """Return the permutation that undoes that of `side_by_side`, if it has moved the indexed dims to the front."""
    first = [dim + k for dim, index in gathers for k in range(index.ndim if index.dtype is bool_ else 1)]
    order = [*first, *[d for d in range(ndim) if d not in first]]
    return tuple([order.index(d) for d in range(ndim)])


def as_one(shape: tuple[int, ...], dim: int, count: int) -> tuple[int, ...]:
    """Return a shape with `count` dims, beginning with `dim`, merged into one."""
    return (*shape[:dim], numel(shape[dim : dim + count]), *shape[dim + count :])
