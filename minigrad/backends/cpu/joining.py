"""Joining on the CPU: one launch for all operands, if each is dense and has the dtype of the result.

The loop is in `kernels/cpu/joining.py`.  Other joins are copies, one per operand: see `backends/lowering/`.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, bind, headed, kind_of
from minigrad.backends.cpu.texts import moving_header
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import int64
from minigrad.core.plan import pieces
from minigrad.kernels.cpu import joining
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

PIECE = 1 << 15  # size of a chunk in bytes
# Maximum number of elements for a strided copy (0.7 ns per element); longer operands use a call that moves bytes (5
# ns).
SHORT = 6
LONG = 4096  # minimum number of elements of an operand for a separate launch


@serves(CpuBackend, requests.Join)
def join(steps: Steps, request: requests.Join) -> Launch:
    (out,), parts, dim = steps.outs, steps.operands, request.dim
    lengths = [prod(x.shape[dim:]) for x in parts]
    scattered = max(lengths) <= SHORT and out.layout.numel >= LONG * len(parts)
    if scattered or not all(x.dtype is out.dtype and x.layout.is_contiguous for x in (out, *parts)):
        return steps.lower(request)
    if out.layout.numel == 0:
        return NO_STEPS
    size = out.dtype.itemsize
    ends = [size * n for n in accumulate(lengths)]
    whole = size * out.layout.numel
    chunk, _ = pieces(whole, PIECE)
    chunk = -(-chunk // 64) * 64  # chunks begin at cache lines
    offsets = [size * x.layout.offset for x in (*parts, out)]
    tasks = -(-whole // chunk)
    kernel = steps.backend.kernel(write_join, kind=kind_of(out.layout.numel, tasks))
    numbers = joining.JOIN.pack(
        chunk=chunk, whole=whole, row=ends[-1], ends=ends, offsets=offsets,
    )  # fmt: skip
    return bind(kernel, headed(tasks, numbers), len(parts))


def write_join() -> Any:
    """Write, compile and import the join, which works for every dtype."""
    text = write_kernel(
        "join: dense operands.",
        joining.join,
        out=int64,
        arrays=("table",),
        fields=joining.JOIN,
        imports=moving_header(),
    )
    return load("join", text)
