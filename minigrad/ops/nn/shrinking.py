"""Activation functions that are clamped, or shrink values towards 0.

At a point without a derivative, the gradient is that of PyTorch.  It is 0 where the operand is nan, except for
`threshold`.  Integers become the default float, except in `threshold`, which returns the same dtype.
"""

from __future__ import annotations

import math

from minigrad.declare.decorators import elementwise
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.rules import number, to_float


@elementwise(dtype=to_float, vjp="derived", inplace=True)
def hardswish(input):
    """Return input * relu6(input + 3) / 6.

    Gradient: g*(input/3 + 1/2) where -3 < input < 3, 0 where input <= -3, and g where input >= 3.
    """
    return 0 if input <= -3 else input if input >= 3 else input * (input + 3) / 6


@elementwise(
    dtype=to_float, vjp=(lambda g, x: ((x > -3.0) & (x < 3.0)).where_cond(g / 6.0, 0.0),), inplace=True,
)  # fmt: skip
def hardsigmoid(x):
    """Return relu6(x + 3) / 6.  Gradient: g/6 where -3 < x < 3, and 0 elsewhere, also at -3 and 3."""
    return 0 if x <= -3 else 1 if x >= 3 else (x + 3) / 6


@elementwise(
    dtype=to_float,
    vjp=(
        lambda g, input, min_val, max_val: ((input > min_val) & (input < max_val)).where_cond(g, 0.0),
        lambda g, input, min_val: (input <= min_val).where_cond(g, 0.0),
        lambda g, input, min_val, max_val: ((input >= max_val) & (input > min_val)).where_cond(g, 0.0),
    ),
    inplace=True,
)
def hardtanh(input, min_val=-1.0, max_val=1.0):
    """Return min(max(input, min_val), max_val); nan stays nan.

    Gradient: for input, g where min_val < input < max_val, and 0 elsewhere. Where the input is at a bound or outside,
    this bound receives g.
    """
    high = max_val if input >= max_val else input
    return min_val if input <= min_val else high


@elementwise(dtype=to_float, vjp="derived", namespace=(MG, FUNCTIONAL))
def hardshrink(input, lambd=0.5):
    """Return input where |input| > lambd, otherwise 0; nan stays nan.

    Gradient: g where |input| > lambd, and 0 elsewhere.
    """
    return input if math.fabs(input) > lambd else 0 if input == input else math.nan


@elementwise(dtype=to_float, vjp="derived")
def softshrink(input, lambd=0.5):
    """Return input - lambd where input > lambd, input + lambd where input < -lambd, otherwise 0; nan produces nan.

    Gradient: for input, g where |input| > lambd, and 0 elsewhere; for lambd, -g where input > lambd, g where
    input < -lambd, and 0 elsewhere.
    """
    return input - lambd if input > lambd else input + lambd if input < -lambd else 0 if input == input else math.nan


@elementwise(dtype=to_float, vjp=(lambda g, x: g * x.tanh().square(),))
def tanhshrink(x):
    """Return x - tanh(x).  Gradient: g*tanh(x)**2."""
    return x - math.tanh(x)


@elementwise(
    dtype=number,
    vjp="derived",
    namespace=(MG, FUNCTIONAL),
    inplace=True,
)
def threshold(input, threshold, value):
    """Return input where it is greater than the threshold, otherwise value; nan stays nan.

    Gradient: g for input where it is greater than the threshold; elsewhere, g for value.
    """
    return value if input <= threshold else input
