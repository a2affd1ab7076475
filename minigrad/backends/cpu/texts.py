"""Pieces of kernel texts that several families paste: how neighbours are indexed, floats among the numbers,
functions of their own, lines of headers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from minigrad.core.dtype import DType
from minigrad.kernels.cpu.processor import tile_shape
from minigrad.kernels.cpu.target import CPU, imported
from minigrad.kernels.orders import keep_macro as keep_macro
from minigrad.kernels.pasting import LEFT_OUT


def column_views(dense: Sequence[bool]) -> dict[str, str]:
    """Return the texts that index elements of neighbouring rows.

    A run of step 1 is indexed through a slice, otherwise it would not vectorise; other steps may be negative.
    """
    constants = {}
    for k, unit in enumerate(dense):
        constants[f"VIEW_{k}"] = f"in_{k}[p_{k} : p_{k} + count]" if unit else f"in_{k}"
        constants[f"PLACE_{k}"] = "j" if unit else f"np.uint64(p_{k} + j * step_{k})"
    return constants


def step_words(steps: Sequence[int]) -> str:
    """Return the step of each array along a row: "0", "1", or "s" for any other, which a kernel reads at run time."""
    return "".join([str(step) if step in (0, 1) else "s" for step in steps])


def row_views(steps: str, view: str, length: str) -> dict[str, str]:
    """Return the words `RUN_K`, the slice of array K along a row, and `AT_K`, its element j.

    steps: as `step_words` returns them.  view: the name of a slice.  length: that of the number of elements.

    A run of step 1 is indexed through a slice, otherwise it would not vectorise.  Other indices are unsigned, because a
    signed one is tested for wrapping around at each element.
    """
    constants = {}
    for k, step in enumerate(steps):
        run = {"0": f"in_{k}[at_{k} :]", "1": f"in_{k}[at_{k} : at_{k} + {length}]"}
        at = {"0": f"{view}_{k}[0]", "1": f"{view}_{k}[j]"}
        constants[f"RUN_{k}"] = run.get(step, LEFT_OUT)
        constants[f"AT_{k}"] = at.get(step, f"in_{k}[np.uint64(at_{k} + j * step_{k})]")
    return constants


def bits(value: float) -> int:
    """A float64 as the integer that travels among the numbers; `from_bits` is what a kernel makes of it."""
    return int(np.float64(value).view(np.int64))


def from_bits(position: str) -> str:
    """The text of a float64 whose bits are a number."""
    return f"np.int64(numbers[{position}]).view(np.float64)"


def helper(text: str, template: Callable[..., Any], name: str, liberty: str = "") -> str:
    """A pasted function under another name, for the module of a kernel."""
    head = "\n\n" + CPU.helper((liberty,) if liberty else ())
    return head + text.replace(f"def {template.__name__}(", f"def {name}(", 1)


def moving_header() -> str:
    """The lines that give a kernel `move` and `fetch`."""
    return imported("moving", "movers", "move, fetch = movers()")


def short_header() -> str:
    """The lines that give a kernel short sums in the vectors of the processor."""
    lanes = imported("processor", "tile_shape")
    return lanes + imported("short", "short_sums", 'short_sum = short_sums(tile_shape("float32")[0])')


def stream_header(itemsize: int) -> str:
    """The lines that give a kernel stores past the caches."""
    return imported("stream", "streams", f"stream, settle = streams({itemsize})")


def tile_header(dtype: DType, *functions: Callable[..., Any], width: str = "NR") -> str:
    """The lines that give a kernel the shape of the tile, and of the rest what its functions read: the tile itself in
    three forms, squares turned around, the width of the panels that `pack` writes."""
    read = {name for function in functions for name in function.__code__.co_names}
    lines = {
        "SIDE": "SIDE = min(LANES, 8)",
        "WIDTH": f"WIDTH = {width}",
        "tile": f'tile = register_tile("{dtype}", LANES, MR, VECTORS)',
        "by_depth": f'by_depth = register_tile("{dtype}", LANES, MR, VECTORS, "depth")',
        "by_rows": f'by_rows = register_tile("{dtype}", LANES, MR, VECTORS, "rows")',
        "transpose": f'transpose = transpose_block("{dtype}", LANES)',
    }
    wanted = [line for name, line in lines.items() if name in read]
    tile = ["register_tile"] if read & {"tile", "by_depth", "by_rows"} else []
    makers = [*tile, *(["transpose_block"] if "transpose" in read else [])]
    shape = [f'LANES, MR, VECTORS = tile_shape("{dtype}")', "NR = VECTORS * LANES"]
    sizes = imported("processor", "tile_shape", *shape)
    return sizes + (imported("tile", ", ".join(makers), *wanted) if makers else "\n".join([*wanted, ""]))


@cache
def tile_size(dtype: DType) -> tuple[int, int]:
    """Return the rows and columns of the tile that `tile_header` passes to a kernel."""
    lanes, rows, vectors = tile_shape(str(dtype))
    return rows, vectors * lanes
