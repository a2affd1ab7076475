"""Comparisons, logical ops, and selection by a condition.

The result of a comparison is bool and has no gradient. nan is equal to nothing, itself included.
"""

from __future__ import annotations

from minigrad.declare.decorators import elementwise
from minigrad.declare.record import schema
from minigrad.declare.rules import compare, integer, joint, logical_values, select


@elementwise(dtype=compare)
def eq(input, other):
    """Return input == other."""
    return input == other


@elementwise(dtype=compare)
def ne(input, other):
    """Return input != other."""
    return input != other


@elementwise(dtype=compare)
def lt(input, other):
    """Return input < other."""
    return input < other


@elementwise(dtype=compare)
def le(input, other):
    """Return input <= other."""
    return input <= other


@elementwise(dtype=compare)
def gt(input, other):
    """Return input > other."""
    return input > other


@elementwise(dtype=compare)
def ge(input, other):
    """Return input >= other."""
    return input >= other


@elementwise(dtype=compare)
def isnan(x):
    """Return whether x is nan."""
    return x != x


@elementwise(dtype=compare)
def isinf(x):
    """Return whether x is infinite, of either sign."""
    return x == x and x - x != 0


@elementwise(dtype=compare)
def isfinite(x):
    """Return whether x is neither infinite nor nan."""
    return x - x == 0


@elementwise(dtype=logical_values)
def logical_and(input, other):
    """Return whether both are not zero."""
    return input != 0 and other != 0


@elementwise(dtype=logical_values)
def logical_or(input, other):
    """Return whether one is not zero."""
    return input != 0 or other != 0


@elementwise(dtype=logical_values)
def logical_xor(input, other):
    """Return whether exactly one is not zero."""
    return (input != 0) != (other != 0)


@elementwise(dtype=logical_values)
def logical_not(x):
    """Return whether x is zero."""
    return x == 0


@elementwise(dtype=integer)
def bitwise_and(input, other):
    """Return the bits in both; for bool `and`."""
    return input & other


@elementwise(dtype=integer)
def bitwise_or(input, other):
    """Return the bits in either; for bool `or`."""
    return input | other


@elementwise(dtype=integer)
def bitwise_xor(input, other):
    """Return the bits that are set in exactly one operand; for bool, `!=`."""
    return input ^ other


@elementwise(
    dtype=select,
    vjp=(
        None,
        lambda g, condition: condition.where_cond(g, 0.0),
        lambda g, condition: condition.where_cond(0.0, g),
    ),
    linear=joint("input", "other"),
    method=False,
    sole=lambda condition: schema["nonzero"].public(condition, as_tuple=True),  # type: ignore[misc]
)
def where(condition, input, other):
    """Return input where the condition is True, otherwise other; the condition must be bool.  All three broadcast.

    Of the condition alone, the indices of its nonzero elements, as `nonzero(condition, as_tuple=True)`.
    Gradient: g to the operand that was chosen, 0 to the other.
    """
    return input if condition else other
