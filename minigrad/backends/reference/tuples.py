"""Elementwise loops with several results: all of an element are computed before one is stored."""

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


class Tuples(HostMemory):
    """The preparer of loops with several results."""

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
