"""Scans on the CPU: rows as chains, four at a time, or neighbours side by side; long rows in blocks.

The loops are in `kernels/cpu/scan.py`.  A scan accumulates as its fold does; a long row of which there are few is cut
into blocks, from the shape alone, whose totals a first launch finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Launch, serves
from minigrad.backends.cpu.family import Family, bind, nothing
from minigrad.backends.cpu.indexing import without
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.reduction import neutral_text
from minigrad.backends.cpu.rows import helper
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, int64
from minigrad.core.fold import Fold
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plan import pieces, walk
from minigrad.kernels.cpu import scan
from minigrad.kernels.pasting import Expand, expression_macro, paste, scalar_macro
from minigrad.kernels.specialize import array_type, load_text, store_text, write_kernel
from minigrad.kernels.store import load

COLUMNS = 128  # neighbours that one block scans side by side
NARROW = 8  # with fewer neighbours than this each row is a chain of its own
FEW = 16  # with fewer rows than this a long one is cut into blocks
BLOCK = 4096  # elements a block of a long row
BLOCKS = 256  # and no more blocks than this, since each adds up the totals before it
Chain = tuple[ScalarFn, ScalarFn | None, str, np.dtype[Any]]


class Scan(Family):
    """The preparers of scans and of running extremes."""

    @serves(requests.Scan)
    def scan(self, out: Spec, *operands: Spec, fold: Fold, compute: np.dtype[Any], dim: int) -> Launch:
        if out.layout.numel == 0:
            return nothing
        chain = (fold.scalar, fold.combine, neutral_text(fold.identity, compute), compute)
        dtypes = tuple(x.dtype for x in operands)
        parallel = out.layout.numel * fold.scalar.cost >= settings.parallel_threshold
        across, numbers, units = scan_numbers(out, operands, dim, fold.combine is not None and len(operands) == 1)
        parallel = parallel and units > 1
        if across is not None:
            kernel = self.kernel(write_columns, chain, dtypes, out.dtype, across, parallel=parallel)
            return bind(kernel, numbers, len(operands))
        dense = all(x.layout.strides[dim] == 1 for x in (out, *operands))
        kernel = self.kernel(write_along, chain, dtypes, out.dtype, dense, parallel=parallel)
        empty = np.empty(0, compute)
        if len(operands) == 2:
            return lambda a, b, result: kernel(a, b, empty, result, numbers)
        blocks = int(numbers[0] * numbers[3])
        if numbers[3] == 1:
            return lambda a, result: kernel(a, empty, result, numbers)
        carry = self.kernel(write_carry, chain, dtypes[0], operands[0].layout.strides[dim] == 1, parallel=parallel)

        def launch(a: NDArray[Any], result: NDArray[Any]) -> None:
            work = np.empty(blocks, compute)
            carry(a, work, numbers)
            kernel(a, work, result, numbers)

        return launch

    @serves(requests.ArgScan)
    def argscan(self, out: Spec, a: Spec, *, better: ScalarFn, dim: int) -> Launch:
        if out.layout.numel == 0:
            return nothing
        across, numbers, units = scan_numbers(out, (a,), dim, False)
        dense = out.layout.strides[dim] == a.layout.strides[dim] == 1
        parallel = units > 1 and out.layout.numel >= settings.parallel_threshold
        way = dense if across is None else across
        return bind(self.kernel(write_search, better, a.dtype, way, parallel=parallel), numbers, 1)


def scan_numbers(
    out: Spec, operands: Sequence[Spec], dim: int, cut: bool
) -> tuple[tuple[bool, ...] | None, NDArray[np.int64], int]:
    """For rows across memory: which operands have neighbours at step 1; else None.  The numbers, and how many tasks."""
    n, layouts = out.shape[dim], [x.layout for x in (out, *operands)]
    steps = [layout.strides[dim] for layout in layouts]
    dims, strides, offsets = walk([without(layout, out.shape, dim) for layout in layouts])
    if dims and dims[-1] >= NARROW and strides[0][-1] == 1 and abs(steps[0]) != 1:
        block, blocks = pieces(dims[-1], COLUMNS)
        units = blocks * prod(dims[:-1])
        numbers = [units, blocks, block, dims[-1], n, len(dims) - 1, *dims[:-1]]
        for offset, step, s in zip(offsets, steps, strides, strict=True):
            numbers += [offset, step, s[-1], *s[:-1]]
        return tuple(s[-1] == 1 for s in strides[1:]), np.array(numbers, np.int64), units
    rows = prod(dims)
    block, blocks = pieces(n, max(BLOCK, n // BLOCKS)) if cut and rows < FEW and n >= 2 * BLOCK else (n, 1)
    # Four chains run at once, so a task takes a multiple of four units.
    chunk = max(4, CHUNK // block // 4 * 4)
    chunks = -(-rows * blocks // chunk)
    numbers = [rows, n, block, blocks, chunk, chunks, len(dims), *dims]
    for offset, step, s in zip(offsets, steps, strides, strict=True):
        numbers += [offset, step, *s]
    return None, np.array(numbers, np.int64), chunks


def conversions(dtypes: Sequence[DType], out: DType, chain: Chain) -> dict[str, Expand]:
    """The macros of a helper of `along`."""
    scalar, _, _, compute = chain
    macros = {f"LOAD_{k}": expression_macro(load_text(d, compute)[0]) for k, d in enumerate(dtypes)}
    return {"F": scalar_macro(scalar, compute), "STORE": expression_macro(store_text(compute, out)[0]), **macros}


def joining(chain: Chain) -> Expand:
    """The macro of two accumulators; what may not be cut has one only."""
    _, combine, _, compute = chain
    return expression_macro("{0}") if combine is None else scalar_macro(combine, compute)


def write(
    name: str, title: str, template: Callable[..., Any], chain: Chain, dtypes: tuple[DType, ...], out: DType,
    constants: dict[str, str], parallel: bool, work: str = "", functions: str = "",
) -> Launch:  # fmt: skip
    """Write, compile and import one kernel."""
    scalar, _, identity, compute = chain
    mode = "parallel" if parallel else "serial"
    arrays = ", ".join(map(array_type, dtypes)) + work
    text = write_kernel(
        f"{scalar.name}, {title}: {', '.join(map(str, dtypes))} -> {out} in {compute}, {mode}.",
        template,
        operands=dtypes,
        out=out,
        compute=compute,
        macros={"F": scalar_macro(scalar, compute), "COMBINE": joining(chain)},
        constants={"IDENTITY": identity, **constants},
        parallel=parallel,
        signature=f"void({arrays}, {array_type(out)}, int64[::1])",
        imports=functions,
    )
    launch: Launch = load(f"{name}_{'_'.join(d.short for d in dtypes)}_{mode[:3]}", text).kernel
    return launch


def write_along(chain: Chain, dtypes: tuple[DType, ...], out: DType, dense: bool, parallel: bool) -> Launch:
    """Rows as chains; dense: they lie along all memory."""
    scalar, _, identity, _ = chain
    constants = {"OPERANDS": str(len(dtypes)), "IDENTITY": identity}
    functions = helper(paste(scan.begin, 0, {"COMBINE": joining(chain)}, constants), scan.begin, "begin")
    functions += helper(paste(scan.finish, len(dtypes), conversions(dtypes, out, chain), {}), scan.finish, "finish")
    operands = ", ".join(f"in_{k}" for k in range(len(dtypes)))
    for name, places in zip("ABCD", ("one", "two", "three", "four")):
        v = name.lower()
        constants[f"FINISH_{name}"] = f"finish({operands}, out, numbers, {places}, common, {v})"
        constants[f"OUT_{name}"] = f"out[q{v} : q{v} + common]" if dense else "out"
        constants[f"TO_{name}"] = "i" if dense else f"q{v} + i * z"
        for k in range(len(dtypes)):
            constants[f"IN_{name}_{k}"] = f"in_{k}[p{v}_{k} : p{v}_{k} + common]" if dense else f"in_{k}"
            constants[f"FROM_{name}_{k}"] = "i" if dense else f"p{v}_{k} + i * s_{k}"
    title, work = "rows", f", {np.dtype(chain[-1])}[::1]"
    return write(
        f"{scalar.name}_rows{'1' if dense else ''}",
        title,
        scan.along,
        chain,
        dtypes,
        out,
        constants,
        parallel,
        work,
        functions,
    )


def write_carry(chain: Chain, a: DType, dense: bool, parallel: bool) -> Launch:
    """Totals of blocks."""
    constants = {"LANES": "32", "VIEW": "in_0", "PLACE": "at + (i + j) * step"}
    if dense:  # a stretch of step 1 is indexed from a slice, or else it would not vectorise
        constants |= {"VIEW": "in_0[at + i :]", "PLACE": "j"}
    label = f"{chain[0].name}_totals{'1' if dense else ''}"
    return write(label, "totals of blocks", scan.carry, chain, (a,), as_dtype(chain[-1]), constants, parallel)


def column_views(dense: Sequence[bool]) -> dict[str, str]:
    """How neighbours are indexed."""
    constants = {}
    for k, unit in enumerate(dense):
        constants[f"VIEW_{k}"] = f"in_{k}[p_{k} : p_{k} + count]" if unit else f"in_{k}"
        constants[f"PLACE_{k}"] = "j" if unit else f"p_{k} + j * numbers[8 + rank + {k + 1} * (rank + 3)]"
    return constants


def write_columns(
    chain: Chain, dtypes: tuple[DType, ...], out: DType, dense: tuple[bool, ...], parallel: bool
) -> Launch:
    """Neighbours side by side."""
    name = f"{chain[0].name}_columns" + "".join("1" if d else "x" for d in dense)
    return write(name, "columns", scan.columns, chain, dtypes, out, column_views(dense), parallel)


def write_search(better: ScalarFn, a: DType, across: tuple[bool, ...] | bool, parallel: bool) -> Launch:
    """Positions of running extremes; a truth value for rows says whether they lie along all memory."""
    chain = (better, None, "", a.compute)
    if isinstance(across, bool):
        constants = {"VIEW": "in_0", "PLACE": "p_0 + j * s_0", "GOAL": "out", "SPOT": "q + j * z"}
        if across:  # a stretch of step 1 is indexed from a slice, or else it would not vectorise
            constants = {"VIEW": "in_0[p_0:]", "PLACE": "j", "GOAL": "out[q:]", "SPOT": "j"}
        name = f"{better.name}_rows{'1' if across else ''}"
        return write(name, "rows", scan.arg_along, chain, (a,), int64, constants, parallel)
    name = f"{better.name}_columns" + ("1" if across[0] else "x")
    return write(name, "columns", scan.arg_columns, chain, (a,), int64, column_views(across), parallel)
