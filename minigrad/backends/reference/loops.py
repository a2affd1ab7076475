"""Elementwise loops, copies, folds, searches and matrix products, one element at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import Launch
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
from minigrad.core.dtype import cast_array, to_logical
from minigrad.core.fold import Fold
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn, Spec


class Loops(HostMemory):
    """The preparers of elementwise loops, copies, folds and matrix products."""

    def elementwise(self, scalar: ScalarFn, compute: np.dtype[Any], out: Spec, operands: Sequence[Spec]) -> Launch:
        f = python_function(scalar, compute)

        def launch(*buffers: Buffer) -> None:
            columns = [read(buffer, spec, compute) for buffer, spec in zip(buffers, operands)]
            write(buffers[-1], out, [f(*row) for row in zip(*columns, strict=True)], compute)

        return quiet(launch)

    def copy(self, out: Spec, a: Spec) -> Launch:
        def launch(x: Buffer, z: Buffer) -> None:
            z[places(out.layout)] = cast_array(to_logical(x, a.dtype)[places(a.layout)], out.dtype)

        return launch

    def reduce(self, fold: Fold, compute: np.dtype[Any], out: Spec, a: Spec, dims: tuple[int, ...]) -> Launch:
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

    def argreduce(self, better: ScalarFn, out: Spec, a: Spec, dim: int) -> Launch:
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

    def matmul(self, out: Spec, a: Spec, b: Spec) -> Launch:
        launch = self.addmm(out, a, b, out, 1, 0)
        return lambda x, y, z: launch(x, y, z, z)

    def addmm(self, out: Spec, a: Spec, b: Spec, c: Spec, alpha: float, beta: float) -> Launch:
        """Python's own numbers: floats sum in float64 and round once, integers are exact and wrap once."""
        compute = out.dtype.compute
        *_, m, n = out.shape
        k = a.shape[-1]

        def launch(x: Buffer, y: Buffer, w: Buffer, z: Buffer) -> None:
            lhs, rhs = collect(x, a, compute).tolist(), collect(y, b, compute).tolist()
            added = collect(w, c, compute).tolist() if beta else []
            cells = []
            for cell in range(out.layout.numel):
                batch, i, j = cell // (m * n), cell // n % m, cell % n
                total: Any = 0
                for p in range(k):
                    total += lhs[(batch * m + i) * k + p] * rhs[(batch * k + p) * n + j]
                total *= alpha
                cells.append(total + beta * added[cell] if beta else total)
            if compute.kind == "f":
                write(z, out, cells, np.dtype(np.float64))
            else:
                write_integers(z, out, cells)

        return quiet(launch)
