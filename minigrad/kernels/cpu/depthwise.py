"""Convolution for groups of one or two output channels: loops over whole runs of outputs.

Depthwise convolutions are of this kind.  A register tile with one channel would be nearly empty.  The copy of the
image, the blocks, the numbers and the free names are those of `conv.py`.  In the copy, the outputs of a block form one
run, with a few columns between its rows whose results are computed and then dropped.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.cpu.conv import CONV, RUNS
from minigrad.kernels.cpu.patches import block_of, count_blocks, gather
from minigrad.kernels.cpu.target import tiles
from minigrad.kernels.fields import loop


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
    P1 = N.slots1
    P2 = N.slots2
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
    leave(total)
    leave(image)


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
    P1 = N.slots1
    P2 = N.slots2
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
    leave(spread)
    leave(image)
