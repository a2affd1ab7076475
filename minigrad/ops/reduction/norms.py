"""Norms of vectors over any set of dims, in the order that PyTorch's `norm` calls p.

The orders 2, 1 and 0 are separate reductions, the others are made of other ops; at zeros and ties they have
PyTorch's gradients.
"""

# The bodies of scalar functions are data, which the specialiser reads; they carry no types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.core.roles import Dims, Flag
from minigrad.declare.decorators import composed, reduction
from minigrad.declare.forms import as_float
from minigrad.declare.rules import accumulate
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.creation import zeros_like
from minigrad.ops.reduction.sums import amax, amin, present, restore, sum, wide
from minigrad.runtime.into import copy_result
from minigrad.runtime.tensor import Tensor, describe

# Matrix norms that are computed from singular values; `ops/linalg` adds them.
OF_MATRICES: dict[str, Callable[[Tensor, Any, bool], Tensor]] = {}


@composed(method=False)
def norm(
    input: Tensor, p: float | str | None = "fro", dim: Dims = None, keepdim: Flag = False, out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Return the norm of order `p` of the elements over `dim`, `sum(abs(x)**p)**(1/p)`.

    p: any number. "fro" (or None) is 2; 1 is the sum of magnitudes; inf and -inf are the largest and smallest
    magnitude.  0 is the number of nonzero elements. "nuc" is the sum of the singular values of matrices.  dtype: input
    is cast to it first; integers become the default float.  Gradient: g*x/norm for 2 and g*sign(x) for 1, 0 at an
    element of 0; 0 where the norm is 0.  For inf and -inf the elements that attain the norm share g evenly. 0 for the
    order 0.  Raises ArgumentError for another p, ShapeError for an infinite order of nothing.
    """
    x = as_float("norm", input, dtype)
    if isinstance(p, str) and p in OF_MATRICES:
        found = OF_MATRICES[p](x, dim, keepdim)
    else:
        found = of_order(x, read_order(input, p), dim, keepdim).to(x.dtype)
    return found if out is None else copy_result("norm", found, out)


def read_order(x: Tensor, p: Any) -> float:
    """Return the order of a norm as a number.  Raises ArgumentError if p is not an order."""
    if p is None or (isinstance(p, str) and p == "fro"):
        return 2.0
    if isinstance(p, bool) or not isinstance(p, (int, float, np.number)) or math.isnan(p):
        raise ArgumentError(f"norm: p of {describe(x)} must be a number, 'fro' or 'nuc', got {p!r}", op="norm")
    return float(p)


def of_order(x: Tensor, order: float, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """Return the norm in a dtype that is wide enough for sums."""
    if (math.isinf(order) or order < 0) and any(x.shape[d] == 0 for d in dims):
        raise ShapeError(f"norm: {describe(x)} has no element along dims {dims}, and p is {order}", op="norm")
    if math.isinf(order):
        return (amax if order > 0 else amin)(x.abs(), dims, keepdim)
    short = SHORT_ORDERS.get(order)
    return power_norm(wide(x).abs(), order, dims, keepdim) if short is None else short(x, dims, keepdim)


def squared(x):
    """Return the term of the squared norm."""
    return x * x


def square_root(acc):
    """Return the length of which this is the square."""
    return math.sqrt(acc)


def magnitude(x):
    """Return the size of an element."""
    return abs(x)


def direction(x: Tensor, y: Tensor, dims: tuple[int, ...]) -> Tensor:
    """x over its length; 0 where that is 0."""
    size = restore(y, dims, x.shape)
    nothing = size == 0.0
    return nothing.where_cond(0.0, x / nothing.where_cond(1.0, size))


@reduction(
    dtype=accumulate, identity="zero", order="sum", map=squared, finish=square_root, namespace=(), method=False,
    label="norm",
    vjp=(lambda g, x, y, *, dims: restore(g, dims, x.shape) * direction(x, y, dims),),
    jvp=lambda dx, x, y, *, dims, keepdim: sum(dx * direction(x, y, dims), dims, keepdim),
)  # fmt: skip
def length(acc, x):
    """Return the root of the sum of squares over `dim`.  Gradient: g*x/length, 0 where that is 0."""
    return acc + x


@reduction(
    dtype=accumulate, identity="zero", order="sum", map=magnitude, namespace=(), method=False, label="norm",
    vjp=(lambda g, x, *, dims: restore(g, dims, x.shape) * x.sign(),),
    jvp=lambda dx, x, *, dims, keepdim: sum(dx * x.sign(), dims, keepdim),
)  # fmt: skip
def sum_of_magnitudes(acc, x):
    """Return the sum of magnitudes over `dim`.  Gradient: g*sign(x), 0 at 0."""
    return acc + x


@reduction(
    dtype=accumulate, identity="zero", order="sum", map=present, namespace=(), method=False, label="norm",
    vjp=(lambda g, x: zeros_like(x),), jvp=lambda dx, y: zeros_like(y),
)  # fmt: skip
def number_present(acc, x):
    """Return how many elements over `dim` are not zero, as a float; nan is not zero.  Gradient: 0."""
    return acc + x


SHORT_ORDERS = {2.0: length, 1.0: sum_of_magnitudes, 0.0: number_present}


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
    """Return the largest of magnitudes over `dims`, which are kept; 1 where that is 0 or not finite."""
    if x.numel() == 0:
        return sum(x, dims, keepdim=True) + 1.0
    top = amax(x, dims, keepdim=True)
    return ((top > 0.0) & top.isfinite()).where_cond(top, 1.0)
