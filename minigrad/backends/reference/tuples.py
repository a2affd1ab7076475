"""Elementwise loops with several results, or over many tensors.

All results of an element are computed before one of them is stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import Buffer, quiet, read, write
from minigrad.backends.reference.scalars import python_function, tuple_function
from minigrad.backends.table import Table
from minigrad.core import requests
from minigrad.core.op import ScalarFn, Spec


class Tuples(HostMemory):
    """The methods that prepare loops with several results or over many tensors."""

    @serves(requests.ElementwiseTuple)
    def elementwise_tuple(self, *specs: Spec, scalar: ScalarFn, compute: np.dtype[Any]) -> Loop:
        f, count = python_function(scalar, compute), scalar.results
        outs, operands = specs[:count], specs[count:]

        def launch(*buffers: Buffer) -> None:
            columns = [read(buffer, spec, compute) for buffer, spec in zip(buffers, operands)]
            rows = [f(*row) for row in zip(*columns, strict=True)]
            for k, (buffer, out) in enumerate(zip(buffers[len(operands) :], outs, strict=True)):
                write(buffer, out, [row[k] for row in rows], compute)

        return quiet(launch)

    @serves(requests.Many)
    def many(self, *specs: Spec, scalar: ScalarFn, compute: np.dtype[Any], rows: int) -> Loop:
        f, request = tuple_function(scalar, compute), requests.Many(scalar, compute, rows)
        outs, operands = specs[: rows * scalar.results], specs[rows * scalar.results :]
        looks = Table(request, [*operands, *outs])

        def launch(*buffers: Buffer) -> None:
            memory = Table(request, buffers)
            constants = read(memory.constants, looks.constants, compute)
            for row in range(rows):
                pairs = list(zip(memory.row(row), looks.row(row), strict=True))
                columns = [read(buffer, spec, compute) for buffer, spec in pairs]
                values = [f(*elements, *constants) for elements in zip(*columns, strict=True)]
                for k, (buffer, spec) in enumerate(pairs[: scalar.results]):
                    write(buffer, spec, [each[k] for each in values], compute)

        return quiet(launch)
