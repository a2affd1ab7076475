"""Gathers and additions by index on CUDA: an invalid index is reported by a flag.

Integers are added by atomic operations, whose order does not matter; small integers and booleans use int32.  Floats
are added in an order that depends on the index alone.  One thread adds each line if lines are short or many, otherwise
the entries are sorted first (`grouping.py`).  If `settings.deterministic` is off, floats use atomic operations
too.  Sums of float16 and bfloat16 stay in float32 until all elements are added.

A thread of `move` copies or adds one element.  A thread of `gather_rows` copies some neighbours of a row that has one
index.  A thread of `add_lines` adds a line along the dim, in the order of the index.  An index that is out of range
increments a flag, and nothing is read or written for it.  `WORD` is the type of positions, and the list `DIVISORS`
splits a position into indices, as in `elementwise.py`.  The dims are those of the index, in `add_lines` without the
dim of the line.
"""

# mypy: disable-error-code="name-defined, no-untyped-def"
from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda import loops
from minigrad.backends.cuda.family import CudaBackend, CudaSteps, by
from minigrad.backends.cuda.grouping import KEYS, add_grouped, position_of
from minigrad.backends.cuda.runtime import WIDEST
from minigrad.backends.lowering.indexing import scatter_in_runs
from minigrad.backends.shared import lines_of
from minigrad.backends.steps import Value
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.dtype import as_dtype, int32, int64
from minigrad.core.layout import Layout
from minigrad.core.plan import still
from minigrad.core.plan import walk as walked
from minigrad.kernels.fields import Fields, loop

FEW = 64  # maximum number of indices per line for which adding in turn is faster than sorting
MANY = 1 << 18  # number of lines that keep a device busy, with one thread per line


# Rows of cols elements; size and step: of the indexed dim.  Group 0 is that of the side with the positions of the
# index, group 1 that of the indexed side, group 2 that of the index.
MOVE = Fields("rows cols size step", "shape[rank] magic[rank] shift[rank]", "offset strides[rank]")
POSITION = {"position_of": position_of}


@loop(MOVE, words=POSITION)
def move(in_0, in_1, flag, out, N):
    """out[...] = in_0 at in_1[...] along one dim; if it ADDS, out at in_1[...] += in_0[...] by atomic additions.

    The order of the additions is not fixed.  For integers it does not matter; floats are added only if any order is
    allowed.
    """
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.rows:
        position = WORD(i)
        here = WORD(N.offset[0])
        there = WORD(N.offset[1])
        where = WORD(N.offset[2])
        walk(position, DIVISORS, here=N.strides[0], there=N.strides[1], where=N.strides[2])
        k = position_of(in_1[where], N.size)
        if k >= 0:
            if ADDS:
                atomic_add(out, np.int64(there) + k * N.step, LOAD_0(in_0[here]))
            else:
                out[here] = in_0[np.int64(there) + k * N.step]
        else:
            atomic_add(flag, 0, np.int32(1))
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


@loop(MOVE, words=POSITION)
def gather_rows(in_0, in_1, flag, out, N):
    """out[...] = in_0 at in_1[...] where a dense row has one index: a thread copies WIDTH neighbours together."""
    row = np.int64(cuda.blockIdx.y) * cuda.blockDim.y + cuda.threadIdx.y
    first = (np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x) * WIDTH
    while row < N.rows:
        position = row
        to, at, where = N.offset[0], N.offset[1], N.offset[2]
        walk(position, N.shape, to=N.strides[0], at=N.strides[1], where=N.strides[2])
        k = position_of(in_1[where], N.size)
        if k >= 0:
            at += k * N.step
            i = first
            while i < N.cols:
                PUT(out, to + i, TAKE(in_0, at + i))
                i += np.int64(cuda.gridDim.x) * cuda.blockDim.x * WIDTH
        else:
            atomic_add(flag, 0, np.int32(1))
        row += np.int64(cuda.gridDim.y) * cuda.blockDim.y


# step: the distance along the dim.  The groups are those of the sums, of the added elements and of the index.
@loop(Fields("count length size", "sizes[rank]", "offset step strides[rank]"), words=POSITION)
def add_lines(in_0, in_1, flag, out, N):
    """out at in_1[...] += in_0[...] along one dim: a thread adds a line of `length` elements, in its order."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.count:
        position = i
        to, at, where = N.offset[0], N.offset[1], N.offset[2]
        walk(position, N.sizes, to=N.strides[0], at=N.strides[1], where=N.strides[2])
        j = np.int64(0)
        while j < N.length:
            k = position_of(in_1[where], N.size)
            if k >= 0:
                p = to + k * N.step[0]
                out[p] = T(out[p] + LOAD_0(in_0[at]))
            else:
                atomic_add(flag, 0, np.int32(1))
            at += N.step[1]
            where += N.step[2]
            j += 1
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


@loop(Fields("count size in_0 index_step"), words=POSITION)
def last_at(in_0, flag, out, N):
    """out at in_0[j] = the largest j with this index.

    The maximum does not depend on the order of the threads.
    """
    j = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while j < N.count:
        k = position_of(in_0[N.in_0 + j * N.index_step], N.size)
        if k >= 0:
            atomic_max(out, k, j)
        else:
            atomic_add(flag, 0, np.int32(1))
        j += np.int64(cuda.gridDim.x) * cuda.blockDim.x


@loop(
    Fields("count size to_step in_0 index_step in_2 out", "sizes[rank] along[rank] steps[rank] to_steps[rank]"),
    words=POSITION,
)
def select_put(in_0, in_1, in_2, out, N):
    """out at in_0[j] along one dim = in_2 at j, if in_1 states that j is the last one with this index."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.count:
        position = i
        j = np.int64(0)
        at, to = N.in_2, N.out
        walk(position, N.sizes, j=N.along, at=N.steps, to=N.to_steps)
        k = position_of(in_0[N.in_0 + j * N.index_step], N.size)
        if k >= 0:
            if in_1[k] == j:
                out[to + k * N.to_step] = in_2[at]
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


@serves(CudaBackend, requests.Gather)
def gather(steps: CudaSteps, request: requests.Gather) -> None:
    (out,), (a, index), dim = steps.outs, steps.operands, request.dim
    if out.layout.numel:
        flag = flag_of(steps)
        layouts = (out.layout, still(a.layout, out.shape, dim), index.layout)
        size, step = a.shape[dim], a.layout.strides[dim]
        values = (*steps.operands, flag, out)
        if not rows_moved(steps, values, layouts, size, step):
            moved(steps, False, values, layouts, size, step)
        steps.check(flag, 0, 0)


@serves(CudaBackend, requests.Scatter)
def scatter(steps: CudaSteps, request: requests.Scatter) -> None:
    (out,), (_, index, _), dim = steps.outs, steps.operands, request.dim
    if request.join is not None:
        scatter_in_runs(steps, dim, request.join)
        return
    kept = as_dtype(out.dtype.compute) if out.dtype.is_float else out.dtype if out.dtype.itemsize > 2 else int32
    total = steps.outs[0] if kept is out.dtype else steps.work(out.shape, kept)
    steps.copy(total, steps.operands[0])
    if index.layout.numel:
        flag = flag_of(steps)
        add(steps, total, flag, dim, not settings.deterministic and out.dtype.itemsize > 2)
        steps.check(flag, 0, 0)
    if total is not steps.outs[0]:
        steps.copy(steps.outs[0], total)


def add(steps: CudaSteps, total: Value, flag: Value, dim: int, in_any_order: bool) -> None:
    """Compute total[index] += src by the fastest method."""
    _, index, src = steps.operands
    length, size, numel = index.shape[dim], total.shape[dim], index.layout.numel
    own = prod(n for d, n in enumerate(index.shape) if d != dim and index.layout.strides[d])
    if in_any_order or not total.dtype.is_float:
        layouts = (
            Layout.make(index.shape, src.layout.strides, src.layout.offset), still(total.layout, index.shape, dim),
            index.layout,
        )  # fmt: skip
        moved(steps, True, (src, index, flag, total), layouts, size, total.layout.strides[dim])
    elif length <= FEW or numel // length >= MANY or own * max(length, size) >= KEYS:
        dims, groups = lines_of((total, src, index), dim, index.shape)
        steps.run(
            add_lines, src, index, flag, total, elements=prod(dims), count=prod(dims), groups=groups, length=length,
            size=size, sizes=dims,
        )  # fmt: skip
    else:
        add_grouped(steps, total, index, src, flag, dim)


@serves(CudaBackend, requests.SelectPut)
def index_put(steps: CudaSteps, request: requests.SelectPut) -> None:
    (out,), (index, src), dim = steps.outs, steps.operands, request.dim
    count, size, rank = src.layout.numel, out.shape[dim], len(out.shape)
    if count:
        last, flag = steps.work((size,), int64), flag_of(steps)
        steps.fill(last, -1)
        by, length = index.layout.strides[0], index.shape[0]
        steps.run(last_at, index, flag, last, elements=length, count=length, size=size, index_step=by)
        steps.run(
            select_put, index, last, src, out, elements=count, count=count, size=size, to_step=out.layout.strides[dim],
            index_step=by, sizes=src.shape, along=tuple(int(d == dim) for d in range(rank)), steps=src.layout.strides,
            to_steps=still(out.layout, out.shape, dim).strides,
        )  # fmt: skip
        steps.check(flag, 0, 0)


def moved(
    steps: CudaSteps, adds: bool, values: Sequence[Value], layouts: Sequence[Layout], size: int, step: int
) -> None:
    """Add the step of a loop over elements.

    layouts: of the side with the index's positions, of the other side, whose step along the dim is 0, and of the
    index.
    """
    dims, strides, offsets = walked(layouts)
    count = prod(dims)
    long = count >= loops.COUNT_32 or any(layout.span()[1] >= loops.OFFSET_32 for layout in layouts)
    steps.run(
        move, *values, words={**loops.position_words(long), "ADDS": adds}, elements=count,
        form=f"{'add_each' if adds else 'gather'}_{{}}{'_long' * long}",
        groups=list(zip(offsets, strides, strict=True)), rows=count, cols=1, size=size, step=step,
        **loops.divisors(dims),
    )  # fmt: skip


def rows_moved(steps: CudaSteps, values: Sequence[Value], layouts: Sequence[Layout], size: int, step: int) -> bool:
    """Add the step of a gather of rows, or return False if no rows have neighbours that one load can read."""
    dims, strides, offsets = walked(layouts)
    if not dims or tuple(s[-1] for s in strides) != (1, 1, 0):
        return False
    cols, outer, inner = dims[-1], dims[:-1], [s[:-1] for s in strides]
    multiples = [offsets, (cols, cols), (step, step), *zip(*inner[:2], strict=True)]
    itemsize = values[0].dtype.itemsize
    width = loops.width_of((itemsize,) * 2, (1, 1), multiples)
    if width == 1 and cols < loops.SHORT:
        return False
    block, high = loops.block_of(cols // width, prod(outer))
    steps.run(
        gather_rows, *values, words={"WIDTH": width, "PUT": f"store_{width}", "TAKE": f"load_{width}"},
        form="gather_rows_{}" + (by(width) if width * itemsize == WIDEST else by(width).replace("by", "of")),
        grid=((steps.backend.blocks(-(-cols // width), block[0]), min(high, loops.ROWS_OF_GRID), 1), block),
        groups=list(zip(offsets, inner, strict=True)), rows=prod(outer), cols=cols, size=size, step=step,
        **loops.divisors(outer),
    )  # fmt: skip
    return True


def flag_of(steps: CudaSteps) -> Value:
    """Return a number that a kernel increases if an index is out of range."""
    flag = steps.work((1,), int32)
    steps.fill(flag, 0)
    return flag
