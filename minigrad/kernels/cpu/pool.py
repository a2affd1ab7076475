"""Pooling: the largest element or the mean of each window, over up to three dims of any strides.

Values go row by row: the rows of a window are joined first, in parallel in registers, then the taps along a row.
Positions of maxima are searched window by window, in row-major order, so that ties go to the first.  A gradient is
computed plane by plane, where windows may overlap, and stored once.

Free names: `LOAD_0`, `STORE`, `T`, `LOAD_X` for the operand of the windows, and `LOWEST` for the maximum of nothing; in
`pooled` `JOIN` of two values, its neutral element `START`, and `FINISH`.  A task is `rows` rows of outputs if that is
set, otherwise a plane.

Numbers of three dims end in 0, 1 and 2: those of the output, of the image (size), of windows, strides, paddings and
dilations.  x: offset and strides of the image; y: those of a second operand; to: the offset of out, which is dense.
rows: rows of outputs of a task, along the middle dim. line: elements of a row of the image that is laid out by taps.
`counts` are the reciprocals of the counts of a mean, one for each output along each dim.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields

POOL = Fields(
    "channels out0 out1 out2 size0 size1 size2 window0 window1 window2 stride0 stride1 stride2 pad0 pad1 pad2 "
    "dilation0 dilation1 dilation2 x x_image x_channel x0 x1 x2 y y_image y_channel y0 y1 y2 to rows line"
)


def pooled(x, out, N):  # type: ignore[no-untyped-def]
    """out[n, c, o] = the largest element of the window of o, nan if there is one; or with MEAN the sum of its elements
    times the reciprocal of their count."""
    O0 = N.out0
    O1 = N.out1
    O2 = N.out2
    S2 = N.size2
    step = N.stride2
    pad = N.pad2
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
            # A row of the image with the padding on both sides, joined over the window's rows.
            for j in range(size):
                line[j] = START
            inside = line[pad : pad + S2]
            for a in range(N.window0):
                i0 = o0 * N.stride0 - N.pad0 + a * N.dilation0
                for b in range(N.window1):
                    i1 = o1 * N.stride1 - N.pad1 + b * N.dilation1
                    if i0 >= 0 and i0 < N.size0 and i1 >= 0 and i1 < N.size1:
                        q = at + i0 * N.x0 + i1 * N.x1
                        if N.x2 == 1:
                            # Unsigned: neither a slice nor an index is then tested for its ends.
                            for j in range(S2):
                                v = LOAD_0(x[np.uint64(q + j)])
                                inside[j] = JOIN(inside[j], v)
                        else:
                            for j in range(S2):
                                v = LOAD_0(x[q + j * N.x2])
                                inside[j] = JOIN(inside[j], v)
            for j in range(O2):
                held[j] = line[np.uint64(j * step)]
            for c in range(1, N.window2):
                tap = line[c * N.dilation2 :]
                if step == 1:
                    for j in range(O2):
                        held[j] = JOIN(held[j], tap[j])
                else:
                    for j in range(O2):
                        v = tap[np.uint64(j * step)]
                        held[j] = JOIN(held[j], v)
            to = N.to + ((plane * O0 + o0) * O1 + o1) * O2
            row = out[to : to + O2]
            if MEAN:
                scale = T(counts[o0] * counts[O0 + o1])
            for j in range(O2):
                row[j] = STORE(FINISH(held[j], scale, share[j]))
    leave(held)
    leave(line)


def search(x, N, at, o0, o1, line, best, where):  # type: ignore[no-untyped-def]
    """For a row of outputs, the largest elements of their windows in the plane at x[at], and the row-major positions
    of the first of them there; -1 for a window of padding.

    Each row of the image is laid out so that what the windows have at one tap lies side by side.
    """
    O2 = N.out2
    S1 = N.size1
    S2 = N.size2
    step = N.stride2
    pad = N.pad2
    spread = N.dilation2
    r0 = o0 * N.stride0 - N.pad0
    r1 = o1 * N.stride1 - N.pad1
    top0 = r0 + (max(0, -r0) + N.dilation0 - 1) // N.dilation0 * N.dilation0
    top1 = r1 + (max(0, -r1) + N.dilation1 - 1) // N.dilation1 * N.dilation1
    nowhere = top0 >= min(N.size0, r0 + N.window0 * N.dilation0) or top1 >= min(S1, r1 + N.window1 * N.dilation1)
    for j in range(O2):
        # The first element inside the image is the maximum until a larger one is found, even if it is the lowest
        # number.
        r2 = j * step - pad
        top2 = r2 + (max(0, -r2) + spread - 1) // spread * spread
        none = nowhere or top2 >= min(S2, r2 + N.window2 * spread)
        where[j] = -1 if none else (top0 * S1 + top1) * S2 + top2
        best[j] = LOWEST
    reach = (N.window2 - 1) * spread
    slots = O2 + reach // step
    for a in range(N.window0):
        i0 = r0 + a * N.dilation0
        for b in range(N.window1):
            i1 = r1 + b * N.dilation1
            if i0 >= 0 and i0 < N.size0 and i1 >= 0 and i1 < S1:
                q = at + i0 * N.x0 + i1 * N.x1
                for f in range(min(step, reach + 1)):
                    part = line[f * slots : (f + 1) * slots]
                    left = min(slots, max(0, (pad - f + step - 1) // step))
                    right = max(left, min(slots, (S2 + pad - f + step - 1) // step))
                    start = q + (left * step + f - pad) * N.x2
                    for u in range(left):
                        part[u] = LOWEST
                    inside = part[left:right]
                    if step * N.x2 == 1:
                        source = x[start : start + right - left]
                        for u in range(right - left):
                            inside[u] = LOAD_X(source[u])
                    else:
                        for u in range(right - left):
                            inside[u] = LOAD_X(x[np.uint64(start + u * step * N.x2)])
                    for u in range(right, slots):
                        part[u] = LOWEST
                position = (i0 * S1 + i1) * S2 - pad
                for c in range(N.window2):
                    f = c * spread % step * slots + c * spread // step
                    tap = line[f : f + O2]
                    for j in range(O2):
                        v = tap[j]
                        more = (v > best[j]) | ((v != v) & (best[j] == best[j]))
                        where[j] = position + j * step if more else where[j]
                        best[j] = v if more else best[j]
                    position += spread


def max_pool_indices(x, out, positions, N):  # type: ignore[no-untyped-def]
    """out[n, c, o] = the largest element of the window; places = where in its plane, counted row by row, the first such
    element is."""
    O2 = N.out2
    rows = N.out0 * N.out1
    line = workspace(N.line, T)
    best = workspace(O2, T)
    where = workspace(O2, np.int64)
    for plane in range(first, last):
        at = N.x + plane // N.channels * N.x_image + plane % N.channels * N.x_channel
        for o in range(rows):
            search(x, N, at, o // N.out1, o % N.out1, line, best, where)
            to = N.to + (plane * rows + o) * O2
            for j in range(O2):
                out[to + j] = STORE(best[j])
                positions[to + j] = max(0, where[j])
    leave(where)
    leave(best)
    leave(line)


def max_pool_pick(h, x, out, N):  # type: ignore[no-untyped-def]
    """out[n, c, o] = the element of h where x has the first largest of the window; 0 for a window of padding."""
    O2 = N.out2
    rows = N.out0 * N.out1
    line = workspace(N.line, T)
    best = workspace(O2, T)
    where = workspace(O2, np.int64)
    for plane in range(first, last):
        n = plane // N.channels
        c = plane % N.channels
        at = N.x + n * N.x_image + c * N.x_channel
        ph = N.y + n * N.y_image + c * N.y_channel
        for o in range(rows):
            search(x, N, at, o // N.out1, o % N.out1, line, best, where)
            to = N.to + (plane * rows + o) * O2
            for j in range(O2):
                p = where[j]
                i2 = p % N.size2
                i1 = p // N.size2 % N.size1
                i0 = p // N.size2 // N.size1
                v = T(0)
                if p >= 0:
                    v = LOAD_0(h[ph + i0 * N.y0 + i1 * N.y1 + i2 * N.y2])
                out[to + j] = STORE(v)
    leave(where)
    leave(best)
    leave(line)


def max_pool_back(g, x, out, N):  # type: ignore[no-untyped-def]
    """out = 0, then each g[n, c, o] is added where x has the first largest element of the window."""
    O2 = N.out2
    rows = N.out0 * N.out1
    whole = N.size0 * N.size1 * N.size2
    line = workspace(N.line, T)
    best = workspace(O2, T)
    where = workspace(O2, np.int64)
    sums = workspace(whole, T)
    for plane in range(first, last):
        n = plane // N.channels
        c = plane % N.channels
        at = N.x + n * N.x_image + c * N.x_channel
        pg = N.y + n * N.y_image + c * N.y_channel
        for j in range(whole):
            sums[j] = T(0)
        for o in range(rows):
            search(x, N, at, o // N.out1, o % N.out1, line, best, where)
            q = pg + o // N.out1 * N.y0 + o % N.out1 * N.y1
            for j in range(O2):
                if where[j] >= 0:
                    sums[np.uint64(where[j])] += LOAD_0(g[np.uint64(q + j * N.y2)])
        row = out[N.to + plane * whole : N.to + (plane + 1) * whole]
        for j in range(whole):
            row[j] = STORE(sums[j])
    leave(sums)
    leave(where)
    leave(best)
    leave(line)


def avg_pool_back(g, out, counts, N):  # type: ignore[no-untyped-def]
    """out = 0, then each g[n, c, o], times the reciprocal of the count of its window, is added to the whole window."""
    O0 = N.out0
    O1 = N.out1
    O2 = N.out2
    S2 = N.size2
    step = N.stride2
    pad = N.pad2
    whole = N.size0 * N.size1 * S2
    size = max(S2 + pad, (O2 - 1) * step + N.window2)
    sums = workspace(whole, T)
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
    leave(spread)
    leave(line)
    leave(sums)
