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
    """Return 1/x.  Gradient: -g/x**2."""
    return 1 / x


@elementwise(dtype=to_float, vjp=(lambda g, y: g / (y * 2.0),))
def sqrt(x):
    """Return the square root; nan below 0.  Gradient: g/(2*sqrt(x)), inf at 0."""
    return math.sqrt(x)


@elementwise(dtype=to_float, vjp=(lambda g, x, y: g * y / (x * -2.0),))
def rsqrt(x):
    """Return 1/sqrt(x).  Gradient: -g/(2*x*sqrt(x))."""
    return 1 / math.sqrt(x)


@elementwise(
    dtype=to_float,
    vjp=(
        lambda g, input, y: g * (input / (y == 0.0).where_cond(1.0, y)),
        lambda g, other, y: g * (other / (y == 0.0).where_cond(1.0, y)),
    ),
)
def hypot(input, other):
    """Return sqrt(input**2 + other**2), where the squares may overflow; infinite if one operand is.

    Gradient: g*input/y and g*other/y; 0 at the origin, nan where both are infinite.
    """
    return math.hypot(input, other)


@elementwise(dtype=number, vjp=(lambda g, x: g * (x * x * 3.0),), namespace=(), method=False, label="pow")
def cube(x):
    """Return x*x*x.  Gradient: 3*g*x**2."""
    return x * x * x


# Ops that cost a tenth of a true power and have its values, except the root of -0.0 and of -inf, as in PyTorch.
SHORT_POWERS = {
    2: square, 3: cube, 0.5: sqrt, -0.5: rsqrt, -1: reciprocal, -2: lambda x, out: reciprocal(square(x), out=out)
}  # fmt: skip


def power_by_number(input: Any, exponent: Any, out: Any) -> Any:
    """Return floats to the power of a Python number that has an op of its own; None for another power.

    Raises DTypeError for integers to the power of a negative integer of Python or NumPy: an integer would be 0.
    """
    if exponent.__class__ in (int, float) and isinstance(input, Tensor) and input.dtype.is_float:
        short = SHORT_POWERS.get(exponent)
        return None if short is None else short(input, out=out)
    below = (exponent.__class__ is int or isinstance(exponent, np.integer)) and exponent < 0
    if below and isinstance(input, Tensor) and not input.dtype.is_float:
        raise DTypeError(
            f"pow: integers to negative integer powers are not allowed, got {describe(input)} to the power of "
            f"{exponent}; convert with .float(), or write {exponent}.0",
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
    """Return input**exponent; negative bases with integer exponents work.  Integers stay integers and wrap.

    For an integer base, a negative integer exponent in a tensor produces 0, except for the bases 1 and -1.  A negative
    Python int raises DTypeError.  Floats to the powers 2, 3, 0.5, -0.5 and -1 use the square, the cube and so on.

    Gradient: with a the input and b the exponent, g*b*a**(b-1) for a (0 where b is 0), and g*a**b*log(a) for b (0
    where a is 0 and b >= 0; nan where a < 0).
    """
    return input**exponent


def double(op: Op, specs: Sequence[Spec]) -> Pair:
    """float64, whatever the operands are."""
    return float64.compute, float64


@elementwise(dtype=double, vjp="derived")
def float_power(input, exponent):
    """Return input**exponent, in float64 for every dtype.  Gradient: as of `pow`."""
    return input**exponent


def pow_base_rule(g, input, exponent):
    """d(a**b)/da: the product with b is cut at b = 0, where a**(b-1) may be infinite."""
    return (exponent == 0.0).where_cond(0.0, g * exponent * input ** (exponent == 0.0).where_cond(1.0, exponent - 1.0))


def pow_exponent_rule(g, input, exponent, y):
    """d(a**b)/db: 0 at a = 0 for b >= 0, the limit of a**b * log(a)."""
    flat = (input == 0.0) & (exponent >= 0.0)
    return flat.where_cond(0.0, g * y * flat.where_cond(1.0, input).log())
