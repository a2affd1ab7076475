"""Which way a matrix product is made: its blocks, its panels, its shape turned or taken apart.

Everything here is a pure function of layouts, so the same product is always made the same way: what depends on the
number of threads does not show in a result.  `matmul.py` makes launches of it.
"""

from __future__ import annotations

from minigrad.backends.cpu.texts import DEPTH
from minigrad.backends.product import Problem
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.kernels.cpu.matmul import PACK

TASKS = 16  # number of blocks of a result; it does not depend on the number of threads
ROWS = 128  # rows per task: this part of the left operand fits the second-level cache
PIECE = 2048  # smallest number of elements of the inner dim for a separate task
PAGE = 1024  # row length in elements from which neighbours in a column are on different pages of memory
PACKED = 1 << 20  # size of a right operand in bytes from which packing saves time
COPIED = 8 << 20  # bytes of operands that are copied together
FEW, LONG = 16, 256  # number of columns, and of elements per row, for which inner products are used


class Panels:
    """A right operand in panels: the numbers and tasks of `pack`, the elements of one matrix and of all, strides of the
    batch."""

    def __init__(self, p: Problem, nr: int) -> None:
        # A right operand that is repeated is packed once.
        sizes = tuple(size if step else 1 for size, step in zip(p.sizes, p.steps[1], strict=True))
        positions = Layout.contiguous(sizes)
        self.one = -(-p.n // nr) * nr * p.k
        self.capacity = positions.numel * self.one
        self.tasks = positions.numel * -(-p.n // nr)
        self.steps = tuple(s * self.one if step else 0 for s, step in zip(positions.strides, p.steps[1], strict=True))
        self.numbers = PACK.pack(
            cols=p.n, length=p.k, b=p.b, bn=p.bn, bk=p.bk, sizes=sizes,
            steps=p.steps[1],
        )  # fmt: skip


def is_inner_products(p: Problem) -> bool:
    """Whether each element is best made as the inner product of two long dense rows: there are so few columns that most
    of a tile would be empty, and they would have to be packed first."""
    return 1 < p.n <= FEW and p.m > 1 and p.ak == p.bk == 1 and p.bn != 1 and p.k >= LONG


def pays_turned(p: Problem) -> bool:
    """Whether far fewer elements move if the transpose is made and turned back, as for few rows and a large weight."""
    return p.bn != 1 and 8 * (p.m * p.n + (p.m * p.k if p.am != 1 else 0)) < p.n * p.k


def pays_upright(p: Problem) -> bool:
    """Whether a left operand that lies column by column is best copied: a tile reads a piece of each column, which is a
    page of its own where columns are long, and does so again for every panel of the right operand."""
    return p.am == 1 and p.ak >= PAGE and p.batches == 1 and min(p.m, p.n, p.k) >= 8 * FEW


def depth_of(p: Problem, dtype: DType) -> int:
    """How much of the inner dim is multiplied before the next part is copied: all, unless the copies are large."""
    copied = (p.m if pays_upright(p) else 0) + (p.n if is_packed(p, dtype) else 0)
    if p.batches > 1 or is_cut(p) or copied * p.k * dtype.itemsize <= 2 * COPIED:
        return p.k
    return max(2, COPIED // (copied * dtype.itemsize * DEPTH)) * DEPTH


def is_packed(p: Problem, dtype: DType) -> bool:
    """Whether the right operand is packed: its rows are not dense, or it is large and read by many rows."""
    return p.bn != 1 or (p.m >= 64 and p.n * p.k * dtype.itemsize > PACKED)


def is_cut(p: Problem) -> bool:
    """Whether pieces of the inner dim may be separate tasks: the result is small."""
    return p.m * p.n * p.batches <= 1 << 16


def work_of(p: Problem, dtype: DType) -> int:
    """Bytes multiplied and added."""
    return p.batches * p.m * p.n * p.k * dtype.itemsize


def blocks_of(p: Problem, mr: int, nr: int) -> tuple[int, int, int]:
    """Rows, columns and depth of a task: about TASKS of one size, whole tiles, the depth cut where else too few."""
    down, across = -(-p.m // mr), -(-p.n // nr)
    wanted = -(-TASKS // p.batches)
    columns = min(across, 4 if down >= 4 else wanted)
    while columns > 1 and across % columns and across < 8 * columns:
        columns -= 1
    rows = min(down, max(-(-wanted // columns), -(-p.m // ROWS)))
    high, wide = mr * -(-down // rows), nr * -(-across // columns)
    blocks = p.batches * -(-p.m // high) * -(-p.n // wide)
    pieces = max(1, min(TASKS // blocks, p.k // PIECE)) if is_cut(p) else 1
    return high, wide, -(-p.k // pieces)


def vector_blocks(size: int, k: int, batches: int, along: bool) -> tuple[int, int]:
    """Return the elements and the depth of a task of `vector`.

    along: sums run along memory, so a task is some whole rows.  Otherwise long rows are fastest to read, and the inner
    dim is divided.
    """
    wanted = -(-TASKS // batches)
    high = min(size, max(16, -(-size // wanted)) if along else 4096)
    blocks = -(-size // high)
    shortest = PIECE if along else 32
    pieces = max(1, min(wanted // blocks, k // shortest, size * k // (1 << 14)))
    return high, -(-k // pieces)
