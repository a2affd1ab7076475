"""Masks on the CPU: the count of True elements, and their positions, on all threads.

A unit is a range of row-major positions.  The elements of all units are counted first, so that each unit has its place
in the output, and units can run in parallel.  Positions are written to a small buffer without a branch: a True element
advances the write position by 1, a False element does not.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined, assignment"
from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.core import requests
from minigrad.core.layout import merge
from minigrad.core.op import Spec
from minigrad.kernels.fields import Fields, loop

MASK = Fields("n length units cols rank in_0 step limit", "sizes[rank] strides[rank]")


@loop(MASK)
def mask_count(in_0, out, N):  # type: ignore[no-untyped-def]
    """Write how many elements are True before each unit, and then the total.  A task is a unit.

    A unit is `length` of the n positions, in rows of `cols`.
    """
    step = N.step
    for u in range(first, last):
        start = u * N.length
        stop = min(N.n, start + N.length)
        total = 0
        while start < stop:
            rest = start // N.cols
            col = start - rest * N.cols
            size = min(N.cols - col, stop - start)
            at = N.in_0 + col * step
            walk(rest, N.sizes, at=N.strides)
            if step == 1:
                x = in_0[at : at + size]
                for j in range(size):
                    total += x[j]
            else:
                for j in range(size):
                    total += in_0[np.uint64(at + j * step)]
            start += size
        out[u + 1] = total
    if first == last:
        total = 0
        for u in range(N.units + 1):
            total += out[u] if u > 0 else 0
            out[u] = total


@loop(MASK)
def mask_positions(in_0, in_1, out, N):  # type: ignore[no-untyped-def]
    """Write the positions of the True elements.  A task is a unit.

    in_1: where the positions of each unit begin in out.  limit: the length of out.
    """
    step = N.step
    indices = workspace(N.length + 1, np.int64)
    for u in range(first, last):
        start = u * N.length
        stop = min(N.n, start + N.length)
        held = 0
        while start < stop:
            rest = start // N.cols
            col = start - rest * N.cols
            size = min(N.cols - col, stop - start)
            at = N.in_0 + col * step
            walk(rest, N.sizes, at=N.strides)
            for j in range(size):
                indices[np.uint64(held)] = start + j
                held += np.int64(in_0[np.uint64(at + j * step)])
            start += size
        # Write as many positions as were counted, because another thread may have changed the mask since then.
        size = min(in_1[u + 1], N.limit) - in_1[u]
        z = out[in_1[u] : in_1[u] + size]
        for j in range(size):
            z[j] = indices[j] if j < held else 0
    leave(indices)


@serves(CpuBackend, requests.Tally)
def tally(steps: CpuSteps, request: requests.Tally) -> None:
    (mask,) = steps.operands
    steps.run(mask_count, mask, *steps.outs, end=True, **stretches(mask, request.parts))


@serves(CpuBackend, requests.Locate)
def locate(steps: CpuSteps, request: requests.Locate) -> None:
    (out,), (mask, starts) = steps.outs, steps.operands
    numbers = stretches(mask, starts.layout.numel - 1, out.layout.numel)
    steps.run(mask_positions, mask, starts, out, **numbers)


def stretches(mask: Spec, parts: int, limit: int = 0) -> dict[str, Any]:
    """Return the tasks and the numbers of the loops over equal parts of a mask."""
    n = mask.layout.numel
    dims, (steps,) = merge([mask.layout])
    cols, step = (dims[-1], steps[-1]) if dims else (1, 1)
    return {
        "tasks": parts, "numel": n, "n": n, "length": -(-n // parts), "units": parts, "cols": cols, "step": step,
        "limit": limit, "sizes": dims[:-1], "strides": steps[:-1],
    }  # fmt: skip
