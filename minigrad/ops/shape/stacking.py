"""Joins by the words of matrices: side by side, one below the other, along the diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.declare.decorators import composed
from minigrad.declare.names import MG, namespaces
from minigrad.errors import ShapeError
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.padding import constant_pad_nd
from minigrad.ops.shape.rearranging import at_least
from minigrad.ops.shape.views import reshape
from minigrad.runtime.tensor import Tensor, describe


@composed(method=False)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors side by side: rows end to end, others along the second dim."""
    parts = with_dims(1, tensors)
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


@composed(method=False)
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors one below the other, along the first dim; a row of n counts as (1, n)."""
    return cat(with_dims(2, tensors), 0)


namespaces[MG]["row_stack"] = vstack


@composed(method=False)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors along the third dim; a row of n counts as (1, n, 1), a matrix as (n, m, 1)."""
    return cat(with_dims(3, tensors), 2)


@composed(method=False)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors along the second dim; a number or a row counts as a column."""
    return cat([x if x.ndim > 1 else reshape(x, -1, 1) for x in tensors], 1)


@composed(out=False, method=False)
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with matrices along its diagonal, and zeros; a row of n counts as (1, n)."""
    parts, left, rows = with_dims(2, tensors), 0, []
    for x in parts:
        if x.ndim > 2:
            raise ShapeError(f"block_diag: expected at most 2 dims, got {describe(x)}", op="block_diag")
    width = sum(x.shape[1] for x in parts)
    for x in parts:
        rows.append(constant_pad_nd(x, (left, width - left - x.shape[1])))
        left += x.shape[1]
    return cat(rows, 0)


def with_dims(ndim: int, tensors: Sequence[Tensor]) -> list[Any]:
    """Views with as many dims at least."""
    return [at_least(ndim, (x,)) for x in tensors]
