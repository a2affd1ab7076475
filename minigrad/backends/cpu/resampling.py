"""Resampling on the CPU: the scalar arguments of the loop of `kernels/cpu/resampling.py`."""

from __future__ import annotations

from math import prod

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK, COLUMNS, UNITS
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.plan import walk, without
from minigrad.kernels.cpu import resampling


@serves(CpuBackend, requests.Resample)
def resample(steps: CpuSteps, request: requests.Resample) -> None:
    (out,), (a, index, _), dim, back = steps.outs, steps.operands, request.dim, request.back
    beside = tuple(1 if d == dim else n for d, n in enumerate(out.shape))
    dims, strides, offsets = walk([without(x.layout, beside, dim) for x in (out, a)])
    cols, moves = dims[-1] if dims else 1, tuple(each[-1] if each else 1 for each in strides)
    rows, (terms, count) = moves == (1, 1) and cols > 1, index.shape
    work = prod(beside) * max(terms * count, out.shape[dim])
    few = rows and work >= settings.parallel_threshold and prod(dims[:-1]) < UNITS
    together = resampling.LINES
    lines = max(together, CHUNK // max(1, terms * count) // together * together)
    block = COLUMNS if few else cols if rows else min(cols, lines)
    blocks = -(-cols // block)
    tables = [steps.dense(x) for x in steps.operands[1:]]
    groups = [(offset, step, each[:-1]) for offset, each, step in zip(offsets, strides, moves, strict=False)]
    steps.run(
        resampling.resample, a, *tables, out, words={"ROWS": rows}, form="rows" if rows else "lines",
        tasks=blocks * prod(dims[:-1]), elements=work, groups=groups,
        blocks=blocks, block=block, cols=cols, size=out.shape[dim], terms=terms, count=count, back=back,
        axis=out.layout.strides[dim], step=a.layout.strides[dim], sizes=dims[:-1],
    )  # fmt: skip
