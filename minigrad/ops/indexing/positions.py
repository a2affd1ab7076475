"""Several index tensors, as in `x[i, j]`: two in one launch, more as one index of a dim that merges the indexed dims.

The index tensors broadcast, and each contains positions along its own dim.  They are combined into row-major positions
in the indexed dims.  The new dims replace the indexed dims if these are adjacent; otherwise the new dims come first.
NumPy and PyTorch have the same rule.  The kernel that reads or adds with two index tensors checks them: a pair with an
index outside its dim becomes a position outside the merged dims.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial, reduce
from math import prod
from typing import Any

from minigrad.backends.limits import FirstLimits, IndexLimits
from minigrad.backends.lowering.functions import BEHIND, FROM_FRONT
from minigrad.backends.steps import Steps, Value, viewed
from minigrad.core.dtype import bool_, int64
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Size
from minigrad.core.shape import broadcast_shapes
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import joint
from minigrad.errors import IndexShapeError, MinigradError
from minigrad.kernels.scalar import scalar_of
from minigrad.ops.batch_rules import Flags, ranked, stretched
from minigrad.ops.casting import cast
from minigrad.ops.indexing.gathering import add_batch, check_positions, check_within, select_batch, zeros_of
from minigrad.ops.indexing.masks import nonzero
from minigrad.ops.pointwise.arithmetic import remainder
from minigrad.ops.shape.views import expand, permute, reshape
from minigrad.runtime.dispatch import run
from minigrad.runtime.operands import are_plain
from minigrad.runtime.plans import operands_key, plan_for
from minigrad.runtime.tensor import Tensor, describe

# ---- two index tensors for neighbouring dims -------------------------------------------------------------------------


Ints = tuple[int, ...]


def position_of_pair(i, j, n, m):
    """Return the row-major position of a pair of indices in dims of the sizes n and m; n*m if one is outside."""
    within = i >= -n and i < n and j >= -m and j < m
    return (i + n if i < 0 else i) * m + (j + m if j < 0 else j) if within else n * m


POSITION_OF_PAIR = scalar_of(position_of_pair)


def are_pair(x: Tensor, dims: Ints, indices: Sequence[Tensor]) -> bool:
    """Return whether `pair_select` can read x: there are two indices and elements, and the dims can be merged."""
    if len(dims) != 2 or dims[1] != dims[0] + 1 or 0 in [y.layout.numel for y in (x, *indices)]:
        return False
    return x.layout.reshape(merged(x.layout.shape, dims[0])) is not None


def merged(shape: Ints, dim: int, count: int = 2) -> Ints:
    """Return a shape with `count` dims, from `dim` on, merged into one."""
    return (*shape[:dim], prod(shape[dim : dim + count]), *shape[dim + count :])


@kernel(
    dtype=lambda op, specs, **params: specs[0].dtype,
    shape=lambda op, x, i, j, *, dim: (
        *x.shape[:dim], *broadcast_shapes("index", i.shape, j.shape), *x.shape[dim + 2 :]
    ),
    linear=joint("x"), namespace=(), out=False,
    label="index",
    vjp=(lambda g, i, j, *, x_shape, dim: pair_add(g, i, j, shape=x_shape, dim=dim), None, None),
    batch=lambda x, i, j, *, dim, batch, flags: _select_batch(x, i, j, dim, batch, flags), complex=True,
)  # fmt: skip
def pair_select(steps, out, x: Tensor, i: Tensor, j: Tensor, *, dim: Size):
    """Return the slices of x at pairs of indices along `dim` and the dim after it; the indices broadcast.

    Gradient: each slice of g is added at its pair.
    """
    whole, *indices = steps.operands
    positions = positions_of(steps, indices, x.shape, dim)
    count = len(out.shape) - len(x.shape) + 2
    out = out.seen(out.layout.view(merged(out.shape, dim, count)))
    steps.index_select(out, in_shape(steps, whole, merged(x.shape, dim)), positions, dim)
    return steps.launch.within(limits_of(steps.backend, x, (i, j), 1, dim))


@kernel(
    dtype=lambda op, specs, **params: specs[0].dtype, shape=lambda op, g, i, j, *, shape, dim: shape,
    linear=joint("g"), namespace=(), out=False, label="the gradient of index",
    vjp=(lambda g0, i, j, *, dim: pair_select(g0, i, j, dim=dim), None, None),
    batch=lambda g, i, j, *, shape, dim, batch, flags: _add_batch(g, i, j, shape, dim, batch, flags), complex=True,
)  # fmt: skip
def pair_add(steps, out, g: Tensor, i: Tensor, j: Tensor, *, shape: Any, dim: Size):
    """Return zeros of a shape, to which the slices of g are added at pairs of indices: the adjoint of `pair_select`."""
    slices, *indices = steps.operands
    positions = positions_of(steps, indices, shape, dim)
    count = len(g.shape) - len(shape) + 2
    zero, whole = steps.constant(0, out.dtype), merged(shape, dim)
    added = in_shape(steps, slices, merged(g.shape, dim, count))
    steps.index_add(out.seen(out.layout.view(whole)), zero, positions, added, dim)
    return steps.launch.within(limits_of(steps.backend, Spec(out.layout, out.dtype), (i, j), 1, dim))


def in_shape(steps: Steps, x: Value, shape: Ints) -> Value:
    """Return a value in another shape: a view if the strides permit it, otherwise a view of a copy."""
    seen = x.layout.reshape(shape)
    return viewed(steps.dense(x), shape) if seen is None else x.seen(seen)


def positions_of(steps: Steps, indices: list[Value], shape: Ints, dim: int) -> Value:
    """Add the step that computes the position of each pair in the merged dims."""
    i, j = indices
    positions = steps.work(broadcast_shapes("index", i.shape, j.shape), int64)
    sizes = [steps.constant(n, int64) for n in shape[dim : dim + 2]]
    steps.each(POSITION_OF_PAIR, positions, i, j, *sizes)
    return positions.seen(positions.layout.view((positions.layout.numel,)))


def limits_of(backend: Any, x: Spec, indices: tuple[Spec, Spec], first: int, dim: int) -> FirstLimits:
    """Return the indices that errors of a launch refer to; `first` is the slot of the first index."""
    return FirstLimits([IndexLimits(backend, "index", first + k, y, x, dim + k) for k, y in enumerate(indices)])


# ---- batches --------------------------------------------------------------------------------------------------------


def positions_in(shape: Ints, dim: int, i: Tensor, j: Tensor, like: Tensor, flags: Flags, batch: int) -> Tensor:
    """Return the positions of the pairs of each sample in the merged dims, one row per sample.

    shape: of the indexed tensor of one sample.  like: a tensor with its dtype.
    """
    whole = Spec(Layout.contiguous(shape), like.dtype)
    for k, index in enumerate((i, j)):
        check_positions("index", index, whole, dim + k)
    rank = max(i.ndim - flags[1], j.ndim - flags[2])
    i, j = (ranked(index, flag, rank, batch) for index, flag in ((i, flags[1]), (j, flags[2])))
    n, m = shape[dim : dim + 2]
    return remainder(cast(i, dtype=int64), n) * m + remainder(cast(j, dtype=int64), m)


def _select_batch(x: Tensor, i: Tensor, j: Tensor, dim: int, batch: int, flags: Flags) -> Tensor:
    """Return `pair_select` for a batch."""
    if not (flags[1] or flags[2]):
        return pair_select(x, i, j, dim=dim + 1)
    lead, shape = (x.shape[:1], x.shape[1:]) if flags[0] else ((), x.shape)
    positions = positions_in(shape, dim, i, j, x, flags, batch)
    flat = reshape(x, (*lead, *merged(shape, dim)))
    y = select_batch(flat, reshape(positions, (batch, -1)), dim, (flags[0], True))
    return reshape(y, (batch, *shape[:dim], *positions.shape[1:], *shape[dim + 2 :]))


def _add_batch(g: Tensor, i: Tensor, j: Tensor, shape: Ints, dim: int, batch: int, flags: Flags) -> Tensor:
    """Return `pair_add` for a batch."""
    g = stretched(g, flags[0], batch)
    if not (flags[1] or flags[2]):
        return pair_add(g, i, j, shape=(batch, *shape), dim=dim + 1)
    positions = positions_in(shape, dim, i, j, g, flags, batch)
    whole = merged(shape, dim)
    flat = reshape(g, (batch, *merged(g.shape[1:], dim, positions.ndim - 1)))
    y = add_batch(zeros_of(whole, g), reshape(positions, (batch, -1)), flat, dim, (False, True, True), batch)
    return reshape(y, (batch, *shape))


# ---- other index tensors ---------------------------------------------------------------------------------------------


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
    return run(JOINED, plan, tuple(indices))


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
def joined_positions(steps, out, indices: Sequence[Tensor], *, shape, dtype, dims):
    """Return row-major positions in the dims `dims` of a tensor of this shape from one index tensor per dim.

    Negative positions count from the end.  The launch raises IndexOutOfRange for a position outside its dim.
    """
    whole: Any = Spec(Layout.contiguous(shape), dtype)
    before: Any = None
    for k, (dim, index) in enumerate(zip(dims, steps.operands, strict=True)):
        check_within(steps, index, shape[dim])
        size = steps.constant(shape[dim], int64)
        reach = index.shape if before is None else broadcast_shapes("index", before.shape, index.shape)
        result = out if k == len(dims) - 1 else steps.work(reach, int64)
        if before is None:
            steps.each(FROM_FRONT, result, index, size)
        else:
            steps.each(BEHIND, result, before, index, size)
        before = result
    pairs = enumerate(zip(dims, steps.operands, strict=True))
    limits = [IndexLimits(steps.backend, "index", k, index.spec, whole, dim) for k, (dim, index) in pairs]
    return steps.launch.within(FirstLimits(limits))


JOINED: Op = joined_positions.op  # type: ignore[attr-defined]


def columns(dim: int, index: Tensor) -> Gathers:
    """Return an index tensor with its dim; for a mask, return one index tensor for each dim that it covers."""
    if index.dtype is not bool_:
        return [(dim, index)]
    return [(dim + k, column) for k, column in enumerate(nonzero(index, as_tuple=True))]


def joint_shape(y: Tensor, indices: Sequence[Tensor]) -> tuple[int, ...]:
    """Return the shape to which the index tensors broadcast.  Raises IndexShapeError if they do not broadcast."""
    shape = indices[0].shape
    try:
        for index in indices[1:]:
            shape = broadcast_shapes("index", shape, index.shape)
    except MinigradError:
        raise IndexShapeError(
            f"index: the index tensors for {describe(y)} must broadcast to one shape, got "
            f"{', '.join(map(describe, indices))}; from the right, each size must be equal or 1, so reshape an index"
        ) from None
    return shape


def order_back(gathers: Gathers, ndim: int) -> tuple[int, ...]:
    """Return the permutation that undoes that of `side_by_side`, if it has moved the indexed dims to the front."""
    first = [dim + k for dim, index in gathers for k in range(index.ndim if index.dtype is bool_ else 1)]
    order = [*first, *[d for d in range(ndim) if d not in first]]
    return tuple([order.index(d) for d in range(ndim)])


def as_one(shape: tuple[int, ...], dim: int, count: int) -> tuple[int, ...]:
    """Return a shape with `count` dims, beginning with `dim`, merged into one."""
    return (*shape[:dim], prod(shape[dim : dim + count]), *shape[dim + count :])
