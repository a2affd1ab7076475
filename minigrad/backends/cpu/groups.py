"""Groups of channels on the CPU: rows of dense memory, divided between threads in chunks."""

from __future__ import annotations

from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.texts import bits
from minigrad.backends.steps import Value
from minigrad.core import requests
from minigrad.core.dtype import as_dtype
from minigrad.core.plan import pieces
from minigrad.kernels.cpu import groups

COST = 8  # approximate cost of an element, in additions


@serves(CpuBackend, requests.NormalizeGroups)
def normalize(steps: CpuSteps, request: requests.NormalizeGroups) -> None:
    x, weight, bias = steps.operands
    numbers = rows(x, weight, request.groups, request.eps)
    values = steps.dense(x), weight, bias, *steps.outs
    steps.run(groups.normalize_groups, *values, free=0, bias_step=bias.layout.strides[0], **numbers)


@serves(CpuBackend, requests.GroupGradients)
def group_gradients(steps: CpuSteps, request: requests.GroupGradients) -> None:
    dx, (x, g, weight) = steps.outs[0], steps.operands
    if not dx.layout.numel:
        for line in steps.outs[1:]:
            steps.fill(line, 0)
        return
    numbers = rows(x, weight, request.groups, request.eps)
    x, g = steps.dense(x), steps.dense(g)
    work = steps.work((2 * x.shape[0] * x.shape[1],), as_dtype(dx.dtype.compute))
    end = numbers["divided"][1] > 1
    steps.run(groups.group_gradients, x, g, weight, work, *steps.outs, end=end, free_0=0, free_1=0, **numbers)


def rows(x: Value, weight: Value, parts: int, eps: float) -> dict[str, Any]:
    """Return the numbers of the loops over dense rows, one for each group of an image."""
    images, channels, *sizes = x.shape
    size = prod(sizes)
    return {
        "rows": images * parts, "divided": pieces(images * parts, CHUNK // (channels // parts * size)), "cost": COST,
        "per_image": parts, "channels": channels // parts, "size": size, "eps": bits(eps),
        "weight_step": weight.layout.strides[0],
    }  # fmt: skip
