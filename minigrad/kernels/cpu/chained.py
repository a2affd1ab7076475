"""Reductions of elements that are computed first, one piece at a time, in a workspace that stays in the cache.

The additions are those of `reduction.run_whole` and `rows_whole` over a tensor with these elements: `stretch` reduces
the workspace, so the result has the same bits.  `fill` computes the elements in their own dtype.  `G` is a call of
`fill`, `H` is the scalar function, and `RUN_K` and `AT_K` are as in `rows.py`.  ELEMENT is the dtype of an element.
"""

# ruff: noqa: F821, F841

from minigrad.kernels.fields import Fields

RUN = Fields("n piece pieces to count one", each="offset step", results=False)
ROWS = Fields("kept groups chunk rows to count one", "sizes[kept] to_steps[kept]", "offset step strides[kept]", False)


def fill(in_K, at_K, step_K, computed, n):  # type: ignore[no-untyped-def]
    """Compute n elements, whose distance in each operand is constant."""
    u_K = RUN_K
    for j in range(n):
        computed[j] = H(LOAD_K(AT_K))


def run_whole(in_K, work, out, N):  # type: ignore[no-untyped-def]
    """Reduce the only row.  A task is one piece of it.

    `work` stores the accumulator of each piece.
    """
    total = IDENTITY
    computed = workspace(N.piece if first < last else 0, ELEMENT)
    step_K = N.step[K]
    for p in range(first, last):
        start = p * N.piece
        length = min(N.n - start, N.piece)
        at_K = N.offset[K] + start * step_K
        G(in_K, at_K, step_K, computed, length)
        total = stretch(computed, 0, length, IDENTITY, ONE)
        if N.pieces > 1:
            work[p] = total
    leave(computed)
    JOIN_PIECES()


def rows_whole(in_K, out, N):  # type: ignore[no-untyped-def]
    """Reduce each row to one output.  A task is a chunk of the rows."""
    computed = workspace(N.rows, ELEMENT)
    step_K = N.step[K]
    for t in range(first, last):
        for g in range(t * N.chunk, min(N.groups, (t + 1) * N.chunk)):
            position = g
            to = N.to
            at_K = N.offset[K]
            walk(position, N.sizes, to=N.to_steps, at_K=N.strides[K])
            G(in_K, at_K, step_K, computed, N.rows)
            out[to] = STORE(FINISH(stretch(computed, 0, N.rows, IDENTITY, ONE), N.count))
    leave(computed)
