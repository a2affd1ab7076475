"""Reductions of several operands, accumulators or results on the CPU: `map` of the elements, combined in one loop.

As in `reduction_plans.py`, the operands are read in the memory order of one of them, and long reductions with few
outputs are cut into pieces, which follow from layouts alone.  A task is a piece of the elements for a chunk of groups.
If there are several pieces, `work_S` stores their accumulators, and the kernel is called once more at the end, with
first == last, to combine them.  The order depends only on shapes.  Reductions in sequence use the row-major order, in
one piece.

Free names: `F` is one step; its arguments are the accumulators and an element of each operand, and it stores the new
accumulators at the positions after these.  `COMBINE` joins two sets of accumulators in the same form.  `FINISH` stores
the RESULTS of the accumulators and a count.  `IDENTITY_S` is the first value of an accumulator, and `LOAD_K` converts
an element of operand K.  `AT_K` is such an element: in the slice `RUN_K` if the innermost step, which is pasted, is 0
or 1, otherwise found with the step.  A sum is computed by `stretch`: the compiler may re-order its
additions, so it vectorises in registers.  Other reductions (LANED) have a row of accumulators.
"""

# ruff: noqa: B007, F821, F841
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.cpu.loops import STRIP
from minigrad.backends.cpu.reduction_plans import TINY, ReductionPlan, divide, starts_of
from minigrad.backends.cpu.texts import row_views, step_words
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.core.reducer import Reducer, axes, goes_along, leading
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.macros import neutral_text, results_macro, step_macro
from minigrad.kernels.pasting import Macro
from minigrad.kernels.specialize import store_text

LISTED = Fields("outputs elements places count", "to[places]", "at[outputs] far[elements]", results=False)
# A group is one output or a row of up to `cols` outputs, a unit is some rows of its elements: see `reduction.WALK`.
# The row_step and the reduced_steps of results are 0.
WALK = Fields(
    "kept reduced groups chunk units piece pieces rows block blocks cols col_block col_blocks count",
    "sizes[kept] reduced_sizes[reduced]",
    "offset row_step col_step steps[kept] reduced_steps[reduced]",
)


@loop(LISTED)
def tiny(in_K, work_S, out_R, N):  # type: ignore[no-untyped-def]
    """Reduce few elements, one after the other, in one task.

    to: the position of each output, result after result.  at: the first element of each output.  far: the distance of
    each element from the first one.
    """
    outputs, elements = N.outputs, N.elements
    for o in range(outputs):
        at_K = N.at[K][o]
        acc_S = IDENTITY_S
        for i in range(elements):
            F(acc_S, LOAD_K(in_K[at_K + N.far[K][i]]), acc_S)
        FINISH(acc_S, N.count, out_R[N.to[o + outputs * R]])


def stretch(in_K, at_K, step_K, count, acc_S):  # type: ignore[no-untyped-def]
    """Reduce `count` neighbours of every operand; the compiler may re-order the additions."""
    x_K = RUN_K
    for j in range(count):
        F(acc_S, LOAD_K(AT_K), acc_S)
    return (acc_S,)


@loop(WALK)
def along(in_K, work_S, out_R, N):  # type: ignore[no-untyped-def]
    """Reduce along memory.

    A group is one output; a unit is one block of one stretch that the output reduces.
    """
    rows, block = N.rows, N.block
    step_K = N.row_step[K + RESULTS]
    if LANED:
        acc_S = workspace(LANES, T)
    for t in range(first, last):
        c = t // N.pieces
        p = t - c * N.pieces
        for g in range(c * N.chunk, min(N.groups, (c + 1) * N.chunk)):
            position = g
            to_R = N.offset[R]
            base_K = N.offset[K + RESULTS]
            walk(position, N.sizes, to_R=N.steps[R], base_K=N.steps[K + RESULTS])
            total_S = IDENTITY_S
            if LANED:
                for j in range(LANES):
                    acc_S[j] = IDENTITY_S
            for u in range(p * N.piece, min(N.units, (p + 1) * N.piece)):
                position = u // N.blocks
                start = (u - position * N.blocks) * block
                length = min(block, rows - start)
                at_K = base_K + start * step_K
                walk(position, N.reduced_sizes, at_K=N.reduced_steps[K + RESULTS])
                if LANED:
                    for i in range(0, length, LANES):
                        count = min(LANES, length - i)
                        x_K = RUN_K
                        for j in range(count):
                            F(acc_S[j], LOAD_K(AT_K), acc_S[j])
                        at_K += LANES * step_K
                else:
                    totals = stretch(in_K, at_K, step_K, length, total_S)
                    total_S = totals[S]
            if LANED:
                for j in range(LANES):
                    COMBINE(total_S, acc_S[j], total_S)
            if N.pieces > 1:
                work_S[p * N.groups + g] = total_S
            else:
                FINISH(total_S, N.count, out_R[to_R])
    if LANED:
        leave(acc_S)
    if first == last:
        for g in range(N.groups):
            position = g
            to_R = N.offset[R]
            walk(position, N.sizes, to_R=N.steps[R])
            total_S = work_S[g]
            for p in range(1, N.pieces):
                COMBINE(total_S, work_S[p * N.groups + g], total_S)
            FINISH(total_S, N.count, out_R[to_R])


@loop(WALK)
def across(in_K, work_S, out_R, N):  # type: ignore[no-untyped-def]
    """Reduce across memory.  A group is a row of up to `cols` outputs; a unit is some rows that are added to it."""
    cols = N.col_block
    step_K = N.col_step[K + RESULTS]
    acc_S = workspace(cols, T)
    for t in range(first, last):
        c = t // N.pieces
        p = t - c * N.pieces
        for g in range(c * N.chunk, min(N.groups, (c + 1) * N.chunk)):
            position = g // N.col_blocks
            col = (g - position * N.col_blocks) * cols
            count = min(cols, N.cols - col)
            to_R = N.offset[R] + col * N.col_step[R]
            base_K = N.offset[K + RESULTS] + col * step_K
            walk(position, N.sizes, to_R=N.steps[R], base_K=N.steps[K + RESULTS])
            row_S = acc_S[:count]
            for j in range(count):
                row_S[j] = IDENTITY_S
            for u in range(p * N.piece, min(N.units, (p + 1) * N.piece)):
                position = u // N.blocks
                start = (u - position * N.blocks) * N.block
                at_K = base_K + start * N.row_step[K + RESULTS]
                walk(position, N.reduced_sizes, at_K=N.reduced_steps[K + RESULTS])
                for _ in range(min(N.block, N.rows - start)):
                    x_K = RUN_K
                    for j in range(count):
                        F(row_S[j], LOAD_K(AT_K), row_S[j])
                    at_K += N.row_step[K + RESULTS]
            for j in range(count):
                if N.pieces > 1:
                    work_S[(p * N.groups + g) * cols + j] = row_S[j]
                else:
                    FINISH(row_S[j], N.count, out_R[to_R + j * N.col_step[R]])
    leave(acc_S)
    if first == last:
        for g in range(N.groups):
            position = g // N.col_blocks
            col = (g - position * N.col_blocks) * cols
            to_R = N.offset[R] + col * N.col_step[R]
            walk(position, N.sizes, to_R=N.steps[R])
            for j in range(min(cols, N.cols - col)):
                total_S = work_S[g * cols + j]
                for p in range(1, N.pieces):
                    COMBINE(total_S, work_S[(p * N.groups + g) * cols + j], total_S)
                FINISH(total_S, N.count, out_R[to_R + j * N.col_step[R]])


LANES = 64  # number of independent accumulators if the additions must not be reordered


def plan_mapped(
    outs: Sequence[Layout], operands: Sequence[Layout], dims: Sequence[int], ordered: bool = False
) -> ReductionPlan:
    """Return the plan of a reduction of operands of one shape over `dims` into results that have size 1 there.

    Its kind is "tiny", "along" or "across".  The innermost dims of results have row_step 0.
    ordered: the elements are combined one after the other, in row-major order.
    """
    a = operands[0]
    if a.numel <= TINY and outs[0].numel <= TINY:
        numbers = {"outputs": outs[0].numel, "to": [offset for out in outs for offset in out.offsets()]}
        return ReductionPlan("tiny", "", a.numel, 1, 0, numbers, [starts_of(x, dims) for x in operands])
    order = leading(operands)
    layouts = [operands[k] for k in order]
    kept = axes([*layouts, *outs], [d for d in range(a.ndim) if d not in dims])
    reduced = axes(layouts, list(dims), flip=not ordered, sort=not ordered)
    along = ordered or goes_along(kept, reduced)
    values, tasks, col_steps, row_steps, reduced = divide(kept, reduced, prod(a.shape[d] for d in dims), along, ordered)
    nowhere, n = (0,) * len(reduced.dims), len(operands)
    goals = [(y.offset + kept.shifts[k], 0, col_steps[k], kept.strides[k], nowhere) for k, y in enumerate(outs, n)]
    each = [
        (
            operands[k].offset + kept.shifts[i] + reduced.shifts[i], row_steps[i], col_steps[i], kept.strides[i],
            reduced.strides[i],
        )
        for i, k in sorted(enumerate(order), key=lambda pair: pair[1])
    ]  # fmt: skip
    steps = step_words([row if along else col for _, row, col, *_ in each])
    parts = values["pieces"]
    work = parts * values["groups"] * values["col_block"] if parts > 1 else 0
    return ReductionPlan("along" if along else "across", steps, a.numel, tasks, work, values, [*goals, *each])


def is_crossed(plan: ReductionPlan, operands: Sequence[Layout]) -> bool:
    """Return whether two operands are dense along different dims.

    A plain loop would then read a new cache line per element of one of them.
    """
    if "1" not in plan.steps:
        return False
    inner = [row if plan.kind == "along" else col for _, row, col, *_ in plan.each[-len(operands) :]]
    return any(
        step not in (-1, 0, 1) and any(stride == 1 and size >= STRIP for size, stride in zip(x.shape, x.strides))
        for step, x in zip(inner, operands)
    )


def mapped_words(
    reducer: Reducer, compute: np.dtype[Any], outs: tuple[DType, ...], kind: str, steps: str
) -> dict[str, Any]:
    """Return the words of a reduction of any number of operands, accumulators and results."""
    # The additions of "sum" reductions and of integers may be reordered, so their accumulators are in registers.
    free = reducer.order == "sum" or compute.kind != "f" or reducer.combine is None
    laned = kind == "along" and not free
    stores = [store_text(compute, y, several=True)[0] for y in outs]
    macros = {
        "F": step_macro(reducer.scalar, compute), "COMBINE": step_macro(reducer.combine, compute),
        "FINISH": results_macro(reducer, compute, stores),
    }  # fmt: skip
    words: dict[str, Any] = {name: Macro(macro) for name, macro in macros.items()}
    words |= {f"IDENTITY_{k}": neutral_text(each, compute) for k, each in enumerate(reducer.identities)}
    words |= {"stretch": stretch} if kind == "along" and not laned else {}
    return words | row_views(steps, "x", "count") | {
        "name": f"{reducer.scalar.name}_{{all}}_{kind}{steps}",
        "LANED": laned, "RESULTS": len(outs), "accumulators": reducer.accumulators,
        "fastmath": ("reassoc", "contract") if reducer.order == "sum" else (),
    }  # fmt: skip


TEMPLATES = {"tiny": tiny, "along": along, "across": across}
