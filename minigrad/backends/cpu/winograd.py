"""Convolution by 3x3 taps with Winograd's algorithm: the suitable shapes, and the scalar arguments of the loops.

The loops are in `kernels/cpu/winograd.py`, the transforms in `kernels/cpu/winograd_transforms.py`.  The choice of the
algorithm depends on the shape, the dtype and `settings.winograd`: taps that are neighbours, a stride of 1, float32, and
enough channels and whole tiles that the transforms cost less than the products they save.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.backends.cpu.family import headed, kind_of
from minigrad.backends.cpu.fields import Taps
from minigrad.backends.cpu.matmul import WORK
from minigrad.backends.cpu.texts import load_loops, tile_size
from minigrad.backends.steps import Ints, Steps, Value
from minigrad.config import settings
from minigrad.core.dtype import DType, float32
from minigrad.kernels.cpu import winograd
from minigrad.kernels.cpu.elementwise import clear, transpose_copy
from minigrad.kernels.cpu.processor import tile_shape
from minigrad.kernels.cpu.target import imported

TILE = 4  # number of outputs of a tile along one dim
POINTS = 36  # number of values of a transformed tile, 6 * 6
FILLED = 0.4  # minimum fraction of the tiles' outputs that must be inside the image
# Minimum number of channels of the image and of the output: the saved products then outweigh the transforms.
CHANNELS = 12
BYTES = 3 << 18  # bytes of a task's transformed values: they fit the second-level cache, next to the weight
WEIGHED = 1 << 19  # maximum number of bytes of the transformed weight per tile, because each call transforms the weight
WIDEST = 1 << 22  # maximum size in bytes of a transformed row of tiles; a larger row would leave the caches
LEAST = 32  # minimum number of tiles for a separate array of partial sums
SLABS = 1 << 22  # maximum number of elements of the partial sums of a weight's gradient
TRANSFORMS = (
    "input_transform", "output_transform", "gradient_transform", "weight_transform", "weight_gradient_transform",
)  # fmt: skip


def by_winograd(
    steps: Steps, out: Value, x: Value, w: Value, bias: Value | None, taps: list[Taps], stride: Ints
) -> bool:
    """Add the steps that compute outputs; w has dims (group, M, C, taps).

    Return False if another method is faster.
    """
    m, c = w.shape[1:3]
    if not pays(out, x.shape, w.shape[0], m, c, taps, stride):
        return False
    share, tasks = shares(out.shape, m, c)
    numbers = numbers_of(x, out, w, taps, share, share, bias)
    panels = steps.work((POINTS * c * padded(m),), float32)
    pack = steps.backend.kernel(write, winograd.transform_weight, float32, kind=kind_of(panels.layout.numel, c))
    kernel = steps.backend.kernel(write, winograd.convolve, float32, kind=kind_of(work_of(out, m, c), tasks))
    steps.then(pack, w, panels, numbers=headed(c, numbers))
    steps.then(kernel, x, panels, bias or w, out, numbers=headed(tasks, numbers))
    return True


def winograd_weight(steps: Steps, out: Value, y: Value, x: Value, taps: list[Taps], stride: Ints) -> bool:
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
    numbers = numbers_of(x, y, out, taps, share, min(block, share), None)
    slabs = steps.work((chunks * slab,), float32)
    kernel = steps.backend.kernel(write, winograd.convolve_weight, float32, kind=kind_of(work_of(y, m, c), chunks))
    add = steps.backend.kernel(write, winograd.add_weights, float32, kind=kind_of(slabs.layout.numel, m))
    steps.then(kernel, x, y, slabs, numbers=headed(chunks, numbers))
    steps.then(add, slabs, out, numbers=headed(m, numbers))
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


def numbers_of(x: Value, y: Value, w: Value, taps: list[Taps], share: int, block: int, bias: Value | None) -> list[int]:
    """Return the scalar arguments of the templates."""
    m, c = w.shape[1:3]
    values: dict[str, Any] = {"b": 0, "b_out": 0, "biased": 0}
    if bias:
        values = {"b": bias.layout.offset, "b_out": bias.layout.strides[0], "biased": 1}
    images, high, wide = y.shape[0], *y.shape[2:]
    first, second = (sorted(t) for t in taps)
    near, far = w.layout.strides[3:]
    return winograd.WINOGRAD.pack(
        images=images, outs=m, ins=c, down=-(-high // TILE), across=across(y.shape), share=share, block=block,
        height=x.shape[2], width=x.shape[3], high=high, wide=wide, low1=first[0][0], low2=second[0][0],
        in_weight=[i * near + j * far for _, i in first for _, j in second],
        **layout_of("x", x), **layout_of("y", y),
        w=w.layout.offset, w_out=w.layout.strides[1], w_in=w.layout.strides[2], **values,
    )  # fmt: skip


def layout_of(name: str, x: Value) -> dict[str, int]:
    """Return offset and strides of an image or an output, by name."""
    steps = dict(zip(("_image", "_channel", "1", "2"), x.layout.strides, strict=True))
    return {name: x.layout.offset} | {name + dim: step for dim, step in steps.items()}


def write(template: Callable[..., Any], dtype: DType) -> Any:
    """Write, compile and import one of the loops, with the functions that it calls."""
    helpers: tuple[Callable[..., Any], ...] = (winograd.multiples, clear)
    if "tile" in template.__code__.co_names:
        helpers += (transpose_copy, winograd.channels_last, winograd.positions, winograd.transform_row)
    read = {word for function in (template, *helpers) for word in function.__code__.co_names}
    lines = [f'{word} = winograd_transform("{word}", "{dtype}", LANES)' for word in TRANSFORMS if word in read]
    transforms = imported("winograd_transforms", "winograd_transform", *lines, beside=("emitting.py",))
    return load_loops(template, dtype, winograd.WINOGRAD, helpers, transforms)
