"""Elementwise functions around another loop: parts of a kernel that compute an operand or change its result.

`chained.py` prepares the launches; the loops are in `kernels/cpu/rows.py` and `backends/cpu/chained.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minigrad.backends.cpu.texts import row_views, step_words
from minigrad.backends.steps import Value
from minigrad.core.dtype import DType
from minigrad.core.op import ScalarFn
from minigrad.kernels.macros import scalar_macro
from minigrad.kernels.pasting import Expand


class Chain(NamedTuple):
    """A function that computes one operand of a kernel from some of its arrays.

    operand: the position of this operand.
    scalar: the function.
    reads: the positions of the arrays that it reads.
    """

    operand: int
    scalar: ScalarFn
    reads: tuple[int, ...]

    def macro(self, compute: np.dtype[np.generic]) -> Expand:
        """Return the function as a macro of one element per array of the kernel."""
        plain = scalar_macro(self.scalar, compute)

        def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
            return plain([args[position] for position in self.reads], used)

        return expand


def elements_of(steps: str) -> dict[str, str]:
    """Return the texts that index arrays along a row of n elements. steps: the result of `step_words`."""
    return row_views(steps, "u", "n")


class After(NamedTuple):
    """Describe a scalar function that a kernel applies to its result and to additional operands.

    Each additional operand has the layout of the result, or is the same in each row.
    steps: the strides of the additional operands along a row, as `step_words` returns them.
    """

    chain: Chain
    steps: str
    operands: list[Value]

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """The dtypes of the operands."""
        return tuple([x.dtype for x in self.operands])

    def groups(self, cols: int) -> list[tuple[int, int]]:
        """Return for each operand its offset and its stride from row to row. cols: the columns of the result."""
        return [(x.layout.offset, cols if x.layout.is_contiguous else 0) for x in self.operands]


def after_of(scalar: ScalarFn, position: int, others: Sequence[Value], out: Value) -> After | None:
    """Return the After for `scalar`, whose argument `position` is the result of a kernel.

    others: the other arguments.  None is returned if one of them is neither laid out like `out` nor the same in each
    row.
    """
    reads = (*range(1, position + 1), 0, *range(position + 1, len(others) + 1))
    operands = [*others] or [out]  # a kernel needs at least one operand after the result
    steps = []
    for x in operands:
        *outer, last = x.layout.strides
        if not x.layout.is_contiguous and (any(outer) or last not in (0, 1)):
            return None
        steps.append(1 if x.layout.is_contiguous else last)
    return After(Chain(0, scalar, reads), step_words(steps), operands)
