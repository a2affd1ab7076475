"""Diagonals and triangles of matrices, the trace; broadcasting of tensors, grids, and combinations of elements.

`views.diagonal` returns a diagonal as a view.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from minigrad.config import listeners
from minigrad.core.conditions import Ndim, expect_same
from minigrad.core.device import Device
from minigrad.core.dtype import int64
from minigrad.core.op import Spec
from minigrad.core.requests import Reduce
from minigrad.core.roles import Choice, Flag, Int, Size
from minigrad.core.shape import as_shape, normalize_dim
from minigrad.core.shape import broadcast_shapes as broadcast
from minigrad.declare.decorators import composed, kernel, public
from minigrad.declare.rules import with_kept_dims
from minigrad.ops.casting import clone
from minigrad.ops.creation import arange, computed, expect_float, tensor
from minigrad.ops.indexing.gathering import index_select
from minigrad.ops.pointwise.compare import ge, le, where
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.joining import stack
from minigrad.ops.shape.views import adjoint_of, diagonal, expand, reshape, transpose
from minigrad.runtime.operands import constant, number
from minigrad.runtime.tensor import Tensor

# ---- the elements on one side of a diagonal of the last two dims -----------------------------------------------------


KEPT = 4096  # longest dim whose positions are cached between calls, which takes 32 kB


@composed(in_place=True)
def tril(input: Tensor, diagonal: Int = 0) -> Tensor:
    """Return the elements on and below a diagonal of the last two dims, with zeros above it.

    Gradient: g on and below the diagonal, and 0 above it.
    """
    last, columns = positions("tril", input, diagonal)
    return where(ge(last, columns), input, number(0, input.dtype, input.device))


@composed(in_place=True)
def triu(input: Tensor, diagonal: Int = 0) -> Tensor:
    """Return the elements on and above a diagonal of the last two dims, with zeros below it.

    Gradient: g on and above the diagonal, and 0 below it.
    """
    first, columns = positions("triu", input, diagonal)
    return where(le(first, columns), input, number(0, input.dtype, input.device))


def positions(name: str, x: Tensor, diagonal: int) -> tuple[Tensor, Tensor]:
    """Return, for each row of a matrix, the column of the diagonal, as a column vector, and all column indices."""
    Ndim(least=2, advice="add a dim with unsqueeze(0)").expect(name, input=x)
    rows, columns = x.shape[-2:]
    start = max(-rows, min(columns, diagonal))  # all diagonals outside the matrix are equivalent
    if max(rows, columns) <= KEPT:
        return counted(start, rows, x.device, 1), counted(0, columns, x.device, 0)
    return arange(start, start + rows, device=x.device).unsqueeze(1), arange(columns, device=x.device)


@lru_cache(maxsize=128)
def counted(start: int, count: int, device: Device, trailing: int) -> Tensor:
    """Return the constant start, start + 1, ... with `trailing` dims of length 1; it is cached for many calls."""
    return constant(np.arange(start, start + count).reshape(count, *(1,) * trailing), int64, device)


listeners.append(counted.cache_clear)


# ---- matrices from diagonals, and the trace --------------------------------------------------------------------------


@composed(out=False)
def diag_embed(input: Annotated[Tensor, Ndim(least=1)], offset: Int = 0, dim1: Int = -2, dim2: Int = -1) -> Tensor:
    """Return matrices that have the last dim of the input as a diagonal, and zeros elsewhere.

    offset: the diagonal; 0 is the main diagonal, and positive values are above it.
    dim1, dim2: the positions of the two dims of the matrices in the result.
    Gradient: the diagonal of g.
    """
    ndim, n = input.ndim + 1, input.shape[-1] + abs(offset)
    first, second = (normalize_dim(dim, ndim, "diag_embed") for dim in (dim1, dim2))
    shape = list(input.shape[:-1])
    for d in sorted((first, second)):
        shape.insert(d, n)
    return adjoint_of(diagonal, input, tuple(shape), offset=offset, dim1=first, dim2=second)


@composed()
def diag(input: Annotated[Tensor, Ndim(1, 2, advice="use diagonal for more dims")], diagonal: Int = 0) -> Tensor:
    """Return a matrix with a vector as a diagonal and zeros elsewhere, or a copy of a diagonal of a matrix."""
    return diag_embed(input, diagonal) if input.ndim == 1 else clone(input.diagonal(diagonal))


@composed(out=False)
def diagflat(input: Tensor, offset: Int = 0) -> Tensor:
    """Return a matrix with all elements of the input, in row-major order, as a diagonal, and zeros elsewhere."""
    return diag_embed(reshape(input, -1), offset)


@kernel(
    dtype=lambda op, specs: specs[0].dtype.sum_dtype, shape=lambda op, input: (), linear=True, method=True,
    vjp=(lambda g, *, in_shape: adjoint_of(diagonal, expand(g, shape=(min(in_shape),)), in_shape),),
    batch=lambda input, *, batch: sum(diagonal(input, 0, 1, 2), 1), complex=True,
)  # fmt: skip
def trace(backend, out, input: Annotated[Tensor, Ndim(2, advice="use diagonal for other numbers of dims")]):
    """Return the sum of the diagonal of a matrix; as in `sum`, integers become int64.

    Gradient: g on the diagonal, and 0 elsewhere.
    """
    line = Spec(input.layout.diagonal(0, 0, 1), input.dtype)
    request = Reduce(sum.op.reducer, np.dtype(input.dtype.accumulator), (0,))  # type: ignore[attr-defined]
    return backend.prepare(request, with_kept_dims(out, line.shape, (0,)), line)


# ---- grids, Cartesian products and index pairs -----------------------------------------------------------------------


@public()
def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """Return the shape to which all shapes broadcast.  Raises ShapeError if two sizes differ and neither is 1."""
    return broadcast("broadcast_shapes", *[as_shape((shape,), "broadcast_shapes") for shape in shapes])


@composed(out=False, method=False)
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return views of all tensors, expanded to the shape to which they broadcast.

    Gradient: g, summed over the expanded dims.
    """
    shape = broadcast("broadcast_tensors", *[x.shape for x in tensors])
    return tuple([expand(x, shape=shape) for x in tensors])


@composed(out=False, method=False)
def meshgrid(
    *tensors: Annotated[Tensor, Ndim(0, 1)], indexing: Annotated[Any, Choice("ij", "xy", None)] = None
) -> tuple[Tensor, ...]:
    """Return the coordinates of a grid: views of the vectors, each along its own dim and expanded along the other dims.

    indexing: with "ij", the default, the dims are in the order of the vectors; "xy" swaps the first two dims.
    """
    expect_same("dtype", "meshgrid", **{f"tensor {k}": x for k, x in enumerate(tensors)})
    shape = tuple([x.numel() for x in tensors])
    ones = (1,) * len(shape)
    grids = [expand(reshape(x, (*ones[:d], -1 if x.numel() else 0, *ones[d + 1 :])), shape=shape)
             for d, x in enumerate(tensors)]  # fmt: skip
    return tuple([transpose(x, 0, 1) for x in grids] if indexing == "xy" and len(grids) > 1 else grids)


@composed(out=False, method=False)
def cartesian_prod(*tensors: Annotated[Tensor, Ndim(1)]) -> Tensor:
    """Return all combinations of one element from each vector, as the rows of a matrix; a single vector itself."""
    grids = meshgrid(*tensors)
    return tensors[0] if len(grids) == 1 else stack([reshape(x, (x.numel(),)) for x in grids], 1)


@composed(out=False, method=False)
def combinations(input: Annotated[Tensor, Ndim(1)], r: Size = 2, with_replacement: Flag = False) -> Tensor:
    """Return all combinations of r elements of a vector as the rows of a matrix, in lexicographic order of positions.

    with_replacement: whether a combination may contain the same position several times.
    """
    positions = choices(input.shape[0], r, not with_replacement)
    picked = index_select(input, 0, tensor(positions.reshape(-1), device=input.device))
    return reshape(picked, positions.shape if r else (0,))


def choices(n: int, r: int, distinct: bool) -> NDArray[np.int64]:
    """Return all combinations of r of n indices as rows, in lexicographic order.

    distinct: whether the indices of a combination differ.  The rows are built index by index: each row is repeated once
    for each index that can follow its last index.
    """
    rows = np.zeros((min(r, 1), 0), np.int64)
    for k in range(r):
        first = rows[:, -1] + distinct if k else np.zeros(1, np.int64)
        counts = np.maximum(n - first, 0)
        ends = np.cumsum(counts)
        added = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + counts, counts)
        rows = np.column_stack([np.repeat(rows, counts, axis=0), added])
    return rows


def triangle(rows: int, columns: int, first: int, end: int) -> NDArray[Any]:
    """Return the positions of a matrix, row by row, that are in the columns from `first` to `end` - 1 of row 0.

    In each later row, both bounds are greater by 1.  The dtype is int32 if it can represent all positions: half of the
    bytes take half of the time.
    """
    index = np.arange(rows)
    starts, stops = (np.minimum(np.maximum(index + bound, 0), columns) for bound in (first, end))
    counts = np.maximum(stops - starts, 0)
    before = np.cumsum(counts)
    total = int(before[-1]) if rows else 0
    kind = np.int32 if max(rows, columns, total) < 1 << 31 else np.int64
    # Each column is the position in the result, minus a number that is the same in the whole row.
    shifts = before - counts - starts
    result = np.repeat(np.array([index, shifts], kind), counts, axis=1)
    np.subtract(np.arange(total, dtype=kind), result[1], out=result[1])
    return result


@public(makes=True)
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return the positions on and below a diagonal of a matrix: the row indices as row 0, the column indices as row 1.

    row, col: the numbers of rows and columns of the matrix.
    """
    rows, columns = as_shape((row, col), "tril_indices")
    expect_float("tril_indices", dtype or "int64", requires_grad)
    return computed(triangle(rows, columns, -rows, offset + 1), dtype or "int64", device)


@public(makes=True)
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return the positions on and above a diagonal of a matrix: the row indices as row 0, the column indices as row 1.

    row, col: the numbers of rows and columns of the matrix.
    """
    rows, columns = as_shape((row, col), "triu_indices")
    expect_float("triu_indices", dtype or "int64", requires_grad)
    return computed(triangle(rows, columns, offset, columns), dtype or "int64", device)
