"""The device, and elementwise loops, one element at a time: the computation of a kernel in two lines of Python.

`read` collects the elements of an operand in row-major order, as scalars of the compute dtype; `write` stores results.
`tuple_function` is the `python_function` of an op's scalar function, whose steps round to that dtype, with tuples.
"""

from __future__ import annotations

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import Buffer, quiet, read, write
from minigrad.backends.reference.scalars import tuple_function
from minigrad.backends.steps import Steps
from minigrad.core.requests import Elementwise


class ReferenceBackend(HostMemory):
    """Plain Python loops over host memory."""


@serves(ReferenceBackend, Elementwise)
def elementwise(steps: Steps, request: Elementwise) -> Loop:
    """Return the loop that applies the scalar function to each element."""
    operands, compute, f = steps.operands, request.compute, tuple_function(request.scalar, request.compute)

    def launch(*buffers: Buffer) -> None:
        columns = [read(buffer, spec, compute) for buffer, spec in zip(buffers, operands)]
        for k, values in enumerate(zip(*[f(*row) for row in zip(*columns, strict=True)]), len(operands)):
            write(buffers[k], steps.specs[k], values, compute)

    return quiet(launch)
