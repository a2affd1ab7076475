"""Rounding to integers, and the parameters `alpha` of `add` and `sub` and `rounding_mode` of `div`.

The derivative of rounding is 0 wherever it exists, so the gradient is 0 everywhere.
Rounding returns integers unchanged.
"""

from __future__ import annotations

import math

import numpy as np

from minigrad.core.roles import Choice
from minigrad.core.shape import as_int
from minigrad.declare.decorators import elementwise
from minigrad.declare.rules import number
from minigrad.errors import ArgumentError
from minigrad.ops.creation import zeros_like
from minigrad.runtime.into import copy_result
from minigrad.runtime.tensor import Tensor, describe


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g),))
def floor(x):
    """Return the largest integer that is not greater than x.  Gradient: 0."""
    return math.floor(x)


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g),))
def ceil(x):
    """Return the smallest integer that is not less than x.  Gradient: 0."""
    return math.ceil(x)


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g),))
def trunc(x):
    """Return x rounded towards zero to an integer.  Gradient: 0."""
    return math.trunc(x)


@elementwise(
    dtype=number,
    vjp=(lambda g: zeros_like(g),),
    front="*, decimals=0",
    otherwise=lambda x, decimals, out: rounded(x, decimals, out),
)
def round(x):
    """Return x rounded to the nearest integer, or to the nearest multiple of 10**-decimals.

    Ties are rounded to the even neighbour: round(0.5) is 0, and round(1.5) is 2.
    Gradient: 0.
    """
    return round(x)


def rounded(x, decimals, out):
    """Return x rounded to a number of decimals, which may be negative."""
    power = 10.0 ** abs(as_int(decimals, "decimals", "round"))
    result = (round(x * power) / power if decimals > 0 else round(x / power) * power).to(x.dtype)
    return result if out is None else copy_result("round", result, out)


def scaled(name, other, alpha):
    """Return other * alpha, where alpha is a parameter of the op `name`."""
    if isinstance(alpha, (bool, int, float, np.generic, Tensor)):
        return other * alpha
    raise ArgumentError(
        f"{name}: alpha must be a number, got {describe(alpha)}; multiply other by the tensor instead", op=name
    )


def rounded_div(input, other, mode, out):
    """Return input/other, rounded down for "floor" and towards zero for "trunc"; integers keep their dtype."""
    if mode == "floor":
        return Tensor.floor_divide(input, other, out=out)
    Choice(None, "floor", "trunc").expect("div", rounding_mode=mode)
    quotient = Tensor.floor_divide(input, other)
    if quotient.dtype.is_float:
        return Tensor.div(input, other).trunc(out=out)
    down = (Tensor.remainder(input, other) != 0) & (quotient < 0)
    return quotient.add(down.to(quotient.dtype), out=out)
