"""Vector norms over any set of dims: `norm` with the order p, as in PyTorch.

The norms of order 2, 1 and 0 are reductions, and the norms of other orders are composed of other ops.  At zeros and
ties, the gradients are those of PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.core.conditions import expect_elements
from minigrad.core.roles import Dims, Flag, shown
from minigrad.declare.decorators import composed, reduction
from minigrad.declare.forms import as_float, expect_agreement
from minigrad.declare.rules import accumulate
from minigrad.errors import ArgumentError, ArgumentTypeError
from minigrad.kernels.scalar import formula
from minigrad.ops.creation import zeros_like
from minigrad.ops.reduction.sums import PRESENT, amax, amin, restore, sum, wide
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

    The norm of complex numbers is that of their magnitudes, in their real dtype.
    p: the order. A number is the order itself. "fro" and None stand for 2. With inf or -inf, the norm is the largest or
    smallest magnitude. With 0, it is the number of nonzero elements. "nuc" stands for the sum of the singular values of
    matrices.
    dtype: the float dtype to which the input is cast first; by default, integers are cast to the default float.
    Gradient: g*x/norm for the order 2, and g*sign(x) for the order 1; 0 where the norm is 0. For inf and -inf, g is
    divided evenly among the elements that attain the norm. For the order 0, the gradient is 0.
    Raises ArgumentError for another p, ShapeError for an infinite or negative order without elements.
    """
    expect_agreement("norm", dtype, out)
    x = as_float("norm", input, dtype)
    if isinstance(p, str) and p in OF_MATRICES:
        found = OF_MATRICES[p](x, dim, keepdim)
    else:
        found = of_order(x, read_order(input, p), dim, keepdim).to(x.dtype.to_real())
    return found if out is None else copy_result("norm", found, out)


def read_order(x: Tensor, p: Any) -> float:
    """Return the order of a norm as a number.  Raises ArgumentTypeError for another p, and ArgumentError for nan."""
    if p is None or (isinstance(p, str) and p == "fro"):
        return 2.0
    wrong = isinstance(p, bool) or not isinstance(p, (int, float, np.number))
    if wrong or math.isnan(p):
        raise (ArgumentTypeError if wrong else ArgumentError)(
            f"norm: p of {describe(x)} must be a number, 'fro' or 'nuc', got {shown(p)}; pass p=2, for example"
        )
    return float(p)


def of_order(x: Tensor, order: float, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """Return the norm of a numeric order; float16 and bfloat16 are computed in float32, if sums are needed.

    The norm of complex numbers is that of their magnitudes.
    """
    x = x.abs() if x.dtype.is_complex else x
    if math.isinf(order) or order < 0:
        expect_elements("norm", x, dims, advice=f"check that no dim is empty, or pass another p than {order}")
    if math.isinf(order):
        return (amax if order > 0 else amin)(x.abs(), dims, keepdim)
    short = SHORT_ORDERS.get(order)
    return power_norm(wide(x).abs(), order, dims, keepdim) if short is None else short(x, dims, keepdim)


SQUARED = formula("squared(x)", "x * x")
ROOT = formula("square_root(acc)", "math.sqrt(acc)")
MAGNITUDE = formula("magnitude(x)", "abs(x)")


def direction(x: Tensor, y: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Return x divided by its norm y over `dims`; 0 where the norm is 0."""
    size = restore(y, dims, x.shape)
    nothing = size == 0.0
    return nothing.where_cond(0.0, x / nothing.where_cond(1.0, size))


@reduction(
    dtype=accumulate, identity="zero", order="sum", map=SQUARED, finish=ROOT, namespace=(),
    label="norm",
    vjp=(lambda g, x, y, *, dims: restore(g, dims, x.shape) * direction(x, y, dims),),
    jvp=lambda dx, x, y, *, dims, keepdim: sum(dx * direction(x, y, dims), dims, keepdim),
)  # fmt: skip
def length(acc, x):
    """Return the square root of the sum of squares over `dim`.  Gradient: g*x/y with the result y; 0 where y is 0."""
    return acc + x


@reduction(
    dtype=accumulate, identity="zero", order="sum", map=MAGNITUDE, namespace=(), label="norm",
    vjp=(lambda g, x, *, dims: restore(g, dims, x.shape) * x.sign(),),
    jvp=lambda dx, x, *, dims, keepdim: sum(dx * x.sign(), dims, keepdim),
)  # fmt: skip
def sum_of_magnitudes(acc, x):
    """Return the sum of magnitudes over `dim`.  Gradient: g*sign(x), which is 0 at 0."""
    return acc + x


@reduction(
    dtype=accumulate, identity="zero", order="sum", map=PRESENT, namespace=(), label="norm",
    vjp=(lambda g, x: zeros_like(x),), jvp=lambda dx, y: zeros_like(y),
)  # fmt: skip
def number_present(acc, x):
    """Return the number of nonzero elements over `dim` as a float; nan counts as nonzero.  Gradient: 0."""
    return acc + x


SHORT_ORDERS = {2.0: length, 1.0: sum_of_magnitudes, 0.0: number_present}


def power_norm(x: Tensor, order: float, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """Return sum(x**order)**(1/order) of magnitudes x.

    The magnitudes are first divided by the largest, so that powers do not overflow.  This scale counts as a constant
    in derivatives, since the norm does not depend on it.
    """
    scale = largest(x.detach(), dims)
    zero = x == 0.0
    powers = zero.where_cond(0.0 if order > 0 else math.inf, (zero.where_cond(scale, x) / scale) ** order)
    total = sum(powers, dims, keepdim=True)
    nothing = total == 0.0
    found = nothing.where_cond(0.0 if order > 0 else math.inf, nothing.where_cond(1.0, total) ** (1.0 / order) * scale)
    return found if keepdim else found.reshape(tuple(n for d, n in enumerate(x.shape) if d not in dims))


def largest(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Return the largest magnitude over `dims`, which stay with length 1; 1 where it is 0 or not finite."""
    if x.numel() == 0:
        return sum(x, dims, keepdim=True) + 1.0
    top = amax(x, dims, keepdim=True)
    return ((top > 0.0) & top.isfinite()).where_cond(top, 1.0)
