"""Arithmetic, element by element: the first file to read of `ops`.

A declaration is the whole op: every kernel computes the scalar function, and the rules are its derivative, one rule for
each operand.  `g` is the incoming gradient.  If a rule names an operand, its value is saved until backward;
otherwise nothing is saved.

`dtype=` names a rule of `rules.py`: `promote` takes the common dtype of the operands, `number` does too but refuses
bool, `to_float` converts integers to float.  A body is compiled from its text, so `abs` in it is Python's, even if the
op has that name.  `linear=` is for transforms; `where_cond` in a rule is `where` as a method.
"""

from __future__ import annotations

from minigrad.declare.decorators import elementwise
from minigrad.declare.rules import each, joint, number, promote, to_float
from minigrad.ops.creation import zeros_like
from minigrad.ops.pointwise.rounding import rounded_div, scaled


@elementwise(
    dtype=promote,
    vjp=(lambda g: g, lambda g: g),
    linear=joint("input", "other"),
    front="*, alpha=1",
    otherwise=lambda input, other, alpha, out: add(input, scaled("add", other, alpha), out=out),
)
def add(input, other):
    """Return the sum of input and alpha * other, element by element; shapes broadcast.  For bool it is `or`.

    Gradient: g for both (the engine sums broadcast axes back).
    """
    return input + other


@elementwise(
    dtype=number,
    vjp=(lambda g: g, lambda g: -g),
    linear=joint("input", "other"),
    front="*, alpha=1",
    otherwise=lambda input, other, alpha, out: sub(input, scaled("sub", other, alpha), out=out),
)
def sub(input, other):
    """Return the difference of input and alpha * other, element by element; shapes broadcast.  Gradient: g and -g."""
    return input - other


@elementwise(dtype=promote, vjp=(lambda g, other: g * other, lambda g, input: g * input), linear=each("input", "other"))
def mul(input, other):
    """Return the product per element; shapes broadcast.  For bool it is `and`.  Gradient: g*other and g*input."""
    return input * other


@elementwise(
    dtype=to_float,
    vjp=(lambda g, other: g / other, lambda g, other, y: -(g * y) / other),
    linear=joint("input"),
    front="*, rounding_mode=None",
    otherwise=lambda input, other, rounding_mode, out: rounded_div(input, other, rounding_mode, out),
)
def div(input, other):
    """Return input/other, rounded if rounding_mode is "floor" or "trunc"; integers become the default float.

    x/0 is inf or nan, as in IEEE 754.
    Gradient: g/other and -g*y/other, which stays in range where other**2 would not.
    """
    return input / other


@elementwise(dtype=number, vjp=(lambda g: -g,), linear=True)
def neg(x):
    """Return -x; unsigned integers wrap."""
    return -x


@elementwise(dtype=number, vjp=(lambda g, x: g * x.sign(),))
def abs(x):
    """Return |x|.  Gradient: g*sign(x), 0 at 0."""
    return abs(x)


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g),))
def sign(x):
    """Return -1, 0 or 1; nan stays nan.  Gradient: 0."""
    return 1 if x > 0 else -1 if x < 0 else x if x != x else 0


@elementwise(dtype=number, vjp=(lambda g, x: g * (x * 2.0),))
def square(x):
    """Return x*x.  Gradient: 2*g*x."""
    return x * x


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g), lambda g: zeros_like(g)))
def floor_divide(input, other):
    """Return the largest integer not above input/other, as Python's `//`; an integer over 0 is 0.  Gradient: 0."""
    return input // other


@elementwise(dtype=number, vjp=(lambda g: g, lambda g, input, other: -(g * input.floor_divide(other))))
def remainder(input, other):
    """Return input - other*floor(input/other), with the sign of other, as Python's `%`; for integers 0 if other is 0.

    Gradient: g for input, -g*floor(input/other) for other.
    """
    return input % other


@elementwise(dtype=promote, vjp=(lambda g, input, other: half_at_ties(g, input > other, input == other),
                                 lambda g, input, other: half_at_ties(g, other > input, input == other)))  # fmt: skip
def maximum(input, other):
    """Return the larger of two; nan wins.  Gradient: g to the larger operand, g/2 to each at ties."""
    return input if input > other or input != input else other


@elementwise(dtype=promote, vjp=(lambda g, input, other: half_at_ties(g, input < other, input == other),
                                 lambda g, input, other: half_at_ties(g, other < input, input == other)))  # fmt: skip
def minimum(input, other):
    """Return the smaller of two; nan wins.  Gradient: g to the smaller operand, g/2 to each at ties."""
    return input if input < other or input != input else other


def half_at_ties(g, wins, ties):
    """g where an operand wins, half of it where both are equal, 0 where it loses.

    Chosen, not multiplied: an infinite g times 0 would be nan.
    """
    return ties.where_cond(g * 0.5, wins.where_cond(g, 0.0))
