"""Convolution of images whose channels are copied to be neighbours in memory ("channels last").

A task copies the part of the image that its outputs read, transposed: the channels of a pixel are neighbours, and
padding is zeros.  Then any stride only changes the distance between the pixels of neighbouring outputs, and all taps of
a row of the kernel are one run of the copy.  The results are transposed when they are stored.

There are two forms.  If a group has many channels, its products run on the register tile of `tile.py`: rows are
outputs, columns are output channels, and the weight is packed in panels.  In a depthwise convolution, each channel has
its own weight: a unit is LANES channels, whose outputs are sums of products of vectors (`lanes.py`).

The gradient of the image is a convolution of the outputs for each phase of the stride.  All phases read one copy, and
each writes its pixels.  For the gradient of the weight, the tile multiplies outputs by pixels and sums over outputs.

Free names: those of `matmul.py`, the tiles `by_rows` and `by_depth`, which take tables, ROWS, the rows of `lane_tile`,
FROM_PIXEL, the index of `from_pixel` among the numbers, DEPTHWISE, 1 if each channel has its own weight, and DEEP, the
number of outputs that the gradient of the weight sums at a time, so that their pixels stay in the first-level cache.

Positions are the outputs of a phase, in a block of which a task computes the outputs.  units, channels: the number of
groups, or of vectors of the channels; the number of channels of the image in a unit.  outs: output channels in a unit.
total: all channels; the last unit may have fewer than LANES,
and the other lanes compute values that are not stored.  images: their count.  size, block: positions,
and those of a block.  stride: pixels between positions.  low: the lowest pixel that position 0 reads.  slots: size of
the copy.  image: size of the image.  step: outputs between positions, which are as many phases.  outputs: size of the
output.  x, y, w, b: offsets and strides of image, output, weight and bias.  share: panels of a task, or chunks.  whole:
whether the outputs of a block are contiguous and in the order of the positions.  merged: whether the rows of the image
are short, contiguous, and read whole.  begins: where the runs of each phase begin.  Of each run: its offset in the
copy, in a panel, and its length; the runs of a depthwise convolution are its taps.  in_weight: the offset of each tap
in the weight.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.cpu.elementwise import clear, transpose_copy
from minigrad.kernels.cpu.patches import block_of, count_blocks
from minigrad.kernels.cpu.target import imported, tiles
from minigrad.kernels.fields import Fields, loop

ROWS = 8  # number of rows of the tile of vectors: their sums and one vector fit the registers
DEEP = 256  # number of outputs that a weight's gradient sums at a time

CHANNELS = Fields(
    "images units channels outs total size0 size1 size2 block0 block1 block2 stride0 stride1 stride2 "
    "low0 low1 low2 slots0 slots1 slots2 image0 image1 image2 step0 step1 step2 outputs0 outputs1 outputs2 "
    "x x_image x_unit x_channel x0 x1 x2 y y_image y_unit y_channel y0 y1 y2 w w_unit w_out b b_unit b_out biased "
    "share whole merged taps kinds runs",
    "begins[kinds] from_pixel[runs] from_row[runs] length[runs] in_weight[taps]",
)


def locate(table, N, pitch):  # type: ignore[no-untyped-def]
    """Set table[i] to the offset of the pixel that position i of a block reads."""
    i = 0
    for o0 in range(N.block0):
        for o1 in range(N.block1):
            at = (o0 * N.stride0 * N.slots1 + o1 * N.stride1) * N.slots2
            for o2 in range(N.block2):
                table[i] = (at + o2 * N.stride2) * pitch
                i += 1


def gather_last(x, image, lines, N, n, g, b0, b1, b2, channels, pitch):  # type: ignore[no-untyped-def]
    """Copy what a block reads of image n and unit g, channels last, with zeros in the padding."""
    at = N.x + n * N.x_image + g * N.x_unit
    l0 = b0 * N.stride0 + N.low0
    l1 = b1 * N.stride1 + N.low1
    l2 = b2 * N.stride2 + N.low2
    left = min(N.slots2, max(0, -l2))
    right = max(left, min(N.slots2, N.image2 - l2))
    width = right - left
    for u0 in range(N.slots0):
        inside = 0 <= l0 + u0 < N.image0
        top = min(N.slots1, max(0, -l1)) if inside else 0
        bottom = max(top, min(N.slots1, N.image1 - l1)) if inside else 0
        q = at + (l0 + u0) * N.x0 + (l1 + top) * N.x1 + (l2 + left) * N.x2
        if N.merged > 0:
            transpose_copy(x, q, N.x_channel, 1, lines, 0, pitch, 1, channels, (bottom - top) * width)
        for u1 in range(N.slots1):
            to = (u0 * N.slots1 + u1) * N.slots2 * pitch
            if u1 < top or u1 >= bottom:
                clear(image, to, N.slots2 * pitch)
                continue
            clear(image, to, left * pitch)
            begin = to + left * pitch
            if N.merged > 0:
                row = (u1 - top) * width * pitch
                for j in range(0, width * pitch, LANES):  # the last vector may end in the next row, which follows
                    copy_vector(lines, row + j, image, begin + j)
            else:
                row = q + (u1 - top) * N.x1
                transpose_copy(x, row, N.x_channel, N.x2, image, begin, pitch, 1, channels, width)
            clear(image, to + right * pitch, (N.slots2 - right) * pitch)


def scatter_last(results, pitch, out, N, at, b0, b1, b2, c0, c1, c2, channels):  # type: ignore[no-untyped-def]
    """Store the results of a block.

    The phases of the last dim are next to each other in the results; those of the others follow one another.
    """
    if N.whole > 0:
        z = at + b0 * N.y0 + b1 * N.y1 + b2 * N.y2
        transpose_copy(results, 0, pitch, 1, out, z, N.y_channel, 1, c0 * c1 * c2, channels)
        return
    i2 = b2 * N.step2
    width = min(N.outputs2 - i2, c2 * N.step2)
    for i0 in range(b0 * N.step0, min(N.outputs0, (b0 + c0) * N.step0)):
        for i1 in range(b1 * N.step1, min(N.outputs1, (b1 + c1) * N.step1)):
            phase = i0 % N.step0 * N.step1 + i1 % N.step1
            row = ((phase * c0 + i0 // N.step0 - b0) * c1 + i1 // N.step1 - b1) * c2 * N.step2
            z = at + i0 * N.y0 + i1 * N.y1 + i2 * N.y2
            transpose_copy(results, row * pitch, pitch, 1, out, z, N.y_channel, N.y2, width, channels)


def multiply_panels(image, panels, table, n, results, begin, pitch, N, g, phase, low, high, added):  # type: ignore[no-untyped-def]
    """Compute the outputs low to high - 1 of a phase; the outputs of position i begin at results[begin + i * pitch].

    added: whether the results are added to those that are stored.
    """
    K = N.channels * N.taps
    tall = (N.outs + NR - 1) // NR
    for m in range(low, high, NR):
        read = NR if N.outs - m > LANES else LANES
        for k in range(N.begins[phase], N.begins[phase + 1]):
            more = added or k > N.begins[phase]
            right = ((g * tall + m // NR) * K + N.from_row[k]) * NR
            for i in range(0, n, MR):
                z = begin + i * pitch + m - low
                rows = (table, i)
                depth = N.length[k]
                h = min(MR, n - i)
                left = N.from_pixel[k]
                by_rows(image, left, rows, 1, panels, right, NR, read, results, z, pitch, depth, h, read, T(1), more)


def multiply_lanes(image, weights, table, n, results, begin, pitch, N, phase, added):  # type: ignore[no-untyped-def]
    """Compute the outputs of a phase of a depthwise convolution."""
    start = N.begins[phase]
    depth = N.begins[phase + 1] - start
    runs = (N, FROM_PIXEL + start)
    for i in range(0, n if depth > 0 else 0, ROWS):
        z = begin + i * pitch
        h = min(ROWS, n - i)
        lane_tile(image, (table, i), runs, weights, start * LANES, LANES, results, z, pitch, depth, h, added)


def lanes(words, dtype, functions):  # type: ignore[no-untyped-def]
    """Return the lines of `tiles`, and those that define the tile of vectors if each channel has its own weight."""
    made = f'lane_tile = sums_of_lanes("{dtype}", LANES, {ROWS})'
    tile = imported("lanes", "sums_of_lanes", made, beside=("tile.py", "emitting.py")) if words["DEPTHWISE"] else ""
    return tiles(words, dtype, functions) + tile


COPY = clear, locate, transpose_copy, gather_last
PIXELS = {"FROM_PIXEL": CHANNELS.position("from_pixel")}


@loop(
    CHANNELS, imports=lanes, words=PIXELS, helpers=lambda words: (
        *COPY, scatter_last, multiply_lanes if words["DEPTHWISE"] else multiply_panels, block_of
    ),
)  # fmt: skip
def convolve_last(x, panels, w, bias, out, N):  # type: ignore[no-untyped-def]
    """out[n, m, o] = bias[m] + the sum over c and taps of w[m, c, tap] * x[n, c, o * stride + position of the tap].

    A task is one block of outputs, or some panels of its output channels.
    """
    if DEPTHWISE:
        pitch = LANES
    else:
        pitch = N.channels
    parts = ((N.outs + NR - 1) // NR + N.share - 1) // N.share
    wide = (min(N.outs, N.share * NR) + LANES - 1) // LANES * LANES
    step = N.step2
    size = N.slots0 * N.slots1 * N.slots2 * pitch
    table = workspace(N.block0 * N.block1 * N.block2, np.int64)
    image = workspace(size + LANES, T)
    lines = workspace(N.merged * size + LANES, T)
    results = workspace(N.block0 * N.block1 * N.block2 * N.step0 * N.step1 * step * wide, T)
    added = workspace(wide, T)
    if DEPTHWISE:
        weights = workspace(N.runs * LANES, T)
    locate(table, N, pitch)
    clear(added, 0, wide)
    for task in range(first, last):
        b0, b1, b2, c0, c1, c2, rest = block_of(task // parts, N)
        g = rest % N.units
        low = task % parts * N.share * NR
        high = min(N.outs, low + N.share * NR)
        if DEPTHWISE:
            high = min(LANES, N.total - g * LANES)
            count = high
            for k in range(N.runs):
                q = N.w + g * N.w_unit + N.in_weight[N.from_row[k]]
                for j in range(high):
                    weights[k * LANES + j] = w[q + j * N.w_out]
        else:
            count = N.channels
        gather_last(x, image, lines, N, rest // N.units, g, b0, b1, b2, count, pitch)
        for m in range(low, high if N.biased > 0 else low):
            added[m - low] = bias[N.b + g * N.b_unit + m * N.b_out]
        n = c0 * c1 * c2
        for phase in range(N.kinds - 1):
            begin = (phase // step * n * step + phase % step) * wide
            more = N.biased > 0 or N.begins[phase] == N.begins[phase + 1]
            for i in range(n if more else 0):
                for j in range(0, wide, LANES):
                    copy_vector(added, j, results, begin + i * step * wide + j)
            if DEPTHWISE:
                multiply_lanes(image, weights, table, n, results, begin, step * wide, N, phase, more)
            else:
                multiply_panels(image, panels, table, n, results, begin, step * wide, N, g, phase, low, high, more)
        z = N.y + rest // N.units * N.y_image + g * N.y_unit + low * N.y_channel
        scatter_last(results, wide, out, N, z, b0, b1, b2, c0, c1, c2, high - low)
    if DEPTHWISE:
        leave(weights)
    leave(added, results, lines, image, table)


def multiply_outputs(y, at, image, table, n, slabs, slab, N, added):  # type: ignore[no-untyped-def]
    """Multiply the outputs of a block, from y[at] on, by the pixels that they read, and sum over the n outputs.

    added: whether the sums are added to those in the slab.
    """
    K = N.channels * N.taps
    for k in range(N.runs):
        for j in range(0, N.length[k], NR):
            left = N.from_pixel[k] + j
            w = min(NR, N.length[k] - j)
            read = w if w <= LANES else NR
            for i in range(0, n, DEEP):
                d = min(DEEP, n - i)
                pixels = (table, i)
                more = added or i > 0
                for m in range(0, N.outs, MR):
                    q = at + m * N.y_channel + i
                    z = slab + m * K + N.from_row[k] + j
                    h = min(MR, N.outs - m)
                    by_depth(y, q, N.y_channel, 1, image, left, pixels, read, slabs, z, K, d, h, w, T(1), more)


@loop(
    CHANNELS, results=1, imports=lanes, words=PIXELS, helpers=lambda words: (
        *COPY, count_blocks, *(() if words["DEPTHWISE"] else (multiply_outputs,)), block_of
    ),
)  # fmt: skip
def convolve_last_weight(x, y, slabs, N):  # type: ignore[no-untyped-def]
    """Sum over n and o of y[n, m, o] * x[n, c, o * stride + position of the tap].

    A slab has a line of taps and channels of the image for each output channel, or a line of channels for each tap of a
    depthwise convolution.  A task is a chunk of the images and blocks of a unit; it sums into its own slab.
    """
    if DEPTHWISE:
        pitch = LANES
    else:
        pitch = N.channels
    parts = N.images * count_blocks(N)
    chunks = N.share
    share = (parts + chunks - 1) // chunks
    size = N.slots0 * N.slots1 * N.slots2 * pitch
    table = workspace(N.block0 * N.block1 * N.block2, np.int64)
    image = workspace(size + NR, T)
    lines = workspace(N.merged * size + LANES, T)
    if DEPTHWISE:
        turned = workspace(N.block0 * N.block1 * N.block2 * LANES, T)
    locate(table, N, pitch)
    for task in range(first, last):
        g = task // chunks
        start = task % chunks * share
        for part in range(start, min(parts, start + share)):
            b0, b1, b2, c0, c1, c2, n = block_of(part, N)
            if DEPTHWISE:
                count = min(LANES, N.total - g * LANES)
            else:
                count = N.channels
            gather_last(x, image, lines, N, n, g, b0, b1, b2, count, pitch)
            at = N.y + n * N.y_image + g * N.y_unit + b0 * N.y0 + b1 * N.y1 + b2 * N.y2
            n = c0 * c1 * c2
            if DEPTHWISE:
                line = N.units * LANES
                slab = task % chunks * N.taps * line + g * LANES
                transpose_copy(y, at, N.y_channel, 1, turned, 0, LANES, 1, count, n)
                for t in range(0, N.taps, ROWS):
                    taps = (N, FROM_PIXEL + t)
                    h = min(ROWS, N.taps - t)
                    z = slab + t * line
                    lane_tile(image, taps, (table, 0), turned, 0, LANES, slabs, z, line, n, h, part > start)
            else:
                multiply_outputs(y, at, image, table, n, slabs, task * N.outs * N.channels * N.taps, N, part > start)
    if DEPTHWISE:
        leave(turned)
    leave(lines, image, table)
