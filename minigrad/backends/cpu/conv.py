"""Convolution on the CPU: the positions of a kernel's taps in a block of the image, and the scalar arguments of loops.

The loops are in `kernels/cpu/conv.py`, on the register tile of `kernels/cpu/tile.py`.  A gradient of the image is a
convolution for each phase of the stride: outputs that are one stride apart have the same taps.  All shapes are made 3-d
by leading dims of size 1. float16 and bfloat16 are cast as for a matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

from minigrad.backends.base import Ints, Launch, serves
from minigrad.backends.cpu.channels import ChannelsLast, lines_of, phased
from minigrad.backends.cpu.family import headed, kind_of
from minigrad.backends.cpu.matmul import WORK, Matmul
from minigrad.backends.cpu.taps import Taps, are_dense, forward_taps, grouped, phase_taps, taps_in_weight
from minigrad.backends.cpu.texts import load_loops, tile_size
from minigrad.backends.cpu.weighing import add_slabs, pack_weight
from minigrad.backends.cpu.winograd import SLABS, Winograd
from minigrad.backends.launch import NO_STEPS
from minigrad.backends.steps import Steps, Value
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.kernels.cpu import conv, depthwise, patches
from minigrad.kernels.cpu.processor import tile_shape
from minigrad.kernels.cpu.transposing import transpose_copy

BLOCK = 3 << 17  # bytes of an image that a task copies; they fit the second-level cache, next to the weights
TASKS = 16  # number of blocks of the work; the shape determines their bounds
FEW = 2  # number of output channels of a group for which a tile would be nearly empty
COPY = patches.block_of, patches.gather  # the functions that all loops over images call


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


class Conv(Winograd, ChannelsLast):
    """The method that prepares convolutions."""

    @serves(requests.Convolve)
    def convolve(
        self, out: Spec, *operands: Spec, part: str, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Launch:
        if out.layout.numel == 0:
            return NO_STEPS
        steps = Steps(self, (out,), operands)
        if part != "output" and operands[0].layout.numel == 0:
            steps.fill(steps.outs[0], 0)
            return steps.launch
        z, first, second, *bias = in_registers(steps)
        if part == "output":
            taps = forward_taps(second.shape[2:], padding, dilation)
            self._correlate(steps, z, first, second.seen(grouped(second.layout, groups)), bias[0], taps, stride)
        elif part == "input":
            self._spread(steps, z, first, second.seen(grouped(second.layout, groups)), stride, padding, dilation)
        else:
            taps = forward_taps(z.shape[2:], padding, dilation)
            self._correlate_weight(steps, z.seen(grouped(z.layout, groups)), first, second, taps, stride)
        if z is not steps.outs[0]:
            steps.copy(steps.outs[0], z)
        return steps.launch

    # ---- steps ----

    def _correlate(
        self, steps: Steps, out: Value, x: Value, w: Value, bias: Value | None, taps: list[Taps], stride: Ints
    ) -> None:
        """Add the steps that compute outputs; the weight has dims (group, M, C, taps)."""
        if self._product_of_points(steps, out, x, w, bias, taps, stride):
            return
        if self.winograd(steps, out, x, w, bias, taps, stride):
            return
        if self.channels_last(steps, out, x, w, bias, lines_of(out.shape, stride, x.shape, taps)):
            return
        dtype, (groups, m, c) = out.dtype, w.shape[:3]
        k = c * math.prod(map(len, taps))
        mr, nr = tile_size(dtype)
        tall = -(-m // mr)
        units = out.shape[0] * groups
        fields = fields_of(out.shape, stride, x.shape, taps)
        cut(fields, units, c * dtype.itemsize, 4 * nr)
        blocks = units * blocks_of(fields)
        kind = kind_of(out.layout.numel * k * dtype.itemsize // WORK, tall * blocks)
        if m <= FEW:
            self._correlate_few(steps, out, x, w, bias, fields, kind)
            return
        kernel = self.kernel(write, conv.correlate, dtype, *COPY, patches.unfold, kind=kind)
        # With few blocks, tasks share the output channels of a block, and each task copies the image again.
        high = max(1, -(-tall * blocks // TASKS)) if kind == "shared" and blocks < TASKS else tall
        form = form_of(fields, k + (bias is not None), high, dtype)
        numbers = numbers_of(
            fields, out.shape[0], groups, (m, c), x.layout, out.layout, w.layout, share=high,
            by_row=form == "rows", unfolded=form == "unfolded", **biased(bias, m),
        )  # fmt: skip
        panels = pack_weight(self, steps, w, mr, taps_in_weight(w, taps), bias)
        tasks = blocks * -(-tall // high)
        steps.then(kernel, x, panels, out, numbers=headed(tasks, numbers))

    def _correlate_few(
        self, steps: Steps, out: Value, x: Value, w: Value, bias: Value | None, fields: list[Field], kind: str
    ) -> None:
        """Add the step that computes outputs if a group has few output channels."""
        groups, m, c = w.shape[:3]
        numbers = numbers_of(
            fields, out.shape[0], groups, (m, c), x.layout, out.layout, w.layout, share=1, **biased(bias, m)
        )  # fmt: skip
        kernel = self.kernel(write, depthwise.correlate, out.dtype, *COPY, depthwise.add_run, kind=kind)
        tasks = out.shape[0] * groups * blocks_of(fields)
        steps.then(kernel, x, w, bias or w, out, numbers=headed(tasks, numbers))

    def _spread(
        self, steps: Steps, out: Value, y: Value, w: Value, stride: Ints, padding: Ints, dilation: Ints
    ) -> None:
        """Add the steps that compute an image from outputs y, one phase of the stride at a time."""
        # The image and the output exchange their roles, so the two dims of channels of the weight are transposed.
        turned = w.seen(w.layout.transpose(1, 2))
        lines = phased(out.shape, y.shape, w.shape[3:], stride, padding, dilation)
        if max(stride) > 1 and self.channels_last(steps, out, y, turned, None, lines):
            return
        phases = []
        for phase in product(*(range(min(s, n)) for s, n in zip(stride, out.shape[2:], strict=True))):
            taps = [phase_taps(*d) for d in zip(phase, w.shape[3:], stride, padding, dilation, strict=True)]
            phases.append((phase, taps))
        if not all(all(taps) for _, taps in phases):
            steps.fill(out, 0)
        for phase, taps in phases:
            if all(taps):
                layout = out.layout
                for d, start in enumerate(phase):
                    layout = layout.slice(2 + d, start, None, stride[d])
                self._correlate(steps, out.seen(layout), y, turned, None, taps, (1,) * len(stride))

    def _product_of_points(
        self, steps: Steps, out: Value, x: Value, w: Value, bias: Value | None, taps: list[Taps], stride: Ints
    ) -> bool:
        """Compute a convolution of single points as a matrix product, or return False.

        The result is False if an output reads more than one point, or if the points are not evenly spaced in memory.
        """
        sees_more = max(stride) > 1 or any(t != [(0, 0)] for t in taps) or out.shape[2:] != x.shape[2:]
        if sees_more or w.shape[0] > 1 or not out.layout.is_contiguous:
            return False
        n, points, (m, c) = out.shape[0], math.prod(out.shape[2:]), w.shape[1:3]
        matrix = x.layout.reshape((n, c, points))
        if matrix is None:
            return False
        results = out.seen(Layout.contiguous((n, m, points), out.layout.offset))
        left = w.seen(Layout.make((n, m, c), (0, *w.layout.strides[1:3]), w.layout.offset))
        added = None
        if bias:
            added = bias.seen(Layout.make((n, m, points), (0, bias.layout.strides[0], 0), bias.layout.offset))
        self.product(steps, results, left, x.seen(matrix), added)
        return True

    def _correlate_weight(self, steps: Steps, out: Value, y: Value, x: Value, taps: list[Taps], stride: Ints) -> None:
        """Add the steps that sum over outputs y; out, the weight's gradient, has dims (group, M, C, taps)."""
        if self.winograd_weight(steps, out, y, x, taps, stride):
            return
        if self.channels_last_weight(steps, out, y, x, lines_of(y.shape, stride, x.shape, taps)):
            return
        dtype, (groups, m, c) = out.dtype, out.shape[:3]
        k = c * math.prod(map(len, taps))
        _, nr = tile_size(dtype)
        pitch = -(-m // nr) * nr
        fields = fields_of(y.shape, stride, x.shape, taps)
        cut(fields, x.shape[0], (c + pitch) * dtype.itemsize, 4 * nr)
        parts = x.shape[0] * blocks_of(fields)
        chunks = min(parts, -(-TASKS // groups), max(2, SLABS // (groups * k * pitch)))
        chunks = -(-parts // -(-parts // chunks))
        numbers = numbers_of(fields, x.shape[0], groups, (m, c), x.layout, y.layout, out.layout, share=chunks)
        slabs = steps.work((groups * chunks * k * pitch,), dtype)
        kind = kind_of(y.layout.numel * k * dtype.itemsize // WORK, groups * chunks)
        loops = (depthwise.correlate_weight, depthwise.dot) if m <= FEW else (conv.correlate_weight, transpose_copy)
        template, helper = loops
        kernel = self.kernel(write, template, dtype, *COPY, patches.count_blocks, helper, kind=kind)
        steps.then(kernel, x, y, slabs, numbers=headed(groups * chunks, numbers))
        add_slabs(self, steps, slabs, out, chunks, pitch=pitch)


# ---- values ---------------------------------------------------------------------------------------------------------


def in_registers(steps: Steps) -> tuple[Value, ...]:
    """Return the result and the operands in the dtype of registers; operands of other dtypes are cast."""
    (out,) = steps.outs
    dtype = as_dtype(out.dtype.compute)
    values = [out if out.dtype is dtype else steps.work(out.shape, dtype)]
    values += [Matmul.cast(steps, x, dtype) for x in steps.operands]
    return tuple(values)


# ---- the positions of taps and blocks -------------------------------------------------------------------------------


def fields_of(outputs: Ints, stride: Ints, image: Ints, taps: list[Taps]) -> list[Field]:
    """Return three dims, for shapes of whole tensors."""
    fields = [Field(*d) for d in zip(outputs[2:], stride, image[2:], taps, strict=True)]
    return [Field(1, 1, 1, [(0, 0)])] * (3 - len(stride)) + fields


def biased(bias: Value | None, channels: int) -> dict[str, int]:
    """Return the scalar arguments of a bias.

    channels: the output channels of a group.
    """
    if bias is None:
        return {}
    step = bias.layout.strides[0]
    return {"b": bias.layout.offset, "b_group": channels * step, "b_out": step, "biased": 1}


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


# ---- kernels --------------------------------------------------------------------------------------------------------


def write(template: Callable[..., Any], dtype: DType, *helpers: Callable[..., Any]) -> Any:
    """Write, compile and import one of the loops, with the functions that it calls."""
    return load_loops(
        template, dtype, conv.CONV, helpers, constants={"RUNS": conv.CONV.position("runs")},
        fastmath=("reassoc", "contract") if template is depthwise.correlate_weight else (),
    )  # fmt: skip
