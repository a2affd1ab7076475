"""Signs and pieces of one number, and choices between two: what floats have besides arithmetic.

Gradients at nan, at 0 and at ties are those of PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ml_dtypes import finfo

from minigrad.core.dtype import bool_
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Scalar
from minigrad.declare.decorators import composed, elementwise
from minigrad.declare.rules import Pair, compare, floating, number, promote, refuse, to_float
from minigrad.errors import DTypeError
from minigrad.ops.creation import zeros_like
from minigrad.runtime.tensor import Tensor, describe


def wide_enough(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return the promoted dtype, which must be one in which loops compute."""
    dtype = floating(op, specs)
    if dtype.compute.itemsize != dtype.itemsize:
        raise refuse(op, specs, "float32 or float64 is needed; loops compute halves in float32")
    return dtype.compute, dtype


@composed(out=False)
def positive(input: Tensor) -> Tensor:
    """Return the input itself; bool is refused, as by `neg`."""
    if input.dtype is bool_:
        raise DTypeError(f"positive: got {describe(input)}; convert with .to(mg.int64)", op="positive")
    return input


@elementwise(dtype=number, vjp=(lambda g: g, lambda g, input, other: -(g * (input / other).trunc())))
def fmod(input, other):
    """Return input - other*trunc(input/other), with the sign of input, as C's fmod; for integers 0 if other is 0.

    Gradient: g for input, -g*trunc(input/other) for other.
    """
    return math.fmod(input, other)


@elementwise(dtype=to_float, vjp=(lambda g, input, y: g * (input.sign() * y.sign()), lambda g: zeros_like(g)))
def copysign(input, other):
    """Return |input| with the sign of other, which -0.0 and nan have too.

    Gradient: g where the sign stays, -g where it turns, 0 at 0; 0 for other.
    """
    return math.copysign(input, other)


@elementwise(dtype=compare)
def signbit(x):
    """Return whether the sign of x is minus, which -0.0 and nan may have too."""
    return math.copysign(1, x) < 0


@elementwise(dtype=promote, vjp=(lambda g: zeros_like(g), lambda g, input: (input == 0.0).where_cond(g, 0.0)))
def heaviside(input, values):
    """Return 0 below 0, 1 above, and values at 0; 0 for nan.  Gradient: 0; g at 0 for values."""
    return values if input == 0 else input > 0


@elementwise(dtype=number, vjp=(lambda g: g,))
def frac(x):
    """Return x without its integer part, with the sign of x; nan for an infinity.  Gradient: g."""
    return x - math.trunc(x)


@elementwise(dtype=promote, vjp="derived")
def fmax(input, other):
    """Return the larger of two; the other one if one is nan.  Gradient: g to the larger, at ties to input."""
    return input if input >= other or other != other else other


@elementwise(dtype=promote, vjp="derived")
def fmin(input, other):
    """Return the smaller of two; the other one if one is nan.  Gradient: g to the smaller, at ties to input."""
    return input if input <= other or other != other else other


@elementwise(dtype=to_float, vjp="derived")
def ldexp(input, other):
    """Return input * 2**other.  Gradient: g*2**other, and g*y*ln(2) for other."""
    return input * math.exp2(other)


@elementwise(dtype=wide_enough, vjp=(lambda g: g, lambda g: zeros_like(g)))
def nextafter(input, other):
    """Return the number of input's dtype next to it, towards other; float32 and float64 only.

    Gradient: g, and 0 for other.
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


@elementwise(dtype=promote, name="nan_to_num", namespace=(), method=False, vjp=FINITE)
def finite_or(x, nan, posinf, neginf):
    """Return x where it is finite, otherwise one of three numbers.  Gradient: g where x is finite."""
    return nan if x != x else x if x - x == 0 else posinf if x > 0 else neginf


@composed(of=finite_or, in_place=True)
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Replace nan by the argument nan, inf by posinf and -inf by neginf.

    The defaults are 0 and the largest numbers of the dtype, negative for -inf.
    Gradient: g where input is finite, otherwise 0.
    """
    if not input.dtype.is_float:
        return input.clone()
    largest = float(finfo(input.dtype.numpy).max)
    high, low = largest if posinf is None else posinf, -largest if neginf is None else neginf
    return finite_or(input, 0.0 if nan is None else nan, high, low)


@composed(method=False, out=False)
def rsub(input: Tensor, other: Any, *, alpha: Scalar = 1) -> Tensor:
    """Return other - alpha * input.  Gradient: -g*alpha, and g for other."""
    return other - (input if alpha == 1 else input * alpha)
