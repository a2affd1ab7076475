"""Clamping of elements to a lower and an upper bound."""

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
    vjp=(
        lambda g, x, lo, hi: ((x >= lo) & (x <= hi)).where_cond(g, 0.0),
        lambda g, x, lo, hi: ((x < lo) & (lo <= hi)).where_cond(g, 0.0),
        lambda g, x, hi, lo: ((x > hi) | (lo > hi)).where_cond(g, 0.0),
    ),
)
def clamp_between(x, lo, hi):
    """Return min(max(x, lo), hi); the result is nan if x or a bound is nan.

    Gradient: for x, g between the bounds and at a bound, 0 outside. Where x is outside, the bound that was taken
    receives g.
    """
    low = x if x >= lo or x != x else lo
    return low if low <= hi or low != low else hi


@composed(of=clamp_between, in_place=True)
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Return min(max(input, min), max); either bound may be None, a number or a tensor.

    Gradient: for the input, g between the bounds and at a bound, 0 outside. Where the input is outside, the bound that
    was taken receives g.
    Raises ArgumentError if both bounds are None.
    """
    if min is None and max is None:
        raise ArgumentError(
            f"clamp: at least one of min and max is required for {describe(input)}, got neither; pass min=0, for "
            "example",
            op="clamp",
        )
    whole = not input.dtype.is_float
    low = (input.dtype.lowest if whole else float("-inf")) if min is None else min
    high = (input.dtype.highest if whole else float("inf")) if max is None else max
    return clamp_between(input, low, high, out=out)


@composed(in_place=True, out=False)
def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the larger of the input and `min`.

    Gradient: g for the input where it is not below `min`; otherwise g for `min`.
    """
    return clamp_between(input, min, float("inf") if input.dtype.is_float else input.dtype.highest, out=out)


@composed(in_place=True, out=False)
def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the smaller of the input and `max`.

    Gradient: g for the input where it is not above `max`; otherwise g for `max`.
    """
    return clamp_between(input, float("-inf") if input.dtype.is_float else input.dtype.lowest, max, out=out)
