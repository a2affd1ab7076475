"""Pooling to a given size: adaptive_avg_pool and adaptive_max_pool over 1, 2 and 3 dims.

Along a dim of n elements, window o of m windows is from floor(o n / m) to ceil((o + 1) n / m).  So windows may overlap,
and their lengths may differ by one.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from math import prod
from typing import Any

import numpy as np

from minigrad.core.conditions import Floating
from minigrad.declare.decorators import composed
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.errors import ShapeError
from minigrad.ops.creation import tensor
from minigrad.ops.indexing.gathering import gather, index_select
from minigrad.ops.nn.convolution import per_dim
from minigrad.ops.nn.pooling import avg_pooled, max_pooled
from minigrad.ops.nn.windows import weighted
from minigrad.ops.reduction.extremes import max as largest
from minigrad.ops.reduction.sums import mean, wide
from minigrad.ops.shape.views import expand, reshape
from minigrad.runtime.tensor import Tensor, describe

Ints = tuple[int, ...]


@composed(namespace=(MG, FUNCTIONAL))
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Return the mean of each of `output_size` windows along the last dim; see `adaptive_avg_pool2d`."""
    return adaptive_mean("adaptive_avg_pool1d", 1, input, output_size)


@composed()
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Return the mean of each window of images, with windows such that the result has a given size.

    If a dim of n elements has m windows, window o (from 0 to m - 1) contains the elements from index floor(o*n/m) up
    to, but without, ceil((o + 1)*n/m).
    output_size: the size of the result, one int for both dims or one per dim; with None, a dim keeps its size.
    Gradient: g divided by the number of elements of the window, added to each element of the window.
    """
    return adaptive_mean("adaptive_avg_pool2d", 2, input, output_size)


@composed()
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Return the mean of each of `output_size` windows of the last three dims; see `adaptive_avg_pool2d`."""
    return adaptive_mean("adaptive_avg_pool3d", 3, input, output_size)


@composed()
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return the largest element of each of `output_size` windows along the last dim; see `adaptive_max_pool2d`."""
    return adaptive_largest("adaptive_max_pool1d", 1, input, output_size, return_indices)


@composed()
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return the largest element of each window of images, with windows such that the result has a given size.

    output_size: as for `adaptive_avg_pool2d`, which has the same windows.
    return_indices: whether to return the row-major position of each element in its plane as well, in int64.
    Gradient: g at the first of the largest elements of each window.
    """
    return adaptive_largest("adaptive_max_pool2d", 2, input, output_size, return_indices)


@composed()
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return the largest element of each of `output_size` windows of the last three dims; see `adaptive_max_pool2d`."""
    return adaptive_largest("adaptive_max_pool3d", 3, input, output_size, return_indices)


def adaptive_mean(name: str, dims: int, x: Tensor, output_size: Any) -> Tensor:
    """Return the means of windows; windows of equal size use the op of `avg_pool`, and a single window uses `mean`."""
    sizes = adaptive_sizes(name, dims, x, output_size)
    image = x.shape[-dims:]
    if sizes == (1,) * dims:
        return mean(x, tuple(range(x.ndim - dims, x.ndim)), True)
    if all(m and n % m == 0 for n, m in zip(image, sizes, strict=True)):
        window = tuple(n // m for n, m in zip(image, sizes, strict=True))
        return avg_pooled(name, dims, x, window, None, 0, False, True, None)
    y, counts = wide(x), [np.ones(1)] * dims
    for d, (n, m) in enumerate(zip(image, sizes, strict=True)):
        if n != m:
            index, ones, counts[d] = sums_of(n, m)
            y = weighted(y, x.ndim - dims + d, index, ones)
    share = tensor(reduce(np.multiply.outer, counts), dtype=y.dtype, device=x.device)
    return (y / share).to(x.dtype)


@lru_cache(64)
def sums_of(n: int, m: int) -> tuple[Any, Any, Any]:
    """Return the tables of the sums over m windows of n elements: positions, weights, and the sizes of the windows."""
    first, counts = spans(n, m)
    terms = np.arange(counts.max(initial=1))[:, None]
    return np.where(terms < counts, first + terms, -1), np.ones((len(terms), m)), counts


def adaptive_largest(name: str, dims: int, x: Tensor, output_size: Any, return_indices: bool) -> Any:
    """Return the largest elements of windows, and their positions; windows of equal size use the op of `max_pool`."""
    sizes = adaptive_sizes(name, dims, x, output_size)
    image = x.shape[-dims:]
    if all(m and n % m == 0 for n, m in zip(image, sizes, strict=True)):
        window = tuple(n // m for n, m in zip(image, sizes, strict=True))
        return max_pooled(name, dims, x, window, None, 0, 1, False, return_indices)
    # Each window is read with the length of the longest window, by repeating its last element.  This does not change
    # which of the largest elements is the first.
    position: Any = np.zeros((1,) * (2 * dims), np.int64)
    for d, (n, m) in enumerate(zip(image, sizes, strict=True)):
        first, counts = spans(n, m)
        along = first[:, None] + np.minimum(np.arange(counts.max(initial=1)), counts[:, None] - 1)
        position = position * n + np.expand_dims(along, [k for k in range(2 * dims) if k % dims != d])
    front, taps = x.shape[:-dims], prod(position.shape[dims:])
    planes = reshape(x, (*front, prod(image)))
    table = tensor(position.reshape(-1), device=x.device)
    windows = reshape(index_select(planes, planes.ndim - 1, table), (*front, *sizes, taps))
    values, best = largest(windows, -1)
    if not return_indices:
        return values
    where = reshape(table, (*(1,) * len(front), *sizes, taps))
    indices = gather(expand(where, shape=windows.shape), windows.ndim - 1, best.unsqueeze(-1))
    return values, indices.squeeze(-1)


def adaptive_sizes(name: str, dims: int, x: Tensor, output_size: Any) -> Ints:
    """Return the spatial sizes of the result.

    Raises ShapeError, DTypeError or ArgumentError for arguments that do not fit.
    """
    wanted = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * dims
    if x.ndim not in (dims + 1, dims + 2) or 0 in x.shape[-dims:] or len(wanted) != dims:
        raise ShapeError(
            f"{name}: input must have {dims + 1} or {dims + 2} dims without an empty spatial dim, and output_size one "
            f"size or {dims} sizes, got {describe(x)} and output_size={describe(output_size)}; add dims with "
            "unsqueeze",
            op=name,
        )
    Floating.expect(name, input=x)
    return tuple(n if m is None else per_dim(name, "output_size", m, 1, 0)[0] for n, m in zip(x.shape[-dims:], wanted))


def spans(n: int, m: int) -> tuple[Any, Any]:
    """Return the first position and the length of each of m windows of n elements."""
    first = np.arange(m) * n // max(m, 1)
    return first, -(-np.arange(1, m + 1) * n // max(m, 1)) - first
