"""hypot and nextafter.

The squares of two float32 are float64 that neither overflow nor underflow, so hypot of float32 is one root in float64
registers.  For float64, both operands are first multiplied by a power of two if a square could overflow or underflow.
nextafter adds 1 to the bits of a number, or subtracts 1, because the bits of floats of one sign have their order.  The
special cases are those of IEEE 754-2008, sections 9.2.1 and 5.3.1.
"""

import math

import numpy as np

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
