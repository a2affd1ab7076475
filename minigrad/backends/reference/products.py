"""Matrix products, one element at a time."""

from __future__ import annotations

from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import FLOAT64, Buffer, collect, quiet, write, write_integers
from minigrad.core import requests
from minigrad.core.op import Spec


class Products(HostMemory):
    """The method that prepares matrix products."""

    @serves(requests.Product)
    def product(self, out: Spec, a: Spec, b: Spec, c: Spec | None = None, *, alpha: float, beta: float) -> Loop:
        """Multiply with Python numbers: floats sum in float64 and round once, integers are exact and wrap once."""
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
                write(z, out, cells, FLOAT64)
            else:
                write_integers(z, out, cells)

        return quiet(launch)
