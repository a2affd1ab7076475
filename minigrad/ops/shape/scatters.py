"""Copies of a tensor in which another tensor replaces a part; gradients flow to both tensors."""

from __future__ import annotations

from minigrad.core.conditions import expect_shape
from minigrad.core.layout import Layout
from minigrad.core.roles import Along, Dim, Int, Shape
from minigrad.core.shape import as_int, numel
from minigrad.declare.decorators import composed
from minigrad.errors import ShapeError, StorageError
from minigrad.ops.casting import clone
from minigrad.ops.shape.put import put
from minigrad.runtime.tensor import Tensor, describe


def scattered(name: str, x: Tensor, src: Tensor, part: Layout) -> Tensor:
    """Return a copy of x in which src replaces the elements of `part`, the layout of a view of a contiguous x."""
    expect_shape(name, part.shape, "the shape of the selected part of", x, "reshape src", src=src)
    if not numel(part.shape):
        return clone(x)
    whole: Tensor = put(x, src.to(x.dtype), size=part.shape, stride=part.strides, storage_offset=part.offset)
    return whole


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
            f"start={first} plus its length must be at most {n}, got {describe(src)}; slice src or reduce start",
            op="slice_scatter",
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
            f"{describe(input)}, got size {size}, stride {stride} and storage_offset {part.offset}; reduce the size",
            op="as_strided_scatter",
        )
    return scattered("as_strided_scatter", input, src, part)
