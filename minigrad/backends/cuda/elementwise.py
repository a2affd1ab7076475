"""Elementwise loops on CUDA: from specs to a plan, a kernel and a launch.

The loops are in `kernels/cuda/elementwise.py`, the plans in `loops.py`.  A copy is one of these loops, by its lowering;
if its operand is transposed, it runs by tiles.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cuda.family import CudaBackend
from minigrad.backends.cuda.loops import AHEAD, ROWS_OF_GRID, WARP, LoopPlan, plan_elementwise, plan_nest, plan_turned
from minigrad.backends.cuda.runtime import THREADS, Program
from minigrad.backends.launch import Loop
from minigrad.backends.lowering.functions import IDENTITY, NONZERO
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.core.op import ScalarFn, Spec
from minigrad.kernels.cpu.target import element
from minigrad.kernels.cuda import elementwise
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.macros import call_macro, expression_macro, scalar_macro, stores_macro
from minigrad.kernels.pasting import LEFT_OUT, Expand
from minigrad.kernels.specialize import store_text, write_kernel

MOVES = (IDENTITY, NONZERO)  # copies and casts, for which the detour through shared memory saves time
RESIDENT = {1: 6, 2: 5, 4: 4}  # by elements per word: the number of blocks for which a multiprocessor has registers


@serves(CudaBackend, requests.Elementwise)
def apply(steps: Steps, request: requests.Elementwise) -> Loop:
    (out,), operands, scalar, compute = steps.outs, steps.operands, request.scalar, request.compute
    sizes = [spec.dtype.itemsize for spec in (out, *operands)]
    dtypes = tuple(a.dtype for a in operands)
    if scalar in MOVES and (turned := plan_turned(out.layout, operands[0].layout, sizes)):
        plan = turned
        kernel = steps.backend.kernel(write_turned, scalar, compute, *dtypes, out.dtype, plan.width, plan.rank)
    else:
        plan = plan_elementwise(out.layout, [a.layout for a in operands], sizes)
        if plan.kind == "nest":
            return nest(steps, plan, (out,), operands, scalar, compute)
        kernel = steps.backend.kernel(
            write_elementwise, scalar, compute, dtypes, out.dtype, plan.kind, plan.steps, plan.width, plan.rank,
            plan.long,
        )  # fmt: skip
    grid = (steps.backend.blocks(plan.units, plan.block[0]), min(plan.high, ROWS_OF_GRID), 1)
    return steps.backend.bind(kernel, grid, plan.block, plan.numbers)


@serves(CudaBackend, requests.ElementwiseTuple)
def elementwise_tuple(steps: Steps, request: requests.ElementwiseTuple) -> Loop:
    outs, operands, scalar, compute = steps.outs, steps.operands, request.scalar, request.compute
    plan = plan_nest([y.layout for y in outs], [a.layout for a in operands])
    return nest(steps, plan, outs, operands, scalar, compute)


def nest(
    steps: Steps, plan: LoopPlan, outs: Sequence[Spec], operands: Sequence[Spec], scalar: ScalarFn,
    compute: np.dtype[Any],
) -> Loop:  # fmt: skip
    """Return the launch of the loop for any memory order and any number of results."""
    dtypes = [tuple([each.dtype for each in some]) for some in (operands, outs)]
    kernel = steps.backend.kernel(write_nest, scalar, compute, *dtypes, plan.rank, plan.long)
    return steps.backend.bind(kernel, (steps.backend.blocks(plan.units, plan.block[0]), 1, 1), plan.block, plan.numbers)


def write_elementwise(
    scalar: ScalarFn,
    compute: np.dtype[Any],
    dtypes: tuple[DType, ...],
    out: DType,
    kind: str,
    steps: tuple[int, ...],
    width: int,
    rank: int,
    long: bool,
) -> Program:
    """Write one elementwise kernel."""
    label = ("dense" if kind == "dense" else f"rows{rank}_") + "".join(map(str, steps))
    label += (f"_by{width}" if width > 1 else "") + ("_long" if long else "")
    text = write_kernel(
        f"{scalar.name}: {', '.join(map(str, dtypes))} -> {out}; {label}.",
        getattr(elementwise, kind),
        operands=dtypes,
        out=out,
        compute=compute,
        macros={
            "F": scalar_macro(scalar, compute, CUDA, out.kind == "bool"), "G": call_macro("value"),
            "ALL": lanes_macro(AHEAD if apart(kind, width) else width),
            "WORD": word_macro(long),
        },
        constants=positions(kind, steps, width, long),
        helpers=[elementwise.value] if long or kind == "dense" else [elementwise.value, elementwise.divide],
        fields=elementwise.DENSE if kind == "dense" else elementwise.rows_fields(rank),
        target=CUDA,
    )  # fmt: skip
    return Program("_".join([scalar.name, *(d.short for d in dtypes), out.short, label]), text)


def write_nest(
    scalar: ScalarFn, compute: np.dtype[Any], dtypes: tuple[DType, ...], outs: tuple[DType, ...], rank: int, long: bool
) -> Program:
    """Write one kernel for any order of memory and any number of results."""
    label = f"nest{rank}" + ("_long" if long else "")
    stores, conditions = [store_text(compute, y, CUDA, several=True)[0] for y in outs], [y.kind == "bool" for y in outs]
    text = write_kernel(
        f"{scalar.name}: {', '.join(map(str, dtypes))} -> {', '.join(map(str, outs))}; {label}.",
        elementwise.nest,
        operands=dtypes,
        out=outs,
        compute=compute,
        macros={"F": stores_macro(scalar, compute, stores, conditions, CUDA), "WORD": word_macro(long)},
        constants={"RESULTS": str(len(outs)), "DIVISORS": "N.shape" if long else "N.magic"},
        helpers=[] if long else [elementwise.divide],
        fields=elementwise.rows_fields(rank),
        target=CUDA,
    )  # fmt: skip
    return Program("_".join([scalar.name, *(d.short for d in (*dtypes, *outs)), label]), text)


def word_macro(long: bool) -> Expand:
    """Return the macro that converts to the type of positions."""
    return expression_macro("np.int64({})" if long else "np.uint32({})")


def positions(kind: str, steps: tuple[int, ...], width: int, long: bool) -> dict[str, str]:
    """Return the source text of the element at a position, or of some neighbours."""
    names = {"WIDTH": str(width), "WIDE": str(int(width > 1)), "PUT": f"store_{width}",
             "APART": str(int(apart(kind, width)))}  # fmt: skip
    names["DIVISORS"] = "N.shape" if long else "N.magic"
    for k, step in enumerate(steps):
        several = step and (width > 1 or names["APART"] == "1")
        names |= {f"STEP_{k}": str(step), f"LANE_{k}": f"x_{k}[J]" if several else f"x_{k}"}
        ahead = ", ".join(f"in_{k}[base_{k} + at + {j} * step]" for j in range(AHEAD))
        loads = f"({ahead})" if width == 1 else f"load_{width}(in_{k}, base_{k} + at)"
        names[f"TAKE_{k}"] = loads if several else f"in_{k}[base_{k}]"
    return names if width > 1 or kind == "rows" else names | {f"TAKE_{k}": LEFT_OUT for k in range(len(steps))}


def apart(kind: str, width: int) -> bool:
    """Return whether a thread processes elements of a row that are not neighbours."""
    return kind == "rows" and width == 1


def write_turned(scalar: ScalarFn, compute: np.dtype[Any], a: DType, out: DType, width: int, rank: int) -> Program:
    """Write one copy or cast by tiles."""
    label = f"tiles{rank}" + (f"_by{width}" if width > 1 else "")
    high, side = elementwise.HIGH, WARP * width
    sizes = {"WIDTH": width, "HIGH": high, "SIDE": side, "AREA": side * side, "TURNS": WARP // high,
             "LINES": side // high}  # fmt: skip
    held = "uint8" if out.kind == "bool" else element(out)
    text = write_kernel(
        f"{scalar.name}: {a} -> {out}; {label}.",
        elementwise.tiles,
        operands=(a,),
        out=out,
        compute=compute,
        macros={"F": scalar_macro(scalar, compute, CUDA, out.kind == "bool"), "TURN": turn_macro(width, rank)},
        constants={name: str(size) for name, size in sizes.items()}
        | {"HELD": f"np.{held}", "PUT": f"store_{width}", "TAKE": f"load_{width}"},
        imports=f"BLOCK = {THREADS, RESIDENT[width]}\n",
        helpers=[elementwise.value],
        fields=elementwise.tiles_fields(rank),
        target=CUDA,
    )
    return Program(f"{scalar.name}_{a.short}_{out.short}_{label}", text)


def turn_macro(width: int, rank: int) -> Expand:
    """Return the macro TURN(p, x, word), which transposes elements into words of the tile.

    The elements from p on, WIDTH along the operand and WIDTH along the result, become one word for each row.
    """
    far = f"numbers[{elementwise.tiles_fields(rank).position('far', group='1')}]"

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        p, x, word = map(ast.unparse, args)
        lines = [f"at_word = {p}"]
        lines += [f"v{j} = load_{width}(in_0, at_word + {j} * {far})" for j in range(width)]
        for k in range(width):
            values = ", ".join(f"value(v{j}[{k}])" for j in range(width))
            lines.append(f"store_{width}(tile, (({x} * {width} + {k}) * 32 + ({word} ^ {x})) * {width}, ({values},))")
        return lines, ast.Constant(0)

    return expand


def lanes_macro(width: int) -> Expand:
    """Return the macro ALL(x): a tuple of x written once for each lane, whose index is J in x."""

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        one = ast.unparse(args[0])
        lanes = [re.sub(r"\bJ\b", str(j), one) for j in range(width)]
        return [], ast.parse(f"({', '.join(lanes)},)", mode="eval").body

    return expand
