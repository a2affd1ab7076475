"""Several index tensors as one: the elements of `x[i, j]`, in a tensor whose indexed dims are one dim.

The index tensors broadcast, and each names positions along its own dim. Together they are row-major positions in these
dims. The new dims replace the first indexed dim, or come first if the indexed dims are not adjacent. NumPy and PyTorch
have the same rule.
"""

from __future__ import annotations

from typing import Any

from minigrad.core.dtype import bool_
from minigrad.core.op import Spec
from minigrad.core.shape import broadcast_shapes, numel
from minigrad.errors import MinigradError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.indexing.gathering import check_positions
from minigrad.ops.indexing.masks import nonzero
from minigrad.ops.pointwise.arithmetic import remainder
from minigrad.ops.shape.views import expand, permute
from minigrad.runtime.tensor import Tensor, describe

Gathers = list[tuple[int, Tensor]]


def side_by_side(y: Tensor, gathers: Gathers) -> tuple[Tensor, int, int, Tensor]:
    """(y, dim, count, places): y with the indexed dims next to each other, `count` of them from `dim` on, and the
    positions in these dims as one.

    gathers: an index tensor or mask for each dim of y that is indexed, in order.
    Raises IndexOutOfRange for a position that its dim does not have, ShapeError for index tensors that do not
    broadcast.
    """
    each = [one for dim, index in gathers for one in columns(dim, index)]
    dims = [dim for dim, _ in each]
    shape = joint_shape(y, [index for _, index in each])
    spec, positions = Spec(y.layout, y.dtype), None
    for dim, index in each:
        check_positions("index", index, spec, dim)
        size = y.shape[dim]
        position: Any = remainder(cast(index, dtype="int64"), size)
        positions = position if positions is None else positions * size + position
    assert positions is not None
    positions = positions if positions.shape == shape else expand(positions, shape=shape)
    if dims == list(range(dims[0], dims[0] + len(dims))):
        return y, dims[0], len(dims), positions
    front = permute(y, dims=(*dims, *[d for d in range(y.ndim) if d not in dims]))
    return front, 0, len(dims), positions


def columns(dim: int, index: Tensor) -> Gathers:
    """Return an index tensor with its dim; a mask as one for each of the dims that it stands for."""
    if index.dtype is not bool_:
        return [(dim, index)]
    return [(dim + k, column) for k, column in enumerate(nonzero(index, as_tuple=True))]


def joint_shape(y: Tensor, indices: list[Tensor]) -> tuple[int, ...]:
    """Return the shape that index tensors have together."""
    shape = indices[0].shape
    try:
        for index in indices[1:]:
            shape = broadcast_shapes("index", shape, index.shape)
    except MinigradError:
        raise ShapeError(
            f"index: the index tensors {', '.join(map(describe, indices))} for {describe(y)} do not broadcast; from "
            f"the right, each size must be equal or 1",
            op="index",
        ) from None
    return shape


def order_back(gathers: Gathers, ndim: int) -> tuple[int, ...]:
    """Return the order of dims that undoes that of `side_by_side`, where it has put the indexed ones in front."""
    first = [dim + k for dim, index in gathers for k in range(index.ndim if index.dtype is bool_ else 1)]
    order = [*first, *[d for d in range(ndim) if d not in first]]
    return tuple([order.index(d) for d in range(ndim)])


def as_one(shape: tuple[int, ...], dim: int, count: int) -> tuple[int, ...]:
    """Return a shape with some of its dims as one."""
    return (*shape[:dim], numel(shape[dim : dim + count]), *shape[dim + count :])
