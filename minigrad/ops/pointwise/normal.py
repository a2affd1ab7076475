"""Inverses of the error function and of the normal distribution function, and the logarithm of that function.

`explog.py` has erf and erfc, and ndtr, which is the normal distribution function.
"""

# The bodies of scalar functions are data, which the specialiser reads; they carry no types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

from minigrad.declare.decorators import elementwise, scalar
from minigrad.declare.names import SPECIAL
from minigrad.declare.rules import to_float


@scalar
def closer(y, a, c):
    """Return the result of one step of Halley's method from y.

    The step solves erf(y) = a for a < 0.5, and otherwise erfc(y) = c, because 1 - erf(y) would cancel.
    """
    root = math.exp(y * y / 2)
    u = (math.erf(y) - a if a < 0.5 else c - math.erfc(y)) * root * root * 0.8862269254527580
    return y - u / (1 + y * u)


@scalar
def inverse(a, c):
    """Return the y with erf(y) = a and erfc(y) = c = 1 - a, for a from 0 to 1.

    Two steps of Halley's method improve a quotient of polynomials, which is accurate to three digits.  Source of the
    quotient: Blair, Edwards and Johnson, Mathematics of Computation 30 (1976), 827-830, with PyTorch's coefficients.
    """
    z = math.sqrt(-math.log(c / 2))
    far = ((1.641345311 * z + 3.429567803) * z - 1.624906493) * z - 1.970840454
    s = a * a
    near = ((-0.140543331 * s + 0.914624893) * s - 1.645349621) * s + 0.886226899
    under = (((0.012229801 * s - 0.329097515) * s + 1.442710462) * s - 2.118377725) * s + 1
    first = a * near / under if a <= 0.7 else far / ((1.637067800 * z + 3.543889200) * z + 1)
    return math.inf if c == 0 else closer(closer(first, a, c), a, c)


@scalar
def short_inverse(x):
    """Return erfinv(x) for float32, with an error below 3 ulp.

    With w = -log(1 - x**2), erfinv(x)/x is a polynomial in w, and for w >= 5 in sqrt(w) - 3: M. Giles, "Approximating
    the erfinv function", GPU Computing Gems, 2011.  The polynomials are minimax fits of the relative error, 2**-27.4.
    """
    w = -math.log((1 - x) * (1 + x))
    end = (2.2103045e-07 - 8.791013e-09 * w) * w - 1.9764607e-06
    middle = ((end * w + 3.9832357e-06) * w + 4.4565219e-05) * w - 1.2748170e-04
    near = (((middle * w - 2.3342962e-03) * w + 1.1548654e-02) * w + 2.3201382e-01) * w + 8.8622689e-01
    s = math.sqrt(w) - 3
    last = (1.2896214e-04 * s - 3.1872411e-04) * s - 7.6614553e-05
    inner = ((last * s + 1.4958574e-03) * s - 3.5869910e-03) * s + 5.6831720e-03
    far = (((inner * s - 7.6394096e-03) * s + 9.4456840e-03) * s + 1.0016751e00) * s + 2.8329768e00
    return x * (near if w < 5 else far)


@elementwise(dtype=to_float, vjp=(lambda g, y: g * (y * y).exp() * (math.sqrt(math.pi) / 2.0),))
def erfinv(x):
    """Return the y with erf(y) = x; -inf at -1, inf at 1, and nan outside [-1, 1].

    Gradient: g*sqrt(pi)/2*exp(y**2).
    """
    full = math.copysign(inverse(math.fabs(x), 1 - math.fabs(x)), x)
    # In float32, 1 + 1e-10 is 1.  The compiler leaves out the value that a dtype does not need.
    return full if 1.0 + 1e-10 > 1.0 else short_inverse(x)


@elementwise(
    dtype=to_float, namespace=SPECIAL,
    vjp=(lambda g, y: g * (y * y * 0.5).exp() * math.sqrt(2.0 * math.pi),),
)  # fmt: skip
def ndtri(x):
    """Return the y with ndtr(y) = x; -inf at 0, inf at 1, and nan outside [0, 1].

    Gradient: g*sqrt(2*pi)*exp(y**2/2).
    """
    tail = x if x < 0.5 else 1 - x
    return (1.4142135623730951 if x >= 0.5 else -1.4142135623730951) * inverse(1 - 2 * tail, 2 * tail)


@scalar
def tail_fraction(t):
    """Return exp(-t**2/2) / sqrt(2*pi) / (1 - ndtr(t)) for t >= 12, by a continued fraction of ten levels."""
    return t + 1 / (t + 2 / (t + 3 / (t + 4 / (t + 5 / (t + 6 / (t + 7 / (t + 8 / (t + 9 / (t + 10 / t)))))))))


@elementwise(dtype=to_float, namespace=SPECIAL, vjp="derived")
def log_ndtr(x):
    """Return log(ndtr(x)) without underflow.

    For x < -12, it is computed from the continued fraction of the tail.  Source: Abramowitz and Stegun, 26.2.14.
    Gradient: g*exp(-x**2/2)/sqrt(2*pi)/ndtr(x), which is about -g*x far below 0.
    """
    tail = -x * x / 2 - 0.9189385332046727 - math.log(tail_fraction(-x))
    upper = math.log1p(-math.normal_cdf(-x))  # type: ignore[attr-defined]
    return tail if x < -12 else upper if x > 0 else math.log(math.normal_cdf(x))  # type: ignore[attr-defined]
