"""The CPU as a target of kernels: Numba's decorators, vectorised functions, the machine's own conversions of halves."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from minigrad.kernels import vecmath
from minigrad.kernels.target import Target

FOLDER = Path(__file__).parent


@cache
def version(*files: str) -> str:
    """What tells versions of files apart: a kernel is known by its text, and what it imports is not in it."""
    return hashlib.sha256(b"".join((FOLDER / file).read_bytes() for file in files)).hexdigest()[:16]


def imported(file: str, makers: str, *lines: str, beside: Sequence[str] = ()) -> str:
    """The lines that give a kernel what functions of a file of this folder make, with the hash of what they come from.

    beside: other files that these functions read.
    """
    hashed = version(f"{file}.py", *beside)
    made = "".join(f"{line}\n" for line in lines)
    return f"\nfrom minigrad.kernels.cpu.{file} import {makers}\n\n# {file}.py {hashed}\n{made}"


@cache
def natives() -> str:
    """Operands, numbers and memory: see `native.py`."""
    return imported("native", "natives", "operand, numbers_of, entries, room, leave = natives()")


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
)
