"""Comparisons, logical ops, and selection by a condition.

The result of a comparison is bool and has no gradient.  nan is not equal to any value, including nan.
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
    """Return whether x is inf or -inf."""
    return x == x and x - x != 0


@elementwise(dtype=compare)
def isfinite(x):
    """Return whether x is neither infinite nor nan."""
    return x - x == 0


@elementwise(dtype=logical_values)
def logical_and(input, other):
    """Return whether both operands are nonzero."""
    return input != 0 and other != 0


@elementwise(dtype=logical_values)
def logical_or(input, other):
    """Return whether at least one operand is nonzero."""
    return input != 0 or other != 0


@elementwise(dtype=logical_values)
def logical_xor(input, other):
    """Return whether exactly one operand is nonzero."""
    return (input != 0) != (other != 0)


@elementwise(dtype=logical_values)
def logical_not(x):
    """Return whether x is zero."""
    return x == 0


@elementwise(dtype=integer)
def bitwise_and(input, other):
    """Return the bits that are set in both operands; for bool, this is `and`."""
    return input & other


@elementwise(dtype=integer)
def bitwise_or(input, other):
    """Return the bits that are set in at least one operand; for bool, this is `or`."""
    return input | other


@elementwise(dtype=integer)
def bitwise_xor(input, other):
    """Return the bits that are set in exactly one operand; for bool, this is `!=`."""
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
    """Return input where the condition is True, otherwise other; the three operands broadcast.

    The condition must be bool.  `where(condition)` returns the indices of the nonzero elements of the condition, as
    `nonzero(condition, as_tuple=True)`.
    Gradient: g for the operand that was selected, and 0 for the other operand.
    """
    return input if condition else other
