"""Resampling on the CPU: the scalar arguments of the loop of `kernels/cpu/resampling.py`."""

from __future__ import annotations

from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK, COLUMNS, UNITS
from minigrad.backends.launch import Launch
from minigrad.backends.steps import Steps
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.dtype import DType, int64
from minigrad.core.plan import walk, without
from minigrad.kernels.cpu import resampling
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

LINES = 4  # neighbouring lines that are computed together: their sums are in registers, and the tables are read once


@serves(CpuBackend, requests.Resample)
def resample(steps: Steps, request: requests.Resample) -> Launch:
    (out,), (a, index, _), dim, back = steps.outs, steps.operands, request.dim, request.back
    if not out.layout.numel:
        return steps.launch
    beside = tuple(1 if d == dim else n for d, n in enumerate(out.shape))
    dims, strides, offsets = walk([without(x.layout, beside, dim) for x in (out, a)])
    cols, moves = dims[-1] if dims else 1, tuple(each[-1] if each else 1 for each in strides)
    rows, (terms, count) = moves == (1, 1) and cols > 1, index.shape
    work = prod(beside) * max(terms * count, out.shape[dim])
    few = rows and work >= settings.parallel_threshold and prod(dims[:-1]) < UNITS
    lines = max(LINES, CHUNK // max(1, terms * count) // LINES * LINES)
    block = COLUMNS if few else cols if rows else min(cols, lines)
    blocks = -(-cols // block)
    tables = [steps.dense(x) for x in steps.operands[1:]]
    tasks = blocks * prod(dims[:-1])
    numbers = resampling.RESAMPLE.pack(
        *[(offset, step, each[:-1]) for offset, each, step in zip(offsets, strides, moves, strict=False)],
        blocks=blocks, block=block, cols=cols, size=out.shape[dim], terms=terms, count=count, back=back,
        indices=tables[0].layout.offset, weights=tables[1].layout.offset, axis=out.layout.strides[dim],
        step=a.layout.strides[dim], sizes=dims[:-1],
    )  # fmt: skip
    kernel = steps.backend.kernel(write_resample, out.dtype, rows, kind=kind_of(work, tasks))
    steps.then(kernel, a, *tables, out, numbers=headed(tasks, numbers))
    return steps.launch


def write_resample(dtype: DType, rows: bool) -> Any:
    """Write, compile and import one of the loops."""
    way = "rows" if rows else "lines"
    text = write_kernel(
        f"resample: {dtype}, {way}.",
        resampling.resample,
        operands=(dtype,),
        out=dtype,
        constants={"ROWS": str(int(rows)), "LINES": LINES},
        arrays=(dtype, int64, dtype, dtype),
        fields=resampling.RESAMPLE,
    )
    return load(f"resample_{dtype.short}_{way}", text)
