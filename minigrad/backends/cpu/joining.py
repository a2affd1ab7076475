"""Joining on the CPU: one launch for all operands, where the result is large and each is dense and of its dtype.

The loop is in `kernels/cpu/joining.py`.  Other joins are copies, one for each operand: see `backends/lowering/`.
"""

from __future__ import annotations

import hashlib
from ctypes import addressof, c_char
from functools import cache
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Launch, serves
from minigrad.backends.cpu.family import Family
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.dtype import int64
from minigrad.core.op import Spec
from minigrad.core.plan import pieces
from minigrad.kernels.cpu import joining
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

PIECE = 1 << 15  # bytes of a chunk


class Joining(Family):
    """The preparer of joins."""

    @serves(requests.Join)
    def join(self, out: Spec, *parts: Spec, dim: int) -> Launch:
        dense = all(x.dtype is out.dtype and x.layout.is_contiguous for x in (out, *parts))
        # A few small operands are copied in less time than it takes to find their addresses.
        if not dense or out.layout.numel < settings.parallel_threshold or out.layout.numel == 0:
            return self.lower(requests.Join(dim), (out,), parts)
        size = out.dtype.itemsize
        used = [k for k, x in enumerate(parts) if x.layout.numel]
        ends = [size * n for n in accumulate(prod(parts[k].shape[dim:]) for k in used)]
        whole = size * out.layout.numel
        chunk, _ = pieces(whole, PIECE)
        chunk = -(-chunk // 64) * 64  # chunks begin on lines of the cache
        numbers = np.array([-(-whole // chunk), chunk, whole, ends[-1], len(used), 0, *ends], np.int64)
        offsets = [size * parts[k].layout.offset for k in used] + [size * out.layout.offset]
        kernel = self.kernel(write_join, parallel=True)

        def launch(*buffers: NDArray[Any]) -> None:
            chosen = [*[buffers[k] for k in used], buffers[-1]]
            places = [address(x) + offset for x, offset in zip(chosen, offsets, strict=True)]
            kernel(np.array(places, np.int64), numbers)

        return launch


def address(buffer: Any) -> int:
    """Where a buffer's memory begins, five times faster than NumPy says it."""
    return addressof(c_char.from_buffer(buffer))


@cache
def moving_header() -> str:
    """The lines that give a kernel `move` and `fetch`, with the hash of what they come from."""
    source = Path(joining.__file__).with_name("moving.py").read_bytes()
    return (
        f"\nfrom minigrad.kernels.cpu.moving import movers\n\n"
        f"# moving.py {hashlib.sha256(source).hexdigest()[:16]}\n"
        f"move, fetch = movers()\n"
    )


def write_join(parallel: bool) -> Launch:
    """Write, compile and import the join, which serves every dtype."""
    label = "par" if parallel else "ser"
    text = write_kernel(
        f"join: dense operands, {label}.",
        joining.join,
        out=int64,
        compute=int64.compute,
        parallel=parallel,
        signature="void(int64[::1], int64[::1])",
        imports=moving_header(),
    )
    launch: Launch = load(f"join_{label}", text).kernel
    return launch
