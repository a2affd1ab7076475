"""Binary search: the places at which elements would be inserted into sorted rows.

Free names, filled in by `specialize`: `KEY` is the key of `kernels/integer.py`, so nan is the largest element and
the two zeros are equal.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields, loop

LANES = 8  # number of binary searches side by side


@loop(Fields("blocks block cols n after rank", "sizes[rank]", "offset step strides[rank]"), loads=2)
def insert(lines, x, out, N):  # type: ignore[no-untyped-def]
    """Write the place of each element of x in its line of n sorted elements.  A task is a block of a row of x.

    after: whether the place is behind equal elements.  The groups are those of out, lines and x; step is along the row.
    """
    step = N.step[1]
    after = N.after != 0
    for unit in range(first, last):
        rest = unit // N.blocks
        left = (unit - rest * N.blocks) * N.block
        to = N.offset[0]
        line = N.offset[1]
        at = N.offset[2]
        walk(rest, N.sizes, to=N.strides[0], line=N.strides[1], at=N.strides[2])
        end = min(left + N.block, N.cols)
        # LANES searches run side by side without branches, because each step of one search waits for the step before.
        whole = left + (end - left) // LANES * LANES
        for c in range(left, whole, LANES):
            for u in each(LANES):
                key_u = KEY(x[at + (c + u) * N.step[2]])
                low_u = 0
            size = N.n
            while size > 0:
                half = (size + 1) // 2
                for u in each(LANES):
                    other_u = KEY(lines[np.uint64(line + (low_u + half - 1) * step)])
                    low_u = low_u + half if (other_u < key_u) | ((other_u == key_u) & after) else low_u
                size -= half
            for u in each(LANES):
                out[to + (c + u) * N.step[0]] = low_u
        for c in range(whole, end):
            key = KEY(x[at + c * N.step[2]])
            low = 0
            size = N.n
            while size > 0:
                half = (size + 1) // 2
                other = KEY(lines[np.uint64(line + (low + half - 1) * step)])
                low = low + half if (other < key) | ((other == key) & after) else low
                size -= half
            out[to + c * N.step[0]] = low
