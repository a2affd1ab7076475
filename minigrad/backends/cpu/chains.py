"""Elementwise functions around another loop: the words of a kernel that computes an operand or changes its result.

`chained.py` prepares the launches; the loops are in `kernels/cpu/rows.py` and `kernels/cpu/chained.py`.
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
from minigrad.kernels.pasting import Expand, scalar_macro


class Chain(NamedTuple):
    """A function that computes one operand of a kernel from some of its arrays.

    operand: its position.  scalar: the function.  reads: the positions of the arrays that it reads.
    """

    operand: int
    scalar: ScalarFn
    reads: tuple[int, ...]

    def macro(self, compute: np.dtype[np.generic]) -> Expand:
        """Return the function as a macro of an element of each array of the kernel."""
        plain = scalar_macro(self.scalar, compute)

        def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
            return plain([args[position] for position in self.reads], used)

        return expand


def elements_of(steps: str) -> dict[str, str]:
    """Return the words of the arrays along a row of n; steps: as `step_words` returns them."""
    return row_views(steps, "u", "n")


class After(NamedTuple):
    """A function of the result of a kernel and of more operands, which are like the result or the same in each row.

    steps: of these operands along a row, as `step_words` returns them.
    """

    chain: Chain
    steps: str
    operands: list[Value]

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """The dtypes of the operands."""
        return tuple([x.dtype for x in self.operands])

    def groups(self, cols: int) -> list[tuple[int, int]]:
        """Return for each operand its offset and its step from row to row; cols: of the result."""
        return [(x.layout.offset, cols if x.layout.is_contiguous else 0) for x in self.operands]


def after_of(scalar: ScalarFn, position: int, others: Sequence[Value], out: Value) -> After | None:
    """Return the function after a kernel: `scalar`, of which argument `position` is the result of the kernel.

    others: the other arguments.  None if one of them has another layout than the result.
    """
    reads = (*range(1, position + 1), 0, *range(position + 1, len(others) + 1))
    operands = [*others] or [out]  # a kernel has at least one
    steps = []
    for x in operands:
        *outer, last = x.layout.strides
        if not x.layout.is_contiguous and (any(outer) or last not in (0, 1)):
            return None
        steps.append(1 if x.layout.is_contiguous else last)
    return After(Chain(0, scalar, reads), step_words(steps), operands)
