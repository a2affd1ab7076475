"""Sort elements along a dim: the permutation that sorts each row, and the values in this order.

Sorting is always stable.  nan counts as the largest element, and 0.0 and -0.0 are equal.  The gradient of a value is
added at its position in the input.
"""

from __future__ import annotations

import math
from typing import Any

from minigrad.core import requests
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Dim, Flag, Front, Int, OneDim
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.record import results_of
from minigrad.declare.rules import index_dtype, same_shape, twice, values_and_positions
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.indexing.gathering import gather, scatter_add, zeros_of
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.sums import amax, amin
from minigrad.runtime.tensor import Tensor, describe


def _k_first(op: Op, input: Spec, *, k: int, dim: int, **params: Any) -> tuple[int, ...]:
    """Return the shape with k elements along `dim`.  Raises ArgumentError if k exceeds the length of the dim."""
    n = input.shape[dim]
    if not 0 <= k <= n:
        raise ArgumentError(
            f"{op.label}: k must be 0 to {n} for dim {dim} of {input!r}, got {k}; pass at most {n}", op=op.label
        )
    return (*input.shape[:dim], k, *input.shape[dim + 1 :])


@kernel(dtype=index_dtype, shape=same_shape, batch="along", method=True)
def argsort(backend, out, input: Tensor, dim: Dim = -1, descending: Flag = False, stable: Front = False):
    """Return the positions that sort the elements along `dim`.

    Sorting is always stable, and nan counts as the largest element.
    """
    return backend.prepare(requests.Sort(dim, descending), out, input)


SORTED: dict[str, Any] = {
    "dtype": values_and_positions,
    "outputs": ("values", "indices"),
    "vjp": (lambda g, indices, *, in_shape, dim: scatter_add(zeros_of(in_shape, g), dim, indices, g),),
    "jvp": lambda dinput, indices, *, dim: (gather(dinput, dim, indices), None),
    "batch": "along",
    "method": True,
}


@kernel(shape=twice(same_shape), **SORTED)
def sort(backend, values, indices, input: Tensor, dim: Dim = -1, descending: Flag = False, stable: Front = False):
    """Return the elements sorted along `dim`, and their positions in the input, as (values, indices).

    nan counts as the largest element.
    descending: whether the largest element is first.
    stable: has no effect, because sorting is always stable.
    Gradient: each input element receives the g of its sorted value.
    """
    return backend.prepare(requests.Ordered(dim, descending), (values, indices), input)


@kernel(shape=twice(_k_first), **SORTED)
def topk(backend, values, indices, input: Tensor, k: Int, dim: Dim = -1, largest: Flag = True, sorted: Front = True):
    """Return the k largest or smallest elements along `dim`, and their positions, as (values, indices).

    If elements are tied, the first positions are selected.  nan counts as the largest element.

    largest: whether to return the largest elements, instead of the smallest.
    sorted: has no effect; the result is always sorted, with the largest (or smallest) element first.
    Gradient: g, added at the position of each value in the input.
    Raises ArgumentError if k exceeds the number of elements.
    """
    return backend.prepare(requests.Ordered(dim, largest), (values, indices), input)


RESULTS: dict[str, Any] = {name: results_of(name, ("values", "indices")) for name in ("kthvalue", "median")}


@composed()
def msort(input: Tensor) -> Tensor:
    """Return the elements sorted along the first dim."""
    values: Tensor = sort(input, 0).values
    return values


@composed()
def kthvalue(input: Tensor, k: Int, dim: Dim = -1, keepdim: Flag = False) -> Any:
    """Return the k-th smallest element along `dim` and its position, as (values, indices).

    nan counts as the largest element.

    k: the rank, which is 1 for the smallest element.
    """
    n = input.shape[dim] if input.ndim else 1
    if n == 0:
        raise ShapeError(
            f"kthvalue: input must have an element along dim {dim}, got {describe(input)}; check that the dim is not "
            "empty",
            op="kthvalue",
        )
    if not 1 <= k <= n:
        raise ArgumentError(
            f"kthvalue: k must be 1 to {n} for dim {dim} of {describe(input)}, got {k}; pass at most {n}", op="kthvalue"
        )
    row = input if input.ndim else input.reshape(1)
    indices = topk(row.detach(), k, dim, largest=False).indices
    return _one("kthvalue", row, indices.narrow(dim, k - 1, 1), dim, keepdim and input.ndim > 0)


def from_ties(row: Tensor, value: Tensor) -> Tensor:
    """Return a value of a vector as a differentiable result; its gradient is divided evenly among equal elements."""
    if not row.dtype.is_float:
        return value
    ties = (row == value).logical_or((row != row).logical_and(value != value))
    # Elements that are not equal to the value become an infinity; for an infinite value, it is the opposite one.
    low, high = amin(where(ties, row, math.inf)), amax(where(ties, row, -math.inf))
    return where(value == -math.inf, low, high)


def _one(name: str, row: Tensor, position: Tensor, d: int, keepdim: bool) -> Any:
    """Return the named tuple of the values at one position of each row, and the positions."""
    values = gather(row, d, position)
    make = RESULTS[name]
    return make(values, position) if keepdim else make(values.squeeze(d), position.squeeze(d))


@composed()
def median(input: Tensor, dim: OneDim = None, keepdim: Flag = False) -> Any:
    """Return the median of all elements, or with `dim` the named tuple (values, indices) of the medians along `dim`.

    For an even number of elements, the median is the lower of the two middle elements.  If an element is nan, the
    result is nan.
    Gradient: with `dim`, g at the position of the value; without it, g is divided evenly among tied elements.
    Raises ShapeError if there are no elements.
    """
    if dim is None:
        row = input.reshape(-1)
        return from_ties(row, median(row.detach(), 0).values)
    n = input.shape[dim] if input.ndim else 1
    if n == 0:
        raise ShapeError(
            f"median: input must have an element along dim {dim}, got {describe(input)}; check that the dim is not "
            "empty",
            op="median",
        )
    row = input if input.ndim else input.reshape(1)
    indices = argsort(row, dim)
    index = indices.narrow(dim, (n - 1) // 2, 1)
    if input.dtype.is_float:  # nan is sorted last, so the last element shows whether there is a nan
        last = indices.narrow(dim, n - 1, 1)
        values = gather(row.detach(), dim, last)
        index = (values != values).where_cond(last, index)
    return _one("median", row, index, dim, keepdim and input.ndim > 0)
