"""Pairs of rows on the CPU: the matrices in the compute dtype, the factors of a gradient, then one kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.steps import Value
from minigrad.core import requests
from minigrad.core.dtype import as_dtype
from minigrad.core.op import ScalarFn
from minigrad.core.plan import pieces
from minigrad.core.reducer import Reducer
from minigrad.kernels.cpu import pairs
from minigrad.kernels.cpu.pairs import LINE
from minigrad.kernels.pasting import Late, finish_macro
from minigrad.kernels.specialize import neutral_text

ROWS = 16  # rows of a task at the least, so that they share what they read
NEAR = 1 << 17  # bytes of a block of columns that stays in the second cache
BLOCK = 64  # the columns of a block are a multiple of this number


@serves(CpuBackend, requests.PairDistances)
def pair_distances(steps: CpuSteps, request: requests.PairDistances) -> None:
    (out,), (x,), compute = steps.outs, steps.operands, request.compute
    n, m = x.shape
    width = -(-n // LINE) * LINE
    columns = steps.work((m, width), as_dtype(compute))
    steps.copy(columns.at(1, 0, n).transposed, x)
    steps.run(
        pairs.pairs, columns, out, **distances(request.reducer, compute), cost=2 * m,
        divided=pieces(-(-n // 2), max(1, CHUNK // (n * max(1, m)))), rows=n, width=width, cols=m,
    )  # fmt: skip


@serves(CpuBackend, requests.RowDistances)
def row_distances(steps: CpuSteps, request: requests.RowDistances) -> None:
    (out,), (a, b), compute = steps.outs, steps.operands, request.compute
    *batch, n, m = b.shape
    # Each line of columns begins at a multiple of 16 elements, so that no vector lies in two lines of the cache.
    width = -(-n // LINE) * LINE
    matrix, columns = in_order(steps, a, compute), steps.work((*batch, m, width), as_dtype(compute))
    steps.copy(columns.at(len(batch) + 1, 0, n).transposed, b)
    all_rows = out.layout.numel // n
    steps.run(
        pairs.crossed, matrix, columns, out, **distances(request.reducer, compute), cost=2 * m,
        divided=pieces(all_rows, max(ROWS, CHUNK // (n * max(1, m)))), rows=a.shape[-2], others=n, width=width, cols=m,
        all_rows=all_rows,
        block=min(n, max(BLOCK, NEAR // (max(1, m) * columns.dtype.itemsize) // BLOCK * BLOCK)),
    )  # fmt: skip


@serves(CpuBackend, requests.PairGradients)
def pair_gradients(steps: CpuSteps, request: requests.PairGradients) -> None:
    (out,), (g, y, x), compute = steps.outs, steps.operands, request.compute
    n, m = x.shape
    factors, matrix = steps.work(g.shape, as_dtype(compute)), in_lines(steps, x, compute)
    steps.each(request.factor, factors, g, y)
    steps.run(
        pairs.pair_gradients, factors, matrix, out, **gradients(request.direction, compute), cost=2 * n,
        divided=pieces(n, max(1, CHUNK // (n * m))), rows=n, cols=m, width=matrix.shape[-1],
    )  # fmt: skip


@serves(CpuBackend, requests.RowGradients)
def row_gradients(steps: CpuSteps, request: requests.RowGradients) -> None:
    (out,), (g, y, a, b), compute = steps.outs, steps.operands, request.compute
    if not g.layout.numel:
        steps.fill(out, 0)
        return
    n, m = b.shape[-2:]
    flipped = y.transposed.layout.is_contiguous and not y.layout.is_contiguous
    factors = steps.work(y.transposed.shape if flipped else y.shape, as_dtype(compute))
    steps.each(request.factor, factors, *[x.transposed if flipped else x for x in (g, y)])
    matrix, others = (in_lines(steps, x, compute) for x in (a, b))
    all_rows, rows = out.layout.numel // m, a.shape[-2]
    steps.run(
        pairs.crossed_gradients, factors, matrix, others, out, **gradients(request.direction, compute), cost=2 * n,
        divided=pieces(all_rows, max(ROWS, CHUNK // (n * m))), rows=rows, others=n, cols=m, width=others.shape[-1],
        all_rows=all_rows, step=1 if flipped else n, next=rows if flipped else 1,
    )  # fmt: skip


def in_order(steps: CpuSteps, x: Value, compute: np.dtype[Any]) -> Value:
    """Return x if its elements are row-major from the start of its memory, in the compute dtype; otherwise a copy."""
    dtype = as_dtype(compute)
    if x.dtype is dtype and x.layout.is_contiguous and not x.layout.offset:
        return x
    copied = steps.work(x.shape, dtype)
    steps.copy(copied, x)
    return copied


def in_lines(steps: CpuSteps, x: Value, compute: np.dtype[Any]) -> Value:
    """Return matrices whose rows are whole lines of the cache: `in_order`, or a copy with more elements per row."""
    *batch, m = x.shape
    width = -(-m // LINE) * LINE
    if width == m:
        return in_order(steps, x, compute)
    wider = steps.work((*batch, width), as_dtype(compute))
    steps.copy(wider.at(len(batch), 0, m), x)
    return wider


def distances(reducer: Reducer, compute: np.dtype[Any]) -> dict[str, Any]:
    """Return the words and the form of the loops of distances."""
    finish, identity = Late(finish_macro, (reducer, compute)), neutral_text(reducer.identity, compute)
    form = reducer.finish.name if reducer.finish else reducer.scalar.name
    return {"words": {"F": reducer.scalar, "FINISH": finish, "IDENTITY": identity}, "form": form, "compute": compute}


def gradients(direction: ScalarFn, compute: np.dtype[Any]) -> dict[str, Any]:
    """Return the words and the form of the loops of gradients."""
    return {"words": {"DIRECTION": direction}, "form": direction.name, "compute": compute}
