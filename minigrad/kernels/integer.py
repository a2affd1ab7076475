"""Integer power, division, remainders and gcd, defined for all operands and equal on all targets; keys for sorting.

The machine's division traps, or differs between processors, if the divisor is zero or if the lowest integer is divided
by -1.  Numba's `**` converts integers to floats if the exponent is above 65536.  Here x // 0 = x % 0 = 0 as in NumPy,
and all other results wrap.  A negative exponent returns the integer part of the quotient: 0, except for bases 1 and -1.
The functions are pasted above the loops that call them.

Unsigned integer keys for the elements of every dtype have the order of its elements: the sorts on all processors
compare the keys.  nan has the largest key, and the two zeros have the same key.  If `MASK` is all ones, the order is
reversed, and ties keep their order.  A kernel pastes the function and the constants that `key_of` returns.
"""

# ruff: noqa: F821
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from minigrad.core.dtype import DType


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


def key_float(x):  # type: ignore[no-untyped-def]
    """Return the key of a float.

    All bits of a negative number are flipped, and only the sign bit of every other number.  Adding 0.0 changes -0.0 to
    0.0.
    """
    bits = FLOAT(x + FLOAT(0)).view(UINT)
    turned = UINT(~bits) if bits >= SIGN else UINT(bits | SIGN)
    return UINT(TOP ^ MASK) if x != x else UINT(turned ^ MASK)


def key_half(x):  # type: ignore[no-untyped-def]
    """Return the key of a 16-bit float from its bits, as `key_float` does; INFINITY is the bits of infinity."""
    size = UINT(x & UINT(0x7FFF))
    bits = UINT(0) if size == UINT(0) else x
    turned = UINT(~bits) if bits >= SIGN else UINT(bits | SIGN)
    return UINT(TOP ^ MASK) if size > INFINITY else UINT(turned ^ MASK)


def key_signed(x):  # type: ignore[no-untyped-def]
    """Return the key of a signed integer: its sign bit is flipped.

    The lowest integer becomes 0.
    """
    return UINT(UINT(x) ^ SIGN ^ MASK)


def key_unsigned(x):  # type: ignore[no-untyped-def]
    """Return the key of an unsigned integer: the integer itself."""
    return UINT(UINT(x) ^ MASK)


def key_of(dtype: DType, descending: bool) -> tuple[Callable[..., Any], dict[str, str]]:
    """Return the function that computes the keys of a dtype, and its constants."""
    size = dtype.itemsize
    kind = f"np.uint{8 * size}"
    constants = {
        "UINT": kind, "SIGN": f"{kind}({1 << 8 * size - 1})", "TOP": f"{kind}({(1 << 8 * size) - 1})",
        "MASK": f"{kind}({(1 << 8 * size) - 1 if descending else 0})", "FLOAT": f"np.{dtype.compute}",
        "INFINITY": f"{kind}({0x7C00 if dtype.name == 'float16' else 0x7F80})",
    }  # fmt: skip
    if dtype.is_float:
        return key_half if size == 2 else key_float, constants
    return key_signed if dtype.is_signed else key_unsigned, constants


@cache
def key_words(dtype: DType, descending: bool = False) -> dict[str, Any]:
    """Return the words of the keys of a dtype: `KEY`, which is a function, and the constants that it reads."""
    key, constants = key_of(dtype, descending)
    return {"KEY": key, **constants}
