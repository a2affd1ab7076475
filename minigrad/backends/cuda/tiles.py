"""The text of a product by tiles: how operands are copied to shared memory, their positions, and the threads' work.

The loops are in `kernels/cuda/tile.py`; matrix products and convolutions both consist of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.backends.cuda.product import Tile
from minigrad.backends.cuda.runtime import Program
from minigrad.core.dtype import DType, bool_, int32
from minigrad.kernels.cuda import elementwise, tile
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.macros import expression_macro
from minigrad.kernels.pasting import Expand
from minigrad.kernels.specialize import load_text, write_kernel


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


def bits(value: float, compute: np.dtype[Any]) -> int:
    """Return a factor as an integer scalar argument of a kernel; `factor_text` is the inverse in the kernel."""
    if compute.kind != "f":
        return int(value)
    return int(compute.type(value).view(np.int64 if compute.itemsize == 8 else np.uint32))


def factor_text(compute: np.dtype[Any]) -> str:
    """Return the text that converts a number of the kernel to a factor."""
    if compute.kind != "f":
        return "T({})"
    return f"np.{'int64' if compute.itemsize == 8 else 'uint32'}({{}}).view(T)"


def write_tiles(way: Way, dtypes: tuple[DType, ...], out: DType, rank: int) -> Program:
    """Write one product by tiles."""
    shape, compute = way.tile, registers(out)
    macros, constants = sides(way, dtypes, compute)
    kinds = {
        "MMA": int(shape.mma),
        "WINDOWS": int(way.windows),
        "ADDED": int(len(dtypes) == 3),
        "DENSE": int(not way.windows),
    }
    constants |= {name: str(number) for name, number in kinds.items()}
    constants |= {"TALL": str(shape.tall), "LONG": str(shape.long), "SUMS": str(shape.tall * shape.long)}
    constants |= {"HIGH": str(shape.high), "BROAD": str(shape.broad), "DEPTH": str(shape.depth)}
    constants |= {"BAND": str(tile.BAND)}
    macros |= (mma_part if shape.mma else scalar_part)(way, dtypes, constants, compute)
    macros["FACTOR"] = expression_macro(factor_text(compute))
    quick = "np.int64(divide(np.uint32({0}), {2}, {3}))"
    macros["QUOTIENT"] = expression_macro("{0} // {1}" if way.long else quick)
    helpers: list[Any] = [tile.mixed, tile.mixed_wide] if shape.mma else []
    if way.windows:
        helpers += [*([] if way.long else [elementwise.divide]), tile.left_of, tile.seen, tile.apart]
    text = write_kernel(
        f"product: {', '.join(map(str, dtypes))} -> {out}; {way.label}.",
        tile.tiles,
        operands=dtypes,
        out=out,
        compute=compute,
        macros=macros,
        constants=constants,
        imports=f"BLOCK = {bounds(way)}\nFMA = True\n",
        helpers=helpers,
        fields=tile.tile_fields(rank, way.windows),
        target=CUDA,
    )
    return Program("_".join(["product", *(d.short for d in dtypes), out.short, way.label, str(rank)]), text)


def bounds(way: Way) -> int | tuple[int, int]:
    """Return the threads of a block, with the number of resident blocks if there are too few registers otherwise."""
    resident = 2 if way.tile.high == 128 and not way.tile.mma and not way.windows else 1
    return way.tile.threads if resident == 1 else (way.tile.threads, resident)


def sides(way: Way, dtypes: tuple[DType, ...], compute: np.dtype[Any]) -> tuple[dict[str, Expand], dict[str, str]]:
    """Return how operands are copied to shared memory, and the positions there."""
    shape = way.tile
    macros: dict[str, Expand] = {}
    names: dict[str, str] = {}
    for k, (size, outer) in enumerate(((shape.high, "ROW"), (shape.broad, "COL"))):
        along, group = way.along[k], 8 if way.copied[k] else 1
        near = (shape.depth if along else size) // group
        first, other = f"t % {near}" + (f" * {group}" if group > 1 else ""), f"t // {near}"
        turn = shape.threads // near  # distance along the other dim of the elements that one thread loads
        copies = size * shape.depth // (group * shape.threads)
        names |= {f"{outer}_{k}": other if along else first, f"K_{k}": first if along else other}
        names |= {f"{outer}S_{k}": str(turn if along else 0), f"DEEP_{k}": str(0 if along else turn)}
        names |= {f"COPIES_{k}": str(copies), f"LOADS_{k}": str(1 if group > 1 else copies)}
        names |= {f"ASYNC_{k}": str(int(group > 1)), f"STORED_{k}": str(int(group == 1))}
        pitch = (size if not along else shape.depth) if shape.mma else size + 4
        names[f"SLICE_{k}"] = str(size * shape.depth if shape.mma else pitch * shape.depth)
        macros[f"PLACE_{k}"] = expression_macro(
            position_text(along, pitch) if shape.mma else f"({{1}}) * {pitch} + ({{0}})"
        )
        taken = "{}" if shape.mma else load_text(dtypes[k], compute, CUDA)[0]
        macros[f"TAKE_{k}"] = expression_macro(taken)
    stages = 3 if shape.mma and all(way.copied) else 2
    names |= {"STAGES": str(stages), "ASYNC": str(int(any(way.copied))), "LANDED": f"copies_landed_{stages - 2}"}
    return macros, names


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


def scalar_part(
    way: Way, dtypes: tuple[DType, ...], constants: dict[str, str], compute: np.dtype[Any]
) -> dict[str, Expand]:
    """Write the product of one thread: a tile in parts, each as wide as one load from shared memory."""
    shape = way.tile
    across = shape.broad // shape.long
    widths = [min(16 // compute.itemsize, 4, n) for n in (shape.tall, shape.long)]
    for k, (width, n, size) in enumerate(zip(widths, (shape.tall, shape.long), (shape.high, shape.broad), strict=True)):
        parts = n // width
        constants |= {f"WIDTH_{k}": str(width), f"PARTS_{k}": str(parts), f"GAP_{k}": str(size // parts)}
        constants |= {f"LANES_{k}": f"load_{width}", f"HELD_{k}": str(n)}
    constants |= {"KEPT": "T", "HELD": "T", "EACH": "1"}
    constants |= {"ROW_T": f"t // {across} * {widths[0]}", "COL_T": f"t % {across} * {widths[1]}"}
    gaps = [int(constants["GAP_0"]), int(constants["GAP_1"])]
    return {
        "ROW": expression_macro(f"{{0}} // {widths[0]} * {gaps[0]} + {{0}} % {widths[0]}"),
        "COLUMN": expression_macro(f"{{0}} // {widths[1]} * {gaps[1]} + {{0}} % {widths[1]}"),
        "ENTRY": expression_macro(f"{{0}} * {shape.long} + {{1}}"),
    }


def mma_part(
    way: Way, dtypes: tuple[DType, ...], constants: dict[str, str], compute: np.dtype[Any]
) -> dict[str, Expand]:
    """Write the product of a warp: 16 x 8 results together, four per lane."""
    shape = way.tile
    across = shape.threads // 32 // shape.down
    parts = [shape.tall // 2, shape.long // 4]  # numbers of parts of a warp: of 16 rows, and of 16 columns
    constants |= {"PARTS_0": str(parts[0]), "PARTS_1": str(parts[1]), "HELD_0": str(4 * parts[0])}
    constants |= {"HELD_1": str(4 * parts[1]), "KEPT": "np.uint16", "HELD": "np.uint32", "EACH": "16"}
    constants["ROW_T"] = f"t // 32 % {shape.down} * {shape.high // shape.down}"
    constants["COL_T"] = f"t // 32 // {shape.down} * {shape.broad // across}"
    for k in range(2):
        constants[f"MATRICES_{k}"] = "ldmatrix" if way.along[k] else "ldmatrix_turned"
    words = ", ".join([*(f"{{0}}[{{1}} + {k}]" for k in range(4)), *(f"{{2}}[{{3}} + {k}]" for k in range(2))])
    sums = ", ".join(f"{{4}}[{{5}} + {k}]" for k in range(4))
    fragments = {f"FRAGMENT_{k}": expression_macro(fragment_text(way, k)) for k in range(2)}
    return fragments | {
        "MULTIPLY": expression_macro(f"mma_{dtypes[0].name}({words}, {sums})"),
        "ROW": expression_macro("{0} // 2 * 16 + lane // 4 + {0} % 2 * 8"),
        "COLUMN": expression_macro("{0} // 2 * 8 + lane % 4 * 2 + {0} % 2"),
        "ENTRY": expression_macro(f"({{0}} // 2 * {2 * parts[1]} + {{1}} // 2) * 4 + {{0}} % 2 * 2 + {{1}} % 2"),
    }
