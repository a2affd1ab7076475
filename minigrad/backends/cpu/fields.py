"""The spatial dims of a convolution and their taps: blocks of outputs, what they read, and scalar arguments.

    image, 9 wide, 3 taps, stride 2         a block of 3 outputs copies 7 elements, by phases of the stride:
      0 1 2 3 4 5 6 7 8                       phase 0: 0 2 4 6     tap 0 reads slots 0 1 2 of phase 0
      [tap]   outputs 0 1 2 3                 phase 1: 1 3 5       tap 1 reads slots 0 1 2 of phase 1
        [tap]                                                      tap 2 reads slots 1 2 3 of phase 0

A tap thus reads a dense run of a copy, for any stride.  `conv.py` chooses the method, `kernels/cpu/conv.py` has the
loops.  `channels.py` copies pixels side by side instead, in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

from minigrad.backends.steps import Ints, Value
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.kernels.cpu.processor import tile_shape

BLOCK = 3 << 17  # bytes of an image that a task copies; they fit the second-level cache, next to the weights
TASKS = 16  # number of blocks of the work; the shape determines their bounds
SLABS = 1 << 22  # maximum number of elements of the partial sums of a weight's gradient
Taps = list[tuple[int, int]]  # (position relative to the output, index in the kernel), along one dim


def forward_taps(kernel: Ints, padding: Ints, dilation: Ints) -> list[Taps]:
    """Return, per dim, the positions that taps read, relative to output * stride."""
    return [[(t * d - p, t) for t in range(k)] for k, p, d in zip(kernel, padding, dilation, strict=True)]


def phase_taps(phase: int, kernel: int, stride: int, padding: int, dilation: int) -> Taps:
    """Return the taps that connect elements phase, phase + stride, ... of an image to outputs, with these outputs."""
    meets = [(phase + padding - t * dilation, t) for t in range(kernel)]
    return [(e // stride, t) for e, t in meets if e % stride == 0]


def taps_in_weight(w: Layout, taps: list[Taps] | None = None) -> list[int]:
    """Return the offset of each tap in a weight (group, M, C, taps), by default of all taps in their order."""
    indices = [range(n) for n in w.shape[3:]] if taps is None else [[t for _, t in each] for each in taps]
    return [sum(s * t for s, t in zip(w.strides[3:], tap, strict=True)) for tap in product(*indices)]


class Line:
    """The outputs along one spatial dim: their size, stride and taps, and the part of the image that a block reads.

    taps: those of each phase of the outputs.  Outputs that are `step` apart are one phase; `size` is their number.
    block: the number of outputs of a phase in a block.
    low, reach: the lowest position that output 0 reads, and the distance from it to the highest.
    begins, phases: where the positions that are one stride apart begin, and their number.
    """

    def __init__(self, outputs: int = 1, stride: int = 1, image: int = 1, *taps: Taps) -> None:
        self.outputs, self.stride, self.image, self.taps = outputs, stride, image, taps or ([(0, 0)],)
        self.step = len(self.taps)
        self.size = self.block = -(-outputs // self.step)
        positions = [e for phase in self.taps for e, _ in phase]
        self.low = min(positions)
        self.reach = max(positions) - self.low
        self.begins = sorted({(e - self.low) % stride for e in positions})
        self.phases = len(self.begins)

    @property
    def blocks(self) -> int:
        return -(-self.size // self.block)

    @property
    def pixels(self) -> int:
        """The size of a copy in the order of the image."""
        return (self.block - 1) * self.stride + self.reach + 1

    @property
    def slots(self) -> int:
        """The size of a copy of one phase of the stride."""
        return self.block + self.reach // self.stride

    def positions(self) -> list[tuple[int, int]]:
        """Return (phase, slot) of each tap in a copy by phases of the stride."""
        taps = [divmod(e - self.low, self.stride) for e, _ in self.taps[0]]
        return [(self.begins.index(phase), slot) for slot, phase in taps]


def lines_of(outputs: Ints, stride: Ints, image: Ints, taps: list[Taps]) -> list[Line]:
    """Return three dims, for shapes of whole tensors."""
    return three([Line(*dim) for dim in zip(outputs[2:], stride, image[2:], taps, strict=True)])


def three(lines: list[Line]) -> list[Line]:
    """Return dims behind dims of size 1."""
    return [Line() for _ in range(3 - len(lines))] + lines


def count(lines: list[Line], name: str) -> int:
    """Return the product of a number of each dim."""
    return prod([getattr(line, name) for line in lines])


def cut(lines: list[Line], too_much: Callable[[], bool], too_few: Callable[[], bool], along_all: bool = False) -> None:
    """Divide the first dims into blocks until a block is not too large and there are not too few.

    along_all: whether the next dim is also divided if only the number of blocks requires it.
    """
    for line in lines:
        pieces = 1
        while line.block > 1 and (too_much() or too_few()):
            pieces += 1
            line.block = -(-line.size // pieces)
        if line.block > 1 or not (along_all or too_much()):
            break


def cut_copies(lines: list[Line], units: int, weight: int, least: int) -> None:
    """Divide the first dims into blocks until the image of a block fits the cache, and there are blocks for all cores.

    units: the number of independent parts of the work before it is divided into blocks.
    weight: the number of bytes of the image per position.
    least: the smallest number of outputs for which a separate block saves time.
    """
    cut(
        lines,
        lambda: count(lines, "slots") * count(lines, "phases") * weight > BLOCK,
        lambda: units * count(lines, "blocks") < TASKS and count(lines, "block") >= 2 * least,
    )


def form_of(lines: list[Line], runs: int, panels: int, dtype: DType) -> str:
    """Return how tiles cover the outputs of a block.

    "flat": a tile continues from row to row, across columns that are dropped.  "rows": it ends with each row of
    outputs.  "unfolded": the runs are copied without the columns to drop.

    runs: the number of multiply-adds per output.
    panels: the number of panels of output channels for which a task copies the image.

    A tile takes about two cycles per multiply-add in one of its columns, and 40 additional cycles.  A tile that
    continues into the next row must be split, which takes about 300 cycles.  A vector is copied in about five cycles.
    """
    first, middle, last = (line.block for line in lines)
    lanes, mr, vectors = tile_shape(str(dtype))
    nr, whole = vectors * lanes, 2 * runs * mr + 40
    flat = ((first - 1) * lines[1].slots + middle - 1) * lines[2].slots + last
    crossing = min(1.0, nr / lines[2].slots)
    copied = runs * first * middle * -(-last // lanes)
    cycles = {
        "flat": panels * -(-flat // nr) * (whole + crossing * 300),
        "rows": panels * first * middle * -(-last // nr) * whole,
        "unfolded": panels * -(-first * middle * last // nr) * whole + 5 * copied,
    }
    if copied * lanes * dtype.itemsize > BLOCK:
        del cycles["unfolded"]
    return min(cycles, key=cycles.__getitem__)


# ---- scalar arguments -----------------------------------------------------------------------------------------------


def strided(name: str, x: Layout, dims: range = range(3)) -> dict[str, int]:
    """Return the offset and the strides of an image or of outputs by name; missing leading dims have stride 0."""
    steps = (*(0,) * (5 - len(x.shape)), *x.strides[2:])
    numbers = {name: x.offset, f"{name}_image": x.strides[0], f"{name}_channel": x.strides[1]}
    return numbers | {f"{name}{d}": steps[d] for d in dims}


def biased(bias: Value | None, **groups: int) -> dict[str, Any]:
    """Return the numbers of a bias.  groups: the names of further strides, as numbers of output channels."""
    step = bias.layout.strides[0] if bias else 0
    numbers = {"b": bias.layout.offset if bias else 0, "b_out": step, "biased": int(bias is not None)}
    return numbers | {name: step * channels for name, channels in groups.items()}


def by_dim(lines: list[Line], **names: str) -> dict[str, int]:
    """Return the numbers of three dims.  names: the attributes of further numbers by their names."""
    names |= {name: name for name in ("size", "block", "stride", "low", "image")}
    return {f"{name}{d}": getattr(line, of) for d, line in enumerate(lines) for name, of in names.items()}


def are_dense(lines: list[Line], y: Layout) -> bool:
    """Return whether the outputs of a channel in a block are contiguous."""
    strides = y.strides[2:]
    return Layout.make(tuple([line.block for line in lines][-len(strides) :]), strides).is_contiguous


def copied_numbers(
    lines: list[Line], x: Layout, y: Layout, w: Layout, bias: Value | None = None, **more: Any
) -> dict[str, Any]:
    """Return the numbers of the loops of `kernels/cpu/conv.py`, except those that divide the work.

    w: the layout of a weight (group, M, C, taps).
    """
    groups, m, c = w.shape[:3]
    taps, unfolded = [line.taps[0] for line in lines], more.setdefault("unfolded", False)
    return {"by_row": False} | more | strided("x", x) | strided("y", y) | biased(bias, b_group=m) | {
        "images": x.shape[0], "groups": groups, "outs": m, "ins": c, "x_group": c * x.strides[1],
        "y_group": m * y.strides[1], "w": w.offset, "w_group": w.strides[0], "w_out": w.strides[1],
        "w_in": w.strides[2], "phase": [phase for line in lines for phase in line.begins],
        "runs": offsets(lines, c, bias is not None), "dense": unfolded and are_dense(lines, y),
        "in_weight": taps_in_weight(w, taps[3 - len(x.shape[2:]) :]),
    } | by_dim(lines, slots="slots", phases="phases")  # fmt: skip


def offsets(lines: list[Line], channels: int, bias: int) -> list[int]:
    """Return, for each channel and tap, the offset of its run in a block's copy of the image, and of its unfolded run.

    Each list ends with the offset of the ones of a bias.
    """
    phases, slots = [line.phases for line in lines], [line.slots for line in lines]
    one = prod(slots)
    whole = one * prod(phases)
    near = [
        ((p0 * phases[1] + p1) * phases[2] + p2) * one + (s0 * slots[1] + s1) * slots[2] + s2
        for (p0, s0), (p1, s1), (p2, s2) in product(*(line.positions() for line in lines))
    ]
    copied = [*(c * whole + position for c in range(channels) for position in near), *[channels * whole] * bias]
    outputs = count(lines, "block")
    return [*copied, *(outputs * (bias + k) for k in range(channels * len(near))), *[0] * bias]
