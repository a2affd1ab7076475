"""The CPU as a target of kernels: Numba's decorators, vectorised functions, the machine's conversions of float16."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.core.dtype import DType
from minigrad.kernels import vecmath
from minigrad.kernels.fields import Fields
from minigrad.kernels.target import Target

FOLDER = Path(__file__).parent


@cache
def version(*files: str) -> str:
    """Return a hash that identifies the versions of files, which a kernel imports: its text alone would not change."""
    return hashlib.sha256(b"".join((FOLDER / file).read_bytes() for file in files)).hexdigest()[:16]


def imported(file: str, makers: str, *lines: str, beside: Sequence[str] = ()) -> str:
    """Return the lines by which a kernel imports functions from a file of this folder, with the hash of their sources.

    beside: other files that these functions read.
    """
    hashed = version(f"{file}.py", *beside)
    made = "".join(f"{line}\n" for line in lines)
    return f"\nfrom minigrad.kernels.cpu.{file} import {makers}\n\n# {file}.py {hashed}\n{made}"


@cache
def natives() -> str:
    """Operands, numbers and memory: see `native.py`."""
    return imported("native", "natives", "operand, numbers_of, entries, workspace, leave = natives()")


@cache
def halves() -> str:
    """The machine's own conversions of float16: see `halves.py`."""
    return imported(
        "halves", "converters", "half_to_float, float_to_half = converters()", beside=["../half.py", "processor.py"]
    )


def helper(liberties: Sequence[str]) -> str:
    """Nobody calls a helper from Python: without wrappers it compiles in half the time."""
    taken = ", fastmath={" + ", ".join(map(repr, sorted(liberties))) + "}" if liberties else ""
    return f'@njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True{taken})\n'


def functions(text: str) -> list[str]:
    """The vectorised functions that a text calls, after the numbers that they use."""
    numbers, texts = vecmath.pasted(vecmath.called(text))
    return ["\n".join(numbers) + "\n", *[vecmath.decorator(each) + each for each in texts]] if texts else []


def walk(
    position: str, sizes: str, length: str, moved: Sequence[tuple[str, str]], named: Callable[[str], str]
) -> list[str]:
    """A loop over the dims, the last one first; without a division by the size of the first, which bounds what is
    left."""
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
    """Return NumPy's name of a buffer's elements, for its dtype or the dtype that the kernel sees."""
    stored = dtype.storage if isinstance(dtype, DType) else dtype
    return "bool_" if stored.kind == "b" else str(stored)


def as_task(
    text: str, start: int, arrays: Sequence[DType | np.dtype[Any] | str], fields: Fields | None, operands: int
) -> str:
    """A kernel over arrays as a task over a table: it finds them by their place, where its body begins after `start`
    lines, and says what the numbers are.

    The last is the numbers.  A template may raise `flag[0]`; one whose first array is of type "table" gets all entries.
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
    # Eager, IEEE division; nobody calls it but by its address, so it needs no wrapper.
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
