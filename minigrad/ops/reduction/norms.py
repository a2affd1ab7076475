"""Norms of vectors over any set of dims, in the order that PyTorch's `norm` calls p.

Each is made of other ops, so every order of derivative is there; at zeros and ties they have PyTorch's gradients.
"""

from __future__ import annotations

import math
from typing import Any

from minigrad.core.dtype import DTypeLike
from minigrad.core.roles import Dims, Flag
from minigrad.declare.decorators import composed
from minigrad.declare.forms import as_float
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.reduction.sums import amax, amin, root, sum, sum_of_squares, wide
from minigrad.runtime.into import copy_result
from minigrad.runtime.tensor import Tensor, describe


@composed(method=False)
def norm(
    input: Tensor, p: float | str | None = "fro", dim: Dims = None, keepdim: Flag = False, out: Tensor | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor:  # fmt: skip
    """Return the norm of order `p` of the elements over `dim`, `sum(abs(x)**p)**(1/p)`.

    p: "fro" (or None), which is 2; 1, the sum of magnitudes; inf and -inf, the largest and the smallest magnitude; 0,
    how many elements are not zero; any other number.  dtype: input is cast to it first; integers give the default
    float.
    Gradient: g*x/norm for 2 and g*sign(x) for 1, 0 at an element of 0; 0 where the norm is 0; shared evenly by the
    elements that attain an infinite order; 0 for the order 0.
    Raises ArgumentError for another p (the nuclear norm is not offered), ShapeError for an infinite order of nothing.
    """
    x = as_float("norm", input, dtype)
    found = of_order(x, read_order(input, p), dim, keepdim).to(x.dtype)
    return found if out is None else copy_result("norm", found, out)


def read_order(x: Tensor, p: Any) -> float:
    """The order of a norm as a number.  Raises ArgumentError for what is none."""
    if p is None or (isinstance(p, str) and p == "fro"):
        return 2.0
    if isinstance(p, bool) or not isinstance(p, (int, float)) or math.isnan(p):
        raise ArgumentError(
            f"norm: p of {describe(x)} must be a number or 'fro', got {p!r}"
            + ("; the nuclear norm is the sum of singular values, which are not offered" if p == "nuc" else ""),
            op="norm",
        )
    return float(p)


def of_order(x: Tensor, order: float, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The norm in a dtype that has room for sums."""
    if math.isinf(order):
        if x.numel() == 0 and any(x.shape[d] == 0 for d in dims):
            raise ShapeError(f"norm: {describe(x)} has no element along dims {dims}, and p is {order}", op="norm")
        return (amax if order > 0 else amin)(x.abs(), dims, keepdim)
    if order == 2:
        return root(sum_of_squares(x, dims, keepdim))
    x = wide(x)
    if order == 1:
        return sum(x.abs(), dims, keepdim)
    if order == 0:
        # By the sign, so that there is a gradient, which is 0; nan is not zero.
        return sum((x != x).where_cond(1.0, x.sign().abs()), dims, keepdim)
    return power_norm(x.abs(), order, dims, keepdim)


def power_norm(x: Tensor, order: float, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """sum(x**order)**(1/order) of magnitudes, which are divided by a scale first: the largest, which is a constant to
    derivatives, since the norm is the same for every scale."""
    scale = largest(x.detach(), dims)
    zero = x == 0.0
    powers = zero.where_cond(0.0 if order > 0 else math.inf, (zero.where_cond(scale, x) / scale) ** order)
    total = sum(powers, dims, keepdim=True)
    nothing = total == 0.0
    found = nothing.where_cond(0.0, nothing.where_cond(1.0, total) ** (1.0 / order) * scale)
    return found if keepdim else found.reshape(tuple(n for d, n in enumerate(x.shape) if d not in dims))


def largest(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """The largest of magnitudes over `dims`, which are kept; 1 where that is 0 or not finite."""
    if x.numel() == 0:
        return sum(x, dims, keepdim=True) + 1.0
    top = amax(x, dims, keepdim=True)
    return ((top > 0.0) & top.isfinite()).where_cond(top, 1.0)
