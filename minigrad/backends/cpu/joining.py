"""Joining on the CPU: one launch for all operands, if each is dense and has the dtype of the result.

The loop is in `kernels/cpu/joining.py`.  Other joins are copies, one per operand: see `backends/lowering/`.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.launch import Launch
from minigrad.core import requests
from minigrad.core.plan import pieces
from minigrad.kernels.cpu import joining

PIECE = 1 << 15  # size of a chunk in bytes
# Maximum number of elements for a strided copy (0.7 ns per element); longer operands use a call that moves bytes (5
# ns).
SHORT = 6
LONG = 4096  # minimum number of elements of an operand for a separate launch


@serves(CpuBackend, requests.Join)
def join(steps: CpuSteps, request: requests.Join) -> Launch | None:
    (out,), parts, dim = steps.outs, steps.operands, request.dim
    lengths = [prod(x.shape[dim:]) for x in parts]
    scattered = max(lengths) <= SHORT and out.layout.numel >= LONG * len(parts)
    if scattered or not all(x.dtype is out.dtype and x.layout.is_contiguous for x in (out, *parts)):
        return steps.lower(request)
    size = out.dtype.itemsize
    ends = [size * n for n in accumulate(lengths)]
    whole = size * out.layout.numel
    chunk, _ = pieces(whole, PIECE)
    chunk = -(-chunk // 64) * 64  # chunks begin at cache lines
    offsets = [size * x.layout.offset for x in (*parts, out)]
    steps.run(
        joining.join, *parts, out, dtypes=(), divided=(chunk, -(-whole // chunk)), whole=whole, row=ends[-1], ends=ends,
        offsets=offsets,
    )  # fmt: skip
    return None
