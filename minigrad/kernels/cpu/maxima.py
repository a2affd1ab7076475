"""Positions of the largest element of each window, and gradients that are read or added at these positions.

A maximum is searched tap by tap, in row-major order, so that the first of several equal elements wins.  A gradient is
computed plane by plane, because windows may overlap, and is stored once.

The numbers are those of `pool.py`, and a task is a plane.  Free names: `LOAD_0`, `STORE`, `T`, `LOAD_X` for the operand
that has the windows, and `IDENTITY` for the maximum of no elements.

`tables` has three parts.  First, for each tap along each dim: the first output for which the tap is inside the image,
and the last such output plus 1.  Then, for each output along each dim: the first tap inside the image, or -1.  From
`offsets` on: the offset of each tap of a window from the window's first tap, in a dense plane.
"""

# ruff: noqa: F821, F841
import numpy as np

from minigrad.kernels.cpu.pool import POOL, starts
from minigrad.kernels.fields import loop
from minigrad.kernels.pasting import Part

ROUND = 16  # a common multiple of all vector lengths


def search(x, N, at, tables, line, best, taps, where):  # type: ignore[no-untyped-def]
    """Find the largest element of each window of the plane at x[at], and its tap.

    taps receives the first tap with the largest element or nan, counted row by row, or -1 for a window of padding.

    For each tap, `line` has the elements of all windows side by side.  So whole vectors are compared, without a branch,
    which would be unpredictable.  Up to `ROUND` more elements than there are outputs are compared, so that every vector
    is complete.
    """
    O1, O2, M0, M1, M2 = N.out1, N.out2, N.window0, N.window1, N.window2
    step = N.stride2 * N.x2
    outputs = N.out0 * O1 * O2
    whole = (outputs + ROUND - 1) // ROUND * ROUND
    for o in range(whole):
        best[o] = IDENTITY
        taps[o] = 0
    if N.pad0 + N.pad1 + N.pad2 > 0:
        # The first tap inside the image is the maximum until a larger element follows, even if it is the lowest value.
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
                        line[o] = IDENTITY
                start = corner + a * N.dilation0 * N.x0 + b * N.dilation1 * N.x1 + c * N.dilation2 * N.x2
                if N.narrow:
                    for o in range(outputs):
                        line[o] = LOAD_X(x[np.uint64(start + where[o])])
                    last0 = first0
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
    """Return where the first window of a row of outputs begins in a dense plane."""
    i0 = row // N.out1 * N.stride0 - N.pad0
    i1 = row % N.out1 * N.stride1 - N.pad1
    return (i0 * N.size1 + i1) * N.size2 - N.pad2


def windows_of_plane():  # type: ignore[no-untyped-def]
    """Allocate memory for the largest elements of a plane's windows, and for their taps."""
    O2 = N.out2
    outputs = N.out0 * N.out1 * O2
    offsets = tables[N.offsets : N.offsets + N.window0 * N.window1 * N.window2]
    line = workspace(outputs + ROUND, T)
    best = workspace(outputs + ROUND, T)
    taps = workspace(outputs + ROUND, np.int32)
    where = workspace(outputs, np.int64)
    if N.narrow:
        starts(N, where)


SEARCHES = {"WORKSPACES": (Part(windows_of_plane),)}


@loop(POOL, loads=1, results=1, helpers=(starts, search, corner), words=SEARCHES)
def max_pool_indices(x, out, positions, tables, N):  # type: ignore[no-untyped-def]
    """out[n, c, o] = the largest element of the window; positions = the first position of such an element.

    A position is counted row by row in the plane.  A task is a plane.
    """
    WORKSPACES()
    for plane in range(first, last):
        at = N.x + plane // N.channels * N.x_image + plane % N.channels * N.x_channel
        search(x, N, at, tables, line, best, taps, where)
        to = N.to + plane * outputs
        for row in range(N.out0 * N.out1):
            p = corner(N, row)
            for o in range(row * O2, row * O2 + O2):
                out[to + o] = STORE(best[o])
                positions[to + o] = p + offsets[taps[o]] if taps[o] >= 0 else 0
                p += N.stride2
    leave(where, taps, best, line)


@loop(POOL, loads=2, results=1, helpers=(starts, search, corner), words=SEARCHES)
def max_pool_pick(h, x, out, tables, N):  # type: ignore[no-untyped-def]
    """out[n, c, o] = h where x has the first largest element of the window; 0 for a window of padding."""
    WORKSPACES()
    for plane in range(first, last):
        n = plane // N.channels
        c = plane % N.channels
        search(x, N, N.x + n * N.x_image + c * N.x_channel, tables, line, best, taps, where)
        ph = N.y + n * N.y_image + c * N.y_channel
        for o in range(outputs):
            v = T(0)
            if taps[o] >= 0:
                p = corner(N, o // O2) + o % O2 * N.stride2 + offsets[taps[o]]
                i2 = p % N.size2
                i1 = p // N.size2 % N.size1
                i0 = p // N.size2 // N.size1
                v = LOAD_0(h[ph + i0 * N.y0 + i1 * N.y1 + i2 * N.y2])
            out[N.to + plane * outputs + o] = STORE(v)
    leave(where, taps, best, line)


@loop(POOL, loads=2, results=1, helpers=(starts, search), words=SEARCHES)
def max_pool_back(g, x, out, tables, N):  # type: ignore[no-untyped-def]
    """out = 0; then each g[n, c, o] is added where x has the first largest element of the window."""
    WORKSPACES()
    whole = N.size0 * N.size1 * N.size2
    sums = workspace(whole, T)
    for plane in range(first, last):
        n = plane // N.channels
        c = plane % N.channels
        search(x, N, N.x + n * N.x_image + c * N.x_channel, tables, line, best, taps, where)
        pg = N.y + n * N.y_image + c * N.y_channel
        for j in range(whole):
            sums[j] = T(0)
        o = 0
        for o0 in range(N.out0):
            for o1 in range(N.out1):
                p = ((o0 * N.stride0 - N.pad0) * N.size1 + o1 * N.stride1 - N.pad1) * N.size2 - N.pad2
                q = pg + o0 * N.y0 + o1 * N.y1
                for _ in range(O2):
                    if taps[o] >= 0:
                        sums[np.uint64(p + offsets[np.uint64(taps[o])])] += LOAD_0(g[np.uint64(q)])
                    o += 1
                    p += N.stride2
                    q += N.y2
        dense = out[N.to + plane * whole : N.to + (plane + 1) * whole]
        for j in range(whole):
            dense[j] = STORE(sums[j])
    leave(where, sums, taps, best, line)
