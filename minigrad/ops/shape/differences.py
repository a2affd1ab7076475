"""Differences of neighbouring elements along a dim."""

from __future__ import annotations

from minigrad.core.roles import Dim, Size
from minigrad.declare.decorators import composed
from minigrad.ops.casting import clone
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import narrow
from minigrad.runtime.tensor import Tensor


@composed()
def diff(
    input: Tensor, n: Size = 1, dim: Dim = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Return the n-th differences along `dim`: n times, each element minus the element before it."""
    if n == 0:
        return clone(input)
    parts = [part for part in (prepend, input, append) if part is not None]
    x = cat(parts, dim) if len(parts) > 1 else input
    for _ in range(min(n, x.shape[dim])):
        later, before = (narrow(x, dim, start, x.shape[dim] - 1) for start in (1, 0))
        x = later != before if x.dtype.kind == "bool" else later - before
    return x
