"""Elementwise functions around another loop: the words of a kernel that computes an operand or changes its result.

`chained.py` prepares the launches; the loops are in `kernels/cpu/rows.py` and `kernels/cpu/chained.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minigrad.backends.steps import Value
from minigrad.core.dtype import DType
from minigrad.core.op import ScalarFn
from minigrad.kernels.pasting import LEFT_OUT, Expand, scalar_macro


class Chain(NamedTuple):
    """A function that computes one operand of a kernel from some of its arrays.

    operand: its position.  scalar: the function.  positions: the positions of the arrays that it reads.  steps: of all
    arrays of the kernel, see `neighbours`.
    """

    operand: int
    scalar: ScalarFn
    positions: tuple[int, ...]
    steps: str

    def macro(self, compute: np.dtype[np.generic]) -> Expand:
        """Return the function as a macro of an element of each array of the kernel."""
        plain = scalar_macro(self.scalar, compute)

        def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
            return plain([args[position] for position in self.positions], used)

        return expand


def words_of(steps: Sequence[int]) -> str:
    """Return the step of each array along a row: "0", "1", or "s" for any other, which a kernel reads at run time."""
    return "".join([str(step) if step in (0, 1) else "s" for step in steps])


def neighbours(steps: str) -> dict[str, str]:
    """Return the words `RUN_K`, the slice of an array along a row of n, and `AT_K`, its element j.

    A run of step 1 is indexed through a slice, otherwise it would not vectorise; other steps may be negative.
    """
    constants = {}
    for k, step in enumerate(steps):
        run = {"0": f"in_{k}[at_{k} :]", "1": f"in_{k}[at_{k} : at_{k} + n]"}
        at = {"0": f"u_{k}[0]", "1": f"u_{k}[j]"}
        constants[f"RUN_{k}"] = run.get(step, LEFT_OUT)
        constants[f"AT_{k}"] = at.get(step, f"in_{k}[np.uint64(at_{k} + j * step_{k})]")
    return constants


class After(NamedTuple):
    """A function of the result of a kernel and of more operands, which are like the result or the same in each row."""

    chain: Chain
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
    positions = (*range(1, position + 1), 0, *range(position + 1, len(others) + 1))
    steps = ""
    others = others or [out]  # a kernel has at least one
    for x in others:
        *outer, last = x.layout.strides
        if not x.layout.is_contiguous and (any(outer) or last not in (0, 1)):
            return None
        steps += "0" if not x.layout.is_contiguous and last == 0 else "1"
    return After(Chain(0, scalar, positions, steps), [*others])
