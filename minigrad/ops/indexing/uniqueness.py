"""The ops `unique` and `unique_consecutive`, which sort elements and compare neighbours.

Slices along a dim are compared by ranks.  First each column of the matrix of slices is ranked, then pairs of columns,
and so on, until one rank stands for a whole slice.  The order of these ranks is lexicographic.  The number of distinct
elements depends on their values, so these ops cannot be used inside a transform.
"""

from __future__ import annotations

from math import prod
from typing import Any

from minigrad.backends.lowering.functions import DIFFERENT
from minigrad.backends.steps import Steps
from minigrad.core.dtype import bool_, int64
from minigrad.core.requests import Select, Tally
from minigrad.core.roles import Dim, Flag, OneDim, Size
from minigrad.declare.decorators import composed, kernel
from minigrad.errors import ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.creation import full, zeros
from minigrad.ops.indexing.gathering import index_copy, index_select, scatter_add, zeros_of
from minigrad.ops.indexing.masks import parts_of, positions_of, select_where, total_of
from minigrad.ops.indexing.sorting import sort
from minigrad.ops.pointwise.compare import ne
from minigrad.ops.reduction.integrals import diff
from minigrad.ops.reduction.scan import cumsum
from minigrad.ops.reduction.sums import any as any_of
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.rearranging import movedim
from minigrad.ops.shape.views import expand, narrow, reshape
from minigrad.runtime.dispatch import number
from minigrad.runtime.operands import are_plain
from minigrad.runtime.tensor import Tensor, describe


@kernel(
    dtype=lambda op, specs, *, dim: specs[0].dtype,
    shape=lambda op, input, index, *, dim: (*input.shape[:dim], *index.shape, *input.shape[dim + 1 :]),
    name="unique",
    namespace=(),
)
def distinct(backend, out, input: Tensor, dim: Dim, index: Tensor):
    """Return the slices of input at the positions in `index`, as `index_select`.  Not differentiable."""
    return backend.prepare(Select(dim), out, input, index)


@kernel(
    dtype=lambda op, specs, *, parts: (bool_, int64), shape=lambda op, input, *, parts: (input.shape, (parts + 1,)),
    outputs=("mask", "starts"), namespace=(), label="unique",
)  # fmt: skip
def runs(backend, mask, starts, input: Tensor, *, parts: Size):
    """Return whether each element of a vector differs from the element before it, and the tally of this mask."""
    steps = Steps(backend, (mask, starts), (input,))
    (new, counts), (x,) = steps.outs, steps.operands
    n = x.shape[0]
    if n:
        steps.fill(new.at(0, 0), True)
        steps.each(DIFFERENT, new.at(0, 1, n - 1), x.at(0, 1, n - 1), x.at(0, 0, n - 1), compute=x.dtype.compute)
    steps.ask(Tally(parts), counts, new)
    return steps.launch


@kernel(
    dtype=lambda op, specs, *, count: specs[0].dtype, shape=lambda op, input, mask, starts, *, count: (count,),
    namespace=(), label="unique",
)  # fmt: skip
def run_values(backend, out, input: Tensor, mask: Tensor, starts: Tensor, *, count: Size):
    """Return the elements of a vector where a mask is True; `starts` is its tally.  Not differentiable."""
    return select_where(Steps(backend, (out,), (input, mask, starts)), 0)


@composed(of=distinct, out=False)
def unique(input: Tensor, sorted: Flag = True, return_inverse: Flag = False, return_counts: Flag = False,
           dim: OneDim = None) -> Any:  # fmt: skip
    """Return the distinct elements of the input, or its distinct slices along `dim`, in ascending order.

    nan is not equal to any element, so each nan is distinct.
    sorted: has no effect; the result is always sorted.
    return_inverse: whether to return, for each element, its position in the result (int64).
    return_counts: whether to return the number of occurrences of each element of the result (int64).
    Not differentiable.
    """
    shape = input.shape if dim is None else (input.shape[dim] if input.ndim else 1,)
    x = reshape(input, (input.numel(),)) if (dim is None and input.ndim > 1) or not input.ndim else input
    if x.ndim == 1 and not return_inverse and not return_counts and are_plain(x):
        values = sort(x, 0).values
        mask, starts = runs(values, parts=parts_of(values))
        return run_values(values, mask, starts, count=total_of(starts))
    first, inverse, starts = groups(slice_keys(x, dim or 0), return_inverse)
    results = [distinct(x, dim or 0, first)]
    if inverse is not None:
        results.append(reshape(inverse, shape))
    if return_counts:
        results.append(lengths(starts, x.shape[dim or 0]))
    return tuple(results) if len(results) > 1 else results[0]


@composed(out=False)
def unique_consecutive(
    input: Tensor, return_inverse: Flag = False, return_counts: Flag = False, dim: OneDim = None
) -> Any:
    """Return the elements of the input, or its slices along `dim`, and drop each that equals its predecessor.

    Without `dim`, the input is flattened first.  nan is not equal to any element.
    return_inverse: whether to return, for each element, its position in the result (int64).
    return_counts: whether to return the number of equal neighbours that each element of the result replaces (int64).
    Not differentiable.
    """
    shape = input.shape if dim is None else (input.shape[dim] if input.ndim else 1,)
    x = reshape(input, (input.numel(),)) if dim is None or not input.ndim else input
    d, n = dim or 0, x.shape[dim or 0]
    slices = reshape(movedim(x.detach(), d, 0), (n, -1) if x.numel() > n else (n,))
    new = differences(slices, True)
    new = any_of(new, 1) if new.ndim > 1 else new
    first = positions_of(new)
    results = [distinct(x, d, first)]
    if return_inverse:
        results.append(reshape(cumsum(cast(new, dtype=int64), 0) - 1, shape))
    if return_counts:
        results.append(lengths(first, n))
    return tuple(results) if len(results) > 1 else results[0]


def slice_keys(x: Tensor, dim: int) -> Tensor:
    """Return one key per slice along a dim, with the lexicographic order of the slices."""
    n, others = x.shape[dim], prod(x.shape[:dim] + x.shape[dim + 1 :])
    if not others:
        raise ShapeError(
            f"unique: the slices along dim {dim} must have elements, got {describe(x)}; choose another dim", op="unique"
        )
    key = reshape(movedim(x.detach(), dim, 0), (n, others))
    while key.shape[1] > 1:
        ranks = column_ranks(key)
        even = ranks.shape[1] // 2 * 2
        key = cat([ranks[:, 0:even:2] * n + ranks[:, 1:even:2], ranks[:, even:]], 1)
    return reshape(key, (n,))


def column_ranks(x: Tensor) -> Tensor:
    """Return the rank of each element among the distinct elements of its column, counted from 0."""
    values, order = sort(x, 0)
    ranks = cumsum(cast(differences(values, False), dtype=int64), 0)
    return scatter_add(zeros_of(x.shape, ranks), 0, order, ranks)


def differences(x: Tensor, first: bool) -> Tensor:
    """Return whether each element differs from the element before it along the first dim; `first` for the first."""
    n = x.shape[0]
    if not n:
        return zeros(x.shape, dtype=bool_, device=x.device)
    known = expand(number(first, bool_, x.device), shape=(1, *x.shape[1:]))
    return cat([known, ne(narrow(x, 0, 1, n - 1), narrow(x, 0, 0, n - 1))], 0)


def lengths(starts: Tensor, n: int) -> Tensor:
    """Return the length of each group from its start to the next start, or to the end of n elements."""
    return diff(starts, append=full((min(n, 1),), n, dtype=int64, device=starts.device))


def groups(key: Tensor, inverted: bool) -> tuple[Tensor, Tensor | None, Tensor]:
    """Return the positions of the distinct elements of a vector, and how they relate to all elements.

    The results are the position of each distinct element's first occurrence; with `inverted`, the index of the distinct
    element that each element equals, otherwise None; and the start of each distinct element in the sorted order.
    """
    n = key.shape[0]
    values, order = sort(key, 0)
    new = differences(values, True)
    starts, inverse = positions_of(new), None
    if inverted:
        inverse = index_copy(zeros_of((n,), order), 0, order, cumsum(cast(new, dtype=int64), 0) - 1)
    return index_select(order, 0, starts), inverse, starts
