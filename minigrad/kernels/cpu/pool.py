"""Pooling: the largest element or the mean of each window, over up to three dims of any strides.

Values go row by row: the rows of a window are joined first, in parallel in registers, then the taps along a row.
Positions of maxima are searched tap by tap, in row-major order, so that ties go to the first.  A gradient is
computed plane by plane, where windows may overlap, and stored once.

Free names: `LOAD_0`, `STORE`, `T`, `LOAD_X` for the operand of the windows, `LOWEST` for the maximum of nothing, and
`ROUND`, which all numbers of lanes divide; in
`pooled` `JOIN` of two values, its neutral element `START`, and `FINISH`.  A task is `rows` rows of outputs if that is
set, otherwise a plane.

Numbers of three dims end in 0, 1 and 2: those of the output, of the image (size), of windows, strides, paddings and
dilations.  x: offset and strides of the image; y: those of a second operand; to: the offset of out, which is dense.
rows: rows of outputs of a task, along the middle dim.
`counts` are the reciprocals of the counts of a mean, one for each output along each dim.
`tables` have for each tap along each dim the first of the outputs that have it inside the image, and the one after the
last; for each output along each dim the first tap inside the image, or -1; and from `offsets` on how far each tap of a
window lies behind its first one in a dense plane.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields

POOL = Fields(
    "channels out0 out1 out2 size0 size1 size2 window0 window1 window2 stride0 stride1 stride2 pad0 pad1 pad2 "
    "dilation0 dilation1 dilation2 x x_image x_channel x0 x1 x2 y y_image y_channel y0 y1 y2 to rows offsets"
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


def search(x, N, at, tables, line, best, taps):  # type: ignore[no-untyped-def]
    """For each output of the plane at x[at], the largest element of its window, and the first tap that has it, counted
    row by row; -1 for a window of padding.

    The elements of all windows at a tap lie side by side in `line`, so whole vectors are compared, without a branch
    that nobody could predict.  Up to `ROUND` outputs more are compared than there are, so no vector is incomplete.
    """
    O1 = N.out1
    O2 = N.out2
    M0 = N.window0
    M1 = N.window1
    M2 = N.window2
    step = N.stride2 * N.x2
    outputs = N.out0 * O1 * O2
    whole = (outputs + ROUND - 1) // ROUND * ROUND
    for o in range(whole):
        best[o] = LOWEST
        taps[o] = 0
    if N.pad0 + N.pad1 + N.pad2 > 0:
        # The first tap inside the image is the maximum until a larger element comes, even if it is the lowest number.
        inside = 2 * (M0 + M1 + M2)
        for row in range(N.out0 * O1):
            a = tables[inside + row // O1]
            b = tables[inside + N.out0 + row % O1]
            for j in range(O2):
                c = tables[inside + N.out0 + O1 + j]
                taps[row * O2 + j] = np.int32(-1 if min(a, b, c) < 0 else (a * M1 + b) * M2 + c)
    corner = at - N.pad0 * N.x0 - N.pad1 * N.x1 - N.pad2 * N.x2
    tap = 0
    for a in range(M0):
        for b in range(M1):
            for c in range(M2):
                first0 = tables[2 * a]
                last0 = tables[2 * a + 1]
                first1 = tables[2 * (M0 + b)]
                last1 = tables[2 * (M0 + b) + 1]
                first2 = tables[2 * (M0 + M1 + c)]
                n = tables[2 * (M0 + M1 + c) + 1] - first2
                if (last0 - first0) * (last1 - first1) * n < outputs:
                    for o in range(whole):
                        line[o] = LOWEST
                start = corner + a * N.dilation0 * N.x0 + b * N.dilation1 * N.x1 + c * N.dilation2 * N.x2
                for o0 in range(first0, last0):
                    for o1 in range(first1, last1):
                        to = (o0 * O1 + o1) * O2 + first2
                        row = line[to : to + n]
                        q = start + o0 * N.stride0 * N.x0 + o1 * N.stride1 * N.x1 + first2 * step
                        for j in range(n):
                            row[j] = LOAD_X(x[np.uint64(q + j * step)])
                for o in range(whole):
                    v = line[o]
                    u = best[o]
                    more = (v > u) | ((v != v) & (u == u))
                    best[o] = v if more else u
                    taps[o] = np.int32(tap) if more else taps[o]
                tap += 1


def corner(N, row):  # type: ignore[no-untyped-def]
    """Where the first window of a row of outputs begins in a dense plane."""
    i0 = row // N.out1 * N.stride0 - N.pad0
    i1 = row % N.out1 * N.stride1 - N.pad1
    return (i0 * N.size1 + i1) * N.size2 - N.pad2


def max_pool_indices(x, out, positions, tables, N):  # type: ignore[no-untyped-def]
    """out[n, c, o] = the largest element of the window; positions = where in its plane, counted row by row, the first
    such element is."""
    O2 = N.out2
    whole = N.out0 * N.out1 * O2
    offsets = tables[N.offsets : N.offsets + N.window0 * N.window1 * N.window2]
    line = workspace(whole + ROUND, T)
    best = workspace(whole + ROUND, T)
    taps = workspace(whole + ROUND, np.int32)
    for plane in range(first, last):
        at = N.x + plane // N.channels * N.x_image + plane % N.channels * N.x_channel
        search(x, N, at, tables, line, best, taps)
        to = N.to + plane * whole
        for row in range(N.out0 * N.out1):
            p = corner(N, row)
            for o in range(row * O2, row * O2 + O2):
                out[to + o] = STORE(best[o])
                positions[to + o] = p + offsets[taps[o]] if taps[o] >= 0 else 0
                p += N.stride2
    leave(taps)
    leave(best)
    leave(line)


def max_pool_pick(h, x, out, tables, N):  # type: ignore[no-untyped-def]
    """out[n, c, o] = the element of h where x has the first largest of the window; 0 for a window of padding."""
    O2 = N.out2
    whole = N.out0 * N.out1 * O2
    offsets = tables[N.offsets : N.offsets + N.window0 * N.window1 * N.window2]
    line = workspace(whole + ROUND, T)
    best = workspace(whole + ROUND, T)
    taps = workspace(whole + ROUND, np.int32)
    for plane in range(first, last):
        n = plane // N.channels
        c = plane % N.channels
        search(x, N, N.x + n * N.x_image + c * N.x_channel, tables, line, best, taps)
        ph = N.y + n * N.y_image + c * N.y_channel
        for o in range(whole):
            v = T(0)
            if taps[o] >= 0:
                p = corner(N, o // O2) + o % O2 * N.stride2 + offsets[taps[o]]
                i2 = p % N.size2
                i1 = p // N.size2 % N.size1
                i0 = p // N.size2 // N.size1
                v = LOAD_0(h[ph + i0 * N.y0 + i1 * N.y1 + i2 * N.y2])
            out[N.to + plane * whole + o] = STORE(v)
    leave(taps)
    leave(best)
    leave(line)


def max_pool_back(g, x, out, tables, N):  # type: ignore[no-untyped-def]
    """out = 0, then each g[n, c, o] is added where x has the first largest element of the window."""
    O2 = N.out2
    outputs = N.out0 * N.out1 * O2
    whole = N.size0 * N.size1 * N.size2
    offsets = tables[N.offsets : N.offsets + N.window0 * N.window1 * N.window2]
    line = workspace(outputs + ROUND, T)
    best = workspace(outputs + ROUND, T)
    taps = workspace(outputs + ROUND, np.int32)
    sums = workspace(whole, T)
    for plane in range(first, last):
        n = plane // N.channels
        c = plane % N.channels
        search(x, N, N.x + n * N.x_image + c * N.x_channel, tables, line, best, taps)
        pg = N.y + n * N.y_image + c * N.y_channel
        for j in range(whole):
            sums[j] = T(0)
        for row in range(N.out0 * N.out1):
            p = corner(N, row)
            q = pg + row // N.out1 * N.y0 + row % N.out1 * N.y1
            for o in range(row * O2, row * O2 + O2):
                if taps[o] >= 0:
                    sums[np.uint64(p + offsets[np.uint64(taps[o])])] += LOAD_0(g[np.uint64(q)])
                p += N.stride2
                q += N.y2
        dense = out[N.to + plane * whole : N.to + (plane + 1) * whole]
        for j in range(whole):
            dense[j] = STORE(sums[j])
    leave(sums)
    leave(taps)
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
