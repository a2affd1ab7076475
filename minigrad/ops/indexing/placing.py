"""Functions that read or write values at positions: take_along_dim, repeat_interleave, scatter, index_put, take, ...

`index_put` and `put` call `index_copy` or `index_add` on a tensor whose indexed dims, or all dims, are merged into one.
If a position occurs more than once, the last value is stored and receives the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, Any

import numpy as np

from minigrad.core.conditions import IndexDType, Integral, Like, Ndim, expect_same, expect_shape
from minigrad.core.dtype import int64
from minigrad.core.roles import Dim, Flag, OneDim, Scalar, Size, shown
from minigrad.core.shape import as_int, as_shape, broadcast_shapes
from minigrad.declare.decorators import composed
from minigrad.errors import ArgumentError, ArgumentTypeError, DTypeError, IndexDTypeError, IndexShapeError, ShapeError
from minigrad.ops.casting import cast, clone, rearrange
from minigrad.ops.creation import tensor
from minigrad.ops.indexing.assignment import located
from minigrad.ops.indexing.gathering import gather, index_add, index_copy, index_select, scatter_put
from minigrad.ops.indexing.masks import nonzero
from minigrad.ops.indexing.positions import order_back
from minigrad.ops.indexing.reducing import scatter_reduce
from minigrad.ops.indexing.subscript import entries_of
from minigrad.ops.pointwise.arithmetic import floor_divide, remainder
from minigrad.ops.shape.views import basic_index, expand, narrow, permute, reshape
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor, describe

# ---- reads along a dim -----------------------------------------------------------------------------------------------


@composed()
def take_along_dim(input: Tensor, indices: Tensor, dim: OneDim = None) -> Tensor:
    """Return the elements of input at indices along `dim`; both broadcast along the other dims, and then `gather` runs.

    Without a dim, both are flattened first.
    """
    if dim is None:
        return gather(reshape(input, -1), 0, reshape(indices, -1))
    expect_same("dims", "take_along_dim", input=input, indices=indices)
    if not input.ndim:
        return gather(input, dim, indices)
    front, behind = (
        broadcast_shapes("take_along_dim", *[x.shape[part] for x in (input, indices)])
        for part in (slice(dim), slice(dim + 1, None))
    )
    stretched = [expand(x, shape=(*front, x.shape[dim], *behind)) for x in (input, indices)]
    return gather(stretched[0], dim, stretched[1])


@composed(out=False)
def repeat_interleave(
    input: Tensor, repeats: Tensor | int, dim: OneDim = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat each element along `dim`; the copies of an element are next to each other.

    Without a dim, the input is flattened first.
    repeats: the number of copies, as an int for all elements, or as an integer tensor with one count per element.
    output_size: the length of the result along `dim`, which is checked; by default it is the sum of the counts.
    Gradient: for each element, the sum of g over its copies.
    """
    x, d = (reshape(input, input.numel()), 0) if dim is None else (input, dim)
    Ndim(least=1).expect("repeat_interleave", input=x)
    n = x.shape[d]
    # An int is the most common case, and needs no index tensor.
    if repeats.__class__ is int and repeats >= 0 and output_size in (None, n * repeats):
        return repeated(x, d, repeats)
    counts = counts_of(x, repeats)
    if counts.size not in (1, n) or counts.ndim > 1 or (counts < 0).any():
        raise ArgumentError(
            f"repeat_interleave: repeats for dim {d} of {describe(x)} must be 1 or {n} counts of 0 or more, got "
            f"{counts.tolist()}; pass one count, or one count per element of this dim"
        )
    total = int(np.broadcast_to(counts, (n,)).sum())
    if output_size is not None and output_size != total:
        raise ArgumentError(
            f"repeat_interleave: output_size must be {total}, the sum of repeats, got {output_size}; pass "
            f"output_size={total}"
        )
    if counts.size == 1:
        return repeated(x, d, int(counts.reshape(())))
    return index_select(x, d, tensor(np.repeat(np.arange(n), counts), device=x.device))


def repeated(x: Tensor, d: int, count: int) -> Tensor:
    """Return a tensor with each element repeated `count` times along a dim."""
    front, n, rest = x.shape[:d], x.shape[d], x.shape[d + 1 :]
    return rearrange(x, (*front, n, count, *rest), tuple(range(x.ndim + 1)), (*front, n * count, *rest), (d + 1,))


def counts_of(x: Tensor, repeats: Any) -> Any:
    """Return the argument `repeats` as an array of counts.  Raises DTypeError for a tensor that is not integer."""
    if not isinstance(repeats, Tensor):
        return np.array(as_int(repeats, "repeats", "repeat_interleave"))
    Integral.expect("repeat_interleave", repeats=repeats)
    return np.array(repeats.tolist(), np.int64)


# ---- writes at positions, and reads of the same form -----------------------------------------------------------------


REDUCES = {"add": "sum", "multiply": "prod"}


@composed(in_place=True)
def scatter(
    input: Tensor, dim: Dim, index: Tensor, src: Tensor | float | None = None, *, reduce: str | None = None,
    value: Scalar | None = None,
) -> Tensor:  # fmt: skip
    """Return input with src, a tensor or a number, stored at the positions that index contains along `dim`.

    For a tensor of three dims and dim=1, src[i, j, k] is stored at [i, index[i, j, k], k].
    value: a number instead of src, by PyTorch's name.
    reduce: "add" adds src to the element, and "multiply" multiplies the element by src, instead of replacing it.
    Gradient: without `reduce`, for input, g with 0 at the written positions; for src, the elements of g at these
    positions, and 0 for an element that was overwritten. With `reduce`, it is that of `scatter_reduce` with "sum" or
    "prod".
    Raises ArgumentError for another `reduce`, DTypeError unless index has integers and src the dtype of input, and
    ShapeError unless index has the number of dims of input and src and fits inside both.
    """
    src = src_or_value(src, value)
    if not index.numel():  # an index without elements selects nothing, whatever its shape is
        if not isinstance(src, Tensor) or src.dtype is not input.dtype:
            return clone(input)
        flat, positions, values = (reshape(y, (y.numel(),)) for y in (input, index, src))
        return reshape(scatter_put(flat, 0, positions, narrow(values, 0, 0, 0)), input.shape)  # with src in the graph
    x, positions = (y if y.ndim else reshape(y, (1,)) for y in (input, index))
    values = src if isinstance(src, Tensor) else expand(number(src, x.dtype, x.device), shape=positions.shape)
    values = values if values.ndim else reshape(values, (1,))
    fits = x.ndim == positions.ndim == values.ndim and all(
        n <= v and (n <= m or d == dim) for d, (n, m, v) in enumerate(zip(positions.shape, x.shape, values.shape))
    )
    if not fits or values.dtype is not x.dtype or not positions.dtype.is_int or reduce not in (None, *REDUCES):
        raise scatter_fault(input, index, values, reduce)
    for d, n in enumerate(positions.shape):
        values = narrow(values, d, 0, n) if n < values.shape[d] else values
    if reduce is not None:
        return reshape(scatter_reduce(x, dim, positions, values, REDUCES[reduce]), input.shape)
    return reshape(scatter_put(x, dim, positions, values), input.shape)


def src_or_value(src: Any, value: Any) -> Any:
    """Return src or value, if exactly one of them is not None; otherwise raise ArgumentError."""
    if (src is None) != (value is None):
        return value if src is None else src
    raise ArgumentError("scatter: expected either src or value; pass src, for example")


def scatter_fault(input: Tensor, index: Tensor, src: Tensor, reduce: Any) -> Exception:
    """Return the error for the first fault of the arguments of `scatter`."""
    if reduce not in (None, *REDUCES):
        got = (
            f"reduce must be None, 'add' or 'multiply', got {shown(reduce)}; write scatter_reduce for other reductions"
        )
        return (ArgumentError if isinstance(reduce, str) else ArgumentTypeError)(f"scatter: {got}")
    if not index.dtype.is_int:
        got = f"index must have an integer dtype, got {describe(index)}; convert it with .long()"
        return IndexDTypeError(f"scatter: {got}")
    if src.dtype is not input.dtype:
        got = (
            f"src must have the dtype of input {describe(input)}, got {describe(src)}; convert it with .to(input.dtype)"
        )
        return DTypeError(f"scatter: {got}")
    named = f"got input {describe(input)}, index {describe(index)} and src {describe(src)}"
    if not max(input.ndim, 1) == max(index.ndim, 1) == src.ndim:
        return ShapeError(f"scatter: index must have as many dims as input and src, {named}; reshape index or src")
    return ShapeError(
        f"scatter: index must not be longer than src along any dim, nor than input except along dim, {named}; slice "
        "index"
    )


@composed(in_place=True)
def index_fill(input: Tensor, dim: Dim, index: Annotated[Tensor, IndexDType], value: Tensor | float) -> Tensor:
    """Return input with the slices at the positions in the vector `index` along `dim` filled with one value."""
    x = input if input.ndim else reshape(input, (1,))
    one = cast(value, dtype=x.dtype) if isinstance(value, Tensor) else number(value, x.dtype, x.device)
    expect_shape("index_fill", (), "one number for", x, "pass a number", value=one)
    Ndim(0, 1).but(error=IndexShapeError).expect("index_fill", x, index=index)
    shape = (*x.shape[:dim], index.numel(), *x.shape[dim + 1 :])
    filled = index_copy(x, dim, reshape(index, (index.numel(),)), expand(one, shape=shape))
    return reshape(filled, input.shape)


@composed(in_place=True)
def index_put(
    input: Tensor, indices: Any, values: Annotated[Tensor, Like("dtype")], accumulate: Flag = False
) -> Tensor:
    """Return input with the elements at input[indices] replaced by values, which broadcast.

    indices: a sequence of index tensors or masks.
    accumulate: whether to add values to the elements instead; a position that occurs n times receives n additions.
    Gradient: for input, g with 0 at the replaced elements, or g with accumulate=True; for values, the elements of g at
    the positions, summed over dims that were broadcast, and 0 for an element that was overwritten.
    Raises DTypeError if values and input differ in dtype, ArgumentError if `indices` contains neither a tensor nor a
    mask.
    """
    named, sole = index_tuple(indices)
    entries, gathers = entries_of(input, named)
    if not gathers:
        raise ArgumentError(
            f"index_put: indices of {describe(input)} must contain an index tensor or a mask; pass a tuple such as "
            "(mg.tensor([0]),)"
        )
    y = basic_index(input, index=entries)
    if sole:
        values = as_slices(values, y.shape, [dim for dim, _ in gathers])
    moved, dim, shape, positions, source = located(y, gathers, values, input)
    put = index_add if accumulate else index_copy
    result = reshape(put(reshape(moved, shape), dim, positions, source), moved.shape)
    # A mask of no dims adds a dim of length 1 to y.
    return reshape(result if moved is y else permute(result, order_back(gathers, y.ndim)), input.shape)


def index_tuple(indices: Any) -> tuple[tuple[Any, ...], bool]:
    """Return the indices of `index_put` for `entries_of`, and whether all index tensors are without dims.

    `entries_of` would treat an index tensor without dims as an int and remove the indexed dim.  So such an index gets
    one dim, which broadcasts.
    """
    named = [slice(None) if x is None else x for x in indices]
    single = [isinstance(x, Tensor) and x.ndim == 0 and x.dtype.is_int for x in named]
    sole = any(single) and all(flag or isinstance(x, slice) for flag, x in zip(single, named))
    return tuple([reshape(x, (1,)) if flag else x for flag, x in zip(single, named)]), sole


def as_slices(values: Tensor, shape: tuple[int, ...], dims: list[int]) -> Tensor:
    """Return the values for a single slice, with a dim of length 1 at the position of the indices in `located`."""
    rest = tuple([n for d, n in enumerate(shape) if d not in dims])
    together = dims == [*range(dims[0], dims[0] + len(dims))]
    return expand(values, shape=rest).unsqueeze(dims[0] if together else 0)


@composed(of=index_copy, in_place=True)
def put(input: Tensor, index: Tensor, source: Annotated[Tensor, Like("dtype")], accumulate: Flag = False) -> Tensor:
    """Return input with the elements of source stored at the positions in `index`, which count in row-major order.

    Shapes: source and index have the same number of elements.
    accumulate: whether to add the elements of source instead of replacing the elements of input.
    Gradient: for input, g with 0 at the replaced elements, or g with accumulate=True; for source, the elements of g at
    the positions, and 0 for an element that was overwritten.
    Raises IndexShapeError if source and index differ in their number of elements, DTypeError if source and input differ
    in dtype.
    """
    if index.numel() != source.numel():
        raise IndexShapeError(
            f"put: source must have as many elements as the index {describe(index)}, got {describe(source)}; pass one "
            "element per index"
        )
    row, positions, values = (reshape(x, (x.numel(),)) for x in (input, index, source))
    return reshape((index_add if accumulate else index_copy)(row, 0, positions, values), input.shape)


@composed(method=False, out=False)
def unravel_index(indices: Annotated[Tensor, Integral], shape: Size | Sequence[int]) -> tuple[Tensor, ...]:
    """Return the indices along each dim of a tensor of `shape`, from row-major positions among all its elements.

    The results are int64 tensors with the shape of `indices`.  Positions outside the tensor are not detected.
    Raises DTypeError unless `indices` are integers, ArgumentError for a negative size.
    """
    sizes, position = as_shape((shape,), "unravel_index"), cast(indices, dtype=int64)
    return tuple(remainder(floor_divide(position, prod(sizes[d + 1 :])), n) for d, n in enumerate(sizes))


@composed()
def take(input: Tensor, index: Tensor) -> Tensor:
    """Return the elements at row-major positions among all elements, in the shape of index."""
    positions = reshape(index, (index.numel(),))
    return reshape(index_select(reshape(input, (input.numel(),)), 0, positions), index.shape)


@composed(out=False)
def argwhere(input: Tensor) -> Tensor:
    """Return the indices of all nonzero elements as an int64 matrix, with one row per element, as `nonzero`."""
    return nonzero(input)
