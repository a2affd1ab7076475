"""Factors of matrices and solutions of triangular systems, one element at a time."""

from __future__ import annotations

import math
from math import prod

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import FLOAT64, INT64, Buffer, collect, quiet, write
from minigrad.core import requests
from minigrad.core.op import Spec


def matrices_of(buffer: Buffer, a: Spec) -> list[list[list[float]]]:
    """Return the matrices of a batch as lists of rows."""
    matrices: list[list[list[float]]] = collect(buffer, a, FLOAT64).reshape(prod(a.shape[:-2]), *a.shape[-2:]).tolist()
    return matrices


class Factors(HostMemory):
    """The methods that prepare factors and triangular systems; sums are in float64, rounded once per element."""

    @serves(requests.Cholesky)
    def cholesky(self, out: Spec, pivots: Spec, a: Spec) -> Loop:
        n = a.shape[-1]

        def launch(buffer: Buffer, y: Buffer, z: Buffer) -> None:
            elements, wrong = [], []
            for rows in matrices_of(buffer, a):
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

    @serves(requests.LU)
    def lu(self, out: Spec, pivots: Spec, order: Spec, a: Spec) -> Loop:
        m, n = a.shape[-2:]

        def launch(buffer: Buffer, y: Buffer, z: Buffer, w: Buffer) -> None:
            exchanges, permutations, elements = [], [], []
            for rows in matrices_of(buffer, a):
                permutation = list(range(m))
                for j in range(min(m, n)):
                    p = max(range(j, m), key=lambda i: (abs(rows[i][j]), -i))
                    exchanges.append(p)
                    rows[j], rows[p] = rows[p], rows[j]
                    permutation[j], permutation[p] = permutation[p], permutation[j]
                    for i in range(j + 1, m):
                        rows[i][j] /= rows[j][j] or 1.0
                        for k in range(j + 1, n):
                            rows[i][k] -= rows[i][j] * rows[j][k]
                permutations += permutation
                elements += [x for row in rows for x in row]
            write(y, out, elements, FLOAT64)
            write(z, pivots, exchanges, INT64)
            write(w, order, permutations, INT64)

        return quiet(launch)

    @serves(requests.QR)
    def qr(self, q: Spec, r: Spec, a: Spec) -> Loop:
        (m, n), p = a.shape[-2:], r.shape[-2]

        def launch(buffer: Buffer, y: Buffer, z: Buffer) -> None:
            left: list[float] = []
            right: list[float] = []
            for rows in matrices_of(buffer, a):
                vectors = [reflection(rows, j) for j in range(min(m, n))]
                columns = [[float(i == c) for c in range(p)] for i in range(m)]
                for j, (v, factor) in reversed(list(enumerate(vectors))):
                    reflect(columns, j, j, v, factor)
                left += [x for row in columns for x in row]
                right += [rows[i][c] if i <= c else 0.0 for i in range(p) for c in range(n)]
            write(y, q, left, FLOAT64)
            write(z, r, right, FLOAT64)

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


def reflection(rows: list[list[float]], j: int) -> tuple[list[float], float]:
    """Apply the reflection that leaves one nonzero element in column j from row j on; return its vector and factor."""
    column = [row[j] for row in rows[j:]]
    size = max(map(abs, column)) if all(x == x for x in column) else math.nan
    scaled = [x / size if size else x for x in column]
    first, below = scaled[0], sum(x * x for x in scaled[1:])
    if below == 0:
        return [0.0] * len(column), 0.0
    kept = math.copysign(math.sqrt(first * first + below), -1.0 if first >= 0 else 1.0)
    v, factor = [1.0, *[x / (first - kept) for x in scaled[1:]]], (kept - first) / kept
    reflect(rows, j, j + 1, v, factor)
    rows[j][j] = kept * size
    return v, factor


def reflect(rows: list[list[float]], start: int, column: int, v: list[float], factor: float) -> None:
    """Subtract factor * v @ (v.T @ rows) from a part of the rows.

    The part consists of the rows from `start` on and the columns from `column` on.
    """
    for c in range(column, len(rows[0])):
        part = factor * sum(f * row[c] for f, row in zip(v, rows[start:]))
        for f, row in zip(v, rows[start:]):
            row[c] -= f * part
