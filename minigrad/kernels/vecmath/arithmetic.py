"""remainder and floor_divide of floats, and fmod, all exact; hypot and nextafter.

remainder and floor_divide have the signs of Python's `%` and `//`, fmod has the sign of C's fmod.  If the quotient is
below 2**20, the product of its integer part and the divisor is exact: in float64 for float32, in two parts for float64.
The rounded quotient may be too far from 0 by one, which the sign of the remainder shows.  A larger quotient, or an
operand that is not finite, needs a loop of subtractions: `NAME_any` calls the library's fmod.

The squares of two float32 are float64 that neither overflow nor underflow, so hypot of float32 is one root in float64
registers.  For float64, both operands are first multiplied by a power of two if a square could overflow or underflow.
nextafter adds 1 to the bits of a number, or subtracts 1, because the bits of floats of one sign have their order.  The
special cases are those of IEEE 754-2008, sections 9.2.1 and 5.3.1.
"""

import math

import numpy as np

LARGE = 1048576.0  # the limit of a quotient, 2**20


def is_large_quotient(x, y):
    """Return whether the quotient is large or an operand is not finite.

    These operands need the library.
    """
    return not (abs(x / y) < LARGE and abs(y) < INFINITY)


def rest_32(x, y, q):
    """Return x - q*y, which is exact."""
    return np.float32(np.float64(x) - np.float64(q) * np.float64(y))


def rest_64(x, y, q):
    """Return x - q*y, which is exact if the result has the magnitude of y."""
    high = upper(y)
    first = q * high
    s = x - first
    # The rounding error of the sum (D. E. Knuth, "The Art of Computer Programming" 2, 4.2.2): x may have one bit more
    # than s.
    v = s - x
    lost = (x - (s - v)) - (first + v)
    return (s - q * (y - high)) + lost


def remainder(x, y):
    """Return x - y*floor(x/y), which has the sign of y.

    The result is exact, except for one rounding if x and y differ in sign.
    """
    q = np.trunc(x / y)
    r = rest(x, y, q)
    # Go one step back if the quotient was rounded up to an integer.
    beyond = r < 0.0 if x > 0.0 else r > 0.0
    r = r + (math.copysign(y, x) if beyond else 0.0)
    other = r < 0.0 if y > 0.0 else r > 0.0
    return r + y if other else math.copysign(r, y)


def floor_divide(x, y):
    """Return the largest integer that is not above x/y."""
    d = x / y
    q = np.trunc(d)
    r = rest(x, y, q)
    beyond = r < 0.0 if x > 0.0 else r > 0.0
    q = q - (math.copysign(1.0, d) if beyond else 0.0)
    r = r + (math.copysign(y, x) if beyond else 0.0)
    other = r < 0.0 if y > 0.0 else r > 0.0
    return math.copysign(q - 1.0 if other else q, d)


def fmod(x, y):
    """Return x - y*trunc(x/y), which has the sign of x and is exact."""
    r = rest(x, y, np.trunc(x / y))
    beyond = r < 0.0 if x > 0.0 else r > 0.0
    return math.copysign(r + (math.copysign(y, x) if beyond else 0.0), x)


def remainder_any(x, y):
    """Return the remainder of any operands, with the sign of y."""
    return x % y if is_large_quotient(x, y) else remainder(x, y)


def fmod_any(x, y):
    """Return the remainder of any operands, with the sign of x."""
    return math.copysign(abs(x) % abs(y), x) if is_large_quotient(x, y) else fmod(x, y)


def floor_divide_any(x, y):
    """Return the largest integer that is not above x/y, for any operands."""
    return x // y if is_large_quotient(x, y) else floor_divide(x, y)


FAR_OUT, FAR_IN = 2.0**500, 2.0**-400  # beyond these, a square is too near to the limits of float64
SHRINK, GROW = 2.0**-600, 2.0**600


def infinite_or(r, x, y):
    """Return infinity if x or y is infinite, also if the other one is nan; otherwise r."""
    return INFINITY if (abs(x) == INFINITY) | (abs(y) == INFINITY) else r


def hypot_32(x, y):
    """Return sqrt(x**2 + y**2); the error is below 1 ulp."""
    a = np.float64(x)
    b = np.float64(y)
    return infinite_or(np.float32(math.sqrt(a * a + b * b)), x, y)


def hypot_64(x, y):
    """Return sqrt(x**2 + y**2); the error is below 1.5 ulp."""
    a = abs(x)
    b = abs(y)
    most = a if a > b else b
    factor = SHRINK if most > FAR_OUT else (GROW if most < FAR_IN else 1.0)
    back = GROW if most > FAR_OUT else (SHRINK if most < FAR_IN else 1.0)
    a = a * factor
    b = b * factor
    return infinite_or(math.sqrt(a * a + b * b) * back, x, y)


def nextafter(x, y):
    """Return the next number after x in the direction of y; y if they are equal, and nan if one of them is nan."""
    bits = T(x).view(U)
    bits = U(bits + U(1)) if (x < y) == (x > 0.0) else U(bits - U(1))
    bits = U(U(T(y).view(U) & SIGN_BIT) | U(1)) if x == 0.0 else bits
    r = y if x == y else U(bits).view(T)
    return r if (x == x) & (y == y) else x + y
