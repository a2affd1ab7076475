"""Reading and adding by index on the CPU: gather and scatter_add.

The loops are in `kernels/cpu/indexing.py`.  An index for whole slices is expanded with stride 0 along the other dims.
Sums are computed in the compute dtype and stored after each addition, so float16 and bfloat16 are rounded each time.
Equal indices add in index order for every number of threads.  The kernels check each index as they use it, which needs
no second pass, and raise the flag of the launch if an index is out of range.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, bind, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK, COLUMNS, UNITS
from minigrad.backends.cpu.texts import sum_text
from minigrad.backends.launch import NO_POSITIONS, NO_STEPS, Launch
from minigrad.backends.lowering.functions import SECOND
from minigrad.backends.steps import Steps, Value
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, int64
from minigrad.core.layout import Layout, along
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plan import pieces, still, walk, without
from minigrad.core.strides import merge_dims
from minigrad.kernels.cpu import indexing
from minigrad.kernels.cpu.target import moving_header
from minigrad.kernels.pasting import expression_macro, scalar_macro
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

# Dims, strides and offsets, as `walk` of core/plan.py returns them.
Walk = tuple[tuple[int, ...], list[tuple[int, ...]], list[int]]


@serves(CpuBackend, requests.Gather)
def gather(steps: Steps, request: requests.Gather) -> Launch:
    (out,), (a, index), dim = steps.outs, steps.operands, request.dim
    if out.layout.numel == 0:
        return NO_STEPS
    size, axis = a.layout.shape[dim], a.layout.strides[dim]
    if size == 0:
        return NO_POSITIONS
    source = still(a.layout, out.shape, dim)
    dims, strides, offsets = walk([out.layout, source, index.layout])
    tasks, numbers = strips_of(dims, strides, offsets, size, axis)
    moves = inner(strides)
    way = "rows" if moves == (1, 1, 0) else "dense" if moves[0] == moves[2] == 1 else "any"
    if way == "dense" and (axis, moves[1]) == (1, 0):
        way = "line"
    bits = as_dtype(f"uint{8 * a.dtype.itemsize}")  # one kernel moves elements of a size, whatever their dtype is
    kernel = steps.backend.kernel(write_gather, bits, index.dtype, way, kind=kind_of(out.layout.numel, tasks))
    return bind(kernel, headed(tasks, numbers), 2)


@serves(CpuBackend, requests.ScatterAdd)
def scatter_add(steps: Steps, request: requests.ScatterAdd) -> Launch:
    return _scattered(steps, request.dim, None)


@serves(CpuBackend, requests.ScatterJoin)
def scatter_join(steps: Steps, request: requests.ScatterJoin) -> Launch:
    return _scattered(steps, request.dim, request.join)


def _scattered(steps: Steps, dim: int, join: ScalarFn | None) -> Launch:
    """Return the launch of a scatter. join: None for a sum."""
    (out,), (a, index, src) = steps.outs, steps.operands
    if index.layout.numel == 0:
        steps.copy(out, a)
        return steps.launch
    if out.layout.shape[dim] == 0:
        return NO_POSITIONS
    walked = walked_by(index, out, src, dim)
    if walked[0] and inner(walked[1])[0] == 1:
        steps.copy(out, a)
        return _columns(steps, index, dim, walked, join)
    # Each line runs along the indexed dim separately, so its accesses are closer in memory.
    whole = without(out.layout, out.shape, dim).shape == without(index.layout, index.shape, dim).shape
    fresh = whole and a.dtype == out.dtype
    if not fresh:
        steps.copy(out, a)
    return _lines(steps, index, dim, join, fresh=fresh)


@serves(CpuBackend, requests.SelectPut)
def index_put(steps: Steps, request: requests.SelectPut) -> Launch:
    (out,), (index, src), dim = steps.outs, steps.operands, request.dim
    spread = index.seen(along(index.layout, src.shape, dim))
    if spread.layout.numel == 0:
        return NO_STEPS
    if out.layout.shape[dim] == 0:
        return NO_POSITIONS
    walked = walked_by(spread, out, src, dim)
    return _columns(steps, spread, dim, walked, SECOND) if walked[0] else _lines(steps, spread, dim, SECOND)


def _lines(steps: Steps, index: Value, dim: int, join: ScalarFn | None, *, fresh: bool = False) -> Launch:
    """Return the launch that ends with a scatter line by line; the last operands are index and src.

    fresh: the lines are copied from the first operand; otherwise the result already contains them.
    """
    (out,), src = steps.outs, steps.operands[-1]
    start = steps.operands[0] if fresh else out
    specs = (out, start, src, index)
    dims, strides, offsets = walk([without(x.layout, index.shape, dim) for x in specs])
    axis, step, src_step, index_step = (x.layout.strides[dim] for x in specs)
    numbers = indexing.LINES.pack(
        *zip(offsets, strides, strict=True), count=index.layout.shape[dim], fresh=fresh, size=out.layout.shape[dim],
        axis=axis, step=step, src_step=src_step, index_step=index_step, sizes=dims,
    )  # fmt: skip
    kind = kind_of(index.layout.numel, prod(dims))
    kernel = steps.backend.kernel(write_scatter_lines, out.dtype, src.dtype, index.dtype, join, kind=kind)
    steps.then(kernel, start, src, index, out, numbers=headed(prod(dims), numbers))
    return steps.launch


def _columns(steps: Steps, index: Value, dim: int, walked: Walk, join: ScalarFn | None) -> Launch:
    """Return the launch that ends with a scatter over blocks of columns; the last operands are index and src."""
    (out,), src = steps.outs, steps.operands[-1]
    dims, strides, offsets = walked
    size, axis, count = out.layout.shape[dim], out.layout.strides[dim], index.layout.shape[dim]
    cols = dims[-1] if dims else 1
    parallel = index.layout.numel >= settings.parallel_threshold
    block = COLUMNS if parallel and prod(dims[:-1]) < UNITS else cols
    blocks = -(-cols // block)
    tasks = blocks * prod(dims[:-1])
    numbers = indexing.COLUMNS.pack(
        *[(offset, step, steps[:-1]) for offset, steps, step in zip(offsets, strides, inner(strides), strict=True)],
        blocks=blocks, block=block, cols=cols, size=size, axis=axis, count=count, src_step=src.layout.strides[dim],
        index_step=index.layout.strides[dim], sizes=dims[:-1],
    )  # fmt: skip
    way = "rows" if inner(strides) == (1, 1, 0) else "any"
    kind = kind_of(index.layout.numel, tasks)
    kernel = steps.backend.kernel(write_scatter, out.dtype, src.dtype, index.dtype, way, join, kind=kind)
    steps.then(kernel, src, index, out, numbers=headed(tasks, numbers))
    return steps.launch


@serves(CpuBackend, requests.PutBack)
def view_add(steps: Steps, request: requests.PutBack) -> Launch:
    (result,), (g,), view = steps.outs, steps.operands, request.view
    steps.fill(result, 0)
    if g.layout.numel:
        units, numbers = view_numbers(view, g.layout)
        if numbers is None:
            steps.copy(result.seen(view), g)
        else:
            kernel = steps.backend.kernel(write_view_add, result.dtype, kind=kind_of(g.layout.numel, units))
            steps.then(kernel, g, result, numbers=headed(units, numbers))
    return steps.launch


@serves(CpuBackend, requests.Bounds)
def index_bounds(steps: Steps, request: requests.Bounds) -> Launch:
    (out,), (index,) = steps.outs, steps.operands
    layout = index.layout
    dims, (moves,) = merge_dims(layout.shape, [layout.strides])
    cols, step = (dims[-1], moves[-1]) if dims else (1, 1)
    numbers = indexing.BOUNDS.pack(
        rows=prod(dims[:-1]), cols=cols, offset=layout.offset, step=step, to=out.layout.offset,
        sizes=dims[:-1], steps=moves[:-1],
    )  # fmt: skip
    kernel = steps.backend.kernel(write_bounds, index.dtype, kind=kind_of(layout.numel, 1))
    return bind(kernel, headed(1, numbers), 1)


def walked_by(index: Spec, out: Spec, src: Spec, dim: int) -> Walk:
    """Return the loops over the other dims, in the shape of the index, which may be smaller than out and src."""
    return walk([without(x.layout, index.shape, dim) for x in (out, src, index)])


def inner(strides: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the innermost stride of each layout; a single element counts as a row of a and out."""
    return tuple(s[-1] for s in strides) if strides[0] else (1, 1, 0)


def strips_of(
    dims: tuple[int, ...], strides: Sequence[tuple[int, ...]], offsets: Sequence[int], size: int, axis: int
) -> tuple[int, list[int]]:
    """Return the number of tasks of `gather`, which are blocks of strips of innermost rows, and its arguments."""
    *outer, rows, cols = (1, 1, *dims)[-max(2, len(dims)) :]
    block, blocks = pieces(cols, CHUNK)
    strip, strips = pieces(rows, CHUNK // block)
    numbers = indexing.GATHER.pack(
        *[(offset, step, steps[-2] if len(steps) > 1 else 0, steps[:-2])
          for offset, steps, step in zip(offsets, strides, inner(strides), strict=True)],
        blocks=blocks, block=block, cols=cols, strips=strips, strip=strip, rows=rows, size=size, axis=axis,
        sizes=outer,
    )  # fmt: skip
    return blocks * strips * prod(outer), numbers


def view_numbers(view: Layout, g: Layout) -> tuple[int, list[int] | None]:
    """Return the number of units that share no element, and the arguments of `view_add`; None if nothing overlaps.

    A dim can be divided between threads if its stride is longer than the extent of all dims with smaller strides, and
    if every dim with a larger stride can be divided as well.  Such dims become the outer dims.  The other dims keep
    their order, in which overlapping elements are added.
    """
    dims, (to, of) = merge_dims(view.shape, [view.strides, g.strides])
    safe: list[int] = []
    reach = 0
    for d in sorted(range(len(dims)), key=lambda d: abs(to[d])):
        safe = [*safe, d] if abs(to[d]) > reach else []
        reach += (dims[d] - 1) * abs(to[d])
    if len(safe) == len(dims):
        return 0, None
    rest = [d for d in range(len(dims)) if d not in safe]
    order = [*reversed(safe), *rest]
    last = order.pop()
    units, rows = prod(dims[d] for d in safe), prod(dims[d] for d in rest[:-1])
    numbers = indexing.VIEW.pack(
        rows=rows, cols=dims[last], to=view.offset, to_step=to[last], g=g.offset, g_step=of[last],
        sizes=[dims[d] for d in order], to_steps=[to[d] for d in order], g_steps=[of[d] for d in order],
    )  # fmt: skip
    return units, numbers


def write_gather(dtype: DType, index: DType, way: str) -> Any:
    """Write, compile and import a gather.  It moves bits, so no conversion is needed."""
    text = write_kernel(
        f"gather: {dtype} by {index}, {way}.",
        indexing.gather,
        out=dtype,
        constants={
            "ROWS": str(int(way == "rows")), "DENSE": str(int(way in ("dense", "line"))),
            "LINE": str(int(way == "line")), "LOOSE": str(int(way == "any")),
            "LINE_OF_CACHE": str(64 // dtype.itemsize),
        },
        arrays=(dtype, index, dtype),
        imports=moving_header() if way == "rows" else "",
        fields=indexing.GATHER,
    )  # fmt: skip
    return load(f"gather_{dtype.short}_{index.short}_{way}", text)


def join_macro(dtype: DType, join: ScalarFn | None) -> Any:
    """Return the macro `JOIN`: a scalar function of the stored and the new element, or the sum."""
    return expression_macro(sum_text(dtype)) if join is None else scalar_macro(join, dtype.compute)


def write_scatter(dtype: DType, src: DType, index: DType, way: str, join: ScalarFn | None) -> Any:
    """Write, compile and import a scatter over blocks of columns."""
    how = "add" if join is None else join.name
    text = write_kernel(
        f"scatter_{how}: {src} by {index} into {dtype}, {way}.",
        indexing.scatter_add,
        operands=(src, dtype),
        out=dtype,
        macros={"JOIN": join_macro(dtype, join)},
        constants={"ROWS": str(int(way == "rows"))},
        arrays=(src, index, dtype),
        fields=indexing.COLUMNS,
    )
    return load(f"scatter_{how}_{src.short}_{dtype.short}_{index.short}_{way}", text)


def write_scatter_lines(dtype: DType, src: DType, index: DType, join: ScalarFn | None) -> Any:
    """Write, compile and import a scatter, line by line."""
    how = "" if join is None else f"{join.name}_"
    text = write_kernel(
        f"scatter_{how or 'add'}: {src} by {index} into lines of {dtype}.",
        indexing.scatter_lines,
        operands=(src, dtype),
        out=dtype,
        macros={"JOIN": join_macro(dtype, join)},
        arrays=(dtype, src, index, dtype),
        fields=indexing.LINES,
    )
    return load(f"scatter_lines_{how}{src.short}_{dtype.short}_{index.short}", text)


def write_view_add(dtype: DType) -> Any:
    """Write, compile and import a sum through an overlapping layout."""
    text = write_kernel(
        f"view_add: {dtype}.",
        indexing.view_add,
        operands=(dtype,),
        out=dtype,
        macros={"ADD": expression_macro(sum_text(dtype))},
        fields=indexing.VIEW,
    )
    return load(f"view_add_{dtype.short}", text)


def write_bounds(index: DType) -> Any:
    """Write, compile and import the search for the bounds of an index tensor."""
    text = write_kernel(
        f"bounds of {index}.",
        indexing.bounds,
        out=int64,
        arrays=(index, int64),
        fields=indexing.BOUNDS,
    )
    return load(f"bounds_{index.short}", text)
