"""The distribution of reductions among threads: along or across memory, threads per output, pieces of long reductions.

It depends on shapes and layouts alone, so the order of additions is the same on every device.  The equivalent for
threads of a processor is `backends/cpu/reduction_plans.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

from minigrad.backends.cuda.runtime import THREADS, WARP, WIDEST, Size
from minigrad.core.layout import Layout
from minigrad.core.reducer import Axes, axes, kept_axes, leading

EACH = 4  # maximum number of loads per lane before the group becomes larger
# Blocks for a long reduction with few outputs: about the number that a large device runs at the same time.
BLOCKS = 1024
LEAST = 32  # minimum number of elements per lane in a piece


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """Plan how the outputs of a reduction are distributed to groups of threads (lanes).

    along: whether the lanes of a group read neighbours in memory; if False, neighbouring groups read neighbours.
    width: the number of elements of one load.
    lanes, groups: the number of lanes of a group, and the number of groups of a block.
    pieces: the number of parts into which the elements of each output are divided.
    partial: the number of elements of the workspace for partial results; 0 if the kernel writes the output directly.
    values: the scalar arguments by name, except the number of elements of the whole reduction.
    goals, each: the offset and the strides of every result and of every operand.
    """

    along: bool
    width: int
    lanes: int
    groups: int
    pieces: int
    partial: int
    values: dict[str, Any]
    goals: Sequence[tuple[Any, ...]] = ()
    each: Sequence[tuple[Any, ...]] = ()

    @property
    def block(self) -> Size:
        """The threads of a block."""
        return (self.lanes, self.groups, 1) if self.along else (self.groups, self.lanes, 1)


def power_above(n: int) -> int:
    """Return the smallest power of two that is not less than n."""
    return 1 << max(0, n - 1).bit_length()


def group_of(along: bool, outputs: int, cols: int, rows: int, width: int) -> tuple[int, int]:
    """Return the number of lanes in a group, and of groups in a block."""
    loads = -(-rows // width)
    if along:
        lanes = min(power_above(loads), WARP if loads <= WARP * EACH else THREADS, power_above(-(-loads // EACH)) * 2)
        groups = 1 if lanes > WARP else min(THREADS // lanes, power_above(outputs))
        return lanes, groups
    groups = min(WARP, power_above(cols))
    return min(THREADS // groups, power_above(-(-loads // EACH))), groups


def plan_groups(outs: Sequence[Layout], operands: Sequence[Layout], dims: Sequence[int], itemsize: int) -> Share:
    """Return the distribution of a reduction of operands over `dims`.

    The operands are traversed in the memory order of a large one.
    itemsize: the itemsize of the only operand, or 0 if elements are read one by one.
    """
    order, out = leading(operands), outs[0]
    layouts = [operands[k] for k in order]
    a = layouts[0]
    kept = axes([*layouts, Layout.contiguous(out.shape), *outs], [d for d in range(a.ndim) if d not in dims])
    reduced = axes(layouts, list(dims))
    along, count = lies_along(kept, reduced), prod(a.shape[d] for d in dims)
    cols = 1 if along else innermost(kept)
    n = len(operands)
    rows, row_steps = reduced.take(reduced.pick())
    if not count:
        rows, row_steps, reduced = 0, (0,) * n, Axes((), [()] * n, [0] * n)
    offset = a.offset + kept.shifts[0] + reduced.shifts[0]
    width = WIDEST // itemsize if itemsize and along and row_steps[0] == 1 else 1
    while width > 1 and any(step % width for step in (offset, *kept.strides[0], *reduced.strides[0])):
        width //= 2
    lanes, groups = group_of(along, out.numel, cols, rows, width)
    wanted = min(BLOCKS // -(-out.numel // groups), count // (lanes * LEAST))
    block = rows if wanted < 2 else min(rows, -(-count // (wanted * WIDEST)) * WIDEST)
    blocks = max(1, -(-rows // max(1, block)))
    units = prod(reduced.dims) * blocks
    piece = units if wanted < 2 else -(-units // wanted)
    parts = max(1, -(-units // max(1, piece)))
    values = {
        "outputs": out.numel, "units": units, "piece": piece, "rows": rows, "block": block, "blocks": blocks,
        "copy": out.numel, "sizes": kept.dims, "reduced_sizes": reduced.dims,
    }  # fmt: skip
    # The results of pieces are dense copies of the output, one after the other.
    starts = [(y.offset, k) for k, y in enumerate(outs, n + 1)] if parts == 1 else [(0, n)]
    goals = [(start + kept.shifts[k], 0, kept.strides[k], (0,) * len(reduced.dims)) for start, k in starts]
    each = [
        (operands[k].offset + kept.shifts[i] + reduced.shifts[i], row_steps[i], kept.strides[i], reduced.strides[i])
        for i, k in sorted(enumerate(order), key=lambda pair: pair[1])
    ]
    return Share(along, width, lanes, groups, parts, parts * out.numel if parts > 1 else 0, values, goals, each)


def plan_search(out: Layout, a: Layout, dim: int) -> tuple[Share, Share | None]:
    """Return the distribution of a search along `dim`: one launch, or two.

    The second launch chooses among the positions that the pieces of the first have found.
    """
    kept, rows = kept_axes(out, a, [dim]), a.shape[dim]
    along = lies_along(kept, axes([a], [dim], flip=False))
    cols = 1 if along else innermost(kept)
    lanes, groups = group_of(along, out.numel, cols, rows, 1)
    wanted = min(BLOCKS // -(-out.numel // groups), rows // (lanes * LEAST))
    piece = rows if wanted < 2 else -(-rows // wanted)
    parts = -(-rows // piece)
    values = {
        "outputs": out.numel, "row_step": a.strides[dim], "offset": a.offset + kept.shifts[0],
        "found": kept.shifts[1], "copy": out.numel, "sizes": kept.dims, "steps": kept.strides[0],
        "found_steps": kept.strides[1],
    }  # fmt: skip
    last = {"to": out.offset + kept.shifts[2], "to_steps": kept.strides[2]}
    if parts == 1:
        return Share(along, 1, lanes, groups, 1, 0, {**values, **last, "rows": rows, "piece": rows}), None
    first = {**values, "to": kept.shifts[1], "to_steps": kept.strides[1], "rows": rows, "piece": piece}
    then = {**values, **last, "rows": parts, "piece": parts}
    chosen = Share(along, 1, *group_of(along, out.numel, cols, parts, 1), 1, 0, then)
    return Share(along, 1, lanes, groups, parts, parts * out.numel, first), chosen


def lies_along(kept: Axes, reduced: Axes) -> bool:
    """Return whether neighbours in memory belong to one output."""
    shortest = [min((abs(s) for s in each.strides[0] if s), default=inf) for each in (reduced, kept)]
    return not kept.dims or shortest[0] < shortest[1]


def innermost(kept: Axes) -> int:
    """Move the kept dim with the shortest stride, along which outputs are neighbours, to the end; return its size."""
    cols, steps = kept.take(kept.pick())
    kept.dims = (*kept.dims, cols)
    kept.strides = [(*each, step) for each, step in zip(kept.strides, steps, strict=True)]
    return cols
