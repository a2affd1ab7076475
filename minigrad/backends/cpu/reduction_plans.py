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
from minigrad.backends.steps import Ints
from minigrad.core.layout import Layout
from minigrad.core.plan import pieces
from minigrad.core.reducer import Axes, axes, goes_along, kept_axes

TINY = 512  # maximum number of elements for a loop over a list of positions, which compiles quickly
LANES = 256  # number of independent accumulators in a "run": they hide the latency of an addition
COLUMNS = 1024  # outputs per row of accumulators; together with the row that is read they fit the first-level cache
PIECE = 32768  # elements per piece of a long reduction
# Minimum number of rows per piece: writing, reading and adding its partial results costs as much as three rows.
ROWS = 128
FEW = 16  # with fewer groups of outputs than this, a long reduction is cut into pieces, so that all threads have work


@dataclass(frozen=True, slots=True, eq=False)
class ReductionPlan:
    """Plan one launch of a reduction.

    kind: "tiny" for few elements, "run", "along", "across", or "rows", which is "along" with one dense run of elements
    per output.
    steps: the innermost stride of each operand, as `step_words` returns it, for several operands; for one operand "1"
    if this is the stride, otherwise "".
    tasks: the number of tasks that threads can share.
    work: the number of elements of the workspace for partial results; 0 if the kernel writes the output directly.
    values: the scalar arguments by name, except the number of elements of the whole reduction.
    each: the groups of scalar arguments, of each result and operand.
    cols: the number of adjacent outputs that a "run" computes; 1 for other kinds.
    """

    kind: str
    steps: str
    numel: int
    tasks: int
    work: int
    values: dict[str, Any]
    each: Sequence[Any] = ()
    cols: int = 1

    @property
    def label(self) -> str:
        """The kind, and the steps, which are pasted into the kernel: "along1" or "along"."""
        return self.kind + self.steps


def plan_reduction(out: Layout, a: Layout, dims: Sequence[int]) -> list[ReductionPlan]:
    """Return the stages of a reduction of `a` over `dims` into `out`, which has size 1 there."""
    if a.numel <= TINY and out.numel <= TINY:
        at, far = starts_of(a, dims)
        return [ReductionPlan("tiny", "", a.numel, 1, 0, {"to": list(out.offsets()), "at": at, "far": far})]
    kept, reduced = kept_axes(out, a, dims), axes([a], list(dims))
    count = prod(a.shape[d] for d in dims)
    plan = plan_run(kept, reduced, out, a, count) or plan_walk(kept, reduced, out, a, count)
    if not plan.work:
        return [plan]
    # The workspace stores the results of all pieces, one copy of the output after the other.
    work = Layout.contiguous((plan.work // out.numel, *out.shape))
    return [plan, *plan_reduction(out.unsqueeze(0), work, [0])]


def plan_search(out: Layout, a: Layout, dim: int) -> tuple[ReductionPlan, dict[str, Any]]:
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
    return plan, {"pieces": plan.work // out.numel, **choice}


def starts_of(a: Layout, dims: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the position of the first element of each output, and the distances of all elements from the first."""
    kept = [d for d in range(a.ndim) if d not in dims]
    first = Layout.make(tuple(a.shape[d] for d in kept), tuple(a.strides[d] for d in kept), a.offset)
    elements = Layout.make(tuple(a.shape[d] for d in dims), tuple(a.strides[d] for d in dims))
    return list(first.offsets()), list(elements.offsets())


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
    return ReductionPlan("run", "1", n, parts, 0, values, cols=cols)


def plan_walk(kept: Axes, reduced: Axes, out: Layout, a: Layout, count: int, by_row: bool = True) -> ReductionPlan:
    """Return the plan for "along" or "across", or for "rows" if the caller has such a loop.

    The innermost dims are removed from `kept` and `reduced`.
    """
    along = goes_along(kept, reduced)
    values, tasks, steps, (row_step,), reduced = divide(kept, reduced, count, along)
    parts = values["pieces"]
    offset = a.offset + kept.shifts[0] + reduced.shifts[0]
    to, out_offset = (2, out.offset + kept.shifts[2]) if parts == 1 else (1, kept.shifts[1])
    values |= {
        "row_step": row_step, "col_step": steps[0], "to_step": steps[to], "offset": offset, "to": out_offset,
        "copy": out.numel, "one": 1, "steps": kept.strides[0], "to_steps": kept.strides[to],
        "reduced_steps": reduced.strides[0],
    }  # fmt: skip
    inner = row_step if along else steps[0]
    dense = by_row and inner == 1 and values["units"] == 1 and values["rows"] > 0
    kind = "across" if not along else "rows" if dense else "along"
    work = parts * out.numel if parts > 1 else 0
    return ReductionPlan(kind, "1" if inner == 1 else "", a.numel, tasks, work, values)


def divide(
    kept: Axes, reduced: Axes, count: int, along: bool, ordered: bool = False
) -> tuple[dict[str, Any], int, Ints, Ints, Axes]:
    """Divide the elements of a reduction into groups, units, pieces and tasks.

    Return the scalar arguments that describe these, the number of tasks, the innermost strides of the outputs and of
    the reduced elements, and the reduced dims.  The innermost dims are removed from `kept` and `reduced`.

    ordered: the elements are combined one after the other, in row-major order.
    """
    cols, col_steps = (1, (1,) * len(kept.strides)) if along else kept.take(kept.pick())
    rows, row_steps = reduced.take(-1 if ordered else reduced.pick())
    if not count:
        n = len(reduced.strides)
        rows, row_steps, reduced = 0, (0,) * n, Axes((), [()] * n, [0] * n)
    col_block, col_blocks = pieces(cols, COLUMNS)
    groups, size = prod(kept.dims) * col_blocks, count * col_block
    part = PIECE if along else max(PIECE, ROWS * col_block)
    cut = groups < FEW and size >= 2 * part and not ordered
    block, blocks = pieces(rows, max(1, part // col_block) if cut else rows)
    units = prod(reduced.dims) * blocks
    piece, parts = pieces(units, max(1, part // (block * col_block)) if cut else units)
    chunk, chunks = pieces(groups, max(1, CHUNK // max(1, size // parts)))
    values = {
        "groups": groups, "chunk": chunk, "units": units, "piece": piece, "pieces": parts, "rows": rows,
        "block": block, "blocks": blocks, "cols": cols, "col_block": col_block, "col_blocks": col_blocks,
        "sizes": kept.dims, "reduced_sizes": reduced.dims,
    }  # fmt: skip
    return values, chunks * parts, col_steps, row_steps, reduced
