"""Convolution by 3x3 taps with Winograd's algorithm: the suitable shapes, and the scalar arguments of the loops.

The loops are in `kernels/cpu/winograd.py`, the transforms in `kernels/cpu/winograd_transforms.py`.  The choice of the
algorithm depends on the shape, the dtype and `settings.winograd`: taps that are neighbours, a stride of 1, float32, and
enough channels and whole tiles that the transforms cost less than the products they save.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.cpu.family import CpuSteps
from minigrad.backends.cpu.fields import SLABS, Taps, biased, strided
from minigrad.backends.cpu.matmul import WORK
from minigrad.backends.cpu.texts import tile_size
from minigrad.backends.steps import Ints, Value
from minigrad.config import settings
from minigrad.core.dtype import float32
from minigrad.kernels.cpu import winograd
from minigrad.kernels.cpu.processor import tile_shape

TILE = 4  # number of outputs of a tile along one dim
POINTS = 36  # number of values of a transformed tile, 6 * 6
FILLED = 0.4  # minimum fraction of the tiles' outputs that must be inside the image
# Minimum number of channels of the image and of the output: the saved products then outweigh the transforms.
CHANNELS = 12
BYTES = 3 << 18  # bytes of a task's transformed values: they fit the second-level cache, next to the weight
WEIGHED = 1 << 19  # maximum number of bytes of the transformed weight per tile, because each call transforms the weight
WIDEST = 1 << 22  # maximum size in bytes of a transformed row of tiles; a larger row would leave the caches
LEAST = 32  # minimum number of tiles for a separate array of partial sums


def by_winograd(
    steps: CpuSteps, out: Value, x: Value, w: Value, bias: Value | None, taps: list[Taps], stride: Ints
) -> bool:
    """Add the steps that compute outputs; w has dims (group, M, C, taps).

    Return False if another method is faster.
    """
    m, c = w.shape[1:3]
    if not pays(out, x.shape, w.shape[0], m, c, taps, stride):
        return False
    share, tasks = shares(out.shape, m, c)
    numbers = tile_numbers(x, out, w, taps, share, share, bias)
    panels = steps.work((POINTS * c * padded(m),), float32)
    steps.run(winograd.transform_weight, w, panels, form="winograd", tasks=c, numel=panels.layout.numel, **numbers)
    steps.run(winograd.winograd, x, panels, bias or w, out, tasks=tasks, numel=work_of(out, m, c), **numbers)
    return True


def winograd_weight(steps: CpuSteps, out: Value, y: Value, x: Value, taps: list[Taps], stride: Ints) -> bool:
    """Add the steps that sum over outputs y; out, the weight's gradient, has dims (group, M, C, taps).

    Return False if another method is faster.
    """
    m, c = out.shape[1:3]
    if not pays(y, x.shape, out.shape[0], m, c, taps, stride):
        return False
    block, _ = shares(y.shape, m, c)
    rows, tiles = rows_of(y.shape), rows_of(y.shape) * across(y.shape)
    slab = POINTS * m * padded(c)
    chunks = max(1, min(16, rows, tiles // LEAST, max(2, SLABS // slab)))
    share = -(-rows // chunks)
    chunks = -(-rows // share)
    numbers = tile_numbers(x, y, out, taps, share, min(block, share))
    slabs = steps.work((chunks * slab,), float32)
    steps.run(winograd.winograd_weight, x, y, slabs, tasks=chunks, numel=work_of(y, m, c), **numbers)
    steps.run(winograd.add_weights, slabs, out, form="winograd", tasks=m, numel=slabs.layout.numel, **numbers)
    return True


def pays(out: Value, image: Ints, groups: int, m: int, c: int, taps: list[Taps], stride: Ints) -> bool:
    """Return whether to use Winograd's algorithm, from the shape and the dtype of a convolution and the setting."""
    if not settings.winograd or out.dtype is not float32 or groups > 1 or len(taps) != 2 or tuple(stride) != (1, 1):
        return False
    if any(sorted(e for e, _ in t) != list(range(lowest(t), lowest(t) + 3)) for t in taps) or min(m, c) < CHANNELS:
        return False
    tiles = rows_of(out.shape) * across(out.shape)
    if out.layout.numel < FILLED * m * tiles * TILE * TILE or POINTS * m * c * 4 > WEIGHED * tiles:
        return False
    return POINTS * across(out.shape) * (padded(m) + padded(c)) * 4 <= WIDEST


def lowest(taps: Taps) -> int:
    """Return the lowest position that output 0 reads."""
    return min(e for e, _ in taps)


def across(outputs: Ints) -> int:
    """Return the number of tiles of a row."""
    return -(-outputs[3] // TILE)


def rows_of(outputs: Ints) -> int:
    """Return the number of rows of tiles of all images."""
    return outputs[0] * -(-outputs[2] // TILE)


def padded(channels: int) -> int:
    """Return the number of channels, rounded up to whole vectors."""
    lanes = tile_shape("float32")[0]
    return -(-channels // lanes) * lanes


def work_of(out: Value, m: int, c: int) -> int:
    """Return the work of the products, in additions."""
    tiles = rows_of(out.shape) * across(out.shape)
    return tiles * POINTS * m * c * 4 // WORK


def shares(outputs: Ints, m: int, c: int) -> tuple[int, int]:
    """Return (rows of tiles per task, tasks).

    A task fits the second-level cache, but has at least some whole register tiles.
    """
    rows, mr = rows_of(outputs), tile_size(float32)[0]
    tile = POINTS * (padded(m) + padded(c)) * 4
    wanted = max(3 * mr, BYTES // tile)
    share = max(1, min(wanted // across(outputs), -(-rows // 4)))
    tasks = -(-rows // share)
    return -(-rows // tasks), tasks


def tile_numbers(
    x: Value, y: Value, w: Value, taps: list[Taps], share: int, block: int, bias: Value | None = None
) -> dict[str, Any]:
    """Return the numbers of the templates."""
    images, m, high, wide = y.shape
    first, second = (sorted(t) for t in taps)
    near, far = w.layout.strides[3:]
    return {
        "images": images, "outs": m, "ins": w.shape[2], "down": -(-high // TILE), "across": across(y.shape),
        "share": share, "block": block, "height": x.shape[2], "width": x.shape[3], "high": high, "wide": wide,
        "low1": first[0][0], "low2": second[0][0],
        "in_weight": [i * near + j * far for _, i in first for _, j in second],
        "w": w.layout.offset, "w_out": w.layout.strides[1], "w_in": w.layout.strides[2],
    } | strided("x", x.layout, range(1, 3)) | strided("y", y.layout, range(1, 3)) | biased(bias)  # fmt: skip
