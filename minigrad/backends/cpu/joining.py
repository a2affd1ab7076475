"""Joining on the CPU: one launch for all operands, if each is dense and has the dtype of the result.

For each row of the result, the loop copies bytes of each operand in turn; `move` is that of `kernels/cpu/moving.py`.
Other joins are copies, one per operand: see `backends/lowering/`.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from itertools import accumulate
from math import prod

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.launch import Launch
from minigrad.core import requests
from minigrad.core.plan import pieces
from minigrad.kernels.cpu.target import moving_header
from minigrad.kernels.fields import Fields, loop


@loop(Fields("chunk whole row parts", "ends[parts] offsets"), table=True, imports=lambda words: moving_header())
def join(addresses, N):  # type: ignore[no-untyped-def]
    """Copy the operands into the result.  A task is a chunk of the `whole` bytes of the result.

    ends: where each operand's part of a row ends.  offsets: how many bytes the first element of each operand, and of
    the result, is behind its address.
    """
    parts = N.parts
    to = addresses[parts] + N.offsets[parts]
    for chunk in range(first, last):
        at = chunk * N.chunk
        stop = min(N.whole, at + N.chunk)
        line = at // N.row
        within = at - line * N.row
        k = 0
        while N.ends[k] <= within:
            k += 1
        while at < stop:
            begin = N.ends[k - 1] if k > 0 else 0
            end = N.ends[k]
            n = min(end - within, stop - at)
            source = addresses[k] + N.offsets[k]
            move(to + at, source + line * (end - begin) + within - begin, n)
            at += n
            within += n
            if within == end:
                k += 1
            if k == parts:
                k = 0
                within = 0
                line += 1


PIECE = 1 << 15  # size of a chunk in bytes
# Maximum number of elements for a strided copy (0.7 ns per element); longer operands use a call that moves bytes (5
# ns).
SHORT = 6
LONG = 4096  # minimum number of elements of an operand for a separate launch


@serves(CpuBackend, requests.Join)
def join_dense(steps: CpuSteps, request: requests.Join) -> Launch | None:
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
        join, *parts, out, dtypes=(), divided=(chunk, -(-whole // chunk)), whole=whole, row=ends[-1], ends=ends,
        offsets=offsets,
    )  # fmt: skip
    return None
