"""Comparisons, truth values, and choosing by them.

Comparisons give bool; they carry no gradient.  nan is equal to nothing, itself included.
"""

from __future__ import annotations

from minigrad.ops.declare import elementwise
from minigrad.ops.rules import compare, integer, joint, logical_values, select


@elementwise(dtype=compare)
def eq(a, b):
    """a == b."""
    return a == b


@elementwise(dtype=compare)
def ne(a, b):
    """a != b."""
    return a != b


@elementwise(dtype=compare)
def lt(a, b):
    """a < b."""
    return a < b


@elementwise(dtype=compare)
def le(a, b):
    """a <= b."""
    return a <= b


@elementwise(dtype=compare)
def gt(a, b):
    """a > b."""
    return a > b


@elementwise(dtype=compare)
def ge(a, b):
    """a >= b."""
    return a >= b


@elementwise(dtype=compare)
def isnan(x):
    """Whether x is nan."""
    return x != x


@elementwise(dtype=compare)
def isinf(x):
    """Whether x is infinite, of either sign."""
    return x == x and x - x != 0


@elementwise(dtype=compare)
def isfinite(x):
    """Whether x is neither infinite nor nan."""
    return x - x == 0


@elementwise(dtype=logical_values)
def logical_and(a, b):
    """Whether both are not zero."""
    return a != 0 and b != 0


@elementwise(dtype=logical_values)
def logical_or(a, b):
    """Whether one is not zero."""
    return a != 0 or b != 0


@elementwise(dtype=logical_values)
def logical_xor(a, b):
    """Whether exactly one is not zero."""
    return (a != 0) != (b != 0)


@elementwise(dtype=logical_values)
def logical_not(x):
    """Whether x is zero."""
    return x == 0


@elementwise(dtype=integer)
def bitwise_and(a, b):
    """Bits in both; for bool `and`."""
    return a & b


@elementwise(dtype=integer)
def bitwise_or(a, b):
    """Bits in either; for bool `or`."""
    return a | b


@elementwise(dtype=integer)
def bitwise_xor(a, b):
    """Bits in exactly one; for bool `!=`."""
    return a ^ b


@elementwise(
    dtype=select,
    vjp=(
        None,
        lambda g, condition: condition.where_cond(g, 0.0),
        lambda g, condition: condition.where_cond(0.0, g),
    ),
    linear=joint("input", "other"),
)
def where(condition, input, other):
    """input where the condition holds, else other; the condition must be bool; all three broadcast.

    Gradient: g to the operand that was chosen, 0 to the other.
    """
    return input if condition else other
