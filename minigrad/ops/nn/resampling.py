"""interpolate: images at another size, one dim after the other, each by reading positions and blending neighbours.

Positions and weights depend on sizes alone, so they are made in NumPy; PyTorch's are float32 for the nearest neighbour,
and of the dtype that is computed in for linear modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.dtype import DType, float64
from minigrad.core.roles import Choice, Flag
from minigrad.core.shape import as_int
from minigrad.declare.decorators import composed, public
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.creation import tensor
from minigrad.ops.indexing.gathering import index_select
from minigrad.ops.nn.adaptive import adaptive_mean
from minigrad.ops.reduction.sums import wide
from minigrad.ops.shape.views import reshape
from minigrad.runtime.tensor import Tensor, describe

LINEAR = {"linear": 3, "bilinear": 4, "trilinear": 5}  # modes, and the dims that they need
MODES = ("nearest", "nearest-exact", "area", *LINEAR)
Sizes = tuple[int, ...]


@composed(out=False, method=False)
def interpolate(input: Tensor, size: int | Sequence[int] | None = None,
                scale_factor: float | Sequence[float] | None = None, mode: Choice = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: Flag = False) -> Tensor:  # fmt: skip
    """Return images (N, C, 1 to 3 dims) at another size, given itself or as a factor; see MODES for the modes.

    Gradient: g, with the weights of the pixels, to where they were read.  Raises ArgumentError for other modes.
    """
    sizes, scales = read_sizes(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    return resampled(input, sizes, scales, mode, bool(align_corners))


# ---- arguments ------------------------------------------------------------------------------------------------------


def wrong(reason: str) -> ArgumentError:
    """Return the error for an argument."""
    return ArgumentError(f"interpolate: {reason}", op="interpolate")


def read_sizes(
    x: Tensor, size: Any, factor: Any, mode: str, align: bool | None, recompute: bool | None, antialias: bool
) -> tuple[Sizes, list[float] | None]:
    """Return the spatial sizes of the result, and the factors where they place the pixels; raises what is wrong."""
    if mode not in MODES or antialias:
        what = "antialias=True" if mode in MODES else f"mode={mode!r}"
        raise wrong(f"{what} is not implemented; use one of the modes {', '.join(MODES)}, without antialias")
    if x.ndim != LINEAR.get(mode, x.ndim) or x.ndim not in (3, 4, 5):
        need = LINEAR.get(mode, "3 to 5")
        raise ShapeError(f"interpolate: mode={mode!r} needs {need} dims (N, C, ...), got {describe(x)}")
    if align is not None and mode not in LINEAR:
        raise wrong(f"align_corners is for {', '.join(LINEAR)}; leave it out for mode={mode!r}")
    if mode in LINEAR and not x.dtype.is_float:
        raise DTypeError(f"interpolate: mode={mode!r} needs a floating dtype, got {describe(x)}; convert with .float()")
    if (size is None) == (factor is None):
        raise wrong(f"expected either size or scale_factor, got {'neither' if size is None else 'both'}")
    if recompute and size is not None:
        raise wrong("recompute_scale_factor=True needs a scale_factor, got size; leave it out")
    values = per_spatial_dim(x, "scale_factor" if size is None else "size", factor if size is None else size)
    scales = None
    if size is None:
        scales = [float(each) for each in values]
        sizes = tuple([int(n * scale) if np.isfinite(n * scale) else 0 for n, scale in zip(x.shape[2:], scales)])
    else:
        sizes = tuple([as_int(each, "size", "interpolate") for each in values])
    if min(sizes) < 1 or 0 in x.shape[1:]:
        raise ShapeError(
            f"interpolate: {describe(x)} at the spatial sizes {sizes}: channels and sizes must be at least 1",
            op="interpolate",
        )
    return sizes, None if recompute or mode == "area" else scales


def per_spatial_dim(x: Tensor, name: str, value: Any) -> Sequence[Any]:
    """Return one value per spatial dim."""
    if not isinstance(value, (tuple, list)):
        return [value] * (x.ndim - 2)
    if len(value) != x.ndim - 2:
        raise wrong(f"{name} {value!r} must have one value per spatial dim of {describe(x)}")
    return value


# ---- pixels ---------------------------------------------------------------------------------------------------------


def resampled(x: Tensor, sizes: Sizes, scales: Sequence[float] | None, mode: str, align: bool) -> Tensor:
    """Return images at other sizes; the last dim is first, as in PyTorch's sums."""
    if mode == "area":
        return adaptive_mean(f"adaptive_avg_pool{x.ndim - 2}d", x.ndim - 2, x, sizes)
    y = wide(x) if mode in LINEAR else x
    for d in range(x.ndim - 1, 1, -1):
        n, m, scale = x.shape[d], sizes[d - 2], 0.0 if scales is None else scales[d - 2]
        if mode == "nearest" and x.ndim == 4 and m in (n, 2 * n):
            scale = m / n  # PyTorch leaves the factor out here for images, and not for rows and volumes
        if mode not in LINEAR:
            y = index_select(y, d, tensor(nearest(n, m, scale, mode), device=x.device))
        elif n != m:  # else each pixel is read where it is
            y = blended(y, d, *neighbours(n, m, scale, align, y.dtype))
    return cast(y, dtype=x.dtype)


def nearest(n: int, m: int, scale: float, mode: str) -> Any:
    """Return the position that each of m pixels reads of n; scale: the factor, 0 where the sizes say it."""
    step = np.float32(1.0 / scale) if scale > 0 else np.float32(n) / np.float32(m)
    first = np.float32(0.5 if mode == "nearest-exact" else 0.0)
    return np.minimum(np.floor((np.arange(m).astype(np.float32) + first) * step).astype(np.int64), n - 1)


def neighbours(n: int, m: int, scale: float, align: bool, dtype: DType) -> tuple[Any, Any, Any]:
    """Return the two positions that each of m pixels blends of n, and the weight of the second."""
    real: Any = np.float64 if dtype is float64 else np.float32
    pixels = np.arange(m).astype(real)
    if align:
        positions = pixels * (real(n - 1) / real(m - 1) if m > 1 else real(0))
    else:
        step = real(1.0 / scale) if scale > 0 else real(n) / real(m)
        positions = np.maximum(step * (pixels + real(0.5)) - real(0.5), real(0))
    first = np.minimum(positions.astype(np.int64), n - 1)
    return first, np.minimum(first + 1, n - 1), np.clip(positions - first.astype(real), 0, 1).astype(real)


def blended(x: Tensor, d: int, first: Any, second: Any, weight: Any) -> Tensor:
    """Return the elements at two positions of a dim, weighted."""
    shape = (-1, *(1,) * (x.ndim - d - 1))
    before, after = (index_select(x, d, tensor(positions, device=x.device)) for positions in (first, second))
    left, right = (reshape(tensor(w, dtype=x.dtype, device=x.device), shape) for w in (1 - weight, weight))
    return before * left + after * right


# ---- names that PyTorch had before ----------------------------------------------------------------------------------


@public()
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """`interpolate`, by the name that it had before."""
    return interpolate(input, size, scale_factor, mode, align_corners)


@public()
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode="nearest"."""
    return interpolate(input, size, scale_factor)


@public()
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode="bilinear" and align_corners=True."""
    return interpolate(input, size, scale_factor, "bilinear", True)
