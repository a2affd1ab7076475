"""Sort elements along a dim: the permutation that sorts each row, and the values in this order.

Sorting is always stable.  nan counts as the largest element, and 0.0 and -0.0 are equal.  The gradient of a value is
added at its position in the input.
"""

from __future__ import annotations

from typing import Any

from minigrad.core import requests
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Dim, Flag, Front, Int
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.rules import index_dtype, same_shape, twice, values_and_positions
from minigrad.errors import ArgumentError
from minigrad.ops.indexing.gathering import gather, scatter_add, zeros_of
from minigrad.runtime.tensor import Tensor


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
    return backend.prepare(requests.Sort(dim, descending), (values, indices), input)


@kernel(shape=twice(_k_first), **SORTED)
def topk(backend, values, indices, input: Tensor, k: Int, dim: Dim = -1, largest: Flag = True, sorted: Front = True):
    """Return the k largest or smallest elements along `dim`, and their positions, as (values, indices).

    If elements are tied, the first positions are selected.  nan counts as the largest element.

    largest: whether to return the largest elements, instead of the smallest.
    sorted: has no effect; the result is always sorted, with the largest (or smallest) element first.
    Gradient: g, added at the position of each value in the input.
    Raises ArgumentError if k exceeds the number of elements.
    """
    return backend.prepare(requests.Sort(dim, largest), (values, indices), input)


@composed()
def msort(input: Tensor) -> Tensor:
    """Return the elements sorted along the first dim."""
    values: Tensor = sort(input, 0).values
    return values
