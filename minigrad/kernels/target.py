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

from minigrad.kernels.fields import Fields

# The lines that take a place apart: the names of the place and of the list of sizes, how long that is, what moves on by
# which steps, and a maker of names.
Walk = Callable[[str, str, str, Sequence[tuple[str, str]], Callable[[str], str]], list[str]]


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
    truths: how a truth value in memory is read, and how one is stored, as expressions in `{}`.
    walk: the lines that `walk(...)` in a template stands for.
    entry: a kernel over arrays as it is called: its text, how many lines stand above its body, the dtypes of the
        arrays, its numbers, and how many operands there are.
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
