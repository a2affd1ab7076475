"""The loop that joins dense operands: all of them in one launch, by words of up to 16 bytes.

A row of the result is one row of each operand, one after the other.  Blocks are divided among the operands by size.
`PART`, which is written out, finds the operand of a block with one comparison per operand.  It defines `source`, which
begins at word `base`; `width`, the words per row, which begin at word `begin` of a row of the result; and the blocks
from `start` to `stop`.  A word is WIDTH elements of memory.
"""

# ruff: noqa: F821
import numpy as np

from minigrad.kernels.fields import Fields


def join_fields(parts):
    """Return the numbers of `join`: lines of `row` words; ends: the block at which the blocks of each operand end."""
    lists = "ends widths begins bases magics shifts"
    return Fields("lines row to", " ".join(f"{name}[{parts}]" for name in lists.split()))


def join(in_K, out, N):
    """Copy the words of each operand to their positions in the result."""
    PART()
    i = (position - start) * cuda.blockDim.x + cuda.threadIdx.x
    while i < width * N.lines:
        line = np.int64(divide(np.uint32(i), magic, shift))
        at = N.to + line * N.row + begin + i - line * width
        STORE_WORD(out, at * WIDTH, LOAD_WORD(source, (base + i) * WIDTH))
        i += (stop - start) * cuda.blockDim.x
