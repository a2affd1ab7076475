"""Combine several index tensors, as in `x[i, j]`, into one index of a dim that merges the indexed dims.

The index tensors broadcast, and each contains positions along its own dim.  They are combined into row-major positions
in the indexed dims.  The new dims replace the indexed dims if these are adjacent; otherwise the new dims come first.
NumPy and PyTorch have the same rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial, reduce
from typing import Any

from minigrad.backends.launch import Launch
from minigrad.backends.limits import FirstLimits, IndexLimits
from minigrad.backends.lowering.functions import BEHIND, FROM_FRONT
from minigrad.backends.steps import Steps
from minigrad.core.dtype import bool_, int64
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.core.shape import broadcast_shapes, numel
from minigrad.declare.decorators import kernel
from minigrad.errors import MinigradError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.indexing.gathering import check_positions, check_within
from minigrad.ops.indexing.masks import nonzero
from minigrad.ops.pointwise.arithmetic import remainder
from minigrad.ops.shape.views import expand, permute
from minigrad.runtime.dispatch import run
from minigrad.runtime.operands import are_plain
from minigrad.runtime.plans import operands_key, plan_for
from minigrad.runtime.tensor import Tensor, describe

Gathers = list[tuple[int, Tensor]]


def side_by_side(y: Tensor, gathers: Gathers) -> tuple[Tensor, int, int, Tensor]:
    """Return (y, dim, count, positions): y with the indexed dims next to each other, and one index for them.

    The indexed dims are `count` dims, beginning with `dim`.  `positions` are row-major positions in these dims.
    gathers: each index tensor or mask with its dim in y, in the order of the dims.
    Raises IndexOutOfRange for a position outside its dim, and ShapeError for index tensors that do not broadcast.
    """
    each = [one for dim, index in gathers for one in columns(dim, index)]
    dims, indices = tuple([dim for dim, _ in each]), [index for _, index in each]
    positions = (joined if are_plain(*indices) else traced_positions)(y, dims, indices)
    order, dim = arranged(y.ndim, dims)
    return y if order is None else permute(y, dims=order), dim, len(dims), positions


@lru_cache(maxsize=256)
def arranged(ndim: int, dims: tuple[int, ...]) -> tuple[tuple[int, ...] | None, int]:
    """Return the permutation that brings indexed dims next to each other, None if they are, and the first of them."""
    if dims == tuple(range(dims[0], dims[0] + len(dims))):
        return None, dims[0]
    return (*dims, *[d for d in range(ndim) if d not in dims]), 0


def joined(y: Tensor, dims: tuple[int, ...], indices: Sequence[Tensor]) -> Tensor:
    """Return row-major positions in some dims of y from one index tensor per dim."""
    shape, dtype = y.layout.shape, y.dtype
    key = (*operands_key(indices), shape, dtype, dims)
    plan = JOINED.plans.get(key)
    if plan is None:
        joint_shape(y, indices)
        plan = plan_for(JOINED, tuple(indices), {"shape": shape, "dtype": dtype, "dims": dims}, key)
    positions: Tensor = run(JOINED, plan, tuple(indices))
    return positions


def traced_positions(y: Tensor, dims: tuple[int, ...], indices: Sequence[Tensor]) -> Tensor:
    """Return the result of `joined` for indices inside a transform; the positions of all samples are checked now."""
    positions: Any = None
    for dim, index in zip(dims, indices, strict=True):
        check_positions("index", index, Spec(y.layout, y.dtype), dim)
        position = remainder(cast(index, dtype="int64"), y.shape[dim])
        positions = position if positions is None else positions * y.shape[dim] + position
    return expand(positions, shape=joint_shape(y, indices))


@kernel(
    dtype=lambda op, specs, **x: int64, namespace=(), label="index",
    shape=lambda op, *indices, **x: reduce(partial(broadcast_shapes, "index"), [each.shape for each in indices]),
)  # fmt: skip
def joined_positions(backend: Any, out: Spec, indices: Sequence[Tensor], *, shape, dtype, dims) -> Launch:
    """Return row-major positions in the dims `dims` of a tensor of this shape from one index tensor per dim.

    Negative positions count from the end.  The launch raises IndexOutOfRange for a position outside its dim.
    """
    steps = Steps(backend, (out,), indices)
    whole: Any = Spec(Layout.contiguous(shape), dtype)
    before: Any = None
    for k, (dim, index) in enumerate(zip(dims, steps.operands, strict=True)):
        check_within(steps, index, shape[dim])
        size = steps.constant(shape[dim], int64)
        reach = index.shape if before is None else broadcast_shapes("index", before.shape, index.shape)
        result = steps.outs[0] if k == len(dims) - 1 else steps.work(reach, int64)
        if before is None:
            steps.each(FROM_FRONT, result, index, size)
        else:
            steps.each(BEHIND, result, before, index, size)
        before = result
    pairs = enumerate(zip(dims, steps.operands, strict=True))
    limits = [IndexLimits(backend, "index", k, index.spec, whole, dim) for k, (dim, index) in pairs]
    return steps.launch.within(FirstLimits(limits))


JOINED: Op = joined_positions.op  # type: ignore[attr-defined]


def columns(dim: int, index: Tensor) -> Gathers:
    """Return an index tensor with its dim; for a mask, return one index tensor for each dim that it covers."""
    if index.dtype is not bool_:
        return [(dim, index)]
    return [(dim + k, column) for k, column in enumerate(nonzero(index, as_tuple=True))]


def joint_shape(y: Tensor, indices: Sequence[Tensor]) -> tuple[int, ...]:
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
