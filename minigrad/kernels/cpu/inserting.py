"""Binary search: the places at which elements would be inserted into sorted rows.

Free names, filled in by `specialize`: `KEY` is the key of `kernels/orders.py`, so nan is the largest element and
the two zeros are equal.
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
            key = KEY(x[at + c * N.step[2]])
            low = 0
            size = N.n
            while size > 0:
                half = size // 2
                other = KEY(lines[np.uint64(line + (low + half) * step)])
                if (other < key) | ((other == key) & after):
                    low += half + 1
                    size -= half + 1
                else:
                    size = half
            out[to + c * N.step[0]] = low
