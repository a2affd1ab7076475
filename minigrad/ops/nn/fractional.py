"""Fractional max pooling: the positions of the windows are random, so that the size can shrink by any fraction.

Window i of m windows along a dim of n elements begins at floor((i + u) a) - floor(u a), where a = (n - k) / (m - 1) for
windows of length k.  The random number u, between 0 and 1, is drawn for each image, channel and dim.  The last window
ends at n.
"""

from __future__ import annotations

from math import prod
from typing import Any

from minigrad.core.conditions import Floating, Ndim
from minigrad.core.dtype import int64
from minigrad.declare.decorators import public
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.creation import arange
from minigrad.ops.indexing.gathering import gather
from minigrad.ops.nn.convolution import per_dim
from minigrad.ops.pointwise.clamping import clamp
from minigrad.ops.random import rand
from minigrad.ops.reduction.extremes import max as largest
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import expand, reshape, select
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

# The index of the random sample for each dim; for images the first sample belongs to the width.
AXES = {2: (1, 0), 3: (0, 1, 2)}


@public()
def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Return the largest element of each of `output_size` windows of images, at random positions.

    Parameters
    ----------
    input : Tensor
        Images (N, C, H, W), or one image (C, H, W).
    kernel_size : int or pair of int
        Size of a window.
    output_size : int or pair of int, optional
        Size of the result.
    output_ratio : float or pair of float, optional
        Size of the result as a fraction of that of the images, between 0 and 1; an alternative to `output_size`.
    return_indices : bool, default False
        Whether to return the row-major position of each element in its plane as well, as `max_pool2d` does.
    _random_samples : Tensor, optional
        Random numbers (N, C, 2) between 0 and 1 that replace those of the default generator.

    Returns
    -------
    Tensor or tuple of Tensor
        The largest elements (..., m_h, m_w), and with `return_indices` their int64 positions in the same shape.

    Raises
    ------
    ArgumentError
        If neither or both of `output_size` and `output_ratio` are given, or if a ratio is not between 0 and 1.
    ShapeError
        If shapes do not fit, or windows do not fit into an image.

    References
    ----------
    Graham, Fractional max-pooling, 2014.

    Examples
    --------
    >>> import minigrad as mg
    >>> x = mg.arange(25.0).reshape(1, 5, 5)
    >>> mg.nn.functional.fractional_max_pool2d(x, 2, output_size=3, _random_samples=mg.zeros(1, 1, 2)).tolist()
    [[[6.0, 7.0, 9.0], [11.0, 12.0, 14.0], [21.0, 22.0, 24.0]]]
    """
    arguments = kernel_size, output_size, output_ratio, return_indices, _random_samples
    return pooled("fractional_max_pool2d", 2, input, *arguments)


@public()
def fractional_max_pool3d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Return the largest element of each of `output_size` random windows of volumes; see `fractional_max_pool2d`."""
    arguments = kernel_size, output_size, output_ratio, return_indices, _random_samples
    return pooled("fractional_max_pool3d", 3, input, *arguments)


def pooled(
    name: str, dims: int, x: Tensor, kernel: Any, size: Any, ratio: Any, return_indices: bool, samples: Tensor | None
) -> Any:
    """Return the largest elements of windows whose positions follow from `samples`, and their positions in a plane."""
    expect_tensors(name, x)
    Ndim(dims + 1, dims + 2).expect(name, input=x)
    Floating.expect(name, input=x)
    image, front = x.shape[-dims:], x.shape[:-dims]
    taps, sizes = per_dim(name, "kernel_size", kernel, dims, 1), sizes_of(name, dims, image, size, ratio)
    if any(m + k - 1 > n for n, m, k in zip(image, sizes, taps, strict=True)):
        raise ShapeError(
            f"{name}: {sizes} windows of kernel_size {taps} must fit into the input, got {describe(x)}; reduce "
            "output_size or kernel_size",
            op=name,
        )
    planes, channels = prod(front), (1, *front)[-2:]
    if samples is None:
        samples = rand(*channels, dims, dtype=x.dtype, device=x.device)
    expect_samples(name, x, samples, (*channels, dims))
    index: Any = 0
    for d, (n, m, k) in enumerate(zip(image, sizes, taps, strict=True)):
        along = positions(reshape(select(samples, -1, AXES[dims][d]), (planes,)), n, m, k)
        shape = [planes, *(m if j == d else 1 for j in range(dims)), *(k if j == d else 1 for j in range(dims))]
        index = index * n + reshape(along, tuple(shape))
    index = reshape(index, (planes, prod(sizes), prod(taps)))
    windows = gather(reshape(x, (planes, prod(image))), 1, reshape(index, (planes, prod(sizes) * prod(taps))))
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
    return reshape(starts, (planes, m, 1)) + arange(k, device=u.device)


def sizes_of(name: str, dims: int, image: tuple[int, ...], size: Any, ratio: Any) -> tuple[int, ...]:
    """Return the size of the result.  Raises ArgumentError unless exactly one of `size` and `ratio` is given."""
    if (size is None) == (ratio is None):
        got = "neither" if size is None else "both"
        raise ArgumentError(
            f"{name}: exactly one of output_size and output_ratio is required, got {got}; pass one of them", op=name
        )
    if size is not None:
        return per_dim(name, "output_size", size, dims, 1)
    ratios = tuple(ratio) if isinstance(ratio, (tuple, list)) else (ratio,) * dims
    if len(ratios) != dims or not all(0 < r < 1 for r in ratios):
        raise ArgumentError(
            f"{name}: output_ratio must be {dims} floats between 0 and 1, got {ratio!r}; pass output_ratio=0.5, for "
            "example",
            op=name,
        )
    return tuple([max(int(n * r), 0) for n, r in zip(image, ratios, strict=True)])


def expect_samples(name: str, x: Tensor, samples: Any, shape: tuple[int, ...]) -> None:
    """Raise ShapeError unless the samples have the dtype of x and the given shape."""
    if not isinstance(samples, Tensor) or samples.shape != shape or samples.dtype is not x.dtype:
        raise ShapeError(
            f"{name}: _random_samples must be {x.dtype}{shape} for {describe(x)}, got {describe(samples)}; pass "
            f"mg.rand({shape}, dtype=mg.{x.dtype}), for example"
        )
