"""Surrounding on the CPU: planes of up to three dims, in one launch; the loops are in `kernels/cpu/around.py`."""

from __future__ import annotations

from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, bind, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.texts import sum_text
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout, merge
from minigrad.core.plan import pieces
from minigrad.kernels.cpu import around
from minigrad.kernels.pasting import expression_macro
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

MODES = ("reflect", "replicate", "circular")  # in the order of the numbers that the kernel compares
PLANE = 3  # the number of dims of a plane
Pairs = tuple[tuple[int, int], ...]


@serves(CpuBackend, requests.Surround)
def surround(steps: Steps, request: requests.Surround) -> Launch:
    (out,), (a,) = steps.outs, steps.operands
    counts, mode, back = request.counts, request.mode, request.back
    first = next((d for d, pair in enumerate(counts) if any(pair)), len(counts))
    if len(counts) - first > PLANE:
        return steps.lower(request)
    if out.layout.numel == 0:
        return NO_STEPS
    first = min(first, len(counts) - 1)  # at least the last dim belongs to a plane
    lead, missing = out.shape[:first], PLANE - len(out.shape) + first
    inner = (1,) * missing + (out if back else a).shape[first:]
    pairs = ((0, 0),) * missing + counts[first:]
    wide = [n + sum(pair) for n, pair in zip(inner, pairs, strict=True)]
    layouts = [Layout.make(lead, x.layout.strides[:first], x.layout.offset) for x in (out, a)]
    dims, strides = merge(layouts)
    planes = prod(dims)
    chunk, chunks = pieces(planes, CHUNK // prod(wide))
    inward = [(0,) * missing + x.layout.strides[first:] for x in (out, a)]
    numbers = around.AROUND.pack(
        *[(x.layout.offset, *step, moves) for x, step, moves in zip((out, a), inward, strides, strict=True)],
        planes=planes, chunk=chunk, mode=MODES.index(mode), n_x=inner[-1], before_x=pairs[-1][0], m_x=wide[-1],
        shape=dims, n=inner[:-1], before=[pair[0] for pair in pairs[:-1]], m=wide[:-1],
    )  # fmt: skip
    kernel = steps.backend.kernel(write_around, out.dtype, back, kind=kind_of(planes * prod(wide), chunks))
    return bind(kernel, headed(chunks, numbers), 1)


def write_around(dtype: DType, back: bool) -> Any:
    """Write, compile and import the kernel that surrounds planes, or its adjoint."""
    label = "around_back" if back else "around"
    text = write_kernel(
        f"{label}: {dtype}.",
        around.around_back if back else around.around,
        operands=(dtype, dtype) if back else (),
        out=dtype,
        macros={"ADD": expression_macro(sum_text(dtype))} if back else {},
        helpers=(around.position,),
        arrays=(dtype, dtype),
        fields=around.AROUND,
    )
    return load(f"{label}_{dtype.short}", text)
