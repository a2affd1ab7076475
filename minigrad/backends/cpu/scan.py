"""Scans on the CPU: rows as chains, four at a time, or neighbouring rows in parallel; long rows in blocks.

The loops are in `kernels/cpu/scan.py`.  A scan accumulates like its reduction.  If there are few long rows, they are
cut into blocks, for any number of threads, and a first launch computes the totals of the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.texts import column_views, step_words
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plan import pieces, walk, without
from minigrad.core.reducer import Reducer
from minigrad.kernels.cpu import scan
from minigrad.kernels.pasting import Late, Macro, scalar_macro
from minigrad.kernels.specialize import neutral_text

COLUMNS = 128  # number of neighbouring rows that one block scans together
NARROW = 8  # with fewer neighbouring rows, each row is a separate chain of additions
FEW = 16  # with fewer rows than this, long rows are cut into blocks, so that all threads have work
BLOCK = 4096  # elements per block of a long row
BLOCKS = 256  # maximum number of blocks, because each block adds the totals of all earlier blocks


@serves(CpuBackend, requests.Scan)
def accumulate(steps: CpuSteps, request: requests.Scan) -> None:
    (out,), operands = steps.outs, steps.operands
    reducer, compute, dim = request.reducer, request.compute, request.dim
    across, numbers, units = scan_numbers(out, operands, dim, reducer.combine is not None and len(operands) == 1)
    numbers |= {"compute": compute, "cost": reducer.scalar.cost}
    name = reducer.scalar.name
    if across is not None:
        form = name + "_" + step_words(across)
        words = Late(column_words, (reducer, compute, across))
        steps.run(scan.scan_columns, *operands, out, words=words, form=form, **numbers)
        return
    dense = all(x.layout.strides[dim] == 1 for x in (out, *operands))
    work, dtype = out, as_dtype(compute)
    if units:
        work, one = steps.work((units,), dtype), operands[0].layout.strides[dim] == 1
        words = Late(carry_words, (reducer, compute, one))
        steps.run(scan.carry, *operands, work, words=words, form=name + "1" * one, **{**numbers, "tasks": units})
    dtypes = (*[x.dtype for x in operands], dtype, out.dtype)  # `work` is any memory if no row is cut
    words = Late(row_words, (reducer, compute, len(operands), dense))
    steps.run(scan.scan_rows, *operands, work, out, words=words, form=name + "1" * dense, dtypes=dtypes, **numbers)


@serves(CpuBackend, requests.RunningExtreme)
def running_extreme(steps: CpuSteps, request: requests.RunningExtreme) -> None:
    (*wanted, positions), (a,), better, dim = steps.outs, steps.operands, request.better, request.dim
    values = wanted[0] if wanted else steps.work(a.shape, a.dtype)
    across, numbers, _ = scan_numbers(positions, (a, values), dim, False)
    dense = all(x.layout.strides[dim] == 1 for x in (positions, a, values))
    template, form = (scan.search_columns, "_" + step_words(across)) if across else (scan.search_rows, "1" * dense)
    numbers |= {"words": Late(search_words, (better, a.dtype, across, dense)), "compute": a.dtype.compute}
    steps.run(template, a, values, positions, form=better.name + form, **numbers)


def scan_numbers(
    out: Spec, operands: Sequence[Spec], dim: int, cut: bool
) -> tuple[tuple[bool, ...] | None, dict[str, Any], int]:
    """Return (dense, tasks and numbers, blocks) of a scan.

    dense: if neighbouring rows are scanned together, whether each operand has stride 1 between the rows; otherwise
    None.
    blocks: the number of blocks into which each row is divided; 0 for whole rows.
    """
    n, layouts = out.shape[dim], [x.layout for x in (out, *operands)]
    steps = [layout.strides[dim] for layout in layouts]
    dims, strides, offsets = walk([without(layout, out.shape, dim) for layout in layouts])
    if dims and dims[-1] >= NARROW and strides[0][-1] == 1 and abs(steps[0]) != 1:
        block, blocks = pieces(dims[-1], COLUMNS)
        units = blocks * prod(dims[:-1])
        groups = [(*position, each[-1], each[:-1]) for *position, each in zip(offsets, steps, strides, strict=True)]
        numbers = {
            "tasks": units, "groups": groups, "blocks": blocks, "block": block, "cols": dims[-1], "n": n,
            "shape": dims[:-1],
        }  # fmt: skip
        return tuple(s[-1] == 1 for s in strides[1:]), numbers, 0
    rows = prod(dims)
    block, blocks = pieces(n, max(BLOCK, n // BLOCKS)) if cut and rows < FEW and n >= 2 * BLOCK else (n, 1)
    # Four chains run together, so the units of a task are a multiple of four.
    chunk = max(4, CHUNK // block // 4 * 4)
    numbers = {
        "tasks": -(-rows * blocks // chunk), "groups": [*zip(offsets, steps, strides, strict=True)], "rows": rows,
        "n": n, "block": block, "blocks": blocks, "chunk": chunk, "shape": dims,
    }  # fmt: skip
    return None, numbers, rows * blocks if blocks > 1 else 0


def chain_words(reducer: Reducer, compute: np.dtype[Any]) -> dict[str, Any]:
    """Return the words of the accumulators; a scan that may not be cut has only one accumulator."""
    identity = neutral_text(reducer.identity, compute)
    return {"F": reducer.scalar, "COMBINE": reducer.combine or "{0}", "IDENTITY": identity}


def column_words(reducer: Reducer, compute: np.dtype[Any], dense: tuple[bool, ...]) -> dict[str, Any]:
    """Return the words of the loop that scans neighbouring rows together, one row per vector element."""
    return chain_words(reducer, compute) | column_views(dense)


def carry_words(reducer: Reducer, compute: np.dtype[Any], dense: bool) -> dict[str, Any]:
    """Return the words of the loop over the totals of blocks. dense: whether all rows have step 1."""
    # A run with step 1 is indexed through a slice; otherwise the loop would not be vectorised.
    view, index = ("in_0[at + i :]", "j") if dense else ("in_0", "at + (i + j) * step")
    return chain_words(reducer, compute) | {"VIEW": view, "PLACE": index}


def search_words(better: ScalarFn, a: DType, across: tuple[bool, ...] | None, dense: bool) -> dict[str, Any]:
    """Return the words of the scan of running minima or maxima and their positions.

    across: for neighbouring rows that are scanned together, whether the step between rows is 1, for the operand and for
    the values.  dense: for rows that are scanned one by one, whether all rows have step 1.
    """
    words: dict[str, Any] = {"F": Macro(scalar_macro(better, a.compute, condition=True))}
    if across is not None:
        return words | column_views(across) | {"RAW": "np.bool_" if a.kind == "bool" else f"np.{a.storage}"}
    # A run with step 1 is indexed through a slice; otherwise the loop would not be vectorised.
    words |= {"GOAL": "out[q:]" if dense else "out", "SPOT": "j" if dense else "np.uint64(q + j * z)"}
    for k in range(2):
        words[f"VIEW_{k}"] = f"in_{k}[p_{k}:]" if dense else f"in_{k}"
        words[f"PLACE_{k}"] = "j" if dense else f"np.uint64(p_{k} + j * s_{k})"
    return words


def row_words(reducer: Reducer, compute: np.dtype[Any], operands: int, dense: bool) -> dict[str, Any]:
    """Return the words of the loop that scans four rows together. dense: whether all rows have step 1."""
    names = ", ".join(f"in_{k}" for k in range(operands))
    words = chain_words(reducer, compute) | {"OPERANDS": operands, "SIZE": operands + 2}
    words["FINISH"] = f"finish({names}, out, numbers, positions[k * {operands + 2} :], common, acc[k])"
    for name in "ABCD":
        v = name.lower()
        words[f"OUT_{name}"] = f"out[q{v} : q{v} + common]" if dense else "out"
        words[f"TO_{name}"] = "i" if dense else f"np.uint64(q{v} + i * z)"
        for k in range(operands):
            words[f"IN_{name}_{k}"] = f"in_{k}[p{v}_{k} : p{v}_{k} + common]" if dense else f"in_{k}"
            words[f"FROM_{name}_{k}"] = "i" if dense else f"np.uint64(p{v}_{k} + i * s_{k})"
    return words
