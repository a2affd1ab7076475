"""The plans of reductions: the loop that traverses an operand, its pieces, and a kernel's scalar arguments by name.

The operand is read in the order of its memory if this saves time. "run" is one contiguous run, "along" reduces runs to
one output each, "across" adds rows to a row of outputs, and "tiny" lists every position.  Other long reductions with
few outputs are cut into pieces, which follow from layouts alone, and a second stage combines the partial results.
`mapped.py` is the equivalent for several operands, `loops.py` for elementwise kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from minigrad.backends.cpu.loops import CHUNK
from minigrad.core.layout import Layout
from minigrad.core.plan import pieces
from minigrad.core.reducer import Axes, axes, goes_along, kept_axes
from minigrad.kernels.cpu import positions, reduction
from minigrad.kernels.fields import Fields

TINY = 512  # maximum number of elements for a loop over a list of positions, which compiles quickly
LANES = 256  # number of independent accumulators in a "run": they hide the latency of an addition
COLUMNS = 1024  # outputs per row of accumulators; together with the row that is read they fit the first-level cache
PIECE = 32768  # elements per piece of a long reduction
# Minimum number of rows per piece: writing, reading and adding its partial results costs as much as three rows.
ROWS = 128
FEW = 16  # with fewer groups of outputs than this, a long reduction is cut into pieces, so that all threads have work

FIELDS: dict[str, Fields] = {
    "tiny": reduction.TINY, "run": reduction.RUN, "choose": positions.CHOOSE,
    "along": reduction.WALK, "rows": reduction.WALK, "across": reduction.WALK,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class ReductionPlan:
    """Plan one launch of a reduction.

    kind: "tiny", "run", "along", "across", or "rows", which is "along" with one dense run of elements per output.
    unit_step: whether the innermost stride is 1, in which case it is a constant of the kernel.
    tasks: the number of tasks that threads can share.
    partial: the number of elements of the workspace for partial results; 0 if the kernel writes the output directly.
    values: the scalar arguments by name, except the number of elements of the whole reduction.
    cols: the number of adjacent outputs that a "run" computes; 1 for other kinds.
    """

    kind: str
    unit_step: bool
    numel: int
    tasks: int
    partial: int
    values: dict[str, Any]
    cols: int = 1

    @property
    def label(self) -> str:
        """The kind, and the step if it is pasted into the kernel: "along1" or "along"."""
        return self.kind + ("1" if self.unit_step else "")

    def numbers(self, count: int) -> list[int]:
        """Return the scalar arguments in the order of the kernel.

        count: number of elements of the whole reduction, by which a mean divides.
        """
        return FIELDS[self.kind].pack(count=count, **self.values)


def plan_reduction(out: Layout, a: Layout, dims: Sequence[int]) -> list[ReductionPlan]:
    """Return the stages of a reduction of `a` over `dims` into `out`, which has size 1 there."""
    if a.numel <= TINY and out.numel <= TINY:
        return [plan_tiny(out, a, dims)]
    kept, reduced = kept_axes(out, a, dims), axes([a], list(dims))
    count = prod(a.shape[d] for d in dims)
    plan = plan_run(kept, reduced, out, a, count) or plan_walk(kept, reduced, out, a, count)
    if not plan.partial:
        return [plan]
    # The workspace stores the results of all pieces, one copy of the output after the other.
    work = Layout.contiguous((plan.partial // out.numel, *out.shape))
    return [plan, *plan_reduction(out.unsqueeze(0), work, [0])]


def plan_search(out: Layout, a: Layout, dim: int) -> tuple[ReductionPlan, list[int]]:
    """Return one launch that visits the elements along `dim` in index order, and the arguments of the choice.

    The choice is made among the pieces of the launch.
    """
    kept, reduced = kept_axes(out, a, [dim]), axes([a], [dim], flip=False)
    choice = {
        "outputs": out.numel, "step": a.strides[dim], "offset": a.offset + kept.shifts[0],
        "piece": kept.shifts[1], "to": out.offset + kept.shifts[2], "sizes": kept.dims, "steps": kept.strides[0],
        "piece_steps": kept.strides[1], "to_steps": kept.strides[2],
    }  # fmt: skip
    plan = plan_walk(kept, reduced, out, a, a.shape[dim], by_row=False)
    return plan, positions.CHOOSE.pack(pieces=plan.partial // out.numel, **choice)


def plan_tiny(out: Layout, a: Layout, dims: Sequence[int]) -> ReductionPlan:
    """Return the plan that lists the positions of all outputs and elements."""
    kept = [d for d in range(a.ndim) if d not in dims]
    first = Layout.make(tuple(a.shape[d] for d in kept), tuple(a.strides[d] for d in kept), a.offset)
    reducer = Layout.make(tuple(a.shape[d] for d in dims), tuple(a.strides[d] for d in dims))
    values = {
        "to": list(out.offsets()), "at": list(first.offsets()), "far": list(reducer.offsets()),
    }  # fmt: skip
    return ReductionPlan("tiny", False, a.numel, 1, 0, values)


def plan_run(kept: Axes, reduced: Axes, out: Layout, a: Layout, count: int) -> ReductionPlan | None:
    """Return the plan if the operand is one run of rows of few outputs, otherwise None.

    Its pieces are combined in the same launch.
    """
    if len(kept.dims) > 1 or len(reduced.dims) > 1:
        return None
    cols, step, out_step = (kept.dims[0], kept.strides[0][0], kept.strides[2][0]) if kept.dims else (1, 1, 1)
    if step != 1 or cols > LANES or (reduced.dims and reduced.strides[0][0] != cols):
        return None
    n = cols * count
    width = cols * max(1, min(LANES // cols, count))
    piece, parts = pieces(-(-n // width), PIECE // width)
    offset, out_offset = a.offset + kept.shifts[0] + reduced.shifts[0], out.offset + kept.shifts[2]
    values = {
        "n": n, "cols": cols, "width": width, "piece": piece * width, "pieces": parts, "offset": offset,
        "to": out_offset, "step": out_step, "one": 1,
    }  # fmt: skip
    return ReductionPlan("run", True, n, parts, 0, values, cols)


def plan_walk(kept: Axes, reduced: Axes, out: Layout, a: Layout, count: int, by_row: bool = True) -> ReductionPlan:
    """Return the plan for "along" or "across", or for "rows" if the caller has such a loop.

    The innermost dims are removed from `kept` and `reduced`.
    """
    along = goes_along(kept, reduced)
    cols, steps = (1, (1, 1, 1)) if along else kept.take(kept.pick())
    rows, (row_step,) = reduced.take(reduced.pick())
    if not count:
        rows, row_step, reduced = 0, 0, Axes((), [()], [0])
    col_block, col_blocks = pieces(cols, COLUMNS)
    groups, reducer = prod(kept.dims) * col_blocks, count * col_block
    part = PIECE if along else max(PIECE, ROWS * col_block)
    cut = groups < FEW and reducer >= 2 * part
    block, blocks = pieces(rows, max(1, part // col_block) if cut else rows)
    units = prod(reduced.dims) * blocks
    piece, parts = pieces(units, max(1, part // (block * col_block)) if cut else units)
    chunk, chunks = pieces(groups, max(1, CHUNK // max(1, reducer // parts)))
    offset = a.offset + kept.shifts[0] + reduced.shifts[0]
    to, out_offset = (2, out.offset + kept.shifts[2]) if parts == 1 else (1, kept.shifts[1])
    values = {
        "groups": groups, "chunk": chunk, "units": units, "piece": piece, "pieces": parts, "rows": rows,
        "block": block, "blocks": blocks,
        "row_step": row_step, "cols": cols, "col_block": col_block, "col_blocks": col_blocks, "col_step": steps[0],
        "to_step": steps[to], "offset": offset, "to": out_offset, "copy": out.numel, "one": 1,
        "sizes": kept.dims, "steps": kept.strides[0], "to_steps": kept.strides[to], "reduced_sizes": reduced.dims,
        "reduced_steps": reduced.strides[0],
    }  # fmt: skip
    inner = row_step if along else steps[0]
    partial = parts * out.numel if parts > 1 else 0
    kind = "across" if not along else "rows" if by_row and inner == 1 and units == 1 and rows > 0 else "along"
    return ReductionPlan(kind, inner == 1, a.numel, chunks * parts, partial, values)
