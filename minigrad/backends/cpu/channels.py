"""Convolutions of images that are copied channels last: the suitable shapes, and the scalar arguments of the loops.

The loops are in `kernels/cpu/channels.py`.  They need many channels: many output channels in a group, whose taps read
long runs, or many groups of one channel.  A forward pass is one phase; the gradient of an image has a phase for each
pixel of the stride.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

from minigrad.backends.cpu.family import headed, kind_of
from minigrad.backends.cpu.fields import Taps, are_dense, offsets_of_taps, phase_taps
from minigrad.backends.cpu.matmul import WORK
from minigrad.backends.cpu.texts import load_loops
from minigrad.backends.cpu.weights import sum_slabs, weight_panels
from minigrad.backends.steps import Ints, Steps, Value
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.kernels.cpu import channels, patches
from minigrad.kernels.cpu.elementwise import clear, transpose_copy
from minigrad.kernels.cpu.processor import tile_shape
from minigrad.kernels.cpu.target import imported

BLOCK = 3 << 15  # bytes of a task's image and results; they fit the second-level cache, next to the weights
TASKS = 16  # number of blocks of the work; the shape determines their bounds
SLABS = 1 << 22  # maximum number of elements of the partial sums of a weight's gradient
LEAST = 64  # minimum number of positions of a block that is cut into two
MANY = 12  # minimum number of output channels of a group, and minimum length of a run of multiply-adds
ROWS = 8  # number of rows of the tile of vectors: their sums and one vector fit the registers
DEEP = 256  # number of outputs that a weight's gradient sums at a time
SHORT = 16  # rows of an image with fewer elements are transposed together


class Line:
    """The positions along one spatial dim, with the elements that they read and write.

    step: the number of outputs between two positions, which is the number of phases.
    taps: of each phase.
    """

    def __init__(self, outputs: int, step: int, stride: int, image: int, taps: list[Taps]) -> None:
        self.outputs, self.step, self.stride, self.image, self.taps = outputs, step, stride, image, taps
        self.size = self.block = -(-outputs // step)
        positions = [e for phase in taps for e, _ in phase]
        self.low = min(positions)
        self.reach = max(positions) - self.low

    @property
    def slots(self) -> int:
        return (self.block - 1) * self.stride + self.reach + 1


def channels_last(steps: Steps, out: Value, x: Value, w: Value, bias: Value | None, lines: list[Line]) -> bool:
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
    pixel = (lanes if deep else c, math.prod(line.step for line in lines) * wide)
    blocks = cut(lines, out.shape[0] * units, pixel, dtype)
    tall = -(-wide // nr)
    reads = sum(length for phase in runs for *_, length in phase) * math.prod(line.size for line in lines)
    work = out.shape[0] * groups * m * reads // max(1, WORK // dtype.itemsize)
    kind = kind_of(work, tall * blocks)
    high = max(1, tall * blocks // TASKS) if kind == "shared" and blocks < TASKS else tall
    numbers = numbers_of(lines, runs, w.layout, groups, x, out, bias, high, deep)
    panels = w
    if not deep:
        panels = weight_panels(steps, w, nr, by_taps=True)
    kernel = steps.backend.kernel(write, channels.convolve, dtype, deep, kind=kind)
    tasks = blocks * -(-tall // high)
    steps.then(kernel, x, panels, w, bias or w, out, numbers=headed(tasks, numbers))
    return True


def channels_last_weight(steps: Steps, out: Value, y: Value, x: Value, lines: list[Line]) -> bool:
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
    parts = cut(lines, x.shape[0] * units, pixel, dtype) // units
    chunks = min(parts, -(-TASKS // units), max(2, SLABS // (units * size)))
    chunks = -(-parts // -(-parts // chunks))
    numbers = numbers_of(lines, runs, out.layout, groups, x, y, None, chunks, deep)
    slabs = steps.work((chunks * units * size,), dtype)
    work = y.layout.numel * c * taps // max(1, WORK // dtype.itemsize)
    kernel = steps.backend.kernel(write, channels.convolve_weight, dtype, deep, kind=kind_of(work, units * chunks))
    steps.then(kernel, x, y, slabs, numbers=headed(units * chunks, numbers))
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


def cut(lines: list[Line], units: int, pixel: tuple[int, int], dtype: DType) -> int:
    """Divide the first dims into blocks until a task fits the cache, and there are tasks for all cores.

    units: the number of independent parts of the work before it is divided into blocks.
    pixel: the number of elements of a pixel of the image, and of a position of the results.
    Return the number of blocks.
    """

    def positions() -> int:
        return math.prod(line.block for line in lines)

    def count() -> int:
        return units * math.prod(-(-line.size // line.block) for line in lines)

    def too_much() -> bool:
        elements = math.prod(line.slots for line in lines) * pixel[0] + positions() * pixel[1]
        return elements * dtype.itemsize > BLOCK and positions() >= 2 * LEAST

    def too_few() -> bool:
        return count() < TASKS and positions() >= 2 * LEAST

    for line in lines:
        pieces = 1
        while line.block > 1 and (too_much() or too_few()):
            pieces += 1
            line.block = -(-line.size // pieces)
        if line.block > 1:
            break
    return count()


def lines_of(outputs: Ints, stride: Ints, image: Ints, taps: list[Taps]) -> list[Line]:
    """Return three dims of a convolution, channels last."""
    lines = [Line(o, 1, s, i, [t]) for o, s, i, t in zip(outputs[2:], stride, image[2:], taps, strict=True)]
    return [Line(1, 1, 1, 1, [[(0, 0)]]) for _ in range(3 - len(stride))] + lines


def phased(outputs: Ints, image: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> list[Line]:
    """Return three dims of the gradient of an image, of shape `outputs`, with a phase for each pixel of the stride.

    image: the shape of the outputs of the forward pass, which are read here.
    """
    lines = [Line(1, 1, 1, 1, [[(0, 0)]]) for _ in range(3 - len(stride))]
    for n, i, k, s, p, d in zip(outputs[2:], image[2:], kernel, stride, padding, dilation, strict=True):
        lines.append(Line(n, s, 1, i, [phase_taps(phase, k, s, p, d) for phase in range(s)]))
    return lines


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


def numbers_of(
    lines: list[Line], phases: list[list[Ints]], w: Layout, groups: int, x: Value, y: Value, bias: Value | None,
    share: int, deep: bool,
) -> list[int]:  # fmt: skip
    """Return the scalar arguments of the templates, in the order of their docstring."""
    m, c = w.shape[1:3]
    lanes = tile_shape(str(y.dtype))[0]
    units, per = (-(-groups // lanes), lanes) if deep else (groups, 1)
    pitch = lanes if deep else c
    extra = (0,) * (5 - len(x.shape))
    runs = [run for phase in phases for run in phase]
    (s1, s2), low = (line.slots for line in lines[1:]), [line.low for line in lines]
    pixels = [((e0 - low[0]) * s1 + e1 - low[1]) * s2 + e2 - low[2] for e0, e1, e2, *_ in runs]
    begins = [sum(map(len, phases[:k])) for k in range(len(phases) + 1)]
    taps = offsets_of_taps(w)
    values: dict[str, Any] = {
        "images": x.shape[0], "units": units, "channels": c, "outs": 1 if deep else m,
        "total": groups * c,
        "x": x.layout.offset, "x_image": x.layout.strides[0], "x_channel": x.layout.strides[1],
        "x_unit": per * c * x.layout.strides[1],
        "y": y.layout.offset, "y_image": y.layout.strides[0], "y_channel": y.layout.strides[1],
        "y_unit": per * m * y.layout.strides[1],
        "w": w.offset, "w_unit": per * w.strides[0], "w_out": w.strides[0] if deep else w.strides[1],
        "b": 0, "b_unit": 0, "b_out": 0, "biased": bias is not None, "share": share, "taps": len(taps),
        "begins": begins, "from_pixel": [pixel * pitch for pixel in pixels],
        "from_row": [index if deep else index * c for *_, index, _ in runs], "length": [length for *_, length in runs],
        "in_weight": taps,
    }  # fmt: skip
    if bias:
        step = bias.layout.strides[0]
        values |= {"b": bias.layout.offset, "b_unit": per * m * step, "b_out": step}
    for d, line in enumerate(lines):
        values |= {
            f"size{d}": line.size, f"block{d}": line.block, f"stride{d}": line.stride, f"low{d}": line.low,
            f"slots{d}": line.slots, f"image{d}": line.image, f"step{d}": line.step, f"outputs{d}": line.outputs,
            f"x{d}": (*extra, *x.layout.strides[2:])[d], f"y{d}": (*extra, *y.layout.strides[2:])[d],
        }  # fmt: skip
    values["whole"] = all(line.step == 1 for line in lines) and are_dense([line.block for line in lines], y.layout)
    values["merged"] = are_short(lines[2], x.layout)
    return channels.CHANNELS.pack(**values)


def are_short(line: Line, x: Layout) -> bool:
    """Return whether the rows of the image are short, contiguous, and read whole."""
    whole = line.block == line.size and line.low <= 0 and line.low + line.slots >= line.image
    return whole and line.image < SHORT and x.strides[-1] == 1 and (len(x.shape) < 4 or x.strides[-2] == line.image)


def write(template: Callable[..., Any], dtype: DType, depthwise: bool) -> Any:
    """Write, compile and import one of the loops, with the functions that it calls."""
    helpers: tuple[Callable[..., Any], ...] = (clear, channels.locate, transpose_copy, channels.gather_last)
    if template is channels.convolve:
        helpers += (channels.scatter_last, channels.multiply_lanes if depthwise else channels.multiply_panels)
    else:
        helpers += (patches.count_blocks, *(() if depthwise else (channels.multiply_outputs,)))
    helpers += (patches.block_of,)
    made = f'lane_tile = sums_of_lanes("{dtype}", LANES, {ROWS})'
    lanes = imported("lanes", "sums_of_lanes", made, beside=("tile.py", "emitting.py"))
    constants = {
        "ROWS": str(ROWS), "DEEP": str(DEEP), "FROM_PIXEL": channels.CHANNELS.position("from_pixel"),
        "DEPTHWISE": str(int(depthwise)),
    }  # fmt: skip
    return load_loops(
        template, dtype, channels.CHANNELS, helpers, lanes if depthwise else "", "depthwise" if depthwise else "",
        constants=constants,
    )  # fmt: skip
