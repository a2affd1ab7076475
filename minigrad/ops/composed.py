"""Functions made of other ops: no kernel and no derivative of their own, so every order of derivative is there.

Also the public forms of ops that take Python parameters: bounds, slopes and exponents become operands.
"""

from __future__ import annotations

from minigrad.core.roles import Ints, Scalar
from minigrad.core.shape import normalize_dim
from minigrad.declare.decorators import composed
from minigrad.errors import ArgumentError
from minigrad.ops.pointwise.arithmetic import square
from minigrad.ops.pointwise.powers import pow as pow_
from minigrad.ops.pointwise.powers import reciprocal, sqrt
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import narrow
from minigrad.runtime.tensor import Tensor, describe


def power(x: Tensor, exponent: Tensor | float) -> Tensor:
    """x ** exponent, by the square, the root or the reciprocal where it is one.

    For the exponents 2, 0.5 and -1 of floats these cost a tenth of a true power and have the same values (but for the
    root of -0.0 and of -inf, as in PyTorch); else `pow`.
    """
    if exponent.__class__ in (int, float) and isinstance(x, Tensor) and x.dtype.is_float:
        short = SHORT_POWERS.get(exponent)
        if short is not None:
            return short(x)
    return pow_(x, exponent)


SHORT_POWERS = {2: square, 0.5: sqrt, -1: reciprocal}


@composed(out=False)
def affine(input: Tensor, mul: Scalar, add: Scalar) -> Tensor:
    """input * mul + add."""
    return input * mul + add


@composed(out=False)
def roll(input: Tensor, shifts: Ints, dims: Ints = ()) -> Tensor:
    """The tensor moved by `shifts` along `dims`; what falls off one end comes in at the other.

    Without dims it is moved as one row of all its elements.
    """
    if not dims:
        if len(shifts) != 1:
            raise ArgumentError(f"roll: {len(shifts)} shifts of {describe(input)} need as many dims", op="roll")
        return input if input.ndim == 0 else rolled(input.reshape(-1), shifts[0], 0).reshape(input.shape)
    if len(shifts) != len(dims):
        raise ArgumentError(f"roll: {len(shifts)} shifts and {len(dims)} dims for {describe(input)}", op="roll")
    for shift, dim in zip(shifts, dims, strict=True):
        input = rolled(input, shift, normalize_dim(dim, input.ndim, "roll", input))
    return input


def rolled(x: Tensor, shift: int, d: int) -> Tensor:
    """A tensor moved along one dim."""
    n = x.shape[d]
    k = shift % n if n else 0
    if k == 0:
        return x
    return cat([narrow(x, dim=d, start=n - k, length=k), narrow(x, dim=d, start=0, length=n - k)], d)
