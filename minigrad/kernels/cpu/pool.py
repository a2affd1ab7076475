"""Pooling: the largest element or the mean of each window, over up to three dims with any strides.

Outputs are computed row by row: the rows of a window are joined first, in parallel in registers, and then the taps
along a row.  A row that is shorter than a vector would leave lanes empty, so in narrow planes all outputs of a tap are
read together.  A gradient is computed plane by plane, because windows may overlap, and is stored once.  The loops that
read or return the positions of maxima are in `maxima.py`.

Free names: `LOAD_0`, `STORE` and `T`.  In `pooled`, `COMBINE` joins two values, `IDENTITY` is its neutral element,
`FINISH` is the last step, and `MEAN` states whether `FINISH` uses counts.  A task of `pooled` is `rows` rows of outputs
of a plane that is not narrow, otherwise a plane.

A number for each of three dims ends in 0, 1 and 2: sizes of the output (out) and of the image (size), windows, strides,
paddings and dilations.  x: offset and strides of the image.  y: offset and strides of a second operand.  to: the offset
of out, which is dense.  rows: rows of outputs of a task, along the middle dim.  narrow: whether no window reaches over
the edge and rows are short.  `counts` are the reciprocals of the counts of a mean, one for each output along each dim.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields, loop

POOL = Fields(
    "channels out0 out1 out2 size0 size1 size2 window0 window1 window2 stride0 stride1 stride2 pad0 pad1 pad2 "
    "dilation0 dilation1 dilation2 x x_image x_channel x0 x1 x2 y y_image y_channel y0 y1 y2 to rows offsets narrow"
)


def starts(N, where):  # type: ignore[no-untyped-def]
    """Write the offset of each window of a plane from the first window; no window may begin in the padding."""
    o = 0
    for o0 in range(N.out0):
        for o1 in range(N.out1):
            for o2 in range(N.out2):
                where[o] = o0 * N.stride0 * N.x0 + o1 * N.stride1 * N.x1 + o2 * N.stride2 * N.x2
                o += 1


@loop(POOL, loads=1, helpers=(starts,))
def pooled(x, out, N):  # type: ignore[no-untyped-def]
    """out[n, c, o] = the largest element of the window of o, or nan if the window contains nan.

    With MEAN, it is the sum of the window's elements times the reciprocal of their count.
    """
    O0, O1, O2, S2, step, pad = N.out0, N.out1, N.out2, N.size2, N.stride2, N.pad2
    if N.narrow:
        # The order of the additions is the same as below: the rows of a window first, then its columns.
        whole = O0 * O1 * O2
        joined = workspace(whole, T)
        best = workspace(whole, T)
        where = workspace(whole, np.int64)
        starts(N, where)
        for plane in range(first, last):
            at = N.x + plane // N.channels * N.x_image + plane % N.channels * N.x_channel
            for c in range(N.window2):
                for o in range(whole):
                    joined[o] = IDENTITY
                for a in range(N.window0):
                    for b in range(N.window1):
                        q = at + a * N.dilation0 * N.x0 + b * N.dilation1 * N.x1 + c * N.dilation2 * N.x2
                        for o in range(whole):
                            v = LOAD_0(x[np.uint64(q + where[o])])
                            joined[o] = COMBINE(joined[o], v)
                if c == 0:
                    for o in range(whole):
                        best[o] = joined[o]
                else:
                    for o in range(whole):
                        best[o] = COMBINE(best[o], joined[o])
            if MEAN:
                scale = T(counts[0] * counts[O0])
                every = counts[O0 + O1]
            to = N.to + plane * whole
            dense = out[to : to + whole]
            for o in range(whole):
                dense[o] = STORE(FINISH(best[o], scale, every))
        leave(where, best, joined)
        return
    rows = N.rows
    parts = (O1 + rows - 1) // rows
    size = max(S2 + pad, (O2 - 1) * step + (N.window2 - 1) * N.dilation2 + 1)
    line = workspace(size, T)
    held = workspace(O2, T)
    if MEAN:
        share = counts[O0 + O1 : O0 + O1 + O2]
    for task in range(first, last):
        part = task % parts
        o0 = task // parts % O0
        plane = task // (parts * O0)
        at = N.x + plane // N.channels * N.x_image + plane % N.channels * N.x_channel
        for o1 in range(part * rows, min(O1, (part + 1) * rows)):
            # `line` is a row of the image with the padding on both sides, joined over the rows of the window.
            for j in range(size):
                line[j] = IDENTITY
            inside = line[pad : pad + S2]
            for a in range(N.window0):
                i0 = o0 * N.stride0 - N.pad0 + a * N.dilation0
                for b in range(N.window1):
                    i1 = o1 * N.stride1 - N.pad1 + b * N.dilation1
                    if i0 >= 0 and i0 < N.size0 and i1 >= 0 and i1 < N.size1:
                        q = at + i0 * N.x0 + i1 * N.x1
                        if N.x2 == 1:
                            # Unsigned indices need no test for wrapping around, and no slice is computed.
                            for j in range(S2):
                                v = LOAD_0(x[np.uint64(q + j)])
                                inside[j] = COMBINE(inside[j], v)
                        else:
                            for j in range(S2):
                                v = LOAD_0(x[q + j * N.x2])
                                inside[j] = COMBINE(inside[j], v)
            for j in range(O2):
                held[j] = line[np.uint64(j * step)]
            for c in range(1, N.window2):
                tap = line[c * N.dilation2 :]
                if step == 1:
                    for j in range(O2):
                        held[j] = COMBINE(held[j], tap[j])
                else:
                    for j in range(O2):
                        v = tap[np.uint64(j * step)]
                        held[j] = COMBINE(held[j], v)
            to = N.to + ((plane * O0 + o0) * O1 + o1) * O2
            row = out[to : to + O2]
            if MEAN:
                scale = T(counts[o0] * counts[O0 + o1])
            for j in range(O2):
                row[j] = STORE(FINISH(held[j], scale, share[j]))
    leave(held, line)


@loop(POOL, loads=1, results=1, helpers=(starts,))
def avg_pool_back(g, out, counts, N):  # type: ignore[no-untyped-def]
    """out = 0; then each g[n, c, o] times the reciprocal of its window's count is added to the whole window."""
    O0, O1, O2, S2, step, pad = N.out0, N.out1, N.out2, N.size2, N.stride2, N.pad2
    whole = N.size0 * N.size1 * S2
    sums = workspace(whole, T)
    if N.narrow:
        outputs = O0 * O1 * O2
        shares = workspace(outputs, T)
        where = workspace(outputs, np.int64)
        starts(N, where)
        every = T(T(counts[0] * counts[O0]) * counts[O0 + O1])
        for plane in range(first, last):
            at = N.y + plane // N.channels * N.y_image + plane % N.channels * N.y_channel
            o = 0
            for o0 in range(O0):
                for o1 in range(O1):
                    q = at + o0 * N.y0 + o1 * N.y1
                    for j in range(O2):
                        shares[np.uint64(o + j)] = T(LOAD_0(g[np.uint64(q + j * N.y2)]) * every)
                    o += O2
            for j in range(whole):
                sums[j] = T(0)
            for a in range(N.window0):
                for b in range(N.window1):
                    for c in range(N.window2):
                        q = a * N.x0 + b * N.x1 + c * N.x2
                        for o in range(outputs):
                            sums[np.uint64(q + where[o])] += shares[o]
            dense = out[N.to + plane * whole : N.to + (plane + 1) * whole]
            for j in range(whole):
                dense[j] = STORE(sums[j])
        leave(where, shares, sums)
        return
    size = max(S2 + pad, (O2 - 1) * step + N.window2)
    line = workspace(size, T)
    spread = workspace(O2, T)
    for plane in range(first, last):
        at = N.y + plane // N.channels * N.y_image + plane % N.channels * N.y_channel
        for j in range(whole):
            sums[j] = T(0)
        for o0 in range(O0):
            for o1 in range(O1):
                scale = T(counts[o0] * counts[O0 + o1])
                q = at + o0 * N.y0 + o1 * N.y1
                for j in range(O2):
                    spread[j] = T(LOAD_0(g[q + j * N.y2]) * T(scale * counts[O0 + O1 + j]))
                for j in range(size):
                    line[j] = T(0)
                for c in range(N.window2):
                    tap = line[c:]
                    for j in range(O2):
                        tap[np.uint64(j * step)] += spread[j]
                inside = line[pad : pad + S2]
                for a in range(N.window0):
                    i0 = o0 * N.stride0 - N.pad0 + a
                    for b in range(N.window1):
                        i1 = o1 * N.stride1 - N.pad1 + b
                        if i0 >= 0 and i0 < N.size0 and i1 >= 0 and i1 < N.size1:
                            p = (i0 * N.size1 + i1) * S2
                            target = sums[p : p + S2]
                            for j in range(S2):
                                target[j] += inside[j]
        row = out[N.to + plane * whole : N.to + (plane + 1) * whole]
        for j in range(whole):
            row[j] = STORE(sums[j])
    leave(spread, line, sums)
