"""Factors and triangular systems on the CPU: one matrix of a batch per task.

The loops are in `kernels/cpu`: `factors.py`, `lu.py`, `qr.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, begins, bind, headed, kind_of, matrices
from minigrad.backends.launch import NO_STEPS, Launch
from minigrad.backends.steps import Steps
from minigrad.core import requests
from minigrad.core.dtype import DType, int64
from minigrad.kernels.cpu import factors, lu, qr
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load


@serves(CpuBackend, requests.Cholesky)
def cholesky(steps: Steps, request: requests.Cholesky) -> Launch:
    out, (a,) = steps.outs[0], steps.operands
    n, tasks = a.shape[-1], prod(a.shape[:-2])
    if not n * tasks:
        return NO_STEPS
    numbers = factors.FACTOR.pack(*map(matrices, (out, a)), n=n, sizes=a.shape[:-2])
    kernel = steps.backend.kernel(write_factor, factors.factor, a.dtype, kind=kind_of(tasks * n * n, tasks, n))
    return bind(kernel, headed(tasks, numbers), 1, 2)


@serves(CpuBackend, requests.SolveTriangular)
def solve_triangular(steps: Steps, request: requests.SolveTriangular) -> Launch:
    (out,), (a, b), upper, unit = steps.outs, steps.operands, request.upper, request.unit
    n, k = b.shape[-2:]
    tasks = prod(out.shape[:-2])
    if not out.layout.numel:
        return NO_STEPS
    numbers = factors.SOLVE.pack(*map(matrices, (out, a, b)), n=n, k=k, upper=upper, unit=unit, sizes=out.shape[:-2])
    kernel = steps.backend.kernel(write_factor, factors.solve, a.dtype, kind=kind_of(tasks * n * k, tasks, n))
    return bind(kernel, headed(tasks, numbers), 2)


@serves(CpuBackend, requests.LU)
def factor_lu(steps: Steps, request: requests.LU) -> Launch:
    (out, pivots, order), (a,) = steps.outs, steps.operands
    m, n = a.shape[-2:]
    tasks = prod(a.shape[:-2])
    if not m * tasks:
        return NO_STEPS
    numbers = lu.LU.pack(*begins(a, out, pivots, order), matrices(a), m=m, n=n, sizes=a.shape[:-2])
    kernel = steps.backend.kernel(write_lu, a.dtype, kind=kind_of(tasks * m * n, tasks, min(m, n)))
    return bind(kernel, headed(tasks, numbers), 1, 3)


@serves(CpuBackend, requests.QR)
def factor_qr(steps: Steps, request: requests.QR) -> Launch:
    (q, r), (a,) = steps.outs, steps.operands
    (m, n), p = a.shape[-2:], r.shape[-2]
    tasks = prod(a.shape[:-2])
    if not m * tasks:
        return NO_STEPS
    numbers = qr.QR.pack(*begins(a, q, r), matrices(a), m=m, n=n, p=p, sizes=a.shape[:-2])
    kernel = steps.backend.kernel(write_qr, a.dtype, kind=kind_of(tasks * m * max(n, p), tasks, 4 * min(m, n)))
    return bind(kernel, headed(tasks, numbers), 1, 2)


def write_factor(template: Callable[..., Any], dtype: DType) -> Any:
    """Write, compile and import the loop of Cholesky factors or of triangular systems.

    The sums of eight products of a Cholesky factor may be taken in any order.
    """
    factor = template is factors.factor
    text = write_kernel(
        f"{template.__name__} of {dtype}.",
        template,
        operands=(dtype,) if factor else (dtype, dtype),
        out=int64 if factor else dtype,
        compute=dtype.compute,
        arrays=(dtype, dtype, int64 if factor else dtype),
        fields=factors.FACTOR if factor else factors.SOLVE,
        helpers=(lu.less,) if factor else (),
        fastmath=("contract",) if factor else (),
    )
    return load(f"{template.__name__}_{dtype.short}", text)


def write_lu(dtype: DType) -> Any:
    """Write, compile and import the loop of LU factors, whose sums of eight products may be taken in any order."""
    text = write_kernel(
        f"LU factors of {dtype}.",
        lu.factor,
        operands=(dtype,),
        out=(dtype, int64, int64),
        compute=dtype.compute,
        results="out, pivots, order",
        arrays=(dtype, dtype, int64, int64),
        fields=lu.LU,
        helpers=(lu.less,),
        fastmath=("contract",),
    )
    return load(f"lu_{dtype.short}", text)


def write_qr(dtype: DType) -> Any:
    """Write, compile and import the loop of QR factors, whose sums of eight products may be taken in any order."""
    text = write_kernel(
        f"QR factors of {dtype}.",
        qr.factor,
        operands=(dtype,),
        out=(dtype, dtype),
        compute=dtype.compute,
        results="q, r",
        arrays=(dtype, dtype, dtype),
        fields=qr.QR,
        helpers=(lu.less, qr.reflect),
        fastmath=("contract",),
    )
    return load(f"qr_{dtype.short}", text)
