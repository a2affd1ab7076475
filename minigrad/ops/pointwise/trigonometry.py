"""Circular and hyperbolic functions and their inverses; angles in radians, and as degrees."""

from __future__ import annotations

import math

from minigrad.declare.decorators import elementwise, scalar
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.rules import to_float


@elementwise(dtype=to_float, vjp=(lambda g, x: g * x.cos(),))
def sin(x):
    """Return the sine.  Gradient: g*cos(x)."""
    return math.sin(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: -(g * x.sin()),))
def cos(x):
    """Return the cosine.  Gradient: -g*sin(x)."""
    return math.cos(x)


@elementwise(dtype=to_float, vjp=(lambda g, y: g * (y * y + 1.0),))
def tan(x):
    """Return the tangent.  Gradient: g*(1 + tan(x)**2)."""
    return math.tan(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / (1.0 - x * x).sqrt(),))
def asin(x):
    """Return the arc sine, nan outside [-1, 1].  Gradient: g/sqrt(1 - x**2), inf at the ends."""
    return math.asin(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: -(g / (1.0 - x * x).sqrt()),))
def acos(x):
    """Return the arc cosine, nan outside [-1, 1].  Gradient: -g/sqrt(1 - x**2)."""
    return math.acos(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / (x * x + 1.0),))
def atan(x):
    """Return the arc tangent.  Gradient: g/(1 + x**2)."""
    return math.atan(x)


@elementwise(
    dtype=to_float,
    vjp=(
        lambda g, input, other: share(g, other, input.hypot(other)),
        lambda g, input, other: -share(g, input, input.hypot(other)),
    ),
)
def atan2(input, other):
    """Return the angle of the point (other, input), in (-pi, pi].

    Gradient: g*b/(a**2+b**2) and -g*a/(a**2+b**2); nan at the origin.
    """
    return math.atan2(input, other)


def share(g, side, radius):
    """g * side / radius**2, where the square may overflow or vanish."""
    return g * (side / radius) / radius


@elementwise(dtype=to_float, vjp=(lambda g, x: g * x.cosh(),))
def sinh(x):
    """Return the hyperbolic sine.  Gradient: g*cosh(x)."""
    return math.sinh(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g * x.sinh(),))
def cosh(x):
    """Return the hyperbolic cosine.  Gradient: g*sinh(x)."""
    return math.cosh(x)


@elementwise(namespace=(MG, FUNCTIONAL), dtype=to_float, vjp=(lambda g, y: g * (1.0 - y * y),))
def tanh(x):
    """Return the hyperbolic tangent.  Gradient: g*(1 - tanh(x)**2)."""
    return math.tanh(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / x.hypot(1.0),))
def asinh(x):
    """Return the inverse hyperbolic sine.  Gradient: g/sqrt(x**2 + 1), where the square may overflow."""
    return math.asinh(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / ((x - 1.0).sqrt() * (x + 1.0).sqrt()),))
def acosh(x):
    """Return the inverse hyperbolic cosine, nan below 1.  Gradient: g/sqrt(x**2 - 1)."""
    return math.acosh(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g / (1.0 - x * x),))
def atanh(x):
    """Return the inverse hyperbolic tangent, nan outside [-1, 1].  Gradient: g/(1 - x**2)."""
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
    """Return pi*x less whole turns, which loses no digit of a large x."""
    return math.pi * (x - 2 * math.rint(x / 2))  # type: ignore[attr-defined]


@scalar
def near_sinc(t):
    """Return the derivative of sinc for small t = pi*x, where its two terms cancel."""
    z = t * t
    return -math.pi * t / 3 * (1 - z / 10 * (1 - z / 28 * (1 - z / 54 * (1 - z / 88 * (1 - z / 130)))))


@elementwise(dtype=to_float, vjp=(lambda g, x: g * sinc_derivative(x),))
def sinc(x):
    """Return sin(pi*x)/(pi*x), 1 at 0.  Gradient: g*(cos(pi*x) - y)/x, 0 at 0."""
    return math.sin(within_a_turn(x)) / (math.pi * x) if x != 0 else 1


@elementwise(dtype=to_float, namespace=(), method=False, vjp="derived")
def sinc_derivative(x):
    """Return the derivative of sinc, up to 0.2 by its series."""
    t = within_a_turn(x)
    return (math.cos(t) - math.sin(t) / (math.pi * x)) / x if math.fabs(x) > 0.2 else near_sinc(math.pi * x)
