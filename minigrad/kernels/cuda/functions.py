"""Functions of `math` that libdevice has not, or with other results at the ends: pasted above the loops that call them.

`T` is the float type.  A call of `libdevice` is written as for float64, and its float32 form is pasted for that size.
"""

# ruff: noqa: F821
import numpy as np


def isnan(x):
    """Return whether x is nan."""
    return x != x


def isinf(x):
    """Whether x is one of the infinities."""
    return x == T(np.inf) or x == T(-np.inf)


def isfinite(x):
    """Whether x is a number and no infinity."""
    return x - x == T(0)


def logistic(x):
    """1/(1 + exp(-x)), without overflow and with full relative accuracy far below 0."""
    e = libdevice.exp(-abs(x))
    return (e if x < T(0) else T(1)) / (T(1) + e)


def remainder(x, y):
    """x - y*floor(x/y) with the sign of y."""
    r = libdevice.fmod(x, y)
    if r == T(0):
        return libdevice.copysign(r, y)
    return r + y if (r < T(0)) != (y < T(0)) else r


def floor_divide(x, y):
    """Return the largest integer not above x/y."""
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
    # The division was rounded, so the result may be just below an integer.
    return below + T(1) if whole - below > T(0.5) else below
