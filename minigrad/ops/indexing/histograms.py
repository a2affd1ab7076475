"""The ops `histogram` and `histogramdd`: the number of elements or points in each bin, or the sum of their weights.

A bin contains its left edge and not its right edge; the last bin contains both.  Elements outside all bins and nan are
ignored.  These ops are not differentiable.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, prod
from typing import Annotated, Any

import numpy as np

from minigrad.core.conditions import Ndim
from minigrad.core.roles import Flag
from minigrad.declare.decorators import composed
from minigrad.declare.record import results_of
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.ops.creation import ones, tensor, zeros
from minigrad.ops.indexing.gathering import scatter_add
from minigrad.ops.indexing.sorting import searchsorted
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.integrals import diff
from minigrad.ops.reduction.sums import amax, amin, sum
from minigrad.ops.shape.views import reshape, select
from minigrad.runtime.tensor import Tensor, describe

RESULTS: dict[str, Any] = {name: results_of(name, ("hist", "bin_edges")) for name in ("histogram", "histogramdd")}


@composed()
def histogram(
    input: Tensor, bins: int | Tensor, *, range: Sequence[float] | None = None, weight: Tensor | None = None,
    density: Flag = False,
) -> Any:  # fmt: skip
    """Count the elements in each bin, or sum their weights, and return (hist, bin_edges) in the dtype of the input.

    Parameters
    ----------
    bins : int or Tensor
        Number of bins of equal width from range[0] to range[1], or a vector of ascending edges.
    range : sequence of float, optional
        Ends of the range; by default the smallest and the largest element. If these are equal, the range extends by 0.5
        to both sides.
    weight : Tensor, optional
        Weight of each element, in the shape of the input; by default every element counts as 1.
    density : bool, default False
        Whether to divide each bin by the sum of all bins and by its width, so that the integral is 1.

    Raises
    ------
    DTypeError
        If the input is not a float tensor, or if the weight or the edges have another dtype.
    ArgumentError
        If there are no bins, or if the range is not finite or not ascending.
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
            "convert them with .to(dtype)",
            op=name,
        )
    if len(bins) != dims or (weight is not None and weight.shape != (n,)):
        raise ShapeError(
            f"{name}: bins must have one entry for each of the {dims} dims, and weight one value per point, got "
            f"bins={bins}; pass bins=10, for example",
            op=name,
        )
    if limits is not None and (len(limits) != 2 * dims or any(isinstance(each, Tensor) for each in bins)):
        raise ArgumentError(
            f"{name}: range must be {2 * dims} numbers, and bins must be counts, got range={limits}; pass counts as "
            "bins, and a start and an end per dim",
            op=name,
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
                "mg.linspace(0, 1, 11), for example",
                op=name,
            )
        return bins.detach()
    low, high = (0.0, 1.0) if limits is None else (float(limits[0]), float(limits[1]))
    if limits is None and x.numel():
        low, high = float(amin(x).item()), float(amax(x).item())
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    if not isinstance(bins, int) or bins < 1 or not low < high or not isfinite(high - low):
        raise ArgumentError(
            f"{name}: expected bins > 0 and a finite range with low < high, got {bins}, {low}, {high}; pass bins=10, "
            "for example",
            op=name,
        )
    return tensor(np.linspace(low, high, bins + 1), dtype=x.dtype, device=x.device)
