"""Sorting: orders of rows as positions, and the values gathered by them.

Always stable; nan counts as the greatest, the two zeros as equal.  A gradient goes back to where each value stood.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from minigrad.core import requests
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Dim, Flag
from minigrad.core.shape import as_int, normalize_dim
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import index_dtype, twice, values_and_places
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.indexing import gather_along, scatter_add_along, zeros_of
from minigrad.runtime.tensor import Tensor, describe, expect_tensors


def _first_shape(op: Op, x: Spec, *, dim: int, descending: bool, count: int | None) -> tuple[int, ...]:
    n = x.shape[dim]
    return x.shape if count is None else (*x.shape[:dim], min(count, n), *x.shape[dim + 1 :])


@kernel(dtype=index_dtype, shape=_first_shape, batch="along")
def argsort_along(backend, out, x, *, dim: Dim, descending: Flag = False, count=None):
    """Positions of the elements along `dim` in their order, or of the first `count` of them."""
    return backend.prepare(requests.Sort(dim, descending), out, x)


@kernel(
    dtype=values_and_places,
    shape=twice(_first_shape),
    outputs=("values", "indices"),
    vjp=(lambda g, indices, *, in_shape, dim: scatter_add_along(zeros_of(in_shape, g), indices, g, dim=dim),),
    jvp=lambda dx, indices, *, dim: (gather_along(dx, indices, dim=dim), None),
    batch="along",
)
def sort_along(backend, values, indices, x, *, dim: Dim, descending: Flag = False, count=None):
    """The elements along `dim` in their order and where they stood, or the first `count` of them."""
    return backend.prepare(requests.Ordered(dim, descending), (values, indices), x)


RESULTS: dict[str, Any] = {name: namedtuple(name, ("values", "indices")) for name in ("kthvalue", "median", "topk")}


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The elements along `dim` in order, and where they stood: (values, indices).

    Stable whether asked for or not; nan is the greatest.  Gradient: g to where each value stood.
    """
    expect_tensors("sort", input)
    return sort_along(input, dim=dim, descending=descending)


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Positions of the elements along `dim` in their order; stable, nan last."""
    expect_tensors("argsort", input)
    return argsort_along(input, dim=dim, descending=descending)


def msort(input: Tensor) -> Tensor:
    """The elements along the first dim in order."""
    values: Tensor = sort(input, 0).values
    return values


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) elements along `dim`, the best first, and where they stood: (values, indices).

    They come in order whether asked for or not; of equal ones the first positions; nan is the greatest.
    Raises ArgumentError for more than there are.
    """
    count = as_int(k, "k", "topk")
    expect_tensors("topk", input)
    d = normalize_dim(dim, max(input.ndim, 1), "topk", input)
    n = input.shape[d] if input.ndim else 1
    if not 0 <= count <= n:
        raise ArgumentError(f"topk: k must be 0 to {n} for dim {d} of {describe(input)}, got {count}", op="topk")
    return RESULTS["topk"](*sort_along(input, dim=d, descending=largest, count=count))


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element along `dim`, k from 1 on: (values, indices); nan is the greatest."""
    count = as_int(k, "k", "kthvalue")
    expect_tensors("kthvalue", input)
    d = normalize_dim(dim, max(input.ndim, 1), "kthvalue", input)
    n = input.shape[d] if input.ndim else 1
    if n == 0:
        raise ShapeError(f"kthvalue: {describe(input)} has no element along dim {d}", op="kthvalue")
    if not 1 <= count <= n:
        raise ArgumentError(
            f"kthvalue: k must be 1 to {n} for dim {d} of {describe(input)}, got {count}", op="kthvalue"
        )
    row, places = _places(input, d, count)
    return _one("kthvalue", row, places.narrow(d, count - 1, 1), d, keepdim and input.ndim > 0)


def _places(x: Tensor, d: int, count: int | None) -> tuple[Tensor, Tensor]:
    """x and the positions in its order; a scalar is a row of one."""
    row = x if x.ndim else x.reshape(1)
    return row, argsort_along(row, dim=d, count=count)


def _one(name: str, row: Tensor, place: Tensor, d: int, keepdim: bool) -> Any:
    """The values at one position of each row."""
    values = gather_along(row, place, dim=d)
    found = RESULTS[name]
    return found(values, place) if keepdim else found(values.squeeze(d), place.squeeze(d))


def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle element in order, of two the lower: of all, or (values, indices) along `dim`; nan if there is one.

    Gradient: g to where the value stood.  Raises ShapeError where there is no element.
    """
    expect_tensors("median", input)
    if dim is None:
        return median(input.reshape(-1), 0).values
    d = normalize_dim(dim, max(input.ndim, 1), "median", input)
    n = input.shape[d] if input.ndim else 1
    if n == 0:
        raise ShapeError(
            f"median: {describe(input)} has no element along dim {d}, and the middle of nothing is undefined",
            op="median",
        )
    row, places = _places(input, d, None)
    place = places.narrow(d, (n - 1) // 2, 1)
    if input.dtype.is_float:  # nan stands last
        last = places.narrow(d, n - 1, 1)
        values = gather_along(row.detach(), last, dim=d)
        place = (values != values).where_cond(last, place)
    return _one("median", row, place, d, keepdim and input.ndim > 0)
