"""What a `RowFn` becomes in the text of a CUDA kernel: which templates of `kernels/cuda/rows.py` are pasted for its
loops, and over what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.core.dtype import DType
from minigrad.core.rows import Pass, RowFn
from minigrad.kernels.cuda import reduction, rows
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.fields import Fields
from minigrad.kernels.passes import JOINS, pass_macros
from minigrad.kernels.pasting import Expand, expression_macro, in_order, inline, paste
from minigrad.kernels.specialize import NOTHING, load_text, store_text

WIDEST = 16  # bytes of one load


@dataclass(frozen=True)
class Form:
    """along: the lanes of a group are neighbours in memory.  loads: of a lane, where rows are held; else 0.  width:
    elements of one.  wide: whether the result, then each operand, is moved so many at once.  back: the derivative of a
    picked element."""

    along: bool
    loads: int
    width: int
    wide: tuple[bool, ...]
    back: bool = False

    def label(self, dtypes: Sequence[DType]) -> str:
        """The form in a kernel's name; dtypes: of the result and each operand.  "by": loads are of 128 bits."""
        way = f"{'held' if self.loads else 'read'}{self.loads or ''}" if self.along else "across"
        sizes = [dtype.itemsize for dtype, wide in zip(dtypes, self.wide, strict=True) if wide]
        if not sizes:
            return way
        word = "by" if self.width * max(sizes) == WIDEST else "of"
        return f"{way}_{word}{self.width}_{''.join('xw'[wide] for wide in self.wide)}"


BODIES = {"sum": rows.join, "max": rows.join, "result": rows.result, "columns": rows.add}


class Lowered:
    """The loops of one kernel: the constants and the macros of `rows.rows`."""

    def __init__(
        self, fn: RowFn, dtypes: Sequence[DType], out: DType, form: Form, fields: Fields, constants: Mapping[str, str]
    ) -> None:
        self.fn, self.form, self.fields, self.compute = fn, form, fields, out.compute
        loops, names = fn.passes(keeps=form.loads > 0), [f"z_{i}" for i in range(form.width)]
        asked = {k for loop in loops if loop.totals for k in loop.operands}
        self.held = tuple(sorted(asked)) if form.loads else ()
        texts = {f"LOAD_{k}": load_text(dtype, out.compute, CUDA)[0] for k, dtype in enumerate(dtypes)}
        texts["STORE"] = store_text(out.compute, out, CUDA)[0]
        self.conversions = {name: expression_macro(text) for name, text in texts.items()}
        self.constants = {
            **constants, "LOADS": str(form.loads), "WIDTH": str(form.width), "SPAN": str(form.loads * form.width),
            "TAKE": f"load_{form.width}", "PUT": f"store_{form.width}", "RESULTS": f"({', '.join(names)},)",
            "WIDELY": str(int(form.wide[0])), "BACK": str(int(form.back)), "HELD": str(self.held),
            "KEEPS": str(int(any(loop.keeps for loop in loops))), "TERMS": str(len(fn.terms)),
        }  # fmt: skip
        totals = [self.lowered(loop) for loop in loops if loop.totals]
        fetch = [self.over(rows.fetch, self.held, ())] if self.held else []
        self.macros = {"TOTALS": in_order([*fetch, *totals]), "LEAVE_SUMS": self.over(rows.leave, (), ())}
        self.macros["ELEMENTS"] = in_order([self.lowered(loop) for loop in loops if not loop.totals])

    def lowered(self, loop: Pass) -> Expand:
        """A pass over a row."""
        macros = pass_macros(self.fn, loop, loop.operands, self.compute, CUDA)
        words = {"KEEPS": str(int(loop.keeps))}
        if loop.totals:
            words |= {"TOTAL": f"total_{loop.totals[0]}", "OF_GROUP": f"{loop.kind}_of_group"}
        return self.over(BODIES[loop.kind], loop.operands, self.held, macros, words)

    def over(
        self, body: Callable[..., Any], operands: Sequence[int], held: Sequence[int],
        macros: Mapping[str, Expand] = NOTHING, constants: Mapping[str, str] = NOTHING,
    ) -> Expand:  # fmt: skip
        """A loop over what a lane has of a row, or a total by such a loop.  held: the operands in registers."""
        others = [k for k in operands if k not in held]
        words = {**self.constants, **constants, "READ": str(tuple(operands))}
        words["HELD"] = str(tuple(k for k in operands if k in held))
        words["WIDE"] = str(tuple(k for k in others if self.form.wide[k + 1]))
        words["SINGLE"] = str(tuple(k for k in others if not self.form.wide[k + 1]))
        every = {**self.conversions, **macros}
        loop = rows.held if self.form.loads else rows.read
        for word, template in {"BRING": rows.bring, "BODY": body, "OVER": loop, "TOTAL": rows.total}.items():
            every[word] = inline(template, operands, every, words, self.fields)
        return every["TOTAL" if "TOTAL" in words else "OVER"]


def joins_text(fn: RowFn, compute: np.dtype[Any], along: bool) -> str:
    """The functions that join what the lanes of a group have, one for each kind of total."""
    text, template = "", reduction.by_lanes if along else reduction.by_rows
    plain = expression_macro("{}")
    for join in dict.fromkeys(total.join for total in fn.totals):
        macros = {"COMBINE": expression_macro(JOINS[join][0]), "SEND": plain, "RECEIVE": plain}
        pasted = paste(template, 0, macros, {"WIRE": "T", "TOLD": "1"}, None, CUDA.walk)
        text += "\n\n@device\n" + pasted.replace(f"def {template.__name__}(", f"def {join}_of_group(", 1)
    return text
