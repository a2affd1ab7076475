"""Rows on the CPU: which way they lie, how they are shared between threads, and the kernels for them.

The loops are in `kernels/cpu/rows.py`, what they compute in a `RowFn`.  A result is dense: rows along its memory are
read as slices where an operand has step 1 and registers' dtype, else through a scratch row; rows across it are worked
on in blocks of neighbours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Launch, serves
from minigrad.backends.cpu.family import Family, bind, nothing
from minigrad.backends.cpu.indexing import without
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.reduction import neutral_text
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout, merge
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plan import pieces, walk
from minigrad.core.rows import RowFn, Total
from minigrad.kernels.cpu import rows
from minigrad.kernels.specialize import (
    Expand,
    array_type,
    expression_macro,
    load_text,
    paste,
    scalar_macro,
    store_text,
    write_kernel,
)
from minigrad.kernels.store import load

COLUMNS = 128  # rows side by side that one block works on: their totals stay in the first-level cache
PARTS = 16  # chunks of rows whose column sums are made apart
ROWS_A_PART = 16  # fewer rows are not worth a part of their own
JOINS = {"sum": ("{0} + {1}", "zero"), "max": ("({1} if {1} > {0} else {0})", "lowest")}
FOLDS = {"none": 0, "sum": 1, "mean": 2}
PICK_COST = 10  # additions that an element is worth: one call of exp
NAMES = ("a", "b", "c", "e")
STREAMED = 1 << 24  # bytes of a result that goes past the caches; half as much may still be there for its reader
ROW_BYTES = (1 << 10, 1 << 18)  # of a row that is streamed: many lines, and a scratch row in the second-level cache


class Rows(Family):
    """The preparers of softmax, normalisation and their like."""

    @serves(requests.MapRows)
    def map_rows(self, out: Spec, *operands: Spec, fn: RowFn, dim: int, value: float) -> Launch:
        if out.layout.numel == 0:
            return nothing
        n = out.shape[dim]
        streamed = is_streamed(out, n)
        parallel = out.layout.numel * cost(fn) >= settings.parallel_threshold
        if out.layout.strides[dim] == 1 or n == 1:
            return self._along(fn, out, operands, dim, value, pieces(out.layout.numel // n, CHUNK // n), streamed)
        layouts = [without(x.layout, out.shape, dim) for x in (out, *operands)]
        steps = [x.layout.strides[dim] for x in (out, *operands)]
        dims, strides, offsets = walk(layouts)
        cols = dims[-1]
        block, blocks = pieces(cols, COLUMNS)
        numbers = [blocks * prod(dims[:-1]), blocks, block, cols, n, bits(value), len(dims) - 1, *dims[:-1]]
        for offset, step, s in zip(offsets, steps, strides):
            numbers += [offset, step, s[-1], *s[:-1]]
        dtypes, unit = tuple(x.dtype for x in operands), tuple(s[-1] == 1 for s in strides[1:])
        kernel = self.kernel(write_columns, fn, dtypes, out.dtype, unit, parallel=parallel)
        return bind(kernel, np.array(numbers, np.int64), len(operands))

    @serves(requests.SumColumns)
    def sum_columns(self, *specs: Spec, fn: RowFn, value: float) -> Launch:
        count = len(specs) - len(fn.operands)
        outs, operands = specs[:count], specs[count:]
        shape = operands[0].shape
        n, number = shape[-1], prod(shape[:-1])
        if n == 0:
            return nothing
        made = fn.result is not None
        rows = Spec(Layout.contiguous(shape, outs[0].layout.offset), outs[0].dtype)
        share = pieces(number, max(ROWS_A_PART, -(-number // PARTS)))
        streamed = made and is_streamed(rows, n)
        return self._along(fn, rows, operands, len(shape) - 1, value, share, streamed, outs[made:])

    def _along(
        self, fn: RowFn, out: Spec, operands: Sequence[Spec], dim: int, value: float, share: tuple[int, int],
        streamed: bool, lines: Sequence[Spec] = (),
    ) -> Launch:  # fmt: skip
        """Rows along the memory of `out`, `share` = (rows a chunk, chunks); lines: where sums of columns go."""
        layouts = [without(x.layout, out.shape, dim) for x in (out, *operands)]
        steps = [x.layout.strides[dim] for x in (out, *operands)]
        dims, strides, offsets = walk(layouts)
        numbers = [prod(dims), *share, out.shape[dim], bits(value), len(dims), *dims]
        for offset, step, s in zip(offsets, steps, strides):
            numbers += [offset, step, *s]
        numbers += [line.layout.offset for line in lines]
        direct = tuple(s == 1 and x.dtype.storage == out.dtype.compute for x, s in zip(operands, steps[1:]))
        parallel = share[1] > 1 and out.layout.numel * cost(fn) >= settings.parallel_threshold
        dtypes = tuple(x.dtype for x in operands)
        kernel = self.kernel(write_rows, fn, dtypes, out.dtype, direct, streamed, parallel=parallel)
        results = len(lines) + (fn.result is not None)
        return bind(kernel, np.array(numbers, np.int64), len(operands) + results - 1)

    @serves(requests.Pick)
    def pick(self, out: Spec, x: Spec, target: Spec, *, fn: RowFn, ignore: int, reduction: str) -> Launch:
        losses = out.layout if reduction == "none" else Layout.contiguous(target.shape, out.layout.offset)
        numbers, parallel = pick_numbers(losses, 0, x, (target.layout,), ignore)
        dtypes = (x.dtype, target.dtype)
        kernel = self.kernel(write_pick, fn, dtypes, out.dtype, is_direct(x, out), FOLDS[reduction], parallel=parallel)
        return bind(kernel, numbers, 2)

    @serves(requests.PickBack)
    def pick_backward(
        self, out: Spec, dy: Spec, x: Spec, target: Spec, *, fn: RowFn, ignore: int, reduction: str
    ) -> Launch:
        if out.layout.numel == 0:
            return lambda _g, _x, _t, _out: None
        losses = without(out.layout, out.shape, len(out.shape) - 1)
        numbers, parallel = pick_numbers(losses, 1, x, (target.layout, dy.layout.expand(target.shape)), ignore)
        dtypes = (x.dtype, target.dtype, dy.dtype)
        kernel = self.kernel(write_pick, fn, dtypes, out.dtype, is_direct(x, out), FOLDS[reduction], parallel=parallel)
        return lambda g, values, chosen, result: kernel(values, chosen, g, result, numbers)


def is_direct(x: Spec, out: Spec) -> bool:
    """Whether the rows (last dim) of an operand can be read as slices."""
    return x.layout.strides[-1] == 1 and x.dtype.storage == out.dtype.compute


def pick_numbers(
    out: Layout, step: int, x: Spec, others: Sequence[Layout], ignore: int
) -> tuple[NDArray[np.int64], bool]:
    """The numbers of `pick` and `pick_backward`, in row-major order of the rows, and whether threads share them."""
    n, shape = x.shape[-1], out.shape
    dims, strides = merge([out, without(x.layout, x.shape, len(shape)), *others])
    count = prod(shape)
    chunk, chunks = pieces(count, CHUNK // max(1, n))
    numbers = [count, chunk, chunks, n, ignore, len(dims), *dims]
    steps = (step, x.layout.strides[-1], *(0 for _ in others))
    for layout, inner, s in zip((out, x.layout, *others), steps, strides, strict=True):
        numbers += [layout.offset, inner, *s]
    parallel = chunks > 1 and count * n * PICK_COST >= settings.parallel_threshold
    return np.array(numbers, np.int64), parallel


def is_streamed(out: Spec, n: int) -> bool:
    """Whether rows of n are made in a scratch row and stored past the caches."""
    size = out.dtype.storage.itemsize
    dense = out.dtype.storage == out.dtype.compute
    return dense and out.layout.numel * size >= STREAMED and ROW_BYTES[0] <= n * size <= ROW_BYTES[1]


def lanes(compute: np.dtype[Any]) -> int:
    """Accumulators side by side: with four elements added to each at a time, 256 bytes hide an addition's latency."""
    return 256 // compute.itemsize


def cost(fn: RowFn) -> int:
    """About how many additions an element is worth."""
    made = fn.terms if fn.result is None else (fn.result, *fn.terms)
    return sum(scalar.cost for scalar in made) + sum(total.term.cost for total in fn.totals)


def bits(value: float) -> int:
    """A float64 as the integer that travels among the numbers."""
    return int(np.float64(value).view(np.int64))


def first_arguments(scalar: ScalarFn, compute: np.dtype[Any]) -> Expand:
    """A scalar function as a macro that may be given more arguments than it has."""
    macro = scalar_macro(scalar, compute)
    return lambda args, used: macro(args[: len(scalar.args)], used)


def named_arguments(scalar: ScalarFn, fn: RowFn, compute: np.dtype[Any]) -> Expand:
    """A scalar function as a macro that is given an element and totals, and takes those that it names; `kept` is the
    last argument."""
    macro = scalar_macro(scalar, compute)
    places = [-1 if a == "kept" else fn.names.index(a) for a in scalar.args]
    return lambda args, used: macro([args[p] for p in places], used)


def total_text(template: Callable[..., Any], name: str, fn: RowFn, totals: Sequence[Total],
               dtypes: Sequence[DType], compute: np.dtype[Any], constants: dict[str, str]) -> str:  # fmt: skip
    """The source of one total of `fn`, or two at once, as a function `name`."""
    join, neutral = JOINS[totals[0].join]
    macros = {"JOIN": expression_macro(join)}
    macros |= {f"LOAD_{k}": expression_macro(load_text(d, compute)[0]) for k, d in enumerate(dtypes)}
    for term, finish, total in zip("FG", ("FINISH", "FINISH_G"), totals):
        macros[term] = named_arguments(total.term, fn, compute)
        macros[finish] = first_arguments(total.finish, compute) if total.finish else expression_macro("{0}")
    constants = {"START": neutral_text(neutral, compute), "LANES": str(lanes(compute)), **constants}
    liberty = "reassoc" if template in (rows.total, rows.total_kept, rows.total_two) else ""
    return helper(paste(template, len(dtypes), macros, constants), template, name, liberty)


def helper(text: str, template: Callable[..., Any], name: str, liberty: str = "") -> str:
    """A pasted function under another name, for the module of a kernel."""
    more = f', fastmath={{"{liberty}"}}' if liberty else ""
    head = f'\n\n@njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True{more})\n'
    return head + text.replace(f"def {template.__name__}(", f"def {name}(", 1)


@cache
def stream_header(itemsize: int) -> str:
    """The lines that give a kernel stores past the caches, with the hash of what they come from."""
    source = Path(rows.__file__).with_name("stream.py").read_bytes()
    return (
        f"\nfrom minigrad.kernels.cpu.stream import streams\n\n"
        f"# stream.py {hashlib.sha256(source).hexdigest()[:16]}\n"
        f"stream, settle = streams({itemsize})\n"
    )


def row_parts(
    fn: RowFn, dtypes: Sequence[DType], direct: Sequence[bool], out: DType, kept: bool = False, streamed: bool = False,
) -> tuple[str, dict[str, str]]:  # fmt: skip
    """The functions that a nest over rows calls, and its constants; kept: the last total leaves its terms."""
    compute, dense = out.compute, out.storage == out.compute
    text = stream_header(compute.itemsize) if streamed else ""
    constants = {"LANES": str(lanes(compute)), "SPARE": "1" if streamed or (kept and not dense) else "0"}
    constants["KEPT"] = "acc" if not kept else "z" if dense else "spare"
    constants["ROW"] = "spare" if streamed else "out[to : to + n]"
    constants |= (
        {"SEND": "stream(out, to, spare, n)", "SETTLE": "settle()"} if streamed else {"SEND": "0", "SETTLE": "0"}
    )
    for k, (dtype, slices) in enumerate(zip(dtypes, direct)):
        constants[f"SCRATCH_{k}"] = "0" if slices else "1"
        constants[f"ROW_{k}"] = f"in_{k}[at_{k} : at_{k} + n]"
        if not slices:
            step = f"numbers[7 + rank + {k + 1} * (rank + 2)]"
            constants[f"ROW_{k}"] = f"fetch_{k}(in_{k}, at_{k}, {step}, s_{k})"
            macros = {"LOAD": expression_macro(load_text(dtype, compute)[0])}
            text += helper(paste(rows.fetch, 0, macros, {}), rows.fetch, f"fetch_{k}")
    return text + totals_text(fn, dtypes, compute, kept, constants), constants


def totals_text(
    fn: RowFn, dtypes: Sequence[DType], compute: np.dtype[Any], kept: bool, constants: dict[str, str]
) -> str:
    """The functions of all totals; the calls of them are added to the constants."""
    totals = fn.totals
    text, operands = "", ", ".join(f"x_{k}" for k in range(len(dtypes)))
    constants |= {"PAIR_0": "0", "PAIR_1": "0"} | {f"TOTAL_{k}": "T(0)" for k in range(4)}
    k = 0
    while k < len(totals):
        two = k % 2 == 0 and pairs(totals[k : k + 2])
        before = ", ".join([*NAMES[: min(k, 3)], *["T(0)"] * (3 - k)])
        last = kept and k == len(totals) - 1
        call = f"total_{k}({operands}, n, value, {before}, acc{', w' if last else ''})"
        if two:
            pair = "ce" if k else "ab"
            constants |= {f"PAIR_{k // 2}": call, f"TOTAL_{k}": f"{pair}[0]", f"TOTAL_{k + 1}": f"{pair}[1]"}
        else:
            constants[f"TOTAL_{k}"] = call
        sums = rows.total_two if two else rows.total_kept if last else rows.total
        template = rows.largest if totals[k].join == "max" else sums
        text += total_text(template, f"total_{k}", fn, totals[k : k + 1 + two], dtypes, compute, {})
        k += 1 + two
    return text


def pairs(two: Sequence[Total]) -> bool:
    """Whether these are two sums of which the second's term does not ask for the first."""
    return [total.join for total in two] == ["sum", "sum"] and two[0].name not in two[1].term.args


def result_macro(fn: RowFn, compute: np.dtype[Any], kept: bool) -> Expand:
    """The result as a macro of the operands' elements, all totals and the kept term."""
    if fn.result is None:
        return expression_macro("T(0)")
    return named_arguments(fn.reuse if kept and fn.reuse is not None else fn.result, fn, compute)


def kernel_of(title: str, stem: str, template: Callable[..., Any], fn: RowFn, dtypes: tuple[DType, ...],
              out: DType, constants: dict[str, str], functions: str, kept: bool, parallel: bool) -> Launch:  # fmt: skip
    """Write, compile and import one nest with the functions that it calls."""
    compute, mode = out.compute, "parallel" if parallel else "serial"
    results = ["out"] * (fn.result is not None) + [f"line_{t}" for t in range(len(fn.terms))]
    text = write_kernel(
        f"{fn.name}: {', '.join(map(str, dtypes))} -> {out}; {title}, {mode}.",
        template,
        operands=dtypes,
        out=out,
        compute=compute,
        macros={"F": result_macro(fn, compute, kept)},
        constants=constants,
        parallel=parallel,
        signature=f"void({', '.join(map(array_type, (*dtypes, *[out] * len(results))))}, int64[::1])",
        imports=functions,
    ).replace(", out, numbers):", f", {', '.join(results)}, numbers):", 1)
    launch: Launch = load(f"{fn.name}_{'_'.join(d.short for d in dtypes)}_{stem}_{mode[:3]}", text).kernel
    return launch


def write_rows(
    fn: RowFn, dtypes: tuple[DType, ...], out: DType, direct: tuple[bool, ...], streamed: bool, parallel: bool
) -> Launch:
    """Rows along the memory of the result, sums of their columns, or both."""
    kept = fn.reuse is not None
    functions, constants = row_parts(fn, dtypes, direct, out, kept, streamed)
    constants |= {"MADE": "n", "TERMS": str(len(fn.terms)), "ADD": "0", "FOLD_0": "0", "FOLD_1": "0"}
    if fn.result is None:
        constants |= {"MADE": "0", "ROW": "spare"}
    if fn.terms:
        functions += sums_text(fn, len(dtypes), out, constants)
    label = ("stream" if streamed else "rows") + "".join("1" if d else "x" for d in direct)
    return kernel_of(label, label, rows.rows, fn, dtypes, out, constants, functions, kept, parallel)


def sums_text(fn: RowFn, operands: int, out: DType, constants: dict[str, str]) -> str:
    """The functions of the sums down the columns; the calls of them are added to the constants."""
    compute, two = out.compute, len(fn.terms) == 2
    values = ", ".join(f"x_{k}" for k in range(operands))
    constants["ADD"] = f"add({values}, n, a, b, c, e, sums[:n]{', sums[n:]' if two else ''})"
    for t in range(len(fn.terms)):
        start = f"numbers[6 + rank + {operands + 1} * (rank + 2) + {t}]"
        constants[f"FOLD_{t}"] = f"fold_columns(work, numbers[2], n * {len(fn.terms)}, {t} * n, n, line_{t}, {start})"
    macros = {name: named_arguments(term, fn, compute) for name, term in zip("FG", fn.terms)}
    macros["STORE"] = expression_macro(store_text(compute, out)[0])
    add, fold = rows.add_two if two else rows.add_one, rows.fold_columns
    text = helper(paste(add, operands, macros, {}), add, "add")
    return text + helper(paste(fold, 0, macros, {}), fold, "fold_columns")


def write_pick(fn: RowFn, dtypes: tuple[DType, ...], out: DType, direct: bool, fold: int, parallel: bool) -> Launch:
    """One result of each row, or with three dtypes the gradient of that."""
    kept = fn.reuse is not None and len(dtypes) == 3
    functions, constants = row_parts(fn, dtypes[:1], (direct,), out, kept)
    constants["FOLD"] = str(fold)
    template = rows.pick if len(dtypes) == 2 else rows.pick_backward
    label = f"{template.__name__}{fold}{'1' if direct else 'x'}"
    return kernel_of(label, label, template, fn, dtypes, out, constants, functions, kept, parallel)


def write_columns(fn: RowFn, dtypes: tuple[DType, ...], out: DType, unit: tuple[bool, ...], parallel: bool) -> Launch:
    """Rows across the memory of the result, in blocks of neighbours."""
    constants = {"OPERANDS": str(len(dtypes))}
    for k, dense in enumerate(unit):
        constants[f"AT_{k}"] = f"at[{k}]"
        # A stretch of step 1 is indexed from a slice, or else it would not vectorise; other steps may be negative.
        constants[f"VIEW_{k}"] = f"in_{k}[p_{k} : p_{k} + count]" if dense else f"in_{k}"
        constants[f"PLACE_{k}"] = "j" if dense else f"p_{k} + j * numbers[9 + rank + {k + 1} * (rank + 3)]"
    functions, operands = "", ", ".join(f"in_{k}" for k in range(len(dtypes)))
    for k in range(4):
        call = f"total_{k}({operands}, numbers, at, count, value, a, b, c, e)"
        constants[f"TOTAL_{k}"] = call if k < len(fn.totals) else "0"
    for k, total in enumerate(fn.totals):
        more = {**constants, "TARGET": NAMES[k]}
        functions += total_text(rows.total_down, f"total_{k}", fn, (total,), dtypes, out.compute, more)
    label = "columns" + "".join("1" if d else "x" for d in unit)
    return kernel_of(label, label, rows.columns, fn, dtypes, out, constants, functions, False, parallel)
