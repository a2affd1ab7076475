"""Broadcasting of several tensors, and combinations of their elements: grids, Cartesian products, index pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from minigrad.core.conditions import Ndim
from minigrad.core.roles import Choice, Flag, Size
from minigrad.core.shape import as_shape
from minigrad.core.shape import broadcast_shapes as broadcast
from minigrad.declare.decorators import composed, public
from minigrad.ops.creation import computed, expect_float, tensor
from minigrad.ops.indexing.gathering import index_select
from minigrad.ops.shape.joining import stack
from minigrad.ops.shape.views import expand, reshape, transpose
from minigrad.runtime.tensor import Tensor


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
