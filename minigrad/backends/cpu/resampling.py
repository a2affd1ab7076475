"""Resampling on the CPU: each output along a dim is a weighted sum of a few inputs, whose indices are in a table.

Free names: `LOAD_0`, `STORE`, `T` and `ROWS`.  With `ROWS`, the innermost dim is not resampled, and it is dense on both
sides, so whole rows are added.  Otherwise `LINES` lines along the dim are computed together, so that the tables are
read once for all of them; the remaining lines are computed one by one.

The tables are dense: element k * count + o of `index` and of `weight` belongs to term k of output o.  An index of -1
means that there is no such term.  Forward, element `index` of a is added to element o of the result; backward, element
o of a is added to element `index` of the result.
"""

# ruff: noqa: B007, F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from math import prod

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK, COLUMNS, UNITS
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.plan import walk as traverse
from minigrad.core.plan import without
from minigrad.kernels.fields import Fields, loop

LINES = 4  # neighbouring lines that are computed together: their sums are in registers, and the tables are read once


@loop(
    Fields(
        "blocks block cols size terms count back index weight axis step rank", "sizes[rank]", "offset col strides[rank]"
    ), loads=1,
)  # fmt: skip
def resample(a, index, weight, out, N):  # type: ignore[no-untyped-def]
    """Resample along a dim.  A task is a block of the columns of the other dims.

    size: length of the resampled dim of out.  axis, step: its strides in out and a.  index, weight: where the tables
    begin.  The groups are those of out and a, without the resampled dim.
    """
    size, terms, count, back, axis, step, blocks = N.size, N.terms, N.count, N.back, N.axis, N.step, N.blocks
    indices, weights = N.index, N.weight
    for unit in range(first, last):
        rest = unit // blocks
        left = (unit - rest * blocks) * N.block
        cols = min(N.cols - left, N.block)
        to = N.offset[0] + left * N.col[0]
        pa = N.offset[1] + left * N.col[1]
        walk(rest, N.sizes, to=N.strides[0], pa=N.strides[1])
        if ROWS:
            for i in range(size):
                z = out[to + i * axis : to + i * axis + cols]
                for c in range(cols):
                    z[c] = STORE(T(0))
            for o in range(count):
                for k in range(terms):
                    i = index[indices + k * count + o]
                    if i >= 0:
                        w = weight[weights + k * count + o]
                        p = to + (i if back else o) * axis
                        q = pa + (o if back else i) * step
                        z = out[p : p + cols]
                        x = a[q : q + cols]
                        for c in range(cols):
                            z[c] = STORE(T(z[c] + w * LOAD_0(x[c])))
        else:
            together = cols // LINES * LINES
            for c in range(0, together, LINES):
                for u in each(LINES):
                    p_u = to + (c + u) * N.col[0]
                    q_u = pa + (c + u) * N.col[1]
                if back:
                    for i in range(size):
                        for u in each(LINES):
                            out[np.uint64(p_u + i * axis)] = STORE(T(0))
                    for k in range(terms):
                        for o in range(count):
                            i = index[np.uint64(indices + k * count + o)]
                            if i >= 0:
                                w = weight[np.uint64(weights + k * count + o)]
                                for u in each(LINES):
                                    at = np.uint64(p_u + i * axis)
                                    out[at] = STORE(T(out[at] + w * LOAD_0(a[np.uint64(q_u + o * step)])))
                else:
                    for o in range(count):
                        for u in each(LINES):
                            sum_u = T(0)
                        for k in range(terms):
                            i = index[np.uint64(indices + k * count + o)]
                            if i >= 0:
                                w = weight[np.uint64(weights + k * count + o)]
                                for u in each(LINES):
                                    sum_u = T(sum_u + w * LOAD_0(a[np.uint64(q_u + i * step)]))
                        for u in each(LINES):
                            out[np.uint64(p_u + o * axis)] = STORE(sum_u)
            for c in range(together, cols):
                p = to + c * N.col[0]
                q = pa + c * N.col[1]
                for i in range(size):
                    out[np.uint64(p + i * axis)] = STORE(T(0))
                for k in range(terms):
                    chosen = index[indices + k * count : indices + (k + 1) * count]
                    w = weight[weights + k * count : weights + (k + 1) * count]
                    if back or axis != 1 or step != 1:
                        for o in range(count):
                            i = chosen[o]
                            if i >= 0:
                                at = np.uint64(p + (i if back else o) * axis)
                                v = LOAD_0(a[np.uint64(q + (o if back else i) * step)])
                                out[at] = STORE(T(out[at] + w[o] * v))
                    else:
                        z = out[p : p + count]
                        for o in range(count):
                            i = chosen[o]
                            v = LOAD_0(a[np.uint64(q + max(i, np.int64(0)))])
                            z[o] = STORE(T(z[o] + (w[o] * v if i >= 0 else T(0))))


@serves(CpuBackend, requests.Resample)
def resample_dim(steps: CpuSteps, request: requests.Resample) -> None:
    (out,), (a, index, _), dim, back = steps.outs, steps.operands, request.dim, request.back
    beside = tuple(1 if d == dim else n for d, n in enumerate(out.shape))
    dims, strides, offsets = traverse([without(x.layout, beside, dim) for x in (out, a)])
    cols, moves = dims[-1] if dims else 1, tuple(each[-1] if each else 1 for each in strides)
    rows, (terms, count) = moves == (1, 1) and cols > 1, index.shape
    work = prod(beside) * max(terms * count, out.shape[dim])
    few = rows and work >= settings.parallel_threshold and prod(dims[:-1]) < UNITS
    together = LINES
    lines = max(together, CHUNK // max(1, terms * count) // together * together)
    block = COLUMNS if few else cols if rows else min(cols, lines)
    blocks = -(-cols // block)
    tables = [steps.dense(x) for x in steps.operands[1:]]
    groups = [(offset, step, each[:-1]) for offset, each, step in zip(offsets, strides, moves, strict=False)]
    steps.run(
        resample, a, *tables, out, words={"ROWS": rows}, form="rows" if rows else "lines",
        tasks=blocks * prod(dims[:-1]), numel=work, each=groups,
        blocks=blocks, block=block, cols=cols, size=out.shape[dim], terms=terms, count=count, back=back,
        axis=out.layout.strides[dim], step=a.layout.strides[dim], sizes=dims[:-1],
    )  # fmt: skip
