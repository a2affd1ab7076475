"""Rounding, signs, fractions and neighbours of floats; minima and maxima that ignore nan; mantissa and exponent.

The derivative of rounding is 0 wherever it exists, so the gradient is 0 everywhere.  Rounding returns integers
unchanged.  Gradients at nan, at 0 and at ties are those of PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from ml_dtypes import finfo

from minigrad.core.conditions import Numeric
from minigrad.core.dtype import DType, bool_, int32
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Choice
from minigrad.core.shape import as_int
from minigrad.declare.decorators import composed, elementwise
from minigrad.declare.rules import Pair, compare, floating, number, promote, refuse, to_float
from minigrad.errors import ArgumentError, ArgumentTypeError
from minigrad.ops.creation import zeros_like
from minigrad.ops.shape.parts import view_as_complex, view_as_real
from minigrad.runtime.into import copy_result
from minigrad.runtime.tensor import Tensor, describe

# ---- rounding, and the parameters `alpha` of `add` and `sub` and `rounding_mode` of `div` ----------------------------


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g),))
def floor(x):
    """Return the largest integer that is not greater than x.  Gradient: 0."""
    return math.floor(x)


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g),))
def ceil(x):
    """Return the smallest integer that is not less than x.  Gradient: 0."""
    return math.ceil(x)


@elementwise(dtype=number, vjp=(lambda g: zeros_like(g),))
def trunc(x):
    """Return x rounded towards zero to an integer.  Gradient: 0."""
    return math.trunc(x)


@elementwise(
    dtype=number, vjp=(lambda g: zeros_like(g),), front="*, decimals=0",
    otherwise=lambda x, decimals, out: rounded(x, decimals, out),
)  # fmt: skip
def round(x):
    """Return x rounded to the nearest integer, or to the nearest multiple of 10**-decimals.

    Ties are rounded to the even neighbour: round(0.5) is 0, and round(1.5) is 2.
    Gradient: 0.
    """
    return round(x)


def rounded(x, decimals, out):
    """Return x rounded to a number of decimals, which may be negative."""
    power = 10.0 ** abs(as_int(decimals, "decimals", "round"))
    result = (round(x * power) / power if decimals > 0 else round(x / power) * power).to(x.dtype)
    return result if out is None else copy_result("round", result, out)


def takes_factor(alpha, x):
    """Return whether a float or complex factor fits an operand, a tensor or a number."""
    if isinstance(x, Tensor):
        return x.dtype.is_complex or (x.dtype.is_float and not isinstance(alpha, complex))
    return isinstance(x, (type(alpha), complex))


def as_whole(factor, x):
    """Return a factor of the elements of x: as an int if x is an integer tensor and the factor a float such as 2.0."""
    return int(factor) if isinstance(factor, float) and factor.is_integer() and x.dtype.is_int else factor


def scaled(name, input, other, alpha):
    """Return other * alpha, where alpha is a parameter of the op `name`; input: its other operand."""
    if not isinstance(alpha, (float, complex)):
        bools = {getattr(x, "dtype", x.__class__) for x in (input, other)} <= {bool_, bool}
        if alpha.__class__ is int and bools:
            return Tensor.logical_and(other, alpha) if isinstance(other, Tensor) else bool(other and alpha)
        if isinstance(alpha, (int, np.generic, Tensor)) and (bools or not isinstance(alpha, bool)):
            return other * alpha
    elif takes_factor(alpha, input) or takes_factor(alpha, other):
        return other * alpha
    raise (ArgumentError if isinstance(alpha, (int, float, complex, np.generic, Tensor)) else ArgumentTypeError)(
        f"{name}: alpha must be a number, and an integer next to operands without floats, and real next to real "
        f"operands, got {describe(alpha)}; multiply other by a tensor instead"
    )


def rounded_div(input, other, mode, out):
    """Return input/other, rounded down for "floor" and towards zero for "trunc"; integers keep their dtype."""
    if mode == "floor":
        return Tensor.floor_divide(input, other, out=out)
    Choice(None, "floor", "trunc").expect("div", rounding_mode=mode)
    quotient = Tensor.floor_divide(input, other)
    if quotient.dtype.is_float:
        return Tensor.div(input, other).trunc(out=out)
    down = (Tensor.remainder(input, other) != 0) & (quotient < 0)
    return quotient.add(down.to(quotient.dtype), out=out)


# ---- signs, fractions and neighbours ---------------------------------------------------------------------------------


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


def one_dtype(op: Op, specs: Sequence[Spec]) -> Pair:
    """Promote as `promote`, but raise DTypeError for different dtypes."""
    if len({s.dtype for s in specs}) == 1:
        return promote(op, specs)
    raise refuse(op, specs, "expected operands of one dtype; convert one of them with .to(...)")


@elementwise(dtype=one_dtype, vjp=(lambda g: zeros_like(g), lambda g, input: (input == 0.0).where_cond(g, 0.0)))
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
    """Return whether the imaginary part of x is 0; a real number has none."""
    return x.imag == 0


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
    if input.dtype.is_complex:
        parts = nan_to_num(view_as_real(input), nan, posinf, neginf)
        return view_as_complex(parts)
    if not input.dtype.is_float:
        return input.clone()
    largest = float(finfo(input.dtype.numpy).max)
    high, low = largest if posinf is None else posinf, -largest if neginf is None else neginf
    return finite_or(input, 0.0 if nan is None else nan, high, low)


@composed(method=False, out=False)
def rsub(input: Tensor, other: Any, *, alpha: complex = 1) -> Tensor:
    """Return other - alpha * input.  Gradient: -g*alpha for input, and g for other."""
    return other - (input if alpha == 1 and alpha is not True else scaled("rsub", other, input, alpha))


# ---- mantissa and exponent -------------------------------------------------------------------------------------------


def _mantissa_and_exponent(op: Op, specs: Sequence[Spec]) -> tuple[np.dtype[Any], tuple[DType, DType]]:
    """Return the compute dtype, and the dtypes of the results: the operand's float dtype and int32."""
    dtype = floating(op, specs)
    return dtype.compute, (dtype, int32)


def _mantissa_rule(g: Tensor, exponent: Tensor) -> Tensor:
    """Return g / 2**exponent, as two products, because in float16 2**16 is inf, while 2**-16 is not 0."""
    half = exponent.floor_divide(2)
    return g * half.to(g.dtype).neg().exp2() * (half - exponent).to(g.dtype).exp2()


@elementwise(dtype=_mantissa_and_exponent, outputs=("mantissa", "exponent"), vjp=(_mantissa_rule,))
def frexp(input):
    """Return the mantissa and the exponent of each element: input = mantissa * 2**exponent.

    The mantissa has the dtype of the input and is in [0.5, 1) or (-1, -0.5].  The exponent is int32.  For 0, inf, -inf
    and nan, the mantissa is the input and the exponent is 0.
    Gradient: g / 2**exponent, with the gradient g of the mantissa; no gradient flows through the exponent. At 0 it is
    g. At a power of two, where the mantissa jumps, it is the derivative on the side of larger magnitudes.
    """
    size = abs(input)
    regular = (size < math.inf) & (size > 0)  # `and` would be a branch, and the loop would not vectorise
    safe = size if regular else 1
    # Between 2**-100 and 2**100 a float32 or float64 is normal, and so is 2 to minus its exponent.
    tiny = safe < 7.888609052210118e-31
    huge = safe > 1.2676506002282294e30
    shift = -100 if tiny else 100 if huge else 0
    near = safe * (1.2676506002282294e30 if tiny else 7.888609052210118e-31 if huge else 1)
    guess = math.floor(math.log2(near))
    # The logarithm is rounded, so near a power of two the guess may be wrong by one.
    scaled = near * math.exp2(-guess)
    step = 0 if scaled < 1 else 2 if scaled >= 2 else 1
    half = scaled * (1 if scaled < 1 else 0.25 if scaled >= 2 else 0.5)
    mantissa = math.copysign(half, input) if regular else input
    return mantissa, guess + step + shift if regular else 0
