"""Eigenvalues and orthogonal rows by rotations of pairs of rows, one after the other, until all angles are zero."""

from __future__ import annotations

import math

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import FLOAT64, Buffer, quiet, write
from minigrad.backends.reference.factors import matrices_of
from minigrad.core import requests
from minigrad.core.op import Spec

SWEEPS = 60  # far more than any matrix needs; with nan the loop would never end
# Threshold relative to the geometric mean of two diagonal elements, or of two squared lengths; below it, rows are not
# rotated.
CLOSE = 1e-16
Rows = list[list[float]]


class Rotations(HostMemory):
    """The methods that prepare eigenvalues and orthogonal rows; `SVD` is composed of `TurnRows`."""

    @serves(requests.Eigh)
    def eigh(self, values: Spec, vectors: Spec, a: Spec) -> Loop:
        n = a.shape[-1]

        def launch(buffer: Buffer, y: Buffer, z: Buffer) -> None:
            numbers: list[float] = []
            columns: list[float] = []
            for rows in matrices_of(buffer, a):
                x = [[rows[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]
                vectors = turned_until_diagonal(x)
                order = sorted(range(n), key=lambda i: x[i][i])
                numbers += [x[i][i] for i in order]
                columns += [vectors[i][k] for k in range(n) for i in order]
            write(y, values, numbers, FLOAT64)
            write(z, vectors_spec, columns, FLOAT64)

        vectors_spec = vectors
        return quiet(launch)

    @serves(requests.TurnRows)
    def turn_rows(self, j: Spec, y: Spec, lengths: Spec, a: Spec) -> Loop:
        k = a.shape[-2]

        def launch(buffer: Buffer, left: Buffer, right: Buffer, sizes: Buffer) -> None:
            turns: list[float] = []
            rows: list[float] = []
            numbers: list[float] = []
            for x in matrices_of(buffer, a):
                turn = turned_until_orthogonal(x)
                length = [math.hypot(*row) if all(v == v for v in row) else math.nan for row in x]
                order = sorted(range(k), key=lambda i: -length[i])
                turns += [v for i in order for v in turn[i]]
                rows += [v for i in order for v in x[i]]
                numbers += [length[i] for i in order]
            write(left, j, turns, FLOAT64)
            write(right, y, rows, FLOAT64)
            write(sizes, lengths, numbers, FLOAT64)

        return quiet(launch)


def turned_until_diagonal(x: Rows) -> Rows:
    """Return the eigenvectors of a symmetric matrix as rows.

    Pairs of its rows and columns are rotated in place until the matrix is diagonal.
    """
    n = len(x)
    vectors = identity(n)
    for _ in range(SWEEPS):
        done = True
        for p in range(n - 1):
            for q in range(p + 1, n):
                if not abs(x[p][q]) <= CLOSE * math.sqrt(abs(x[p][p])) * math.sqrt(abs(x[q][q])):
                    done = False
                    c, s = angle(x[p][p], x[q][q], x[p][q])
                    turn(x, p, q, c, s)
                    turn(vectors, p, q, c, s)
                    for row in x:
                        row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
                    x[p][q] = x[q][p] = 0.0 * x[p][q]
        if done:
            break
    return vectors


def turned_until_orthogonal(x: Rows) -> Rows:
    """Rotate the rows in place until they are orthogonal; return the rotations.

    The result is the product of the rotations.
    """
    k = len(x)
    size = max((abs(v) for row in x for v in row), default=0.0) or 1.0
    turns = identity(k)
    for _ in range(SWEEPS):
        done = True
        for p in range(k - 1):
            for q in range(p + 1, k):
                a, b, r = (
                    sum((v / size) * (w / size) for v, w in zip(x[i], x[j])) for i, j in ((p, p), (q, q), (p, q))
                )
                if not abs(r) <= 4 * CLOSE * math.sqrt(a) * math.sqrt(b):
                    done = False
                    c, s = angle(a, b, r)
                    turn(x, p, q, c, s)
                    turn(turns, p, q, c, s)
        if done:
            break
    return turns


def identity(n: int) -> Rows:
    """Return the rows of the identity matrix."""
    return [[float(i == j) for j in range(n)] for i in range(n)]


def angle(p: float, q: float, r: float) -> tuple[float, float]:
    """Return the cosine and the sine of the rotation that diagonalises the symmetric matrix of p, r and q."""
    ratio = (q - p) / (2 * r) if r else math.inf
    t = math.copysign(1.0, ratio) / (abs(ratio) + math.hypot(ratio, 1.0))
    c = 1 / math.hypot(t, 1.0)
    return c, t * c


def turn(rows: Rows, p: int, q: int, c: float, s: float) -> None:
    """Rotate rows p and q in place."""
    pairs = [(c * x - s * y, s * x + c * y) for x, y in zip(rows[p], rows[q])]
    rows[p], rows[q] = ([pair[k] for pair in pairs] for k in (0, 1))
