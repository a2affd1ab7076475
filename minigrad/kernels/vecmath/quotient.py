"""remainder and floor_divide of floats, exact, with the signs of Python's `%` and `//`, and fmod with that of C's.

Below 2**20 the quotient's integer part times the divisor is exact: in float64 for float32, in two parts for float64.
The rounded quotient may be one too far from 0, which the sign of the remainder shows.  A larger quotient, or an
operand that is not finite, needs a loop of subtractions: `NAME_any` leaves it to the library's fmod.
"""

import math

import numpy as np

LARGE = 1048576.0  # 2**20


def is_large_quotient(x, y):
    """Whether the operands ask for the library: a large quotient, or nan or infinity."""
    return not (abs(x / y) < LARGE and abs(y) < INFINITY)


def rest_32(x, y, q):
    """x - q*y, exact."""
    return np.float32(np.float64(x) - np.float64(q) * np.float64(y))


def rest_64(x, y, q):
    """x - q*y, exact for a result of the size of y."""
    high = upper(y)
    first = q * high
    s = x - first
    # The sum's own error (D. E. Knuth, "The Art of Computer Programming" 2, 4.2.2), for x may have a bit more than s.
    v = s - x
    lost = (x - (s - v)) - (first + v)
    return (s - q * (y - high)) + lost


def remainder(x, y):
    """Return x - y*floor(x/y) with the sign of y, exact except one rounding where x and y differ in sign."""
    q = np.trunc(x / y)
    r = rest(x, y, q)
    # One step back where the quotient was rounded up to an integer.
    beyond = r < 0.0 if x > 0.0 else r > 0.0
    r = r + (math.copysign(y, x) if beyond else 0.0)
    other = r < 0.0 if y > 0.0 else r > 0.0
    return r + y if other else math.copysign(r, y)


def floor_divide(x, y):
    """Return the largest integer not above x/y."""
    d = x / y
    q = np.trunc(d)
    r = rest(x, y, q)
    beyond = r < 0.0 if x > 0.0 else r > 0.0
    q = q - (math.copysign(1.0, d) if beyond else 0.0)
    r = r + (math.copysign(y, x) if beyond else 0.0)
    other = r < 0.0 if y > 0.0 else r > 0.0
    return math.copysign(q - 1.0 if other else q, d)


def fmod(x, y):
    """x - y*trunc(x/y) with the sign of x, exact."""
    r = rest(x, y, np.trunc(x / y))
    beyond = r < 0.0 if x > 0.0 else r > 0.0
    return math.copysign(r + (math.copysign(y, x) if beyond else 0.0), x)


def remainder_any(x, y):
    """The remainder of any operands."""
    return x % y if is_large_quotient(x, y) else remainder(x, y)


def fmod_any(x, y):
    """The remainder with the sign of x of any operands."""
    return math.copysign(abs(x) % abs(y), x) if is_large_quotient(x, y) else fmod(x, y)


def floor_divide_any(x, y):
    """The quotient of any operands."""
    return x // y if is_large_quotient(x, y) else floor_divide(x, y)
