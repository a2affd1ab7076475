"""Macros for a loop over a row: the scalar functions of a `Pass`, in the templates of every target."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minigrad.core.op import ScalarFn
from minigrad.core.rows import Pass, RowFn
from minigrad.kernels.cpu.target import CPU
from minigrad.kernels.pasting import Expand, expression_macro, first_arguments, parsed, scalar_macro
from minigrad.kernels.specialize import neutral_text
from minigrad.kernels.target import Target

# For each kind of loop: the expression that combines two values, and the neutral element.
JOINS = {"sum": ("{0} + {1}", "zero"), "max": ("({1} if {1} > {0} else {0})", "lowest")}


def by_name(
    scalar: ScalarFn, parameters: Sequence[str], known: Mapping[str, str], compute: np.dtype[Any], target: Target = CPU
) -> Expand:
    """Return the macro of a scalar function whose arguments are found by name.

    The value of an argument is the macro's own argument of that name in `parameters`, otherwise the text in `known`.
    """
    macro = scalar_macro(scalar, compute, target)

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        values = dict(zip(parameters, args, strict=False))
        return macro([values[name] if name in values else parsed(known[name]) for name in scalar.args], used)

    return expand


def pass_macros(
    fn: RowFn, loop: Pass, compute: np.dtype[Any], target: Target = CPU, operands: Sequence[int] | None = None,
    total: str = "total_{}", letter: str = "F",
) -> dict[str, Expand]:  # fmt: skip
    """Return the macros of a pass: F computes a term from an element of each operand of the loop and the kept term.

    A loop that computes total 2 also has the macros F_2, START, JOIN and FINISH_2.  A loop of two sums down the columns
    has F_0 and F_1.

    operands: the positions of the operands that F receives, by default those of the loop.  total: the text of the total
    at a position.  letter: the name of the macros instead of F.
    """
    known = {each.name: total.format(k) for k, each in enumerate(fn.totals)}
    parameters = [*(fn.operands[k] for k in (loop.operands if operands is None else operands)), "kept"]
    positions = loop.totals or range(len(loop.scalars))
    macros = {f"{letter}_{k}": by_name(x, parameters, known, compute, target) for k, x in zip(positions, loop.scalars)}
    macros[letter] = macros[f"{letter}_{positions[0]}"]
    for k in loop.totals:
        macros["JOIN"] = expression_macro(JOINS[loop.kind][0])
        macros["START"] = expression_macro(neutral_text(JOINS[loop.kind][1], compute))
        macros["FINISH"] = macros[f"FINISH_{k}"] = first_arguments(fn.totals[k].finish, compute, target)
    return macros
