"""The differences between processors in the text of a kernel.

A `Target` is one kind of processor for `specialize`: the first lines of a module, the lines above a kernel and above
the functions that it calls, the functions of `math`, and the 16-bit floats.  `cpu/target.py` has the CPU's,
`cuda/target.py` that of CUDA. The same scalar functions, conversions and named numbers serve all targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.kernels.fields import Fields

# Generates the lines that split a position.  Arguments: the names of the position and of the list of sizes, the length
# of this list, the offsets with their steps, and a function that makes names.
Walk = Callable[[str, str, str, Sequence[tuple[str, str]], Callable[[str], str]], list[str]]


@dataclass(frozen=True)
class Target:
    """One kind of processor, for the writer of kernels.

    header: the first lines of every module.
    natives: the lines that define a kernel's operands and memory.
    kernel: the line above a kernel.
    helper: the line above a function that kernels call, for the relaxations of its float arithmetic.
    calls: for a compute dtype, the replacement of each function of `math`.
    functions: the texts of the functions that a text calls, with the lines above them and the numbers they use.
    guarded: a kernel's body, with its innermost loops in the forms that those functions need.
    halves: the lines that define `half_to_float` and `float_to_half`.
    truths: expressions in `{}` that read a boolean from memory and that store one.
    walk: the lines that replace `walk(...)` in a template.
    entry: a kernel over arrays as it is called: its text, the count of lines above its body, the dtypes of the arrays,
        its numbers, and the count of operands.
    """

    header: str
    natives: Callable[[], str]
    kernel: str
    helper: Callable[[Sequence[str]], str]
    calls: Callable[[np.dtype[Any]], dict[str, str]]
    functions: Callable[[str], list[str]]
    guarded: Callable[[str], str]
    halves: Callable[[], str]
    truths: tuple[str, str]
    walk: Walk
    entry: Callable[[str, int, Sequence[Any], Fields | None, int], str]
