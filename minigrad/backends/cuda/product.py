"""The tiles of a matrix product, and how its operands are read.

All functions here depend on layouts and dtypes only, so the same product is computed in the same way on every device.
"""

from __future__ import annotations

from dataclasses import dataclass

from minigrad.backends.shared import Problem as Product

ENOUGH = 128  # number of blocks that keep a device busy
FULL = 512  # number of blocks that hide each other's latency if the inner dim is cut
PIECE = 256  # minimum number of elements of the inner dim for a separate block
GROUP = 8  # 16-bit elements that one asynchronous copy moves


@dataclass(frozen=True)
class Tile:
    """Describe a tile of `high` rows and `broad` columns of a product, which one block of `threads` threads computes.

    depth: the number of inner indices that are processed together.
    tall, long: the numbers of rows and columns that one thread computes.
    mma: whether the tile uses the tensor cores; `down` is then the number of warps along the rows.
    """

    high: int
    broad: int
    depth: int
    threads: int
    tall: int
    long: int
    mma: bool = False
    down: int = 1

    @property
    def label(self) -> str:
        return f"{'mma' if self.mma else 'tile'}{self.high}x{self.broad}x{self.depth}"


# From the largest tile to the smallest.  For elements of 8 bytes, the largest tile would need too many registers.
TILES = (Tile(128, 128, 8, 256, 8, 8), Tile(64, 64, 16, 256, 4, 4), Tile(16, 16, 16, 64, 2, 2))
# If the right operand is read through windows, the position of an element costs as much as its products with a few
# rows, so each thread computes more results.  A convolution of 64 channels, H100: 607 us, 836 us by tiles of 64 x 64.
WINDOW_TILES = (TILES[0], Tile(64, 128, 16, 128, 8, 8), *TILES[1:])
MMA_TILES = (
    Tile(128, 128, 32, 256, 8, 8, True, 2), Tile(64, 64, 32, 128, 4, 8, True, 2), Tile(32, 32, 32, 64, 4, 4, True),
)  # fmt: skip


def tile_for(
    rows: int, cols: int, matrices: int, length: int, itemsize: int, mma: bool, windows: bool = False
) -> Tile:  # fmt: skip
    """Return the largest tile that is mostly full and yields enough blocks; otherwise one that is mostly full.

    An inner dim of this length may be cut to get more blocks.
    """
    tiles = MMA_TILES[windows:] if mma else TILES[1:] if itemsize == 8 else WINDOW_TILES if windows else TILES
    fitting = [t for t in tiles if min(rows, t.high) * min(cols, t.broad) * 2 > t.high * t.broad] or [tiles[-1]]
    for tile in fitting:
        if -(-rows // tile.high) * -(-cols // tile.broad) * matrices * max(1, length // PIECE) >= ENOUGH:
            return tile
    # No tile makes enough blocks.  A larger tile reads less memory.
    return fitting[-2] if len(fitting) > 1 else fitting[-1]


def pieces_of(tiles: int, length: int, depth: int) -> tuple[int, int]:
    """Return the number of pieces that the inner dim is cut into if there are few tiles, and their length."""
    pieces = max(1, min(FULL // max(1, tiles), length // PIECE)) if tiles < ENOUGH else 1
    deep = -(-length // (pieces * depth)) * depth
    return max(1, -(-length // max(1, deep))), deep


class Problem(Product):
    """One product in numbers, and the positions of neighbours in memory."""

    @property
    def along(self) -> tuple[bool, bool]:
        """For both operands, whether neighbours in memory are along the inner dim."""
        return (
            self.k > 1 and (self.m == 1 or abs(self.ak) <= abs(self.am)),
            self.k > 1 and (self.n == 1 or abs(self.bk) <= abs(self.bn)),
        )

    def copied(self) -> tuple[bool, bool]:
        """Return for both operands whether groups of eight neighbours are complete and begin at multiples of eight."""
        aligned = []
        for k, (inner, outer, step) in enumerate([
            ((self.ak, self.k), (self.am, self.m), self.a), ((self.bk, self.k), (self.bn, self.n), self.b),
        ]):  # fmt: skip
            near, far = (inner, outer) if self.along[k] else (outer, inner)
            others = [step, near[1], far[0], *self.steps[k]]
            aligned.append(near[0] == 1 and not any(number % GROUP for number in others))
        return aligned[0], aligned[1]
