"""Arithmetic, element by element: the first file to read of `ops`.

A declaration is the whole op: the scalar function is what every kernel computes, the rules are its derivative, one
an operand.  `g` is the incoming gradient; a rule that names an operand keeps that operand's value alive until
backward, one that names none keeps nothing.
"""

from __future__ import annotations

import math

from minigrad.ops.declare import elementwise
from minigrad.ops.rules import number, promote, to_float


@elementwise(dtype=promote, vjp=(lambda g: g, lambda g: g), linear=True)
def add(a, b):
    """Sum, element by element; shapes broadcast.  For bool it is `or`.

    Gradient: g for both (the engine sums broadcast axes back).
    """
    return a + b


@elementwise(dtype=number, vjp=(lambda g: g, lambda g: -g), linear=True)
def sub(a, b):
    """Difference, element by element; shapes broadcast.  Gradient: g and -g."""
    return a - b


@elementwise(dtype=promote, vjp=(lambda g, b: g * b, lambda g, a: g * a))
def mul(a, b):
    """Product, element by element; shapes broadcast.  For bool it is `and`.  Gradient: g*b and g*a."""
    return a * b


@elementwise(dtype=to_float, vjp=(lambda g, b: g / b, lambda g, a, b: -(g * a) / (b * b)))
def div(a, b):
    """Quotient, element by element; integers give the default float.  x/0 is inf or nan, as IEEE 754 says.

    Gradient: g/b and -g*a/b**2.
    """
    return a / b


@elementwise(dtype=number, vjp=(lambda g: -g,), linear=True)
def neg(x):
    """-x; unsigned integers wrap."""
    return -x
