"""Integer power, division, remainders and gcd, defined for all operands and equal on all targets.

The machine's division traps, or differs between processors, if the divisor is zero or if the lowest integer is divided
by -1.  Numba's `**` converts integers to floats if the exponent is above 65536.  Here x // 0 = x % 0 = 0 as in NumPy,
and all other results wrap.  A negative exponent returns the integer part of the quotient: 0, except for bases 1 and -1.
The functions are pasted above the loops that call them.
"""

import numpy as np


def int_power(base, exponent):
    """Return base to the power of exponent, modulo 2**64, by repeated squaring."""
    n = np.uint64(exponent)
    b = np.int64(base)
    if exponent < 0:
        if b == 1:
            return np.int64(1)
        if b == -1:
            return np.int64(-1) if n & np.uint64(1) else np.int64(1)
        return np.int64(0)
    result = np.int64(1)
    while n > np.uint64(0):
        if n & np.uint64(1):
            result = result * b
        b = b * b
        n = n >> np.uint64(1)
    return result


def int_divide(a, b):
    """Return the largest integer that is not above a / b; 0 for b = 0."""
    if b == 0:
        return np.int64(0)
    if b == -1:
        return np.int64(0) - np.int64(a)
    return np.int64(a // b)


def int_modulo(a, b):
    """Return a - b * (a // b), which has the sign of b; 0 for b = 0."""
    if b == 0 or b == -1:
        return np.int64(0)
    return np.int64(a % b)


def int_fmod(a, b):
    """Return a - b * trunc(a / b), which has the sign of a; 0 for b = 0."""
    if b == 0 or b == -1:
        return np.int64(0)
    r = a % b
    return np.int64(r) - np.int64(b) if r != 0 and (r < 0) != (a < 0) else np.int64(r)


def int_gcd(a, b):
    """Return the greatest common divisor of |a| and |b|; 0 if both are 0.

    The computation is unsigned, because |-2**63| = 2**63 does not fit into int64.
    """
    x = np.uint64(a) if a >= 0 else np.uint64(abs(np.int64(a)))
    y = np.uint64(b) if b >= 0 else np.uint64(abs(np.int64(b)))
    while y != np.uint64(0):
        x, y = y, x % y
    return np.int64(x)
