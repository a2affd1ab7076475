"""Elementwise loops, one element at a time: the computation of a kernel in two lines of Python.

`read` collects the elements of an operand in row-major order, as scalars of the compute dtype; `write` stores results.
`python_function` makes a Python function of an op's scalar function, in which every step rounds to that dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import Buffer, quiet, read, write
from minigrad.backends.reference.scalars import python_function
from minigrad.core import requests
from minigrad.core.op import ScalarFn, Spec


class Loops(HostMemory):
    """The method that prepares elementwise loops."""

    @serves(requests.Elementwise)
    def elementwise(self, out: Spec, *operands: Spec, scalar: ScalarFn, compute: np.dtype[Any]) -> Loop:
        f = python_function(scalar, compute)

        def launch(*buffers: Buffer) -> None:
            columns = [read(buffer, spec, compute) for buffer, spec in zip(buffers, operands)]
            write(buffers[-1], out, [f(*row) for row in zip(*columns, strict=True)], compute)

        return quiet(launch)
