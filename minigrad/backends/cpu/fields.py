"""The spatial dims of a convolution and their taps: blocks of outputs, what they read, and scalar arguments.

    image, 9 wide, 3 taps, stride 2         a block of 3 outputs copies 7 elements, by phases of the stride:
      0 1 2 3 4 5 6 7 8                       phase 0: 0 2 4 6     tap 0 reads slots 0 1 2 of phase 0
      [tap]   outputs 0 1 2 3                 phase 1: 1 3 5       tap 1 reads slots 0 1 2 of phase 1
        [tap]                                                      tap 2 reads slots 1 2 3 of phase 0

A tap thus reads a dense run of a copy, for any stride.  `conv.py` chooses the method, `kernels/cpu/conv.py` has the
loops.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from minigrad.backends.steps import Ints, Value
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.kernels.cpu import conv
from minigrad.kernels.cpu.processor import tile_shape

BLOCK = 3 << 17  # bytes of an image that a task copies; they fit the second-level cache, next to the weights
TASKS = 16  # number of blocks of the work; the shape determines their bounds
Taps = list[tuple[int, int]]  # (position relative to the output, index in the kernel), along one dim


def forward_taps(kernel: Ints, padding: Ints, dilation: Ints) -> list[Taps]:
    """Return, per dim, the positions that taps read, relative to output * stride."""
    return [[(t * d - p, t) for t in range(k)] for k, p, d in zip(kernel, padding, dilation, strict=True)]


def phase_taps(phase: int, kernel: int, stride: int, padding: int, dilation: int) -> Taps:
    """Return the taps that connect elements phase, phase + stride, ... of an image to outputs, with these outputs."""
    meets = [(phase + padding - t * dilation, t) for t in range(kernel)]
    return [(e // stride, t) for e, t in meets if e % stride == 0]


def grouped(w: Layout, groups: int) -> Layout:
    """Return a weight (groups * M, C, taps...) as (groups, M, C, taps...)."""
    m = w.shape[0] // groups
    return Layout.make((groups, m, *w.shape[1:]), (m * w.strides[0], *w.strides), w.offset)


def taps_in_weight(w: Value, taps: list[Taps]) -> list[int]:
    """Return the offset of each tap in a weight (group, M, C, taps)."""
    steps = w.layout.strides[3:]
    return [sum(s * t for s, (_, t) in zip(steps, tap, strict=True)) for tap in product(*taps)]


def offsets_of_taps(w: Layout) -> list[int]:
    """Return the offsets of all taps of a weight (group, M, C, taps), in their order."""
    return [sum(s * t for s, t in zip(w.strides[3:], tap, strict=True)) for tap in product(*map(range, w.shape[3:]))]


def are_dense(block: list[int], y: Layout) -> bool:
    """Return whether the outputs of a channel in a block of these sizes are contiguous."""
    strides = y.strides[2:]
    return Layout.make(tuple(block[-len(strides) :]), strides).is_contiguous


class Field:
    """One spatial dim: outputs, stride, image size, taps, and the part of the image that a block of outputs reads."""

    def __init__(self, outputs: int, stride: int, image: int, taps: Taps) -> None:
        self.outputs, self.stride, self.image, self.taps = outputs, stride, image, taps
        self.block = outputs
        self.low = min(e for e, _ in taps)
        self.phases = sorted({(e - self.low) % stride for e, _ in taps})
        self.reach = max((e - self.low) // stride for e, _ in taps)

    @property
    def slots(self) -> int:
        return self.block + self.reach

    @property
    def blocks(self) -> int:
        return -(-self.outputs // self.block)

    def positions(self) -> list[tuple[int, int]]:
        """Return (phase, slot) of each tap in a block's copy of the image."""
        return [(self.phases.index((e - self.low) % self.stride), (e - self.low) // self.stride) for e, _ in self.taps]


def fields_of(outputs: Ints, stride: Ints, image: Ints, taps: list[Taps]) -> list[Field]:
    """Return three dims, for shapes of whole tensors."""
    fields = [Field(*d) for d in zip(outputs[2:], stride, image[2:], taps, strict=True)]
    return [Field(1, 1, 1, [(0, 0)])] * (3 - len(stride)) + fields


def blocks_of(fields: list[Field]) -> int:
    """Return the number of blocks that the outputs are cut into."""
    return math.prod(field.blocks for field in fields)


def cut(fields: list[Field], units: int, weight: int, least: int) -> None:
    """Divide the first dims into blocks until the image of a block fits the cache, and there are blocks for all cores.

    units: the number of independent parts of the work before it is divided into blocks.
    weight: the number of bytes of the image per position.
    least: the smallest number of outputs for which a separate block saves time.
    """

    def too_much() -> bool:
        phases = [f.slots * len(f.phases) for f in fields]
        return phases[0] * phases[1] * phases[2] * weight > BLOCK

    def too_few() -> bool:
        outputs = fields[0].block * fields[1].block * fields[2].block
        return units * blocks_of(fields) < TASKS and outputs >= 2 * least

    for field in fields:
        pieces = 1
        while field.block > 1 and (too_much() or too_few()):
            pieces += 1
            field.block = -(-field.outputs // pieces)
        if not too_much():
            break


def form_of(fields: list[Field], runs: int, panels: int, dtype: DType) -> str:
    """Return how tiles cover the outputs of a block.

    "flat": a tile continues from row to row, across columns that are dropped.  "rows": it ends with each row of
    outputs.  "unfolded": the runs are copied without the columns to drop.

    runs: the number of multiply-adds per output.
    panels: the number of panels of output channels for which a task copies the image.

    A tile takes about two cycles per multiply-add in one of its columns, and 40 additional cycles.  A tile that
    continues into the next row must be split, which takes about 300 cycles.  A vector is copied in about five cycles.
    """
    first, middle, last = (field.block for field in fields)
    lanes, mr, vectors = tile_shape(str(dtype))
    nr, whole = vectors * lanes, 2 * runs * mr + 40
    flat = ((first - 1) * fields[1].slots + middle - 1) * fields[2].slots + last
    crossing = min(1.0, nr / fields[2].slots)
    copied = runs * first * middle * -(-last // lanes)
    cycles = {
        "flat": panels * -(-flat // nr) * (whole + crossing * 300),
        "rows": panels * first * middle * -(-last // nr) * whole,
        "unfolded": panels * -(-first * middle * last // nr) * whole + 5 * copied,
    }
    if copied * lanes * dtype.itemsize > BLOCK:
        del cycles["unfolded"]
    return min(cycles, key=cycles.__getitem__)


def numbers_of(
    fields: list[Field], n: int, groups: int, channels: tuple[int, int], x: Layout, y: Layout, w: Layout, **more: int
) -> list[int]:
    """Return the scalar arguments of the templates, in the order of their docstring.

    more: the bias, and the division into tasks.
    """
    m, c = channels
    extra = (0,) * (3 - (len(x.shape) - 2))
    taps = list(product(*(f.taps for f in fields)))
    phases = [p for f in fields for p in f.phases]
    steps = (*extra, *w.strides[3:])
    unfolded = more.get("unfolded", 0)
    values: dict[str, Any] = {"b": 0, "b_group": 0, "b_out": 0, "biased": 0, "by_row": 0, "unfolded": 0} | more
    values |= {
        "images": n, "groups": groups, "outs": m, "ins": c,
        "x": x.offset, "x_image": x.strides[0], "x_group": c * x.strides[1], "x_channel": x.strides[1],
        "y": y.offset, "y_image": y.strides[0], "y_group": m * y.strides[1], "y_channel": y.strides[1],
        "w": w.offset, "w_group": w.strides[0], "w_out": w.strides[1], "w_in": w.strides[2],
        "phase": phases, "runs": offsets(fields, c, values["biased"]),
        "dense": unfolded and are_dense([field.block for field in fields], y),
        "in_weight": [sum(s * t for s, (_, t) in zip(steps, tap, strict=True)) for tap in taps],
    }  # fmt: skip
    for d, field in enumerate(fields):
        values |= {
            f"size{d}": field.outputs, f"block{d}": field.block, f"stride{d}": field.stride, f"low{d}": field.low,
            f"slots{d}": field.slots, f"phases{d}": len(field.phases), f"image{d}": field.image,
            f"x{d}": (*extra, *x.strides[2:])[d], f"y{d}": (*extra, *y.strides[2:])[d],
        }  # fmt: skip
    return conv.CONV.pack(**values)


def offsets(fields: list[Field], channels: int, bias: int) -> list[int]:
    """Return, for each channel and tap, the offset of its run in a block's copy of the image, and of its unfolded run.

    Each list ends with the offset of the ones of a bias.
    """
    phases, slots = [len(f.phases) for f in fields], [f.slots for f in fields]
    one = slots[0] * slots[1] * slots[2]
    whole = one * phases[0] * phases[1] * phases[2]
    near = [
        ((p0 * phases[1] + p1) * phases[2] + p2) * one + (s0 * slots[1] + s1) * slots[2] + s2
        for (p0, s0), (p1, s1), (p2, s2) in product(*(f.positions() for f in fields))
    ]
    copied = [*(c * whole + position for c in range(channels) for position in near), *[channels * whole] * bias]
    outputs = math.prod(field.block for field in fields)
    return [*copied, *(outputs * (bias + k) for k in range(channels * len(near))), *[0] * bias]
