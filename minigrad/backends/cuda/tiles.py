"""The tiles of a matrix product: the choice of a tile, how its operands are read, and the words of the loop.

The loop is in `kernels/cuda/tile.py`; matrix products and convolutions both consist of it.  The choices here depend on
layouts and dtypes only, so the same product is computed in the same way on every device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.backends.cuda.loops import divide
from minigrad.backends.shared import Problem as Product
from minigrad.core.dtype import DType, bool_, int32
from minigrad.kernels.cuda.target import CUDA, factor_text
from minigrad.kernels.cuda.tile import apart, left_of, mixed, mixed_wide, seen
from minigrad.kernels.specialize import load_text

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


def tile_for(rows: int, cols: int, matrices: int, length: int, itemsize: int, mma: bool, windows: bool = False) -> Tile:
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
        for k, (inner, outer, step) in enumerate(
            [((self.ak, self.k), (self.am, self.m), self.a), ((self.bk, self.k), (self.bn, self.n), self.b)]
        ):
            near, far = (inner, outer) if self.along[k] else (outer, inner)
            others = [step, near[1], far[0], *self.steps[k]]
            aligned.append(near[0] == 1 and not any(number % GROUP for number in others))
        return aligned[0], aligned[1]


@dataclass(frozen=True)
class Way:
    """Describe how a kernel reads the two operands of a product.

    along: for each operand, whether neighbouring threads read along the inner dim.
    copied: for each operand, whether asynchronous copies are used.
    windows: whether the right operand is an image, of which a convolution reads windows.
    long: whether positions in the image require 64 bits.
    """

    tile: Tile
    along: tuple[bool, bool]
    copied: tuple[bool, bool] = (False, False)
    windows: bool = False
    long: bool = False

    @property
    def label(self) -> str:
        sides = zip(self.along, self.copied, strict=True)
        layouts = "_".join(["nt"[along == bool(k)] + ("w" if wide else "") for k, (along, wide) in enumerate(sides)])
        return f"{self.tile.label}_{layouts}{'_windows' if self.windows else ''}{'_long' if self.long else ''}"


def registers(dtype: DType) -> np.dtype[Any]:
    """Return the dtype of sums; booleans are counted in int32."""
    return int32.compute if dtype is bool_ else dtype.compute


def product_words(way: Way, dtypes: tuple[DType, ...], compute: np.dtype[Any]) -> dict[str, Any]:
    """Return the words of a product by tiles."""
    shape, words = way.tile, sides(way, dtypes, compute)
    words |= {
        "MMA": shape.mma, "WINDOWS": way.windows, "IMAGE_0": False, "IMAGE_1": way.windows,
        "ADDED": len(dtypes) == 3,
        "TALL": shape.tall, "LONG": shape.long, "HIGH": shape.high,
        "BROAD": shape.broad, "DEPTH": shape.depth, "FACTOR": factor_text(compute),
        "QUOTIENT": "{0} // {1}" if way.long else "np.int64(divide(np.uint32({0}), {2}, {3}))",
        "imports": f"BLOCK = {bounds(way)}\nFMA = True\n",
        **({each.__name__: each for each in (mixed, mixed_wide)} if shape.mma else {}),
    }  # fmt: skip
    if way.windows:
        words |= {each.__name__: each for each in [*([] if way.long else [divide]), left_of, seen, apart]}
    return words | (mma_part if shape.mma else scalar_part)(way, dtypes, compute)


def bounds(way: Way) -> int | tuple[int, int]:
    """Return the threads of a block, with the number of resident blocks if there are too few registers otherwise."""
    resident = 2 if way.tile.high == 128 and not way.tile.mma and not way.windows else 1
    return way.tile.threads if resident == 1 else (way.tile.threads, resident)


def sides(way: Way, dtypes: tuple[DType, ...], compute: np.dtype[Any]) -> dict[str, Any]:
    """Return how operands are copied to shared memory, and the positions there."""
    shape = way.tile
    names: dict[str, Any] = {}
    for k, size in enumerate((shape.high, shape.broad)):
        along, group = way.along[k], 8 if way.copied[k] else 1
        near = (shape.depth if along else size) // group
        first, other = f"t % {near}" + (f" * {group}" if group > 1 else ""), f"t // {near}"
        turn = shape.threads // near  # distance along the other dim of the elements that one thread loads
        copies = size * shape.depth // (group * shape.threads)
        names |= {f"LINE_{k}": other if along else first, f"K_{k}": first if along else other}
        names |= {f"LINES_{k}": turn if along else 0, f"DEEP_{k}": 0 if along else turn}
        names |= {f"COPIES_{k}": copies, f"STORED_{k}": group == 1}
        pitch = (size if not along else shape.depth) if shape.mma else size + 4
        names[f"SLICE_{k}"] = size * shape.depth if shape.mma else pitch * shape.depth
        names[f"PLACE_{k}"] = position_text(along, pitch) if shape.mma else f"({{1}}) * {pitch} + ({{0}})"
        names[f"TAKE_{k}"] = "{0}" if shape.mma else load_text(dtypes[k], compute, CUDA)[0]
    stages = 3 if shape.mma and all(way.copied) else 2
    return names | {"STAGES": stages, "ASYNC": any(way.copied), "LANDED": f"copies_landed_{stages - 2}"}


def position_text(along: bool, pitch: int) -> str:
    """Return the position of an element in a slice for the tensor cores.

    The rows of a slice are along the dim in which neighbours in memory are.
    """
    positions = "{0}, {1}" if along else "{1}, {0}"
    return f"mixed({positions})" if pitch == 32 else f"mixed_wide({positions}, {pitch})"


def fragment_text(way: Way, k: int) -> str:
    """Return the position of a lane's row of the matrices {1} of 16 rows, or columns, from {0} on, at inner index {2}.

    If possible, the part that differs between matrices is added at the end, so that it needs no register.
    """
    along = way.along[k]
    pitch = way.tile.depth if along else (way.tile.high, way.tile.broad)[k]
    low, upper, eight = "(lane & 15)", "(lane >> 4) * 8", "(lane >> 3 & 1) * 8"
    # In the left operand the second matrix is below the first; in the right operand it is further along the inner dim.
    below = (low, upper) if along == (k == 0) else (f"(lane & 7) + {upper}", eight)
    side, deep = below if along else below[::-1]
    if along:
        return position_text(True, pitch).format(f"{{0}} + {side}", f"{{2}} + {deep}") + f" + {{1}} * {16 * pitch}"
    return position_text(False, pitch).format(f"{{0}} + {{1}} * 16 + {side}", deep) + f" + {{2}} * {pitch}"


def scalar_part(way: Way, dtypes: tuple[DType, ...], compute: np.dtype[Any]) -> dict[str, Any]:
    """Write the product of one thread: a tile in parts, each as wide as one load from shared memory."""
    shape = way.tile
    across = shape.broad // shape.long
    words: dict[str, Any] = {}
    widths = [min(16 // compute.itemsize, 4, n) for n in (shape.tall, shape.long)]
    for k, (width, n, size) in enumerate(zip(widths, (shape.tall, shape.long), (shape.high, shape.broad), strict=True)):
        parts = n // width
        words |= {f"WIDTH_{k}": width, f"PARTS_{k}": parts, f"GAP_{k}": size // parts}
        words |= {f"LANES_{k}": f"load_{width}", f"HELD_{k}": n}
    words |= {"KEPT": "T", "HELD": "T", "EACH": 1}
    words |= {"OWN_0": f"t // {across} * {widths[0]}", "OWN_1": f"t % {across} * {widths[1]}"}
    gaps = [words["GAP_0"], words["GAP_1"]]
    return words | {
        "ROW": f"{{0}} // {widths[0]} * {gaps[0]} + {{0}} % {widths[0]}",
        "COLUMN": f"{{0}} // {widths[1]} * {gaps[1]} + {{0}} % {widths[1]}",
        "ENTRY": f"{{0}} * {shape.long} + {{1}}",
    }


def mma_part(way: Way, dtypes: tuple[DType, ...], compute: np.dtype[Any]) -> dict[str, Any]:
    """Write the product of a warp: 16 x 8 results together, four per lane."""
    shape = way.tile
    across = shape.threads // 32 // shape.down
    parts = [shape.tall // 2, shape.long // 4]  # numbers of parts of a warp: of 16 rows, and of 16 columns
    words: dict[str, Any] = {"PARTS_0": parts[0], "PARTS_1": parts[1], "HELD_0": 4 * parts[0], "HELD_1": 4 * parts[1]}
    words |= {"KEPT": "np.uint16", "HELD": "np.uint32", "EACH": 16}
    words["OWN_0"] = f"t // 32 % {shape.down} * {shape.high // shape.down}"
    words["OWN_1"] = f"t // 32 // {shape.down} * {shape.broad // across}"
    for k in range(2):
        words[f"MATRICES_{k}"] = "ldmatrix" if way.along[k] else "ldmatrix_turned"
    arguments = ", ".join([*(f"{{0}}[{{1}} + {k}]" for k in range(4)), *(f"{{2}}[{{3}} + {k}]" for k in range(2))])
    sums = ", ".join(f"{{4}}[{{5}} + {k}]" for k in range(4))
    fragments = {f"FRAGMENT_{k}": fragment_text(way, k) for k in range(2)}
    return (
        words
        | fragments
        | {
            "MULTIPLY": f"mma_{dtypes[0].name}({arguments}, {sums})",
            "ROW": "{0} // 2 * 16 + lane // 4 + {0} % 2 * 8",
            "COLUMN": "{0} // 2 * 8 + lane % 4 * 2 + {0} % 2",
            "ENTRY": f"({{0}} // 2 * {2 * parts[1]} + {{1}} // 2) * 4 + {{0}} % 2 * 2 + {{1}} % 2",
        }
    )
