"""Comparisons, logical ops, selection by a condition, and integer ops without gradients.

The result of a comparison is bool and has no gradient.  nan is not equal to any value, including nan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from minigrad.core.dtype import bool_
from minigrad.core.op import Op, Spec
from minigrad.declare.decorators import composed, elementwise
from minigrad.declare.record import schema
from minigrad.declare.rules import Pair, common, compare, integer, joint, logical_values, refuse, select
from minigrad.errors import DTypeError
from minigrad.runtime.tensor import Tensor, describe

# ---- comparisons, logical ops and selection --------------------------------------------------------------------------


@elementwise(dtype=compare)
def eq(input, other):
    """Return input == other."""
    return input == other


@elementwise(dtype=compare, namespace=(), method=False)
def same_number(input, other):
    """Return whether two elements are equal, or both nan."""
    return input == other or (input != input and other != other)


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
    vjp=(None, lambda g, condition: condition.where_cond(g, 0.0), lambda g, condition: condition.where_cond(0.0, g)),
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


# ---- bits, common divisors and multiples -----------------------------------------------------------------------------


def whole(op: Op, specs: Sequence[Spec]) -> Pair:
    """Promote as `integer`, but raise DTypeError for bool."""
    if common(specs) is bool_:
        raise refuse(
            op, specs, "expected integers, because this op is not defined for bool; convert with .to(mg.int64)"
        )
    return integer(op, specs)


@composed(in_place=True)
def bitwise_not(input: Tensor) -> Tensor:
    """Return the input with all bits flipped; for bool, this is `not`.  Raises DTypeError for floats."""
    if input.dtype.is_float:
        raise DTypeError(
            f"bitwise_not: input must be bool or have an integer dtype, got {describe(input)}; convert it with "
            ".to(mg.int64)"
        )
    if input.dtype is bool_:
        return logical_not(input)
    return bitwise_xor(input, -1 if input.dtype.is_signed else int(input.dtype.highest))


@elementwise(dtype=whole)
def bitwise_left_shift(input, other):
    """Return the bits of the input, shifted to the left by `other`.

    The result is 0 where other is negative, or not less than the number of bits.
    """
    return input << other if other >= 0 and other < 64 else 0


@elementwise(dtype=whole)
def bitwise_right_shift(input, other):
    """Return input / 2**other, rounded down.

    Where other is negative, or not less than the number of bits, the result is -1 for a negative input, otherwise 0.
    """
    return input >> other if other >= 0 and other < 64 else -1 if input < 0 else 0


@elementwise(dtype=whole)
def gcd(input, other):
    """Return the greatest common divisor of |input| and |other|; gcd(0, 0) is 0."""
    return math.gcd(input, other)


@elementwise(dtype=whole)
def lcm(input, other):
    """Return the least common multiple of |input| and |other|, 0 if either is 0; a result that is too large wraps."""
    return abs(input // math.gcd(input, other) * other)
