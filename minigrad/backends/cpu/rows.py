"""Rows on the CPU: their direction in memory, their division between threads, and the kernels for them.

The loops are in `kernels/cpu/rows.py`; a `RowFn` specifies the computation.  A result is dense.  Rows along its memory
are read as slices if an operand has step 1 and the register dtype, otherwise through a scratch row.  Rows across it are
processed in blocks of neighbours.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import Launch, serves
from minigrad.backends.cpu.chains import Chain, elements_of
from minigrad.backends.cpu.family import Family, bind, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.texts import bits, column_views, helper, stream_header
from minigrad.backends.launch import NO_STEPS
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, float64
from minigrad.core.layout import Layout, merge
from minigrad.core.op import Spec
from minigrad.core.plan import pieces, walk, without
from minigrad.core.rows import Pass, RowFn
from minigrad.kernels.cpu import rows
from minigrad.kernels.passes import pass_macros
from minigrad.kernels.pasting import LEFT_OUT, Expand, Part, paste
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load

COLUMNS = 128  # neighbouring rows per block: their totals stay in the first-level cache
PARTS = 16  # number of chunks of rows with separate column sums
ROWS_A_PART = 16  # minimum number of rows per chunk
REDUCTIONS = {"none": 0, "sum": 1, "mean": 2}
PICK_COST = 10  # cost of an element in additions, mainly that of one call of exp
# Size in bytes from which a result bypasses the caches; a smaller result may still be cached for its reader.
STREAMED = 1 << 24
# Limits in bytes of a row that bypasses the caches: many cache lines, and a workspace in the second-level cache.
ROW_BYTES = (1 << 10, 1 << 18)


class Rows(Family):
    """The methods that prepare softmax, normalisation and similar requests."""

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
        """Return the launch for rows across the memory of `out`."""
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
    def pick(self, out: Spec, x: Spec, *others: Spec, fn: RowFn, ignore: int, reduction: str) -> Launch:
        target, *weight = others
        losses = out.layout if reduction == "none" else Layout.contiguous(target.shape, out.layout.offset)
        each = x.shape[-1] if fn.totals else 1
        views = [(losses, 0), along_row(x), (target.layout, 0), *per_class(weight, target.shape)]
        numbers, tasks, kind = pick_numbers(x.shape[-1], ignore, each, *views)
        direct = not fn.totals or is_direct(x, out)
        dtypes = tuple(spec.dtype for spec in (x, *others))
        kernel = self.kernel(write_pick, fn, dtypes, out.dtype, direct, REDUCTIONS[reduction], kind=kind)
        steps = Steps(self, (out,), (x, *others))
        apart = tasks > 1 and reduction != "none"
        work = steps.work((2 * tasks,), float64) if apart else steps.outs[0]
        table = headed(tasks, numbers, end=apart)
        steps.then(kernel, *steps.operands, work, *steps.outs, numbers=table)
        return steps.launch

    @serves(requests.PickBack)
    def pick_backward(
        self, out: Spec, dy: Spec, x: Spec, target: Spec, *, fn: RowFn, ignore: int, reduction: str
    ) -> Launch:
        if out.layout.numel == 0:
            return NO_STEPS
        n, heads = x.shape[-1], dy.layout.expand(target.shape)
        views = [along_row(out), along_row(x), (target.layout, 0), (heads, 0)]
        numbers, tasks, kind = pick_numbers(n, ignore, n, *views)
        dtypes = (x.dtype, target.dtype, dy.dtype)
        direct = is_direct(x, out)
        kernel = self.kernel(write_pick, fn, dtypes, out.dtype, direct, REDUCTIONS[reduction], True, kind=kind)
        steps = Steps(self, (out,), (dy, x, target))
        head, values, chosen = steps.operands
        steps.then(kernel, values, chosen, head, *steps.outs, numbers=headed(tasks, numbers))
        return steps.launch

    @serves(requests.Unpick)
    def unpick(self, out: Spec, dy: Spec, target: Spec, *weight: Spec, ignore: int, reduction: str) -> Launch:
        if out.layout.numel == 0:
            return NO_STEPS
        n, heads = out.shape[-1], dy.layout.expand(target.shape)
        views = [along_row(out), (heads, 0), (target.layout, 0), *per_class(weight, target.shape)]
        numbers, tasks, kind = pick_numbers(n, ignore, n, *views)
        dtypes = tuple(x.dtype for x in (dy, target, *weight))
        kernel = self.kernel(write_unpick, dtypes, out.dtype, reduction == "mean", kind=kind)
        return bind(kernel, headed(tasks, numbers), len(dtypes))


def along_numbers(
    out: Spec, operands: Sequence[Spec], dim: int, value: float, share: tuple[int, int], lines: Sequence[int] = ()
) -> tuple[list[int], tuple[bool, ...]]:
    """Return the scalar arguments for rows along the memory of `out`, and which operands are read as slices.

    share: (rows per chunk, number of chunks).
    """
    dims, strides, offsets = walk([without(x.layout, out.shape, dim) for x in (out, *operands)])
    steps = [x.layout.strides[dim] for x in (out, *operands)]
    line_0, line_1 = [*lines, 0, 0][:2]
    numbers = rows.ROWS.pack(
        *zip(offsets, steps, strides, strict=True), rows=prod(dims), chunk=share[0], chunks=share[1], n=out.shape[dim],
        value=bits(value), line_0=line_0, line_1=line_1, shape=dims,
    )  # fmt: skip
    return numbers, tuple(is_direct(x, out, dim) for x in operands)


def is_direct(x: Spec, out: Spec, dim: int = -1) -> bool:
    """Return whether the rows of an operand can be read as slices."""
    return x.layout.strides[dim] == 1 and x.dtype.storage == out.dtype.compute


def pick_numbers(n: int, ignore: int, each: int, *views: tuple[Layout, int]) -> tuple[list[int], int, str]:
    """Return the scalar arguments of `pick`, `pick_backward` and `unpick`, the number of tasks, and their kind.

    The rows, of n elements, are in row-major order.
    each: number of elements of a row that are read or written.
    views: for the result and each operand, a layout with the shape of the rows, and the step along a row.
    """
    layouts = [layout for layout, _ in views]
    dims, strides = merge(layouts)
    count = prod(dims)
    chunk, chunks = pieces(count, CHUNK // max(1, each))
    numbers = rows.PICK.pack(
        *[(layout.offset, step, moves) for (layout, step), moves in zip(views, strides, strict=True)],
        rows=count, chunk=chunk, chunks=chunks, n=n, ignore=ignore, shape=dims,
    )  # fmt: skip
    return numbers, chunks, kind_of(count * each, chunks, PICK_COST)


def along_row(x: Spec) -> tuple[Layout, int]:
    """Return the layout of the rows of a tensor, and the step along a row."""
    return without(x.layout, x.shape, len(x.shape) - 1), x.layout.strides[-1]


def per_class(weight: Sequence[Spec], shape: tuple[int, ...]) -> list[tuple[Layout, int]]:
    """Return a view in which each row of `shape` reads the same weights, or nothing if there are no weights."""
    return [(Layout.make(shape, (0,) * len(shape), w.layout.offset), w.layout.strides[0]) for w in weight]


def is_streamed(out: Spec, n: int) -> bool:
    """Return whether rows of n elements are stored past the caches.

    Such rows are computed in a scratch row first.
    """
    size = out.dtype.storage.itemsize
    dense = out.dtype.storage == out.dtype.compute
    return dense and out.layout.numel * size >= STREAMED and ROW_BYTES[0] <= n * size <= ROW_BYTES[1]


def cost(fn: RowFn) -> int:
    """Return the approximate cost of an element, in additions."""
    made = fn.terms if fn.result is None else (fn.result, *fn.terms)
    return sum(scalar.cost for scalar in made) + sum(total.term.cost for total in fn.totals)


def totals_of(fn: RowFn, loops: Sequence[Pass], compute: np.dtype[Any]) -> tuple[str, Expand]:
    """Return the functions that compute the totals of a row, and the macro TOTALS(), which calls them in order."""
    text, calls = "", []
    for position, loop in enumerate(loop for loop in loops if loop.totals):
        names = [f"total_{k}" for k in range(loop.totals[-1] + 1)]
        totals = ", ".join(names[loop.totals[0] :])
        args = ", ".join(["value", *names[: loop.totals[0]], *(["kept"] if loop.keeps else [])])
        template: Callable[..., Any] = rows.largest if loop.kind == "max" else rows.sums
        constants = {"FOUND": loop.totals, "TOTALS": totals, "GIVEN": args, "KEEPS": loop.keeps, **order_of(compute)}
        pasted = paste(template, loop.operands, pass_macros(fn, loop, compute), constants)
        text += helper(pasted, template, f"find_{position}", "" if loop.kind == "max" else "reassoc")
        calls.append(f"{totals} = find_{position}({', '.join(f'x_{k}' for k in loop.operands)}, n, {args})")
    return text, lambda args, used: (calls, ast.Constant(0))


def order_of(compute: np.dtype[Any]) -> dict[str, Any]:
    """Return the constants of integers that have the order of floats.

    LEAST is the integer of -inf.
    """
    size = 8 * compute.itemsize
    highest = (1 << size - 1) - 1
    lowest = int(np.array(-np.inf, compute).view(f"i{compute.itemsize}")) ^ highest
    return {"SIGNED": f"np.int{size}", "SHIFT": size - 1, "HIGHEST": highest, "LEAST": lowest}


def elements(fn: RowFn, loops: Sequence[Pass], compute: np.dtype[Any], total: str = "total_{}") -> dict[str, Any]:
    """Return the macros F, the result, and G_0 and G_1, the terms that are summed down the columns.

    Their arguments are an element of every operand.
    """
    macros: dict[str, Any] = {}
    for loop in loops:
        if not loop.totals:
            letter = "F" if loop.kind == "result" else "G"
            macros |= pass_macros(fn, loop, compute, operands=range(len(fn.operands)), total=total, letter=letter)
    return macros


def nest_of(label: str, template: Callable[..., Any], fn: RowFn, dtypes: tuple[DType, ...], out: DType,
            arrays: Mapping[str, DType], **insertions: Any) -> Any:  # fmt: skip
    """Write, compile and import one nest.

    arrays: the arguments between the operands and the scalar arguments, with types.
    """
    text = write_kernel(
        f"{fn.name}: {', '.join(map(str, dtypes))} -> {out}; {label}.",
        template,
        operands=dtypes,
        out=out,
        arrays=(*dtypes, *arrays.values()),
        results=", ".join(arrays),
        **insertions,
    )
    return load(f"{fn.name}_{'_'.join(d.short for d in dtypes)}_{label}", text)


def along(
    fn: RowFn, direct: Sequence[bool | None], out: DType, keeps: bool, streamed: bool = False,
    computed: Sequence[int] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return the texts of a nest over rows along memory, and the functions it calls.

    direct: None for an operand that is read only to compute other operands.
    computed: the operands that are computed.
    """
    loops = fn.passes(2, keeps)
    keeps, dense = any(loop.keeps for loop in loops), out.storage == out.compute
    fetched = [k for k, slices in enumerate(direct) if slices is False]
    spare = streamed or (keeps and not dense)
    scratch_rows = [*fetched, *computed]
    constants = {f"ROOM_{k}": position for position, k in enumerate(scratch_rows)} | {
        "SCRATCH": len(scratch_rows) + spare, "SPARE": spare, "LAST": len(scratch_rows), "FETCHED": tuple(fetched),
        "COMPUTED": tuple(computed),
        "SLICED": tuple(k for k, slices in enumerate(direct) if slices), "STREAMED": streamed,
        "KEPT": LEFT_OUT if not keeps else "z" if dense else "spare",
        "ROW": LEFT_OUT if fn.result is None else "spare" if streamed else "out[to : to + n]",
    }  # fmt: skip
    text, totals = totals_of(fn, loops, out.compute)
    macros = {"ROOMS": [Part(rows.workspaces)], "TAKE": [Part(rows.take)], "TOTALS": totals}
    text += stream_header(out.compute.itemsize) if streamed else ""
    return {"constants": constants, "macros": macros | elements(fn, loops, out.compute), "imports": text}


def write_rows(
    fn: RowFn, dtypes: tuple[DType, ...], out: DType, direct: tuple[bool | None, ...], streamed: bool,
    chains: tuple[Chain, ...] = (), steps: str = "",
) -> Any:  # fmt: skip
    """Write the kernel of a RowFn for rows along the memory of the result.

    The kernel can also compute the sums over all rows, or only these sums.
    chains: the functions that compute operands inside the kernel.
    steps: the strides of the arrays that these functions read.
    """
    terms, made = len(fn.terms), fn.result is not None
    insertions = along(fn, direct, out, True, streamed, [chain.operand for chain in chains])
    insertions["constants"] |= {"MADE": made, "TERMS": terms}
    insertions["constants"] |= elements_of(steps)
    for chain in chains:
        insertions["macros"][f"H_{chain.operand}"] = chain.macro(out.compute)
    label = ("stream" if streamed else "rows") + "".join("c" if d is None else "1" if d else "x" for d in direct)
    arrays = {"work": as_dtype(out.compute)} if terms else {}
    arrays |= dict.fromkeys((*(["out"] if made else []), *[f"line_{t}" for t in range(terms)]), out)
    return nest_of(label, rows.rows, fn, dtypes, out, arrays, fields=rows.ROWS, **insertions)


def write_pick(fn: RowFn, dtypes: tuple[DType, ...], out: DType, direct: bool, reducer: int, back: bool = False) -> Any:
    """Write the kernel for one result per row, or for the gradient of this result, if `back`."""
    weighted = len(dtypes) == 3 and not back
    insertions = along(fn, (direct,), out, back)
    insertions["constants"] |= {
        "EACH": reducer == 0,
        "JOINED": reducer > 0,
        "MEAN": reducer == 2,
        "TOTALLED": bool(fn.totals),
        "WEIGHTED": weighted,
    }
    label = f"{'pick_backward' if back else 'pick'}{reducer}{'1' if direct else 'x'}{'w' if weighted else ''}"
    template, arrays = (rows.pick_backward, {}) if back else (rows.pick, {"work": float64})
    return nest_of(label, template, fn, dtypes, out, arrays | {"out": out}, fields=rows.PICK, **insertions)


def write_unpick(dtypes: tuple[DType, ...], out: DType, mean: bool) -> Any:
    """Write the kernel for the gradient of picked elements; a third dtype is that of the weights of the classes."""
    label = f"unpick{'_mean' if mean else ''}{'_weighted' if len(dtypes) == 3 else ''}"
    text = write_kernel(
        f"{label}: {', '.join(map(str, dtypes))} -> {out}.",
        rows.unpick,
        operands=dtypes,
        out=out,
        constants={"MEAN": mean, "WEIGHTED": len(dtypes) == 3},
        fields=rows.PICK,
    )
    return load(f"{label}_{'_'.join(d.short for d in (*dtypes, out))}", text)


def write_columns(fn: RowFn, dtypes: tuple[DType, ...], out: DType, unit: tuple[bool, ...]) -> Any:
    """Write the kernel for rows across memory, in blocks of neighbours."""
    loops, total = fn.passes(), "total_{}[j]"
    totals = []
    for loop in loops:
        if loop.totals:
            macros = pass_macros(fn, loop, out.compute, total=total)
            totals.append(Part(rows.down, macros, {"TOTAL": f"total_{loop.totals[0]}"}, loop.operands))
    constants = {"COUNT": len(fn.totals), "BLOCK": COLUMNS, **column_views(unit)}
    insertions = {"constants": constants, "macros": {"TOTALS": totals, **elements(fn, loops, out.compute, total)}}
    label = "columns" + "".join("1" if d else "x" for d in unit)
    return nest_of(label, rows.columns, fn, dtypes, out, {"out": out}, fields=rows.COLUMNS, **insertions)
