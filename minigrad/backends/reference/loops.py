"""Elementwise loops, copies, folds, searches and matrix products, one element at a time."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import Launch, serves
from minigrad.backends.host import HostMemory
from minigrad.backends.reference.elements import (
    INT64,
    Buffer,
    collect,
    places,
    quiet,
    read,
    targets,
    write,
    write_integers,
)
from minigrad.backends.reference.scalars import compute_type, first_accumulator, python_function
from minigrad.core import requests
from minigrad.core.dtype import cast_array, to_logical
from minigrad.core.fold import Fold
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn, Spec


class Loops(HostMemory):
    """The preparers of elementwise loops, copies, folds and matrix products."""

    @serves(requests.Elementwise)
    def elementwise(self, out: Spec, *operands: Spec, scalar: ScalarFn, compute: np.dtype[Any]) -> Launch:
        f = python_function(scalar, compute)

        def launch(*buffers: Buffer) -> None:
            columns = [read(buffer, spec, compute) for buffer, spec in zip(buffers, operands)]
            write(buffers[-1], out, [f(*row) for row in zip(*columns, strict=True)], compute)

        return quiet(launch)

    @serves(requests.Copy)
    def copy(self, out: Spec, a: Spec) -> Launch:
        def launch(x: Buffer, z: Buffer) -> None:
            z[places(out.layout)] = cast_array(to_logical(x, a.dtype)[places(a.layout)], out.dtype)

        return launch

    @serves(requests.Reduce)
    def reduce(self, out: Spec, a: Spec, *, fold: Fold, compute: np.dtype[Any], dims: tuple[int, ...]) -> Launch:
        """Every fold in the order of its elements, whatever else it would allow."""
        f, start = python_function(fold.scalar, compute), first_accumulator(fold, compute)
        number = compute_type(compute)
        count = prod(a.shape[d] for d in dims)

        def launch(x: Buffer, z: Buffer) -> None:
            folds = dict.fromkeys(out.layout.offsets(), start)
            for place, value in zip(targets(out.layout, a.layout), read(x, a, compute), strict=True):
                folds[place] = f(folds[place], value)
            values = list(folds.values())
            write(z, out, [v / number(count) for v in values] if fold.mean else values, compute)

        return quiet(launch)

    @serves(requests.ArgReduce)
    def argreduce(self, out: Spec, a: Spec, *, better: ScalarFn, dim: int) -> Launch:
        compute = a.dtype.compute
        f = python_function(better, compute)
        # A layout whose offsets are the index along `dim`.
        positions = Layout.make(a.shape, tuple(int(d == dim) for d in range(len(a.shape))), 0)

        def launch(x: Buffer, z: Buffer) -> None:
            best: dict[int, tuple[Any, int]] = {}
            rows = zip(targets(out.layout, a.layout), positions.offsets(), read(x, a, compute), strict=True)
            for place, position, value in rows:
                if place not in best or f(best[place][0], value):
                    best[place] = (value, position)
            write(z, out, [best[place][1] for place in out.layout.offsets()], INT64)

        return quiet(launch)

    @serves(requests.Product)
    def product(self, out: Spec, a: Spec, b: Spec, c: Spec | None = None, *, alpha: float, beta: float) -> Launch:
        """Python's own numbers: floats sum in float64 and round once, integers are exact and wrap once."""
        compute = out.dtype.compute
        *_, m, n = out.shape
        k = a.shape[-1]

        def launch(x: Buffer, y: Buffer, *others: Buffer) -> None:
            lhs, rhs = collect(x, a, compute).tolist(), collect(y, b, compute).tolist()
            added = collect(others[0], c, compute).tolist() if c else []
            z = others[-1]
            cells = []
            for cell in range(out.layout.numel):
                batch, i, j = cell // (m * n), cell // n % m, cell % n
                total: Any = 0
                for p in range(k):
                    total += lhs[(batch * m + i) * k + p] * rhs[(batch * k + p) * n + j]
                total *= alpha
                cells.append(total + beta * added[cell] if c else total)
            if compute.kind == "f":
                write(z, out, cells, np.dtype(np.float64))
            else:
                write_integers(z, out, cells)

        return quiet(launch)
