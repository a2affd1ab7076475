"""Masks on the CPU: parts of the elements are counted, then positions are written, on all threads.

The loops are in `kernels/cpu/masks.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, bind, headed, kind_of
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import bool_, int64
from minigrad.core.layout import merge
from minigrad.core.op import Spec
from minigrad.kernels.cpu import masks
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load


@serves(CpuBackend, requests.Tally)
def tally(steps: Steps, request: requests.Tally) -> Launch:
    (mask,), parts = steps.operands, request.parts
    kernel = steps.backend.kernel(write_masks, masks.count, kind=kind_for(mask, parts))
    return bind(kernel, headed(parts, stretches(mask, parts), end=True), 1)


@serves(CpuBackend, requests.Locate)
def locate(steps: Steps, request: requests.Locate) -> Launch:
    (out,), (mask, starts) = steps.outs, steps.operands
    if out.layout.numel == 0:
        return NO_STEPS
    parts = starts.layout.numel - 1
    kernel = steps.backend.kernel(write_masks, masks.positions, kind=kind_for(mask, parts))
    return bind(kernel, headed(parts, stretches(mask, parts, out.layout.numel)), 2)


def kind_for(mask: Spec, parts: int) -> str:
    """Return how the loops over equal parts of a mask are called."""
    return kind_of(mask.layout.numel, parts)


def stretches(mask: Spec, parts: int, limit: int = 0) -> list[int]:
    """Return the scalar arguments of the loops over equal parts of a mask."""
    n = mask.layout.numel
    dims, (steps,) = merge([mask.layout])
    cols, step = (dims[-1], steps[-1]) if dims else (1, 1)
    return masks.MASK.pack(
        n=n, length=-(-n // parts), units=parts, cols=cols, offset=mask.layout.offset, step=step,
        limit=limit, sizes=dims[:-1], strides=steps[:-1],
    )  # fmt: skip


def write_masks(template: Callable[..., Any]) -> Any:
    """Write, compile and import the loop that counts true elements, or the loop that writes their positions."""
    arrays = (bool_, int64, int64) if template is masks.positions else (bool_, int64)
    text = write_kernel(
        f"{template.__name__} of what holds.",
        template,
        operands=(bool_,),
        out=int64,
        arrays=arrays,
        fields=masks.MASK,
    )
    return load(f"mask_{template.__name__}", text)
