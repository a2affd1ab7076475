"""Factors and triangular systems on the CPU: one matrix of a batch per task.

The loops are in `kernels/cpu/factors.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from minigrad.backends.base import Launch, serves
from minigrad.backends.cpu.family import Family, bind, headed, kind_of
from minigrad.backends.launch import NO_STEPS
from minigrad.core import requests
from minigrad.core.dtype import DType, int64
from minigrad.core.op import Spec
from minigrad.kernels.cpu import factors
from minigrad.kernels.specialize import write_kernel
from minigrad.kernels.store import load


class Factors(Family):
    """The preparers of factors and triangular systems."""

    @serves(requests.Cholesky)
    def cholesky(self, out: Spec, pivots: Spec, a: Spec) -> Launch:
        n, tasks = a.shape[-1], prod(a.shape[:-2])
        if not n * tasks:
            return NO_STEPS
        numbers = factors.FACTOR.pack(*map(matrices, (out, a)), n=n, sizes=a.shape[:-2])
        kernel = self.kernel(write_factor, factors.factor, a.dtype, kind=kind_of(tasks * n * n, tasks, n))
        return bind(kernel, headed(tasks, numbers), 1, 2)

    @serves(requests.SolveTriangular)
    def solve_triangular(self, out: Spec, a: Spec, b: Spec, *, upper: bool, unit: bool) -> Launch:
        n, k = b.shape[-2:]
        tasks = prod(out.shape[:-2])
        if not out.layout.numel:
            return NO_STEPS
        numbers = factors.SOLVE.pack(
            *map(matrices, (out, a, b)), n=n, k=k, upper=upper, unit=unit, sizes=out.shape[:-2]
        )
        kernel = self.kernel(write_factor, factors.solve, a.dtype, kind=kind_of(tasks * n * k, tasks, n))
        return bind(kernel, headed(tasks, numbers), 2)


def matrices(x: Spec) -> tuple[int, int, int, tuple[int, ...]]:
    """Where the matrices of a batch begin, and the steps to the next row, column and matrix."""
    *batch, row, col = x.layout.strides
    return x.layout.offset, row, col, tuple(batch)


def write_factor(template: Callable[..., Any], dtype: DType) -> Any:
    """Write, compile and import one of the two loops."""
    factor = template is factors.factor
    text = write_kernel(
        f"{template.__name__} of {dtype}.",
        template,
        operands=(dtype,) if factor else (dtype, dtype),
        out=int64 if factor else dtype,
        compute=dtype.compute,
        arrays=(dtype, dtype, int64 if factor else dtype),
        fields=factors.FACTOR if factor else factors.SOLVE,
    )
    return load(f"{template.__name__}_{dtype.short}", text)
