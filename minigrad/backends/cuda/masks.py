"""Masks on CUDA: blocks count the true elements of equal parts, the counts are summed, then positions are written.

A unit is a run of row-major positions, which one block processes.  The elements of all units are counted first, so
that each unit has its place in the output.  Within a unit, each warp processes its own run: 32 neighbours vote
together, and the votes below a True element are its index.  `WIDE`: the mask is one run of memory; `mask_count` then
reads 16 bytes at a time as words of 32 bits, and counts their ones.
"""

# mypy: disable-error-code="name-defined, no-untyped-def"
from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, CudaSteps
from minigrad.backends.cuda.runtime import THREADS
from minigrad.backends.lowering.functions import SUM
from minigrad.core import requests
from minigrad.core.dtype import int64
from minigrad.core.layout import merge
from minigrad.core.op import Spec
from minigrad.kernels.fields import Fields, loop

# n positions are divided into `parts` of `length`, and each of these into pieces of `part` for the warps.  limit: the
# length of out.
FIELDS = Fields("n length parts part limit in_0 out step", "sizes[rank] steps[rank]")
WARPS = THREADS // 32


def stands(in_0, i, N):
    """Return the element at a position as 0 or 1."""
    rest = i
    at = N.in_0
    walk(rest, N.sizes, at=N.steps)
    return np.int32(in_0[at])


@loop(FIELDS, loads=1, helpers=(stands,))
def mask_count(in_0, in_1, out, N):
    """Write 0, and then the count of True elements in each unit.

    in_1: the mask as words of 32 bits.
    """
    sums = cuda.shared.array(1, np.int32)
    unit = np.int64(cuda.blockIdx.x)
    while unit < N.parts:
        if cuda.threadIdx.x == 0:
            sums[0] = np.int32(0)
        cuda.syncthreads()
        start = unit * N.length
        stop = min(N.n, start + N.length)
        total = np.int32(0)
        if WIDE:
            head = min(stop, (N.in_0 + start + 15) // 16 * 16 - N.in_0)
            tail = max(head, (N.in_0 + stop) // 16 * 16 - N.in_0)
            i = head + cuda.threadIdx.x * 16
            while i < tail:
                a, b, c, d = load_4(in_1, (N.in_0 + i) // 4)
                total += np.int32(cuda.popc(a) + cuda.popc(b) + cuda.popc(c) + cuda.popc(d))
                i += cuda.blockDim.x * 16
            if start + cuda.threadIdx.x < head:
                total += stands(in_0, start + cuda.threadIdx.x, N)
            if tail + cuda.threadIdx.x < stop:
                total += stands(in_0, tail + cuda.threadIdx.x, N)
        else:
            i = start + cuda.threadIdx.x
            while i < stop:
                total += stands(in_0, i, N)
                i += cuda.blockDim.x
        lanes = 16
        while lanes > 0:
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, lanes)
            lanes //= 2
        if cuda.threadIdx.x % 32 == 0:
            atomic_add(sums, 0, total)
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            out[N.out + (unit + 1) * N.step] = np.int64(sums[0])
            if unit == 0:
                out[N.out] = np.int64(0)
        unit += cuda.gridDim.x


def votes(in_0, i, end, N):
    """Return a bit for each of 32 neighbours: whether the element is True."""
    held = np.int32(0)
    if i < end:
        held = stands(in_0, i, N)
    return np.uint32(cuda.ballot_sync(0xFFFFFFFF, held != 0))


@loop(FIELDS, loads=1, helpers=(stands, votes))
def mask_positions(in_0, in_1, out, N):
    """Write the positions of the True elements; in_1: where the positions of each unit begin in out."""
    sums = cuda.shared.array(WARPS, np.int64)
    warp = cuda.threadIdx.x // 32
    lane = cuda.threadIdx.x % 32
    below = np.uint32((np.uint64(1) << np.uint64(lane)) - np.uint64(1))
    unit = np.int64(cuda.blockIdx.x)
    while unit < N.parts:
        start = unit * N.length + warp * N.part
        end = min(start + N.part, min(N.n, (unit + 1) * N.length))
        held = np.int64(0)
        first = start
        while first < end:
            held += cuda.popc(votes(in_0, first + lane, end, N))
            first += 32
        if lane == 0:
            sums[warp] = held
        cuda.syncthreads()
        to = in_1[unit]
        # Write as many positions as were counted, because the mask may have been changed since then.
        stop = min(in_1[unit + 1], N.limit)
        k = 0
        while k < warp:
            to += sums[k]
            k += 1
        first = start
        while first < end:
            ballot = votes(in_0, first + lane, end, N)
            position = to + cuda.popc(np.uint32(ballot & below))
            if (ballot >> np.uint32(lane)) & np.uint32(1) and position < stop:
                out[N.out + position * N.step] = first + lane
            to += cuda.popc(ballot)
            first += 32
        if warp == WARPS - 1:
            position = to + lane
            while position < stop:
                out[N.out + position * N.step] = np.int64(0)
                position += 32
        cuda.syncthreads()
        unit += cuda.gridDim.x


@serves(CudaBackend, requests.Tally)
def tally(steps: CudaSteps, request: requests.Tally) -> None:
    (result,), (mask,), parts = steps.outs, steps.operands, request.parts
    counts = result if parts == 1 else steps.work(result.shape, int64)
    numbers = stretches(mask, parts, counts)
    wide = {"WIDE": numbers["steps"] in ((), (1,))}
    dtypes = (mask.dtype, np.dtype(np.uint32), int64)
    steps.run(mask_count, mask, mask, counts, words=wide, dtypes=dtypes, elements=parts, threads=THREADS, **numbers)
    if parts > 1:
        steps.ask(requests.Scan(SUM, int64.compute, 0), result, counts)


@serves(CudaBackend, requests.Locate)
def locate(steps: CudaSteps, request: requests.Locate) -> None:
    (out,), (mask, starts) = steps.outs, steps.operands
    parts = starts.layout.numel - 1
    steps.run(mask_positions, mask, starts, out, elements=parts, threads=THREADS, **stretches(mask, parts, out))


def stretches(mask: Spec, parts: int, out: Spec) -> dict[str, Any]:
    """Return the numbers of the loops over the equal parts of a mask."""
    dims, (strides,) = merge([mask.layout])
    length = -(-mask.layout.numel // parts)
    return {
        "n": mask.layout.numel, "length": length, "parts": parts, "part": -(-length // THREADS) * 32,
        "limit": out.layout.numel, "step": out.layout.strides[0], "sizes": dims, "steps": strides,
    }  # fmt: skip
