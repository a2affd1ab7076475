"""Integer ops without gradients: shifts and complements of bits, common divisors and multiples."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minigrad.core.dtype import bool_
from minigrad.core.op import Op, Spec
from minigrad.declare.decorators import composed, elementwise
from minigrad.declare.rules import Pair, common, integer, refuse
from minigrad.errors import DTypeError
from minigrad.ops.pointwise.compare import bitwise_xor, logical_not
from minigrad.runtime.tensor import Tensor, describe


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
            ".to(mg.int64)",
            op="bitwise_not",
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
