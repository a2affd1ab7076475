"""Masks on CUDA: blocks count the true elements of equal parts, the counts are summed, then positions are written.

The loops are in `kernels/cuda/masks.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, line
from minigrad.backends.cuda.runtime import THREADS, Program
from minigrad.backends.launch import Loop
from minigrad.backends.lowering.functions import SUM
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import bool_, int64
from minigrad.core.layout import merge
from minigrad.core.op import Spec
from minigrad.kernels.cuda import masks
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.specialize import write_kernel

WARPS = THREADS // 32


@serves(CudaBackend, requests.Tally)
def tally(steps: Steps, request: requests.Tally) -> Loop:
    (result,), (mask,), parts = steps.outs, steps.operands, request.parts
    counts = result if parts == 1 else steps.work(result.shape, int64)
    rank, wide, numbers = stretches(mask, parts, counts)
    launch = steps.backend.bind(
        steps.backend.kernel(write_count, rank, wide), *line(steps.backend.blocks(parts, 1)), numbers
    )
    steps.then(launch, mask, mask, counts)
    if parts > 1:
        steps.ask(requests.Scan(SUM, int64.compute, 0), result, counts)
    return steps.launch


@serves(CudaBackend, requests.Locate)
def locate(steps: Steps, request: requests.Locate) -> Loop:
    (out,), (mask, starts) = steps.outs, steps.operands
    parts = starts.layout.numel - 1
    rank, _, numbers = stretches(mask, parts, out)
    return steps.backend.bind(
        steps.backend.kernel(write_positions, rank), *line(steps.backend.blocks(parts, 1)), numbers
    )


def stretches(mask: Spec, parts: int, out: Spec) -> tuple[int, bool, list[int]]:
    """Return a mask's rank, whether it is one run, and the scalar arguments of the loops over its equal parts."""
    n, offset = mask.layout.numel, mask.layout.offset
    dims, (strides,) = merge([mask.layout])
    length = -(-n // parts)
    numbers = masks.mask_fields(len(dims)).pack(
        n=n, length=length, units=parts, part=-(-length // THREADS) * 32, limit=out.layout.numel, offset=offset,
        to=out.layout.offset, step=out.layout.strides[0], sizes=dims, steps=strides,
    )  # fmt: skip
    return len(dims), strides in ((), (1,)), numbers


def write_count(rank: int, wide: bool) -> Program:
    """Write the count of true elements."""
    words = np.dtype(np.uint32)
    return written(masks.count, rank, [masks.stands], words, {"WIDE": str(int(wide))}, "_wide" if wide else "")


def write_positions(rank: int) -> Program:
    """Write the search for true elements."""
    return written(masks.positions, rank, [masks.stands, masks.votes], int64, {"WARPS": str(WARPS)})


def written(
    template: Callable[..., Any], rank: int, helpers: list[Callable[..., Any]], second: Any, constants: dict[str, str],
    label: str = "",
) -> Program:  # fmt: skip
    """Write the loop that counts, or the loop that writes positions.  second: the dtype of the array after the mask."""
    text = write_kernel(
        f"{template.__name__} of what holds; {rank} dims.",
        template,
        operands=(bool_,),
        out=int64,
        constants=constants,
        arrays=(bool_, second, int64),
        helpers=helpers,
        fields=masks.mask_fields(rank),
        target=CUDA,
    )
    return Program(f"mask_{template.__name__}{rank}{label}", text)
