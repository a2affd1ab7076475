"""The op `interpolate`, which resizes images dim by dim; each output is a weighted sum of a few inputs.

The positions of these inputs and their weights depend only on the sizes, so NumPy computes them as tables.  As in
PyTorch, the positions for the nearest neighbour are computed in float32, and otherwise in the compute dtype.  The op
`resample` of `windows.py` reads the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from minigrad.core.dtype import as_dtype, int64, uint8
from minigrad.core.roles import Choice, FlagOrNone
from minigrad.core.shape import as_int
from minigrad.declare.decorators import composed, public
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.ops.casting import cast, clone
from minigrad.ops.indexing.gathering import index_select
from minigrad.ops.nn.adaptive import adaptive_mean
from minigrad.ops.nn.grids import far, near
from minigrad.ops.nn.windows import weighted
from minigrad.ops.reduction.sums import wide
from minigrad.runtime.operands import constant
from minigrad.runtime.tensor import Tensor, describe

WEIGHTED = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}  # mode -> the number of dims that it requires
PIXELS = ("bilinear", "bicubic")  # modes for images of uint8
MODES = ("nearest", "nearest-exact", "area", *WEIGHTED)
Sizes = tuple[int, ...]


@composed(channels_last=True)
def interpolate(input: Tensor, size: int | Sequence[int] | None = None,
                scale_factor: float | Sequence[float] | None = None, mode: Annotated[str, Choice(*MODES)] = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: FlagOrNone = False) -> Tensor:  # fmt: skip
    """Return images with one to three spatial dims (N, C, ...) at another size.

    size: the spatial sizes of the result, one int for all dims or one per dim; the alternative is `scale_factor`.
    scale_factor: the factor of the sizes, one number for all dims or one per dim.
    mode: "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", or "area", which computes means.
    align_corners: whether the centres of the outer pixels keep their positions, instead of their outer edges.
    recompute_scale_factor: whether positions are computed from the quotient of the two sizes, instead of the given
    factor.
    antialias: whether every input pixel contributes when "bilinear" or "bicubic" makes images smaller, as in Pillow.
    Gradient: each input pixel receives the sum of g times its weight over all output pixels.
    Raises ArgumentError for an unknown mode, or unless exactly one of `size` and `scale_factor` is passed, ShapeError
    for an input with another number of dims than the mode requires, DTypeError for integers if the mode interpolates,
    except for "bilinear" and "bicubic" images of uint8, whose sums are rounded after each dim, as in Pillow.
    """
    sizes, scales = read_sizes(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    return resampled(input, sizes, scales, mode, bool(align_corners), bool(antialias))


# ---- arguments ------------------------------------------------------------------------------------------------------


def wrong(reason: str) -> ArgumentError:
    """Return the ArgumentError for an invalid argument of interpolate."""
    return ArgumentError(f"interpolate: {reason}")


def read_sizes(
    x: Tensor, size: Any, factor: Any, mode: str, align: bool | None, recompute: bool | None, antialias: bool
) -> tuple[Sizes, list[float] | None]:
    """Check the arguments; return the spatial sizes of the result, and a list of factors or None.

    The second value is None if positions are computed from the sizes.  Raises ArgumentError, ShapeError or DTypeError.
    """
    if antialias:
        Choice("bilinear", "bicubic", advice="pass mode='bilinear', for example").expect(
            "interpolate", **{"mode with antialias=True": mode}
        )
    if x.ndim != WEIGHTED.get(mode, x.ndim) or x.ndim not in (3, 4, 5):
        need = WEIGHTED.get(mode, "3 to 5")
        raise ShapeError(
            f"interpolate: mode={mode!r} expects {need} dims (N, C, ...), got {describe(x)}; insert dims with "
            "unsqueeze, or pass another mode"
        )
    if align is not None and mode not in WEIGHTED:
        raise wrong(
            f"align_corners is allowed only for the modes {', '.join(WEIGHTED)}, got mode={mode!r}; omit align_corners"
        )
    if mode in WEIGHTED and not x.dtype.is_float and not (x.dtype is uint8 and mode in PIXELS):
        raise DTypeError(
            f"interpolate: mode={mode!r} requires an input with a floating dtype, got {describe(x)}; convert it with "
            ".float()"
        )
    if (size is None) == (factor is None):
        raise wrong(
            f"expected either size or scale_factor, got {'neither' if size is None else 'both'}; pass scale_factor=2, "
            "for example"
        )
    if recompute and size is not None:
        raise wrong("recompute_scale_factor=True requires scale_factor, got size; omit recompute_scale_factor")
    values = per_spatial_dim(x, "scale_factor" if size is None else "size", factor if size is None else size)
    scales = None
    if size is None:
        if any(isinstance(each, bool) or not isinstance(each, (int, float, np.number)) for each in values):
            raise wrong(
                f"scale_factor must be a number, or one per spatial dim, got {factor!r}; pass scale_factor=2, for "
                "example"
            )
        scales = [float(each) for each in values]
        sizes = tuple([int(n * scale) if np.isfinite(n * scale) else 0 for n, scale in zip(x.shape[2:], scales)])
    else:
        sizes = tuple([as_int(each, "size", "interpolate") for each in values])
    if min(sizes) < 1 or 0 in x.shape[1:]:
        raise ShapeError(
            f"interpolate: channels and spatial sizes must be at least 1, got {describe(x)} and the result sizes "
            f"{sizes}; pass a larger size or scale_factor"
        )
    return sizes, None if recompute or mode == "area" else scales


def per_spatial_dim(x: Tensor, name: str, value: Any) -> Sequence[Any]:
    """Return one value per spatial dim.  Raises ArgumentError for a sequence of another length."""
    if not isinstance(value, (tuple, list)):
        return [value] * (x.ndim - 2)
    if len(value) != x.ndim - 2:
        raise wrong(
            f"{name} must have one value per spatial dim of {describe(x)}, got {value!r}; pass one number for all dims"
        )
    return value


# ---- pixels ---------------------------------------------------------------------------------------------------------


def resampled(
    x: Tensor, sizes: Sizes, scales: Sequence[float] | None, mode: str, align: bool, antialias: bool
) -> Tensor:
    """Return images at other sizes; the last dim is resized first, as in PyTorch."""
    if mode == "area":
        return adaptive_mean(f"adaptive_avg_pool{x.ndim - 2}d", x.ndim - 2, x, sizes)
    y = wide(x) if mode in WEIGHTED else x
    for d in range(x.ndim - 1, 1, -1):
        n, m, scale = x.shape[d], sizes[d - 2], 0.0 if scales is None else scales[d - 2]
        if mode == "nearest" and x.ndim == 4 and m in (n, 2 * n):
            scale = m / n  # PyTorch ignores the factor in this case for images, but not for signals and volumes
        if mode not in WEIGHTED:
            y = index_select(y, d, constant(nearest(n, m, scale, mode), int64, x.device))
        elif x.dtype is uint8 and n != m:  # the cast limits the sum to 0 to 255
            index, weight = fixed_point(n, m, scale, align, mode, antialias)
            y = cast(weighted(cast(y, dtype=as_dtype(weight.dtype)), d, index, weight) + 0.5, dtype=uint8)
        elif x.dtype.is_float and (n != m or mode == "bicubic" or antialias):  # otherwise the result equals the input
            y = weighted(y, d, *table_of(mode, antialias)(n, m, scale, align, y.dtype.name, mode))
    return clone(y) if y is x else y.to(x.dtype)


# ---- tables ---------------------------------------------------------------------------------------------------------


def nearest(n: int, m: int, scale: float, mode: str) -> Any:
    """Return, for each of m pixels, the position that it reads among n pixels.

    scale: the factor, or 0 if it follows from the sizes.
    """
    step = np.float32(1.0 / scale) if scale > 0 else np.float32(n) / np.float32(m)
    first = np.float32(0.5 if mode == "nearest-exact" else 0.0)
    return np.minimum(np.floor((np.arange(m).astype(np.float32) + first) * step).astype(np.int64), n - 1)


def step_of(n: int, m: int, scale: float, align: bool, real: Any) -> Any:
    """Return the distance of neighbouring pixels of the result, in pixels of the image; `real` is the float type."""
    if align:
        return real(n - 1) / real(m - 1) if m > 1 else real(0)
    return real(1.0 / scale) if scale > 0 else real(n) / real(m)


def table_of(mode: str, antialias: bool) -> Any:
    """Return the function that computes the tables of a mode."""
    return smoothed if antialias else cubic if mode == "bicubic" else linear


@lru_cache(64)
def fixed_point(n: int, m: int, scale: float, align: bool, mode: str, antialias: bool) -> tuple[Any, Any]:
    """Return the tables for images of uint8; each weight is an integer of 16 bits, divided by a power of two.

    The power is the largest one, up to 2**22, for which all weights have 16 bits.  The dtype of the weights represents
    sums of their products with pixels exactly, so results do not depend on the device.
    Source: Pillow, src/libImaging/Resample.c, and PyTorch, aten/src/ATen/native/cpu/UpSampleKernel.cpp.
    """
    index, weight = table_of(mode, antialias)(n, m, scale, align, "float64", mode)
    weight, largest = weight.copy(), weight[0].max()
    for k in range(1, len(weight)):  # the weights of terms that read the same border pixel are added before rounding
        same = index[k] == index[k - 1]
        weight[k] += same * weight[k - 1]
        weight[k - 1] *= ~same
        largest = max(largest, weight[k].max())  # as in PyTorch, this includes partial sums
    one = next(2.0**bits for bits in range(23) if bits == 22 or largest * 2.0 ** (bits + 1) >= 2**15 - 0.5)
    weight = np.trunc(weight * one + np.copysign(0.5, weight)) / one
    exact = one * np.abs(weight).sum(0).max() <= 2**16  # then each sum, with pixels up to 255, has 24 bits
    return index, weight.astype(np.float32 if exact else np.float64)


@lru_cache(64)
def linear(n: int, m: int, scale: float, align: bool, dtype: str, mode: str) -> tuple[Any, Any]:
    """Return, for each of m pixels, the two positions among n pixels that it reads, and their weights."""
    real: Any = np.float64 if dtype == "float64" else np.float32
    step, pixels = step_of(n, m, scale, align, real), np.arange(m).astype(real)
    positions = pixels * step if align else np.maximum(step * (pixels + real(0.5)) - real(0.5), real(0))
    first = np.minimum(positions.astype(np.int64), n - 1)
    weight = np.clip(positions - first.astype(real), 0, 1).astype(real)
    return np.stack([first, np.minimum(first + 1, n - 1)]), np.stack([1 - weight, weight])


@lru_cache(64)
def cubic(n: int, m: int, scale: float, align: bool, dtype: str, mode: str) -> tuple[Any, Any]:
    """Return, for each of m pixels, the four nearest positions among n pixels, and the weights of cubic convolution."""
    real: Any = np.float64 if dtype == "float64" else np.float32
    step, pixels = step_of(n, m, scale, align, real), np.arange(m).astype(real)
    positions = pixels * step if align else step * (pixels + real(0.5)) - real(0.5)
    first = np.minimum(np.floor(positions).astype(np.int64), n - 1)
    t = np.clip(positions - first.astype(real), 0, 1).astype(real)
    weights = np.stack([far(t + 1), near(t), near(1 - t), far(2 - t)]).astype(real)
    return np.clip(first + np.arange(-1, 3)[:, None], 0, n - 1), weights


@lru_cache(64)
def smoothed(n: int, m: int, scale: float, align: bool, dtype: str, mode: str) -> tuple[Any, Any]:
    """Return, for each of m pixels, the positions among n pixels under a smoothing kernel, and their weights.

    The kernel is a triangle, or cubic convolution with a = -0.5.  If the image shrinks, the width of the kernel is
    scaled by n/m; otherwise it is not scaled.  A position of -1 is padding with weight 0.  The sum of the weights is 1.
    """
    real: Any = np.float64 if dtype == "float64" else np.float32
    step, reach = step_of(n, m, scale, align, real), 2 if mode == "bicubic" else 1
    spread = max(step, real(1))
    centres = step * (np.arange(m).astype(real) + real(0.5))
    low = np.maximum((centres - reach * spread + real(0.5)).astype(np.int64), 0)
    high = np.minimum((centres + reach * spread + real(0.5)).astype(np.int64), n)
    index = low + np.arange(max(1, int((high - low).max())))[:, None]
    t = np.abs((index.astype(real) - centres + real(0.5)) / spread)
    shape = np.where(t < 1, near(t, -0.5), np.where(t < 2, far(t, -0.5), 0)) if mode == "bicubic" else 1 - t
    weights = np.where(index < high, np.maximum(shape, 0) if mode == "bilinear" else shape, 0)
    return np.where(index < high, index, -1), (weights / weights.sum(0)).astype(real)


# ---- older names of PyTorch -----------------------------------------------------------------------------------------


@public()
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """Call `interpolate`; `upsample` is its former name in PyTorch."""
    return interpolate(input, size, scale_factor, mode, align_corners)


@public()
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Call `interpolate` with mode="nearest"."""
    return interpolate(input, size, scale_factor)


@public()
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Call `interpolate` with mode="bilinear" and align_corners=True."""
    return interpolate(input, size, scale_factor, "bilinear", True)
