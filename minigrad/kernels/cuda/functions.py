"""Functions of `math` that libdevice does not have, or for which it returns other special values.

They are pasted above the loops that call them.  `T` is the float type.  A call of `libdevice` is written as for
float64; for float32, the name of its float32 form is pasted.
"""

# ruff: noqa: F821
import numpy as np


def isnan(x):
    """Return whether x is nan."""
    return x != x


def isinf(x):
    """Return whether x is infinity or minus infinity."""
    return x == T(np.inf) or x == T(-np.inf)


def isfinite(x):
    """Return whether x is neither nan nor an infinity."""
    return x - x == T(0)


def logistic(x):
    """Return 1/(1 + exp(-x)), without overflow and accurate for very negative x."""
    e = libdevice.exp(-abs(x))
    return (e if x < T(0) else T(1)) / (T(1) + e)


def remainder(x, y):
    """Return x - y*floor(x/y), which has the sign of y."""
    r = libdevice.fmod(x, y)
    if r == T(0):
        return libdevice.copysign(r, y)
    return r + y if (r < T(0)) != (y < T(0)) else r


def floor_divide(x, y):
    """Return the largest integer that is not above x/y."""
    quotient = x / y
    if y == T(0):
        return quotient
    r = libdevice.fmod(x, y)
    whole = (x - r) / y
    if r != T(0) and (r < T(0)) != (y < T(0)):
        whole = whole - T(1)
    if whole == T(0):
        return libdevice.copysign(T(0), quotient)
    below = libdevice.floor(whole)
    # The division is rounded, so its result may be slightly below an integer.
    return below + T(1) if whole - below > T(0.5) else below
