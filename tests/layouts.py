"""The same values in different layouts, which must not change the result of an op.

Each maker takes a contiguous tensor and gives one with the same shape and values that lies otherwise in memory.  They
are views of copies, made by differentiable ops, so a gradient check can put one between a Var and the op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.ops.shape.joining import cat, stack
from minigrad.runtime.tensor import Tensor


def dense(x: Tensor) -> Tensor:
    """Return the array as it is."""
    return x


def transposed(x: Tensor) -> Tensor:
    """Return a column-major array, whose strides increase."""
    order = tuple(range(x.ndim - 1, -1, -1))
    y: Any = x
    return y.permute(order).clone().permute(order)


def stepped(x: Tensor) -> Tensor:
    """Return every second element of a buffer, along the last dim."""
    y: Any = x
    if x.ndim == 0:
        return x
    # The gaps hold the values in reverse order, so that reading one is noticed.
    return stack([y, y.flip(-1)], -1).reshape(*x.shape[:-1], 2 * x.shape[-1])[..., ::2]


def negative(x: Tensor) -> Tensor:
    """Return an array that is stored backwards along every dim, so all strides are negative."""
    dims = tuple(range(x.ndim))
    y: Any = x
    return y if x.ndim == 0 else y.flip(dims).clone().flip(dims)


def offset(x: Tensor) -> Tensor:
    """Return an array inside a larger buffer, not at its beginning."""
    y: Any = x.reshape(1) if x.ndim == 0 else x
    inside = cat([y, y, y], 0).narrow(0, y.shape[0], y.shape[0])
    return inside.select(0, 0) if x.ndim == 0 else inside


def inner_gap(x: Tensor) -> Tensor:
    """Return rows of a wider matrix, so that its dims cannot be merged."""
    y: Any = x
    return y if x.ndim == 0 else cat([y, y], -1).narrow(-1, 0, x.shape[-1])


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    f.__name__: f for f in (dense, transposed, stepped, negative, offset, inner_gap)
}


def broadcast(x: Tensor) -> Tensor:
    """Return the first slice of each dim, expanded with stride 0; this changes the values."""
    y: Any = x
    for d in range(x.ndim):
        y = y.narrow(d, 0, min(1, x.shape[d]))
    return y.expand(x.shape) if x.numel() else y
