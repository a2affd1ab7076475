"""The names of minigrad.linalg.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.core.dtype import DType
from minigrad.runtime.tensor import Tensor
__version__: str


def cholesky(A: Tensor, *, upper: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return the triangle L with L @ L.mT = A for symmetric positive definite matrices (..., n, n); upper: L.mT."""

def solve_triangular(A: Tensor, B: Tensor, *, upper: builtins.bool, left: builtins.bool = ..., unitriangular: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return X with A @ X = B for triangular matrices A, or X @ A = B with left=False; batch dims broadcast."""
