"""Weights of convolutions on the CPU: panels that the register tile reads, and the sums of a gradient's tasks.

`conv.py` and `channels.py` have the loops that read the panels and write the sums.

groups: their count.  outs, ins: channels of the output and of the image in a group.  taps: their count.  w, b: offsets
and strides of weight and bias; in_weight: the offset of each tap in the weight.  width: output channels of a panel.
near, far: the distance between rows of a panel for neighbouring channels of the image, and for neighbouring taps.  tap:
the stride of the taps, or 0 if they are not evenly spaced.  share: slabs of a group.  lines, wide: a slab has a line
for each output channel or for each channel of the image, with `wide` sums per tap, `pitch` apart.  line, beside: the
distances in the weight between the elements of neighbouring lines, and of neighbouring sums.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from minigrad.backends.cpu.family import CpuSteps
from minigrad.backends.cpu.fields import biased, taps_in_weight
from minigrad.backends.steps import Value
from minigrad.kernels.cpu.elementwise import transpose_copy
from minigrad.kernels.cpu.target import tiles
from minigrad.kernels.fields import Fields, loop

WEIGHT = Fields(
    "groups outs ins taps w w_group w_out w_in b b_group b_out biased width near far tap share lines wide pitch line "
    "beside",
    "in_weight[taps]",
)


@loop(WEIGHT, results=1, helpers=(transpose_copy,), imports=tiles)
def pack_weight(w, bias, panels, N):  # type: ignore[no-untyped-def]
    """Copy the weight into panels of output channels.  A task is one panel.

    For each channel of the image and tap, a panel has the weights of its output channels side by side, and zeros beyond
    the last output channel.  The bias is one more row.
    """
    W, C, taps = N.width, N.ins, N.taps
    K = C * taps + N.biased
    tall = (N.outs + W - 1) // W
    for panel in range(first, last):
        g = panel // tall
        m = panel % tall * W
        wide = min(W, N.outs - m)
        for c in range(C):
            q = N.w + g * N.w_group + m * N.w_out + c * N.w_in
            to = (panel * K + c * N.near) * W
            if N.tap > 0:
                transpose_copy(w, q, N.w_out, N.tap, panels, to, N.far * W, 1, wide, taps)
            for t in range(taps):
                row = to + t * N.far * W
                if N.tap == 0:
                    for i in range(wide):
                        panels[np.uint64(row + i)] = w[np.uint64(q + i * N.w_out + N.in_weight[t])]
                for i in range(wide, W):
                    panels[np.uint64(row + i)] = T(0)
        row = (panel * K + K - 1) * W
        for i in range(W * N.biased):
            panels[np.uint64(row + i)] = bias[N.b + g * N.b_group + (m + i) * N.b_out] if i < wide else T(0)


@loop(WEIGHT, imports=tiles)
def add_slabs(slabs, out, N):  # type: ignore[no-untyped-def]
    """Set the gradient of the weight to the sum of the slabs in their order.  A task is one line of a group."""
    size = N.taps * N.pitch
    for task in range(first, last):
        g = task // N.lines
        r = task % N.lines
        at = (g * N.share * N.lines + r) * size
        total = slabs[at : at + size]
        for chunk in range(1, N.share):
            slab = slabs[at + chunk * N.lines * size : at + chunk * N.lines * size + size]
            for q in range(size):
                total[q] = T(total[q] + slab[q])
        for t in range(N.taps):
            to = N.w + g * N.w_group + r * N.line + N.in_weight[t]
            for q in range(N.wide):
                out[np.uint64(to + q * N.beside)] = total[np.uint64(t * N.pitch + q)]


NONE = dict.fromkeys("outs ins width near far tap share lines wide pitch line beside".split(), 0)


def weight_panels(
    steps: CpuSteps, w: Value, width: int, taps: list[int] | None = None, bias: Value | None = None,
    by_taps: bool = False,
) -> Value:  # fmt: skip
    """Add the step that packs a weight (group, M, C, taps), and return the panels.

    width: the number of output channels of a panel.
    taps: the offset of each tap in the weight, by default of all taps in their order.
    by_taps: whether a panel has all channels of a tap together, instead of all taps of a channel.
    """
    groups, m, c = w.shape[:3]
    taps = taps_in_weight(w.layout) if taps is None else taps
    strides = {b - a for a, b in pairwise(taps)}
    tap = 1 if len(taps) == 1 else strides.pop() if len(strides) == 1 else 0
    even = tap > 0 and taps[0] == 0
    rows, tall = c * len(taps) + (bias is not None), -(-m // width)
    values = described(w, taps) | {
        "width": width, "tap": tap if even else 0, "near": 1 if by_taps else len(taps), "far": c if by_taps else 1,
    }  # fmt: skip
    panels = steps.work((groups * tall * width * rows,), w.dtype)
    steps.run(
        pack_weight, w, bias or w, panels, tasks=groups * tall, numel=panels.layout.numel,
        **values, **biased(bias, b_group=m),
    )  # fmt: skip
    return panels


def sum_slabs(steps: CpuSteps, slabs: Value, out: Value, share: int, lanes: int = 0, pitch: int = 0) -> None:
    """Add the step that sums the slabs of a weight's gradient (group, M, C, taps).

    A slab has a line for each output channel, or for each channel of the image if `pitch` is given.
    lanes: the number of channels of a depthwise convolution, rounded up; its slabs have one line for all groups.
    """
    (groups, m, c), layout = out.shape[:3], out.layout
    values = described(out, taps_in_weight(out.layout)) | {"share": share}
    if lanes:
        groups = 1
        values |= {"groups": 1, "lines": 1, "wide": out.shape[0], "pitch": lanes, "beside": layout.strides[0]}
    elif pitch:
        values |= {"lines": c, "wide": m, "pitch": pitch, "line": layout.strides[2], "beside": layout.strides[1]}
    else:
        values |= {"lines": m, "wide": c, "pitch": c, "line": layout.strides[1], "beside": layout.strides[2]}
    tasks = groups * values["lines"]
    steps.run(add_slabs, slabs, out, tasks=tasks, numel=slabs.layout.numel, **values, **biased(None, b_group=0))


def described(w: Value, taps: list[int]) -> dict[str, Any]:
    """Return the scalar arguments that describe a weight; the others are 0."""
    strides = w.layout.strides
    return NONE | {
        "groups": w.shape[0], "outs": w.shape[1], "ins": w.shape[2], "in_weight": taps,
        "taps": len(taps), "w": w.layout.offset, "w_group": strides[0], "w_out": strides[1], "w_in": strides[2],
    }  # fmt: skip
