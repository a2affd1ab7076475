"""Two index tensors for neighbouring dims, as in `x[i, j]`: reads and additions in one launch each.

The kernel that reads or adds checks the indices: a pair with an index outside its dim becomes a position outside the
merged dims.  `positions.py` combines other index tensors.
"""

# The bodies of scalar functions are data, which the specialiser reads; they carry no types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.backends.launch import Launch
from minigrad.backends.limits import FirstLimits, IndexLimits
from minigrad.backends.steps import Steps, Value, viewed
from minigrad.core.dtype import int64
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Select, SelectAdd
from minigrad.core.roles import Size
from minigrad.core.shape import broadcast_shapes, numel
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import joint
from minigrad.kernels.scalar import scalar_of
from minigrad.ops.batch_rules import Flags, ranked, stretched
from minigrad.ops.casting import cast
from minigrad.ops.indexing.gathering import add_batch, check_positions, select_batch, zeros_of
from minigrad.ops.pointwise.arithmetic import remainder
from minigrad.ops.shape.views import reshape
from minigrad.runtime.tensor import Tensor

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
    return (*shape[:dim], numel(shape[dim : dim + count]), *shape[dim + count :])


def _pair_shape(op: Op, x: Spec, i: Spec, j: Spec, *, dim: int) -> Ints:
    return (*x.shape[:dim], *broadcast_shapes("index", i.shape, j.shape), *x.shape[dim + 2 :])


@kernel(
    dtype=lambda op, specs, **params: specs[0].dtype, shape=_pair_shape, linear=joint("x"), namespace=(), out=False,
    label="index",
    vjp=(lambda g, i, j, *, x_shape, dim: pair_add(g, i, j, shape=x_shape, dim=dim), None, None),
    batch=lambda x, i, j, *, dim, batch, flags: _select_batch(x, i, j, dim, batch, flags),
)  # fmt: skip
def pair_select(backend: Any, out: Spec, x: Tensor, i: Tensor, j: Tensor, *, dim: Size) -> Launch:
    """Return the slices of x at pairs of indices along `dim` and the dim after it; the indices broadcast.

    Gradient: each slice of g is added at its pair.
    """
    steps = Steps(backend, (out,), (x, i, j))
    (result,), (whole, *indices) = steps.outs, steps.operands
    positions = positions_of(steps, indices, x.shape, dim)
    count = len(out.shape) - len(x.shape) + 2
    result = result.seen(result.layout.view(merged(out.shape, dim, count)))
    steps.ask(Select(dim), result, in_shape(steps, whole, merged(x.shape, dim)), positions)
    return steps.launch.within(limits_of(backend, x, (i, j), 1, dim))


@kernel(
    dtype=lambda op, specs, **params: specs[0].dtype, shape=lambda op, g, i, j, *, shape, dim: shape,
    linear=joint("g"), namespace=(), out=False, label="the gradient of index",
    vjp=(lambda g0, i, j, *, dim: pair_select(g0, i, j, dim=dim), None, None),
    batch=lambda g, i, j, *, shape, dim, batch, flags: _add_batch(g, i, j, shape, dim, batch, flags),
)  # fmt: skip
def pair_add(backend: Any, out: Spec, g: Tensor, i: Tensor, j: Tensor, *, shape: Any, dim: Size) -> Launch:
    """Return zeros of a shape, to which the slices of g are added at pairs of indices: the adjoint of `pair_select`."""
    steps = Steps(backend, (out,), (g, i, j))
    (result,), (slices, *indices) = steps.outs, steps.operands
    positions = positions_of(steps, indices, shape, dim)
    count = len(g.shape) - len(shape) + 2
    zero, whole = steps.constant(0, out.dtype), merged(shape, dim)
    steps.ask(
        SelectAdd(dim), result.seen(result.layout.view(whole)), zero.seen(zero.layout.expand(whole)), positions,
        in_shape(steps, slices, merged(g.shape, dim, count)),
    )  # fmt: skip
    return steps.launch.within(limits_of(backend, Spec(out.layout, out.dtype), (i, j), 1, dim))


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
