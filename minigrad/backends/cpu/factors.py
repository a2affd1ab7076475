"""Factors and triangular systems on the CPU: one matrix of a batch per task.

The loops are in `kernels/cpu`: `factors.py`, `lu.py`, `qr.py`.  The sums of eight products of a factor may be taken in
any order.
"""

from __future__ import annotations

from math import prod

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps, begins, matrices
from minigrad.core import requests
from minigrad.kernels.cpu import factors, lu, qr


@serves(CpuBackend, requests.Cholesky)
def cholesky(steps: CpuSteps, request: requests.Cholesky) -> None:
    out, (a,) = steps.outs[0], steps.operands
    n, batch = a.shape[-1], a.shape[:-2]
    steps.run(
        factors.cholesky, a, *steps.outs, compute=a.dtype.compute, tasks=prod(batch), cost=n,
        groups=[matrices(out), matrices(a)], n=n, sizes=batch,
    )  # fmt: skip


@serves(CpuBackend, requests.SolveTriangular)
def solve_triangular(steps: CpuSteps, request: requests.SolveTriangular) -> None:
    (out,), (a, b) = steps.outs, steps.operands
    (n, k), batch = b.shape[-2:], out.shape[:-2]
    steps.run(
        factors.solve, a, b, out, tasks=prod(batch), cost=n, groups=[*map(matrices, (out, a, b))], n=n, k=k,
        upper=request.upper, unit=request.unit, sizes=batch,
    )  # fmt: skip


@serves(CpuBackend, requests.LU)
def factor_lu(steps: CpuSteps, request: requests.LU) -> None:
    (a,) = steps.operands
    *batch, m, n = a.shape
    steps.run(
        lu.lu, a, *steps.outs, tasks=prod(batch), cost=min(m, n), groups=[*begins(a, *steps.outs), matrices(a)], m=m,
        n=n, sizes=batch,
    )  # fmt: skip


@serves(CpuBackend, requests.QR)
def factor_qr(steps: CpuSteps, request: requests.QR) -> None:
    (q, r), (a,) = steps.outs, steps.operands
    *batch, m, n = a.shape
    p, tasks = r.shape[-2], prod(batch)
    steps.run(
        qr.qr, a, q, r, tasks=tasks, elements=tasks * m * max(n, p), cost=4 * min(m, n),
        groups=[*begins(a, q, r), matrices(a)], m=m, n=n, p=p, sizes=batch,
    )  # fmt: skip
