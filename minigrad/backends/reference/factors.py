"""Factors of symmetric matrices and solutions of triangular systems, one element at a time."""

from __future__ import annotations

import math

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import FLOAT64, INT64, Buffer, collect, quiet, write
from minigrad.core import requests
from minigrad.core.op import Spec


class Factors(HostMemory):
    """The preparers of factors and triangular systems; sums are in float64, rounded once per element."""

    @serves(requests.Cholesky)
    def cholesky(self, out: Spec, pivots: Spec, a: Spec) -> Loop:
        n = a.shape[-1]

        def launch(buffer: Buffer, y: Buffer, z: Buffer) -> None:
            elements, wrong = [], []
            for rows in collect(buffer, a, FLOAT64).reshape(-1, n, n).tolist() if a.layout.numel else ():
                u = [[0.0] * n for _ in range(n)]
                for j in range(n):
                    pivot = rows[j][j] - sum(u[k][j] ** 2 for k in range(j))
                    wrong.append(0 if pivot > 0 else 1)
                    root = math.sqrt(pivot) if pivot > 0 else 1.0
                    for i in range(j, n):
                        u[j][i] = (rows[j][i] - sum(u[k][j] * u[k][i] for k in range(j))) / root
                elements += [x for row in u for x in row]
            write(y, out, elements, FLOAT64)
            write(z, pivots, wrong, INT64)

        return quiet(launch)

    @serves(requests.SolveTriangular)
    def solve_triangular(self, out: Spec, a: Spec, b: Spec, *, upper: bool, unit: bool) -> Loop:
        n, m = b.shape[-2:]
        order = range(n - 1, -1, -1) if upper else range(n)

        def launch(x: Buffer, y: Buffer, z: Buffer) -> None:
            solutions: list[float] = []
            if out.layout.numel:
                left = collect(x, a, FLOAT64).reshape(-1, n, n)
                for rows, right in zip(left, collect(y, b, FLOAT64).reshape(-1, n, m)):
                    solution = np.zeros((n, m))
                    for i in order:
                        known = range(i + 1, n) if upper else range(i)
                        total = right[i] - sum(rows[i, j] * solution[j] for j in known)
                        solution[i] = total if unit else total / rows[i, i]
                    solutions += solution.reshape(-1).tolist()
            write(z, out, solutions, FLOAT64)

        return quiet(launch)
