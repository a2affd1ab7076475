"""Sorting on the CPU: keys for each dtype, rows divided among threads, a faster loop for the first few elements.

The loops are in `kernels/cpu/sorting.py`; the loop for one element of the order is in `selecting.py`.  They return
positions, and on request the sorted values.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.launch import Launch
from minigrad.backends.positions import serve_positions
from minigrad.backends.steps import Ints, Value
from minigrad.core import requests
from minigrad.core.dtype import int64
from minigrad.core.op import Spec
from minigrad.core.plan import pieces, walk, without
from minigrad.kernels.cpu import inserting, selecting, sorting
from minigrad.kernels.cpu.sorting import FEW
from minigrad.kernels.integer import key_words
from minigrad.kernels.macros import keep_macro
from minigrad.kernels.pasting import Late

COST = 16  # cost of sorting one element, in additions
JOINED = 4096  # elements of a line and a row of x from which both are sorted together, if a search takes more steps
PART = 4  # `first_few`, which counts digits instead of sorting, is faster if at most 1/4 of a row is requested
MISSING = {"last": 0, "first": 1, "skip": 2}


def order(steps: CpuSteps, request: requests.Sort, out: Value, values: Value | None) -> None:
    """Add the steps that write the positions that sort the operand, and the sorted values if they are requested."""
    (a,), dim, descending = steps.operands, request.dim, request.descending
    n, wanted, bits = a.shape[dim], out.shape[dim], 8 * a.dtype.itemsize
    words = key_words(a.dtype, descending) | {
        "KEEP": Late(keep_macro, (values is not None,)), "BITS": min(bits, 32), "WIDE": bits > 32,
    }  # fmt: skip
    form = ("down" if descending else "up") + ("_kept" if values else "")
    # The kernel does not write a result that is not requested, so any memory may replace it.
    steps.run(
        sorting.first_few if wanted * PART <= n and bits <= 32 else sorting.order, a, values or out, out, words=words,
        form=form, dtypes=(a.dtype, a.dtype, int64), cost=COST, n=n, wanted=wanted, **chunks_of((out, a), a.shape, dim),
    )  # fmt: skip


serve_positions(CpuBackend, requests.Sort, order)


@serves(CpuBackend, requests.Nth)
def select(steps: CpuSteps, request: requests.Nth) -> Launch | None:
    (values, positions), (a,) = steps.outs, steps.operands
    dim, rank, missing = request.dim, request.rank, request.missing
    n = a.shape[dim]
    few = missing == "last" and rank < FEW and n >= FEW * PART and a.dtype.itemsize <= 4  # `first_few` is faster
    if few or values.layout is not positions.layout:
        return steps.lower(request)
    words = key_words(a.dtype) | {"BITS": 8 * a.dtype.itemsize, "NAN": key_words(a.dtype)["TOP"]}
    steps.run(
        selecting.select, a, values, positions, words=words, cost=COST, n=n, wanted=rank,
        missing=MISSING[missing] if a.dtype.is_float else 0, **chunks_of((positions, a), a.shape, dim),
    )  # fmt: skip
    return None


@serves(CpuBackend, requests.Insert)
def insert(steps: CpuSteps, request: requests.Insert) -> Launch | None:
    (out,), (lines, x) = steps.outs, steps.operands
    last, cols, n = len(x.shape) - 1, x.shape[-1], lines.shape[-1]
    # In a long line, the steps of a search wait for memory.
    if n + cols >= JOINED and n.bit_length() * cols > 2 * (n + cols):
        return steps.lower(request)
    dims, groups = lines_of((out, lines, x), last)
    block, blocks = pieces(cols, CHUNK // COST)
    steps.run(
        inserting.insert, lines, x, out, words=key_words(x.dtype), cost=COST, tasks=blocks * prod(dims), groups=groups,
        blocks=blocks, block=block, cols=cols, n=n, after=request.after, sizes=dims,
    )  # fmt: skip
    return None


def chunks_of(specs: Sequence[Spec], shape: Ints, dim: int) -> dict[str, Any]:
    """Return the numbers of chunks of lines along a dim of `shape`, for the loops that sort or select."""
    dims, groups = lines_of(specs, dim, shape)
    rows = prod(dims)
    return {
        "rows": rows, "divided": pieces(rows, CHUNK // shape[dim]), "elements": rows * shape[dim], "groups": groups,
        "sizes": dims,
    }  # fmt: skip


def lines_of(specs: Sequence[Spec], dim: int, shape: Ints | None = None) -> tuple[Ints, list[Any]]:
    """Return the dims of the lines along one dim, and for each tensor the offset, the step, and the strides of lines.

    shape: the shape of the first tensors, if they differ in the size of the dim.
    """
    dims, strides, offsets = walk([without(x.layout, shape or x.shape, dim) for x in specs])
    return dims, [(offset, x.layout.strides[dim], s) for x, offset, s in zip(specs, offsets, strides, strict=True)]
