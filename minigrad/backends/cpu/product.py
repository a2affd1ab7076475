"""The method for a matrix product: its blocks, its panels, and whether it is transposed or divided.

All functions here depend on layouts and dtypes only, so a result does not depend on the number of threads.  Packing,
which does not change a result, also depends on the processor.  `matmul.py` makes launches of these decisions.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.shared import Problem
from minigrad.core.dtype import DType, bfloat16
from minigrad.core.layout import Layout
from minigrad.kernels.cpu.processor import has_wide_tile, is_zen, multiplies_pairs

TASKS = 16  # number of blocks into which a result is divided, for any number of threads
ROWS = 128  # rows per task: this part of the left operand fits the second-level cache
PIECE = 2048  # minimum number of elements of the inner dim for a separate task
DEPTH = 256  # maximum length of the inner dim of a block: the operands of the block then stay in the first caches
TALL = 16  # number of dense rows that `pack` reads together: few enough for the processor to predict each
PACKED = 1 << 20  # size of a right operand in bytes from which packing saves time
# If the left operand has at least MANY_ROWS rows, packing takes some 5 % of the time of the product.  Then it saves
# time for a right operand of PACKED_MANY bytes and more; unpacked rows may share a few sets of the first-level cache.
MANY_ROWS, PACKED_MANY = 256, 1 << 16
# Size in bytes from which packing saves time for a left operand that is stored by columns and read for many columns.
PACKED_LEFT = 1 << 18
# On a Zen, rows this many bytes apart, or a multiple of it, are slow to read in place: they share a few sets of the
# first-level cache.  Rows that do not begin on a multiple of ALIGNED bytes are slow, too (decision 077).
COLLIDING, ALIGNED = 4096, 16
# Size in bytes from which a tile requests the next tile of a left operand that is stored by columns (decision 086).
AHEAD = 3 << 20
MANY_COLUMNS = 256  # minimum number of columns for which it packs dense rows of the left operand
GATHERED = 1 << 19  # maximum size in bytes of a block of the right operand that each thread packs (decision 107)
FAR = 1 << 32  # minimum number of bytes of multiply-adds for `wide_tile`: others find most of their operands in caches
SHALLOW = 128  # maximum length of the inner dim of a block for `wide_tile`
COPIED = 8 << 20  # bytes of operands that are copied together
PAIRED = 32  # minimum number of rows, of columns and of inner elements for products of bfloat16 in pairs
MANY_PAIRS = 1 << 21  # minimum number of multiply-adds for them
FEW, LONG = 16, 256  # inner products are used for at most FEW columns and for rows of at least LONG elements


class Panels:
    """Describe an operand that is packed into panels: the arguments and tasks of `pack`, the sizes, and the strides.

    A panel has `width` columns, or `width` rows for the left operand.  With `paired`, an element of a panel is a word
    with two elements of the operand along the inner dim.

    one: the number of elements of one packed matrix.
    capacity: the number of elements of all packed matrices.
    """

    def __init__(self, p: Problem, width: int, left: bool = False, paired: bool = False) -> None:
        n, offset, across, along = (p.m, p.a, p.am, p.ak) if left else (p.n, p.b, p.bn, p.bk)
        steps = p.steps[0 if left else 1]
        # Matrices that are repeated along a dim of the batch, with stride 0, are packed once.
        sizes = tuple(size if step else 1 for size, step in zip(p.sizes, steps, strict=True))
        positions = Layout.contiguous(sizes)
        self.width, self.panel, self.paired = width, width * (-(-p.k // 2) if paired else p.k), paired
        self.one = -(-n // width) * self.panel
        self.capacity = positions.numel * self.one
        tall = TALL if across == 1 and not paired else 0
        self.tasks = positions.numel * (-(-p.k // tall) if tall else -(-n // width))
        self.steps = tuple(s * self.one if step else 0 for s, step in zip(positions.strides, steps, strict=True))
        self.numbers: dict[str, Any] = {
            "cols": n, "length": p.k, "tall": tall, "b": offset, "bn": across, "bk": along, "sizes": sizes,
            "steps": steps,
        }  # fmt: skip


def way_of(p: Problem, dtype: DType, dims: int) -> str:
    """Return the method for a product of tensors with `dims` dims.

    "rows": inner products. "vector": a matrix and a vector. "parts": parts of the inner dim. "tiles": tiles only.
    """
    if is_inner_products(p):
        return "rows"
    if p.m == 1 or p.n == 1:
        return "vector"
    return "parts" if dims == 2 and depth_of(p, dtype) < p.k else "tiles"


def is_far(p: Problem, dtype: DType) -> bool:
    """Return whether a product uses `wide_tile`, and packs both operands (decision 107)."""
    work, columns = work_of(p, dtype) // p.batches, p.ak != 1 and p.m * p.k * dtype.itemsize > AHEAD
    large = min(p.m, p.n) > 4 * FEW and (work >= FAR / 8 if columns else work >= FAR and p.n >= MANY_COLUMNS)
    return large and dtype.is_float and has_wide_tile()


def pays_transposed(p: Problem, dtype: DType, mr: int, nr: int, least: int = 0) -> bool:
    """Return whether to compute the transpose, because enough fewer elements would be packed then.

    The tasks transpose their blocks of the result, each of which has the whole inner dim.  least: how many fewer
    elements are packed at least.
    """
    other = p.transposed()
    packed, left = packed_elements(p, dtype), packed_elements(other, dtype)
    pays = left + p.m * p.n // 2 < packed and packed - left > least
    high, wide, deep = blocks_of(other, mr, nr)
    return pays and not is_far(p, dtype) and deep >= p.k and high * wide * dtype.itemsize <= 2 * GATHERED


def thread_panels(p: Problem, dtype: DType, wide: int, deep: int) -> int:
    """Return the number of elements of a block of the right operand if threads pack it for their tasks; otherwise 0.

    wide, deep: columns and depth of a task.  A thread packs a block once for all its tasks on these columns, into
    memory of its own.  A separate launch would wait for all threads before and after.
    """
    size = wide * p.k
    return size if is_packed(p, dtype) and deep >= p.k and size * dtype.itemsize <= GATHERED else 0


def packed_elements(p: Problem, dtype: DType) -> int:
    """Return the number of elements of operands that are packed."""
    return p.k * (p.n * is_packed(p, dtype) + p.m * is_packed_left(p, dtype))


def is_inner_products(p: Problem) -> bool:
    """Return whether each element should be computed as an inner product of two long dense rows.

    Inner products are faster than tiles if there are so few columns that most of a tile would be empty, and if the
    columns would have to be packed first.
    """
    return 1 < p.n <= FEW and p.m > 1 and p.ak == p.bk == 1 and p.bn != 1 and p.k >= LONG


def depth_of(p: Problem, dtype: DType) -> int:
    """Return the length of inner dim to multiply before the next part is copied: all, unless copies are large."""
    copied = (p.m if is_packed_left(p, dtype) else 0) + (p.n if is_packed(p, dtype) else 0)
    if p.batches > 1 or is_cut(p) or is_far(p, dtype) or copied * p.k * dtype.itemsize <= 2 * COPIED:
        return p.k
    part = part_of(p.k)
    return max(2, COPIED // (copied * dtype.itemsize * part)) * part


def part_of(k: int, most: int = DEPTH) -> int:
    """Return the inner length of a tile before it is stored: equal parts, of at most `most`."""
    return -(-k // max(1, -(-k // most)))


def is_packed(p: Problem, dtype: DType) -> bool:
    """Return whether the right operand is packed: its rows are not dense, or it is large and read for many rows."""
    size = p.n * p.k * dtype.itemsize
    if p.bn != 1 or is_far(p, dtype):
        return True
    if is_zen():
        return p.m >= 4 * FEW and size >= PACKED_MANY and is_slow_in_place(p.bk, dtype)
    return (p.m >= MANY_ROWS and size >= PACKED_MANY) or (p.m >= 4 * FEW and size > PACKED)


def is_packed_left(p: Problem, dtype: DType) -> bool:
    """Return whether the left operand should be packed.

    Packing saves time if the operand is large and stored column by column.  Without packing, a tile would read a part
    of each column for every panel of the right operand, and the parts of long columns are on different memory pages.
    """
    if is_far(p, dtype):
        return True
    size = p.m * p.k * dtype.itemsize
    large = size > (PACKED_LEFT if p.n >= 12 * FEW or is_zen() else PACKED)
    worth = p.ak != 1 and p.n >= 4 * FEW and p.m >= 4 * FEW and large
    return worth and (is_slow_in_place(p.ak, dtype) or not is_zen())


def is_slow_in_place(step: int, dtype: DType) -> bool:
    """Return whether a Zen reads rows with this distance in elements more slowly than packed rows."""
    distance = abs(step) * dtype.itemsize
    return distance % COLLIDING == 0 or distance % ALIGNED > 0


def is_paired(p: Problem, *dtypes: DType) -> bool:
    """Return whether operands of these dtypes are multiplied in pairs; packing both pays for large products only."""
    large = min(p.m, p.n, p.k) >= PAIRED and p.m * p.n * p.k >= MANY_PAIRS
    return large and multiplies_pairs() and all(dtype is bfloat16 for dtype in dtypes)


def is_cut(p: Problem) -> bool:
    """Return whether pieces of the inner dim may be separate tasks.

    This is true if the result is small.
    """
    return p.m * p.n * p.batches <= 1 << 16


def work_of(p: Problem, dtype: DType) -> int:
    """Return the number of bytes that are multiplied and added."""
    return p.batches * p.m * p.n * p.k * dtype.itemsize


def blocks_of(p: Problem, mr: int, nr: int) -> tuple[int, int, int]:
    """Return rows, columns and depth of a task: about TASKS tasks of one size, in whole tiles.

    The depth is cut if there would be too few tasks otherwise.
    """
    down, across = -(-p.m // mr), -(-p.n // nr)
    columns = columns_of(p, down, across, -(-TASKS // p.batches))
    rows = min(down, max(-(-TASKS // (p.batches * columns)), -(-p.m // ROWS)))
    high, wide = mr * -(-down // rows), nr * -(-across // columns)
    blocks = p.batches * -(-p.m // high) * -(-p.n // wide)
    pieces = max(1, min(TASKS // blocks, p.k // PIECE)) if is_cut(p) else 1
    return high, wide, -(-p.k // pieces)


def columns_of(p: Problem, down: int, across: int, wanted: int) -> int:
    """Return the number of blocks along the columns, of `wanted` blocks in `down` rows and `across` columns of tiles.

    Each block along the columns reads the left operand again, and each block along the rows reads the right operand
    again.  The returned number minimizes the number of elements that are read.
    """
    if down < 4:
        columns = min(across, wanted)
    else:
        counts = [columns for columns in (1, 2, 4, 8, 16) if columns <= min(across, wanted)]
        columns = min(counts, key=lambda columns: p.m * columns + p.n * -(-wanted // columns))
    while columns > 1 and across % columns and across < 8 * columns:
        columns -= 1
    return columns


def vector_blocks(size: int, k: int, batches: int, along: bool) -> tuple[int, int]:
    """Return the elements and the depth of a task of `vector`.

    along: sums run along memory, so a task consists of some whole rows.  Otherwise long rows are fastest to read, and
    the inner dim is divided.
    """
    wanted = -(-TASKS // batches)
    high = min(size, max(16, -(-size // wanted)) if along else 4096)
    blocks = -(-size // high)
    shortest = PIECE if along else 32
    pieces = max(1, min(wanted // blocks, k // shortest, size * k // (1 << 14)))
    return high, -(-k // pieces)
