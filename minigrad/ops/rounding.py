"""Rounding to whole numbers.  The derivative is 0 wherever there is one, so the gradient is 0 everywhere.

Integers pass through unchanged.
"""

from __future__ import annotations

import math

from minigrad.declare.decorators import elementwise
from minigrad.declare.rules import number
from minigrad.ops.creation import zeros_like


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g),))
def floor(x):
    """The largest whole number not above x.  Gradient: 0."""
    return math.floor(x)


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g),))
def ceil(x):
    """The smallest whole number not below x.  Gradient: 0."""
    return math.ceil(x)


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g),))
def trunc(x):
    """x without its fraction.  Gradient: 0."""
    return math.trunc(x)


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g),))
def round(x):
    """The nearest whole number, halves to even: round(0.5) = 0, round(1.5) = 2.  Gradient: 0."""
    return round(x)
