"""The decomposition of a number into its mantissa and its exponent, by a scalar function that returns a tuple."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.dtype import DType, int32
from minigrad.core.op import Op, Spec
from minigrad.declare.decorators import elementwise
from minigrad.declare.rules import floating
from minigrad.runtime.tensor import Tensor


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
