"""Circular and hyperbolic functions and their inverses, with angles in radians; conversion to and from degrees."""

from __future__ import annotations

import math

from minigrad.declare.decorators import elementwise, scalar
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.rules import to_float
from minigrad.runtime.tensor import Tensor


@elementwise(dtype=to_float, vjp=(lambda g, x: g * x.cos(),))
def sin(x):
    """Return the sine of x.  Gradient: g*cos(x)."""
    return math.sin(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: -(g * x.sin()),))
def cos(x):
    """Return the cosine of x.  Gradient: -g*sin(x)."""
    return math.cos(x)


@elementwise(dtype=to_float, vjp=(lambda g, y: g * (y * y + 1.0),))
def tan(x):
    """Return the tangent of x.  Gradient: g*(1 + tan(x)**2)."""
    return math.tan(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / (1.0 - x * x).sqrt(),))
def asin(x):
    """Return the arcsine of x; nan outside [-1, 1].  Gradient: g/sqrt(1 - x**2), which is inf at -1 and 1."""
    return math.asin(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: -(g / (1.0 - x * x).sqrt()),))
def acos(x):
    """Return the arccosine of x; nan outside [-1, 1].  Gradient: -g/sqrt(1 - x**2), which is -inf at -1 and 1."""
    return math.acos(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / (x * x + 1.0),))
def atan(x):
    """Return the arctangent of x.  Gradient: g/(1 + x**2)."""
    return math.atan(x)


@elementwise(
    dtype=to_float,
    vjp=(
        lambda g, input, other: share(g, other, input.hypot(other)),
        lambda g, input, other: -share(g, input, input.hypot(other)),
    ),
)
def atan2(input, other):
    """Return the angle of the point (other, input) in radians, from -pi to pi.

    Gradient: with a = input and b = other, g*b/(a**2 + b**2) for input and -g*a/(a**2 + b**2) for other; nan at the
    origin.
    """
    return math.atan2(input, other)


def share(g, side, radius):
    """Return g * side / radius**2, also where the square would overflow or underflow."""
    return g * (side / radius) / radius


@elementwise(dtype=to_float, vjp=(lambda g, x: g * x.cosh(),))
def sinh(x):
    """Return the hyperbolic sine of x.  Gradient: g*cosh(x)."""
    return math.sinh(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g * x.sinh(),))
def cosh(x):
    """Return the hyperbolic cosine of x.  Gradient: g*sinh(x)."""
    return math.cosh(x)


@elementwise(namespace=(MG, FUNCTIONAL), dtype=to_float, vjp=(lambda g, y: g * (1.0 - y * y),))
def tanh(x):
    """Return the hyperbolic tangent of x.  Gradient: g*(1 - tanh(x)**2)."""
    return math.tanh(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / away_from_one(x),))
def asinh(x):
    """Return the inverse hyperbolic sine of x.  Gradient: g/sqrt(x**2 + 1), also where the square would overflow."""
    return math.asinh(x)


def away_from_one(x):
    """Return sqrt(x**2 + 1); for a real x, without overflow of the square."""
    return (x * x + 1.0).sqrt() if isinstance(x, Tensor) and x.dtype.is_complex else x.hypot(1.0)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / ((x - 1.0).sqrt() * (x + 1.0).sqrt()),))
def acosh(x):
    """Return the inverse hyperbolic cosine of x; nan for x < 1.  Gradient: g/sqrt(x**2 - 1), which is inf at 1."""
    return math.acosh(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / (1.0 - x * x),))
def atanh(x):
    """Return the inverse hyperbolic tangent of x; nan outside [-1, 1], -inf at -1, and inf at 1.

    Gradient: g/(1 - x**2).
    """
    return math.atanh(x)


@elementwise(dtype=to_float, vjp=(lambda g: g * (math.pi / 180.0),), linear=True)
def deg2rad(x):
    """Convert degrees to radians, x*pi/180.  Gradient: g*pi/180."""
    return x * 0.017453292519943295


@elementwise(dtype=to_float, vjp=(lambda g: g * (180.0 / math.pi),), linear=True)
def rad2deg(x):
    """Convert radians to degrees, x*180/pi.  Gradient: g*180/pi."""
    return x * 57.29577951308232


@scalar
def within_a_turn(x):
    """Return pi*x minus a multiple of 2*pi; this loses no digit of a large x."""
    return math.pi * (x - 2 * math.rint(x.real / 2))  # type: ignore[attr-defined]


@scalar
def near_sinc(t):
    """Return the derivative of sinc for small t = pi*x, where its two terms cancel."""
    z = t * t
    return -math.pi * t / 3 * (1 - z / 10 * (1 - z / 28 * (1 - z / 54 * (1 - z / 88 * (1 - z / 130)))))


@elementwise(dtype=to_float, vjp=(lambda g, x: g * sinc_derivative(x),))
def sinc(x):
    """Return sin(pi*x)/(pi*x), which is 1 at 0.  Gradient: g*(cos(pi*x) - y)/x with the result y; 0 at 0."""
    return math.sin(within_a_turn(x)) / (math.pi * x) if x != 0 else 1


@elementwise(dtype=to_float, namespace=(), vjp="derived")
def sinc_derivative(x):
    """Return the derivative of sinc; for |x| <= 0.2 it is computed from its series."""
    t = within_a_turn(x)
    return (math.cos(t) - math.sin(t) / (math.pi * x)) / x if abs(x) > 0.2 else near_sinc(math.pi * x)
