"""The logarithm of the gamma function, its derivatives, and the zeta function, from which polygamma is computed.

For x >= 0, a function is a sum of ten terms of its recurrence, plus its asymptotic series at x + 10.  For x < 0, the
reflection formula is used.  Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 6.3.7 and 6.3.18, 6.4.7
and 6.4.11, 23.2.9 (Euler-Maclaurin).
"""

# The bodies of scalar functions are data, which the specialiser reads; they carry no types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Annotated

from minigrad.core.roles import Number
from minigrad.declare.decorators import composed, elementwise, scalar
from minigrad.declare.names import SPECIAL
from minigrad.declare.rules import to_float
from minigrad.runtime.tensor import Tensor


@elementwise(dtype=to_float, vjp=(lambda g, x: g * x.digamma(),))
def lgamma(x):
    """Return log(|gamma(x)|); inf at 0 and at negative integers.  Gradient: g*digamma(x)."""
    return math.lgamma(x)


@scalar
def digamma_above(x):
    """Return digamma(x) for x >= 0."""
    z = x + 10
    r = 1 / (z * z)
    far = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12))))))
    near = 1 / x + 1 / (x + 1) + 1 / (x + 2) + 1 / (x + 3) + 1 / (x + 4)
    more = 1 / (x + 5) + 1 / (x + 6) + 1 / (x + 7) + 1 / (x + 8) + 1 / (x + 9)
    return math.log(z) - 1 / 2 / z - far - (near + more)


@elementwise(dtype=to_float, vjp=(lambda g, x: g * trigamma(x),))
def digamma(x):
    """Return the derivative of lgamma; -inf at 0, inf at -0.0, and nan at negative integers.

    Gradient: g*polygamma(1, x).
    """
    turn = math.pi / math.tan(math.pi * (x - math.rint(x)))  # type: ignore[attr-defined]
    whole = x == math.rint(x)  # type: ignore[attr-defined]
    return digamma_above(x) if x >= 0 else math.nan if whole else digamma_above(1 - x) - turn


@scalar
def inverse_square(x):
    """Return x**-2."""
    return 1 / x / x


@scalar
def trigamma_above(x):
    """Return trigamma(x) for x >= 0."""
    z = x + 10
    r = 1 / (z * z)
    far = r / z * (1 / 6 - r * (1 / 30 - r * (1 / 42 - r * (1 / 30 - r * (5 / 66 - r * (691 / 2730 - r * (7 / 6)))))))
    near = inverse_square(x) + inverse_square(x + 1) + inverse_square(x + 2) + inverse_square(x + 3)
    more = inverse_square(x + 4) + inverse_square(x + 5) + inverse_square(x + 6) + inverse_square(x + 7)
    return 1 / z + r / 2 + far + (near + (more + inverse_square(x + 8) + inverse_square(x + 9)))


@scalar
def reflection(x):
    """Return (pi / sin(pi*x))**2."""
    quotient = math.pi / math.sin(math.pi * (x - math.rint(x)))  # type: ignore[attr-defined]
    return quotient * quotient


@elementwise(dtype=to_float, namespace=(), vjp="derived")
def trigamma(x):
    """Return the derivative of digamma; inf at 0 and at negative integers.  Gradient: g*polygamma(2, x)."""
    return trigamma_above(x) if x >= 0 else reflection(x) - trigamma_above(1 - x)


@scalar
def zeta_above(input, other):
    """Return the sum of (k + other)**-input over all k >= 0, for other > 0 and input > 1 (Euler-Maclaurin formula)."""
    z = other + 10
    r = 1 / (z * z)
    high = (input + 9) * (input + 10) * r * (691 / 1307674368000 - (input + 11) * (input + 12) * r / 74724249600)
    middle = (input + 5) * (input + 6) * r * (1 / 1209600 - (input + 7) * (input + 8) * r * (1 / 47900160 - high))
    low = 1 / 12 - (input + 1) * (input + 2) * r * (1 / 720 - (input + 3) * (input + 4) * r * (1 / 30240 - middle))
    far = z**-input * (z / (input - 1) + 1 / 2 + input / z * low)
    near = other**-input + (other + 1) ** -input + (other + 2) ** -input + (other + 3) ** -input
    more = (other + 4) ** -input + (other + 5) ** -input + (other + 6) ** -input + (other + 7) ** -input
    return near + more + (other + 8) ** -input + (other + 9) ** -input + far


@scalar
def zeta_below(input, other):
    """Return the sum of `zeta_above` for other < 0 and an integer input.

    The terms with a negative base k + other, whose sign is (-1)**input, are added separately.
    """
    part = other - math.floor(other)
    terms = zeta_above(input, 1 - part) - zeta_above(input, 1 - other)
    odd = input - 2 * math.floor(input / 2)
    return zeta_above(input, part) + (-terms if odd == 1 else terms)


@elementwise(
    dtype=to_float,
    namespace=SPECIAL,
    vjp=(None, lambda g, input, other: -(g * input) * zeta(input + 1.0, other)),
)
def zeta(input, other):
    """Return the Hurwitz zeta function: the sum of (k + other)**-input over all k >= 0.

    The result is inf where input is 1, and nan where input is less than 1.  The result is also inf where `other` is 0
    or a negative integer.  For any other negative value of `other`, the result is nan unless input is an integer.
    Gradient: -g*input*zeta(input + 1, other) for other; the function is not differentiable with respect to input.
    """
    pole = input == 1 or (other <= 0 and other == math.floor(other))
    below = zeta_below(input, other) if input == math.floor(input) else math.nan
    return math.nan if input < 1 else math.inf if pole else zeta_above(input, other) if other > 0 else below


@composed(method=False)
def polygamma(n: Annotated[int, Number(0, whole=True, advice="pass n=0 for digamma")], input: Tensor) -> Tensor:
    """Return the n-th derivative of digamma.  Gradient: g*polygamma(n + 1, input).

    Raises ArgumentError for a negative n.
    """
    if n < 2:
        return trigamma(input) if n else digamma(input)
    return zeta(n + 1.0, input) * float(math.factorial(n) * (-1) ** (n + 1))


@composed(in_place=True)
def mvlgamma(input: Tensor, p: Annotated[int, Number(1, whole=True, advice="pass p=1 for lgamma")]) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension p.

    It is the sum of lgamma(input - k/2) over k from 0 to p - 1, plus p*(p - 1)/4*log(pi).
    Gradient: g times the sum of digamma(input - k/2) over k from 0 to p - 1.
    Raises ArgumentError if p is not positive.
    """
    total = lgamma(input) + p * (p - 1) / 4 * math.log(math.pi)
    for k in range(1, p):
        total = total + lgamma(input - k / 2)
    return total
