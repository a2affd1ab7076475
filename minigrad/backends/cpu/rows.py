"""Rows on the CPU: their direction in memory, their division between threads, and the kernels for them.

The loops are in `kernels/cpu/rows.py`; a `RowFn` specifies the computation.  A result is dense.  Rows along its memory
are read as slices if an operand has step 1 and the register dtype, otherwise through a scratch row.  Rows across it are
processed in blocks of neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, bind, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.rowtexts import along, band_of, cost, elements, is_direct, nest_of
from minigrad.backends.cpu.texts import Chain, bits, column_views, elements_of
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.plan import pieces, walk, without
from minigrad.core.rows import RowFn
from minigrad.kernels.cpu import rows
from minigrad.kernels.macros import pass_macros
from minigrad.kernels.pasting import Part

COLUMNS = 128  # neighbouring rows per block: their totals stay in the first-level cache
PARTS = 16  # number of chunks of rows with separate column sums
ROWS_A_PART = 16  # minimum number of rows per chunk
# Size in bytes from which a result bypasses the caches; a smaller result may still be cached for its reader.
STREAMED = 1 << 24
# Limits in bytes of a row that bypasses the caches: many cache lines, and a workspace in the second-level cache.
ROW_BYTES = (1 << 10, 1 << 18)


@serves(CpuBackend, requests.MapRows)
def map_rows(steps: Steps, request: requests.MapRows) -> Launch:
    (out,), operands = steps.outs, steps.operands
    fn, dim, value = request.fn, request.dim, request.value
    n, dtypes = out.shape[dim], tuple(x.dtype for x in operands)
    if out.layout.strides[dim] != 1 and n > 1:
        return _across(steps, out, operands, fn, dim, value)
    share = pieces(out.layout.numel // n, CHUNK // n)
    numbers, direct = along_numbers(out, operands, dim, value, share)
    kind = kind_of(out.layout.numel, share[1], cost(fn))
    kernel = steps.backend.kernel(write_rows, fn, dtypes, out.dtype, direct, is_streamed(out, n), kind=kind)
    return bind(kernel, headed(share[1], numbers), len(operands))


def _across(steps: Steps, out: Spec, operands: Sequence[Spec], fn: RowFn, dim: int, value: float) -> Launch:
    """Return the launch for rows across the memory of `out`."""
    dims, strides, offsets = walk([without(x.layout, out.shape, dim) for x in (out, *operands)])
    block, blocks = pieces(dims[-1], COLUMNS)
    units = blocks * prod(dims[:-1])
    moves = [x.layout.strides[dim] for x in (out, *operands)]
    numbers = rows.COLUMNS.pack(
        *[(offset, step, s[-1], s[:-1]) for offset, step, s in zip(offsets, moves, strides, strict=True)],
        blocks=blocks, block=block, cols=dims[-1], n=out.shape[dim], value=bits(value),
        shape=dims[:-1],
    )  # fmt: skip
    dtypes, unit = tuple(x.dtype for x in operands), tuple(s[-1] == 1 for s in strides[1:])
    kind = kind_of(out.layout.numel, units, cost(fn))
    kernel = steps.backend.kernel(write_columns, fn, dtypes, out.dtype, unit, kind=kind)
    return bind(kernel, headed(units, numbers), len(operands))


@serves(CpuBackend, requests.SumColumns)
def sum_columns(steps: Steps, request: requests.SumColumns) -> Launch:
    outs, operands, fn, value = steps.outs, steps.operands, request.fn, request.value
    made = fn.result is not None
    shape, dtype = operands[0].shape, outs[0].dtype
    n, number = shape[-1], prod(shape[:-1])
    if n == 0:
        return NO_STEPS
    made_of = Spec(Layout.contiguous(shape, outs[0].layout.offset), dtype)
    share = pieces(number, max(ROWS_A_PART, -(-number // PARTS)))
    lines = [x.layout.offset for x in outs[made:]]
    numbers, direct = along_numbers(made_of, operands, len(shape) - 1, value, share, lines)
    dtypes, kind = tuple(x.dtype for x in operands), kind_of(number * n, share[1], cost(fn))
    kernel = steps.backend.kernel(write_rows, fn, dtypes, dtype, direct, made and is_streamed(made_of, n), kind=kind)
    apart = share[1] > 1
    size = share[1] * n * len(fn.terms)
    work = steps.work((size,), as_dtype(dtype.compute)) if apart else steps.outs[0]
    table = headed(share[1], numbers, end=apart)
    steps.then(kernel, *steps.operands, work, *steps.outs, numbers=table)
    return steps.launch


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
        band=band_of(out.shape[dim]), value=bits(value), line_0=line_0, line_1=line_1, shape=dims,
    )  # fmt: skip
    return numbers, tuple(is_direct(x, out, dim) for x in operands)


def is_streamed(out: Spec, n: int) -> bool:
    """Return whether rows of n elements are stored past the caches.

    Such rows are computed in a scratch row first.
    """
    size = out.dtype.storage.itemsize
    dense = out.dtype.storage == out.dtype.compute
    return dense and out.layout.numel * size >= STREAMED and ROW_BYTES[0] <= n * size <= ROW_BYTES[1]


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
