"""Sorting on the CPU: keys for each dtype, rows divided among threads, a faster loop for the first few elements.

The loops are in `kernels/cpu/sorting.py`; the loop for one element of the order is in `selecting.py`.  They return
positions, and on request the sorted values.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.positions import serve_positions
from minigrad.backends.steps import Steps, Value
from minigrad.core import requests
from minigrad.core.dtype import DType, int64
from minigrad.core.plan import pieces, walk, without
from minigrad.kernels.cpu import inserting, selecting, sorting
from minigrad.kernels.orders import keep_macro, key_of
from minigrad.kernels.pasting import expression_macro
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

COST = 16  # cost of sorting one element, in additions
FEW = 32  # maximum k for which the best elements are kept in a sorted list while the row is read
LANES = 8  # number of binary searches side by side
JOINED = 4096  # elements of a line and a row of x from which both are sorted together, if a search takes more steps
PART = 4  # `first_few`, which counts digits instead of sorting, is faster if at most 1/4 of a row is requested


def order(steps: Steps, request: requests.Sort, out: Value, values: Value | None) -> None:
    """Add the steps that write the positions that sort the operand, and the sorted values if they are requested."""
    a, dim, descending = steps.operands[0], request.dim, request.descending
    n, wanted = a.shape[dim], out.shape[dim]
    dims, strides, offsets = walk([without(x.layout, a.shape, dim) for x in (out, a)])
    rows = prod(dims)
    chunk, chunks = pieces(rows, CHUNK // n)
    groups = [(offset, x.layout.strides[dim], s) for x, offset, s in zip((out, a), offsets, strides, strict=True)]
    numbers = sorting.ORDER.pack(*groups, rows=rows, chunk=chunk, n=n, wanted=wanted, sizes=dims)
    kind = kind_of(rows * n, chunks, COST)
    some = wanted * PART <= n and a.dtype.itemsize <= 4
    template = sorting.first_few if some else sorting.order
    kernel = steps.backend.kernel(write_order, template, a.dtype, descending, values is not None, kind=kind)
    # The kernel does not write a result that is not requested, so any memory may replace it.
    steps.then(kernel, a, values or out, out, numbers=headed(chunks, numbers))


serve_positions(CpuBackend, requests.Sort, order)


@serves(CpuBackend, requests.Nth)
def select(steps: Steps, request: requests.Nth) -> Launch:
    (values, positions), (a,) = steps.outs, steps.operands
    dim, rank, missing = request.dim, request.rank, request.missing
    if values.layout is not positions.layout:
        return steps.lower(request)
    if positions.layout.numel == 0:
        return NO_STEPS
    n = a.shape[dim]
    if missing == "last" and rank < FEW and n >= FEW * PART and a.dtype.itemsize <= 4:  # `first_few` is faster
        return steps.lower(request)
    dims, strides, offsets = walk([without(x.layout, a.shape, dim) for x in (positions, a)])
    rows = prod(dims)
    chunk, chunks = pieces(rows, CHUNK // n)
    groups = [(offset, x.layout.strides[dim], s)
              for x, offset, s in zip((positions, a), offsets, strides, strict=True)]  # fmt: skip
    numbers = selecting.SELECT.pack(
        *groups, rows=rows, chunk=chunk, n=n, wanted=rank, missing=MISSING[missing] if a.dtype.is_float else 0,
        sizes=dims,
    )  # fmt: skip
    kernel = steps.backend.kernel(write_select, a.dtype, kind=kind_of(rows * n, chunks, COST))
    steps.then(kernel, *steps.operands, *steps.outs, numbers=headed(chunks, numbers))
    return steps.launch


@serves(CpuBackend, requests.Insert)
def insert(steps: Steps, request: requests.Insert) -> Launch:
    (out,), (lines, x), after = steps.outs, steps.operands, request.after
    if out.layout.numel == 0:
        return NO_STEPS
    last, cols, n = len(x.shape) - 1, x.shape[-1], lines.shape[-1]
    # In a long line, the steps of a search wait for memory.
    if n + cols >= JOINED and n.bit_length() * cols > 2 * (n + cols):
        return steps.lower(request)
    specs = (out, lines, x)
    dims, strides, offsets = walk([without(each.layout, each.shape, last) for each in specs])
    block, blocks = pieces(cols, CHUNK // COST)
    groups = [(offset, each.layout.strides[last], s)
              for each, offset, s in zip(specs, offsets, strides, strict=True)]  # fmt: skip
    numbers = inserting.INSERT.pack(*groups, blocks=blocks, block=block, cols=cols, n=n, after=after, sizes=dims)
    tasks = blocks * prod(dims)
    kernel = steps.backend.kernel(write_insert, x.dtype, kind=kind_of(out.layout.numel, tasks, COST))
    steps.then(kernel, *steps.operands, *steps.outs, numbers=headed(tasks, numbers))
    return steps.launch


MISSING = {"last": 0, "first": 1, "skip": 2}
CALLED = {
    sorting.order: (sorting.radix, sorting.insert),
    sorting.first_few: (sorting.radix, sorting.pick_some, sorting.sift, sorting.pick_many),
}


def write_order(template: Callable[..., Any], dtype: DType, descending: bool, kept: bool) -> Any:
    """Write, compile and import one sorting kernel. kept: whether it also writes the sorted elements."""
    key, constants = key_of(dtype, descending)
    way = "down" if descending else "up"
    text = write_kernel(
        f"{template.__name__} of {dtype}, {way}.",
        template,
        operands=(dtype,),
        out=int64,
        macros={"KEY": expression_macro(f"{key.__name__}({{}})"), "KEEP": keep_macro(kept)},
        constants={
            "BITS": str(min(8 * dtype.itemsize, 32)), "WIDE": str(int(dtype.itemsize > 4)), "FEW": str(FEW),
            **constants,
        },
        arrays=(dtype, dtype, int64),
        helpers=(key, *CALLED[template]),
        fields=sorting.ORDER,
    )  # fmt: skip
    return load(f"{template.__name__}_{dtype.short}_{way}{'_kept' if kept else ''}", text)


def write_select(dtype: DType) -> Any:
    """Write, compile and import the kernel that selects one element of each row."""
    key, constants = key_of(dtype, False)
    text = write_kernel(
        f"select of {dtype}.",
        selecting.select,
        operands=(dtype,),
        out=int64,
        macros={"KEY": expression_macro(f"{key.__name__}({{}})")},
        constants={"BITS": str(8 * dtype.itemsize), "NAN": constants["TOP"], **constants},
        arrays=(dtype, dtype, int64),
        helpers=(key, selecting.position_by_pairs, selecting.position_by_digits),
        fields=selecting.SELECT,
    )
    return load(f"select_{dtype.short}", text)


def write_insert(dtype: DType) -> Any:
    """Write, compile and import the binary search."""
    key, constants = key_of(dtype, False)
    text = write_kernel(
        f"insert of {dtype}.",
        inserting.insert,
        operands=(dtype, dtype),
        out=int64,
        macros={"KEY": expression_macro(f"{key.__name__}({{}})")},
        constants=constants | {"LANES": str(LANES)},
        arrays=(dtype, dtype, int64),
        helpers=(key,),
        fields=inserting.INSERT,
    )
    return load(f"insert_{dtype.short}", text)
