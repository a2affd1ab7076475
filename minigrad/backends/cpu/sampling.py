"""Sampling by grids on the CPU: dense operands, and tasks of lines or of positions."""

from __future__ import annotations

from math import prod

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import UNITS
from minigrad.core import requests
from minigrad.core.plan import pieces
from minigrad.kernels.cpu import sampling
from minigrad.kernels.cpu.sampling import BLOCK, LINES, TAPS


@serves(CpuBackend, requests.SampleGrid)
def sample_grid(steps: CpuSteps, request: requests.SampleGrid) -> None:
    (out,), (a, grid) = steps.outs, map(steps.dense, steps.operands)
    (images, lines, height, width), count = (out if request.back else a).shape, prod(grid.shape[1:3])
    part, parts = pieces(lines, max(2 * LINES, images * lines // UNITS // LINES * LINES))
    steps.run(
        sampling.grid_sample, a, grid, out, words={"LOCATE": request.locate}, tasks=images * parts,
        elements=max(out.layout.numel, a.layout.numel), cost=TAPS, lines=lines, part=part, parts=parts, height=height,
        width=width, count=count, near=request.near, beyond=request.beyond, corners=request.corners, back=request.back,
    )  # fmt: skip


@serves(CpuBackend, requests.GridGradients)
def grid_gradients(steps: CpuSteps, request: requests.GridGradients) -> None:
    g, a, grid = map(steps.dense, steps.operands)
    (images, lines, height, width), count = a.shape, prod(grid.shape[1:3])
    blocks = -(-count // BLOCK)
    steps.run(
        sampling.grid_gradients, g, grid, a, *steps.outs,
        words={"LOCATE": request.locate, "DERIVATIVE": request.derivative}, tasks=images * blocks,
        elements=images * lines * count, cost=TAPS, lines=lines, blocks=blocks, height=height, width=width, count=count,
        beyond=request.beyond, corners=request.corners,
    )  # fmt: skip
