"""Rows on the CPU: their direction in memory, their division between threads, and the kernels for them.

The loops are in `kernels/cpu/rows.py`; a `RowFn` specifies the computation.  A result is dense.  Rows along its memory
are read as slices if an operand has step 1 and the register dtype, otherwise through a scratch row.  Rows across it are
processed in blocks of neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.texts import Chain, bits, elements_of, helper, row_views
from minigrad.backends.shared import lines_of
from minigrad.backends.steps import Value
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.plan import pieces
from minigrad.core.rows import Pass, RowFn
from minigrad.kernels.cpu import rows
from minigrad.kernels.cpu.target import imported
from minigrad.kernels.macros import pass_macros
from minigrad.kernels.pasting import LEFT_OUT, Late, Macro, Part, paste

PARTS = 16  # number of chunks of rows with separate column sums
ROWS_A_PART = 16  # minimum number of rows per chunk
# Size in bytes from which a result bypasses the caches; a smaller result may still be cached for its reader.
STREAMED = 1 << 24
# Limits in bytes of a row that bypasses the caches: many cache lines, and a workspace in the second-level cache.
ROW_BYTES = (1 << 10, 1 << 18)


@serves(CpuBackend, requests.MapRows)
def map_rows(steps: CpuSteps, request: requests.MapRows) -> None:
    fn, dim, value = request.fn, request.dim, request.value
    if fn.terms:
        _sum_columns(steps, fn, value)
        return
    (out,), operands = steps.outs, steps.operands
    n = out.shape[dim]
    if out.layout.strides[dim] != 1 and n > 1:
        _across(steps, out, operands, fn, dim, value)
        return
    share = pieces(out.layout.numel // n, CHUNK // n)
    numbers, direct = along_numbers(out, operands, dim, value, share)
    run_rows(steps, fn, operands, {"out": out}, direct, is_streamed(out, n), numbers)


def _across(steps: CpuSteps, out: Value, operands: Sequence[Value], fn: RowFn, dim: int, value: float) -> None:
    """Add the loop over rows across the memory of `out`."""
    dims, groups = lines_of((out, *operands), dim, out.shape)
    block, blocks = pieces(dims[-1], rows.BLOCK)
    unit = "".join("1" if s[-1] == 1 else "s" for *_, s in groups[1:])
    steps.run(
        rows.columns, *operands, out, words=Late(column_words, (fn, out.dtype, unit)), cost=cost(fn),
        tasks=blocks * prod(dims[:-1]), each=[(offset, step, s[-1], s[:-1]) for offset, step, s in groups],
        blocks=blocks, block=block, cols=dims[-1], n=out.shape[dim], value=bits(value), shape=dims[:-1],
    )  # fmt: skip


def _sum_columns(steps: CpuSteps, fn: RowFn, value: float) -> None:
    """Add the loop over rows along memory that sums the terms of each column in chunks of rows."""
    outs, operands, made = steps.outs, steps.operands, fn.result is not None
    shape, dtype = operands[0].shape, outs[0].dtype
    n, number = shape[-1], prod(shape[:-1])
    if n == 0:
        return
    made_of = Spec(Layout.contiguous(shape, outs[0].layout.offset), dtype)
    share = pieces(number, max(ROWS_A_PART, -(-number // PARTS)))
    lines = outs[made:]
    numbers, direct = along_numbers(made_of, operands, len(shape) - 1, value, share, [x.layout.offset for x in lines])
    apart = share[1] > 1
    work = steps.work((share[1] * n * len(fn.terms),), as_dtype(dtype.compute)) if apart else outs[0]
    arrays = {"work": work} | ({"out": outs[0]} if made else {}) | {f"line_{k}": line for k, line in enumerate(lines)}
    run_rows(steps, fn, operands, arrays, direct, made and is_streamed(made_of, n), numbers, end=apart)


def along_numbers(
    out: Spec, operands: Sequence[Spec], dim: int, value: float, share: tuple[int, int], lines: Sequence[int] = ()
) -> tuple[dict[str, Any], tuple[bool, ...]]:
    """Return the tasks and the numbers for rows along the memory of `out`, and which operands are read as slices.

    share: (rows per chunk, number of chunks).
    """
    (dims, groups), (line_0, line_1) = lines_of((out, *operands), dim, out.shape), [*lines, 0, 0][:2]
    numbers = {
        "each": groups, "rows": prod(dims), "divided": share,
        "numel": out.layout.numel, "n": out.shape[dim], "band": band_of(out.shape[dim]), "value": bits(value),
        "line_0": line_0, "line_1": line_1, "shape": dims,
    }  # fmt: skip
    return numbers, tuple(is_direct(x, out, dim) for x in operands)


def run_rows(
    steps: CpuSteps, fn: RowFn, operands: Sequence[Value], arrays: dict[str, Value], direct: tuple[bool | None, ...],
    streamed: bool, numbers: dict[str, Any], chains: tuple[Chain, ...] = (), strides: str = "", end: bool = False,
) -> None:  # fmt: skip
    """Add the loop over rows along the memory of the result.

    It can also compute the sums over all rows, or only these sums.
    arrays: the results by their names in the template, behind the workspace of the sums.
    direct: which operands are read as slices; None for an operand that is read only to compute other operands.
    chains: the functions that compute operands inside the kernel.  strides: those of the arrays that these read.
    """
    *_, result = arrays.values()
    wide = as_dtype(result.dtype.compute)
    steps.run(
        rows.rows, *operands, *arrays.values(), end=end, cost=cost(fn) + sum(chain.scalar.cost for chain in chains),
        words=Late(row_words, (fn, tuple(arrays), result.dtype, direct, streamed, chains, strides)),
        dtypes=(*[x.dtype for x in operands], *[wide if name == "work" else result.dtype for name in arrays]),
        **numbers,
    )  # fmt: skip


def is_streamed(out: Spec, n: int) -> bool:
    """Return whether rows of n elements are stored past the caches.

    Such rows are computed in a scratch row first.
    """
    size = out.dtype.storage.itemsize
    dense = out.dtype.storage == out.dtype.compute
    return dense and out.layout.numel * size >= STREAMED and ROW_BYTES[0] <= n * size <= ROW_BYTES[1]


def row_words(
    fn: RowFn, arrays: tuple[str, ...], out: DType, direct: tuple[bool | None, ...], streamed: bool,
    chains: tuple[Chain, ...], strides: str,
) -> dict[str, Any]:  # fmt: skip
    """Return the words of the loop over rows along memory: see `run_rows`."""
    words = along(fn, direct, out, True, streamed, [chain.operand for chain in chains]) | elements_of(strides)
    words |= {f"H_{chain.operand}": Macro(chain.macro(out.compute)) for chain in chains}
    label = ("stream" if streamed else "rows") + "".join("c" if d is None else "1" if d else "x" for d in direct)
    made = {"MADE": fn.result is not None, "TERMS": len(fn.terms)}
    return words | made | {"arrays": arrays, "name": f"{fn.name}_{{reads}}_{label}"}


def column_words(fn: RowFn, out: DType, unit: str) -> dict[str, Any]:
    """Return the words of the loop over rows across memory, in blocks of neighbours."""
    loops, total = fn.passes(), "total_{}[j]"
    totals = []
    for loop in loops:
        if loop.totals:
            macros = pass_macros(fn, loop, out.compute, total=total)
            totals.append(Part(rows.down, macros, {"TOTAL": f"total_{loop.totals[0]}"}, loop.operands))
    words = {"COUNT": len(fn.totals), "TOTALS": totals, **row_views(unit, "x", "count")}
    words["name"] = f"{fn.name}_{{reads}}_columns{unit}"
    return words | elements(fn, loops, out.compute, total)


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
            "KEPT": kept if loop.keeps else LEFT_OUT,
        }  # fmt: skip
        takes = {"TAKE": [take({*direct} & {*loop.operands}, {*filled} & {*loop.operands})]}
        parts.append(Part(rows.passed, {**macros, **takes}, named, loop.operands))
        if any(fn.totals[k].finish is not None for k in loop.totals):
            parts.append(Part(rows.finished, macros, named))
    return text, parts


def take(direct: Collection[int], filled: Collection[int]) -> Part:
    """Return the part that makes row i of some operands."""
    return Part(rows.take, {}, {"SLICED": tuple(sorted(direct)), "FILLED": tuple(sorted(filled))})


def order_of(compute: np.dtype[Any]) -> dict[str, Any]:
    """Return the constants of integers that have the order of floats."""
    size = 8 * compute.itemsize
    return {"SIGNED": f"np.int{size}", "BITS": size, "HIGHEST": (1 << size - 1) - 1}


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
        "SCRATCH": len(filled) + spare, "LAST": len(filled), "COUNT": len(fn.totals),
        "FETCHED": tuple(fetched), "COMPUTED": tuple(computed), "STREAMED": streamed,
        "KEPT": LEFT_OUT if not keeps else "z" if dense else extra,
        "ROW": LEFT_OUT if fn.result is None else extra if streamed else result,
    }  # fmt: skip
    text, totals = totals_of(fn, loops, out.compute, sliced, filled, extra if spare else result)
    macros = {
        "WORKSPACES": [Part(rows.workspaces), *([Part(rows.spare)] if spare else [])],
        "BAND": [Part(rows.next_band), Part(rows.fetch), *totals],
        "ALL": [take(sliced, filled)],
    }
    if streamed:  # stores past the caches
        text += imported("stream", "streams", f"stream, settle = streams({out.compute.itemsize})")
    return constants | macros | elements(fn, loops, out.compute) | {"imports": text}
