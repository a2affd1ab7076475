"""Convolution on the CPU: the choice of a method for each shape and each gradient.

The loops are in `kernels/cpu/conv.py`, on the register tile of `kernels/cpu/tile.py`.  A gradient of the image is a
convolution for each phase of the stride: outputs that are one stride apart have the same taps.  All shapes are made 3-d
by leading dims of size 1. float16 and bfloat16 are cast as for a matrix product.
"""

from __future__ import annotations

import math
from itertools import product

from minigrad.backends.base import serves
from minigrad.backends.cpu import fields
from minigrad.backends.cpu.channels import channels_last, channels_last_weight
from minigrad.backends.cpu.family import CpuBackend, CpuSteps, kind_of
from minigrad.backends.cpu.fields import Line, count
from minigrad.backends.cpu.matmul import WORK, add_product, cast
from minigrad.backends.cpu.texts import tile_size
from minigrad.backends.cpu.weights import sum_slabs, weight_panels
from minigrad.backends.cpu.winograd import by_winograd, winograd_weight
from minigrad.backends.shared import points_of
from minigrad.backends.steps import Ints, Value, split
from minigrad.core import requests
from minigrad.core.dtype import as_dtype
from minigrad.core.layout import Layout
from minigrad.kernels.cpu import conv

FEW = 2  # number of output channels of a group for which a tile would be nearly empty


@serves(CpuBackend, requests.Convolve)
def convolve(steps: CpuSteps, request: requests.Convolve) -> None:
    part, stride, padding, dilation = request.part, request.stride, request.padding, request.dilation
    groups = request.groups
    if part != "output" and steps.operands[0].layout.numel == 0:
        steps.fill(steps.outs[0], 0)
        return
    z, first, second, *bias = in_registers(steps)
    if part == "output":
        taps = fields.forward_taps(second.shape[2:], padding, dilation)
        _correlate(steps, z, first, split(second, 0, groups), bias[0], taps, stride)
    elif part == "input":
        _spread(steps, z, first, split(second, 0, groups), stride, padding, dilation)
    else:
        taps = fields.forward_taps(z.shape[2:], padding, dilation)
        _correlate_weight(steps, split(z, 0, groups), first, second, taps, stride)
    if z is not steps.outs[0]:
        steps.copy(steps.outs[0], z)


def _correlate(
    steps: CpuSteps, out: Value, x: Value, w: Value, bias: Value | None, taps: list[fields.Taps], stride: Ints
) -> None:
    """Add the steps that compute outputs; the weight has dims (group, M, C, taps)."""
    if _product_of_points(steps, out, x, w, bias, taps, stride):
        return
    if by_winograd(steps, out, x, w, bias, taps, stride):
        return
    lines = fields.lines_of(out.shape, stride, x.shape, taps)
    if channels_last(steps, out, x, w, bias, lines):
        return
    dtype, (groups, m, c) = out.dtype, w.shape[:3]
    k = c * math.prod(map(len, taps))
    mr, nr = tile_size(dtype)
    tall = -(-m // mr)
    fields.cut_copies(lines, out.shape[0] * groups, c * dtype.itemsize, 4 * nr)
    blocks, work = out.shape[0] * groups * count(lines, "blocks"), out.layout.numel * k * dtype.itemsize // WORK
    if m <= FEW:
        numbers = fields.copied_numbers(lines, x.layout, out.layout, w.layout, bias, share=1)
        steps.run(conv.correlate_few, x, w, bias or w, out, tasks=blocks, numel=work, **numbers)
        return
    # With few blocks, tasks share the output channels of a block, and each task copies the image again.
    is_parallel = kind_of(work, tall * blocks) == "shared" and blocks < fields.TASKS
    high = max(1, -(-tall * blocks // fields.TASKS)) if is_parallel else tall
    form = fields.form_of(lines, k + (bias is not None), high, dtype)
    numbers = fields.copied_numbers(
        lines, x.layout, out.layout, w.layout, bias, share=high, by_row=form == "rows", unfolded=form == "unfolded"
    )
    panels = weight_panels(steps, w, mr, fields.taps_in_weight(w.layout, taps), bias)
    steps.run(conv.correlate, x, panels, out, tasks=blocks * -(-tall // high), numel=work, **numbers)


def _spread(steps: CpuSteps, out: Value, y: Value, w: Value, stride: Ints, padding: Ints, dilation: Ints) -> None:
    """Add the steps that compute an image from outputs y, one phase of the stride at a time."""
    # The image and the output exchange their roles, so the two dims of channels of the weight are transposed.
    turned = w.seen(w.layout.transpose(1, 2))
    phases = [
        [fields.phase_taps(phase, k, s, p, d) for phase in range(s)]
        for k, s, p, d in zip(w.shape[3:], stride, padding, dilation, strict=True)
    ]
    lines = fields.three([Line(n, 1, i, *each) for n, i, each in zip(out.shape[2:], y.shape[2:], phases, strict=True)])
    if max(stride) > 1 and channels_last(steps, out, y, turned, None, lines):
        return
    if _product_of_patches(steps, out, y, w, stride, padding):
        return
    chosen = [
        (starts, [each[start] for each, start in zip(phases, starts, strict=True)])
        for starts in product(*(range(min(s, n)) for s, n in zip(stride, out.shape[2:], strict=True)))
    ]
    if not all(all(taps) for _, taps in chosen):
        steps.fill(out, 0)
    for starts, taps in chosen:
        if all(taps):
            layout = out.layout
            for d, start in enumerate(starts):
                layout = layout.slice(2 + d, start, None, stride[d])
            _correlate(steps, out.seen(layout), y, turned, None, taps, (1,) * len(stride))


def _product_of_points(
    steps: CpuSteps, out: Value, x: Value, w: Value, bias: Value | None, taps: list[fields.Taps], stride: Ints
) -> bool:
    """Compute a convolution of single points as a matrix product, or return False.

    The result is False if an output reads more than one point, or if the points are not evenly spaced in memory.
    """
    sees_more = max(stride) > 1 or any(t != [(0, 0)] for t in taps) or out.shape[2:] != x.shape[2:]
    values = None if sees_more or not out.layout.is_contiguous else points_of(out, x, w, bias)
    if values is not None:
        add_product(steps, *values)
    return values is not None


def _product_of_patches(steps: CpuSteps, out: Value, y: Value, w: Value, stride: Ints, padding: Ints) -> bool:
    """Compute an image from outputs y as one product per image and a copy, or return False.

    The result is False if outputs do not read patches that cover the image without an overlap.  The product of the
    transposed weight and the outputs has a row for each channel and tap, and a column for each patch.
    """
    n, c, *image = out.shape
    m, points, size = y.shape[1], y.shape[2:], w.shape[3:]
    covered = size == stride and not any(padding) and image == [p * s for p, s in zip(points, size, strict=True)]
    if w.shape[0] > 1 or not covered or max(size) == 1:
        return False
    rows, cols = c * math.prod(size), math.prod(points)
    outputs, weight = y.layout.reshape((n, m, cols)), w.layout.reshape((m, rows))
    if outputs is None or weight is None:
        return False
    left = w.seen(Layout.make((n, rows, m), (0, *weight.strides[::-1]), weight.offset))
    patches = steps.work((n, rows, cols), out.dtype)
    add_product(steps, patches, left, y.seen(outputs), None)
    # Both are seen with the dims (image, channel, patch, tap, patch, tap ...).
    split = Layout.contiguous((n, c, *size, *points))
    order = (0, 1, *(2 + d + half for d in range(len(size)) for half in (len(size), 0)))
    target = out.layout.reshape((n, c, *(x for pair in zip(points, size, strict=True) for x in pair)))
    assert target is not None  # a dim can always be split
    steps.copy(out.seen(target), patches.seen(split.permute(order)))
    return True


def _correlate_weight(steps: CpuSteps, out: Value, y: Value, x: Value, taps: list[fields.Taps], stride: Ints) -> None:
    """Add the steps that sum over outputs y; out, the weight's gradient, has dims (group, M, C, taps)."""
    if winograd_weight(steps, out, y, x, taps, stride):
        return
    lines = fields.lines_of(y.shape, stride, x.shape, taps)
    if channels_last_weight(steps, out, y, x, lines):
        return
    dtype, (groups, m, c) = out.dtype, out.shape[:3]
    k = c * math.prod(map(len, taps))
    _, nr = tile_size(dtype)
    pitch = -(-m // nr) * nr
    fields.cut_copies(lines, x.shape[0], (c + pitch) * dtype.itemsize, 4 * nr)
    parts = x.shape[0] * count(lines, "blocks")
    chunks = min(parts, -(-fields.TASKS // groups), max(2, fields.SLABS // (groups * k * pitch)))
    chunks = -(-parts // -(-parts // chunks))
    slabs = steps.work((groups * chunks * k * pitch,), dtype)
    steps.run(
        conv.correlate_weight_few if m <= FEW else conv.correlate_weight, x, y, slabs, tasks=groups * chunks,
        numel=y.layout.numel * k * dtype.itemsize // WORK,
        **fields.copied_numbers(lines, x.layout, y.layout, out.layout, share=chunks),
    )  # fmt: skip
    sum_slabs(steps, slabs, out, chunks, pitch=pitch)


def in_registers(steps: CpuSteps) -> tuple[Value, ...]:
    """Return the result and the operands in the dtype of registers; operands of other dtypes are cast."""
    (out,) = steps.outs
    dtype = as_dtype(out.dtype.compute)
    values = [out if out.dtype is dtype else steps.work(out.shape, dtype)]
    values += [cast(steps, x, dtype) for x in steps.operands]
    return tuple(values)
