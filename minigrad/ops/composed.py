"""Functions made of other ops: no separate kernel and no separate derivative, so every order of derivative is there.

Also the public forms of ops that take Python parameters: bounds, slopes and exponents become operands.
"""

from __future__ import annotations

from minigrad.core.roles import Scalar
from minigrad.declare.decorators import composed
from minigrad.ops.pointwise.arithmetic import square
from minigrad.ops.pointwise.powers import pow as pow_
from minigrad.ops.pointwise.powers import reciprocal, sqrt
from minigrad.runtime.tensor import Tensor


def power(x: Tensor, exponent: Tensor | float) -> Tensor:
    """Return x ** exponent; the exponents 2, 0.5 and -1 use the square, the root and the reciprocal.

    For floats these ops cost a tenth of a true power and have the same values, except the root of -0.0 and of -inf, as
    in PyTorch. All other powers use `pow`.
    """
    if exponent.__class__ in (int, float) and isinstance(x, Tensor) and x.dtype.is_float:
        short = SHORT_POWERS.get(exponent)
        if short is not None:
            return short(x)
    return pow_(x, exponent)


SHORT_POWERS = {2: square, 0.5: sqrt, -1: reciprocal}


@composed(out=False)
def affine(input: Tensor, mul: Scalar, add: Scalar) -> Tensor:
    """Return input * mul + add."""
    return input * mul + add
