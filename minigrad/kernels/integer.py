"""Integer power, quotient, remainders and divisor that mean the same everywhere, pasted above the loops that use them.

Machine division traps or differs at zero and for the lowest number by -1, and Numba's `**` converts integers to floats
above an exponent of 65536.  Here x // 0 = x % 0 = 0 as in NumPy, everything else wraps, and the result of a negative
exponent is the integer part of the quotient: 0, except for bases 1 and -1.
"""

import numpy as np


def int_power(base, exponent):
    """base to the exponent by repeated squaring, modulo 2**64."""
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
    """Return the largest integer not above a/b; 0 for b = 0."""
    if b == 0:
        return np.int64(0)
    if b == -1:
        return np.int64(0) - np.int64(a)
    return np.int64(a // b)


def int_modulo(a, b):
    """a - b * (a // b), with the sign of b; 0 for b = 0."""
    if b == 0 or b == -1:
        return np.int64(0)
    return np.int64(a % b)


def int_fmod(a, b):
    """a - b * (a / b without its fraction), with the sign of a; 0 for b = 0."""
    if b == 0 or b == -1:
        return np.int64(0)
    r = a % b
    return np.int64(r) - np.int64(b) if r != 0 and (r < 0) != (a < 0) else np.int64(r)


def int_gcd(a, b):
    """The greatest common divisor of |a| and |b|, that of 0 and 0 being 0; unsigned, for |-2**63| is 2**63."""
    x = np.uint64(a) if a >= 0 else np.uint64(abs(np.int64(a)))
    y = np.uint64(b) if b >= 0 else np.uint64(abs(np.int64(b)))
    while y != np.uint64(0):
        x, y = y, x % y
    return np.int64(x)
