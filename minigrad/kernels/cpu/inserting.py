"""Binary search: the places at which elements would be inserted into sorted rows.

Free names, filled in by `specialize`: `LOAD_0` and `LOAD_1`.  nan is the largest element.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields

INSERT = Fields("blocks block cols n after rank", "sizes[rank]", "offset step strides[rank]")


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
        for c in range(left, min(left + N.block, N.cols)):
            key = LOAD_1(x[at + c * N.step[2]])
            missing = key != key
            # The loop has no branch that the values decide, which the processor would predict wrongly.
            low = 0
            size = N.n
            while size > 0:
                half = (size + 1) // 2
                other = LOAD_0(lines[np.uint64(line + (low + half - 1) * step)])
                before = (other < key) | (missing & (other == other))
                equal = (other == key) | (missing & (other != other))
                low += half if before | (equal & after) else 0
                size -= half
            out[to + c * N.step[0]] = low
