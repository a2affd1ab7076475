"""Triangular parts of matrices: the elements on one side of a diagonal of the last two dims."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from minigrad.config import listeners
from minigrad.core.conditions import Ndim
from minigrad.core.device import Device
from minigrad.core.dtype import int64
from minigrad.core.roles import Int
from minigrad.declare.decorators import composed
from minigrad.ops.creation import arange
from minigrad.ops.pointwise.compare import ge, le, where
from minigrad.runtime.operands import constant, number
from minigrad.runtime.tensor import Tensor

KEPT = 4096  # longest dim whose positions are cached between calls, which takes 32 kB


@composed(in_place=True)
def tril(input: Tensor, diagonal: Int = 0) -> Tensor:
    """Return the elements on and below a diagonal of the last two dims, with zeros above it.

    Gradient: g on and below the diagonal, and 0 above it.
    """
    last, columns = positions("tril", input, diagonal)
    return where(ge(last, columns), input, number(0, input.dtype, input.device))


@composed(in_place=True)
def triu(input: Tensor, diagonal: Int = 0) -> Tensor:
    """Return the elements on and above a diagonal of the last two dims, with zeros below it.

    Gradient: g on and above the diagonal, and 0 below it.
    """
    first, columns = positions("triu", input, diagonal)
    return where(le(first, columns), input, number(0, input.dtype, input.device))


def positions(name: str, x: Tensor, diagonal: int) -> tuple[Tensor, Tensor]:
    """Return, for each row of a matrix, the column of the diagonal, as a column vector, and all column indices."""
    Ndim(least=2, advice="add a dim with unsqueeze(0)").expect(name, input=x)
    rows, columns = x.shape[-2:]
    start = max(-rows, min(columns, diagonal))  # all diagonals outside the matrix are equivalent
    if max(rows, columns) <= KEPT:
        return counted(start, rows, x.device, 1), counted(0, columns, x.device, 0)
    return arange(start, start + rows, device=x.device).unsqueeze(1), arange(columns, device=x.device)


@lru_cache(maxsize=128)
def counted(start: int, count: int, device: Device, trailing: int) -> Tensor:
    """Return the constant start, start + 1, ... with `trailing` dims of length 1; it is cached for many calls."""
    return constant(np.arange(start, start + count).reshape(count, *(1,) * trailing), int64, device)


listeners.append(counted.cache_clear)
