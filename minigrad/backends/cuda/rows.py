"""Rows on CUDA: the number of threads per row, whether a row stays in registers, and the kernels for rows.

The loops are in `kernels/cuda/rows.py`; a `RowFn` specifies the computation, whose lines `rowtexts.py` writes.  A row
along memory is kept in registers up to a length; longer rows are read again for each total, and so are rows across
memory, where neighbouring lanes have neighbouring rows.

Accuracy: a lane adds k elements in the compute dtype of the result: k is at most 32 for a row in registers, and n / 256
for a longer row of n elements.  A tree adds up the lanes.  So the error of a float32 total is at most (k + 8) * 2**-24
times the sum of magnitudes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend
from minigrad.backends.cuda.reduction_plans import BLOCKS, group_of, power_above
from minigrad.backends.cuda.rowtexts import WIDEST, Form, joins_text, row_words
from minigrad.backends.cuda.runtime import THREADS, Program, Size
from minigrad.backends.cuda.texts import group_words
from minigrad.backends.launch import NO_STEPS, Loop
from minigrad.backends.lowering.functions import CHOSEN, EQUAL, QUOTIENT, SUM, UNLESS
from minigrad.backends.lowering.rows import expect_classes
from minigrad.backends.steps import Steps, Value, viewed
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, bool_, float64, int32, int64
from minigrad.core.layout import Layout, merge
from minigrad.core.op import Spec
from minigrad.core.plan import walk, without
from minigrad.core.rows import RowFn
from minigrad.kernels.cuda import rows
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.macros import pass_macros
from minigrad.kernels.specialize import write_kernel

WARP = 32
REGISTERS = 96  # number of registers of a thread that are used for rows and sums
ROWS_OF_SUMS = 8  # minimum number of rows whose columns one group adds


@serves(CudaBackend, requests.MapRows)
def map_rows(steps: Steps, request: requests.MapRows) -> Loop:
    (out,), operands = steps.outs, steps.operands
    fn, dim, value = request.fn, request.dim, request.value
    form, block, numbers, number = plan_rows(fn, out, operands, dim, value)
    dtypes = tuple(x.dtype for x in operands)
    kernel = steps.backend.kernel(write_rows, fn, dtypes, out.dtype, form, rank_of(numbers, len(operands)))
    groups = block[1] if form.along else block[0]
    return steps.backend.bind(kernel, (steps.backend.blocks(number, groups), 1, 1), block, numbers)


@serves(CudaBackend, requests.SumColumns)
def sum_columns(steps: Steps, request: requests.SumColumns) -> Loop:
    outs, operands, fn, value = steps.outs, steps.operands, request.fn, request.value
    made = fn.result is not None
    shape, dtype = operands[0].shape, outs[0].dtype
    n, number = shape[-1], prod(shape[:-1])
    request = requests.SumColumns(fn, value)
    if not n or not number:
        return steps.lower(request)
    seen = Spec(Layout.contiguous(shape, outs[0].layout.offset), dtype)
    form, block, numbers, _ = plan_rows(fn, seen, operands, len(shape) - 1, value)
    if not form.loads:  # there are not enough registers for the sums of so many columns
        return steps.lower(request)
    blocks = min(BLOCKS, max(1, -(-number // (block[1] * ROWS_OF_SUMS))))
    kernel = steps.backend.kernel(
        write_rows, fn, tuple(x.dtype for x in operands), dtype, form, rank_of(numbers, len(operands))
    )
    terms = len(fn.terms)
    work = steps.work((blocks * block[1], terms, n), as_dtype(dtype.compute))
    launch = steps.backend.bind(kernel, (blocks, 1, 1), block, numbers)
    steps.then(launch, *steps.operands, work, *([steps.outs[0]] if made else []))
    for t, line in enumerate(steps.outs[made:]):
        part = work.at(1, t)
        steps.reducer(SUM, viewed(line, (1, 1, n)), part, (0,))
    return steps.launch


@serves(CudaBackend, requests.Pick)
def pick(steps: Steps, request: requests.Pick) -> Loop:
    (out,), (x, target, *weight) = steps.outs, steps.operands
    fn, ignore, reduction = request.fn, request.ignore, request.reduction
    if weight:
        return steps.lower(request)
    number, each = prod(target.shape), reduction == "none"
    if not number:
        return NO_STEPS if each else steps.lower(request)
    losses = out.layout if each else Layout.contiguous(target.shape)
    form, block, numbers = plan_pick(fn, losses, 0, x, (target.layout,), ignore)
    rank = rank_of(numbers, 2)
    kernel = steps.backend.kernel(
        write_rows, fn, (x.dtype, target.dtype), out.dtype, form, rank, "pick" if each else "pick_reduced"
    )
    launch = steps.backend.bind(kernel, (steps.backend.blocks(number, block[1]), 1, 1), block, numbers)
    expect_targets(steps, ignore, x.shape[-1])
    if each:
        steps.then(launch, *steps.operands, *steps.outs)
        return steps.launch
    terms, counted = steps.work((number,), as_dtype(out.dtype.compute)), steps.work((number,), int32)
    steps.then(launch, *steps.operands, terms, counted)
    total = steps.work((1,), float64)
    steps.reducer(SUM, total, terms, (0,))
    if reduction == "mean":
        many = steps.work((1,), int64)
        steps.reducer(SUM, many, counted, (0,))
        steps.each(QUOTIENT, total, total, many)
    steps.copy(steps.outs[0], viewed(total, out.shape))
    return steps.launch


@serves(CudaBackend, requests.PickBack)
def pick_backward(steps: Steps, request: requests.PickBack) -> Loop:
    (out,), (dy, x, target) = steps.outs, steps.operands
    fn, ignore, reduction = request.fn, request.ignore, request.reduction
    if out.layout.numel == 0:
        return NO_STEPS
    shape = target.shape
    head, values, chosen = steps.operands
    share = steps.work((1,), as_dtype(out.dtype.compute))
    steps.fill(share, 1)
    if reduction == "mean":
        steps.each(QUOTIENT, share, share, counted(steps, chosen, ignore))
    heads, shares = dy.layout.expand(shape), Layout.contiguous((1,) * len(shape)).expand(shape)
    losses = without(out.layout, out.shape, len(shape))
    form, block, numbers = plan_pick(
        fn, losses, out.layout.strides[-1], x, (target.layout, heads, shares), ignore, back=out
    )
    dtypes = (x.dtype, target.dtype, dy.dtype, share.dtype)
    kernel = steps.backend.kernel(write_rows, fn, dtypes, out.dtype, form, rank_of(numbers, 4))
    launch = steps.backend.bind(kernel, (steps.backend.blocks(prod(shape), block[1]), 1, 1), block, numbers)
    steps.then(launch, values, chosen, head, share, *steps.outs)
    return steps.launch


def expect_targets(steps: Steps, ignore: int, classes: int) -> None:
    """Add steps that end the launch if a class does not exist."""
    target = steps.operands[-1]
    ignored, index = steps.work(target.shape, bool_), steps.work(target.shape, int64)
    steps.each(EQUAL, ignored, target, steps.constant(ignore, int64), compute=int64.compute)
    steps.each(CHOSEN, index, ignored, steps.constant(0, int64), target)
    expect_classes(steps, index, classes)


def counted(steps: Steps, target: Value, ignore: int) -> Value:
    """Return the number of rows that count, as a scalar."""
    ignored, counts = steps.work(target.shape, bool_), steps.work(target.shape, int64)
    total, dims = steps.work((1,) * len(target.shape), int64), range(len(target.shape))
    steps.each(EQUAL, ignored, target, steps.constant(ignore, int64), compute=int64.compute)
    steps.each(UNLESS, counts, steps.constant(1, int64), ignored)
    steps.reducer(SUM, total, counts, dims)
    return viewed(total, (1,))


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
) -> tuple[Form, Size, list[int], int]:
    """Return a kernel's form, block, scalar arguments and number of rows."""
    n, specs = out.shape[dim], (out, *operands)
    dims, strides, offsets = walk([without(x.layout, out.shape, dim) for x in specs])
    # A dim of one element may have any stride, so 1 is used.
    steps = [x.layout.strides[dim] if n > 1 else 1 for x in specs]
    number = prod(dims)
    bits = int(np.array(value, out.dtype.compute).view(f"i{out.dtype.compute.itemsize}"))
    numbers = rows.rows_fields(len(dims)).pack(
        *zip(offsets, steps, strides, strict=True), rows=number, n=n, value=bits, ignore=0, shape=dims
    )
    if steps[0] != 1:
        lanes, groups = group_of(False, number, dims[-1] if dims else 1, n, 1)
        return Form(False, 0, 1, (False,) * len(specs)), (groups, lanes, 1), numbers, number
    width, wide = widths(specs, steps, [[offset, *each] for offset, each in zip(offsets, strides, strict=True)], n)
    lanes, groups, loads = group_along(fn, n, width, number)
    return Form(True, loads, width, wide), (lanes, groups, 1), numbers, number


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
    fn: RowFn, losses: Layout, step: int, x: Spec, others: Sequence[Layout], ignore: int,
    back: Spec | None = None,
) -> tuple[Form, Size, list[int]]:  # fmt: skip
    """Return the form, the block and the scalar arguments for picked elements.

    The rows are in row-major order.
    """
    n, number = x.shape[-1], prod(losses.shape)
    dims, strides = merge([losses, without(x.layout, x.shape, len(losses.shape)), *others])
    steps = (step, x.layout.strides[-1], *(0 for _ in others))
    offsets = [layout.offset for layout in (losses, x.layout, *others)]
    numbers = rows.rows_fields(len(dims)).pack(
        *zip(offsets, steps, strides, strict=True), rows=number, n=n, value=0, ignore=ignore, shape=dims
    )
    specs, positions = [x], [[offsets[1], *strides[1]]]
    if back is not None:
        specs, positions = [back, x], [[offsets[0], *strides[0]], *positions]
    moved = [spec.layout.strides[-1] for spec in specs]
    width, fits = widths(specs, moved, positions, n) if moved[0] == 1 else (1, (False,) * len(specs))
    wide = (*fits, *(False for _ in others)) if back is not None else (False, *fits, *(False for _ in others))
    lanes, groups, loads = group_along(fn, n, width, number)
    return Form(True, loads, width, wide, back is not None), (lanes, groups, 1), numbers


def rank_of(numbers: Sequence[int], operands: int) -> int:
    """Return the number of dims of the rows that some scalar arguments describe."""
    return (len(numbers) - rows.rows_fields(0).count(operands + 1)) // (operands + 2)


def write_rows(fn: RowFn, dtypes: tuple[DType, ...], out: DType, form: Form, rank: int, picks: str = "") -> Program:
    """Write one kernel over rows.

    picks: "pick" if it computes one number per row, "pick_reduced" if a reduction follows.
    """
    fields, compute = rows.rows_fields(rank), as_dtype(out.compute)
    label = "_".join([form.label((out, *dtypes)), str(rank), *filter(None, [picks, "back" if form.back else ""])])
    arrays = {"losses": compute, "counted": int32} if picks == "pick_reduced" else {"out": out}
    if not picks:
        arrays = ({"work": compute} if fn.terms else {}) | (arrays if fn.result is not None else {})
    value = f"np.int{8 * compute.itemsize}(numbers[{fields.position('value')}]).view(T)"
    macros, constants = row_words(fn, form, out.compute)
    constants |= group_words(form.along) | {"VALUE": value, "PICKS": bool(picks), "EACH": picks == "pick"}
    macros |= pass_macros(fn, fn.passes()[-1], out.compute, CUDA, (0,)) if picks else {}
    text = write_kernel(
        f"{fn.name}: {', '.join(map(str, dtypes))} -> {out}; {label}.",
        rows.rows,
        operands=dtypes,
        out=out,
        fields=fields,
        target=CUDA,
        constants=constants,
        macros=macros,
        imports=joins_text(fn, form.along),
        arrays=(*dtypes, *arrays.values()),
        results=", ".join(arrays),
    )
    return Program("_".join([fn.name, *(d.short for d in dtypes), out.short, label]), text)
