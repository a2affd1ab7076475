"""Complex numbers from their parts, and functions of their parts.

A gradient inside a rule is the factor u of dL = Re(u*dx), so the rule of a holomorphic op is `g * f'(x)`, as for real
numbers: `autodiff/convention.py` explains it, and converts it to PyTorch's gradient where a user receives it.  A rule
may return a complex gradient for a real operand: the engine takes its real part.  `kernels/rendering.py` reads from a
body whether it has a meaning for complex numbers, so the ops of the other modules refuse them by their bodies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from minigrad.core.conditions import Wide, expect_same
from minigrad.core.op import Op, Spec
from minigrad.declare.decorators import composed, elementwise
from minigrad.declare.rules import Pair, float_to_real, joint, promote
from minigrad.ops.pointwise.arithmetic import abs as magnitude_of
from minigrad.ops.pointwise.arithmetic import mul, sign
from minigrad.ops.pointwise.compare import where
from minigrad.runtime.tensor import Tensor


def complex_of(op: Op, specs: Sequence[Spec]) -> Pair:
    """Return the complex dtype whose parts have the dtype of both operands, float32 or float64."""
    for name, spec in zip(op.operands, specs):
        Wide.expect(op.label, **{name: spec})
    expect_same("dtype", op.label, **dict(zip(op.operands, specs)))
    dtype = specs[0].dtype
    return dtype.to_complex().compute, dtype.to_complex()


@elementwise(dtype=promote, vjp=(lambda g: g.conj_physical(),), linear=True)
def conj_physical(x):
    """Return the conjugate of x; a real number is its own conjugate.  Gradient: the conjugate of g."""
    return x.conjugate()


@elementwise(dtype=complex_of, vjp=(lambda g: g, lambda g: g * 1j), linear=joint("real", "imag"), method=False)
def complex(real, imag):
    """Return the complex number real + i*imag.

    Gradient: the real part of g for real, and its imaginary part for imag.
    Raises DTypeError unless both operands are float32 or float64.
    """
    return complex(real.real, imag.real)


@elementwise(
    dtype=complex_of, method=False,
    vjp=(lambda g, angle: g * unit_of(angle), lambda g, y: g * (y * 1j)),
)  # fmt: skip
def polar(abs, angle):
    """Return the complex number abs*(cos(angle) + i*sin(angle)).

    Gradient: with the result y and the gradient g of y, Re(conj(g)*y/abs) for abs and Re(conj(g)*i*y) for angle.
    Raises DTypeError unless both operands are float32 or float64.
    """
    return complex(abs.real * math.cos(angle.real), abs.real * math.sin(angle.real))


def unit_of(angle: Tensor) -> Tensor:
    """Return the complex numbers of magnitude 1 with these angles."""
    return polar(angle * 0.0 + 1.0, angle)


@elementwise(dtype=float_to_real, vjp=(lambda g, x: turning(g, x),))
def angle(x):
    """Return the angle of x in radians, from -pi to pi; for a real number it is 0, or pi below 0.

    Gradient: i*g*x/|x|**2, which is 0 at 0 and for real numbers.
    """
    return math.atan2(x.imag, x.real)


def turning(g: Tensor, x: Tensor) -> Tensor:
    """Return -i*g/x, and 0 at 0 and for real numbers."""
    if not x.dtype.is_complex:
        return mul(g, 0.0)
    zero = x == 0.0
    return where(zero, 0.0, mul(g, -1j) / where(zero, 1.0, x))


@composed(in_place=True)
def sgn(input: Tensor) -> Tensor:
    """Return x/|x|, and 0 at 0; for a real tensor, this is `sign`.

    Gradient: with the result y, (g - y*Re(conj(y)*g))/|x|, which is 0 at 0 and for real numbers.
    """
    if not input.dtype.is_complex:
        return sign(input)
    zero = input == 0.0
    return where(zero, 0.0, input / magnitude_of(where(zero, 1.0, input)))
