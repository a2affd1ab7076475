"""Rows in the text of a CUDA kernel: the templates of `kernels/cuda/rows.py` for each loop of a `RowFn`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.core.dtype import DType
from minigrad.core.rows import Pass, RowFn
from minigrad.kernels.cuda import reduction, rows
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.macros import JOINS, expression_macro, pass_macros, stored
from minigrad.kernels.pasting import Part, paste

WIDEST = 16  # size in bytes of one load


@dataclass(frozen=True)
class Form:
    """Describe the form of a kernel that computes rows.

    along: whether the lanes of a group read neighbours in memory.
    loads: the number of loads per lane if registers store the rows, otherwise 0.
    width: the number of elements of one load.
    wide: for the result and then for each operand, whether `width` elements are loaded or stored at once.
    back: whether the kernel computes the gradient of `Pick`.
    """

    along: bool
    loads: int
    width: int
    wide: tuple[bool, ...]
    back: bool = False

    def label(self, dtypes: Sequence[DType]) -> str:
        """Return the form as a part of a kernel's name. dtypes: of the result and each operand.

        "by": loads are of 128 bits.
        """
        way = f"{'held' if self.loads else 'read'}{self.loads or ''}" if self.along else "across"
        sizes = [dtype.itemsize for dtype, wide in zip(dtypes, self.wide, strict=True) if wide]
        if not sizes:
            return way
        word = "by" if self.width * max(sizes) == WIDEST else "of"
        return f"{way}_{word}{self.width}_{''.join('xw'[wide] for wide in self.wide)}"


BODIES = {"sum": rows.join, "max": rows.join, "result": rows.result, "columns": rows.add}


def row_words(fn: RowFn, form: Form, compute: np.dtype[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the loops that are pasted into `rows.rows`, and their constants."""
    loops, width = fn.passes(keeps=form.loads > 0), form.width
    asked = {k for loop in loops if loop.totals for k in loop.operands}
    held = tuple(sorted(asked)) if form.loads else ()
    fetch = [over(form, rows.fetch, held, ())] if held else []
    totals, elements = ([lowered(fn, x, form, held, compute) for x in loops if bool(x.totals) == f] for f in (1, 0))
    macros = {
        "TOTALS": fetch + totals, "ELEMENTS": elements, "LEAVE_SUMS": [over(form, rows.leave, (), ())],
        "BRING": [Part(rows.bring)],
    }  # fmt: skip
    constants = {
        "LOADS": form.loads, "WIDTH": width, "SPAN": form.loads * width, "HELD": held, "TERMS": len(fn.terms),
        "TAKE": f"load_{width}", "PUT": f"store_{width}", "WIDELY": form.wide[0], "BACK": form.back,
        "RESULTS": f"({', '.join(f'z_{i}' for i in range(width))},)", "KEEPS": any(loop.keeps for loop in loops),
    }  # fmt: skip
    return macros, constants


def lowered(fn: RowFn, loop: Pass, form: Form, held: Sequence[int], compute: np.dtype[Any]) -> Part:
    """Return the text part of a pass over a row. held: the operands in registers."""
    part = over(form, BODIES[loop.kind], loop.operands, held)
    macros = pass_macros(fn, loop, compute, CUDA)
    if not loop.totals:
        return part._replace(macros={**part.macros, **macros})
    words = {"TOTAL": f"total_{loop.totals[0]}", "OF_GROUP": f"{loop.kind}_of_group", "KEEPS": loop.keeps}
    return Part(rows.total, {**macros, "OVER": [part]}, words)


def over(form: Form, body: Callable[..., Any], operands: Sequence[int], held: Sequence[int]) -> Part:
    """Return a loop over the elements of these operands that a lane has."""
    wide = [k for k in operands if k not in held and form.wide[k + 1]]
    constants = {
        "READ": tuple(operands), "HELD": tuple(k for k in operands if k in held), "WIDE": tuple(wide),
        "SINGLE": tuple(k for k in operands if k not in held and k not in wide),
    }  # fmt: skip
    return Part(rows.held if form.loads else rows.read, {"BODY": [Part(body)]}, constants, operands)


def joins_text(fn: RowFn, along: bool) -> str:
    """Return the functions that join the values of the lanes of a group, one for each kind of total."""
    text, template = "", reduction.by_lanes if along else reduction.by_rows
    plain = expression_macro("{}")
    for join in dict.fromkeys(total.join for total in fn.totals):
        macros = {"COMBINE": stored(expression_macro(JOINS[join][0])), "SEND": plain, "RECEIVE": plain}
        pasted = paste(template, 0, macros, {"WIRE": "T", "TOLD": "1"}, None, CUDA.walk)
        text += "\n\n@device\n" + pasted.replace(f"def {template.__name__}(", f"def {join}_of_group(", 1)
    return text
