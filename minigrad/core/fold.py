"""How a fold walks its operand: kept dims and folded dims, each merged, and the numbers that a kernel reads.

A plan is a pure function of layouts.  The innermost walk is a contiguous stretch that belongs to `cols` outputs in
turn, so a row of accumulators serves a sum over the last dim (one output, many lanes) and over the first (one lane
an output) alike.  Long folds with few outputs are cut into pieces here, from shapes alone; their partial results are
folded by a second stage.  `core/plan.py` is the same for elementwise loops, `kernels/cpu/reduction.py` reads `numbers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from minigrad.core.layout import Layout
from minigrad.core.plan import CHUNK, pieces
from minigrad.core.strides import merge_dims

LANES = 256  # accumulators side by side: they stay in the first-level cache and hide the latency of an addition
COLUMNS = 512  # outputs that one row of accumulators serves where the kept dim is long
PIECE = 32768  # elements a piece of a long fold
SHORT = 16  # below this many elements a stretch is not worth a row of accumulators
FEW = 16  # with fewer groups of outputs than this a long fold is cut, so that many threads find work

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FoldPlan:
    """One launch of a fold.

    kind: "run" (all of the operand is one stretch), "blocks" (many, of step 1) or "stepped" (many, of any step).
    numel: elements that are read.  partial: elements of the workspace that is written, 0 if it is the output itself.
    """

    kind: str
    numel: int
    partial: int
    numbers: NDArray[np.int64]


@dataclass(slots=True)
class Axes:
    """Merged dims with the strides of each layout, the longest stride of the first layout outermost."""

    dims: Ints
    strides: list[Ints]
    shifts: list[int]

    def drop(self, d: int) -> None:
        self.dims = self.dims[:d] + self.dims[d + 1 :]
        self.strides = [s[:d] + s[d + 1 :] for s in self.strides]


def axes(layouts: Sequence[Layout], dims: Sequence[int], flip: bool = True) -> Axes:
    """Some dims of layouts of one shape, merged; walked upward in the first layout if `flip` allows it."""
    sizes = [layouts[0].shape[d] for d in dims]
    shifts = [0] * len(layouts)
    strides = [[layout.strides[d] for d in dims] for layout in layouts]
    for d, size in enumerate(sizes):
        if flip and strides[0][d] < 0:
            for k, s in enumerate(strides):
                shifts[k] += s[d] * (size - 1)
                s[d] = -s[d]
    # A dim of stride 0 reads the same element again, so it belongs outside of those that advance.
    order = sorted(range(len(sizes)), key=lambda d: -(abs(strides[0][d]) or inf))
    merged, steps = merge_dims(tuple(sizes[d] for d in order), [tuple(s[d] for d in order) for s in strides])
    return Axes(merged, list(steps), shifts)


def prefer_first(a: Axes, b: Axes) -> bool:
    """Whether the innermost walk should be a's last dim rather than b's, the operand being layout 0 of both."""
    if not a.dims or not b.dims:
        return bool(a.dims)
    first = (abs(a.strides[0][-1]) or inf) <= (abs(b.strides[0][-1]) or inf)
    near, far = (a, b) if first else (b, a)
    return first if near.dims[-1] >= min(SHORT, far.dims[-1]) else not first


@dataclass(slots=True)
class Inner:
    """The innermost walk: `times` rows of `cols` neighbours, `step` apart in the operand; `out_step` in the output."""

    cols: int
    times: int
    step: int
    out_step: int


def take_inner(kept: Axes, folded: Axes) -> Inner:
    """Take the innermost walk out of the dims."""
    if prefer_first(folded, kept):
        inner = Inner(1, folded.dims[-1], folded.strides[0][-1], 1)
        folded.drop(len(folded.dims) - 1)
        return inner
    if not kept.dims:
        return Inner(1, 1, 1, 1)
    inner = Inner(kept.dims[-1], 1, kept.strides[0][-1], kept.strides[1][-1])
    kept.drop(len(kept.dims) - 1)
    if inner.cols <= LANES and inner.cols * inner.step in folded.strides[0]:
        d = folded.strides[0].index(inner.cols * inner.step)
        inner.times = folded.dims[d]
        folded.drop(d)
    return inner


def plan_fold(out: Layout, a: Layout, dims: Sequence[int]) -> list[FoldPlan]:
    """The stages of a fold of `a` over `dims` into `out`, which has length 1 there."""
    plan = plan_stage(out, a, dims)
    if not plan.partial:
        return [plan]
    # The workspace holds the results of all pieces, one copy of the output after the other.
    work = Layout.contiguous((plan.partial // out.numel, *out.shape))
    plan = plan_stage(work.select(0, 0), a, dims)
    return [plan, *plan_fold(out.unsqueeze(0), work, [0])]


def plan_stage(out: Layout, a: Layout, dims: Sequence[int]) -> FoldPlan:
    """One launch; cut into pieces if the fold is long and the outputs are few."""
    kept = axes([a, out], [d for d in range(a.ndim) if d not in dims])
    folded = axes([a], list(dims))
    offset, out_offset = a.offset + kept.shifts[0] + folded.shifts[0], out.offset + kept.shifts[1]
    count = prod(a.shape[d] for d in dims)
    if count == 0:
        folded = Axes((0,), [(0,)], [0])
    if count == 0 and kept.dims:
        inner = Inner(kept.dims[-1], 1, kept.strides[0][-1], kept.strides[1][-1])
        kept.drop(len(kept.dims) - 1)
    else:
        inner = take_inner(kept, folded)
    if inner.step == 1 and not kept.dims and not folded.dims and inner.cols <= LANES:
        return plan_run(inner, offset, out_offset, count)
    cols, col_blocks = (inner.cols, 1) if inner.times > 1 else pieces(inner.cols, COLUMNS)
    width = cols * max(1, min(LANES // cols, inner.times))
    block, blocks = pieces(inner.times * cols, CHUNK // width * width)
    block = -(-block // width) * width
    units, groups = prod(folded.dims) * blocks, prod(kept.dims) * col_blocks
    cut = groups < FEW and units * block >= 2 * PIECE
    piece, parts = pieces(units, max(1, PIECE // block) if cut else units)
    chunk, chunks = pieces(groups, max(1, CHUNK // max(1, piece * block)))
    numbers = [
        len(kept.dims), len(folded.dims), cols, inner.cols, col_blocks, width, inner.times, block, blocks, units,
        piece, parts, groups, chunk, chunks, offset, inner.step, out_offset, inner.out_step, out.numel, count,
    ]  # fmt: skip
    numbers += [*kept.dims, *kept.strides[0], *kept.strides[1], *folded.dims, *folded.strides[0]]
    kind = "blocks" if inner.step == 1 else "stepped"
    return FoldPlan(kind, a.numel, parts * out.numel if parts > 1 else 0, np.array(numbers, np.int64))


def plan_run(inner: Inner, offset: int, out_offset: int, count: int) -> FoldPlan:
    """The whole operand is one stretch.  Its pieces are combined in the same launch."""
    n = inner.cols * inner.times if count else 0
    width = inner.cols * max(1, min(LANES // inner.cols, inner.times))
    piece, parts = pieces(-(-n // width), PIECE // width)
    numbers = [n, inner.cols, width, piece * width, parts, offset, out_offset, inner.out_step, count]
    return FoldPlan("run", n, 0, np.array(numbers, np.int64))
