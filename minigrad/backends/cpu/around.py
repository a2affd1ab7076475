"""Surrounding on the CPU: planes of up to three dims, in one launch; the loops are in `kernels/cpu/around.py`."""

from __future__ import annotations

from math import prod

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.texts import sum_text
from minigrad.backends.launch import Launch
from minigrad.core import requests
from minigrad.core.layout import Layout, merge
from minigrad.core.plan import pieces
from minigrad.kernels.cpu import around

MODES = ("reflect", "replicate", "circular")  # in the order of the numbers that the kernel compares
PLANE = 3  # the number of dims of a plane


@serves(CpuBackend, requests.Surround)
def surround(steps: CpuSteps, request: requests.Surround) -> Launch | None:
    (out,), (a,) = steps.outs, steps.operands
    counts, mode, back = request.counts, request.mode, request.back
    first = next((d for d, pair in enumerate(counts) if any(pair)), len(counts))
    if len(counts) - first > PLANE:
        return steps.lower(request)
    first = min(first, len(counts) - 1)  # at least the last dim belongs to a plane
    lead, missing = out.shape[:first], PLANE - len(out.shape) + first
    inner = (1,) * missing + (out if back else a).shape[first:]
    pairs = ((0, 0),) * missing + counts[first:]
    wide = [n + sum(pair) for n, pair in zip(inner, pairs, strict=True)]
    layouts = [Layout.make(lead, x.layout.strides[:first], x.layout.offset) for x in (out, a)]
    dims, strides = merge(layouts)
    planes = prod(dims)
    inward = [(0,) * missing + x.layout.strides[first:] for x in (out, a)]
    groups = [(x.layout.offset, *step, moves) for x, step, moves in zip((out, a), inward, strides, strict=True)]
    steps.run(
        around.around_back if back else around.around, a, out, words={"ADD": sum_text(out.dtype)} if back else {},
        divided=pieces(planes, CHUNK // prod(wide)), elements=planes * prod(wide), groups=groups, planes=planes,
        mode=MODES.index(mode), n_x=inner[-1], before_x=pairs[-1][0], m_x=wide[-1],
        shape=dims, n=inner[:-1], before=[pair[0] for pair in pairs[:-1]], m=wide[:-1],
    )  # fmt: skip
    return None
