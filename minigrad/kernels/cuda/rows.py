"""Rows: a few totals of each, then each element from its row's totals; a group of threads has a row.

`LANE` of `LANES` is a thread's place in its group, `GROUP` of `GROUPS` that of the group in the block: along memory a
group is some lanes of a warp, a warp or a whole block; across it the lanes of a warp have rows that lie side by side.
What stands alone is written out for the `RowFn` of a kernel: `HOLD` and `FETCH` keep a row in registers where it fits,
so that it is read once (`r_K[...]`, elements j to j + WIDTH - 1 of a load), and else it is read again for each total;
`TOTALS` finds the totals, one after the other, in trees over the group; `RESULTS` stores what is made of them.
`BEGIN_SUMS`, `ADD_SUMS` and `LEAVE_SUMS` sum terms down the columns: each group those of its own rows, which it leaves
in a line of `work`; a second launch folds the lines.  VALUE is the parameter.
"""

# ruff: noqa: F821, F841
import numpy as np

from minigrad.kernels.fields import Fields


def rows_fields(rank):
    """The numbers of all of these; value: the bits of a float of the kernel's size."""
    return Fields("rows n value ignore", f"shape[{rank}]", f"offset step strides[{rank}]")


def rows(in_K, out, N):
    """Rows of n elements, a group of threads each.

    If it PICKS: minus the result at the element of each row that in_1 names, 0 where it names `ignore`; into out, or by
    row into memory for a fold, with whether the row counts.
    """
    n = N.n
    value = VALUE
    lane = np.int64(LANE)
    HOLD()
    BEGIN_SUMS()
    first = np.int64(cuda.blockIdx.x) * GROUPS
    while first < N.rows:
        inside = first + GROUP < N.rows
        row = first + GROUP if inside else np.int64(0)
        m = n if inside else np.int64(0)
        rest = row
        to = N.offset[0]
        at_K = N.offset[K + 1]
        walk(rest, N.shape, to=N.strides[0], at_K=N.strides[K + 1])
        CHOOSE()
        FETCH()
        TOTALS()
        if PICKS:
            if lane == 0 and inside:
                chosen = np.int64(in_1[at_1])
                counts = chosen != N.ignore and 0 <= chosen and chosen < n
                loss = T(0)
                if counts:
                    element = LOAD_0(in_0[at_0 + chosen * N.step[1]])
                    loss = T(-CHOSEN(element))
                if EACH:
                    out[to] = STORE(loss)
                else:
                    losses[row] = loss
                    counted[row] = np.int32(1) if counts else np.int32(0)
        else:
            RESULTS()
            ADD_SUMS()
        first += np.int64(cuda.gridDim.x) * GROUPS
    LEAVE_SUMS()
