"""Scans on CUDA: a group of threads scans a row in tiles, long rows in blocks; or one thread scans each row.

The loops are in `kernels/cuda/scan.py`.  A scan accumulates like its reduction.  One thread scans each row if rows are
side by side across memory, or if partial results must not be joined.  If there are few long rows, they are cut into
blocks, which follow from the layouts alone, and a first launch computes the totals of the blocks.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend, line
from minigrad.backends.cuda.reduction import write_spread
from minigrad.backends.cuda.reduction_plans import power_above
from minigrad.backends.cuda.runtime import THREADS, Program
from minigrad.backends.cuda.texts import parsed, wire
from minigrad.backends.launch import Loop
from minigrad.backends.steps import Steps, Value
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, int64
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.plan import walk, without
from minigrad.core.reducer import Reducer
from minigrad.kernels.cuda import reduction, scan
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.macros import expression_macro, neutral_text, scalar_macro, step_macro
from minigrad.kernels.pasting import Expand
from minigrad.kernels.rendering import fresh
from minigrad.kernels.specialize import load_text, store_text, write_kernel

WIDEST = 16  # size in bytes of one load
WARP = 32
EACH = 4  # elements per lane if they are not read by one load
SIDE_BY_SIDE = 512  # minimum number of neighbouring rows for one thread per row
FEW = 128  # with fewer rows, long rows are cut into blocks
BLOCK = 4096  # minimum number of elements per block of a row


@serves(CudaBackend, requests.Scan)
def accumulate(steps: Steps, request: requests.Scan) -> Loop:
    (out,), operands = steps.outs, steps.operands
    reducer, compute, dim = request.reducer, request.compute, request.dim
    specs, dtypes = (out, *operands), tuple(x.dtype for x in operands)
    dims, strides, offsets = walk([without(x.layout, out.shape, dim) for x in specs])
    moves, rows, n = [x.layout.strides[dim] for x in specs], prod(dims), out.shape[dim]
    groups = list(zip(offsets, moves, strides, strict=True))
    across = bool(dims) and strides[0][-1] == 1 and moves[0] != 1 and dims[-1] >= WARP and rows >= SIDE_BY_SIDE
    if across or reducer.combine is None or len(operands) > 1:
        kernel = steps.backend.kernel(write_chain, reducer, compute, dtypes, out.dtype, len(dims))
        numbers = scan.scan_fields(len(dims)).pack(*groups, rows=rows, n=n, block=n, blocks=1, shape=dims)
        return steps.backend.bind(kernel, *line(steps.backend.blocks(rows)), numbers)
    each, wide = neighbours(specs, groups)
    lanes, units = group_along(n, each, rows)
    block = n
    if rows < FEW and n >= 2 * BLOCK:
        block = -(-max(BLOCK, -(-n // THREADS)) // (THREADS * each)) * THREADS * each
    blocks = -(-n // block)
    work: Value | None = None
    if blocks > 1:
        work = steps.work((blocks, rows), as_dtype(compute))
        totals = steps.backend.kernel(
            write_spread, reducer, compute, operands[0].dtype, work.dtype, True, 1, len(dims), 0
        )
        numbers = totals_numbers(dims, groups[1], n, block, blocks)
        steps.then(steps.backend.bind(totals, (rows, blocks, 1), (THREADS, 1, 1), numbers), *steps.operands, work)
    kernel = steps.backend.kernel(
        write_tiles, reducer, compute, dtypes[0], out.dtype, each, wide, blocks > 1, len(dims)
    )
    numbers = scan.scan_fields(len(dims)).pack(*groups, rows=rows, n=n, block=block, blocks=blocks, shape=dims)
    launch = steps.backend.bind(kernel, (steps.backend.blocks(rows * blocks, units), 1, 1), (lanes, units, 1), numbers)
    steps.then(launch, *steps.operands, *([work] if work is not None else []), *steps.outs)
    return steps.launch


@serves(CudaBackend, requests.RunningExtreme)
def running_extreme(steps: Steps, request: requests.RunningExtreme) -> Loop:
    (*wanted, positions), (a,), better, dim = steps.outs, steps.operands, request.better, request.dim
    values = wanted[0] if wanted else steps.work(a.shape, a.dtype)
    specs, n = (positions, a, values), positions.shape[dim]
    dims, strides, offsets = walk([without(x.layout, positions.shape, dim) for x in specs])
    groups = zip(offsets, [x.layout.strides[dim] for x in specs], strides, strict=True)
    rows = prod(dims)
    lanes, units = group_along(n, EACH, rows)
    numbers = scan.scan_fields(len(dims)).pack(*groups, rows=rows, n=n, block=n, blocks=1, shape=dims)
    kernel = steps.backend.kernel(write_extremes, better, a.dtype, len(dims))
    launch = steps.backend.bind(kernel, (steps.backend.blocks(rows, units), 1, 1), (lanes, units, 1), numbers)
    steps.then(launch, a, values, positions)
    return steps.launch


def group_along(n: int, each: int, rows: int) -> tuple[int, int]:
    """Return the number of lanes for a row, and of rows in a block."""
    lanes = min(power_above(-(-n // each)), WARP if n <= WARP * each * 4 else THREADS)
    return lanes, 1 if lanes > WARP else min(THREADS // lanes, power_above(rows))


def neighbours(specs: Sequence[Spec], groups: Sequence[tuple[int, int, tuple[int, ...]]]) -> tuple[int, bool]:
    """Return how many elements a lane processes together, and whether one load and one store move them."""
    each = WIDEST // max(x.dtype.itemsize for x in specs)
    fits = all(step == 1 and not any(p % each for p in (offset, *steps)) for offset, step, steps in groups)
    return (each, True) if fits and each > 1 else (EACH, False)


def totals_numbers(
    dims: tuple[int, ...], group: tuple[int, int, tuple[int, ...]], n: int, block: int, blocks: int
) -> list[int]:
    """Return the scalar arguments of a reduction of each block of each row.

    Each block is one piece; the results of a block's rows are neighbours.
    """
    offset, step, steps = group
    to_steps = tuple(prod(dims[d + 1 :]) for d in range(len(dims)))
    return reduction.spread_fields(len(dims), 0).pack(
        (0, 0, to_steps, ()), (offset, step, steps, ()), outputs=prod(dims), count=1, units=blocks, piece=1, rows=n,
        block=block, blocks=blocks, copy=prod(dims), sizes=dims, reduced_sizes=(),
    )  # fmt: skip


def write_chain(reducer: Reducer, compute: np.dtype[Any], dtypes: tuple[DType, ...], out: DType, rank: int) -> Program:
    """Write a scan in which one thread scans each row."""
    text = write_kernel(
        f"{reducer.scalar.name}, a row a thread: {', '.join(map(str, dtypes))} -> {out} in {compute}.",
        scan.chain,
        operands=dtypes,
        out=out,
        compute=compute,
        macros={"F": scalar_macro(reducer.scalar, compute, CUDA)},
        constants={"IDENTITY": neutral_text(reducer.identity, compute)},
        fields=scan.scan_fields(rank),
        target=CUDA,
    )
    return Program("_".join([reducer.scalar.name, *(d.short for d in dtypes), out.short, f"chain{rank}"]), text)


def write_tiles(
    reducer: Reducer, compute: np.dtype[Any], a: DType, out: DType, each: int, wide: bool, cut: bool, rank: int
) -> Program:
    """Write one scan in tiles. cut: in blocks whose totals are already computed."""
    macros, constants = wire(compute)
    assert reducer.combine is not None
    macros["F"] = scalar_macro(reducer.scalar, compute, CUDA)
    macros["COMBINE"] = step_macro(reducer.combine, compute, CUDA)
    fields = scan.scan_fields(rank)
    steps = [f"numbers[{fields.position('step', group=str(k))}]" for k in range(2)]
    load, store = load_text(a, compute, CUDA)[0], store_text(compute, out, CUDA)[0]
    label = f"tiles{rank}{'_cut' if cut else ''}" + (f"_by{each}" if wide else "")
    text = write_kernel(
        f"{reducer.scalar.name}: {a} -> {out} in {compute}; {label}.",
        scan.tiles,
        operands=(a,),
        out=out,
        compute=compute,
        macros=macros | {
            "SCAN_OWN": scan_own(macros["F"], load, neutral_text(reducer.identity, compute), each, wide, steps[1]),
            "LEAVE_OWN": leave_own(macros["COMBINE"], store, each, wide, steps[0]),
        },
        constants=constants | {
            "IDENTITY": neutral_text(reducer.identity, compute), "EACH": str(each), "CUT": str(int(cut)),
        },
        helpers=[scan.before_lane, *([reduction.by_lanes] if cut else [])],
        fields=fields,
        arrays=(a, as_dtype(compute), out) if cut else (a, out),
        target=CUDA,
    )  # fmt: skip
    if not cut:
        text = text.replace("def kernel(in_0, work, out, numbers):", "def kernel(in_0, out, numbers):")
    return Program(f"{reducer.scalar.name}_{a.short}_{out.short}_{label}", text)


def in_either_way(whole: list[str], each: int, one: list[str], after: str = "") -> list[str]:
    """Return lines for all elements of a lane together if all exist and `whole` is not empty, otherwise one by one."""
    loop = [f"for k in range({each}):", "    if i + k < length:", *["        " + text for text in one]]
    if after:
        loop.append(f"    {after}")
    if not whole:
        return loop
    head = f"if i + {each} <= length:"
    return [head, *["    " + text for text in whole], "else:", *["    " + text for text in loop]]


def scan_own(f: Expand, load: str, identity: str, each: int, wide: bool, step: str) -> Expand:
    """Return the macro SCAN_OWN: scan the elements of a lane into `held`; missing elements change nothing."""

    def one(x: str, used: set[str]) -> list[str]:
        lines, result = f([parsed("acc"), parsed(load.format(x))], used)
        return [*lines, f"acc = T({ast.unparse(result)})"]

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        x, whole = fresh("x", used), []
        if wide:
            whole.append(f"{x} = load_{each}(in_0, at + i)")
            for k in range(each):
                whole += [*one(f"{x}[{k}]", used), f"held[{k}] = acc"]
        single = one(f"in_0[at + (i + k) * {step}]", used)
        return [f"acc = {identity}", *in_either_way(whole, each, single, "held[k] = acc")], ast.Constant(0)

    return expand


def leave_own(combine: Expand, store: str, each: int, wide: bool, step: str) -> Expand:
    """Return the macro LEAVE_OWN: join the total before a lane with each of its elements, and store the results."""

    def one(held: str, z: str, used: set[str]) -> list[str]:
        lines, result = combine([parsed("mine"), parsed(held)], used)
        return [*lines, f"{z} = {store.format(f'T({ast.unparse(result)})')}"]

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        whole, names = [], [fresh("z", used) for _ in range(each if wide else 1)]
        if wide:
            whole = [text for k, name in enumerate(names) for text in one(f"held[{k}]", name, used)]
            whole.append(f"store_{each}(out, to + i, ({', '.join(names)},))")
        single = [*one("held[k]", names[0], used), f"out[to + (i + k) * {step}] = {names[0]}"]
        return in_either_way(whole, each, single), ast.Constant(0)

    return expand


def write_extremes(better: ScalarFn, a: DType, rank: int) -> Program:
    """Write running minima or maxima and their positions."""
    fields = scan.scan_fields(rank)
    step = f"numbers[{fields.position('step', group='1')}]"
    text = write_kernel(
        f"{better.name} so far, and where: {a}; rows in tiles.",
        scan.extremes,
        operands=(a, a),
        out=int64,
        compute=a.compute,
        macros={
            "F": scalar_macro(better, a.compute, CUDA, True),
            "LATER": expression_macro(f"later({{}}, {{}}, in_0, at, {step})"),
        },
        constants={"EACH": str(EACH)},
        helpers=[scan.later],
        fields=fields,
        target=CUDA,
    )
    return Program(f"{better.name}_{a.short}_running{rank}", text)
