"""Elementwise arithmetic.  This is the first file of `ops` to read.

A declaration defines the whole op.  Every kernel computes the scalar function in the body, and the VJP rules are its
derivative, one rule per operand.  `g` is the incoming gradient.  If a rule has an operand as a parameter, a call saves
the value of that operand for the backward pass; other values are not saved.

`dtype=` is a rule of `rules.py`: `promote` returns the common dtype of the operands, `number` also refuses bool, and
`to_float` converts integers to float.  A body is compiled from its text, so `abs` in it is Python's function, even if
the op has this name.  `linear=` is for transforms.  `where_cond` in a rule is `where` as a method of the condition.
"""

from __future__ import annotations

from minigrad.declare.decorators import elementwise
from minigrad.declare.rules import each, joint, number, number_to_real, promote, promote_to_int, to_float
from minigrad.ops.casting import sign_of
from minigrad.ops.creation import zeros_like
from minigrad.ops.pointwise.rounding import rounded_div, scaled


@elementwise(
    dtype=promote,
    vjp=(lambda g: g, lambda g: g),
    linear=joint("input", "other"),
    front="*, alpha=1",
    otherwise=lambda input, other, alpha, out: add(input, scaled("add", input, other, alpha), out=out),
)
def add(input, other):
    """Return input + alpha * other, element by element; shapes broadcast.  For bool, the sum is `or`.

    Gradient: g for input and alpha*g for other; the engine sums over broadcast dims.
    """
    return input + other


@elementwise(
    dtype=number,
    vjp=(lambda g: g, lambda g: -g),
    linear=joint("input", "other"),
    front="*, alpha=1",
    otherwise=lambda input, other, alpha, out: sub(input, scaled("sub", input, other, alpha), out=out),
)
def sub(input, other):
    """Return input - alpha * other, element by element; shapes broadcast.  Gradient: g and -alpha*g."""
    return input - other


@elementwise(dtype=promote, vjp=(lambda g, other: g * other, lambda g, input: g * input), linear=each("input", "other"))
def mul(input, other):
    """Return input * other, per element; shapes broadcast.  For bool, this is `and`.  Gradient: g*other and g*input."""
    return input * other


@elementwise(
    dtype=to_float,
    vjp=(lambda g, other: g / other, lambda g, other, y: -(g * y) / other),
    linear=joint("input"),
    front="*, rounding_mode=None",
    otherwise=lambda input, other, rounding_mode, out: rounded_div(input, other, rounding_mode, out),
)
def div(input, other):
    """Return input/other, rounded if rounding_mode is "floor" or "trunc"; without it, integers become floats.

    x/0 is inf, -inf or nan, as in IEEE 754.
    Gradient: g/other for input, and -g*y/other with the quotient y for other; with a rounding mode, both are 0.
    """
    return input / other


@elementwise(dtype=number, vjp=(lambda g: -g,), linear=True)
def neg(x):
    """Return -x; unsigned integers wrap.  Gradient: -g."""
    return -x


@elementwise(dtype=number_to_real, vjp=(lambda g, x: g * sign_of(x),))
def abs(x):
    """Return the absolute value of x, and the magnitude of a complex number.  Gradient: g*sgn(x), which is 0 at 0."""
    return abs(x)


@elementwise(dtype=promote, vjp=(lambda g: zeros_like(g),))
def sign(x):
    """Return the sign of x: -1, 0 or 1, and nan for nan; for bool, this is x.  Gradient: 0."""
    return 1 if x > 0 else -1 if x < 0 else x if x != x else 0


@elementwise(dtype=promote_to_int, vjp=(lambda g, x: g * (x * 2.0),))
def square(x):
    """Return the square of x, x*x; for bool, it is an int64.  Gradient: 2*g*x."""
    return x * x


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g), lambda g: zeros_like(g)))
def floor_divide(input, other):
    """Return floor(input/other), as Python's `//`; for integers, the result is 0 if other is 0.  Gradient: 0."""
    return input // other


@elementwise(dtype=number, vjp=(lambda g: g, lambda g, input, other: -(g * input.floor_divide(other))))
def remainder(input, other):
    """Return input - other*floor(input/other), as Python's `%`; for integers, the result is 0 if other is 0.

    Gradient: g for input and -g*floor(input/other) for other.
    """
    return input % other


@elementwise(dtype=promote, vjp=(lambda g, input, other: half_at_ties(g, input < other, input == other),
                                 lambda g, input, other: half_at_ties(g, other < input, input == other)))  # fmt: skip
def maximum(input, other):
    """Return the larger element, or nan.  Gradient: g for the larger operand, g/2 each at ties, g for both at nan."""
    return input if input > other or input != input else other


@elementwise(dtype=promote, vjp=(lambda g, input, other: half_at_ties(g, input > other, input == other),
                                 lambda g, input, other: half_at_ties(g, other > input, input == other)))  # fmt: skip
def minimum(input, other):
    """Return the smaller element, or nan.  Gradient: g for the smaller operand, g/2 each at ties, g for both at nan."""
    return input if input < other or input != input else other


def half_at_ties(g, loses, ties):
    """Return 0 where the operand loses, g/2 where both operands are equal, and g elsewhere.

    The 0 is selected and not multiplied, because an infinite g times 0 would be nan.
    """
    return loses.where_cond(0.0, ties.where_cond(g * 0.5, g))
