"""Reading and adding by index on the CPU: gather and scatter.

The loops are in `kernels/cpu/indexing.py`.  An index for whole slices is expanded with stride 0 along the other dims.
Sums of float16 and bfloat16 are computed in float32 and rounded once.
Equal indices add in index order for every number of threads.  The kernels check each index as they use it, which needs
no second pass, and raise the flag of the launch if an index is out of range.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK, COLUMNS, UNITS
from minigrad.backends.cpu.texts import sum_text
from minigrad.backends.lowering.functions import SECOND
from minigrad.backends.steps import Value
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.dtype import DType, bits_of
from minigrad.core.layout import along
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plan import pieces, still, walk, without
from minigrad.core.strides import merge_dims
from minigrad.kernels.cpu import indexing

# Dims, strides and offsets, as `walk` of core/plan.py returns them.
Walk = tuple[tuple[int, ...], list[tuple[int, ...]], list[int]]


@serves(CpuBackend, requests.Gather)
def gather(steps: CpuSteps, request: requests.Gather) -> None:
    (out,), (a, index), dim = steps.outs, steps.operands, request.dim
    if out.layout.numel == 0:
        return
    size, axis = a.layout.shape[dim], a.layout.strides[dim]
    if size == 0:
        steps.always_fails = True
        return
    source = still(a.layout, out.shape, dim)
    dims, strides, offsets = walk([out.layout, source, index.layout])
    moves = inner(strides)
    way = "rows" if moves == (1, 1, 0) else "dense" if moves[0] == moves[2] == 1 else "any"
    if way == "dense" and (axis, moves[1]) == (1, 0):
        way = "line"
    bits = bits_of(a.dtype)  # one kernel moves elements of a size, whatever their dtype is
    words = {"ROWS": way == "rows", "DENSE": way in ("dense", "line"), "LINE": way == "line", "LOOSE": way == "any"}
    steps.run(
        indexing.gather, a, index, out, words=words, form=way, dtypes=(bits, index.dtype, bits), size=size, axis=axis,
        **strips_of(dims, strides, offsets),
    )  # fmt: skip


@serves(CpuBackend, requests.Scatter)
def scatter(steps: CpuSteps, request: requests.Scatter) -> None:
    (out,), (a, index, src), dim, join = steps.outs, steps.operands, request.dim, request.join
    if join is None and out.dtype.is_float and out.dtype.accumulate is not out.dtype and index.shape[dim] > 1:
        steps.ask_summed(request, out, a, index, src)
        return
    if index.layout.numel == 0:
        steps.copy(out, a)
        return
    if out.layout.shape[dim] == 0:
        steps.always_fails = True
        return
    walked = walked_by(index, out, src, dim)
    if walked[0] and inner(walked[1])[0] == 1:
        steps.copy(out, a)
        return _columns(steps, index, dim, walked, join)
    # Each line runs along the indexed dim separately, so its accesses are closer in memory.
    whole = without(out.layout, out.shape, dim).shape == without(index.layout, index.shape, dim).shape
    fresh = whole and a.dtype == out.dtype
    if not fresh:
        steps.copy(out, a)
    _lines(steps, index, dim, join, fresh=fresh)


@serves(CpuBackend, requests.SelectPut)
def index_put(steps: CpuSteps, request: requests.SelectPut) -> None:
    (out,), (index, src), dim = steps.outs, steps.operands, request.dim
    spread = index.seen(along(index.layout, src.shape, dim))
    if spread.layout.numel == 0:
        return
    if out.layout.shape[dim] == 0:
        steps.always_fails = True
        return
    walked = walked_by(spread, out, src, dim)
    if walked[0]:
        _columns(steps, spread, dim, walked, SECOND)
    else:
        _lines(steps, spread, dim, SECOND)


def _lines(steps: CpuSteps, index: Value, dim: int, join: ScalarFn | None, *, fresh: bool = False) -> None:
    """Add the scatter line by line; the last operands are index and src.

    fresh: the lines are copied from the first operand; otherwise the result already contains them.
    """
    (out,), src = steps.outs, steps.operands[-1]
    start = steps.operands[0] if fresh else out
    specs = (out, start, src, index)
    dims, strides, offsets = walk([without(x.layout, index.shape, dim) for x in specs])
    axis, step, src_step, index_step = (x.layout.strides[dim] for x in specs)
    steps.run(
        indexing.scatter_lines, start, src, index, out, **joined_by(join, out.dtype), tasks=prod(dims),
        numel=index.layout.numel, each=[*zip(offsets, strides, strict=True)], count=index.layout.shape[dim],
        fresh=fresh, size=out.layout.shape[dim], axis=axis, step=step, src_step=src_step, index_step=index_step,
        sizes=dims,
    )  # fmt: skip


def _columns(steps: CpuSteps, index: Value, dim: int, walked: Walk, join: ScalarFn | None) -> None:
    """Add the scatter over blocks of columns; the last operands are index and src."""
    (out,), src = steps.outs, steps.operands[-1]
    dims, strides, offsets = walked
    cols = dims[-1] if dims else 1
    parallel = index.layout.numel >= settings.parallel_threshold
    block = COLUMNS if parallel and prod(dims[:-1]) < UNITS else cols
    blocks = -(-cols // block)
    moves = inner(strides)
    groups = [(offset, step, outer[:-1]) for offset, outer, step in zip(offsets, strides, moves, strict=True)]
    steps.run(
        indexing.scatter_columns, src, index, out, **joined_by(join, out.dtype, rows=moves == (1, 1, 0)),
        tasks=blocks * prod(dims[:-1]), numel=index.layout.numel, each=groups, blocks=blocks, block=block,
        cols=cols, size=out.layout.shape[dim], axis=out.layout.strides[dim], count=index.layout.shape[dim],
        src_step=src.layout.strides[dim], index_step=index.layout.strides[dim], sizes=dims[:-1],
    )  # fmt: skip


@serves(CpuBackend, requests.Bounds)
def index_bounds(steps: CpuSteps, request: requests.Bounds) -> None:
    (out,), (index,) = steps.outs, steps.operands
    layout = index.layout
    dims, (moves,) = merge_dims(layout.shape, [layout.strides])
    cols, step = (dims[-1], moves[-1]) if dims else (1, 1)
    steps.run(
        indexing.bounds, index, out, numel=layout.numel, rows=prod(dims[:-1]), cols=cols, step=step, sizes=dims[:-1],
        steps=moves[:-1],
    )  # fmt: skip


def walked_by(index: Spec, out: Spec, src: Spec, dim: int) -> Walk:
    """Return the loops over the other dims, in the shape of the index, which may be smaller than out and src."""
    return walk([without(x.layout, index.shape, dim) for x in (out, src, index)])


def inner(strides: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the innermost stride of each layout; a single element counts as a row of a and out."""
    return tuple(s[-1] for s in strides) if strides[0] else (1, 1, 0)


def strips_of(dims: tuple[int, ...], strides: Sequence[tuple[int, ...]], offsets: Sequence[int]) -> dict[str, Any]:
    """Return the tasks of `gather`, which are blocks of strips of innermost rows, and its numbers."""
    *outer, rows, cols = (1, 1, *dims)[-max(2, len(dims)) :]
    block, blocks = pieces(cols, CHUNK)
    strip, strips = pieces(rows, CHUNK // block)
    groups = [(offset, step, steps[-2] if len(steps) > 1 else 0, steps[:-2])
              for offset, steps, step in zip(offsets, strides, inner(strides), strict=True)]  # fmt: skip
    return {
        "tasks": blocks * strips * prod(outer), "each": groups, "blocks": blocks, "block": block, "cols": cols,
        "strips": strips, "strip": strip, "rows": rows, "sizes": outer,
    }  # fmt: skip


def joined_by(join: ScalarFn | None, dtype: DType, rows: bool | None = None) -> dict[str, Any]:
    """Return the words and the form of a scatter. join: None for a sum.

    rows: whether whole rows are added, for the loop over columns.
    """
    words: dict[str, Any] = {"COMBINE": join or sum_text(dtype)} | ({} if rows is None else {"ROWS": rows})
    return {"words": words, "form": "_".join(filter(None, (join.name if join else "add", "rows" if rows else "")))}
