"""Convolutions of images that are copied channels last: the suitable shapes, and the scalar arguments of the loops.

The loops are in `kernels/cpu/channels.py`.  They need many channels: many output channels in a group, whose taps read
long runs, or many groups of one channel.  A forward pass is one phase; the gradient of an image has a phase for each
pixel of the stride.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from minigrad.backends.cpu import fields
from minigrad.backends.cpu.family import CpuSteps, kind_of
from minigrad.backends.cpu.fields import Line, count
from minigrad.backends.cpu.matmul import WORK
from minigrad.backends.cpu.weights import sum_slabs, weight_panels
from minigrad.backends.steps import Ints, Value
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.kernels.cpu import channels
from minigrad.kernels.cpu.processor import tile_shape

BLOCK = 3 << 15  # bytes of a task's image and results; they fit the second-level cache, next to the weights
LEAST = 64  # minimum number of positions of a block that is cut into two
MANY = 12  # minimum number of output channels of a group, and minimum length of a run of multiply-adds
SHORT = 16  # rows of an image with fewer elements are transposed together


def channels_last(steps: CpuSteps, out: Value, x: Value, w: Value, bias: Value | None, lines: list[Line]) -> bool:
    """Add the steps that compute outputs; w has dims (group, M, C, taps).

    Return False if another method is faster.
    """
    dtype, (groups, m, c) = out.dtype, w.shape[:3]
    deep = m == c == 1
    runs = runs_of(lines, w.shape[3:], c)
    if not pays(groups, m, c, lines, runs, dtype):
        return False
    lanes, _, vectors = tile_shape(str(dtype))
    nr, wide = lanes * vectors, lanes if deep else m
    units = -(-groups // lanes) if deep else groups
    pixel = (lanes if deep else c, count(lines, "step") * wide)
    blocks = cut_last(lines, out.shape[0] * units, pixel, dtype)
    tall = -(-wide // nr)
    reads = sum(length for phase in runs for *_, length in phase) * count(lines, "size")
    work = out.shape[0] * groups * m * reads // max(1, WORK // dtype.itemsize)
    kind = kind_of(work, tall * blocks)
    high = max(1, tall * blocks // fields.TASKS) if kind == "shared" and blocks < fields.TASKS else tall
    panels = w if deep else weight_panels(steps, w, nr, by_taps=True)
    steps.run(
        channels.convolve_last, x, panels, w, bias or w, out, words={"DEPTHWISE": deep},
        form="depthwise" if deep else "", tasks=blocks * -(-tall // high), numel=work,
        **last_numbers(lines, runs, w.layout, x, out, bias, high, deep),
    )  # fmt: skip
    return True


def channels_last_weight(steps: CpuSteps, out: Value, y: Value, x: Value, lines: list[Line]) -> bool:
    """Add the steps that sum over outputs y; out, the weight's gradient, has dims (group, M, C, taps).

    Return False if another method is faster.
    """
    dtype, (groups, m, c) = out.dtype, out.shape[:3]
    deep, taps = m == c == 1, math.prod(out.shape[3:])
    runs = runs_of(lines, out.shape[3:], c)
    if not pays(groups, m, c, lines, runs, dtype):
        return False
    y = steps.dense(y)
    lanes = tile_shape(str(dtype))[0]
    units, size = (-(-groups // lanes), taps * lanes) if deep else (groups, m * c * taps)
    pixel = (lanes if deep else c, lanes if deep else m)
    parts = cut_last(lines, x.shape[0] * units, pixel, dtype) // units
    chunks = min(parts, -(-fields.TASKS // units), max(2, fields.SLABS // (units * size)))
    chunks = -(-parts // -(-parts // chunks))
    slabs = steps.work((chunks * units * size,), dtype)
    steps.run(
        channels.convolve_last_weight, x, y, slabs, words={"DEPTHWISE": deep}, form="depthwise" if deep else "",
        tasks=units * chunks, numel=y.layout.numel * c * taps // max(1, WORK // dtype.itemsize),
        **last_numbers(lines, runs, out.layout, x, y, None, chunks, deep),
    )  # fmt: skip
    sum_slabs(steps, slabs, out, chunks, units * lanes if deep else 0)
    return True


def pays(groups: int, m: int, c: int, lines: list[Line], runs: list[list[Ints]], dtype: DType) -> bool:
    """Return whether channels last is the fastest order of a convolution.

    If the output channels are not more than LANES, the tile is half empty.  Long rows of stride 1 are then faster as
    columns of the tile, in the loops of `conv.py`.
    """
    lanes, _, vectors = tile_shape(str(dtype))
    if m == c == 1:
        return 2 * groups >= lanes
    last = lines[-1]
    if m <= lanes and last.stride == last.step == 1 and last.size >= vectors * lanes:
        return False
    lengths = [length for phase in runs for *_, length in phase]
    return m >= MANY and sum(lengths) >= MANY * len(lengths)


def cut_last(lines: list[Line], units: int, pixel: tuple[int, int], dtype: DType) -> int:
    """Divide the first dims into blocks until a task fits the cache, and there are tasks for all cores.

    units: the number of independent parts of the work before it is divided into blocks.
    pixel: the number of elements of a pixel of the image, and of a position of the results.
    Return the number of blocks.
    """

    def divisible() -> bool:
        return count(lines, "block") >= 2 * LEAST

    def too_much() -> bool:
        elements = count(lines, "pixels") * pixel[0] + count(lines, "block") * pixel[1]
        return elements * dtype.itemsize > BLOCK and divisible()

    fields.cut(lines, too_much, lambda: units * count(lines, "blocks") < fields.TASKS and divisible(), along_all=True)
    return units * count(lines, "blocks")


def runs_of(lines: list[Line], kernel: Ints, c: int) -> list[list[Ints]]:
    """Return the runs of each phase: position of the first pixel along each dim, index of the first tap, and length.

    Taps that are neighbours in the kernel and in the image are one run, except if there is one channel.
    """
    phases = []
    for phase in product(*(range(line.step) for line in lines)):
        runs: list[Ints] = []
        taps = [sorted(line.taps[p], key=lambda tap: tap[1]) for line, p in zip(lines, phase, strict=True)]
        for tap in product(*taps):
            index = 0
            for (_, t), k in zip(tap[-len(kernel) :], kernel, strict=True):
                index = index * k + t
            position = tuple(e for e, _ in tap)
            if runs and c > 1:
                *before, last, first, length = runs[-1]
                count = length // c
                if (*before, last + count) == position and first + count == index:
                    runs[-1] = (*before, last, first, length + c)
                    continue
            runs.append((*position, index, c))
        phases.append(runs)
    return phases


def last_numbers(
    lines: list[Line], phases: list[list[Ints]], w: Layout, x: Value, y: Value, bias: Value | None, share: int,
    deep: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return the numbers of the templates.  w: the layout of a weight (group, M, C, taps)."""
    groups, m, c = w.shape[:3]
    lanes = tile_shape(str(y.dtype))[0]
    units, per = (-(-groups // lanes), lanes) if deep else (groups, 1)
    runs = [run for phase in phases for run in phase]
    (s1, s2), low = (line.pixels for line in lines[1:]), [line.low for line in lines]
    pixels = [((e0 - low[0]) * s1 + e1 - low[1]) * s2 + e2 - low[2] for e0, e1, e2, *_ in runs]
    return {
        "images": x.shape[0], "units": units, "channels": c, "outs": 1 if deep else m, "total": groups * c,
        "x_unit": per * c * x.layout.strides[1], "y_unit": per * m * y.layout.strides[1],
        "w": w.offset, "w_unit": per * w.strides[0], "w_out": w.strides[0] if deep else w.strides[1], "share": share,
        "begins": [sum(map(len, phases[:k])) for k in range(len(phases) + 1)],
        "from_pixel": [pixel * (lanes if deep else c) for pixel in pixels],
        "from_row": [index if deep else index * c for *_, index, _ in runs], "length": [length for *_, length in runs],
        "in_weight": fields.taps_in_weight(w),
        "whole": all(line.step == 1 for line in lines) and fields.are_dense(lines, y.layout),
        "merged": are_short(lines[2], x.layout),
        **fields.strided("x", x.layout), **fields.strided("y", y.layout), **fields.biased(bias, b_unit=per * m),
        **fields.by_dim(lines, slots="pixels", step="step", outputs="outputs"),
    }  # fmt: skip


def are_short(line: Line, x: Layout) -> bool:
    """Return whether the rows of the image are short, contiguous, and read whole."""
    whole = line.block == line.size and line.low <= 0 and line.low + line.pixels >= line.image
    return whole and line.image < SHORT and x.strides[-1] == 1 and (len(x.shape) < 4 or x.strides[-2] == line.image)
