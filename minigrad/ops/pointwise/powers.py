"""Powers and roots, element by element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.dtype import float64
from minigrad.core.op import Op, Spec
from minigrad.declare.decorators import elementwise
from minigrad.declare.rules import Pair, number, to_float
from minigrad.errors import DTypeError
from minigrad.ops.pointwise.arithmetic import square
from minigrad.runtime.tensor import Tensor, describe


@elementwise(dtype=to_float, vjp=(lambda g, y: -(g * y * y),))
def reciprocal(x):
    """Return the reciprocal 1/x; inf or -inf at 0.  Gradient: -g/x**2."""
    return 1 / x


@elementwise(dtype=to_float, vjp=(lambda g, y: g / (y * 2.0),))
def sqrt(x):
    """Return the square root of x; nan for x < 0.  Gradient: g/(2*sqrt(x)), which is inf at 0."""
    return math.sqrt(x)


@elementwise(dtype=to_float, vjp=(lambda g, x, y: g * y / (x * -2.0),))
def rsqrt(x):
    """Return 1/sqrt(x); inf at 0, and nan for x < 0.  Gradient: -g/(2*x*sqrt(x))."""
    return 1 / math.sqrt(x)


@elementwise(
    dtype=to_float,
    vjp=(
        lambda g, input, y: g * (input / (y == 0.0).where_cond(1.0, y)),
        lambda g, other, y: g * (other / (y == 0.0).where_cond(1.0, y)),
    ),
)
def hypot(input, other):
    """Return sqrt(input**2 + other**2), also where the squares would overflow; inf if an operand is infinite.

    Gradient: g*input/y for input and g*other/y for other, with the result y; 0 at the origin, and nan where both
    operands are infinite.
    """
    return math.hypot(input, other)


@elementwise(dtype=number, vjp=(lambda g, x: g * (x * x * 3.0),), namespace=(), label="pow")
def cube(x):
    """Return the cube of x, x*x*x.  Gradient: 3*g*x**2."""
    return x * x * x


# Ops that take a tenth of the time of a general power.  Their results can differ from a general power in the last bit.
# The roots of -0.0 and -inf differ too, as in PyTorch, and so do powers of -2 whose square overflows.
SHORT_POWERS = {
    2: square, 3: cube, 0.5: sqrt, -0.5: rsqrt, -1: reciprocal, -2: lambda x, out: reciprocal(square(x), out=out)
}  # fmt: skip


def power_by_number(input: Any, exponent: Any, out: Any) -> Any:
    """Return a float tensor to the power of a Python number in SHORT_POWERS; None for any other power.

    Raises DTypeError for an integer tensor to the power of a negative Python or NumPy integer, because the result would
    almost always be 0 as an integer.
    """
    if exponent.__class__ in (int, float) and isinstance(input, Tensor) and input.dtype.is_float:
        short = SHORT_POWERS.get(exponent)
        return None if short is None else short(input, out=out)
    below = (exponent.__class__ is int or isinstance(exponent, np.integer)) and exponent < 0
    if below and isinstance(input, Tensor) and not input.dtype.is_float:
        raise DTypeError(
            f"pow: an integer tensor cannot be raised to a negative integer power, got {describe(input)} and the "
            f"exponent {exponent}; convert input with .float(), or write {exponent}.0",
            op="pow",
        )
    return None


@elementwise(
    dtype=number,
    by_number=power_by_number,
    vjp=(
        lambda g, input, exponent: pow_base_rule(g, input, exponent),
        lambda g, input, exponent, y: pow_exponent_rule(g, input, exponent, y),
    ),
)
def pow(input, exponent):
    """Return input**exponent, element by element; shapes broadcast.

    A negative base has a real power only for integer exponents, and otherwise the result is nan.  Integers stay
    integers and wrap.  For an integer base, a negative exponent in an integer tensor produces 0, except for the bases 1
    and -1.  For floats, the exponents 2, 3, 0.5, -0.5, -1 and -2 as Python numbers run the faster `square`, `sqrt`,
    `rsqrt`, `reciprocal` and x*x*x.
    Gradient: with the base a and the exponent b, g*b*a**(b-1) for a, which is 0 where b is 0, and g*a**b*log(a) for b,
    which is 0 where a is 0 and b >= 0, and nan where a < 0.
    Raises DTypeError for integers to the power of a negative Python or NumPy integer.
    """
    return input**exponent


def double(op: Op, specs: Sequence[Spec]) -> Pair:
    """Compute in float64 and return float64, for operands of any dtype."""
    return float64.compute, float64


@elementwise(dtype=double, vjp="derived")
def float_power(input, exponent):
    """Return input**exponent, computed and returned in float64 for every dtype.  Gradient: the same as for `pow`."""
    return input**exponent


def pow_base_rule(g, input, exponent):
    """Return g*b*a**(b-1), the gradient for the base a; it is 0 at b = 0, where a**(b-1) may be infinite."""
    return (exponent == 0.0).where_cond(0.0, g * exponent * input ** (exponent == 0.0).where_cond(1.0, exponent - 1.0))


def pow_exponent_rule(g, input, exponent, y):
    """Return g*a**b*log(a), the gradient for the exponent b; at a = 0 it is 0 for b >= 0, the limit for b > 0."""
    flat = (input == 0.0) & (exponent >= 0.0)
    return flat.where_cond(0.0, g * y * flat.where_cond(1.0, input).log())
