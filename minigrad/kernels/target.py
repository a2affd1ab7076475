"""What differs between processors in the text of a kernel.

A `Target` is one kind of processor for `specialize`: the lines that a module begins with, what stands above a kernel
and above the functions that it calls, how functions of `math` are made, and halves.  `cpu/target.py` has the CPU's; for
another processor there is one beside it, and the same scalar functions, conversions and named numbers serve it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Target:
    """One kind of processor, for the writer of kernels.

    header: the first lines of every module.
    natives: the lines that give a kernel its operands and its memory.
    kernel: the line above a kernel.
    helper: the line above a function that kernels call, given the liberties that it takes with floats.
    calls: for a compute dtype, what stands for each function of `math`.
    functions: the texts of the functions that a text calls, with what stands above them and the numbers they use.
    guarded: a kernel's body, with its innermost loops in the forms that those functions need.
    halves: the lines that give a kernel `half_to_float` and `float_to_half`.
    """

    header: str
    natives: Callable[[], str]
    kernel: str
    helper: Callable[[Sequence[str]], str]
    calls: Callable[[np.dtype[Any]], dict[str, str]]
    functions: Callable[[str], list[str]]
    guarded: Callable[[str], str]
    halves: Callable[[], str]
