"""Embeddings: rows of a table by their numbers, and the gradient of the table."""

from __future__ import annotations

from minigrad.core.dtype import int64
from minigrad.core.shape import as_int
from minigrad.errors import DTypeError, IndexOutOfRange, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.compare import where
from minigrad.ops.indexing import index_select_along
from minigrad.ops.views import unsqueeze
from minigrad.tensor import Tensor, describe, expect_tensors


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """The row of `weight` for each number in `input`: its shape, and the length of a row as a last dim.

    A negative number counts from the last row.  padding_idx: a row that is read, but gets no gradient.
    Gradient: g added to each row that was read.
    Raises IndexOutOfRange for a row that is not there.
    """
    expect_tensors("embedding", input, weight)
    if weight.ndim != 2:
        raise ShapeError(f"embedding: the table of rows must have 2 dims, got {describe(weight)}", op="embedding")
    if not input.dtype.is_int:
        raise DTypeError(f"embedding: the numbers of rows need an integer dtype, got {describe(input)}", op="embedding")
    rows = input if input.ndim == 1 else input.reshape(-1)
    y = index_select_along(weight, rows, dim=0)
    if padding_idx is not None:
        y = _without_gradient(y, rows, weight, padding_idx)
    return y if input.ndim == 1 else y.reshape(*input.shape, weight.shape[1])


def _without_gradient(y: Tensor, rows: Tensor, weight: Tensor, padding_idx: int) -> Tensor:
    """y, cut off from the table where the padding row was read."""
    n, padding = weight.shape[0], as_int(padding_idx, "padding_idx", "embedding")
    if not -n <= padding < n:
        raise IndexOutOfRange(
            f"embedding: padding_idx {padding} is out of range for {describe(weight)}; rows are {-n} to {n - 1}",
            op="embedding",
        )
    if not y.requires_grad:
        return y
    places = cast(rows, dtype=int64)  # a narrow dtype may not hold the row's number
    padded = (places == padding % n) | (places == padding % n - n)
    return where(unsqueeze(padded, dim=1), y.detach(), y)
