"""Loops over many tensors, copies, joins, constants and ranges, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import Backend, serves
from minigrad.backends.launch import Launch
from minigrad.backends.lowering.functions import IDENTITY, LINE, NONZERO
from minigrad.backends.shared import Table
from minigrad.backends.steps import Steps, wide
from minigrad.core.dtype import DType, expect_no_loss
from minigrad.core.op import ScalarFn
from minigrad.core.requests import Arange, Chained, Copy, Elementwise, Followed, Join, Many


def cast(a: DType, out: DType) -> tuple[ScalarFn, np.dtype[Any]]:
    """Return the scalar function of a copy and the dtype in which it computes; a cast to bool is `!= 0`.

    Raises DTypeError for a copy that would lose imaginary parts.
    """
    expect_no_loss(a, out)
    if out.kind == "bool" and a.kind != "bool":
        return NONZERO, a.compute
    if not a.is_int or not out.is_inexact:
        return IDENTITY, out.compute if a.kind == "bool" else a.compute
    # float32 as an intermediate dtype would round twice for float16 and bfloat16
    return IDENTITY, out.compute if out.itemsize > 2 else np.dtype(np.float64)


@serves(Backend, Copy)
def copy(steps: Steps, request: Copy) -> Launch:
    """Copy by the identity function, element by element."""
    a, out = steps.specs
    return steps.backend.prepare(Elementwise(*cast(a.dtype, out.dtype)), out, a)  # a third faster than `ask`


@serves(Backend, Chained)
def chained(steps: Steps, request: Chained) -> None:
    """Store the results of each function, then run the request on them."""
    values = []
    for scalar, reads in zip(request.scalars, request.reads, strict=True):
        value, *others = [steps.operands[k] for k in reads]
        if scalar is not None:
            parts, value = [value, *others], steps.work(value.shape, request.dtype)
            steps.each(scalar, value, *parts)
        values.append(value)
    steps.ask(request.request, steps.outs, *values)


@serves(Backend, Followed)
def followed(steps: Steps, request: Followed) -> None:
    """Store the result of the request, then apply the function to it."""
    (out,), others = steps.outs, len(request.scalar.args) - 1
    value, count = steps.work(out.shape, out.dtype), len(steps.operands) - others
    steps.ask(request.request, value, *steps.operands[:count])
    arguments = steps.operands[count:]
    steps.each(request.scalar, out, *arguments[: request.position], value, *arguments[request.position :])


@serves(Backend, Many)
def many(steps: Steps, request: Many) -> None:
    """Run one loop per row; its last operands are the constants, which every element reads."""
    table = Table(request, [*steps.operands, *steps.outs])
    constants = [table.constants.at(0, k) for k in range(table.constants.shape[0])]
    for row in range(request.rows):
        tensors = table.row(row)
        if tensors[0].layout.numel:
            scalars = [c.seen(c.layout.view(()).expand(tensors[0].shape)) for c in constants]
            results = tensors[: request.scalar.results]
            steps.each(request.scalar, results, *tensors, *scalars, compute=request.compute)


@serves(Backend, Join)
def join(steps: Steps, request: Join) -> None:
    """Copy each operand to its position in the result."""
    start = 0
    (out,) = steps.outs
    for part in steps.operands:
        length = part.shape[request.dim]
        position = out.at(request.dim, start, length)
        if position.layout.numel:
            steps.ask(Copy(), position, part)
        start += length


@serves(Backend, Arange)
def arange(steps: Steps, request: Arange) -> None:
    """Compute start + i * step for each index i, in float64 or int64."""
    (out,), (start, step) = steps.outs, steps.operands
    steps.each(LINE, out, start, steps.positions(out.shape[0]), step, compute=wide(out.dtype).compute)
