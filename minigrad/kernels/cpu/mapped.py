"""Reductions of several operands: what `map` makes of their elements is combined in the same loop.

Free names, filled in by `specialize`: `F` one step (acc, element of each operand), `COMBINE` joins two accumulators,
`IDENTITY`, `FINISH`, `LOAD_K` and `STORE` as in `reduction.py`.  `AT_K` is an element of operand K: in the slice
`RUN_K` if its innermost step, which is pasted, is 0 or 1, and otherwise by its step.  A sum is made by `G`, which is
`stretch`: it may re-associate, so it vectorises in registers; other reductions (LANED) keep a row of accumulators.

A task is a piece of the elements for a chunk of groups.  Where there are several pieces, `work` stores their results,
and the kernel is called once more at the end, with first == last, to combine them.  The order depends on shapes alone.
"""

# ruff: noqa: F821, F841

from minigrad.kernels.fields import Fields

TINY = Fields("outputs elements count", "to[outputs]", "at[outputs] far[elements]", results=False)
# A group is an output or a row of up to `cols` of them, a unit some rows of what it reduces: see `reduction.WALK`.
WALK = Fields(
    "kept reduced groups chunk units piece pieces rows block blocks cols col_block col_blocks to to_step count",
    "sizes[kept] to_steps[kept] reduced_sizes[reduced]",
    "offset row_step col_step steps[kept] reduced_steps[reduced]",
    results=False,
)


def tiny(in_K, work, out, N):  # type: ignore[no-untyped-def]
    """One task, element after element.  to: where each output lies; at: its first elements; far: how far from there
    each element is."""
    outputs = N.outputs
    elements = N.elements
    for o in range(outputs):
        at_K = N.at[K][o]
        acc = IDENTITY
        for i in range(elements):
            acc = T(F(acc, LOAD_K(in_K[at_K + N.far[K][i]])))
        out[N.to[o]] = STORE(FINISH(acc, N.count))


def stretch(in_K, at_K, step_K, count, acc):  # type: ignore[no-untyped-def]
    """A sum of `count` neighbours of every operand, compiled with leave to re-associate."""
    x_K = RUN_K
    for j in range(count):
        acc = T(F(acc, LOAD_K(AT_K)))
    return acc


def along(in_K, work, out, N):  # type: ignore[no-untyped-def]
    """A group is one output, a unit one block of one stretch that it reduces."""
    rows = N.rows
    block = N.block
    step_K = N.row_step[K]
    if LANED:
        acc = workspace(LANES, T)
    for t in range(first, last):
        c = t // N.pieces
        p = t - c * N.pieces
        for g in range(c * N.chunk, min(N.groups, (c + 1) * N.chunk)):
            position = g
            to = N.to
            base_K = N.offset[K]
            walk(position, N.sizes, to=N.to_steps, base_K=N.steps[K])
            total = IDENTITY
            if LANED:
                for j in range(LANES):
                    acc[j] = IDENTITY
            for u in range(p * N.piece, min(N.units, (p + 1) * N.piece)):
                position = u // N.blocks
                start = (u - position * N.blocks) * block
                length = min(block, rows - start)
                at_K = base_K + start * step_K
                walk(position, N.reduced_sizes, at_K=N.reduced_steps[K])
                if LANED:
                    for i in range(0, length, LANES):
                        count = min(LANES, length - i)
                        x_K = RUN_K
                        for j in range(count):
                            acc[j] = T(F(acc[j], LOAD_K(AT_K)))
                        at_K += LANES * step_K
                else:
                    total = T(G(in_K, at_K, step_K, length, total))
            if LANED:
                for j in range(LANES):
                    total = T(COMBINE(total, acc[j]))
            if N.pieces > 1:
                work[p * N.groups + g] = total
            else:
                out[to] = STORE(FINISH(total, N.count))
    if LANED:
        leave(acc)
    if first == last:
        for g in range(N.groups):
            position = g
            to = N.to
            walk(position, N.sizes, to=N.to_steps)
            total = work[g]
            for p in range(1, N.pieces):
                total = T(COMBINE(total, work[p * N.groups + g]))
            out[to] = STORE(FINISH(total, N.count))


def across(in_K, work, out, N):  # type: ignore[no-untyped-def]
    """A group is a row of up to `cols` outputs, a unit some rows of the operands that are added onto it."""
    cols = N.col_block
    step_K = N.col_step[K]
    acc = workspace(cols, T)
    for t in range(first, last):
        c = t // N.pieces
        p = t - c * N.pieces
        for g in range(c * N.chunk, min(N.groups, (c + 1) * N.chunk)):
            position = g // N.col_blocks
            col = (g - position * N.col_blocks) * cols
            count = min(cols, N.cols - col)
            to = N.to + col * N.to_step
            base_K = N.offset[K] + col * step_K
            walk(position, N.sizes, to=N.to_steps, base_K=N.steps[K])
            row = acc[:count]
            for j in range(count):
                row[j] = IDENTITY
            for u in range(p * N.piece, min(N.units, (p + 1) * N.piece)):
                position = u // N.blocks
                start = (u - position * N.blocks) * N.block
                at_K = base_K + start * N.row_step[K]
                walk(position, N.reduced_sizes, at_K=N.reduced_steps[K])
                for _ in range(min(N.block, N.rows - start)):
                    x_K = RUN_K
                    for j in range(count):
                        row[j] = T(F(row[j], LOAD_K(AT_K)))
                    at_K += N.row_step[K]
            for j in range(count):
                if N.pieces > 1:
                    work[(p * N.groups + g) * cols + j] = row[j]
                else:
                    out[to + j * N.to_step] = STORE(FINISH(row[j], N.count))
    leave(acc)
    if first == last:
        for g in range(N.groups):
            position = g // N.col_blocks
            col = (g - position * N.col_blocks) * cols
            to = N.to + col * N.to_step
            walk(position, N.sizes, to=N.to_steps)
            for j in range(min(cols, N.cols - col)):
                total = work[g * cols + j]
                for p in range(1, N.pieces):
                    total = T(COMBINE(total, work[(p * N.groups + g) * cols + j]))
                out[to + j * N.to_step] = STORE(FINISH(total, N.count))
