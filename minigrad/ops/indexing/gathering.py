"""Reads and additions with index tensors: gather, index_select and their adjoints.

An index tensor may contain negative positions, which count from the end.  The kernel that uses an index checks its
range.  It reads each position once, so no other thread can change an index between the check and its use.  For an
invalid position no memory is accessed, and an error discards the result.  `subscript.py` implements `x[...]`, and
`masks.py` implements selection by masks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.backends.base import Backend
from minigrad.backends.launch import Launch, as_launch
from minigrad.backends.limits import IndexLimits, bounds_of, out_of_range
from minigrad.backends.lowering.functions import SECOND
from minigrad.backends.registry import backend_of
from minigrad.backends.steps import Steps, Value
from minigrad.core.conditions import IndexDType, Ndim, expect_same, expect_shape
from minigrad.core.dtype import DType, int64
from minigrad.core.layout import along
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Bounds, Copy, Gather, Scatter, SelectPut
from minigrad.core.roles import Dim, Front
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import common, joint
from minigrad.errors import IndexShapeError, ShapeError
from minigrad.ops.batch_rules import Flags, cut, stretched, to_front
from minigrad.ops.casting import clone
from minigrad.ops.creation import arange
from minigrad.ops.pointwise.arithmetic import remainder
from minigrad.ops.pointwise.compare import eq, where
from minigrad.ops.pointwise.rounding import as_whole, scaled
from minigrad.ops.shape.views import expand, narrow, permute, reshape
from minigrad.runtime.dispatch import number
from minigrad.runtime.into import copy_result
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer

# ---- rules ----------------------------------------------------------------------------------------------------------


def _dtype(op: Op, specs: tuple[Spec, ...], *, dim: int) -> DType:
    index = specs[op.operands.index("index")]
    IndexDType.expect(op.label, *specs, index=index)
    return common([s for name, s in zip(op.operands, specs, strict=True) if name != "index"])


def watched(op: Callable[..., Any], backend: Backend, made: Any, x: Spec, index: Spec, dim: int) -> Launch:
    """Return a launch over (x, index, ..., out) that reports a position which does not exist as IndexOutOfRange."""
    names, size = op.op.operands, x.shape[dim]  # type: ignore[attr-defined]
    launch = as_launch(made, len(names) + 1, op.op.name)  # type: ignore[attr-defined]
    if index.layout.numel and 0 in (*x.shape[:dim], *x.shape[dim + 1 :]):
        # No element is moved, so no kernel checks the indices.
        steps = Steps(backend, (), (x, index) + (x,) * (len(names) - 1))
        check_within(steps, steps.operands[1], size)
        launch = steps.launch
    return launch.within(IndexLimits(backend, op.op.label, 1, index, x, dim))  # type: ignore[attr-defined]


def check_within(steps: Steps, index: Value, size: int) -> None:
    """Add steps that end a launch if the index contains a position outside a dim of this size."""
    if index.layout.numel:
        bounds = steps.work((2,), int64)
        steps.ask(Bounds(), bounds, index)
        steps.check(bounds, -size, size - 1)


def _gather_shape(op: Op, x: Spec, index: Spec, *, dim: int) -> tuple[int, ...]:
    _same_but(op, x, index, dim)
    return index.shape


def _same_but(op: Op, x: Spec, index: Spec, dim: int) -> None:
    fits = len(x.shape) == len(index.shape) and all(
        n <= m for d, (n, m) in enumerate(zip(index.shape, x.shape, strict=True)) if d != dim
    )
    if not fits:
        raise ShapeError(
            f"{op.label}: the index must have as many dims as the input {x!r} and must not be longer than the input, "
            f"except along dim {dim}, got {index!r}; slice or reshape the index",
            lhs=x.shape,
            rhs=index.shape,
        )


def _scatter_shape(op: Op, x: Spec, index: Spec, src: Spec, *, dim: int) -> tuple[int, ...]:
    _same_but(op, x, index, dim)
    expect_same("shape", op.label, "slice src to the shape of the index", src=src, index=index)
    return x.shape


def _select_shape(op: Op, x: Spec, index: Spec, *, dim: int) -> tuple[int, ...]:
    Ndim(0, 1).but(error=IndexShapeError).expect(op.label, x, index=index)  # an index without dims is a vector of one
    return (*x.shape[:dim], index.layout.numel, *x.shape[dim + 1 :])


def _add_shape(op: Op, x: Spec, index: Spec, src: Spec, *, dim: int) -> tuple[int, ...]:
    wanted = _select_shape(op, x, index, dim=dim)
    meaning = f"one slice per element of index {index!r} along dim {dim} of input"
    expect_shape(op.label, wanted, meaning, x, "pass one slice of source per index", IndexShapeError, source=src)
    return x.shape


def zeros_of(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return zeros with the dtype and device of `like`; they are a view of one element with strides of 0."""
    return expand(number(0.0, like.dtype, like.device), shape=shape)


def gathered(x: Tensor, index: Tensor, out: Any) -> Tensor | None:
    """Return `gather` for an index with another number of dims than x: an empty index, or a scalar; otherwise None."""
    if index.numel() and {index.ndim, x.ndim} != {0, 1}:
        return None
    row = reshape(x, (x.numel(),))
    y = gather(row, 0, reshape(index, (-1,))) if index.numel() else clone(narrow(row, 0, 0, 0))
    return reshape(y, index.shape) if out is None else copy_result("gather", reshape(y, index.shape), out)


def fitted(x: Tensor, dim: int, index: Tensor, src: Tensor, out: Any) -> Any:
    """Return `scatter_add` for an empty index, or an index that is smaller than src; otherwise None."""
    if index.ndim != x.ndim and not index.numel():
        return clone(x) if out is None else copy_result("scatter_add", x, out)
    if index.shape == src.shape or index.ndim != src.ndim or any(n > m for n, m in zip(index.shape, src.shape)):
        return None
    for d, n in enumerate(index.shape):
        src = narrow(src, d, 0, n)
    return scatter_add(x, dim, index, src, out=out)


# ---- gathers and their adjoints -------------------------------------------------------------------------------------


@kernel(
    dtype=_dtype, shape=_gather_shape,
    vjp=(lambda g, index, *, in_shape, dim: scatter_add(zeros_of(in_shape, g), dim, index, g), None),
    linear=joint("input"), batch="along", method=True,
    otherwise=lambda input, dim, index, sparse_grad, out: (
        None if index.ndim == input.ndim else gathered(input, index, out)
    ),
    complex=True,
)  # fmt: skip
def gather(backend, out, input: Tensor, dim: Dim, index: Tensor, *, sparse_grad: Front = False):
    """Return the elements of input at the positions that index contains along `dim`.

    For a tensor of three dims and dim=1, out[i, j, k] = input[i, index[i, j, k], k].
    sparse_grad: has no effect, because gradients are dense.
    Gradient: g, added at the positions from which elements were read.
    """
    return watched(gather, backend, backend.prepare(Gather(dim), out, input, index), input, index, dim)


@kernel(
    dtype=_dtype, shape=_scatter_shape, vjp=(lambda g: g, None, lambda g, index, *, dim: gather(g, dim, index)),
    linear=joint("input", "src"), batch="along", method=True, in_place=True,
    otherwise=lambda input, dim, index, src, out: (
        None if index.ndim == input.ndim and index.shape == src.shape else fitted(input, dim, index, src, out)
    ),
    complex=True,
)  # fmt: skip
def scatter_add(backend, out, input: Tensor, dim: Dim, index: Tensor, src: Tensor):
    """Return input with the elements of src added at the positions that index contains along `dim`.

    For a tensor of three dims and dim=1, src[i, j, k] is added at [i, index[i, j, k], k].  Elements with the same
    position are summed.  If src is larger than the index, only its first elements along each dim are added.
    Gradient: g for input, and the elements of g at these positions for src.
    """
    launch = backend.prepare(Scatter(dim), out, input, index, src)
    return watched(scatter_add, backend, launch, input, index, dim)


@kernel(
    dtype=_dtype, shape=_scatter_shape,
    vjp=(
        lambda g, index, *, src_shape, dim: scatter_put(g, dim, index, zeros_of(src_shape, g)),
        None,
        lambda g, index, *, input_shape, dim: _last(gather(g, dim, index), index, input_shape, dim),
    ),
    linear=joint("input", "src"), batch="along", namespace=(), label="scatter", complex=True,
)  # fmt: skip
def scatter_put(backend, out, input: Tensor, dim: Dim, index: Tensor, src: Tensor):
    """Return input with the elements at the positions that index contains along `dim` replaced by those of src.

    For a tensor of three dims and dim=1, src[i, j, k] is stored at [i, index[i, j, k], k].  If a position occurs more
    than once, the last element is stored.
    Gradient: for input, g with 0 at these positions; for src, the elements of g at these positions, and 0 for an
    element that was overwritten.
    """
    launch = backend.prepare(Scatter(dim, SECOND), out, input, index, src)
    return watched(scatter_put, backend, launch, input, index, dim)


@kernel(
    dtype=_dtype, shape=_select_shape,
    vjp=(lambda g, index, *, in_shape, dim: index_add(zeros_of(in_shape, g), dim, index, g), None),
    linear=joint("input"), batch=lambda input, index, *, dim, batch, flags: select_batch(input, index, dim, flags),
    method=True, complex=True,
)  # fmt: skip
def index_select(backend, out, input: Tensor, dim: Dim, index: Tensor):
    """Return the slices of input at the positions in the vector `index` along `dim`, in the order of the index.

    Gradient: each slice of g is added at its position.
    """
    whole = Spec(along(index.layout, out.shape, dim), index.dtype)
    return watched(index_select, backend, backend.prepare(Gather(dim), out, input, whole), input, index, dim)


@kernel(
    dtype=_dtype, shape=_add_shape, vjp=(lambda g: g, None, lambda g, index, *, dim: index_select(g, dim, index)),
    linear=joint("input", "source"),
    batch=lambda input, index, source, *, dim, batch, flags: add_batch(input, index, source, dim, flags, batch),
    method=True, in_place=True,
    otherwise=lambda input, dim, index, source, alpha, out: (
        None
        if alpha == 1
        else index_add(input, dim, index, scaled("index_add", input, source, as_whole(alpha, source)), out=out)
    ),
    complex=True,
)  # fmt: skip
def index_add(backend, out, input: Tensor, dim: Dim, index: Tensor, source: Tensor, *, alpha: Front = 1):
    """Return input with the slices of alpha * source added at the positions in the vector `index` along `dim`.

    Slices with the same position are summed.
    alpha: the factor of source.
    Gradient: g for input, and alpha times the slices of g at these positions for source.
    """
    whole = Spec(along(index.layout, source.shape, dim), index.dtype)
    launch = backend.prepare(Scatter(dim), out, input, whole, source)
    return watched(index_add, backend, launch, input, index, dim)


@kernel(
    dtype=_dtype, shape=_add_shape,
    vjp=(
        lambda g, index, *, source_shape, dim: index_copy(g, dim, index, zeros_of(source_shape, g)),
        None,
        lambda g, index, *, input_shape, dim: _standing(index_select(g, dim, index), index, input_shape[dim], dim),
    ),
    linear=joint("input", "source"),
    batch=lambda input, index, source, *, dim, batch, flags: _copy_batch(input, index, source, dim, flags, batch),
    method=True, in_place=True, complex=True,
    otherwise=lambda input, dim, index, source, out: (
        None if source.ndim or input.ndim != 1 else index_copy(input, dim, index, reshape(source, (1,)), out=out)
    ),
)  # fmt: skip
def index_copy(steps, out, input: Tensor, dim: Dim, index: Tensor, source: Tensor):
    """Return input with the slices at the positions in the vector `index` along `dim` replaced by those of source.

    If a position occurs more than once, the last slice is stored.
    Gradient: for input, g with 0 in these slices; for source, these slices of g, and 0 for a slice that was
    overwritten.
    """
    whole, positions, slices = steps.operands
    if not index.layout.ndim:
        positions = positions.seen(index.layout.unsqueeze(0))
    # The result may be the input itself, so the index is checked first, and nothing is written after an error.
    check_within(steps, positions, input.shape[dim])
    steps.ask(Copy(), out, whole, unless_same=(whole, out) if input.layout == out.layout else None)
    steps.ask(SelectPut(dim), out, positions, slices)
    return watched(index_copy, steps.backend, steps.launch, input, index, dim)


def _standing(g: Tensor, index: Tensor, size: int, dim: int) -> Tensor:
    """Return the slices of g, with zeros for each slice whose position occurs again later in the index."""
    n = index.numel()
    if n < 2:
        return g
    order = arange(n, device=g.device)
    last = index_copy(zeros_of((size,), order), 0, index, order)
    stands = eq(index_select(last, 0, index), order)
    return where(reshape(stands, (n, *(1,) * (g.ndim - dim - 1))), g, 0.0)


def _last(g: Tensor, index: Tensor, shape: tuple[int, ...], dim: int) -> Tensor:
    """Return the elements of g, with 0 for each element whose position along `dim` occurs again later in the index."""
    order = arange(index.shape[dim], device=g.device)
    order = expand(order, shape=index.transpose(dim, -1).shape).transpose(dim, -1)
    last = scatter_put(zeros_of(shape, order), dim, index, order)
    return where(eq(gather(last, dim, index), order), g, 0.0)


# ---- batches --------------------------------------------------------------------------------------------------------


def select_batch(x: Tensor, index: Tensor, dim: int, flags: Flags) -> Tensor:
    """Return `index_select` for a batch.

    With one index for all samples, the dim is moved by one.  With one index per sample, a single tensor takes all
    indices as one, and a batch of tensors is a `gather`.
    """
    if not flags[1]:
        return index_select(x, dim + 1, index)
    index = each_vector(index)
    if not flags[0]:
        flat = index_select(x, dim, reshape(index, -1))
        return to_front(cut(flat, dim, index.shape), dim)
    shape = (*x.shape[: dim + 1], index.shape[1], *x.shape[dim + 2 :])
    return gather(x, dim + 1, _spread(index, dim, shape))


def each_vector(index: Tensor) -> Tensor:
    """Return a batch of indices as vectors: an index without dims is a vector of one."""
    return index if index.ndim > 1 else reshape(index, (index.shape[0], 1))


def _spread(index: Tensor, dim: int, shape: tuple[int, ...]) -> Tensor:
    """Return a batch of index vectors, expanded to `shape` as a view; `dim` is the indexed dim of a sample."""
    index = each_vector(index)
    at = (index.shape[0], *(1,) * dim, index.shape[1], *(1,) * (len(shape) - dim - 2))
    return expand(reshape(index, at), shape=shape)


def add_batch(x: Tensor, index: Tensor, src: Tensor, dim: int, flags: Flags, size: int) -> Tensor:
    """Return `index_add` for a batch; with one index per sample, it is a `scatter_add`."""
    x, src = stretched(x, flags[0], size), stretched(src, flags[2], size)
    if flags[1]:
        return scatter_add(x, dim + 1, _spread(index, dim, src.shape), src)
    return index_add(x, dim + 1, index, src)


def _copy_batch(x: Tensor, index: Tensor, src: Tensor, dim: int, flags: Flags, size: int) -> Tensor:
    """Return `index_copy` for a batch; with one index per sample, the batch and the indexed dim are merged."""
    x, src = stretched(x, flags[0], size), stretched(src, flags[2], size)
    if not flags[1]:
        return index_copy(x, dim + 1, index, src)
    n = x.shape[dim + 1]
    check_positions("index_copy", index, Spec(x.layout, x.dtype), dim + 1)
    order = (0, dim + 1, *[d for d in range(1, x.ndim) if d != dim + 1])
    x, src = permute(x, dims=order), permute(src, dims=order)
    positions = remainder(each_vector(index), n) + reshape(arange(size, device=index.device) * n, (size, 1))
    src = reshape(src, (positions.numel(), *src.shape[2:]))
    flat = index_copy(reshape(x, (size * n, *x.shape[2:])), 0, reshape(positions, -1), src)
    return permute(reshape(flat, x.shape), dims=tuple([order.index(d) for d in range(x.ndim)]))


def check_positions(label: str, index: Tensor, x: Spec, dim: int) -> None:
    """Raise IndexOutOfRange if an index, or any index of a batch, contains a position outside a dim of x."""
    while isinstance(index, Tracer):
        index = index.value  # type: ignore[attr-defined]
    backend, size = backend_of(index.device), x.shape[dim]
    for k in bounds_of(backend, Spec(index.layout, index.dtype))(index.storage.buffer) if index.numel() else ():
        if not -size <= k < size:
            raise out_of_range(label, k, x, dim)
