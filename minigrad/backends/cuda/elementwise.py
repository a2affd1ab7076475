"""Elementwise loops on CUDA: from specs to a plan, a kernel and a launch.

The loops are in `kernels/cuda/elementwise.py`, the plans in `loops.py`.  A copy is one of them, by its lowering.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from minigrad.backends.base import Launch, serves
from minigrad.backends.cuda.family import Family, nothing
from minigrad.backends.cuda.loops import ROWS_OF_GRID, plan_elementwise
from minigrad.backends.cuda.runtime import Program
from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.core.op import ScalarFn, Spec
from minigrad.kernels.cuda import elementwise
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.pasting import LEFT_OUT, Expand, expression_macro, scalar_macro
from minigrad.kernels.specialize import write_kernel


class Elementwise(Family):
    """The preparer of elementwise loops."""

    @serves(requests.Elementwise)
    def elementwise(self, out: Spec, *operands: Spec, scalar: ScalarFn, compute: np.dtype[Any]) -> Launch:
        if out.layout.numel == 0:
            return nothing
        sizes = [spec.dtype.itemsize for spec in (out, *operands)]
        plan = plan_elementwise(out.layout, [a.layout for a in operands], sizes)
        dtypes = tuple(a.dtype for a in operands)
        kernel = self.kernel(
            write_elementwise, scalar, compute, dtypes, out.dtype, plan.kind, plan.steps, plan.width, plan.rank,
            plan.long,
        )  # fmt: skip
        grid = (self.blocks(plan.units, plan.block[0]), min(plan.high, ROWS_OF_GRID), 1)
        return self.bind(kernel, grid, plan.block, plan.numbers)


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
    told = {"dense": f"dense{''.join(map(str, steps))}", "rows": f"rows{rank}_{''.join(map(str, steps))}"}
    label = told.get(kind, f"nest{rank}") + (f"_by{width}" if width > 1 else "") + ("_long" if long else "")
    text = write_kernel(
        f"{scalar.name}: {', '.join(map(str, dtypes))} -> {out}; {label}.",
        getattr(elementwise, kind),
        operands=dtypes,
        out=out,
        compute=compute,
        macros={
            "F": scalar_macro(scalar, compute, CUDA), "G": call_macro("value"), "ALL": lanes_macro(width),
            "WORD": expression_macro("np.int64({})" if long else "np.uint32({})"),
        },
        constants=places(kind, steps, width, long),
        helpers=[elementwise.value] if long or kind == "dense" else [elementwise.value, elementwise.divide],
        fields=elementwise.DENSE if kind == "dense" else elementwise.rows_fields(rank),
        target=CUDA,
    )  # fmt: skip
    return Program("_".join([scalar.name, *(d.short for d in dtypes), out.short, label]), text)


def places(kind: str, steps: tuple[int, ...], width: int, long: bool) -> dict[str, str]:
    """The source text of what stands at a place, one element or some neighbours."""
    names = {"WIDTH": str(width), "WIDE": str(int(width > 1)), "PUT": f"store_{width}"}
    names["DIVISORS"] = "N.shape" if long else "N.magic"
    for k, step in enumerate(steps):
        moves = step and width > 1
        names |= {f"STEP_{k}": str(step), f"LANE_{k}": f"x_{k}[J]" if moves else f"x_{k}"}
        names[f"TAKE_{k}"] = f"load_{width}(in_{k}, base_{k} + at)" if moves else f"in_{k}[base_{k}]"
    return names if width > 1 else names | {f"TAKE_{k}": LEFT_OUT for k in range(len(steps))}


def call_macro(name: str) -> Expand:
    """A macro that calls a function of the module."""
    return lambda args, used: ([], ast.Call(ast.Name(name), args, []))


def lanes_macro(width: int) -> Expand:
    """The macro ALL(x): a tuple of x written once for each lane, which it knows as J."""

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        one = ast.unparse(args[0])
        lanes = [re.sub(r"\bJ\b", str(j), one) for j in range(width)]
        return [], ast.parse(f"({', '.join(lanes)},)", mode="eval").body

    return expand
