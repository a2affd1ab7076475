"""Pairs of rows on the CPU: the matrices in the compute dtype, the factors of a gradient, then one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.steps import Steps, Value
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.op import ScalarFn
from minigrad.core.plan import pieces
from minigrad.core.reducer import Reducer
from minigrad.kernels.cpu import pairs
from minigrad.kernels.fields import Fields
from minigrad.kernels.pasting import finish_macro, scalar_macro
from minigrad.kernels.specialize import neutral_text, write_kernel
from minigrad.kernels.store import load

LINE = 16  # elements of float32 in a line of the cache
ROWS = 16  # rows of a task at the least, so that they share what they read
NEAR = 1 << 17  # bytes of a block of columns that stays in the second cache
BLOCK = 64  # the columns of a block are a multiple of this number

# Each loop, with its numbers and the count of its arrays before the result.
LOOPS: dict[Callable[..., Any], tuple[Fields, int]] = {
    pairs.pairs: (pairs.PAIRS, 1),
    pairs.crossed: (pairs.CROSSED, 2),
    pairs.pair_gradients: (pairs.PAIR_GRADIENTS, 2),
    pairs.crossed_gradients: (pairs.CROSSED_GRADIENTS, 3),
}


HELPERS: dict[Callable[..., Any], tuple[Callable[..., Any], ...]] = {
    pairs.pairs: (pairs.from_row,),
    pairs.crossed: (pairs.from_row, pairs.from_two_rows),
}


@serves(CpuBackend, requests.PairDistances)
def pair_distances(steps: Steps, request: requests.PairDistances) -> Launch:
    (out,), (x,), reducer, compute = steps.outs, steps.operands, request.reducer, request.compute
    if not out.layout.numel:
        return NO_STEPS
    n, m = x.shape
    width = -(-n // LINE) * LINE
    columns = steps.work((m, width), as_dtype(compute))
    steps.copy(columns.at(1, 0, n).transposed, steps.operands[0])
    chunk, tasks = pieces(-(-n // 2), max(1, CHUNK // (n * max(1, m))))
    kind = kind_of(out.layout.numel * m, tasks, 2)
    kernel = steps.backend.kernel(write_distances, pairs.pairs, reducer, compute, out.dtype, kind=kind)
    numbers = pairs.PAIRS.pack(rows=n, width=width, cols=m, to=out.layout.offset, chunk=chunk)
    steps.then(kernel, columns, *steps.outs, numbers=headed(tasks, numbers))
    return steps.launch


@serves(CpuBackend, requests.RowDistances)
def row_distances(steps: Steps, request: requests.RowDistances) -> Launch:
    (out,), reducer, compute = steps.outs, request.reducer, request.compute
    if not out.layout.numel:
        return NO_STEPS
    a, b = steps.operands
    *batch, n, m = b.shape
    # Each line of columns begins at a multiple of 16 elements, so that no vector lies in two lines of the cache.
    width = -(-n // LINE) * LINE
    matrix, columns = in_order(steps, a, compute), steps.work((*batch, m, width), as_dtype(compute))
    steps.copy(columns.at(len(batch) + 1, 0, n).transposed, b)
    all_rows = out.layout.numel // n
    chunk, tasks = pieces(all_rows, max(ROWS, CHUNK // (n * max(1, m))))
    kind = kind_of(out.layout.numel * m, tasks, 2)
    kernel = steps.backend.kernel(write_distances, pairs.crossed, reducer, compute, out.dtype, kind=kind)
    numbers = pairs.CROSSED.pack(
        rows=a.shape[-2], others=n, width=width, cols=m, all_rows=all_rows, to=out.layout.offset, chunk=chunk,
        block=min(n, max(BLOCK, NEAR // (max(1, m) * columns.dtype.itemsize) // BLOCK * BLOCK)),
    )  # fmt: skip
    steps.then(kernel, matrix, columns, *steps.outs, numbers=headed(tasks, numbers))
    return steps.launch


@serves(CpuBackend, requests.PairGradients)
def pair_gradients(steps: Steps, request: requests.PairGradients) -> Launch:
    (out,) = steps.outs
    factor, direction, compute = request.factor, request.direction, request.compute
    if not out.layout.numel:
        return NO_STEPS
    g, y, x = steps.operands
    n, m = x.shape
    factors, matrix = steps.work(g.shape, as_dtype(compute)), in_lines(steps, x, compute)
    steps.each(factor, factors, g, y)
    chunk, tasks = pieces(n, max(1, CHUNK // (n * m)))
    kind = kind_of(n * n * m, tasks, 2)
    kernel = steps.backend.kernel(write_gradients, pairs.pair_gradients, direction, compute, out.dtype, kind=kind)
    numbers = pairs.PAIR_GRADIENTS.pack(rows=n, cols=m, width=matrix.shape[-1], to=out.layout.offset, chunk=chunk)
    steps.then(kernel, factors, matrix, *steps.outs, numbers=headed(tasks, numbers))
    return steps.launch


@serves(CpuBackend, requests.RowGradients)
def row_gradients(steps: Steps, request: requests.RowGradients) -> Launch:
    (out,) = steps.outs
    factor, direction, compute = request.factor, request.direction, request.compute
    if not out.layout.numel:
        return NO_STEPS
    g, y, a, b = steps.operands
    if not g.layout.numel:
        steps.fill(steps.outs[0], 0)
        return steps.launch
    n, m = b.shape[-2:]
    flipped = y.transposed.layout.is_contiguous and not y.layout.is_contiguous
    factors = steps.work(y.transposed.shape if flipped else y.shape, as_dtype(compute))
    steps.each(factor, factors, *[x.transposed if flipped else x for x in (g, y)])
    matrix, others = (in_lines(steps, x, compute) for x in (a, b))
    all_rows = out.layout.numel // m
    chunk, tasks = pieces(all_rows, max(ROWS, CHUNK // (n * m)))
    kind = kind_of(out.layout.numel * n, tasks, 2)
    kernel = steps.backend.kernel(write_gradients, pairs.crossed_gradients, direction, compute, out.dtype, kind=kind)
    rows = a.shape[-2]
    numbers = pairs.CROSSED_GRADIENTS.pack(
        rows=rows, others=n, cols=m, width=others.shape[-1], all_rows=all_rows, to=out.layout.offset, chunk=chunk,
        step=1 if flipped else n, next=rows if flipped else 1,
    )  # fmt: skip
    steps.then(kernel, factors, matrix, others, *steps.outs, numbers=headed(tasks, numbers))
    return steps.launch


def in_order(steps: Steps, x: Value, compute: np.dtype[Any]) -> Value:
    """Return x if its elements are row-major from the start of its memory, in the compute dtype; otherwise a copy."""
    dtype = as_dtype(compute)
    if x.dtype is dtype and x.layout.is_contiguous and not x.layout.offset:
        return x
    copied = steps.work(x.shape, dtype)
    steps.copy(copied, x)
    return copied


def in_lines(steps: Steps, x: Value, compute: np.dtype[Any]) -> Value:
    """Return matrices whose rows are whole lines of the cache: `in_order`, or a copy with more elements per row."""
    *batch, m = x.shape
    width = -(-m // LINE) * LINE
    if width == m:
        return in_order(steps, x, compute)
    wider = steps.work((*batch, width), as_dtype(compute))
    steps.copy(wider.at(len(batch), 0, m), x)
    return wider


def write_distances(template: Callable[..., Any], reducer: Reducer, compute: np.dtype[Any], out: DType) -> Any:
    """Write, compile and import a loop of distances."""
    x, (fields, matrices) = as_dtype(compute), LOOPS[template]
    text = write_kernel(
        f"{reducer.scalar.name} of the differences of two rows: {x} -> {out}.", template, operands=(x,), out=out,
        compute=compute, fields=fields, arrays=(*[x] * matrices, out), helpers=HELPERS[template],
        macros={"F": scalar_macro(reducer.scalar, compute), "FINISH": finish_macro(reducer, compute)},
        constants={"IDENTITY": neutral_text(reducer.identity, compute), "COLUMNS": "8", "ROWS": "4", "LINE": str(LINE)},
        fastmath=("contract",),
    )  # fmt: skip
    name = reducer.finish.name if reducer.finish else reducer.scalar.name
    return load(f"{template.__name__}_{name}_{x.short}_{out.short}", text)


def write_gradients(template: Callable[..., Any], direction: ScalarFn, compute: np.dtype[Any], out: DType) -> Any:
    """Write, compile and import a loop of gradients."""
    x, (fields, matrices) = as_dtype(compute), LOOPS[template]
    text = write_kernel(
        f"{direction.name} of pairs of rows: {x} -> {out}.", template, operands=(x,), out=out,
        compute=compute, fields=fields, arrays=(*[x] * matrices, out), helpers=(pairs.add_rows,),
        macros={"DIRECTION": scalar_macro(direction, compute)}, constants={"COLUMNS": "8"},
        fastmath=("contract",),
    )  # fmt: skip
    return load(f"{template.__name__}_{direction.name}_{x.short}_{out.short}", text)
