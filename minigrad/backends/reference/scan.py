"""Scans and running extremes, one element at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.backends.base import Launch
from minigrad.backends.host import HostMemory
from minigrad.backends.reference.elements import INT64, Buffer, quiet, read, write
from minigrad.backends.reference.rows import rows_of
from minigrad.backends.reference.scalars import first_accumulator, python_function
from minigrad.core.fold import Fold
from minigrad.core.op import ScalarFn, Spec


class Scan(HostMemory):
    """The preparers of scans and of running extremes."""

    def scan(self, fold: Fold, compute: np.dtype[Any], out: Spec, operands: Sequence[Spec], dim: int) -> Launch:
        f, start = python_function(fold.scalar, compute), first_accumulator(fold, compute)

        def launch(*buffers: Buffer) -> None:
            elements = list(zip(*[read(b, s, compute) for b, s in zip(buffers, operands)], strict=True))
            results: list[Any] = [None] * len(elements)
            for positions in rows_of(out.shape, dim):
                acc = start
                for p in positions:
                    acc = results[p] = f(acc, *elements[p])
            write(buffers[-1], out, results, compute)

        return quiet(launch)

    def argscan(self, better: ScalarFn, out: Spec, a: Spec, dim: int) -> Launch:
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
