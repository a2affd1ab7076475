"""unique: equal elements once, by sorting them and comparing neighbours.

Slices along a dim are told apart by ranks: each column of a matrix of slices is ranked, then pairs of columns as one,
and so on, until one rank stands for a whole slice; its order is lexicographic.  How many elements differ depends on
their values, so no transform passes it.
"""

from __future__ import annotations

from math import prod
from typing import Any

from minigrad.core.dtype import bool_, int64
from minigrad.core.requests import Select
from minigrad.core.roles import Dim, Flag, OneDim
from minigrad.declare.decorators import composed, kernel
from minigrad.errors import ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.creation import full, zeros
from minigrad.ops.indexing.gathering import index_copy, index_select, scatter_add, zeros_of
from minigrad.ops.indexing.masks import positions_of
from minigrad.ops.indexing.sorting import sort
from minigrad.ops.pointwise.compare import ne
from minigrad.ops.reduction.scan import cumsum
from minigrad.ops.reduction.sums import any as any_of
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.rearranging import movedim
from minigrad.ops.shape.views import narrow, reshape
from minigrad.runtime.tensor import Tensor, describe


@kernel(
    dtype=lambda op, specs, *, dim: specs[0].dtype,
    shape=lambda op, input, index, *, dim: (*input.shape[:dim], *index.shape, *input.shape[dim + 1 :]),
    name="unique",
    namespace=(),
)
def distinct(backend, out, input: Tensor, dim: Dim, index: Tensor):
    """The slices of input that `index` names: `index_select` without a derivative."""
    return backend.prepare(Select(dim), out, input, index)


@composed(of=distinct, out=False)
def unique(input: Tensor, sorted: Flag = True, return_inverse: Flag = False, return_counts: Flag = False,
           dim: OneDim = None) -> Any:  # fmt: skip
    """Return the elements of input, or its slices along `dim`, once each and in order; nan equals nothing.

    With flags also, as int64, where each element is in the output, and how often.  Not differentiable.
    """
    x, dim, first, *others = grouped(input, dim)
    results = [distinct(x, dim, first), *[y for y, flag in zip(others, (return_inverse, return_counts)) if flag]]
    return tuple(results) if len(results) > 1 else results[0]


@composed(out=False)
def unique_consecutive(
    input: Tensor, return_inverse: Flag = False, return_counts: Flag = False, dim: OneDim = None
) -> Any:
    """Return the elements of input, or its slices along `dim`, without those that equal the one before.

    With flags also, as int64, which of the output each element is, and how many each stands for.
    """
    shape = input.shape if dim is None else (input.shape[dim] if input.ndim else 1,)
    x = reshape(input, (input.numel(),)) if dim is None or not input.ndim else input
    d, n = dim or 0, x.shape[dim or 0]
    slices = reshape(movedim(x.detach(), d, 0), (n, x.numel() // max(n, 1)))
    new = any_of(differences(slices), 1) if n else zeros(0, dtype=bool_, device=x.device)
    first = positions_of(cat([full((min(n, 1),), True, device=x.device), narrow(new, 0, min(n, 1), max(n - 1, 0))]))
    after = cat([narrow(first, 0, min(n, 1), max(first.shape[0] - 1, 0)), full((min(n, 1),), n, device=x.device)])
    inverse = reshape(cumsum(cast(new, dtype=int64), 0), shape)
    others = [y for y, flag in ((inverse, return_inverse), (after - first, return_counts)) if flag]
    return (distinct(x, d, first), *others) if others else distinct(x, d, first)


def grouped(x: Tensor, dim: int | None) -> tuple[Tensor, int, Tensor, Tensor, Tensor]:
    """Return the tensor and the dim to select along, where each distinct slice is first, the inverse, and counts."""
    shape = x.shape if dim is None else (x.shape[dim] if x.ndim else 1,)
    x = reshape(x, (x.numel(),)) if dim is None or not x.ndim else x
    dim = dim or 0
    first, inverse, counts = groups(slice_keys(x, dim))
    return x, dim, first, reshape(inverse, shape), counts


def slice_keys(x: Tensor, dim: int) -> Tensor:
    """Return one key per slice along a dim, in their lexicographic order."""
    n, others = x.shape[dim], prod(x.shape[:dim] + x.shape[dim + 1 :])
    if not others:
        raise ShapeError(
            f"unique: {describe(x)} has slices without elements along dim {dim}; choose another dim", op="unique"
        )
    key = reshape(movedim(x.detach(), dim, 0), (n, others))
    while key.shape[1] > 1:
        ranks = column_ranks(key)
        even = ranks.shape[1] // 2 * 2
        key = cat([ranks[:, 0:even:2] * n + ranks[:, 1:even:2], ranks[:, even:]], 1)
    return reshape(key, (n,))


def column_ranks(x: Tensor) -> Tensor:
    """Return how many distinct elements are before each one in the order of its column."""
    values, order = sort(x, 0)
    ranks = cumsum(cast(differences(values), dtype=int64), 0)
    return scatter_add(zeros_of(x.shape, ranks), 0, order, ranks)


def differences(x: Tensor) -> Tensor:
    """Return whether each element differs from the one before it along the first dim; the first does not."""
    n = x.shape[0]
    if not n:
        return zeros(x.shape, dtype=bool_, device=x.device)
    first = zeros(1, *x.shape[1:], dtype=bool_, device=x.device)
    return cat([first, ne(narrow(x, 0, 1, n - 1), narrow(x, 0, 0, n - 1))], 0)


def groups(key: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return where each distinct element of a vector is first, which of these each element equals, and how many do."""
    n = key.shape[0]
    if not n:
        nothing = zeros(0, dtype=int64, device=key.device)
        return nothing, nothing, nothing
    values, order = sort(key, 0)
    ends = differences(values)
    starts = cat([zeros(1, dtype=int64, device=key.device), positions_of(ends)], 0)
    after = cat([narrow(starts, 0, 1, starts.shape[0] - 1), full((1,), n, dtype=int64, device=key.device)], 0)
    inverse = index_copy(zeros_of((n,), order), 0, order, cumsum(cast(ends, dtype=int64), 0))
    return index_select(order, 0, starts), inverse, after - starts
