"""Reductions of several operands, accumulators or results on the CPU: the plan, kernel and arguments of a launch.

The loops are in `kernels/cpu/mapped.py`.  As in `reduction_plans.py`, the operands are read in the memory order of one
of them, and long reductions with few outputs are cut into pieces, which follow from layouts alone.  Here the same
kernel combines the pieces at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.cpu.loops import CHUNK, STRIP
from minigrad.backends.cpu.reduction_plans import COLUMNS, FEW, PIECE, ROWS, TINY
from minigrad.backends.cpu.texts import row_views, step_words
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.core.plan import pieces
from minigrad.core.reducer import Axes, Reducer, axes, goes_along, leading
from minigrad.kernels.cpu import mapped
from minigrad.kernels.pasting import call_macro, results_macro, step_macro
from minigrad.kernels.specialize import neutral_text, store_text, write_kernel
from minigrad.kernels.store import load

LANES = 64  # number of independent accumulators if the additions must not be reordered


@dataclass(frozen=True, slots=True, eq=False)
class MappedPlan:
    """Plan one launch of a reduction with any number of operands, accumulators and results.

    kind: "tiny" for few elements, "along" if neighbours in memory are reduced, or "across" if neighbours in memory
    belong to different results.
    steps: the innermost stride of each operand: "0", "1", or "s" for any other stride.
    pieces: the number of parts into which the elements of each output are divided.
    work: the number of elements in the workspace of an accumulator; 0 for one piece.
    numbers: the scalar arguments in the order of the kernel.
    crossed: whether two operands are dense along different dims, so that a plain loop would read a new cache line per
    element of one of them.
    """

    kind: str
    steps: str
    numel: int
    tasks: int
    pieces: int
    work: int
    numbers: list[int]
    crossed: bool = False


def plan_mapped(
    outs: Sequence[Layout], operands: Sequence[Layout], dims: Sequence[int], ordered: bool = False
) -> MappedPlan:
    """Return the plan of a reduction of operands of one shape over `dims` into results that have size 1 there.

    ordered: the elements are combined one after the other, in row-major order.
    """
    a = operands[0]
    if a.numel <= TINY and outs[0].numel <= TINY:
        return plan_tiny(outs, operands, dims)
    order = leading(operands)
    layouts = [operands[k] for k in order]
    kept = axes([*layouts, *outs], [d for d in range(a.ndim) if d not in dims])
    reduced = axes(layouts, list(dims), flip=not ordered, sort=not ordered)
    return plan_walk(kept, reduced, order, outs, operands, prod(a.shape[d] for d in dims), ordered)


def plan_tiny(outs: Sequence[Layout], operands: Sequence[Layout], dims: Sequence[int]) -> MappedPlan:
    """Return the plan that lists the positions of all outputs and elements."""
    a = operands[0]
    kept = [d for d in range(a.ndim) if d not in dims]
    shapes = tuple(a.shape[d] for d in kept), tuple(a.shape[d] for d in dims)
    each = [
        (
            list(Layout.make(shapes[0], tuple(x.strides[d] for d in kept), x.offset).offsets()),
            list(Layout.make(shapes[1], tuple(x.strides[d] for d in dims)).offsets()),
        )
        for x in operands
    ]
    to = [offset for out in outs for offset in out.offsets()]
    numbers = mapped.TINY.pack(*each, count=prod(shapes[1]), outputs=outs[0].numel, to=to)
    return MappedPlan("tiny", "", a.numel, 1, 1, 0, numbers)


def plan_walk(
    kept: Axes, reduced: Axes, order: Sequence[int], outs: Sequence[Layout], operands: Sequence[Layout], count: int,
    ordered: bool,
) -> MappedPlan:  # fmt: skip
    """Return the plan for "along" or "across". order: the operands in the order of the strides; results follow."""
    along = ordered or goes_along(kept, reduced)
    n, results = len(operands), len(outs)
    cols, col_steps = (1, (1,) * (n + results)) if along else kept.take(kept.pick())
    rows, row_steps = reduced.take(-1 if ordered else reduced.pick())
    if not count:
        rows, row_steps, reduced = 0, (0,) * n, Axes((), [()] * n, [0] * n)
    col_block, col_blocks = pieces(cols, COLUMNS)
    groups, size = prod(kept.dims) * col_blocks, count * col_block
    part = PIECE if along else max(PIECE, ROWS * col_block)
    cut = groups < FEW and size >= 2 * part and not ordered
    block, blocks = pieces(rows, max(1, part // col_block) if cut else rows)
    units = prod(reduced.dims) * blocks
    piece, parts = pieces(units, max(1, part // (block * col_block)) if cut else units)
    chunk, chunks = pieces(groups, max(1, CHUNK // max(1, size // parts)))
    nowhere = (0,) * len(reduced.dims)
    goals = [(y.offset + kept.shifts[k], 0, col_steps[k], kept.strides[k], nowhere) for k, y in enumerate(outs, n)]
    each = [
        (
            operands[k].offset + kept.shifts[i] + reduced.shifts[i], row_steps[i], col_steps[i], kept.strides[i],
            reduced.strides[i],
        )
        for i, k in sorted(enumerate(order), key=lambda pair: pair[1])
    ]  # fmt: skip
    numbers = mapped.WALK.pack(
        *goals, *each, groups=groups, chunk=chunk, units=units, piece=piece, pieces=parts, rows=rows, block=block,
        blocks=blocks, cols=cols, col_block=col_block, col_blocks=col_blocks, count=count, kept=len(kept.dims),
        reduced=len(reduced.dims), sizes=kept.dims, reduced_sizes=reduced.dims,
    )  # fmt: skip
    inner = [row if along else col for _, row, col, *_ in each]
    steps = step_words(inner)
    work = parts * groups * col_block if parts > 1 else 0
    crossed = "1" in steps and any(
        step not in (-1, 0, 1) and any(stride == 1 and size >= STRIP for size, stride in zip(x.shape, x.strides))
        for step, x in zip(inner, operands)
    )
    kind = "along" if along else "across"
    return MappedPlan(kind, steps, operands[0].numel, chunks * parts, parts, work, numbers, crossed)


def write_mapped(
    reducer: Reducer, compute: np.dtype[Any], dtypes: tuple[DType, ...], outs: tuple[DType, ...], kind: str, steps: str
) -> Any:
    """Write, compile and import one reduction of any number of operands, accumulators and results."""
    scalar, accumulators = reducer.scalar, reducer.accumulators
    # The additions of "sum" reductions and of integers may be reordered, so their accumulators are in registers.
    free = reducer.order == "sum" or compute.kind != "f" or reducer.combine is None
    laned = kind == "along" and not free
    positions = {"LANED": str(int(laned)), "LANES": str(LANES), "RESULTS": str(len(outs))}
    positions |= {f"IDENTITY_{k}": neutral_text(each, compute) for k, each in enumerate(reducer.identities)}
    positions |= row_views(steps, "x", "count")
    text = write_kernel(
        f"{scalar.name}: {', '.join(map(str, dtypes))} -> {', '.join(map(str, outs))} in {compute}; {kind}{steps}.",
        getattr(mapped, kind),
        operands=dtypes,
        out=outs,
        compute=compute,
        macros={
            "F": step_macro(scalar, compute), "COMBINE": step_macro(reducer.combine, compute),
            "FINISH": results_macro(reducer, compute, [store_text(compute, y, several=True)[0] for y in outs]),
            "G": call_macro("stretch"),
        },
        constants=positions,
        accumulators=accumulators,
        arrays=(*dtypes, *[compute] * accumulators, *outs),
        helpers=[mapped.stretch] if kind == "along" and not laned else [],
        fastmath=("reassoc", "contract") if reducer.order == "sum" else (),
        fields=mapped.TINY if kind == "tiny" else mapped.WALK,
    )  # fmt: skip
    return load("_".join([scalar.name, *(d.short for d in (*dtypes, *outs)), kind + steps]), text)
