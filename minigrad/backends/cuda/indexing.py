"""Gathers and additions by index on CUDA: from specs to kernels and a launch that reports an invalid index.

The loops are in `kernels/cuda/indexing.py`.  Integers are added by atomic operations, whose order does not matter;
small integers and booleans use int32.  Floats are added in an order that depends on the index alone.  One thread adds
each line if lines are short or many, otherwise the entries are sorted first (`grouping.py`).  If
`settings.deterministic` is off, floats use atomic operations too.  Sums of float16 and bfloat16 stay in float32 until
all elements are added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, line
from minigrad.backends.cuda.grouping import KEYS, add_grouped
from minigrad.backends.cuda.loops import COUNT_32, OFFSET_32, ROWS_OF_GRID, SHORT, WIDEST, block_of, divisors, width_of
from minigrad.backends.cuda.runtime import Program
from minigrad.backends.launch import Loop
from minigrad.backends.steps import Steps, Value
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, int32, int64
from minigrad.core.layout import Layout
from minigrad.core.plan import still, walk, without
from minigrad.kernels.cuda import elementwise, indexing
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.fields import Fields
from minigrad.kernels.macros import expression_macro
from minigrad.kernels.specialize import write_kernel

FEW = 64  # maximum number of indices per line for which adding in turn is faster than sorting
MANY = 1 << 18  # number of lines that keep a device busy, with one thread per line


@serves(CudaBackend, requests.Gather)
def gather(steps: Steps, request: requests.Gather) -> Loop:
    (out,), (a, index), dim = steps.outs, steps.operands, request.dim
    if out.layout.numel:
        flag = flag_of(steps)
        layouts = (out.layout, still(a.layout, out.shape, dim), index.layout)
        size, step = a.shape[dim], a.layout.strides[dim]
        launch = rows_moved(steps, layouts, a.dtype, index.dtype, size, step)
        launch = launch or moved(steps, False, layouts, (a.dtype, index.dtype, a.dtype), size, step)
        steps.then(launch, *steps.operands, flag, *steps.outs)
        steps.check(flag, 0, 0)
    return steps.launch


@serves(CudaBackend, requests.ScatterAdd)
def scatter_add(steps: Steps, request: requests.ScatterAdd) -> Loop:
    (out,), (_, index, _), dim = steps.outs, steps.operands, request.dim
    kept = as_dtype(out.dtype.compute) if out.dtype.is_float else out.dtype if out.dtype.itemsize > 2 else int32
    total = steps.outs[0] if kept is out.dtype else steps.work(out.shape, kept)
    steps.copy(total, steps.operands[0])
    if index.layout.numel:
        flag = flag_of(steps)
        add(steps, total, flag, dim, not settings.deterministic and out.dtype.itemsize > 2)
        steps.check(flag, 0, 0)
    if total is not steps.outs[0]:
        steps.copy(steps.outs[0], total)
    return steps.launch


def add(steps: Steps, total: Value, flag: Value, dim: int, in_any_order: bool) -> None:
    """Compute total[index] += src by the fastest method."""
    _, index, src = steps.operands
    length, size, numel = index.shape[dim], total.shape[dim], index.layout.numel
    own = prod(n for d, n in enumerate(index.shape) if d != dim and index.layout.strides[d])
    if in_any_order or not total.dtype.is_float:
        layouts = (
            Layout.make(index.shape, src.layout.strides, src.layout.offset), still(total.layout, index.shape, dim),
            index.layout,
        )  # fmt: skip
        dtypes = (src.dtype, index.dtype, total.dtype)
        launch = moved(steps, True, layouts, dtypes, size, total.layout.strides[dim])
    elif length <= FEW or numel // length >= MANY or own * max(length, size) >= KEYS:
        launch = lines_added(steps, total, index, src, dim)
    else:
        add_grouped(steps, total, index, src, flag, dim)
        return
    steps.then(launch, src, index, flag, total)


@serves(CudaBackend, requests.SelectPut)
def select_put(steps: Steps, request: requests.SelectPut) -> Loop:
    (out,), (index, src), dim = steps.outs, steps.operands, request.dim
    count, size, rank = src.layout.numel, out.shape[dim], len(out.shape)
    if count:
        last, flag = steps.work((size,), int64), flag_of(steps)
        steps.fill(last, -1)
        position, by = index.layout.offset, index.layout.strides[0]
        length = index.shape[0]
        numbers = indexing.LAST.pack(count=length, size=size, index_offset=position, index_step=by)
        kernel = steps.backend.kernel(write_last_at, index.dtype)
        mark = steps.backend.bind(kernel, *line(steps.backend.blocks(length)), numbers)
        steps.then(mark, index, flag, last)
        numbers = indexing.put_fields(rank).pack(
            count=count, size=size, to_step=out.layout.strides[dim], index_offset=position, index_step=by,
            offset=src.layout.offset, to=out.layout.offset, sizes=src.shape,
            along=tuple(int(d == dim) for d in range(rank)), steps=src.layout.strides,
            to_steps=still(out.layout, out.shape, dim).strides,
        )  # fmt: skip
        kernel = steps.backend.kernel(write_select_put, index.dtype, src.dtype, rank)
        put = steps.backend.bind(kernel, *line(steps.backend.blocks(count)), numbers)
        steps.then(put, index, last, src, out)
        steps.check(flag, 0, 0)
    return steps.launch


def moved(
    steps: Steps, adds: bool, layouts: Sequence[Layout], dtypes: tuple[DType, DType, DType], size: int, step: int
) -> Loop:
    """Return the launch of a loop over elements.

    layouts: of the side with the index's positions, of the other side, whose step along the dim is 0, and of the
    index.
    """
    dims, strides, offsets = walk(layouts)
    count = prod(dims)
    long = count >= COUNT_32 or any(layout.span()[1] >= OFFSET_32 for layout in layouts)
    kernel = steps.backend.kernel(write_move, adds, *dtypes, len(dims), long)
    numbers = indexing.move_fields(len(dims)).pack(
        *zip(offsets, strides, strict=True), rows=count, cols=1, size=size, step=step, **divisors(dims)
    )
    return steps.backend.bind(kernel, *line(steps.backend.blocks(count)), numbers)


def rows_moved(
    steps: Steps, layouts: Sequence[Layout], dtype: DType, index: DType, size: int, step: int
) -> Loop | None:
    """Return the launch of a gather of rows, or None if no rows have neighbours that one load can read."""
    dims, strides, offsets = walk(layouts)
    if not dims or tuple(s[-1] for s in strides) != (1, 1, 0):
        return None
    cols, outer, inner = dims[-1], dims[:-1], [s[:-1] for s in strides]
    multiples = [offsets, (cols, cols), (step, step), *zip(*inner[:2], strict=True)]
    width = width_of((dtype.itemsize,) * 2, (1, 1), multiples)
    if width == 1 and cols < SHORT:
        return None
    kernel = steps.backend.kernel(write_gather_rows, dtype, index, len(outer), width)
    numbers = indexing.move_fields(len(outer)).pack(
        *zip(offsets, inner, strict=True), rows=prod(outer), cols=cols, size=size, step=step, **divisors(outer)
    )
    block, high = block_of(cols // width, prod(outer))
    grid = (steps.backend.blocks(-(-cols // width), block[0]), min(high, ROWS_OF_GRID), 1)
    return steps.backend.bind(kernel, grid, block, numbers)


def lines_added(steps: Steps, total: Value, index: Value, src: Value, dim: int) -> Loop:
    """Return the launch of additions with one thread per line."""
    specs = (total, src, index)
    dims, strides, offsets = walk([without(x.layout, index.shape, dim) for x in specs])
    moves = [x.layout.strides[dim] for x in specs]
    numbers = indexing.lines_fields(len(dims)).pack(
        *zip(offsets, moves, strides, strict=True), count=prod(dims), length=index.shape[dim],
        size=total.shape[dim], sizes=dims,
    )  # fmt: skip
    kernel = steps.backend.kernel(write_add_lines, src.dtype, index.dtype, total.dtype, len(dims))
    return steps.backend.bind(kernel, *line(steps.backend.blocks(prod(dims))), numbers)


def flag_of(steps: Steps) -> Value:
    """Return a number that a kernel increases if an index is out of range."""
    flag = steps.work((1,), int32)
    steps.fill(flag, 0)
    return flag


def written(
    name: str, loop: Callable[..., Any], operands: tuple[DType, ...], out: DType, arrays: tuple[DType, ...],
    fields: Fields, helpers: Sequence[Callable[..., Any]] = (), **more: Any,
) -> Program:  # fmt: skip
    """Return the program of a loop that takes an index."""
    text = write_kernel(
        f"{name}: {', '.join(map(str, operands))} -> {out}.", loop, operands=operands, out=out,
        arrays=arrays, fields=fields, helpers=[indexing.position_of, *helpers], target=CUDA, **more,
    )  # fmt: skip
    return Program(name, text)


def write_move(adds: bool, a: DType, index: DType, out: DType, rank: int, long: bool) -> Program:
    """Return the program of a gather, or, if `adds`, of a scatter-add with one atomic addition per element."""
    return written(
        f"{'add_each' if adds else 'gather'}_{a.short}_{index.short}_{out.short}_{rank}{'_long' if long else ''}",
        indexing.move,
        (a, index),
        out,
        (a, index, int32, out),
        indexing.move_fields(rank),
        [] if long else [elementwise.divide],
        macros={"WORD": expression_macro("np.int64({})" if long else "np.uint32({})")},
        constants={"DIVISORS": "N.shape" if long else "N.magic", "ADDS": str(int(adds))},
    )


def write_gather_rows(a: DType, index: DType, rank: int, width: int) -> Program:
    """Write one gather of rows, `width` elements per load."""
    wide = f"_{'by' if width * a.itemsize == WIDEST else 'of'}{width}" if width > 1 else ""
    return written(
        f"gather_rows_{a.short}_{index.short}_{rank}{wide}",
        indexing.gather_rows,
        (a, index),
        a,
        (a, index, int32, a),
        indexing.move_fields(rank),
        constants={"WIDTH": str(width), "PUT": f"store_{width}", "TAKE": f"load_{width}"},
    )


def write_add_lines(src: DType, index: DType, out: DType, rank: int) -> Program:
    """Write one addition by index, line by line."""
    name, arrays = f"add_lines_{src.short}_{index.short}_{out.short}_{rank}", (src, index, int32, out)
    return written(name, indexing.add_lines, (src, index), out, arrays, indexing.lines_fields(rank))


def write_last_at(index: DType) -> Program:
    """Write the search for the last of equal indices."""
    name = f"last_at_{index.short}"
    return written(name, indexing.last_at, (index,), int64, (index, int32, int64), indexing.LAST)


def write_select_put(index: DType, src: DType, rank: int) -> Program:
    """Write one assignment by index, which moves elements unchanged."""
    name, operands = f"select_put_{index.short}_{src.short}_{rank}", (index, int64, src)
    return written(name, indexing.select_put, operands, src, (*operands, src), indexing.put_fields(rank))
