"""Weights of convolutions: panels that the register tile reads, and the sums of a gradient's tasks.

`conv.py` and `channels.py` have the loops that read the panels and write the sums.  The free names are those of
`matmul.py`, with the copy of `transposing.py`.

groups: their count.  outs, ins: channels of the output and of the image in a group.  taps: their count.  w, b: offsets
and strides of weight and bias; in_weight: the offset of each tap in the weight.  width: output channels of a panel.
near, far: the distance between rows of a panel for neighbouring channels of the image, and for neighbouring taps.  tap:
the stride of the taps, or 0 if they are not evenly spaced.  share: slabs of a group.  lines, wide: a slab has a line
for each output channel or for each channel of the image, with `wide` sums per tap, `pitch` apart.  line, each: the
distances in the weight between the elements of neighbouring lines, and of neighbouring sums.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields

WEIGHT = Fields(
    "groups outs ins taps w w_group w_out w_in b b_group b_out biased width near far tap share lines wide pitch line "
    "each",
    "in_weight[taps]",
)


def pack_weight(w, bias, panels, N):  # type: ignore[no-untyped-def]
    """Copy the weight into panels of output channels.  A task is one panel.

    For each channel of the image and tap, a panel has the weights of its output channels side by side, and zeros beyond
    the last output channel.  The bias is one more row.
    """
    W = N.width
    C = N.ins
    taps = N.taps
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
                out[np.uint64(to + q * N.each)] = total[np.uint64(t * N.pitch + q)]
