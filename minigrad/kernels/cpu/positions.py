"""Positions of the first min or max of one operand: along memory, across it, and the choice among pieces.

The loops visit elements in the order of the index, because equal values have the first position.  Their groups, pieces
and tasks are those of `reduction.WALK`, in which a unit is a block of the reduced dim.

Free names, filled in by `specialize`: `F` is true if the second value is better than the first; `LOAD_0` is the
conversion from memory to registers.  `AT_0` is an element, in the slice `RUN_K` if the step is 1.  `KEEP` stores the
value as well, if it is a result.
"""

# ruff: noqa: F821, F841
import numpy as np

from minigrad.kernels.cpu.reduction import WALK
from minigrad.kernels.fields import Fields, loop

CHOOSE = Fields("rank outputs pieces step offset piece to", "sizes[rank] steps[rank] piece_steps[rank] to_steps[rank]")


@loop(WALK)
def along(in_K, values, out, N):  # type: ignore[no-untyped-def]
    """Find the position of the min or max along memory.

    Most elements do not beat the best one so far.  So a vectorised loop first tests whether any element of a block
    does; only then the elements of the block are visited one by one.
    """
    step_K = N.row_step
    size = N.piece * N.block
    for t in range(first, last):
        c = t // N.pieces
        p = t - c * N.pieces
        for g in range(c * N.chunk, min(N.groups, (c + 1) * N.chunk)):
            rest = g
            base = N.offset
            to = N.to + p * N.copy
            walk(rest, N.sizes, base=N.steps, to=N.to_steps)
            start = p * size
            stop = min(N.rows, start + size)
            best = LOAD_0(in_0[base + start * step_0])
            winner = start
            for i in range(start, stop, 64):
                at_K = base + i * step_K
                count = min(64, stop - i)
                x_K = RUN_K
                hits = 0
                for j in range(count):
                    hits += 1 if F(best, LOAD_0(AT_0)) else 0
                if hits > 0:
                    for j in range(count):
                        value = LOAD_0(AT_0)
                        if F(best, value):
                            best = value
                            winner = i + j
            out[to] = winner
            KEEP(to, in_0[base + winner * step_0])


@loop(WALK)
def across(in_K, values, out, N):  # type: ignore[no-untyped-def]
    """Find the positions of the min or max across memory.

    A row of outputs has its best values and their positions side by side.
    """
    cols, step_K = N.col_block, N.col_step
    size = N.piece * N.block
    best = workspace(cols, T)
    winner = workspace(cols, np.int64)
    for t in range(first, last):
        c = t // N.pieces
        p = t - c * N.pieces
        for g in range(c * N.chunk, min(N.groups, (c + 1) * N.chunk)):
            rest = g // N.col_blocks
            col = (g - rest * N.col_blocks) * cols
            count = min(cols, N.cols - col)
            base = N.offset + col * step_0
            to = N.to + p * N.copy + col * N.to_step
            walk(rest, N.sizes, base=N.steps, to=N.to_steps)
            at_K = base + p * size * N.row_step
            x_K = RUN_K
            for j in range(count):
                best[j] = LOAD_0(AT_0)
                winner[j] = p * size
            for i in range(p * size + 1, min(N.rows, (p + 1) * size)):
                at_K += N.row_step
                x_K = RUN_K
                for j in range(count):
                    held = best[j]
                    value = LOAD_0(AT_0)
                    wins = F(held, value)
                    best[j] = value if wins else held
                    winner[j] = i if wins else winner[j]
            for j in range(count):
                out[to + j * N.to_step] = winner[j]
                KEEP(to + j * N.to_step, in_0[base + winner[j] * N.row_step + j * step_0])
    leave(best, winner)


@loop(CHOOSE)
def choose(in_K, values, out, N):  # type: ignore[no-untyped-def]
    """Find the position of the min or max of all pieces, in one task.

    in_1 has the position in every piece; if several values are equal, the first position is the result.  step: the step
    along the reduced dim.  offset, piece, to: the offsets of in_0, in_1 and out.
    """
    for o in range(N.outputs):
        rest = o
        at, piece, to = N.offset, N.piece, N.to
        walk(rest, N.sizes, at=N.steps, piece=N.piece_steps, to=N.to_steps)
        winner = in_1[piece]
        for p in range(1, N.pieces):
            other = in_1[piece + p * N.outputs]
            held = LOAD_0(in_0[at + winner * N.step])
            value = LOAD_0(in_0[at + other * N.step])
            if F(held, value):
                winner = other
        out[to] = winner
        KEEP(to, in_0[at + winner * N.step])
