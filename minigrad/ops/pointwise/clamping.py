"""Bounds: an element, not below one operand and not above another."""

from __future__ import annotations

from typing import Any

from minigrad.declare.decorators import composed, elementwise
from minigrad.declare.rules import promote
from minigrad.errors import ArgumentError
from minigrad.runtime.tensor import Tensor, describe


@elementwise(
    dtype=promote,
    name="clamp",
    namespace=(),
    method=False,
    vjp=(
        lambda g, x, lo, hi: ((x >= lo) & (x <= hi)).where_cond(g, 0.0),
        lambda g, x, lo, hi: ((x < lo) & (lo <= hi)).where_cond(g, 0.0),
        lambda g, x, hi, lo: ((x > hi) | (lo > hi)).where_cond(g, 0.0),
    ),
)
def clamp_between(x, lo, hi):
    """Return min(max(x, lo), hi); nan stays nan, and a bound that is nan produces nan.

    Gradient: g inside and at the bounds, 0 outside; there the bound receives g.
    """
    low = x if x >= lo or x != x else lo
    return low if low <= hi or low != low else hi


@composed(of=clamp_between, in_place=True)
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Return min(max(input, min), max); either bound may be None, a number or a tensor.

    Gradient: g inside and at the bounds, 0 outside; there the bound receives g.
    Raises ArgumentError without any bound.
    """
    if min is None and max is None:
        raise ArgumentError(f"clamp: {describe(input)} has no bound; pass min, max, or both", op="clamp")
    whole = not input.dtype.is_float
    low = (input.dtype.lowest if whole else float("-inf")) if min is None else min
    high = (input.dtype.highest if whole else float("inf")) if max is None else max
    return clamp_between(input, low, high, out=out)


@composed(in_place=True, out=False)
def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """Return input, not below min.  Gradient: g there and at the bound, 0 below, where the bound gets it."""
    return clamp_between(input, min, float("inf") if input.dtype.is_float else input.dtype.highest, out=out)


@composed(in_place=True, out=False)
def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Return input, not above max.  Gradient: g there and at the bound, 0 above, where the bound gets it."""
    return clamp_between(input, float("-inf") if input.dtype.is_float else input.dtype.lowest, max, out=out)
