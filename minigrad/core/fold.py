"""What a fold may assume, and how it walks its operand: kept dims and folded dims, each merged, and the numbers that
a kernel reads.

A plan is a pure function of layouts.  The operand is read in the order of its memory where that pays: "run" is one
stretch, "along" folds stretches to one output each, "across" adds rows onto a row of outputs; "tiny" lists every
place, and "ordered" is for folds whose elements come one after the other.  Other long folds with few outputs are cut
into pieces here, from shapes alone, and a second stage combines the partial results.  `core/plan.py` is the same for
elementwise loops, `kernels/cpu/reduction.py` reads `numbers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn
from minigrad.core.plan import pieces
from minigrad.core.strides import merge_dims

CHUNK = 8192  # elements a task
TINY = 512  # up to so many elements a list of places is walked, whose loop compiles in no time
LANES = 256  # accumulators side by side in a "run": they hide the latency of an addition
COLUMNS = 512  # outputs that one row of accumulators serves; with the row read they fit the first-level cache
PIECE = 32768  # elements a piece of a long fold
SHORT = 16  # dims shorter than this are not worth being the innermost loop
FEW = 16  # with fewer groups of outputs than this a long fold is cut, so that many threads find work

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """What a fold computes and what a loop may assume of it; declarations make it with `ops.folds.declared`.

    scalar: the accumulator after one more element, from (acc, x).
    identity: the first accumulator, "zero", "one", "lowest" or "highest".
    order: "sum": the elements may come in any order, and floats be re-associated; "extreme": the largest or smallest,
        and nan where there is one; "any": the elements may come in any order; "sequential": one after the other,
        row-major.
    combine: joins two partial results, each of which began at the identity; None where there may be one only.
    mean: the result is divided by the number of elements before it is stored.
    """

    scalar: ScalarFn
    identity: str
    order: str
    combine: ScalarFn | None
    mean: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class FoldPlan:
    """One launch of a fold.

    kind: "tiny", "run", "along", "across", "ordered", or "rows": an "along" of one dense stretch an output.
    unit_step: the innermost step is 1, so it is pasted into the kernel.
    partial: elements of the workspace that is written, 0 if it is the output itself.
    cols: outputs side by side that a "run" serves; else 1.
    """

    kind: str
    unit_step: bool
    numel: int
    partial: int
    numbers: NDArray[np.int64]
    cols: int = 1

    @property
    def label(self) -> str:
        """ "along1" or "along": the kind, and the step where it is pasted into the kernel."""
        return self.kind + ("1" if self.unit_step else "")


@dataclass(slots=True)
class Axes:
    """Merged dims with the strides of each layout, the longest stride of the first layout outermost."""

    dims: Ints
    strides: list[Ints]
    shifts: list[int]

    def pick(self) -> int:
        """The dim for the innermost loop: the shortest step among those long enough, else the longest dim."""
        for d in range(len(self.dims) - 1, -1, -1):
            if self.dims[d] >= SHORT and self.strides[0][d]:
                return d
        return max(range(len(self.dims)), key=lambda d: self.dims[d], default=-1)

    def take(self, d: int) -> tuple[int, Ints]:
        """Remove a dim: its size and its stride in each layout.  Dim -1 of no dims has size 1."""
        if not self.dims:
            return 1, (1,) * len(self.strides)
        size, steps = self.dims[d], tuple(s[d] for s in self.strides)
        rest = [k for k in range(len(self.dims)) if k != d % len(self.dims)]
        self.dims = tuple(self.dims[k] for k in rest)
        self.strides = [tuple(s[k] for k in rest) for s in self.strides]
        return size, steps


def axes(layouts: Sequence[Layout], dims: Sequence[int], flip: bool = True, sort: bool = True) -> Axes:
    """Some dims of layouts of one shape, merged; walked upward in the first layout if `flip` allows it, in the order of
    its memory if `sort` does."""
    sizes = [layouts[0].shape[d] for d in dims]
    shifts = [0] * len(layouts)
    strides = [[layout.strides[d] for d in dims] for layout in layouts]
    for d, size in enumerate(sizes):
        if flip and strides[0][d] < 0:
            for k, s in enumerate(strides):
                shifts[k] += s[d] * (size - 1)
                s[d] = -s[d]
    # A dim of stride 0 reads the same element again, so it belongs outside of those that advance.
    order = sorted(range(len(sizes)), key=lambda d: -(abs(strides[0][d]) or inf) if sort else d)
    merged, steps = merge_dims(tuple(sizes[d] for d in order), [tuple(s[d] for d in order) for s in strides])
    return Axes(merged, list(steps), shifts)


def goes_along(kept: Axes, folded: Axes) -> bool:
    """Whether the innermost loop runs over a folded dim: one output at a time."""
    if not kept.dims or not folded.dims:
        return not kept.dims
    k, f = kept.pick(), folded.pick()
    ranks = [(axis.dims[d] < SHORT, abs(axis.strides[0][d]) or inf) for axis, d in ((folded, f), (kept, k))]
    if ranks[0][0] and ranks[1][0]:
        return folded.dims[f] >= kept.dims[k]
    return ranks[0] <= ranks[1]


def plan_fold(out: Layout, a: Layout, dims: Sequence[int], ordered: bool = False) -> list[FoldPlan]:
    """The stages of a fold of `a` over `dims` into `out`, which has length 1 there; ordered: one element after the
    other."""
    if a.numel <= TINY and out.numel <= TINY:
        return [plan_tiny(out, a, dims)]
    if ordered:
        return [plan_ordered(out, a, dims)]
    kept, folded = kept_axes(out, a, dims), axes([a], list(dims))
    count = prod(a.shape[d] for d in dims)
    plan = plan_run(kept, folded, out, a, count) or plan_walk(kept, folded, out, a, count)
    if not plan.partial:
        return [plan]
    # The workspace holds the results of all pieces, one copy of the output after the other.
    work = Layout.contiguous((plan.partial // out.numel, *out.shape))
    return [plan, *plan_fold(out.unsqueeze(0), work, [0])]


def kept_axes(out: Layout, a: Layout, dims: Sequence[int]) -> Axes:
    """The kept dims of the operand, of one copy of the output in a workspace, and of the output."""
    return axes([a, Layout.contiguous(out.shape), out], [d for d in range(a.ndim) if d not in dims])


def plan_argfold(out: Layout, a: Layout, dim: int) -> tuple[FoldPlan, NDArray[np.int64]]:
    """One launch that visits the elements along `dim` in the order of their index, and the numbers of the choice
    among its pieces."""
    kept, folded = kept_axes(out, a, [dim]), axes([a], [dim], flip=False)
    offset, out_offset = a.offset + kept.shifts[0], out.offset + kept.shifts[2]
    numbers = [len(kept.dims), out.numel, 1, a.strides[dim], offset, kept.shifts[1], out_offset, *kept.dims]
    for strides in kept.strides:
        numbers += strides
    plan = plan_walk(kept, folded, out, a, a.shape[dim], by_row=False)
    numbers[2] = plan.partial // out.numel
    return plan, np.array(numbers, np.int64)


def plan_tiny(out: Layout, a: Layout, dims: Sequence[int]) -> FoldPlan:
    """The places of all outputs and elements, one by one."""
    kept = [d for d in range(a.ndim) if d not in dims]
    first = Layout.make(tuple(a.shape[d] for d in kept), tuple(a.strides[d] for d in kept), a.offset)
    fold = Layout.make(tuple(a.shape[d] for d in dims), tuple(a.strides[d] for d in dims))
    numbers = [out.numel, fold.numel, fold.numel, *out.offsets(), *first.offsets(), *fold.offsets()]
    return FoldPlan("tiny", False, a.numel, 0, np.array(numbers, np.int64))


def plan_ordered(out: Layout, a: Layout, dims: Sequence[int]) -> FoldPlan:
    """The plan that visits the elements of each output in row-major order and cuts nothing but the outputs."""
    kept, folded = kept_axes(out, a, dims), axes([a], list(dims), flip=False, sort=False)
    count = prod(a.shape[d] for d in dims)
    units = prod(folded.dims[:-1]) if count else 0
    rows, (step,) = folded.take(-1)
    chunk, chunks = pieces(out.numel, max(1, CHUNK // max(1, count)))
    numbers = [
        len(kept.dims), len(folded.dims), out.numel, chunk, chunks, units, rows, step,
        a.offset + kept.shifts[0], out.offset + kept.shifts[2], count,
        *kept.dims, *kept.strides[0], *kept.strides[2], *folded.dims, *folded.strides[0],
    ]  # fmt: skip
    return FoldPlan("ordered", False, a.numel, 0, np.array(numbers, np.int64))


def plan_run(kept: Axes, folded: Axes, out: Layout, a: Layout, count: int) -> FoldPlan | None:
    """The plan if the operand is one stretch of rows of few outputs; its pieces are combined in the same launch."""
    if len(kept.dims) > 1 or len(folded.dims) > 1:
        return None
    cols, step, out_step = (kept.dims[0], kept.strides[0][0], kept.strides[2][0]) if kept.dims else (1, 1, 1)
    if step != 1 or cols > LANES or (folded.dims and folded.strides[0][0] != cols):
        return None
    n = cols * count
    width = cols * max(1, min(LANES // cols, count))
    piece, parts = pieces(-(-n // width), PIECE // width)
    offset, out_offset = a.offset + kept.shifts[0] + folded.shifts[0], out.offset + kept.shifts[2]
    numbers = [n, cols, width, piece * width, parts, offset, out_offset, out_step, count, 1]
    return FoldPlan("run", True, n, 0, np.array(numbers, np.int64), cols)


def plan_walk(kept: Axes, folded: Axes, out: Layout, a: Layout, count: int, by_row: bool = True) -> FoldPlan:
    """The plan of "along" and "across", and of "rows" if the caller has such a loop; takes the innermost dims out of
    `kept` and `folded`."""
    along = goes_along(kept, folded)
    cols, steps = (1, (1, 1, 1)) if along else kept.take(kept.pick())
    rows, (row_step,) = folded.take(folded.pick())
    if not count:
        rows, row_step, folded = 0, 0, Axes((), [()], [0])
    col_block, col_blocks = pieces(cols, COLUMNS)
    groups, fold = prod(kept.dims) * col_blocks, count * col_block
    cut = groups < FEW and fold >= 2 * PIECE
    block, blocks = pieces(rows, max(1, PIECE // col_block) if cut else rows)
    units = prod(folded.dims) * blocks
    piece, parts = pieces(units, max(1, PIECE // (block * col_block)) if cut else units)
    chunk, chunks = pieces(groups, max(1, CHUNK // max(1, fold // parts)))
    offset = a.offset + kept.shifts[0] + folded.shifts[0]
    to, out_offset = (2, out.offset + kept.shifts[2]) if parts == 1 else (1, kept.shifts[1])
    numbers = [
        len(kept.dims), len(folded.dims), groups, chunk, chunks, units, piece, parts, rows, block, blocks, row_step,
        cols, col_block, col_blocks, steps[0], steps[to], offset, out_offset, out.numel, count,
        *kept.dims, *kept.strides[0], *kept.strides[to], *folded.dims, *folded.strides[0], 1,
    ]  # fmt: skip
    inner = row_step if along else steps[0]
    partial = parts * out.numel if parts > 1 else 0
    kind = "across" if not along else "rows" if by_row and inner == 1 and units == 1 and rows > 0 else "along"
    return FoldPlan(kind, inner == 1, a.numel, partial, np.array(numbers, np.int64))
