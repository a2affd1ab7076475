"""Scans on the CPU: rows as chains, four at a time, or neighbouring rows in parallel; long rows in blocks.

The loops are in `kernels/cpu/scan.py`.  A scan accumulates like its reduction.  If there are few long rows, they are
cut into blocks, for any number of threads, and a first launch computes the totals of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, bind, headed, kind_of
from minigrad.backends.cpu.loops import CHUNK
from minigrad.backends.cpu.texts import column_views
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, int64
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plan import pieces, walk, without
from minigrad.kernels.cpu import scan
from minigrad.kernels.fields import Fields
from minigrad.kernels.pasting import Expand, expression_macro, scalar_macro
from minigrad.kernels.specialize import neutral_text, write_kernel
from minigrad.kernels.store import load

COLUMNS = 128  # number of neighbouring rows that one block scans together
NARROW = 8  # with fewer neighbouring rows, each row is a separate chain of additions
FEW = 16  # with fewer rows than this, long rows are cut into blocks, so that all threads have work
BLOCK = 4096  # elements per block of a long row
BLOCKS = 256  # maximum number of blocks, because each block adds the totals of all earlier blocks
Chain = tuple[ScalarFn, ScalarFn | None, str, np.dtype[Any]]


@serves(CpuBackend, requests.Scan)
def accumulate(steps: Steps, request: requests.Scan) -> Launch:
    (out,), operands = steps.outs, steps.operands
    reducer, compute, dim = request.reducer, request.compute, request.dim
    if out.layout.numel == 0:
        return NO_STEPS
    chain = (reducer.scalar, reducer.combine, neutral_text(reducer.identity, compute), compute)
    dtypes = tuple(x.dtype for x in operands)
    across, numbers, tasks, units = scan_numbers(out, operands, dim, reducer.combine is not None and len(operands) == 1)
    kind = kind_of(out.layout.numel, tasks, reducer.scalar.cost)
    if across is not None:
        kernel = steps.backend.kernel(write_columns, chain, dtypes, out.dtype, across, kind=kind)
        return bind(kernel, headed(tasks, numbers), len(operands))
    dense = all(x.layout.strides[dim] == 1 for x in (out, *operands))
    kernel = steps.backend.kernel(write_along, chain, dtypes, out.dtype, dense, kind=kind)
    work = steps.outs[0]
    if units:
        work = steps.work((units,), as_dtype(compute))
        carry = steps.backend.kernel(write_carry, chain, dtypes[0], operands[0].layout.strides[dim] == 1, kind=kind)
        steps.then(carry, *steps.operands, work, numbers=headed(units, numbers))
    steps.then(kernel, *steps.operands, work, *steps.outs, numbers=headed(tasks, numbers))
    return steps.launch


@serves(CpuBackend, requests.RunningExtreme)
def running_extreme(steps: Steps, request: requests.RunningExtreme) -> Launch:
    (*wanted, positions), (a,), better, dim = steps.outs, steps.operands, request.better, request.dim
    if positions.layout.numel == 0:
        return NO_STEPS
    values = wanted[0] if wanted else steps.work(a.shape, a.dtype)
    across, numbers, tasks, _ = scan_numbers(positions, (a, values), dim, False)
    dense = all(x.layout.strides[dim] == 1 for x in (positions, a, values))
    way = dense if across is None else across
    kind = kind_of(positions.layout.numel, tasks)
    kernel = steps.backend.kernel(write_search, better, a.dtype, way, kind=kind)
    steps.then(kernel, a, values, positions, numbers=headed(tasks, numbers))
    return steps.launch


def scan_numbers(
    out: Spec, operands: Sequence[Spec], dim: int, cut: bool
) -> tuple[tuple[bool, ...] | None, list[int], int, int]:
    """Return (dense, scalar arguments, tasks, blocks) of a scan.

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
        numbers = scan.COLUMNS.pack(*groups, blocks=blocks, block=block, cols=dims[-1], n=n, shape=dims[:-1])
        return tuple(s[-1] == 1 for s in strides[1:]), numbers, units, 0
    rows = prod(dims)
    block, blocks = pieces(n, max(BLOCK, n // BLOCKS)) if cut and rows < FEW and n >= 2 * BLOCK else (n, 1)
    # Four chains run together, so the units of a task are a multiple of four.
    chunk = max(4, CHUNK // block // 4 * 4)
    chunks = -(-rows * blocks // chunk)
    numbers = scan.ALONG.pack(
        *zip(offsets, steps, strides, strict=True), rows=rows, n=n, block=block, blocks=blocks, chunk=chunk,
        shape=dims,
    )  # fmt: skip
    return None, numbers, chunks, rows * blocks if blocks > 1 else 0


def joining(chain: Chain) -> Expand:
    """Return the macro that joins two accumulators.

    A scan that may not be cut has only one accumulator.
    """
    _, combine, _, compute = chain
    return expression_macro("{0}") if combine is None else scalar_macro(combine, compute)


def write(
    name: str, title: str, template: Callable[..., Any], chain: Chain, dtypes: tuple[DType, ...], out: DType,
    constants: dict[str, str], fields: Fields, work: DType | None = None, helpers: Sequence[Callable[..., Any]] = (),
    condition: bool = False,
) -> Any:  # fmt: skip
    """Write, compile and import one kernel.

    work: the dtype of the array besides operands and result.
    condition: the scalar function returns a boolean.
    """
    scalar, _, identity, compute = chain
    text = write_kernel(
        f"{scalar.name}, {title}: {', '.join(map(str, dtypes))} -> {out} in {compute}.",
        template,
        operands=dtypes,
        out=out,
        compute=compute,
        macros={"F": scalar_macro(scalar, compute, condition=condition), "COMBINE": joining(chain)},
        constants={"IDENTITY": identity, **constants},
        arrays=(*dtypes, work, out) if work else (*dtypes, out),
        helpers=helpers,
        fields=fields,
        results="work, out" if work else "out",
    )
    return load(f"{name}_{'_'.join(d.short for d in dtypes)}", text)


def write_along(chain: Chain, dtypes: tuple[DType, ...], out: DType, dense: bool) -> Any:
    """Write the kernel that scans four rows together. dense: whether all rows have step 1."""
    scalar, *_, compute = chain
    operands = ", ".join(f"in_{k}" for k in range(len(dtypes)))
    constants = {"OPERANDS": str(len(dtypes)), "SIZE": str(len(dtypes) + 2)}
    constants["FINISH"] = f"finish({operands}, out, numbers, positions[k * {len(dtypes) + 2} :], common, acc[k])"
    for name in "ABCD":
        v = name.lower()
        constants[f"OUT_{name}"] = f"out[q{v} : q{v} + common]" if dense else "out"
        constants[f"TO_{name}"] = "i" if dense else f"np.uint64(q{v} + i * z)"
        for k in range(len(dtypes)):
            constants[f"IN_{name}_{k}"] = f"in_{k}[p{v}_{k} : p{v}_{k} + common]" if dense else f"in_{k}"
            constants[f"FROM_{name}_{k}"] = "i" if dense else f"np.uint64(p{v}_{k} + i * s_{k})"
    name, helpers = f"{scalar.name}_rows{'1' if dense else ''}", (scan.begin, scan.finish)
    return write(name, "rows", scan.along, chain, dtypes, out, constants, scan.ALONG, as_dtype(compute), helpers)


def write_carry(chain: Chain, a: DType, dense: bool) -> Any:
    """Write the kernel that computes the total of each block of a row. dense: whether all rows have step 1."""
    constants = {"LANES": "32", "VIEW": "in_0", "PLACE": "at + (i + j) * step"}
    if dense:  # a run with step 1 is indexed through a slice; otherwise the loop would not be vectorised
        constants |= {"VIEW": "in_0[at + i :]", "PLACE": "j"}
    label = f"{chain[0].name}_totals{'1' if dense else ''}"
    return write(label, "totals of blocks", scan.carry, chain, (a,), as_dtype(chain[-1]), constants, scan.ALONG)


def write_columns(chain: Chain, dtypes: tuple[DType, ...], out: DType, dense: tuple[bool, ...]) -> Any:
    """Write the kernel that scans neighbouring rows together, one row per vector element."""
    name = f"{chain[0].name}_columns" + "".join("1" if d else "x" for d in dense)
    return write(name, "columns", scan.columns, chain, dtypes, out, column_views(dense), scan.COLUMNS)


def write_search(better: ScalarFn, a: DType, way: tuple[bool, ...] | bool) -> Any:
    """Write the kernel that scans running minima or maxima and their positions.

    way: a bool for rows that are scanned one by one: whether all rows have step 1.  A tuple for neighbouring rows that
    are scanned together: whether the step between rows is 1, for the operand and for the values.
    """
    chain = (better, None, "", a.compute)
    if isinstance(way, tuple):
        name = f"{better.name}_columns" + "".join("1" if d else "x" for d in way)
        constants = column_views(way) | {"RAW": "np.bool_" if a.kind == "bool" else f"np.{a.storage}"}
        return write(name, "columns", scan.arg_columns, chain, (a, a), int64, constants, scan.COLUMNS, condition=True)
    # A run with step 1 is indexed through a slice; otherwise the loop would not be vectorised.
    constants = {"GOAL": "out[q:]" if way else "out", "SPOT": "j" if way else "np.uint64(q + j * z)"}
    for k in range(2):
        constants |= {f"VIEW_{k}": f"in_{k}[p_{k}:]" if way else f"in_{k}"}
        constants |= {f"PLACE_{k}": "j" if way else f"np.uint64(p_{k} + j * s_{k})"}
    name = f"{better.name}_rows{'1' if way else ''}"
    return write(name, "rows", scan.arg_along, chain, (a, a), int64, constants, scan.ALONG, condition=True)
