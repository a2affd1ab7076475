"""Masks on the CPU: parts of the elements are counted, then positions are written, on all threads.

The loops are in `kernels/cpu/masks.py`.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.core import requests
from minigrad.core.layout import merge
from minigrad.core.op import Spec
from minigrad.kernels.cpu import masks


@serves(CpuBackend, requests.Tally)
def tally(steps: CpuSteps, request: requests.Tally) -> None:
    (mask,) = steps.operands
    steps.run(masks.mask_count, mask, *steps.outs, end=True, **stretches(mask, request.parts))


@serves(CpuBackend, requests.Locate)
def locate(steps: CpuSteps, request: requests.Locate) -> None:
    (out,), (mask, starts) = steps.outs, steps.operands
    numbers = stretches(mask, starts.layout.numel - 1, out.layout.numel)
    steps.run(masks.mask_positions, mask, starts, out, **numbers)


def stretches(mask: Spec, parts: int, limit: int = 0) -> dict[str, Any]:
    """Return the tasks and the numbers of the loops over equal parts of a mask."""
    n = mask.layout.numel
    dims, (steps,) = merge([mask.layout])
    cols, step = (dims[-1], steps[-1]) if dims else (1, 1)
    return {
        "tasks": parts, "elements": n, "n": n, "length": -(-n // parts), "units": parts, "cols": cols, "step": step,
        "limit": limit, "sizes": dims[:-1], "strides": steps[:-1],
    }  # fmt: skip
