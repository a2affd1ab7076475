"""The texts of a nest over rows: the passes that compute the totals of a band, the rows of its operands, and results.

`rows.py` and `picks.py` write kernels from them; the templates are in `kernels/cpu/rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from minigrad.backends.cpu.texts import helper
from minigrad.core.dtype import DType
from minigrad.core.op import Spec
from minigrad.core.rows import Pass, RowFn
from minigrad.kernels.cpu import rows
from minigrad.kernels.cpu.target import imported
from minigrad.kernels.macros import pass_macros
from minigrad.kernels.pasting import LEFT_OUT, Macro, Part, paste

BAND, ELEMENTS = 8, 2048  # the maximum number of rows of a band, and of elements of several rows of an operand


def band_of(n: int) -> int:
    """Return the number of rows of n elements whose totals are computed together; they stay in the first-level cache.

    softmax of (1024, 64) on a Zen 5: 25 us with one row, 19 with 4, 18 with 8 or 16.
    """
    return max(1, min(BAND, ELEMENTS // max(n, 1)))


def is_direct(x: Spec, out: Spec, dim: int = -1) -> bool:
    """Return whether the rows of an operand can be read as slices."""
    return x.layout.strides[dim] == 1 and x.dtype.storage == out.dtype.compute


def cost(fn: RowFn) -> int:
    """Return the approximate cost of an element, in additions."""
    made = fn.terms if fn.result is None else (fn.result, *fn.terms)
    return sum(scalar.cost for scalar in made) + sum(total.term.cost for total in fn.totals)


def totals_of(
    fn: RowFn, loops: Sequence[Pass], compute: np.dtype[Any], direct: Collection[int], filled: Collection[int],
    kept: str,
) -> tuple[str, list[Part]]:  # fmt: skip
    """Return the functions that compute totals of a row, and the parts that call them for each row of a band.

    direct: the positions of the operands that are read as slices.
    filled: the positions of those that are read from scratch rows.
    kept: the row in which a pass stores its terms.
    """
    text, parts = "", []
    for position, loop in enumerate(loop for loop in loops if loop.totals):
        last = loop.totals[-1] + 1
        earlier, stores = range(loop.totals[0]), ["kept"] if loop.keeps else []
        template: Callable[..., Any] = rows.largest if loop.kind == "max" else rows.sums
        macros = pass_macros(fn, loop, compute)
        parameters = ", ".join(["n", *[f"total_{k}" for k in earlier], *stores])
        totals = ", ".join([f"total_{k}" for k in loop.totals])
        constants = {
            "FOUND": loop.totals,
            "TOTALS": totals,
            "GIVEN": parameters,
            "KEEPS": loop.keeps,
            **order_of(compute),
        }
        pasted = paste(template, loop.operands, macros, constants)
        text += helper(pasted, template, f"find_{position}", "" if loop.kind == "max" else "reassoc", inlined=True)
        args = [*[f"x_{k}" for k in loop.operands], "n", *[f"totals_{k}[i]" for k in earlier], *stores]
        named = {
            "FOUND": loop.totals, "FIND": f"find_{position}({', '.join(args)})",
            "RESULTS": ", ".join([f"totals_{k}[i]" for k in range(loop.totals[0], last)]),
            "FINISHED": any(fn.totals[k].finish is not None for k in loop.totals),
            "KEPT": kept if loop.keeps else LEFT_OUT,
        }  # fmt: skip
        takes = {"TAKE": [take({*direct} & {*loop.operands}, {*filled} & {*loop.operands})]}
        parts.append(Part(rows.passed, {**macros, **takes}, named, loop.operands))
    return text, parts


def take(direct: Collection[int], filled: Collection[int]) -> Part:
    """Return the part that makes row i of some operands."""
    return Part(rows.take, {}, {"SLICED": tuple(sorted(direct)), "FILLED": tuple(sorted(filled))})


def order_of(compute: np.dtype[Any]) -> dict[str, Any]:
    """Return the constants of integers that have the order of floats.

    LEAST is the integer of -inf.
    """
    size = 8 * compute.itemsize
    highest = (1 << size - 1) - 1
    lowest = int(np.array(-np.inf, compute).view(f"i{compute.itemsize}")) ^ highest
    return {"SIGNED": f"np.int{size}", "SHIFT": size - 1, "HIGHEST": highest, "LEAST": lowest}


def elements(fn: RowFn, loops: Sequence[Pass], compute: np.dtype[Any], total: str = "total_{}") -> dict[str, Any]:
    """Return the words F, the result, and G_0 and G_1, the terms that are summed down the columns.

    Their arguments are an element of every operand.
    """
    words: dict[str, Any] = {}
    for loop in loops:
        if not loop.totals:
            letter = "F" if loop.kind == "result" else "G"
            macros = pass_macros(fn, loop, compute, operands=range(len(fn.operands)), total=total, letter=letter)
            words |= {name: Macro(macro) for name, macro in macros.items()}
    return words


def along(
    fn: RowFn, direct: Sequence[bool | None], out: DType, keeps: bool, streamed: bool = False,
    computed: Sequence[int] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return the words of a nest over rows along memory, and the functions it calls.

    direct: None for an operand that is read only to compute other operands.
    computed: the operands that are computed.
    """
    loops = fn.passes(2, keeps)
    keeps, dense = any(loop.keeps for loop in loops), out.storage == out.compute
    sliced = [k for k, slices in enumerate(direct) if slices]
    fetched = [k for k, slices in enumerate(direct) if slices is False]
    spare = streamed or (keeps and not dense)
    filled = [*fetched, *computed]
    result = "out[start + i * move : start + i * move + n]"
    extra = "scratch[base + i * wide : base + i * wide + n]"
    constants = {f"ROOM_{k}": position for position, k in enumerate(filled)} | {
        "SCRATCH": len(filled) + spare, "SPARE": spare, "LAST": len(filled), "COUNT": len(fn.totals),
        "FETCHED": tuple(fetched), "COMPUTED": tuple(computed), "STREAMED": streamed,
        "KEPT": LEFT_OUT if not keeps else "z" if dense else extra,
        "ROW": LEFT_OUT if fn.result is None else extra if streamed else result,
    }  # fmt: skip
    text, totals = totals_of(fn, loops, out.compute, sliced, filled, extra if spare else result)
    macros = {"ROOMS": [Part(rows.workspaces)], "NEXT": [Part(rows.next_band)], "FETCH": [Part(rows.fetch)],
              "TOTALS": totals, "ALL": [take(sliced, filled)]}  # fmt: skip
    if streamed:  # stores past the caches
        text += imported("stream", "streams", f"stream, settle = streams({out.compute.itemsize})")
    return constants | macros | elements(fn, loops, out.compute) | {"imports": text}
