"""Copies of views, and copies of a tensor in which another tensor replaces a part; gradients flow to both tensors.

`runtime/rebasing.py` records nodes of the op `put` for writes in place.  These nodes launch no kernel, because the
write has already happened.  The derivative rules of the op call it as a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from minigrad.core.conditions import expect_shape
from minigrad.core.formats import contiguous_format
from minigrad.core.layout import Layout
from minigrad.core.parameters import parameters_of
from minigrad.core.requests import Copy
from minigrad.core.roles import Along, Dim, Flag, Int, Ints, Shape, StretchedShape
from minigrad.core.shape import as_int, as_shape, normalize_dim
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.rules import joint
from minigrad.declare.signature import annotations_of
from minigrad.errors import ShapeError, StorageError
from minigrad.ops.casting import cast, clone, same_dtype
from minigrad.ops.indexing.gathering import zeros_of
from minigrad.ops.shape import views
from minigrad.ops.shape.joining import split
from minigrad.ops.shape.views import as_strided
from minigrad.runtime.rebasing import Ops
from minigrad.runtime.tensor import Tensor, describe

# ---- the op `put` ----------------------------------------------------------------------------------------------------


def _dense(x: Tensor) -> Tensor:
    return x if x.is_contiguous() and x.offset == 0 else clone(x, memory_format=contiguous_format)


@kernel(
    dtype=same_dtype, shape=lambda op, whole, part, **params: whole.shape,
    vjp=(
        lambda g, *, part_shape, **params: put(g, zeros_of(part_shape, g), **params),
        lambda g, **params: as_strided(_dense(g), **params),
    ),
    linear=joint("whole", "part"), namespace=(),
    batch=lambda whole, part, *, size, stride, storage_offset, batch: put(
        whole, part, size=(batch, *size), stride=(prod(whole.shape[1:]), *stride), storage_offset=storage_offset
    ),
    complex=True,
)  # fmt: skip
def put(steps, out, whole, part, *, size, stride, storage_offset):
    """Return a contiguous copy of `whole` in which `part` replaces the elements that size, stride and offset specify.

    These elements must be distinct.
    Gradient: for `whole`, g with zeros at these elements; for `part`, these elements of g.
    """
    steps.ask(Copy(), out, whole)
    steps.ask(Copy(), out.seen(out.layout.as_strided(size, stride, storage_offset)), part)


Ops.put, Ops.look, Ops.clone, Ops.cast = put.op, as_strided.op, clone.op, cast.op  # type: ignore[attr-defined]
Ops.permute, Ops.reshape = views.permute.op, views.AS_VIEW  # type: ignore[attr-defined]


# ---- replace a part --------------------------------------------------------------------------------------------------


def scattered(name: str, x: Tensor, src: Tensor, part: Layout) -> Tensor:
    """Return a copy of x in which src replaces the elements of `part`, the layout of a view of a contiguous x."""
    expect_shape(name, part.shape, "the shape of the selected part of", x, "reshape src", src=src)
    if not prod(part.shape):
        return clone(x)
    return put(x, src.to(x.dtype), size=part.shape, stride=part.strides, storage_offset=part.offset)


@composed(out=False)
def diagonal_scatter(input: Tensor, src: Tensor, offset: Int = 0, dim1: Along = 0, dim2: Along = 1) -> Tensor:
    """Return a copy of the tensor in which src replaces `diagonal(input, offset, dim1, dim2)`.

    Gradient: for src, the diagonal of g; for the input, g with zeros on the diagonal.
    """
    return scattered("diagonal_scatter", input, src, Layout.contiguous(input.shape).diagonal(offset, dim1, dim2))


@composed(out=False)
def select_scatter(input: Tensor, src: Tensor, dim: Along, index: Int) -> Tensor:
    """Return a copy of the tensor in which src replaces `select(input, dim, index)`.

    Gradient: for src, this slice of g; for the input, g with zeros in this slice.
    """
    return scattered("select_scatter", input, src, Layout.contiguous(input.shape).select(dim, index))


@composed()
def slice_scatter(
    input: Tensor, src: Tensor, dim: Dim = 0, start: int | None = None, end: int | None = None, step: Int = 1
) -> Tensor:
    """Return a copy of the tensor in which src replaces input[start:end:step] along `dim`.

    Without `end` and `step`, the length of src determines the end.
    Gradient: for src, this slice of g; for the input, g with zeros in this slice.
    """
    whole = Layout.contiguous(input.shape)
    if end is not None or step != 1:
        return scattered("slice_scatter", input, src, whole.slice(dim, start, end, step))
    n = input.shape[dim] if input.ndim else 0
    first = 0 if start is None else as_int(start, "start", "slice_scatter")
    first += n if first < 0 else 0
    length = src.shape[dim] if src.ndim == input.ndim > 0 else -1
    if src.shape != (*input.shape[:dim], length, *input.shape[dim + 1 :]) or not 0 <= first <= n - length:
        raise ShapeError(
            f"slice_scatter: src must have the shape of input {describe(input)} except along dim {dim}, where "
            f"start={first} plus its length must be at most {n}, got {describe(src)}; slice src or reduce start"
        )
    return scattered("slice_scatter", input, src, whole.narrow(dim, first, length))


@composed(out=False)
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Shape, stride: Shape, storage_offset: int | None = None
) -> Tensor:
    """Return a copy of the tensor in which src replaces the elements that size, stride and offset specify.

    The strides count elements of the tensor in row-major order.
    Gradient: for src, these elements of g; for the input, g with zeros at these elements.
    Raises StorageError if the strides leave the tensor, or if they map two elements of src to the same position.
    """
    part = Layout.contiguous(input.shape).as_strided(size, stride, storage_offset or 0)
    if not part.fits(input.numel()) or part.may_overlap_itself():
        raise StorageError(
            "as_strided_scatter: size and stride must select each element at most once and stay inside "
            f"{describe(input)}, got size {size}, stride {stride} and storage_offset {part.offset}; reduce the size"
        )
    return scattered("as_strided_scatter", input, src, part)


# ---- copies of views -------------------------------------------------------------------------------------------------


VIEWS = (views.diagonal, views.narrow, views.permute, views.select, views.squeeze, views.t, views.transpose,
         views.unfold, views.unsqueeze)  # fmt: skip
METHODS = {"narrow"}


def copying(view: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Declare the op `view_copy`, which copies the result of a view and has the parameters of the view."""

    def definition(*args: Any, **params: Any) -> Tensor:
        return clone(view(*args, **params))

    declared: Any = view.__wrapped__  # type: ignore[attr-defined]
    definition.__name__ = f"{view.__name__}_copy"
    definition.__doc__ = f"Return a copy of the result of `{view.__name__}`, in separate memory."
    definition.declared_parameters = parameters_of(declared)  # type: ignore[attr-defined]
    definition.__annotations__ = annotations_of(declared) | {"return": Tensor}
    return composed(method=view.__name__ in METHODS)(definition)


COPIES = {f"{view.__name__}_copy": copying(view) for view in VIEWS}
globals().update(COPIES)  # pickle finds functions as attributes of their module
# ---- copies whose parameters differ from those of the view ----------------------------------------------------------


@composed(method=False)
def alias_copy(input: Tensor) -> Tensor:
    """Return a copy of the tensor, as `clone`."""
    return clone(input)


@composed(method=False)
def expand_copy(input: Tensor, size: StretchedShape, *, implicit: Flag = False) -> Tensor:
    """Return a copy of the result of `expand`, in separate memory.

    implicit: has no effect; PyTorch has this parameter.
    """
    return clone(views.expand(input, as_shape((size,), "expand_copy", hole=True)))


@composed(method=False)
def view_copy(input: Tensor, size: StretchedShape) -> Tensor:
    """Return a copy of the tensor in another shape with the same number of elements."""
    return clone(views.reshape(input, as_shape((size,), "view_copy", hole=True)))


@composed(method=False)
def slice_copy(
    input: Tensor, dim: Along = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Return a copy of input[start:end:step] along `dim`."""
    d = normalize_dim(dim, input.ndim, "slice_copy", input)
    return clone(input[(*(slice(None),) * d, slice(start, end, step))])


@composed(method=False)
def as_strided_copy(input: Tensor, size: Ints, stride: Ints, storage_offset: int | None = None) -> Tensor:
    """Return a copy of the result of `Tensor.as_strided`, a view of the storage with any shape and strides."""
    return clone(views.strided_view(input, size, stride, storage_offset))


@composed(method=False)
def split_copy(input: Tensor, split_size: int, dim: Along = 0) -> tuple[Tensor, ...]:
    """Return copies of the views that `split` returns."""
    return tuple([clone(part) for part in split(input, split_size, dim)])


@composed(method=False)
def split_with_sizes_copy(input: Tensor, split_sizes: Sequence[int], dim: Along = 0) -> tuple[Tensor, ...]:
    """Return copies of the views that `split_with_sizes` returns."""
    return tuple([clone(part) for part in split(input, list(split_sizes), dim)])


@composed(method=False)
def unbind_copy(input: Tensor, dim: Along = 0) -> tuple[Tensor, ...]:
    """Return copies of the slices at all positions along `dim`, without this dim."""
    d = normalize_dim(dim, input.ndim, "unbind_copy", input)
    return tuple([clone(views.select(input, dim=d, index=k)) for k in range(input.shape[d])])
