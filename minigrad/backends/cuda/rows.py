"""Rows on CUDA: the number of threads per row, whether a row stays in registers, and the kernels for rows.

The loops are in `kernels/cuda/rows.py`; a `RowFn` specifies the computation.  A row
along memory is kept in registers up to a length; longer rows are read again for each total, and so are rows across
memory, where neighbouring lanes have neighbouring rows.

Accuracy: a lane adds k elements in the compute dtype of the result: k is at most 32 for a row in registers, and n / 256
for a longer row of n elements.  A tree adds up the lanes.  So the error of a float32 total is at most (k + 8) * 2**-24
times the sum of magnitudes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, CudaSteps
from minigrad.backends.cuda.reduction_plans import BLOCKS, group_of, power_above
from minigrad.backends.cuda.runtime import THREADS, WARP, WIDEST, Size
from minigrad.backends.lowering.functions import QUOTIENT, SUM
from minigrad.backends.lowering.rows import classes_of, counted, ignored_rows
from minigrad.backends.shared import lines_of
from minigrad.backends.steps import Value, viewed
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, float64, int32, int64
from minigrad.core.layout import Layout, merge
from minigrad.core.op import Spec
from minigrad.core.plan import without
from minigrad.core.rows import RowFn
from minigrad.kernels.cuda.rows import Form, row_words, rows
from minigrad.kernels.cuda.target import bits
from minigrad.kernels.pasting import Late

REGISTERS = 96  # number of registers of a thread that are used for rows and sums
ROWS_OF_SUMS = 8  # minimum number of rows whose columns one group adds


@serves(CudaBackend, requests.MapRows)
def map_rows(steps: CudaSteps, request: requests.MapRows) -> None:
    fn, dim, value = request.fn, request.dim, request.value
    if fn.terms:
        return sum_columns(steps, request)
    (out,), operands = steps.outs, steps.operands
    form, block, groups, numbers = plan_rows(fn, out, operands, dim, value)
    grid = (steps.backend.blocks(numbers["rows"], block[1] if form.along else block[0]), 1, 1), block
    run_rows(steps, fn, operands, [None, None, None, out], form, out.dtype, grid, groups, numbers)


def sum_columns(steps: CudaSteps, request: requests.MapRows) -> None:
    """Add the loop whose groups each sum some rows of every column, and the sums of these parts."""
    outs, operands, fn, value = steps.outs, steps.operands, request.fn, request.value
    made = fn.result is not None
    shape, dtype = operands[0].shape, outs[0].dtype
    n, number = shape[-1], prod(shape[:-1])
    if not n or not number:
        return steps.lower(request)
    seen = Spec(Layout.contiguous(shape, outs[0].layout.offset), dtype)
    form, block, groups, numbers = plan_rows(fn, seen, operands, len(shape) - 1, value)
    if not form.loads:  # there are not enough registers for the sums of so many columns
        return steps.lower(request)
    blocks = min(BLOCKS, max(1, -(-number // (block[1] * ROWS_OF_SUMS))))
    terms = len(fn.terms)
    work = steps.work((blocks * block[1], terms, n), as_dtype(dtype.compute))
    arrays = [None, None, work, outs[0] if made else None]
    run_rows(steps, fn, operands, arrays, form, dtype, ((blocks, 1, 1), block), groups, numbers)
    for t, line in enumerate(steps.outs[made:]):
        part = work.at(1, t)
        steps.reducer(SUM, viewed(line, (1, 1, n)), part, (0,))


@serves(CudaBackend, requests.Pick)
def pick(steps: CudaSteps, request: requests.Pick) -> None:
    (out,), (x, target, *weight) = steps.outs, steps.operands
    fn, ignore, reduction = request.fn, request.ignore, request.reduction
    number, each = prod(target.shape), reduction == "none"
    if weight or not (number or each):
        return steps.lower(request)
    if not number:
        return
    losses = out.layout if each else Layout.contiguous(target.shape)
    form, block, groups, numbers = plan_pick(fn, losses, 0, x, (target.layout,), ignore)
    grid = (steps.backend.blocks(number, block[1]), 1, 1), block
    classes_of(steps, target, ignore, x.shape[-1])
    if each:
        run_rows(steps, fn, (x, target), [None, None, None, out], form, out.dtype, grid, groups, numbers, "pick")
        return
    terms, counts = steps.work((number,), as_dtype(out.dtype.compute)), steps.work((number,), int32)
    arrays = [terms, counts, None, None]
    run_rows(steps, fn, (x, target), arrays, form, out.dtype, grid, groups, numbers, "pick_reduced")
    total = steps.work((1,), float64)
    steps.reducer(SUM, total, terms, (0,))
    if reduction == "mean":
        many = steps.work((1,), int64)
        steps.reducer(SUM, many, counts, (0,))
        steps.each(QUOTIENT, total, total, many)
    steps.copy(steps.outs[0], viewed(total, out.shape))


@serves(CudaBackend, requests.PickBack)
def pick_back(steps: CudaSteps, request: requests.PickBack) -> None:
    (out,), (dy, x, target) = steps.outs, steps.operands
    fn, ignore, reduction = request.fn, request.ignore, request.reduction
    if out.layout.numel == 0:
        return
    shape = target.shape
    share = steps.work((1,), as_dtype(out.dtype.compute))
    steps.fill(share, 1)
    if reduction == "mean":
        steps.each(QUOTIENT, share, share, viewed(counted(steps, ignored_rows(steps, target, ignore)), (1,)))
    heads, shares = dy.layout.expand(shape), Layout.contiguous((1,) * len(shape)).expand(shape)
    losses = without(out.layout, out.shape, len(shape))
    form, block, groups, numbers = plan_pick(
        fn, losses, out.layout.strides[-1], x, (target.layout, heads, shares), ignore, back=out
    )
    grid = (steps.backend.blocks(prod(shape), block[1]), 1, 1), block
    arrays = [None, None, None, out]
    run_rows(steps, fn, (x, target, dy, share), arrays, form, out.dtype, grid, groups, numbers)


def run_rows(
    steps: CudaSteps, fn: RowFn, operands: Sequence[Value], arrays: Sequence[Value | None], form: Form, out: DType,
    grid: tuple[Size, Size], groups: list[Any], numbers: dict[str, Any], picks: str = "",
) -> None:  # fmt: skip
    """Add the step of `rows`. arrays: of losses, counts, sums and results.  picks: see `row_words`."""
    label = "_".join([form.label((out, *[x.dtype for x in operands])), *filter(None, [picks, "back" * form.back])])
    steps.run(
        rows, *operands, *arrays, words=Late(row_words, (fn, form, out.compute, picks)),
        compute=out.compute, form=f"{fn.name}_{{}}_{label}", grid=grid, groups=groups, **numbers,
    )  # fmt: skip


def group_along(fn: RowFn, n: int, width: int, number: int) -> tuple[int, int, int]:
    """Return lanes per group, groups per block, and loads per lane if registers can store a row, otherwise 0."""
    asked = {name for total in fn.totals for name in total.term.args}
    arrays = len(asked & set(fn.operands)) + len(fn.terms) + (fn.reuse is not None)
    most = max(1, REGISTERS // (max(2, arrays + 1) * width))
    most = 1 << most.bit_length() - 1
    each = -(-n // width)
    lanes = min(power_above(each), WARP)
    if each > WARP * min(most, 4):
        lanes = min(THREADS, power_above(-(-each // min(most, 4))))
    loads = power_above(-(-each // lanes))
    groups = 1 if lanes > WARP else min(THREADS // lanes, power_above(number))
    return lanes, groups, loads if loads <= most else 0


def plan_rows(
    fn: RowFn, out: Spec, operands: Sequence[Spec], dim: int, value: float
) -> tuple[Form, Size, list[Any], dict[str, Any]]:
    """Return a kernel's form and block, its groups of numbers and the other numbers."""
    n, specs = out.shape[dim], (out, *operands)
    dims, groups = lines_of(specs, dim, out.shape)
    if n == 1:  # a dim of one element may have any stride
        groups = [(offset, 1, strides) for offset, _, strides in groups]
    steps, number = [step for _, step, _ in groups], prod(dims)
    numbers = {"rows": number, "n": n, "value": bits(value, out.dtype.compute), "ignore": 0, "shape": dims}
    if steps[0] != 1:
        lanes, high = group_of(False, number, dims[-1] if dims else 1, n, 1)
        return Form(False, 0, 1, (False,) * len(specs)), (high, lanes, 1), groups, numbers
    width, wide = widths(specs, steps, [[offset, *strides] for offset, _, strides in groups], n)
    lanes, high, loads = group_along(fn, n, width, number)
    return Form(True, loads, width, wide), (lanes, high, 1), groups, numbers


def widths(
    specs: Sequence[Spec], steps: Sequence[int], positions: Sequence[Sequence[int]], n: int
) -> tuple[int, tuple[bool, ...]]:
    """Return how many neighbours a lane moves together, and for which of the specs.

    These are specs of step 1 in which every row begins at a multiple of this width; the first spec determines it.
    """
    width = WIDEST // max(x.dtype.itemsize for x, step in zip(specs, steps, strict=True) if step == 1)
    while width > 1 and (n % width or any(position % width for position in positions[0])):
        width //= 2
    fits = [step == 1 and not any(p % width for p in each) for step, each in zip(steps, positions, strict=True)]
    return width, tuple(width > 1 and fit for fit in fits)


def plan_pick(
    fn: RowFn, losses: Layout, step: int, x: Spec, others: Sequence[Layout], ignore: int, back: Spec | None = None
) -> tuple[Form, Size, list[Any], dict[str, Any]]:
    """Return the result of `plan_rows` for picked elements.

    The rows are in row-major order.
    """
    n, number = x.shape[-1], prod(losses.shape)
    dims, strides = merge([losses, without(x.layout, x.shape, len(losses.shape)), *others])
    steps = (step, x.layout.strides[-1], *(0 for _ in others))
    offsets = [layout.offset for layout in (losses, x.layout, *others)]
    each = list(zip(offsets, steps, strides, strict=True))
    numbers = {"rows": number, "n": n, "value": 0, "ignore": ignore, "shape": dims}
    specs, positions = [x], [[offsets[1], *strides[1]]]
    if back is not None:
        specs, positions = [back, x], [[offsets[0], *strides[0]], *positions]
    moved = [spec.layout.strides[-1] for spec in specs]
    width, fits = widths(specs, moved, positions, n) if moved[0] == 1 else (1, (False,) * len(specs))
    wide = (*fits, *(False for _ in others)) if back is not None else (False, *fits, *(False for _ in others))
    lanes, groups, loads = group_along(fn, n, width, number)
    return Form(True, loads, width, wide, back is not None), (lanes, groups, 1), each, numbers
