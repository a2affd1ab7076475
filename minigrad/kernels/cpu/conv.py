"""Convolution on the register tile, without a matrix of patches: the tile reads the image through a table of offsets.

A task copies the part of the image that its outputs need, with zeros in the padding.  In the copy, columns (rows,
planes) that are one stride apart are neighbours.  So for every tap and channel, the outputs of a block are multiplied
by one run of the copy, which begins at a fixed offset.  This offset identifies a row of the tile's right operand, for
any stride, dilation and number of dims.  A run continues from one row of outputs to the next, across a few columns
whose results are computed and then dropped.  If rows of outputs are short and the runs are few, `unfold` first copies
the runs without these columns.

`correlate` computes outputs, from a weight that `weights.py` packed.  The gradient of the image runs it once per phase
of the stride.  `correlate_weight` sums over outputs for the gradient of the weight; the image is the left operand of
the tile then.  `correlate_few` and `correlate_weight_few` serve groups of one or two output channels, for which
a register tile would be nearly empty: the outputs of a block form one run, with a few columns between its rows whose
results are dropped.  `channels.py` has the loops for many channels, and `patches.py` the functions
that divide and copy the image.

The free names are those of `matmul.py`, the tiles `by_depth` and `by_rows`, which take tables, and `RUNS`, the index of
`runs` among the numbers.

A number for each of three dims ends in 0, 1 and 2.  images, groups: their counts.  outs, ins: channels of the output
and of the image in a group.  size, block: of all outputs, and of a block.  low: the lowest position that output 0
reads.  slots, phases: sizes of the copy.  image: size of the image.  x, y, w, b: offsets and strides of image, output,
weight and bias.  share: panels of a task, or chunks.  phase: where each phase begins.  in_weight: the offset of each
tap in the weight.  runs: where the run of each channel and tap begins in the copy, and then where the unfolded run
begins.  by_row: whether tiles end with each row of outputs, which is faster if a tile costs less than separating the
dropped columns.  unfolded: whether runs are unfolded.  dense: whether the outputs of a block are contiguous.
"""

# ruff: noqa: F821
from __future__ import annotations

import numpy as np

from minigrad.kernels.cpu.elementwise import transpose_copy
from minigrad.kernels.cpu.patches import block_of, count_blocks, gather, unfold
from minigrad.kernels.cpu.target import tiles
from minigrad.kernels.fields import Fields, loop

CONV = Fields(
    "images groups outs ins taps size0 size1 size2 block0 block1 block2 stride0 stride1 stride2 low0 low1 low2 "
    "slots0 slots1 slots2 phases0 phases1 phases2 image0 image1 image2 x x_image x_group x_channel x0 x1 x2 "
    "y y_image y_group y_channel y0 y1 y2 w w_group w_out w_in b b_group b_out biased share by_row unfolded dense "
    "kinds",
    "phase[kinds] in_weight[taps] runs",
)

RUNS = {"RUNS": CONV.position("runs")}


@loop(CONV, helpers=(block_of, gather, unfold), imports=tiles, words=RUNS)
def correlate(x, panels, out, N):  # type: ignore[no-untyped-def]
    """out[n, m, o] = bias[m] + the sum over c and taps of w[m, c, tap] * x[n, c, o * stride + position of the tap].

    A task is one block of outputs, or some panels of its output channels.
    """
    M, C, added = N.outs, N.ins, N.biased
    K = C * N.taps + added
    tall = (M + MR - 1) // MR
    parts = (tall + N.share - 1) // N.share
    P1, P2 = N.slots1, N.slots2
    size = C * N.phases0 * N.phases1 * N.phases2 * N.slots0 * P1 * P2
    by_row = N.by_row > 0
    unfolded = N.unfolded > 0
    step = N.y2
    runs = (N, RUNS + K if unfolded else RUNS)
    # A tile may read uninitialised memory beyond the last output, but it does not store these results.
    ones = size + added * N.slots0 * P1 * P2
    image = workspace(ones + NR, T)
    patches = workspace(N.unfolded * K * N.block0 * N.block1 * N.block2 + NR, T)
    source = patches if unfolded else image
    for j in range(size, ones):
        image[np.uint64(j)] = T(1)
    edge = workspace(MR * NR, T)
    for task in range(first, last):
        b0, b1, b2, c0, c1, c2, rest = block_of(task // parts, N)
        g = rest % N.groups
        n = rest // N.groups
        gather(x, image, N, n, g, b0, b1, b2)
        if unfolded:
            unfold(image, patches, N, c0, c1, c2)
            P1 = c1
            P2 = c2
        start = N.y + n * N.y_image + g * N.y_group + b0 * N.y0 + b1 * N.y1 + b2 * step
        flat = ((c0 - 1) * P1 + c1 - 1) * P2 + c2
        across = (c2 + NR - 1) // NR
        low = task % parts * N.share
        tiles = c0 * c1 * across if by_row else (flat + NR - 1) // NR
        for tile in range(tiles):
            if by_row:
                o2 = tile % across * NR
                o1 = tile // across % c1
                o0 = tile // across // c1
                q = (o0 * P1 + o1) * P2 + o2
                width = min(NR, c2 - o2)
            else:
                q = tile * NR
                o2 = q % P2
                o1 = q // P2 % P1
                o0 = q // P2 // P1
                width = min(NR, flat - q)
            straight = N.dense > 0 or (step == 1 and o1 < c1 and o2 + width <= c2)
            for panel in range(low, min(tall, low + N.share)):
                m = panel * MR
                h = min(MR, M - m)
                left = (g * tall + panel) * K * MR
                z = start + m * N.y_channel
                # A tile whose results are not contiguous in out is written to a buffer first, and then split.
                position = z + o0 * N.y0 + o1 * N.y1 + o2 if straight else 0
                pitch = N.y_channel if straight else NR
                target = out if straight else edge
                by_depth(panels, left, 1, MR, source, q, runs, NR, target, position, pitch, K, h, width, T(1), False)
                if not straight:
                    for i in range(h):
                        j = 0
                        y2 = o2
                        y1 = o1
                        y0 = o0
                        while j < width:
                            run = min(width - j, P2 - y2)
                            kept = min(run, c2 - y2) if y1 < c1 else 0
                            to = z + i * N.y_channel + y0 * N.y0 + y1 * N.y1 + y2 * step
                            kept_row = edge[i * NR + j : i * NR + j + run]
                            if step == 1:
                                row = out[to : to + max(kept, 0)]
                                for u in range(kept):
                                    row[u] = kept_row[u]
                            else:
                                for u in range(kept):
                                    out[to + u * step] = kept_row[u]
                            j += run
                            y2 = 0
                            y1 += 1
                            if y1 == P1:
                                y1 = 0
                                y0 += 1
    leave(edge, patches, image)


@loop(CONV, results=1, helpers=(block_of, gather, count_blocks, transpose_copy), imports=tiles, words=RUNS)
def correlate_weight(x, y, slabs, N):  # type: ignore[no-untyped-def]
    """slab[c, tap, m] = the sum over n and o of y[n, m, o] * x[n, c, o * stride + position of the tap].

    A task is a chunk of the images and blocks of a group; it sums into its own slab.
    """
    M, C = N.outs, N.ins
    K = C * N.taps
    across = (M + NR - 1) // NR
    pitch = across * NR
    parts = N.images * count_blocks(N)
    chunks = N.share
    share = (parts + chunks - 1) // chunks
    P1, P2 = N.slots1, N.slots2
    size = C * N.phases0 * N.phases1 * N.phases2 * N.slots0 * P1 * P2
    image = workspace(size, T)
    turned = workspace(N.block0 * N.block1 * N.block2 * pitch, T)
    for task in range(first, last):
        g = task // chunks
        start = task % chunks * share
        for part in range(start, min(parts, start + share)):
            b0, b1, b2, c0, c1, c2, n = block_of(part, N)
            gather(x, image, N, n, g, b0, b1, b2)
            at = N.y + n * N.y_image + g * N.y_group + b0 * N.y0 + b1 * N.y1 + b2 * N.y2
            for panel in range(across):
                m = panel * NR
                for o0 in range(c0):
                    for o1 in range(c1):
                        q = at + m * N.y_channel + o0 * N.y0 + o1 * N.y1
                        to = ((panel * c0 + o0) * c1 + o1) * c2 * NR
                        w = min(NR, M - m)
                        transpose_copy(y, q, N.y_channel, N.y2, turned, to, NR, 1, w, c2)
                        for k in range(c2 if w < NR else 0):
                            for j in range(w, NR):
                                turned[to + k * NR + j] = T(0)
            for panel in range(across):
                # One vector is read instead of a whole row of the tile if it contains all remaining channels.
                read = M - panel * NR if M - panel * NR <= LANES else NR
                for k in range(0, K, MR):
                    z = task * K * pitch + k * pitch + panel * NR
                    h = min(MR, K - k)
                    runs = (N, RUNS + k)
                    for o0 in range(c0):
                        for o1 in range(c1):
                            to = ((panel * c0 + o0) * c1 + o1) * c2 * NR
                            q = (o0 * P1 + o1) * P2
                            more = part > start or o0 > 0 or o1 > 0
                            by_rows(image, q, runs, 1, turned, to, NR, read, slabs, z, pitch, c2, h, read, T(1), more)
    leave(turned, image)


def add_run(sums, weight, image, run, n):  # type: ignore[no-untyped-def]
    """Add the product of a weight and a run of n elements of the image to the sums."""
    source = image[run : run + n]
    for u in range(n):
        sums[u] = T(sums[u] + T(weight * source[u]))


def dot(a, image, run, n):  # type: ignore[no-untyped-def]
    """Return the inner product of n elements, with additions in any order."""
    source = image[run : run + n]
    total = T(0)
    for u in range(n):
        total += a[u] * source[u]
    return total


@loop(CONV, helpers=(block_of, gather, add_run), imports=tiles, words=RUNS)
def correlate_few(x, w, bias, out, N):  # type: ignore[no-untyped-def]
    """Compute `conv.correlate` for few output channels.  A task is a block of outputs.

    The outputs of a block are one run of sums, to which a run of the image is added for every channel and tap.
    """
    P1, P2 = N.slots1, N.slots2
    image = workspace(N.ins * N.phases0 * N.phases1 * N.phases2 * N.slots0 * P1 * P2, T)
    total = workspace(N.slots0 * P1 * P2, T)
    for task in range(first, last):
        b0, b1, b2, c0, c1, c2, rest = block_of(task, N)
        g = rest % N.groups
        n = rest // N.groups
        gather(x, image, N, n, g, b0, b1, b2)
        flat = ((c0 - 1) * P1 + c1 - 1) * P2 + c2
        sums = total[0:flat]
        for m in range(N.outs):
            start = bias[N.b + g * N.b_group + m * N.b_out] if N.biased > 0 else T(0)
            for u in range(flat):
                sums[u] = start
            for c in range(N.ins):
                q = N.w + g * N.w_group + m * N.w_out + c * N.w_in
                for t in range(N.taps):
                    add_run(sums, w[q + N.in_weight[t]], image, N[RUNS + c * N.taps + t], flat)
            z = N.y + n * N.y_image + g * N.y_group + m * N.y_channel + b0 * N.y0 + b1 * N.y1 + b2 * N.y2
            for o0 in range(c0):
                for o1 in range(c1):
                    row = (o0 * P1 + o1) * P2
                    to = z + o0 * N.y0 + o1 * N.y1
                    if N.y2 == 1:
                        for u in range(c2):
                            out[np.uint64(to + u)] = total[np.uint64(row + u)]
                    else:
                        for u in range(c2):
                            out[np.uint64(to + u * N.y2)] = total[np.uint64(row + u)]
    leave(total, image)


@loop(
    CONV, results=1, helpers=(block_of, gather, count_blocks, dot), imports=tiles, words=RUNS,
    fastmath=("reassoc", "contract"),
)  # fmt: skip
def correlate_weight_few(x, y, slabs, N):  # type: ignore[no-untyped-def]
    """Compute `conv.correlate_weight` for few output channels: a dot product for every channel and tap.

    The dot product is over the run of the outputs of a block, with zeros between its rows.
    """
    K = N.ins * N.taps
    pitch = (N.outs + NR - 1) // NR * NR
    parts = N.images * count_blocks(N)
    share = (parts + N.share - 1) // N.share
    P1, P2 = N.slots1, N.slots2
    image = workspace(N.ins * N.phases0 * N.phases1 * N.phases2 * N.slots0 * P1 * P2, T)
    spread = workspace(N.slots0 * P1 * P2, T)
    for task in range(first, last):
        g = task // N.share
        start = task % N.share * share
        slab = slabs[task * K * pitch : (task + 1) * K * pitch]
        for k in range(K * pitch):
            slab[k] = T(0)
        for part in range(start, min(parts, start + share)):
            b0, b1, b2, c0, c1, c2, n = block_of(part, N)
            gather(x, image, N, n, g, b0, b1, b2)
            flat = ((c0 - 1) * P1 + c1 - 1) * P2 + c2
            run = spread[0:flat]
            for u in range(flat):
                run[u] = T(0)  # the elements between the rows stay 0; each channel overwrites the other elements
            for m in range(N.outs):
                q = N.y + n * N.y_image + g * N.y_group + m * N.y_channel + b0 * N.y0 + b1 * N.y1 + b2 * N.y2
                for o0 in range(c0):
                    for o1 in range(c1):
                        row = (o0 * P1 + o1) * P2
                        at = q + o0 * N.y0 + o1 * N.y1
                        if N.y2 == 1:
                            for u in range(c2):
                                spread[np.uint64(row + u)] = y[np.uint64(at + u)]
                        else:
                            for u in range(c2):
                                spread[np.uint64(row + u)] = y[np.uint64(at + u * N.y2)]
                for k in range(K):
                    begin = N[RUNS + k]
                    value = dot(run, image, begin, flat)
                    if value - value != 0:  # an infinite pixel between two rows is multiplied by 0, which yields nan
                        value = T(0)
                        for row in range(0, c0 * P1 * P2, P2):
                            if row // P2 % P1 < c1:
                                value = T(value + dot(spread[row : row + c2], image, begin + row, c2))
                    slab[k * pitch + m] = T(slab[k * pitch + m] + value)
    leave(spread, image)
