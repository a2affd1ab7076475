"""Reductions of any number of operands, accumulators and results: `map` of the elements, combined in one loop.

Free names, filled in by `specialize`: `F` is one step; its arguments are the accumulators and an element of each
operand, and it stores the new accumulators at the positions after these.  `COMBINE` joins two sets of accumulators in
the same form.  `FINISH` stores the RESULTS of the accumulators and a count.  `IDENTITY_S` is the first value of an
accumulator, and `LOAD_K` converts an element of operand K.  `AT_K` is such an element: in the slice `RUN_K` if the
innermost step, which is pasted, is 0 or 1, otherwise found with the step.  A sum is computed by `G`, which is
`stretch`: the compiler may re-order its additions, so it vectorises in registers.  Other reductions (LANED) have a row
of accumulators.

A task is a piece of the elements for a chunk of groups.  If there are several pieces, `work_S` stores their
accumulators, and the kernel is called once more at the end, with first == last, to combine them.  The order depends
only on shapes.  Reductions in sequence use the row-major order, in one piece.
"""

# ruff: noqa: F821, F841

from minigrad.kernels.fields import Fields

TINY = Fields("outputs elements places count", "to[places]", "at[outputs] far[elements]", results=False)
# A group is one output or a row of up to `cols` outputs, a unit is some rows of its elements: see `reduction.WALK`.
# The row_step and the reduced_steps of results are 0.
WALK = Fields(
    "kept reduced groups chunk units piece pieces rows block blocks cols col_block col_blocks count",
    "sizes[kept] reduced_sizes[reduced]",
    "offset row_step col_step steps[kept] reduced_steps[reduced]",
)


def tiny(in_K, work_S, out_R, N):  # type: ignore[no-untyped-def]
    """Reduce few elements, one after the other, in one task.

    to: the position of each output, result after result.  at: the first element of each output.  far: the distance of
    each element from the first one.
    """
    outputs = N.outputs
    elements = N.elements
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


def along(in_K, work_S, out_R, N):  # type: ignore[no-untyped-def]
    """Reduce along memory.

    A group is one output; a unit is one block of one stretch that the output reduces.
    """
    rows = N.rows
    block = N.block
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
                    totals = G(in_K, at_K, step_K, length, total_S)
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
