"""Equal elements and bins: the ops `unique`, `unique_consecutive`, `histogram` and `histogramdd`.

Slices along a dim are compared by ranks.  First each column of the matrix of slices is ranked, then pairs of columns,
and so on, until one rank stands for a whole slice.  The order of these ranks is lexicographic.  The number of distinct
elements depends on their values, so these ops cannot be used inside a transform.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, prod
from typing import Annotated, Any

import numpy as np

from minigrad.backends.lowering.functions import DIFFERENT
from minigrad.core.conditions import Ndim
from minigrad.core.dtype import bool_, int64
from minigrad.core.layout import along
from minigrad.core.op import Spec
from minigrad.core.requests import Gather, Tally
from minigrad.core.roles import Dim, Flag, OneDim, Size
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.record import results_of
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.creation import full, ones, tensor, zeros
from minigrad.ops.indexing.gathering import index_copy, index_select, scatter_add, zeros_of
from minigrad.ops.indexing.masks import parts_of, positions_of, select_where, total_of
from minigrad.ops.indexing.sorting import searchsorted, sort
from minigrad.ops.pointwise.compare import ne, where
from minigrad.ops.reduction.scan import cumsum, diff
from minigrad.ops.reduction.sums import amax, amin, sum
from minigrad.ops.reduction.sums import any as any_of
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.parts import view_as_real
from minigrad.ops.shape.rearranging import movedim
from minigrad.ops.shape.views import expand, narrow, reshape, select
from minigrad.runtime.dispatch import number
from minigrad.runtime.operands import are_plain
from minigrad.runtime.tensor import Tensor, describe

# ---- distinct elements and runs --------------------------------------------------------------------------------------


@kernel(
    dtype=lambda op, specs, *, dim: specs[0].dtype,
    shape=lambda op, input, index, *, dim: (*input.shape[:dim], *index.shape, *input.shape[dim + 1 :]),
    name="unique",
    namespace=(),
    complex=True,
)
def distinct(backend, out, input: Tensor, dim: Dim, index: Tensor):
    """Return the slices of input at the positions in `index`, as `index_select`.  Not differentiable."""
    return backend.prepare(Gather(dim), out, input, Spec(along(index.layout, out.shape, dim), index.dtype))


@kernel(
    dtype=lambda op, specs, *, parts: (bool_, int64), shape=lambda op, input, *, parts: (input.shape, (parts + 1,)),
    outputs=("mask", "starts"), namespace=(), label="unique",
)  # fmt: skip
def runs(steps, mask, starts, input: Tensor, *, parts: Size):
    """Return whether each element of a vector differs from the element before it, and the tally of this mask."""
    (x,) = steps.operands
    n = x.shape[0]
    if n:
        steps.fill(mask.at(0, 0), True)
        steps.each(DIFFERENT, mask.at(0, 1, n - 1), x.at(0, 1, n - 1), x.at(0, 0, n - 1), compute=x.dtype.compute)
    steps.ask(Tally(parts), starts, mask)


@kernel(
    dtype=lambda op, specs, *, count: specs[0].dtype, shape=lambda op, input, mask, starts, *, count: (count,),
    namespace=(), label="unique",
)  # fmt: skip
def run_values(steps, out, input: Tensor, mask: Tensor, starts: Tensor, *, count: Size):
    """Return the elements of a vector where a mask is True; `starts` is its tally.  Not differentiable."""
    return select_where(steps, 0)


@composed(of=distinct, out=False)
def unique(input: Tensor, sorted: Flag = True, return_inverse: Flag = False, return_counts: Flag = False,
           dim: OneDim = None) -> Any:  # fmt: skip
    """Return the distinct elements of the input, or its distinct slices along `dim`, in ascending order.

    nan is not equal to any element, so each nan is distinct.  Complex numbers are ordered by their real parts, and by
    their imaginary parts if these are equal.
    sorted: has no effect; the result is always sorted.
    return_inverse: whether to return, for each element, its position in the result (int64).
    return_counts: whether to return the number of occurrences of each element of the result (int64).
    Not differentiable.
    """
    shape = input.shape if dim is None else (input.shape[dim] if input.ndim else 1,)
    x = reshape(input, (input.numel(),)) if (dim is None and input.ndim > 1) or not input.ndim else input
    if x.ndim == 1 and not (return_inverse or return_counts or x.dtype.is_complex) and are_plain(x):
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
            f"unique: the slices along dim {dim} must have elements, got {describe(x)}; choose another dim"
        )
    key = reshape(movedim(x.detach(), dim, 0), (n, others))
    key = reshape(view_as_real(key), (n, 2 * others)) if key.dtype.is_complex else key
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


# ---- bins; elements outside all bins and nan are ignored -------------------------------------------------------------


RESULTS: dict[str, Any] = {name: results_of(name, ("hist", "bin_edges")) for name in ("histogram", "histogramdd")}


@composed()
def histogram(
    input: Tensor, bins: int | Tensor = 100, *, range: Sequence[float] | None = None, weight: Tensor | None = None,
    density: Flag = False,
) -> Any:  # fmt: skip
    """Count the elements in each bin, or sum their weights, and return (hist, bin_edges) in the dtype of the input.

    bins: Number of bins of equal width from range[0] to range[1], by default 100, or a vector of ascending edges.
    range: Ends of the range; by default the smallest and the largest element. If these are equal, the range extends by
    0.5 to both sides.
    weight: Weight of each element, in the shape of the input; by default every element counts as 1.
    density: Whether to divide each bin by the sum of all bins and by its width, so that the integral is 1.

    Raises DTypeError if the input is not a float tensor, or if the weight or the edges have another dtype.
    Raises ArgumentError if there are no bins, or if the range is not finite or not ascending.
    """
    points = reshape(input, (input.numel(), 1))
    weights = weight if weight is None or weight.shape != input.shape else reshape(weight, (-1,))
    hist, edges = counted("histogram", points, [bins], range, weights, density)
    return RESULTS["histogram"](hist, edges[0])


@composed(method=False, out=False)
def histogramdd(
    input: Annotated[Tensor, Ndim(least=2, layout="(..., D)")], bins: Any, range: Sequence[float] | None = None,
    weight: Tensor | None = None, density: Flag = False,
) -> Any:  # fmt: skip
    """Count points in D-dimensional bins, or sum the weights of the points, and return (hist, bin_edges).

    `hist` has D dims, and `bin_edges` is a tuple of D vectors.  The dtypes are those of `histogram`.
    input: the points, of shape (..., D).
    bins: one int for all dims, a sequence of one int per dim, or a sequence of one vector of ascending edges per dim.
    range: a sequence of 2 * D numbers, the two ends of the range of each dim.
    weight: the weight of each point, of shape (...).
    density: see `histogram`.
    Raises the errors of `histogram`, and ShapeError if the input has fewer than 2 dims, or if `bins` or `weight` does
    not match the points.
    """
    dims = input.shape[-1]
    several = list(bins) if isinstance(bins, (list, tuple)) else [bins] * dims
    points = reshape(input, (prod(input.shape[:-1]), dims))
    weights = weight if weight is None or weight.shape != input.shape[:-1] else reshape(weight, (-1,))
    return RESULTS["histogramdd"](*counted("histogramdd", points, several, range, weights, density))


def counted(
    name: str, points: Tensor, bins: list[Any], limits: Any, weight: Tensor | None, density: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the histogram of points (n, D), the counts or the sums of the weights, and the edges of each dim."""
    n, dims = points.shape
    points = points.detach()
    if not points.dtype.is_float or any(isinstance(x, Tensor) and x.dtype is not points.dtype for x in (*bins, weight)):
        raise DTypeError(
            f"{name}: the points, the bin edges and weight must have the same floating dtype, got {describe(points)}; "
            "convert them with .to(dtype)"
        )
    if len(bins) != dims or (weight is not None and weight.shape != (n,)):
        raise ShapeError(
            f"{name}: bins must have one entry for each of the {dims} dims, and weight one value per point, got "
            f"bins={bins}; pass bins=10, for example"
        )
    if limits is not None and (len(limits) != 2 * dims or any(isinstance(each, Tensor) for each in bins)):
        raise ArgumentError(
            f"{name}: range must be {2 * dims} numbers, and bins must be counts, got range={limits}; pass counts as "
            "bins, and a start and an end per dim"
        )
    edges: list[Tensor] = []
    position, inside = zeros(n, dtype="int64", device=points.device), ones(n, dtype="bool", device=points.device)
    for d, each in enumerate(bins):
        x = select(points, 1, d)
        edge = edges_of(name, x, each, None if limits is None else limits[2 * d : 2 * d + 2])
        count = edge.shape[0] - 1
        inside = inside & (x >= edge[0]) & (x <= edge[-1])
        position = position * count + (searchsorted(edge, x, right=True) - 1).clamp(0, count - 1)
        edges.append(edge)
    shape = tuple(edge.shape[0] - 1 for edge in edges)
    share = ones(n, dtype=points.dtype, device=points.device) if weight is None else weight.detach()
    start = zeros(prod(shape), dtype=points.dtype, device=points.device)
    hist = reshape(scatter_add(start, 0, position, where(inside, share, 0.0)), shape)
    if density:
        hist = hist / sum(hist)
        for d, edge in enumerate(edges):
            hist = hist / reshape(diff(edge), (-1, *(1,) * (dims - d - 1)))
    return hist, tuple(edges)


def edges_of(name: str, x: Tensor, bins: Any, limits: Any) -> Tensor:
    """Return the edges of the bins of one dim, from a number of bins or a vector of edges."""
    if isinstance(bins, Tensor):
        if bins.ndim != 1 or bins.shape[0] < 2:
            raise ArgumentError(
                f"{name}: bins must be a count, or a vector of at least two edges, got {describe(bins)}; pass "
                "mg.linspace(0, 1, 11), for example"
            )
        return bins.detach()
    low, high = (0.0, 1.0) if limits is None else (float(limits[0]), float(limits[1]))
    if limits is None and x.numel():
        low, high = float(amin(x).item()), float(amax(x).item())
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    if not isinstance(bins, int) or bins < 1 or not low < high or not isfinite(high - low):
        raise ArgumentError(
            f"{name}: expected bins > 0 and a finite range with low < high, got {bins}, {low}, {high}; pass bins=10, "
            "for example"
        )
    return tensor(np.linspace(low, high, bins + 1), dtype=x.dtype, device=x.device)
