"""The steps that pack the weight of a convolution, and that add the partial sums of its gradient.

The loops are in `kernels/cpu/weights.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from minigrad.backends.cpu.family import headed, kind_of
from minigrad.backends.cpu.fields import offsets_of_taps
from minigrad.backends.cpu.texts import load_loops
from minigrad.backends.steps import Steps, Value
from minigrad.core.dtype import DType
from minigrad.kernels.cpu import weights
from minigrad.kernels.cpu.transposing import transpose_copy

NONE = dict.fromkeys(
    "outs ins b b_group b_out biased width near far tap share lines wide pitch line each".split(), 0
)  # fmt: skip


def pack_weight(
    steps: Steps, w: Value, width: int, taps: list[int] | None = None, bias: Value | None = None,
    by_taps: bool = False,
) -> Value:  # fmt: skip
    """Add the step that packs a weight (group, M, C, taps), and return the panels.

    width: the number of output channels of a panel.
    taps: the offset of each tap in the weight, by default of all taps in their order.
    by_taps: whether a panel has all channels of a tap together, instead of all taps of a channel.
    """
    groups, m, c = w.shape[:3]
    taps = offsets_of_taps(w.layout) if taps is None else taps
    strides = {b - a for a, b in pairwise(taps)}
    tap = 1 if len(taps) == 1 else strides.pop() if len(strides) == 1 else 0
    even = tap > 0 and taps[0] == 0
    rows, tall = c * len(taps) + (bias is not None), -(-m // width)
    values = described(w, taps) | {
        "width": width, "tap": tap if even else 0, "near": 1 if by_taps else len(taps), "far": c if by_taps else 1,
    }  # fmt: skip
    if bias is not None:
        step = bias.layout.strides[0]
        values |= {"b": bias.layout.offset, "b_group": m * step, "b_out": step, "biased": 1}
    panels = steps.work((groups * tall * width * rows,), w.dtype)
    kernel = steps.backend.kernel(write, weights.pack_weight, w.dtype, kind=kind_of(panels.layout.numel, groups * tall))
    numbers = weights.WEIGHT.pack(**values)
    steps.then(kernel, w, bias or w, panels, numbers=headed(groups * tall, numbers))
    return panels


def add_slabs(steps: Steps, slabs: Value, out: Value, share: int, lanes: int = 0, pitch: int = 0) -> None:
    """Add the step that sums the slabs of a weight's gradient (group, M, C, taps).

    A slab has a line for each output channel, or for each channel of the image if `pitch` is given.
    lanes: the number of channels of a depthwise convolution, rounded up; its slabs have one line for all groups.
    """
    (groups, m, c), layout = out.shape[:3], out.layout
    values = described(out, offsets_of_taps(out.layout)) | {"share": share}
    if lanes:
        groups = 1
        values |= {"groups": 1, "lines": 1, "wide": out.shape[0], "pitch": lanes, "each": layout.strides[0]}
    elif pitch:
        values |= {"lines": c, "wide": m, "pitch": pitch, "line": layout.strides[2], "each": layout.strides[1]}
    else:
        values |= {"lines": m, "wide": c, "pitch": c, "line": layout.strides[1], "each": layout.strides[2]}
    tasks = groups * values["lines"]
    kernel = steps.backend.kernel(write, weights.add_slabs, out.dtype, kind=kind_of(slabs.layout.numel, tasks))
    steps.then(kernel, slabs, out, numbers=headed(tasks, weights.WEIGHT.pack(**values)))


def described(w: Value, taps: list[int]) -> dict[str, Any]:
    """Return the scalar arguments that describe a weight; the others are 0."""
    strides = w.layout.strides
    return NONE | {
        "groups": w.shape[0], "outs": w.shape[1], "ins": w.shape[2], "in_weight": taps,
        "taps": len(taps), "w": w.layout.offset, "w_group": strides[0], "w_out": strides[1], "w_in": strides[2],
    }  # fmt: skip


def write(template: Callable[..., Any], dtype: DType) -> Any:
    """Write, compile and import one of the loops."""
    return load_loops(template, dtype, weights.WEIGHT, (transpose_copy,) if template is weights.pack_weight else ())
