"""Arithmetic, element by element: the first file to read of `ops`.

A declaration is the whole op: the scalar function is what every kernel computes, the rules are its derivative, one
an operand.  `g` is the incoming gradient; a rule that names an operand keeps that operand's value alive until
backward, one that names none keeps nothing.

`dtype=` names a rule of `rules.py`: `promote` takes what the operands agree on, `number` the same but no bool,
`to_float` makes a float of integers.  A body is read as text and compiled, so a name in it such as `abs` is Python's,
also where the op has that name.  `linear=` is for transforms; `where_cond` in a rule is `where` as a method.
"""

from __future__ import annotations

from minigrad.declare.decorators import elementwise
from minigrad.declare.rules import each, joint, number, promote, to_float
from minigrad.ops.creation import zeros_like


@elementwise(dtype=promote, vjp=(lambda g: g, lambda g: g), linear=joint("a", "b"))
def add(a, b):
    """Sum, element by element; shapes broadcast.  For bool it is `or`.

    Gradient: g for both (the engine sums broadcast axes back).
    """
    return a + b


@elementwise(dtype=number, vjp=(lambda g: g, lambda g: -g), linear=joint("a", "b"))
def sub(a, b):
    """Difference, element by element; shapes broadcast.  Gradient: g and -g."""
    return a - b


@elementwise(dtype=promote, vjp=(lambda g, b: g * b, lambda g, a: g * a), linear=each("a", "b"))
def mul(a, b):
    """Product, element by element; shapes broadcast.  For bool it is `and`.  Gradient: g*b and g*a."""
    return a * b


@elementwise(dtype=to_float, vjp=(lambda g, b: g / b, lambda g, b, y: -(g * y) / b), linear=joint("a"))
def div(a, b):
    """Quotient, element by element; integers give the default float.  x/0 is inf or nan, as IEEE 754 says.

    Gradient: g/b and -g*y/b, which stays in range where b**2 would not.
    """
    return a / b


@elementwise(dtype=number, vjp=(lambda g: -g,), linear=True)
def neg(x):
    """-x; unsigned integers wrap."""
    return -x


@elementwise(dtype=number, vjp=(lambda g, x: g * x.sign(),))
def abs(x):
    """|x|.  Gradient: g*sign(x), 0 at 0."""
    return abs(x)


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g),))
def sign(x):
    """-1, 0 or 1; nan stays nan.  Gradient: 0."""
    return x if x != x or x == 0 else (1 if x > 0 else -1)


@elementwise(dtype=number, vjp=(lambda g, x: g * (x * 2.0),))
def square(x):
    """x*x.  Gradient: 2*g*x."""
    return x * x


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g), lambda g: zeros_like(g)))
def floor_divide(a, b):
    """The largest whole number not above a/b, as Python's `//`; an integer divided by 0 gives 0.  Gradient: 0."""
    return a // b


@elementwise(dtype=number, vjp=(lambda g: g, lambda g, a, b: -(g * a.floor_divide(b))))
def remainder(a, b):
    """a - b*floor(a/b), with the sign of b, as Python's `%`; an integer by 0 gives 0.

    Gradient: g for a, -g*floor(a/b) for b.
    """
    return a % b


@elementwise(dtype=promote, vjp=(lambda g, a, b: half_at_ties(g, a > b, a == b),
                                 lambda g, a, b: half_at_ties(g, b > a, a == b)))  # fmt: skip
def maximum(a, b):
    """The larger of two; nan wins.  Gradient: to the larger, half and half at ties."""
    return a if a > b or a != a else b


@elementwise(dtype=promote, vjp=(lambda g, a, b: half_at_ties(g, a < b, a == b),
                                 lambda g, a, b: half_at_ties(g, b < a, a == b)))  # fmt: skip
def minimum(a, b):
    """The smaller of two; nan wins.  Gradient: to the smaller, half and half at ties."""
    return a if a < b or a != a else b


def half_at_ties(g, wins, ties):
    """g where an operand wins, half of it where both are equal, 0 where it loses.

    Chosen, not multiplied: an infinite g times 0 would be nan.
    """
    return ties.where_cond(g * 0.5, wins.where_cond(g, 0.0))


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
    """x, not below lo, then not above hi; nan stays nan.

    Gradient: g inside and at the bounds, 0 outside; the bound that was taken gets it there.
    """
    low = lo if x < lo else x
    return hi if low > hi else low
