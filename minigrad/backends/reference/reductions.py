"""Reductions, one element at a time."""

from __future__ import annotations

from math import prod

from minigrad.backends.base import serves
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import Buffer, positions, quiet, read, write
from minigrad.backends.reference.loops import ReferenceBackend
from minigrad.backends.reference.scalars import compute_type, first_accumulator, python_function
from minigrad.backends.steps import Steps
from minigrad.core.layout import Layout
from minigrad.core.requests import Reduce


@serves(ReferenceBackend, Reduce)
def reduce(steps: Steps, request: Reduce) -> Loop:
    """Reduce in the order of the elements, even if the reducer allows other orders."""
    (out,), operands, reducer, compute = steps.outs, steps.operands, request.reducer, request.compute
    f, start = python_function(reducer.scalar, compute), first_accumulator(reducer.identity, compute)
    count = compute_type(compute)(prod([operands[0].shape[d] for d in request.dims]))
    # For each element of an operand, the row-major position of its result.
    targets = positions(Layout.contiguous(out.shape).expand(operands[0].shape)).tolist()

    def launch(*buffers: Buffer) -> None:
        results = [start] * out.layout.numel
        columns = [read(buffer, spec, compute) for buffer, spec in zip(buffers, operands)]
        for target, *values in zip(targets, *columns, strict=True):
            results[target] = f(results[target], *values)
        if reducer.finish is not None:
            finish, taken = python_function(reducer.finish, compute), len(reducer.finish.args)
            results = [finish(*(acc, count)[:taken]) for acc in results]
        write(buffers[-1], out, results, compute)

    return quiet(launch)
