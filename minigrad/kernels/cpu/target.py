"""The CPU as a target of kernels: Numba's decorators, vectorised functions, float16 conversions."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.core.dtype import DType
from minigrad.kernels import vecmath
from minigrad.kernels.fields import Fields
from minigrad.kernels.objects import digest
from minigrad.kernels.target import Target

FOLDER = Path(__file__).parent


@cache
def version(*files: str) -> str:
    """Return a hash of the code of files that a kernel imports, because its own text would not change with them."""
    return digest("".join((FOLDER / file).read_text(encoding="utf-8") for file in files))[:16]


def imported(file: str, makers: str, *lines: str, beside: Sequence[str] = ()) -> str:
    """Return the lines by which a kernel imports functions from a file of this folder, with the hash of their sources.

    beside: other files that these functions read.
    """
    made = "".join(f"{line}\n" for line in lines)
    hashed = (
        f'{file}_py = "{version(f"{file}.py", *beside)}"'  # an assignment, because comments are not part of the key
    )
    return f"\nfrom minigrad.kernels.cpu.{file} import {makers}\n\n{hashed}\n{made}"


@cache
def natives() -> str:
    """Return the lines that define operands, numbers and memory: see `native.py`."""
    return imported("native", "natives", "operand, numbers_of, entries, workspace, leave = natives()")


def moving_header() -> str:
    """Return the lines that define `move` and `fetch` for a kernel."""
    return imported("moving", "movers", "move, fetch = movers()")


def tile_header(
    dtype: DType, *functions: Callable[..., Any], width: str = "NR", paired: bool = False, wide: bool = False
) -> str:
    """Return the lines that define the shape of the tile, and everything else that a kernel's functions read.

    This can be the tile itself in three forms, transposed squares, and the width and the rows of the panels that `pack`
    writes.
    paired: whether the elements of operands are pairs of bfloat16.  wide: whether the tile is `wide_tile`.
    """
    read = {name for function in functions for name in function.__code__.co_names}
    maker = "wide_tile" if wide else "tile_shape"
    shape = [f'LANES, MR, VECTORS = {maker}("{dtype}")', "NR = VECTORS * LANES"]
    lines = {
        "SIDE": "SIDE = min(LANES, 8)",
        "WIDTH": f"WIDTH = {width}",
        "tile": f'tile = register_tile("{dtype}", LANES, MR, VECTORS{", paired=True" * paired}{", far=True" * wide})',
        "by_depth": f'by_depth = register_tile("{dtype}", LANES, MR, VECTORS, "depth")',
        "by_rows": f'by_rows = register_tile("{dtype}", LANES, MR, VECTORS, "rows")',
        "transpose": f'transpose = transpose_block("{dtype}", LANES)',
        "transpose_pairs": 'transpose_pairs = transpose_block("int32", LANES, paired=True)',
        "copy_row": f'copy_row = copy_of_row("{dtype}", WIDTH)',
        "copy_vector": f'copy_vector = copy_of_row("{dtype}", LANES)',
    }
    makers = {
        "transpose": "transpose_block", "transpose_pairs": "transpose_block", "copy_row": "copy_of_row",
        "copy_vector": "copy_of_row",
    }  # fmt: skip
    tiles = [lines[name] for name in ("tile", "by_depth", "by_rows") if name in read]
    copies = [lines[name] for name in makers if name in read]
    text = imported("processor", maker, *shape, *[lines[name] for name in ("SIDE", "WIDTH") if name in read])
    if tiles:
        text += imported("tile", "register_tile", *tiles, beside=["emitting.py"])
    if copies:
        used = dict.fromkeys(maker for name, maker in makers.items() if name in read)
        text += imported("vectors", ", ".join(used), *copies, beside=["emitting.py"])
    return text


def square_header(dtype: DType) -> str:
    """Return the lines that define the squares of a copy: up to 16 elements, a cache line of float32."""
    shape = [f'LANES = tile_shape("{dtype}")[0]', "SIDE = min(LANES, 16)"]
    block = f'transpose = transpose_block("{dtype}", LANES, most=16)'
    text = imported("processor", "tile_shape", *shape)
    return text + imported("vectors", "transpose_block", block, beside=["emitting.py"])


def tiles(words: Any, dtype: DType, functions: Sequence[Callable[..., Any]]) -> str:
    """Return the lines of `tile_header`, as the `imports` of a `loop`."""
    return tile_header(dtype, *functions)


@cache
def halves() -> str:
    """Return the lines that import the machine's float16 conversions: `halves.py`."""
    return imported(
        "halves", "converters", "half_to_float, float_to_half = converters()", beside=["../half.py", "processor.py"]
    )


def helper(liberties: Sequence[str], inlined: bool) -> str:
    """Return the decorator of a helper.

    It has no wrappers, because Python does not call helpers; without wrappers, a helper compiles twice as fast.
    inlined: whether the compiler must inline its calls, also if the helper is long.
    """
    taken = ", fastmath={" + ", ".join(map(repr, sorted(liberties))) + "}" if liberties else ""
    taken += ", forceinline=True" if inlined else ""
    return f'@njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True{taken})\n'


def functions(text: str) -> list[str]:
    """Return the constants and the vectorised functions that a text uses."""
    numbers, texts = vecmath.pasted(vecmath.called(text))
    return ["\n".join(numbers) + "\n", *[vecmath.decorator(each) + each for each in texts]] if texts else []


def walk(
    position: str, sizes: str, length: str, moved: Sequence[tuple[str, str]], named: Callable[[str], str]
) -> list[str]:
    """Return a loop that splits a position into indices, from the last dim to the first.

    The index of the first dim is the remaining position, so it needs no division.
    """
    d, index = named("d"), named("index")
    return [
        f"for {d} in range({length} - 1, 0, -1):",
        f"    {index} = {position} % {sizes}[{d}]",
        f"    {position} //= {sizes}[{d}]",
        *[f"    {name} += {index} * {steps}[{d}]" for name, steps in moved],
        f"if {length} > 0:",
        *[f"    {name} += {position} * {steps}[0]" for name, steps in moved],
    ]


def element(dtype: DType | np.dtype[Any]) -> str:
    """Return NumPy's name for the elements of a buffer, from a DType or from a NumPy dtype."""
    stored = dtype.storage if isinstance(dtype, DType) else dtype
    return "bool_" if stored.kind == "b" else str(stored)


def as_task(
    text: str, start: int, arrays: Sequence[DType | np.dtype[Any] | str], fields: Fields | None, operands: int
) -> str:
    """Return a kernel over arrays as a kernel of tasks over a table.

    After the first `start` lines of the text, it assigns the arrays from their entries in the table, with a comment
    that names the numbers, which are the last argument.  A template may set `flag[0]`.  A template whose first array
    has the type "table" receives all entries.
    """
    head, _, rest = text.partition("\n")
    names = head[head.index("(") + 1 : head.rindex(")")].split(", ")
    lines = []
    for k, (name, dtype) in enumerate(zip(names[:-1], arrays, strict=True), 2):
        source = "entries(table)" if isinstance(dtype, str) else f"operand(table, {k}, np.{element(dtype)})"
        lines.append(f"{name} = {source}")
    if fields:
        lines += textwrap.wrap(f"numbers: {fields}", 110, initial_indent="# ", subsequent_indent="# ")
    lines.append(f"{names[-1]} = numbers_of(table)")
    if "flag[0]" in rest:
        lines.insert(0, "flag = operand(table, 0, np.int64)")
    every = text.split("\n")
    return "\n".join(
        ["def kernel(first, last, table):", *every[1:start], *[f"    {line}" for line in lines], *every[start:]]
    )


CPU = Target(
    header="import math\n\nimport numpy as np\nfrom numba import njit\n",
    natives=natives,
    # Compiled eagerly, with IEEE division, and without wrappers, because it is called only by its address.
    kernel='@njit("void(int64, int64, int64)", error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)\n',
    helper=helper,
    calls=vecmath.calls,
    functions=functions,
    guarded=vecmath.guarded,
    halves=halves,
    truths=("{}", "{}"),
    walk=walk,
    entry=as_task,
)
