"""Rows on the CPU: which way they lie, how they are shared between threads, and the kernels for them.

The loops are in `kernels/cpu/rows.py`, what they compute in a `RowFn`.  A result is dense: rows along its memory are
read as slices where an operand has step 1 and registers' dtype, else through a scratch row; rows across it are worked
on in blocks of neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import Launch, serves
from minigrad.backends.cpu.family import Family, bind, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.texts import bits, column_views, helper, stream_header
from minigrad.backends.launch import NO_STEPS
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, float64
from minigrad.core.layout import Layout, merge
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plan import pieces, walk, without
from minigrad.core.rows import RowFn, Total
from minigrad.kernels.cpu import rows
from minigrad.kernels.fields import Fields
from minigrad.kernels.pasting import LEFT_OUT, Expand, expression_macro, paste, scalar_macro
from minigrad.kernels.specialize import NOTHING, load_text, neutral_text, write_kernel
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
            return NO_STEPS
        n, dtypes = out.shape[dim], tuple(x.dtype for x in operands)
        if out.layout.strides[dim] != 1 and n > 1:
            return self._across(out, operands, fn, dim, value)
        share = pieces(out.layout.numel // n, CHUNK // n)
        numbers, direct = along_numbers(out, operands, dim, value, share)
        kind = kind_of(out.layout.numel, share[1], cost(fn))
        kernel = self.kernel(write_rows, fn, dtypes, out.dtype, direct, is_streamed(out, n), kind=kind)
        return bind(kernel, headed(share[1], numbers), len(operands))

    def _across(self, out: Spec, operands: Sequence[Spec], fn: RowFn, dim: int, value: float) -> Launch:
        """Rows across the memory of `out`."""
        dims, strides, offsets = walk([without(x.layout, out.shape, dim) for x in (out, *operands)])
        block, blocks = pieces(dims[-1], COLUMNS)
        units = blocks * prod(dims[:-1])
        steps = [x.layout.strides[dim] for x in (out, *operands)]
        numbers = rows.COLUMNS.pack(
            *[(offset, step, s[-1], s[:-1]) for offset, step, s in zip(offsets, steps, strides, strict=True)],
            blocks=blocks, block=block, cols=dims[-1], n=out.shape[dim], value=bits(value),
            shape=dims[:-1],
        )  # fmt: skip
        dtypes, unit = tuple(x.dtype for x in operands), tuple(s[-1] == 1 for s in strides[1:])
        kind = kind_of(out.layout.numel, units, cost(fn))
        kernel = self.kernel(write_columns, fn, dtypes, out.dtype, unit, kind=kind)
        return bind(kernel, headed(units, numbers), len(operands))

    @serves(requests.SumColumns)
    def sum_columns(self, *specs: Spec, fn: RowFn, value: float) -> Launch:
        count, made = len(specs) - len(fn.operands), fn.result is not None
        outs, operands = specs[:count], specs[count:]
        shape, dtype = operands[0].shape, outs[0].dtype
        n, number = shape[-1], prod(shape[:-1])
        if n == 0:
            return NO_STEPS
        made_of = Spec(Layout.contiguous(shape, outs[0].layout.offset), dtype)
        share = pieces(number, max(ROWS_A_PART, -(-number // PARTS)))
        lines = [x.layout.offset for x in outs[made:]]
        numbers, direct = along_numbers(made_of, operands, len(shape) - 1, value, share, lines)
        dtypes, kind = tuple(x.dtype for x in operands), kind_of(number * n, share[1], cost(fn))
        kernel = self.kernel(write_rows, fn, dtypes, dtype, direct, made and is_streamed(made_of, n), kind=kind)
        steps = Steps(self, outs, operands)
        apart = share[1] > 1
        size = share[1] * n * len(fn.terms)
        work = steps.work((size,), as_dtype(dtype.compute)) if apart else steps.outs[0]
        table = headed(share[1], numbers, end=apart)
        steps.then(kernel, *steps.operands, work, *steps.outs, numbers=table)
        return steps.launch

    @serves(requests.Pick)
    def pick(self, out: Spec, x: Spec, target: Spec, *, fn: RowFn, ignore: int, reduction: str) -> Launch:
        losses = out.layout if reduction == "none" else Layout.contiguous(target.shape, out.layout.offset)
        numbers, tasks, kind = pick_numbers(losses, 0, x, (target.layout,), ignore)
        kernel = self.kernel(
            write_pick, fn, (x.dtype, target.dtype), out.dtype, is_direct(x, out), FOLDS[reduction], kind=kind
        )
        steps = Steps(self, (out,), (x, target))
        apart = tasks > 1 and reduction != "none"
        work = steps.work((losses.numel + tasks,), float64) if apart else steps.outs[0]
        table = headed(tasks, numbers, end=apart)
        steps.then(kernel, *steps.operands, work, *steps.outs, numbers=table)
        return steps.launch

    @serves(requests.PickBack)
    def pick_backward(
        self, out: Spec, dy: Spec, x: Spec, target: Spec, *, fn: RowFn, ignore: int, reduction: str
    ) -> Launch:
        if out.layout.numel == 0:
            return NO_STEPS
        losses = without(out.layout, out.shape, len(out.shape) - 1)
        numbers, tasks, kind = pick_numbers(losses, 1, x, (target.layout, dy.layout.expand(target.shape)), ignore)
        dtypes = (x.dtype, target.dtype, dy.dtype)
        kernel = self.kernel(write_pick, fn, dtypes, out.dtype, is_direct(x, out), FOLDS[reduction], kind=kind)
        steps = Steps(self, (out,), (dy, x, target))
        slope, values, chosen = steps.operands
        steps.then(kernel, values, chosen, slope, *steps.outs, numbers=headed(tasks, numbers))
        return steps.launch


def along_numbers(
    out: Spec, operands: Sequence[Spec], dim: int, value: float, share: tuple[int, int], lines: Sequence[int] = ()
) -> tuple[list[int], tuple[bool, ...]]:
    """The numbers of rows along the memory of `out`, share = (rows a chunk, chunks), and which operands are slices."""
    dims, strides, offsets = walk([without(x.layout, out.shape, dim) for x in (out, *operands)])
    steps = [x.layout.strides[dim] for x in (out, *operands)]
    line0, line1 = [*lines, 0, 0][:2]
    numbers = rows.ROWS.pack(
        *zip(offsets, steps, strides, strict=True), rows=prod(dims), chunk=share[0], chunks=share[1], n=out.shape[dim],
        value=bits(value), line0=line0, line1=line1, shape=dims,
    )  # fmt: skip
    return numbers, tuple(is_direct(x, out, dim) for x in operands)


def is_direct(x: Spec, out: Spec, dim: int = -1) -> bool:
    """Whether the rows of an operand can be read as slices."""
    return x.layout.strides[dim] == 1 and x.dtype.storage == out.dtype.compute


def pick_numbers(out: Layout, step: int, x: Spec, others: Sequence[Layout], ignore: int) -> tuple[list[int], int, str]:
    """The numbers of `pick` and `pick_backward`, in row-major order of the rows, how many tasks, and their kind."""
    n, shape = x.shape[-1], out.shape
    dims, strides = merge([out, without(x.layout, x.shape, len(shape)), *others])
    count = prod(shape)
    chunk, chunks = pieces(count, CHUNK // max(1, n))
    steps = (step, x.layout.strides[-1], *(0 for _ in others))
    offsets = [layout.offset for layout in (out, x.layout, *others)]
    numbers = rows.PICK.pack(
        *zip(offsets, steps, strides, strict=True), rows=count, chunk=chunk, chunks=chunks, n=n, ignore=ignore,
        shape=dims,
    )  # fmt: skip
    return numbers, chunks, kind_of(count * n, chunks, PICK_COST)


def is_streamed(out: Spec, n: int) -> bool:
    """Whether rows of n are made in a scratch row and stored past the caches."""
    size = out.dtype.storage.itemsize
    dense = out.dtype.storage == out.dtype.compute
    return dense and out.layout.numel * size >= STREAMED and ROW_BYTES[0] <= n * size <= ROW_BYTES[1]


def cost(fn: RowFn) -> int:
    """About how many additions an element is worth."""
    made = fn.terms if fn.result is None else (fn.result, *fn.terms)
    return sum(scalar.cost for scalar in made) + sum(total.term.cost for total in fn.totals)


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
    constants = {"START": neutral_text(neutral, compute), **constants}
    if template is rows.largest:
        constants |= order_of(compute)
    liberty = "reassoc" if template in (rows.total, rows.total_kept, rows.total_two) else ""
    return helper(paste(template, len(dtypes), macros, constants, rows.COLUMNS), template, name, liberty)


def order_of(compute: np.dtype[Any]) -> dict[str, str]:
    """The constants of integers that have the order of floats: START is that of -inf."""
    size = 8 * compute.itemsize
    highest = (1 << size - 1) - 1
    lowest = int(np.array(-np.inf, compute).view(f"i{compute.itemsize}")) ^ highest
    return {"SIGNED": f"np.int{size}", "SHIFT": str(size - 1), "HIGHEST": str(highest), "START": str(lowest)}


def row_parts(
    fn: RowFn, dtypes: Sequence[DType], direct: Sequence[bool], out: DType, fields: Fields, kept: bool = False,
    streamed: bool = False,
) -> tuple[str, dict[str, str]]:  # fmt: skip
    """The functions that a nest over rows calls, and its constants; kept: the last total leaves its terms."""
    compute, dense = out.compute, out.storage == out.compute
    text = stream_header(compute.itemsize) if streamed else ""
    constants = {"KEPT": LEFT_OUT if not kept else "z" if dense else "spare", "STREAMED": str(int(streamed))}
    constants["ROW"] = "spare" if streamed else "out[to : to + n]"
    rooms = [f"SCRATCH_{k}" for k, slices in enumerate(direct) if not slices]
    rooms += ["SPARE"] * (streamed or (kept and not dense))
    constants |= dict.fromkeys(["SPARE", *[f"SCRATCH_{k}" for k in range(len(dtypes))]], LEFT_OUT)
    several = len(dtypes) > 1
    constants |= dict.fromkeys([f"{name}_{k}" for name in ("NOWHERE", "FETCHED") for k in range(len(dtypes))], LEFT_OUT)
    constants |= {name: f"scratch[{k} * wide : {k} * wide + n]" for k, name in enumerate(rooms)}
    constants["SCRATCH"] = str(len(rooms))
    for k, (dtype, slices) in enumerate(zip(dtypes, direct)):
        constants[f"ROW_{k}"] = f"in_{k}[at_{k} : at_{k} + n]"
        if not slices:
            step = f"numbers[{fields.place('step', group=str(k + 1))}]"
            again = f" if at_{k} != f_{k} else s_{k}" if several else ""
            constants[f"ROW_{k}"] = f"fetch_{k}(in_{k}, at_{k}, {step}, s_{k}){again}"
            if several:
                constants |= {f"NOWHERE_{k}": "np.int64(-1)", f"FETCHED_{k}": f"at_{k}"}
            macros = {"LOAD": expression_macro(load_text(dtype, compute)[0])}
            text += helper(paste(rows.fetch, 0, macros, {}), rows.fetch, f"fetch_{k}")
    return text + totals_text(fn, dtypes, compute, kept, constants), constants


def totals_text(
    fn: RowFn, dtypes: Sequence[DType], compute: np.dtype[Any], kept: bool, constants: dict[str, str]
) -> str:
    """The functions of all totals; the calls of them are added to the constants."""
    totals = fn.totals
    text, operands = "", ", ".join(f"x_{k}" for k in range(len(dtypes)))
    constants |= dict.fromkeys(("PAIR_0", "PAIR_1", *[f"TOTAL_{k}" for k in range(4)]), LEFT_OUT)
    k = 0
    while k < len(totals):
        two = k % 2 == 0 and pairs(totals[k : k + 2])
        last = kept and k == len(totals) - 1
        call = f"total_{k}({operands}, n, value, {before(min(k, 3), 3)}{', w' if last else ''})"
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


def before(count: int, places: int) -> str:
    """The totals that are known, as arguments; zeros for those that are not."""
    return ", ".join([*NAMES[:count], *["T(0)"] * (places - count)])


def pairs(two: Sequence[Total]) -> bool:
    """Whether these are two sums of which the second's term does not ask for the first."""
    return [total.join for total in two] == ["sum", "sum"] and two[0].name not in two[1].term.args


def result_macro(fn: RowFn, compute: np.dtype[Any], kept: bool) -> Expand:
    """The result as a macro of the operands' elements, all totals and the kept term."""
    if fn.result is None:
        return expression_macro("T(0)")
    return named_arguments(fn.reuse if kept and fn.reuse is not None else fn.result, fn, compute)


def kernel_of(
    label: str, template: Callable[..., Any], fn: RowFn, dtypes: tuple[DType, ...], out: DType,
    constants: dict[str, str], functions: str, fields: Fields, kept: bool = False,
    arrays: dict[str, DType] | None = None, macros: Mapping[str, Expand] = NOTHING,
) -> Any:  # fmt: skip
    """Write, compile and import one nest with the functions that it calls.

    arrays: what stands between the operands and the numbers, with its type, where it is not `out` alone.
    """
    arrays = arrays or {"out": out}
    text = write_kernel(
        f"{fn.name}: {', '.join(map(str, dtypes))} -> {out}; {label}.",
        template,
        operands=dtypes,
        out=out,
        compute=out.compute,
        macros={"F": result_macro(fn, out.compute, kept), **macros},
        constants=constants,
        arrays=(*dtypes, *arrays.values()),
        imports=functions,
        fields=fields,
        results=", ".join(arrays),
    )
    return load(f"{fn.name}_{'_'.join(d.short for d in dtypes)}_{label}", text)


def write_rows(fn: RowFn, dtypes: tuple[DType, ...], out: DType, direct: tuple[bool, ...], streamed: bool) -> Any:
    """Rows along the memory of the result, sums of their columns, or both."""
    kept = fn.reuse is not None
    functions, constants = row_parts(fn, dtypes, direct, out, rows.ROWS, kept, streamed)
    constants |= {"MADE": str(int(fn.result is not None)), "TERMS": str(len(fn.terms))}
    if fn.result is None:
        constants["ROW"] = LEFT_OUT
    both = len(fn.terms) > 1
    constants |= {"BOTH": str(int(both)), "OTHERS": "sums[n:]" if both else LEFT_OUT}
    constants["START_1"] = f"numbers[{rows.ROWS.place('line1')}]" if both else LEFT_OUT
    macros = {name: named_arguments(term, fn, out.compute) for name, term in zip("GH", fn.terms)}
    label = ("stream" if streamed else "rows") + "".join("1" if d else "x" for d in direct)
    arrays = {"work": as_dtype(out.compute)} if fn.terms else {}
    lines = [f"line_{t}" for t in range(len(fn.terms))]
    arrays |= dict.fromkeys((*(["out"] if fn.result else []), *lines), out)
    return kernel_of(label, rows.rows, fn, dtypes, out, constants, functions, rows.ROWS, kept, arrays, macros)


def write_pick(fn: RowFn, dtypes: tuple[DType, ...], out: DType, direct: bool, fold: int) -> Any:
    """One result of each row, or with three dtypes the gradient of that."""
    back = len(dtypes) == 3
    kept = fn.reuse is not None and back
    functions, constants = row_parts(fn, dtypes[:1], (direct,), out, rows.PICK, kept)
    constants |= {"EACH": str(int(fold == 0)), "JOINED": str(int(fold > 0)), "MEAN": str(int(fold == 2))}
    label = f"{'pick_backward' if back else 'pick'}{fold}{'1' if direct else 'x'}"
    if back:
        return kernel_of(label, rows.pick_backward, fn, dtypes, out, constants, functions, rows.PICK, kept)
    arrays = {"work": float64, "out": out}
    return kernel_of(label, rows.pick, fn, dtypes, out, constants, functions, rows.PICK, arrays=arrays)


def write_columns(fn: RowFn, dtypes: tuple[DType, ...], out: DType, unit: tuple[bool, ...]) -> Any:
    """Rows across the memory of the result, in blocks of neighbours."""
    count = len(fn.totals)
    constants = {"OPERANDS": str(len(dtypes)), "TOTALS": str(count), "BLOCK": str(COLUMNS)} | column_views(unit)
    for k, dense in enumerate(unit):
        constants[f"AT_{k}"] = f"at[{k}]"
        constants[f"STEP_{k}"] = LEFT_OUT if dense else f"numbers[{rows.COLUMNS.place('col', group=str(k + 1))}]"
    functions, operands = "", ", ".join(f"in_{k}" for k in range(len(dtypes)))
    arguments = ", ".join(NAMES[k] if k < count else NAMES[0] for k in range(4))
    for k in range(4):
        call = f"total_{k}({operands}, numbers, at, count, value, {arguments})"
        constants[f"TOTAL_{k}"] = call if k < count else "0"
        constants[f"COLUMN_{k}"] = f"scratch[{k * COLUMNS} : {(k + 1) * COLUMNS}]" if k < count else LEFT_OUT
    for k, total in enumerate(fn.totals):
        more = {**constants, "TARGET": NAMES[k]}
        functions += total_text(rows.total_down, f"total_{k}", fn, (total,), dtypes, out.compute, more)
    label = "columns" + "".join("1" if d else "x" for d in unit)
    return kernel_of(label, rows.columns, fn, dtypes, out, constants, functions, rows.COLUMNS)
