"""Scans, and running minima and maxima, one element at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import INT64, Buffer, quiet, read, write
from minigrad.backends.reference.rows import rows_of
from minigrad.backends.reference.scalars import first_accumulator, python_function
from minigrad.core import requests
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.reducer import Reducer


class Scan(HostMemory):
    """The methods that prepare scans, and running minima and maxima."""

    @serves(requests.Scan)
    def scan(self, out: Spec, *operands: Spec, reducer: Reducer, compute: np.dtype[Any], dim: int) -> Loop:
        f, start = python_function(reducer.scalar, compute), first_accumulator(reducer.identity, compute)

        def launch(*buffers: Buffer) -> None:
            elements = list(zip(*[read(b, s, compute) for b, s in zip(buffers, operands)], strict=True))
            results: list[Any] = [None] * len(elements)
            for positions in rows_of(out.shape, dim):
                acc = start
                for p in positions:
                    acc = results[p] = f(acc, *elements[p])
            write(buffers[-1], out, results, compute)

        return quiet(launch)

    @serves(requests.ArgScan)
    def argscan(self, out: Spec, a: Spec, *, better: ScalarFn, dim: int) -> Loop:
        compute = a.dtype.compute
        f = python_function(better, compute)

        def launch(buffer: Buffer, z: Buffer) -> None:
            elements = read(buffer, a, compute)
            results = [0] * len(elements)
            for positions in rows_of(out.shape, dim):
                winner = 0
                for i, p in enumerate(positions):
                    winner = i if f(elements[positions[winner]], elements[p]) else winner
                    results[p] = winner
            write(z, out, results, INT64)

        return quiet(launch)
