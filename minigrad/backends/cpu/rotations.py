"""Eigenvalues and orthogonal rows on the CPU: one matrix of a batch per task.

The loops are in `kernels/cpu`: `eigen.py`, `turning.py`; their sums may be taken in any order.  Singular values are
computed from orthogonal rows and QR factors.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps, begins, matrices
from minigrad.core import requests
from minigrad.kernels.cpu import eigen, turning
from minigrad.kernels.pasting import Late


@serves(CpuBackend, requests.Eigh)
def eigh(steps: CpuSteps, request: requests.Eigh) -> None:
    n = steps.operands[0].shape[-1]
    rotate(steps, eigen.eigenvalues, 10 * n, n=n)


@serves(CpuBackend, requests.TurnRows)
def turn_rows(steps: CpuSteps, request: requests.TurnRows) -> None:
    k, n = steps.operands[0].shape[-2:]
    rotate(steps, turning.orthogonal_rows, 20 * k, k=k, n=n)


def rotate(steps: CpuSteps, template: Callable[..., Any], cost: int, **sizes: Any) -> None:
    """Add the step of one of the loops over a batch of matrices."""
    (a,), batch = steps.operands, steps.operands[0].shape[:-2]
    steps.run(
        template, a, *steps.outs, words=Late(rounding, (a.dtype.compute,)), tasks=prod(batch), elements=a.layout.numel,
        cost=cost, groups=[*begins(a, *steps.outs), matrices(a)], sizes=batch, **sizes,
    )  # fmt: skip


def rounding(compute: np.dtype[Any]) -> dict[str, str]:
    """Return the words `EPS`, half of the distance from 1 to the next number, and `TINY`."""
    number = np.finfo(compute)
    return {"EPS": f"T({number.eps / 2})", "TINY": f"T({number.tiny / number.eps**3})"}
