"""Eigenvalues and orthogonal rows on the CPU: one matrix of a batch per task.

The loops are in `kernels/cpu`: `eigen.py`, `turning.py`.  Singular values are computed from orthogonal rows and QR
factors.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, begins, bind, headed, kind_of, matrices
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.kernels.cpu import eigen, lu, turning
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load


@serves(CpuBackend, requests.Eigh)
def eigh(steps: Steps, request: requests.Eigh) -> Launch:
    (values, vectors), (a,) = steps.outs, steps.operands
    n, tasks = a.shape[-1], prod(a.shape[:-2])
    if not n * tasks:
        return NO_STEPS
    numbers = eigen.EIGH.pack(*begins(a, values, vectors), matrices(a), n=n, sizes=a.shape[:-2])
    kernel = steps.backend.kernel(write_rotations, True, a.dtype, kind=kind_of(tasks * n * n, tasks, 10 * n))
    return bind(kernel, headed(tasks, numbers), 1, 2)


@serves(CpuBackend, requests.TurnRows)
def turn_rows(steps: Steps, request: requests.TurnRows) -> Launch:
    (j, y, lengths), (a,) = steps.outs, steps.operands
    (k, n), tasks = a.shape[-2:], prod(a.shape[:-2])
    if not k * tasks:
        return NO_STEPS
    numbers = turning.TURN.pack(*begins(a, j, y, lengths), matrices(a), k=k, n=n, sizes=a.shape[:-2])
    kernel = steps.backend.kernel(write_rotations, False, a.dtype, kind=kind_of(tasks * k * n, tasks, 20 * k))
    return bind(kernel, headed(tasks, numbers), 1, 3)


def write_rotations(symmetric: bool, dtype: DType) -> Any:
    """Write, compile and import the loop of eigenvalues, or of orthogonal rows; sums may be taken in any order."""
    results = 2 if symmetric else 3
    helpers = (
        (eigen.product, eigen.turn, lu.less, eigen.tridiagonal, eigen.vectors_of, eigen.steps_of) if symmetric
        else (eigen.product, eigen.turn, turning.turn_pairs)
    )  # fmt: skip
    number = np.finfo(dtype.compute)
    name = "eigenvalues" if symmetric else "orthogonal_rows"
    text = write_kernel(
        f"{name} of {dtype}.",
        eigen.eigen if symmetric else turning.turning,
        operands=(dtype,),
        out=(dtype,) * results,
        compute=dtype.compute,
        results="values, vectors" if symmetric else "j, y, lengths",
        arrays=(dtype,) * (1 + results),
        fields=eigen.EIGH if symmetric else turning.TURN,
        constants={"EPS": f"T({number.eps / 2})", "TINY": f"T({number.tiny / number.eps**3})"},
        helpers=helpers,
        fastmath=("contract", "reassoc"),
    )
    return load(f"{name}_{dtype.short}", text)
