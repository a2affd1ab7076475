"""The loop over a table of tensors: the chunks of all tensors are the tasks of one launch.

Free names, filled in by `specialize`: `F` stores the results of the scalar function in the columns that are written.
`LOAD_K` converts an element of column K, whose addresses begin at entry `FIRST_K` of the table and whose type is
`TYPE_K`.  The constants are read when the kernel runs, so another learning rate does not compile another kernel; `h_S`
stands for each of them.
"""

# ruff: noqa: F821, F841
import numpy as np

from minigrad.kernels.fields import Fields

MANY = Fields("rows chunks columns constants", "row[chunks] start[chunks] count[chunks] offsets")


def many(N):  # type: ignore[no-untyped-def]
    """Compute the tensors of each row of the table; each is a run from its offset on.  A task is a chunk of a row."""
    rows = N.rows
    columns = N.columns
    constants = operand(table, MIDDLE, np.float64)[N.constants :]
    h_S = T(constants[S])
    for c in range(first, last):
        t = N.row[c]
        start = N.start[c]
        count = N.count[c]
        at_K = N.offsets[t * columns + K] + start
        x_K = operand(table, FIRST_K + t, TYPE_K)[at_K : at_K + count]
        for i in range(count):
            # All elements of a row are read before one is written, because a result is an argument as well.
            F(LOAD_K(x_K[i]), h_S, x_R[i])
