"""The differences between processors in the text of a kernel.

A `Target` describes one kind of processor to `specialize`: the first lines of a module, the decorators of a kernel and
of the functions that it calls, the functions of `math`, and the 16-bit floats.  `cpu/target.py` has the Target of the
CPU, and `cuda/target.py` that of CUDA.  All targets share the scalar functions, the conversions and the named numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.kernels.fields import Fields

# Returns the lines that split a position into indices.  Arguments: the names of the position and of the list of sizes,
# the length of this list, the pairs of an offset and its steps, and a function that returns a new name.
Walk = Callable[[str, str, str, Sequence[tuple[str, str]], Callable[[str], str]], list[str]]


@dataclass(frozen=True)
class Target:
    """One kind of processor, for the writer of kernels.

    header: the first lines of every module.
    natives: returns the lines that define a kernel's operands and memory.
    kernel: the line above a kernel.
    helper: returns the line above a function that kernels call, from the relaxations of its float arithmetic and
    whether the compiler must inline it.
    calls: returns the replacement of each function of `math` for a compute dtype.
    functions: returns the texts of the functions that a text calls, with their decorators and constants.
    guarded: returns a kernel's body, with its innermost loops in the forms that those functions need.
    halves: returns the lines that define `half_to_float` and `float_to_half`.
    truths: the expressions in `{}` that read a boolean from memory and that store one.
    walk: returns the lines that replace `walk(...)` in a template.
    entry: returns the form of a kernel that is called, from its text, the count of lines above its body, the dtypes of
        its arrays, its numbers, and the count of groups of numbers except the first one.
    """

    header: str
    natives: Callable[[], str]
    kernel: str
    helper: Callable[[Sequence[str], bool], str]
    calls: Callable[[np.dtype[Any]], dict[str, str]]
    functions: Callable[[str], list[str]]
    guarded: Callable[[str], str]
    halves: Callable[[], str]
    truths: tuple[str, str]
    walk: Walk
    entry: Callable[[str, int, Sequence[Any], Fields | None, int], str]
