"""The taps of a convolution: the pixels that they read, and their places in the weight."""

from __future__ import annotations

from itertools import product

from minigrad.backends.steps import Ints, Value
from minigrad.core.layout import Layout

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
