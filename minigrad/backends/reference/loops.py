"""The device, elementwise loops, one element at a time, and eigenvalues by NumPy.

A loop is the computation of a kernel in two lines of Python.  `read` collects the elements of an operand in row-major
order, as scalars of the compute dtype; `write` stores results.
`python_function` makes a Python function of an op's scalar function, in which every step rounds to that dtype.
"""

from __future__ import annotations

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Launch, Loop
from minigrad.backends.reference.elements import Buffer, collect, quiet, read, write
from minigrad.backends.reference.scalars import python_function
from minigrad.backends.steps import Steps
from minigrad.core.requests import Eigh, Elementwise


class ReferenceBackend(HostMemory):
    """Plain Python loops over host memory."""


@serves(ReferenceBackend, Elementwise)
def elementwise(steps: Steps, request: Elementwise) -> Loop:
    """Return the loop that applies the scalar function to each element."""
    (out,), operands, compute = steps.outs, steps.operands, request.compute
    f = python_function(request.scalar, compute)

    def launch(*buffers: Buffer) -> None:
        columns = [read(buffer, spec, compute) for buffer, spec in zip(buffers, operands)]
        write(buffers[-1], out, [f(*row) for row in zip(*columns, strict=True)], compute)

    return quiet(launch)


@serves(ReferenceBackend, Eigh)
def eigh(steps: Steps, request: Eigh) -> Loop | Launch:
    """Return the loop over general matrices, whose number of steps depends on the elements, so no lowering has it."""
    if not request.general:
        return steps.lower(request)
    (values, vectors), (a,) = steps.outs, steps.operands
    compute, n = vectors.dtype.compute, a.shape[-1]

    def launch(x: Buffer, w: Buffer, v: Buffer) -> None:
        matrices = collect(x, a, a.dtype.compute).reshape(-1, n, n)
        pairs = [decomposed(matrix, compute) for matrix in matrices]
        for buffer, spec, results in zip((w, v), (values, vectors), zip(*pairs)):
            write(buffer, spec, np.concatenate(results, axis=None).tolist(), compute)

    return quiet(launch)


def decomposed(matrix: Buffer, compute: np.dtype[np.complexfloating]) -> tuple[Buffer, Buffer]:
    """Return the eigenvalues and eigenvectors of one matrix, or nan for a matrix with nan or infinities."""
    if not np.isfinite(matrix).all():
        return np.full(len(matrix), np.nan, compute), np.full(matrix.shape, np.nan, compute)
    w, v = (each.astype(compute) for each in np.linalg.eig(matrix))
    largest = v[np.abs(v).argmax(0), np.arange(len(v))]
    return w, v * (largest.conj() / np.abs(largest))
