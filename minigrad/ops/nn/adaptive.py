"""Pooling to a given size: adaptive pooling over 1, 2 and 3 dims, and fractional max pooling over 2 and 3.

Adaptive: along a dim of n elements, window o of m windows is from floor(o n / m) to ceil((o + 1) n / m).  So windows
may overlap, and their lengths may differ by one.  Fractional: the positions of the windows are random, so that the size
can shrink by any fraction.  Window i of m windows along a dim of n elements begins at floor((i + u) a) - floor(u a),
where a = (n - k) / (m - 1) for windows of length k.  The random number u, between 0 and 1, is drawn for each image,
channel and dim.  The last window ends at n.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from math import prod
from typing import Any

import numpy as np

from minigrad.core.conditions import Filled, Floating, Ndim
from minigrad.core.dtype import int64
from minigrad.declare.decorators import composed, public
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.variants import family
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.creation import arange, tensor
from minigrad.ops.indexing.gathering import gather, index_select
from minigrad.ops.nn.convolution import per_dim
from minigrad.ops.nn.pooling import avg_pooled, max_pooled
from minigrad.ops.nn.windows import weighted
from minigrad.ops.pointwise.blends import clamp
from minigrad.ops.random import rand
from minigrad.ops.reduction.extremes import max as largest
from minigrad.ops.reduction.sums import mean, wide
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import expand, reshape, select
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

# ---- adaptive pooling ------------------------------------------------------------------------------------------------


Ints = tuple[int, ...]


@composed(namespace=(MG, FUNCTIONAL))
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Return the mean of each of `output_size` windows along the last dim; see `adaptive_avg_pool2d`."""
    return adaptive_mean("adaptive_avg_pool1d", 1, input, output_size)


@family(
    composed(channels_last=True),
    adaptive_avg_pool3d="Return the mean of each of `output_size` windows of the last three dims",
)
def adaptive_avg_pool2d(input: Tensor, output_size: Any, *, name: str, dims: int) -> Tensor:
    """Return the mean of each window of images, with windows such that the result has a given size.

    If a dim of n elements has m windows, window o (from 0 to m - 1) contains the elements from index floor(o*n/m) up
    to, but without, ceil((o + 1)*n/m).
    output_size: the size of the result, one int for both dims or one per dim; with None, a dim keeps its size.
    Gradient: g divided by the number of elements of the window, added to each element of the window.
    """
    return adaptive_mean(name, dims, input, output_size)


@family(
    composed(channels_last=True),
    adaptive_max_pool1d="Return the largest element of each of `output_size` windows along the last dim",
    adaptive_max_pool3d="Return the largest element of each of `output_size` windows of the last three dims",
)
def adaptive_max_pool2d(
    input: Tensor, output_size: Any, return_indices: bool | None = False, *, name: str, dims: int
) -> Any:
    """Return the largest element of each window of images, with windows such that the result has a given size.

    output_size: as for `adaptive_avg_pool2d`, which has the same windows.
    return_indices: whether to return the row-major position of each element in its plane as well, in int64.
    Gradient: g at the first of the largest elements of each window.
    """
    sizes = adaptive_sizes(name, dims, input, output_size)
    Filled(input.ndim - 1, "inner dim").expect(name, input=input)
    image = input.shape[-dims:]
    if input.layout.numel and all(m and n % m == 0 for n, m in zip(image, sizes, strict=True)):
        window = tuple(n // m for n, m in zip(image, sizes, strict=True))
        return max_pooled(name, dims, input, window, None, 0, 1, False, return_indices)
    # Each window is read with the length of the longest window, by repeating its last element.  This does not change
    # which of the largest elements is the first.
    position: Any = np.zeros((1,) * (2 * dims), np.int64)
    for d, (n, m) in enumerate(zip(image, sizes, strict=True)):
        first, counts = spans(n, m)
        along = first[:, None] + np.minimum(np.arange(counts.max(initial=1)), counts[:, None] - 1)
        position = position * n + np.expand_dims(along, [k for k in range(2 * dims) if k % dims != d])
    front, taps = input.shape[:-dims], prod(position.shape[dims:])
    planes = reshape(input, (*front, prod(image)))
    table = tensor(position.reshape(-1), device=input.device)
    windows = reshape(index_select(planes, planes.ndim - 1, table), (*front, *sizes, taps))
    values, best = largest(windows, -1)
    if not return_indices:
        return values
    where = reshape(table, (*(1,) * len(front), *sizes, taps))
    indices = gather(expand(where, shape=windows.shape), windows.ndim - 1, best.unsqueeze(-1))
    return values, indices.squeeze(-1)


def adaptive_mean(name: str, dims: int, x: Tensor, output_size: Any) -> Tensor:
    """Return the means of windows; windows of equal size use the op of `avg_pool`, and a single window uses `mean`."""
    sizes = adaptive_sizes(name, dims, x, output_size)
    image = x.shape[-dims:]
    if sizes == (1,) * dims:
        return mean(x, tuple(range(x.ndim - dims, x.ndim)), True)
    if x.layout.numel and all(m and n % m == 0 for n, m in zip(image, sizes, strict=True)):
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


def adaptive_sizes(name: str, dims: int, x: Tensor, output_size: Any) -> Ints:
    """Return the spatial sizes of the result.

    Raises ShapeError, DTypeError or ArgumentError for arguments that do not fit.
    """
    wanted = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * dims
    if x.ndim not in (dims + 1, dims + 2) or 0 in x.shape[-dims:] or len(wanted) != dims:
        raise ShapeError(
            f"{name}: input must have {dims + 1} or {dims + 2} dims, without an empty pooled dim, and output_size "
            f"one size or {dims} sizes, got {describe(x)} and output_size={describe(output_size)}; add dims with "
            "unsqueeze"
        )
    Floating.expect(name, input=x)
    return tuple(n if m is None else per_dim(name, "output_size", m, 1, 0)[0] for n, m in zip(x.shape[-dims:], wanted))


def spans(n: int, m: int) -> tuple[Any, Any]:
    """Return the first position and the length of each of m windows of n elements."""
    first = np.arange(m) * n // max(m, 1)
    return first, -(-np.arange(1, m + 1) * n // max(m, 1)) - first


# ---- fractional max pooling ------------------------------------------------------------------------------------------

# The index of the random sample for each dim; for images the first sample belongs to the width.
AXES = {2: (1, 0), 3: (0, 1, 2)}


@family(public(), fractional_max_pool3d="Return the largest element of each of `output_size` random windows of volumes")
def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None, *, name: str, dims: int,
) -> Any:  # fmt: skip
    """Return the largest element of each of `output_size` windows of images, at random positions.

    input: Images (N, C, H, W), or one image (C, H, W).
    kernel_size: Size of a window.
    output_size: Size of the result.
    output_ratio: Size of the result as a fraction of that of the images, between 0 and 1; an alternative to
    `output_size`.
    return_indices: Whether to return the row-major position of each element in its plane as well, as `max_pool2d` does.
    _random_samples: Random numbers (N, C, 2) between 0 and 1 that replace those of the default generator.

    Returns (Tensor or tuple of Tensor): The largest elements (..., m_h, m_w), and with `return_indices` their int64
    positions in the same shape.

    Raises ArgumentError if neither or both of `output_size` and `output_ratio` are given, or if a ratio is not between
    0 and 1.
    Raises ShapeError if shapes do not fit, or windows do not fit into an image.

    Source: Graham, Fractional max-pooling, 2014.

    >>> x = mg.arange(25.0).reshape(1, 5, 5)
    >>> mg.nn.functional.fractional_max_pool2d(x, 2, output_size=3, _random_samples=mg.zeros(1, 1, 2)).tolist()
    [[[6.0, 7.0, 9.0], [11.0, 12.0, 14.0], [21.0, 22.0, 24.0]]]
    """
    expect_tensors(name, input)
    Ndim(dims + 1, dims + 2).expect(name, input=input)
    Floating.expect(name, input=input)
    Filled(input.ndim - 1, "inner dim").expect(name, input=input)
    image, front = input.shape[-dims:], input.shape[:-dims]
    taps, sizes = (
        per_dim(name, "kernel_size", kernel_size, dims, 1, repeated=False),
        sizes_of(name, dims, image, output_size, output_ratio),
    )
    if any(m + k - 1 > n for n, m, k in zip(image, sizes, taps, strict=True)):
        raise ShapeError(
            f"{name}: {sizes} windows of kernel_size {taps} must fit into the input, got {describe(input)}; reduce "
            "output_size or kernel_size"
        )
    planes, channels = prod(front), (1, *front)[-2:]
    if _random_samples is None:
        _random_samples = rand(*channels, dims, dtype=input.dtype, device=input.device)
    elif isinstance(_random_samples, Tensor) and _random_samples.ndim == 3:
        _random_samples = _random_samples[: channels[0]]  # further samples are not used, as in PyTorch
    expect_samples(name, input, _random_samples, (*channels, dims))
    index: Any = 0
    for d, (n, m, k) in enumerate(zip(image, sizes, taps, strict=True)):
        along = positions(reshape(select(_random_samples, -1, AXES[dims][d]), (planes,)), n, m, k)
        shape = [planes, *(m if j == d else 1 for j in range(dims)), *(k if j == d else 1 for j in range(dims))]
        index = index * n + reshape(along, tuple(shape))
    index = reshape(index, (planes, prod(sizes), prod(taps)))
    windows = gather(reshape(input, (planes, prod(image))), 1, reshape(index, (planes, prod(sizes) * prod(taps))))
    values, best = largest(reshape(windows, index.shape), -1)
    if not return_indices:
        return reshape(values, (*front, *sizes))
    where = gather(index, 2, best.unsqueeze(-1))
    return reshape(values, (*front, *sizes)), reshape(where, (*front, *sizes))


def positions(u: Tensor, n: int, m: int, k: int) -> Tensor:
    """Return the positions of all elements of m windows of length k along n elements, for each sample u."""
    planes = u.numel()
    last = expand(arange(n - k, n - k + 1, device=u.device), shape=(planes, 1))
    starts = last
    if m > 1:
        u, step = reshape(u, (planes, 1)), (n - k) / (m - 1)
        before = cast((arange(m - 1, dtype=u.dtype, device=u.device) + u) * step, dtype=int64)
        starts = cat([clamp(before - cast(u * step, dtype=int64), max=n - k), last], 1)
    return reshape(starts if m else starts[:, :0], (planes, m, 1)) + arange(k, device=u.device)


def sizes_of(name: str, dims: int, image: tuple[int, ...], size: Any, ratio: Any) -> tuple[int, ...]:
    """Return the size of the result.  Raises ArgumentError unless exactly one of `size` and `ratio` is given."""
    if (size is None) == (ratio is None):
        got = "neither" if size is None else "both"
        raise ArgumentError(
            f"{name}: exactly one of output_size and output_ratio is required, got {got}; pass one of them"
        )
    if size is not None:
        return per_dim(name, "output_size", size, dims, 0, repeated=False)
    ratios = tuple(ratio) if isinstance(ratio, (tuple, list)) else (ratio,) * dims
    if len(ratios) != dims or not all(0 < r < 1 for r in ratios):
        raise ArgumentError(
            f"{name}: output_ratio must be {dims} floats between 0 and 1, got {ratio!r}; pass output_ratio=0.5, for "
            "example"
        )
    return tuple([max(int(n * r), 0) for n, r in zip(image, ratios, strict=True)])


def expect_samples(name: str, x: Tensor, samples: Any, shape: tuple[int, ...]) -> None:
    """Raise ShapeError unless the samples have the dtype of x and the given shape."""
    if not isinstance(samples, Tensor) or samples.shape != shape or samples.dtype is not x.dtype:
        raise ShapeError(
            f"{name}: _random_samples must be {x.dtype}{shape} for {describe(x)}, got {describe(samples)}; pass "
            f"mg.rand({shape}, dtype=mg.{x.dtype}), for example"
        )
