"""Sampling by grids on the CPU: a block of positions becomes taps (indices and weights) for all lines.

A tap is one of the four pixels around a position, or the only pixel if the nearest one is read.  `F` is the scalar
function of (position, size, corners, beyond), and `G` is g times its derivative.  `LINES` channels are
computed together, so that the taps are read once for them.  An index of -1 means that there is no pixel; a tap with a
weight of nan has pixel 0.  All operands are dense.
"""

# ruff: noqa: B007, F821, F841
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from math import prod

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import UNITS
from minigrad.core import requests
from minigrad.core.plan import pieces
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.pasting import Part

BLOCK = 256  # number of positions per block, whose taps fit the first-level cache
LINES = 8  # number of channels that are computed together
TAPS = 4


def locate_all(points, m, size, beyond, corners, coordinates):  # type: ignore[no-untyped-def]
    """Compute one coordinate of m positions in the image; it is every second element of `points`."""
    for o in range(m):
        coordinates[o] = F(LOAD_1(points[2 * o]), size, corners, beyond)


def make_taps(columns, rows, m, height, width, near, index, weight):  # type: ignore[no-untyped-def]
    """Write the taps of m positions: the taps of corner q begin at q * BLOCK.

    If the nearest pixel is read, only corner 0 has taps.
    """
    for q in range(TAPS):
        lower, farther = q // 2, q % 2
        names = index[q * BLOCK : q * BLOCK + m]
        weights = weight[q * BLOCK : q * BLOCK + m]
        for o in range(m):
            left = T(np.floor(columns[o]))
            top = T(np.floor(rows[o]))
            right = T(columns[o] - left)
            below = T(rows[o] - top)
            w = T((below if lower else T(T(1) - below)) * (right if farther else T(T(1) - right)))
            j = T(np.rint(columns[o])) if near else T(left + T(farther))
            i = T(np.rint(rows[o])) if near else T(top + T(lower))
            w = T(T(q == 0) if near else w)
            inside = (i >= T(0)) & (i < T(height)) & (j >= T(0)) & (j < T(width)) & (T(q) * T(near) == T(0))
            ii = np.int64(np.int32(i if inside else T(0)))
            jj = np.int64(np.int32(j if inside else T(0)))
            names[o] = ii * width + jj if inside else np.int64(0 if w != w else -1)
            weights[o] = w


def workspaces():  # type: ignore[no-untyped-def]
    """Allocate memory for the positions and the taps of a block."""
    index = workspace(4 * BLOCK, np.int64)
    weight = workspace(4 * BLOCK, T)
    columns = workspace(BLOCK, T)
    rows = workspace(BLOCK, T)
    corners = T(N.corners)
    beyond = T(N.beyond)


def gather_lines(a, q, length, index, weight, m, out, p, other):  # type: ignore[no-untyped-def]
    """Compute m outputs of LINES lines: each output is the sum of its taps."""
    for u in each(LINES):
        q_u = q + u * length
        p_u = p + u * other
    for o in range(m):
        for u in each(LINES):
            sum_u = T(0)
        for k in each(TAPS):
            i = index[np.uint64(k * BLOCK + o)]
            if i >= 0:
                w = weight[np.uint64(k * BLOCK + o)]
                for u in each(LINES):
                    sum_u = T(sum_u + w * LOAD_0(a[np.uint64(q_u + i)]))
        for u in each(LINES):
            out[np.uint64(p_u + o)] = STORE(sum_u)


def gather_line(a, q, index, weight, m, out, p):  # type: ignore[no-untyped-def]
    """Compute m outputs of one line: each output is the sum of its taps."""
    for o in range(m):
        total = T(0)
        for k in each(TAPS):
            i = index[np.uint64(k * BLOCK + o)]
            if i >= 0:
                total = T(total + weight[np.uint64(k * BLOCK + o)] * LOAD_0(a[np.uint64(q + i)]))
        out[np.uint64(p + o)] = STORE(total)


def scatter_lines(a, q, length, index, weight, m, out, p, other):  # type: ignore[no-untyped-def]
    """Add m incoming gradients of LINES lines to the pixels of their taps, except where a weight is nan."""
    for u in each(LINES):
        q_u = q + u * length
        p_u = p + u * other
    for k in each(TAPS):
        for o in range(m):
            i = index[np.uint64(k * BLOCK + o)]
            w = weight[np.uint64(k * BLOCK + o)]
            if i >= 0 and w == w:
                for u in each(LINES):
                    pixel = np.uint64(p_u + i)
                    v = LOAD_0(a[np.uint64(q_u + o)])
                    out[pixel] = STORE(T(out[pixel] + w * v))


def scatter_line(a, q, index, weight, m, out, p):  # type: ignore[no-untyped-def]
    """Add m incoming gradients of one line to the pixels of their taps, except where a weight is nan."""
    for o in range(m):
        for k in each(TAPS):
            i = index[np.uint64(k * BLOCK + o)]
            w = weight[np.uint64(k * BLOCK + o)]
            if i >= 0 and w == w:
                pixel = np.uint64(p + i)
                out[pixel] = STORE(T(out[pixel] + w * LOAD_0(a[np.uint64(q + o)])))


def add_lines(g, p, count, a, q, size, lines, names, weights, sums):  # type: ignore[no-untyped-def]
    """Sum over lines the pixel of a tap times the incoming gradient, for each position."""
    for o in range(len(sums)):
        sums[o] = T(0)
        names[o] = names[o] if weights[o] == weights[o] else -1
    whole = lines // LINES * LINES
    for c in range(0, whole, LINES):
        for u in each(LINES):
            q_u = q + (c + u) * size
            p_u = p + (c + u) * count
        for o in range(len(sums)):
            i = names[np.uint64(o)]
            if i >= 0:
                s = sums[np.uint64(o)]
                for u in each(LINES):
                    s = T(s + LOAD_2(a[np.uint64(q_u + i)]) * LOAD_0(g[np.uint64(p_u + o)]))
                sums[np.uint64(o)] = s
    for c in range(whole, lines):
        for o in range(len(sums)):
            i = names[np.uint64(o)]
            if i >= 0:
                pixel = LOAD_2(a[np.uint64(q + c * size + i)])
                sums[np.uint64(o)] = T(sums[np.uint64(o)] + pixel * LOAD_0(g[np.uint64(p + c * count + o)]))


def write_derivatives(near, far, other, opposite, coordinates, points, size, corners, beyond, m, z):  # type: ignore[no-untyped-def]
    """Write the gradients with respect to one coordinate of m positions, which is every second element of `points`.

    The first four operands are the sums of the corners: along the coordinate from `near` to `far`, and from `other` to
    `opposite`.  coordinates: the other coordinate of the positions in the image.
    """
    for o in range(m):
        across = T(coordinates[o] - T(np.floor(coordinates[o])))
        d = T(T(far[o] - near[o]) * T(T(1) - across) + T(opposite[o] - other[o]) * across)
        z[2 * o] = STORE(G(d, LOAD_1(points[2 * o]), size, corners, beyond))


COMMON = {"WORKSPACES": (Part(workspaces),)}


@loop(
    Fields("lines part parts height width count near beyond corners back a grid out"), loads=2, words=COMMON,
    helpers=(locate_all, make_taps, gather_lines, gather_line, scatter_lines, scatter_line),
)  # fmt: skip
def grid_sample(a, grid, out, N):  # type: ignore[no-untyped-def]
    """Compute outputs from pixels, or, if `back`, add incoming gradients of outputs to pixels.

    A task is one of the `parts` of the lines of an image, `part` lines each.  count: positions per image.
    """
    count = N.count
    size = N.height * N.width
    WORKSPACES()
    for task in range(first, last):
        n = task // N.parts
        low = n * N.lines + (task - n * N.parts) * N.part
        high = min((n + 1) * N.lines, low + N.part)
        if N.back:
            z = out[N.out + low * size : N.out + high * size]
            for i in range((high - low) * size):
                z[i] = STORE(T(0))
        for start in range(0, count, BLOCK):
            m = min(BLOCK, count - start)
            at = N.grid + 2 * (n * count + start)
            locate_all(grid[at:], m, T(N.width), beyond, corners, columns)
            locate_all(grid[at + 1 :], m, T(N.height), beyond, corners, rows)
            make_taps(columns, rows, m, N.height, N.width, N.near, index, weight)
            whole = low + (high - low) // LINES * LINES
            if N.back:
                for c in range(low, whole, LINES):
                    scatter_lines(a, N.a + c * count + start, count, index, weight, m, out, N.out + c * size, size)
                for c in range(whole, high):
                    scatter_line(a, N.a + c * count + start, index, weight, m, out, N.out + c * size)
            else:
                for c in range(low, whole, LINES):
                    gather_lines(a, N.a + c * size, size, index, weight, m, out, N.out + c * count + start, count)
                for c in range(whole, high):
                    gather_line(a, N.a + c * size, index, weight, m, out, N.out + c * count + start)
    leave(index, weight, columns, rows)


@loop(
    Fields("lines blocks height width count beyond corners g a grid out"), loads=3, words=COMMON,
    helpers=(locate_all, make_taps, add_lines, write_derivatives),
)  # fmt: skip
def grid_gradients(g, grid, a, out, N):  # type: ignore[no-untyped-def]
    """Compute the gradients with respect to the positions.  A task is one of the `blocks` of positions of an image.

    `terms` has for each tap the sum over the lines of its pixel times g; it is 0 for a weight of nan.
    """
    count = N.count
    size = N.height * N.width
    WORKSPACES()
    terms = workspace(4 * BLOCK, T)
    for task in range(first, last):
        n = task // N.blocks
        start = (task - n * N.blocks) * BLOCK
        m = min(BLOCK, count - start)
        at = N.grid + 2 * (n * count + start)
        locate_all(grid[at:], m, T(N.width), beyond, corners, columns)
        locate_all(grid[at + 1 :], m, T(N.height), beyond, corners, rows)
        make_taps(columns, rows, m, N.height, N.width, 0, index, weight)
        p = N.g + n * N.lines * count + start
        q = N.a + n * N.lines * size
        for k in range(TAPS):
            names = index[k * BLOCK : k * BLOCK + m]
            weights = weight[k * BLOCK : k * BLOCK + m]
            add_lines(g, p, count, a, q, size, N.lines, names, weights, terms[k * BLOCK : k * BLOCK + m])
        to = N.out + 2 * (n * count + start)
        for k in each(TAPS):
            s_k = terms[k * BLOCK : k * BLOCK + m]
        write_derivatives(s_0, s_1, s_2, s_3, rows, grid[at:], T(N.width), corners, beyond, m, out[to:])
        write_derivatives(s_0, s_2, s_1, s_3, columns, grid[at + 1 :], T(N.height), corners, beyond, m, out[to + 1 :])
    leave(index, weight, columns, rows, terms)


@serves(CpuBackend, requests.SampleGrid)
def sample_grid(steps: CpuSteps, request: requests.SampleGrid) -> None:
    (out,), (a, grid) = steps.outs, map(steps.dense, steps.operands)
    (images, lines, height, width), count = (out if request.back else a).shape, prod(grid.shape[1:3])
    part, parts = pieces(lines, max(2 * LINES, images * lines // UNITS // LINES * LINES))
    steps.run(
        grid_sample, a, grid, out, words={"F": request.locate}, tasks=images * parts,
        numel=max(out.layout.numel, a.layout.numel), cost=TAPS, lines=lines, part=part, parts=parts, height=height,
        width=width, count=count, near=request.near, beyond=request.beyond, corners=request.corners, back=request.back,
    )  # fmt: skip


@serves(CpuBackend, requests.GridGradients)
def sample_gradients(steps: CpuSteps, request: requests.GridGradients) -> None:
    g, a, grid = map(steps.dense, steps.operands)
    (images, lines, height, width), count = a.shape, prod(grid.shape[1:3])
    blocks = -(-count // BLOCK)
    steps.run(
        grid_gradients, g, grid, a, *steps.outs,
        words={"F": request.locate, "G": request.derivative}, tasks=images * blocks,
        numel=images * lines * count, cost=TAPS, lines=lines, blocks=blocks, height=height, width=width, count=count,
        beyond=request.beyond, corners=request.corners,
    )  # fmt: skip
