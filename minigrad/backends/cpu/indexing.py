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

from minigrad.backends.base import Launch, serves
from minigrad.backends.cpu.family import Family, bind, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK, COLUMNS, UNITS
from minigrad.backends.cpu.texts import moving_header, sum_text
from minigrad.backends.launch import NO_POSITIONS, NO_STEPS
from minigrad.backends.lowering.functions import SECOND
from minigrad.backends.steps import Steps
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, int64
from minigrad.core.layout import Layout, along
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plan import pieces, still, walk, without
from minigrad.core.strides import merge_dims
from minigrad.kernels.cpu import indexing
from minigrad.kernels.pasting import expression_macro, scalar_macro
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

# Dims, strides and offsets, as `walk` of core/plan.py returns them.
Walk = tuple[tuple[int, ...], list[tuple[int, ...]], list[int]]


class Indexing(Family):
    """The methods that prepare all requests with an index tensor."""

    @serves(requests.Gather)
    def gather(self, out: Spec, a: Spec, index: Spec, *, dim: int) -> Launch:
        if out.layout.numel == 0:
            return NO_STEPS
        size, axis = a.layout.shape[dim], a.layout.strides[dim]
        if size == 0:
            return NO_POSITIONS
        source = still(a.layout, out.shape, dim)
        dims, strides, offsets = walk([out.layout, source, index.layout])
        tasks, numbers = strips_of(dims, strides, offsets, size, axis)
        steps = inner(strides)
        way = "rows" if steps == (1, 1, 0) else "dense" if steps[0] == steps[2] == 1 else "any"
        if way == "dense" and (axis, steps[1]) == (1, 0):
            way = "line"
        bits = as_dtype(f"uint{8 * a.dtype.itemsize}")  # one kernel moves elements of a size, whatever their dtype is
        kernel = self.kernel(write_gather, bits, index.dtype, way, kind=kind_of(out.layout.numel, tasks))
        return bind(kernel, headed(tasks, numbers), 2)

    @serves(requests.ScatterAdd)
    def scatter_add(self, out: Spec, a: Spec, index: Spec, src: Spec, *, dim: int) -> Launch:
        return self._scattered(out, a, index, src, dim, None)

    @serves(requests.ScatterJoin)
    def scatter_join(self, out: Spec, a: Spec, index: Spec, src: Spec, *, dim: int, join: ScalarFn) -> Launch:
        return self._scattered(out, a, index, src, dim, join)

    def _scattered(self, out: Spec, a: Spec, index: Spec, src: Spec, dim: int, join: ScalarFn | None) -> Launch:
        """Return the launch of a scatter. join: None for a sum."""
        if index.layout.numel == 0:
            return self._copied(out, a, index, src).launch
        if out.layout.shape[dim] == 0:
            return NO_POSITIONS
        walked = walked_by(index, out, src, dim)
        if walked[0] and inner(walked[1])[0] == 1:
            return self._columns(self._copied(out, a, index, src), dim, walked, join)
        # Each line runs along the indexed dim separately, so its accesses are closer in memory.
        whole = without(out.layout, out.shape, dim).shape == without(index.layout, index.shape, dim).shape
        if whole and a.dtype == out.dtype:
            return self._lines(Steps(self, (out,), (a, index, src)), dim, join, fresh=True)
        return self._lines(self._copied(out, a, index, src), dim, join)

    @serves(requests.SelectPut)
    def index_put(self, out: Spec, index: Spec, src: Spec, *, dim: int) -> Launch:
        index = Spec(along(index.layout, src.shape, dim), index.dtype)
        if index.layout.numel == 0:
            return NO_STEPS
        if out.layout.shape[dim] == 0:
            return NO_POSITIONS
        run, walked = Steps(self, (out,), (index, src)), walked_by(index, out, src, dim)
        return self._columns(run, dim, walked, SECOND) if walked[0] else self._lines(run, dim, SECOND)

    def _lines(self, run: Steps, dim: int, join: ScalarFn | None, *, fresh: bool = False) -> Launch:
        """Return the launch that ends with a scatter line by line; the last operands of `run` are index and src.

        fresh: the lines are copied from the first operand; otherwise the result already contains them.
        """
        (result,), (*_, i, y) = run.outs, run.operands
        start = run.operands[0] if fresh else result
        out, index, src = (x.spec for x in (result, i, y))
        specs = (out, start.spec, src, index)
        dims, strides, offsets = walk([without(x.layout, index.shape, dim) for x in specs])
        axis, step, src_step, index_step = (x.layout.strides[dim] for x in specs)
        numbers = indexing.LINES.pack(
            *zip(offsets, strides, strict=True), count=index.layout.shape[dim], fresh=fresh, size=out.layout.shape[dim],
            axis=axis, step=step, src_step=src_step, index_step=index_step, sizes=dims,
        )  # fmt: skip
        kind = kind_of(index.layout.numel, prod(dims))
        kernel = self.kernel(write_scatter_lines, out.dtype, src.dtype, index.dtype, join, kind=kind)
        run.then(kernel, start, y, i, result, numbers=headed(prod(dims), numbers))
        return run.launch

    def _copied(self, out: Spec, a: Spec, index: Spec, src: Spec) -> Steps:
        """Return the steps of a launch that begins with a copy of a."""
        steps = Steps(self, (out,), (a, index, src))
        steps.copy(steps.outs[0], steps.operands[0])
        return steps

    def _columns(self, run: Steps, dim: int, walked: Walk, join: ScalarFn | None) -> Launch:
        """Return the launch that ends with a scatter over blocks of columns; the last operands are index and src."""
        (result,), (*_, i, y) = run.outs, run.operands
        out, index, src = (x.spec for x in (result, i, y))
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
        kernel = self.kernel(write_scatter, out.dtype, src.dtype, index.dtype, way, join, kind=kind)
        run.then(kernel, y, i, result, numbers=headed(tasks, numbers))
        return run.launch

    @serves(requests.PutBack)
    def view_add(self, out: Spec, g: Spec, *, view: Layout) -> Launch:
        steps = Steps(self, (out,), (g,))
        (result,), (values,) = steps.outs, steps.operands
        steps.fill(result, 0)
        if g.layout.numel:
            units, numbers = view_numbers(view, g.layout)
            if numbers is None:
                steps.copy(result.seen(view), values)
            else:
                kernel = self.kernel(write_view_add, out.dtype, kind=kind_of(g.layout.numel, units))
                steps.then(kernel, values, result, numbers=headed(units, numbers))
        return steps.launch

    @serves(requests.Bounds)
    def index_bounds(self, out: Spec, index: Spec) -> Launch:
        layout = index.layout
        dims, (steps,) = merge_dims(layout.shape, [layout.strides])
        cols, step = (dims[-1], steps[-1]) if dims else (1, 1)
        numbers = indexing.BOUNDS.pack(
            rows=prod(dims[:-1]), cols=cols, offset=layout.offset, step=step, to=out.layout.offset,
            sizes=dims[:-1], steps=steps[:-1],
        )  # fmt: skip
        kernel = self.kernel(write_bounds, index.dtype, kind=kind_of(layout.numel, 1))
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
