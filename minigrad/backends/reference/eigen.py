"""Eigenvalues of general matrices by NumPy: their number of steps depends on the elements, so no lowering has them."""

from __future__ import annotations

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import Buffer, collect, quiet, write
from minigrad.backends.reference.loops import ReferenceBackend
from minigrad.backends.steps import Steps
from minigrad.core.requests import Eig


@serves(ReferenceBackend, Eig)
def eig(steps: Steps, request: Eig) -> Loop:
    """Return the loop that computes one matrix after the other; the largest element of a vector becomes real."""
    (values, vectors), (a,) = steps.outs, steps.operands
    compute, n = vectors.dtype.compute, a.shape[-1]

    def launch(x: Buffer, w: Buffer, v: Buffer) -> None:
        matrices = collect(x, a, a.dtype.compute).reshape(-1, n, n)
        found = [decomposed(matrix, compute) for matrix in matrices]
        for buffer, spec, results in zip((w, v), (values, vectors), zip(*found)):
            write(buffer, spec, np.concatenate(results, axis=None).tolist(), compute)

    return quiet(launch)


def decomposed(matrix: Buffer, compute: np.dtype[np.complexfloating]) -> tuple[Buffer, Buffer]:
    """Return the eigenvalues and eigenvectors of one matrix, or nan for a matrix with nan or infinities."""
    if not np.isfinite(matrix).all():
        return np.full(len(matrix), np.nan, compute), np.full(matrix.shape, np.nan, compute)
    w, v = (each.astype(compute) for each in np.linalg.eig(matrix))
    largest = v[np.abs(v).argmax(0), np.arange(len(v))]
    return w, v * (largest.conj() / np.abs(largest))
