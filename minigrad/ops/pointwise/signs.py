"""Signs, fractions and neighbours of floats, minima and maxima that ignore nan, and replacement of nan and infinities.

Gradients at nan, at 0 and at ties are those of PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from ml_dtypes import finfo

from minigrad.core.conditions import Numeric
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Scalar
from minigrad.declare.decorators import composed, elementwise
from minigrad.declare.rules import Pair, compare, floating, number, promote, refuse, to_float
from minigrad.ops.creation import zeros_like
from minigrad.runtime.tensor import Tensor


def wide_enough(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return the promoted float dtype.  Raises DTypeError for float16 and bfloat16, which loops compute in float32."""
    dtype = floating(op, specs)
    if dtype.compute.itemsize != dtype.itemsize:
        raise refuse(
            op,
            specs,
            "expected float32 or float64, because this op depends on the exact bits of the dtype; convert with "
            ".to(mg.float32)",
        )
    return dtype.compute, dtype


@composed(out=False)
def positive(input: Annotated[Tensor, Numeric]) -> Tensor:
    """Return the input itself.  Raises DTypeError for bool, as `neg` does."""
    return input


@elementwise(dtype=number, vjp=(lambda g: g, lambda g, input, other: -(g * (input / other).trunc())))
def fmod(input, other):
    """Return input - other*trunc(input/other), as C's fmod; the result has the sign of input.

    For integers, the result is 0 if other is 0.
    Gradient: g for input and -g*trunc(input/other) for other.
    """
    return math.fmod(input, other)


@elementwise(dtype=to_float, vjp=(lambda g, input, y: g * (input.sign() * y.sign()), lambda g: zeros_like(g)))
def copysign(input, other):
    """Return |input| with the sign of other; -0.0 and nan have a sign as well.

    Gradient: for input, g where its sign does not change, -g where it changes, and 0 at 0; for other, 0.
    """
    return math.copysign(input, other)


@elementwise(dtype=compare)
def signbit(x):
    """Return whether the sign bit of x is set; -0.0 and nan have a sign bit as well."""
    return math.copysign(1, x) < 0


@elementwise(dtype=promote, vjp=(lambda g: zeros_like(g), lambda g, input: (input == 0.0).where_cond(g, 0.0)))
def heaviside(input, values):
    """Return the Heaviside step function: 0 for input < 0, 1 for input > 0, `values` at 0, and 0 for nan.

    Gradient: 0 for input; for values, g where input is 0 and 0 elsewhere.
    """
    return values if input == 0 else input > 0


@elementwise(dtype=number, vjp=(lambda g: g,))
def frac(x):
    """Return the fraction x - trunc(x), which has the sign of x; nan for inf and -inf.  Gradient: g."""
    return x - math.trunc(x)


@elementwise(dtype=promote, vjp="derived")
def fmax(input, other):
    """Return the larger of two elements; if one of them is nan, return the other one.

    Gradient: g for the operand that was returned, and 0 for the other; where they are equal, g for input.
    """
    return input if input >= other or other != other else other


@elementwise(dtype=promote, vjp="derived")
def fmin(input, other):
    """Return the smaller of two elements; if one of them is nan, return the other one.

    Gradient: g for the operand that was returned, and 0 for the other; where they are equal, g for input.
    """
    return input if input <= other or other != other else other


@elementwise(dtype=to_float, vjp="derived")
def ldexp(input, other):
    """Return input * 2**other.  Gradient, with the result y: g*2**other for input, and g*y*ln(2) for other."""
    return input * math.exp2(other)


@elementwise(dtype=wide_enough, vjp=(lambda g: g, lambda g: zeros_like(g)))
def nextafter(input, other):
    """Return the next number after input in the direction of other, in the dtype of the operands.

    Gradient: g for input, and 0 for other.  Raises DTypeError unless the dtype is float32 or float64.
    """
    return math.nextafter(input, other)


@elementwise(dtype=compare)
def isposinf(x):
    """Return whether x is inf."""
    return x > 0 and x - x != 0


@elementwise(dtype=compare)
def isneginf(x):
    """Return whether x is -inf."""
    return x < 0 and x - x != 0


@elementwise(dtype=compare)
def isreal(x):
    """Return True, since complex dtypes are not supported."""
    return x == x or x != x


FINITE = (lambda g, x: x.isfinite().where_cond(g, 0.0), None, None, None)


@elementwise(dtype=promote, name="nan_to_num", namespace=(), vjp=FINITE)
def finite_or(x, nan, posinf, neginf):
    """Return x where it is finite, and otherwise `nan`, `posinf` or `neginf`.

    Gradient: g where x is finite, and 0 elsewhere.
    """
    return nan if x != x else x if x - x == 0 else posinf if x > 0 else neginf


@composed(of=finite_or, in_place=True)
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Replace nan by `nan`, inf by `posinf` and -inf by `neginf`.

    The defaults are 0, the largest and the smallest finite number of the dtype.
    Gradient: g where the input is finite, and 0 elsewhere.
    """
    if not input.dtype.is_float:
        return input.clone()
    largest = float(finfo(input.dtype.numpy).max)
    high, low = largest if posinf is None else posinf, -largest if neginf is None else neginf
    return finite_or(input, 0.0 if nan is None else nan, high, low)


@composed(method=False, out=False)
def rsub(input: Tensor, other: Any, *, alpha: Scalar = 1) -> Tensor:
    """Return other - alpha * input.  Gradient: -g*alpha for input, and g for other."""
    return other - (input if alpha == 1 else input * alpha)
