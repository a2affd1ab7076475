"""Helpers that reduce several elements together: neighbours in registers, and four rows at a time.

They belong to `reduction.py`, and are pasted above a kernel that needs them.  The free names are those of that file.
`BETTER` is the larger or the smaller of two values; it returns the second one if the comparison is false.
"""

import math

import numpy as np


def stretch(x, at, n, acc, one):  # type: ignore[no-untyped-def]
    """Reduce the n neighbours from x[at] on into one accumulator.

    The compiler may re-order the additions, so the loop vectorises in registers.  The order depends only on the number
    of elements.

    A sum of converted elements multiplies them by `one`, whose value the compiler cannot see.  The reason is that
    conversions and separate additions use the same units of a processor, while an addition that is part of a product
    uses others.  A SHORT sum adds a few elements before it converts them; if that overflows, the sum is computed again
    without it.
    """
    if SHORT:
        total = short_sum(x, at, n)
        if math.isfinite(total):
            return ACC(acc + total)
    y = x[at : at + n]
    for j in range(len(y)):
        acc = ACC(F(acc, LOAD_0(y[j])))
    return acc


def order_key(x):  # type: ignore[no-untyped-def]
    """Return a float as an unsigned integer of the same order.

    The largest integer can be found in any order of comparisons, and so in vector registers.  The largest float cannot,
    because a comparison with nan is false.  As signed integers, nan values are beyond both infinities; adding SHIFT,
    with wrap-around, puts all of them at the end that wins.
    """
    bits = T(x).view(SIGNED)
    ordered = SIGNED(bits ^ SIGNED(SIGNED(bits >> SIGNED(KEY_BITS - 1)) & HIGHEST))
    return ACC(ACC(ordered) + SHIFT)


def from_order_key(key):  # type: ignore[no-untyped-def]
    """Return the float of an order key."""
    ordered = SIGNED(ACC(key - SHIFT))
    return SIGNED(ordered ^ SIGNED(SIGNED(ordered >> SIGNED(KEY_BITS - 1)) & HIGHEST)).view(T)


def best_of_four(acc, x, at, step):  # type: ignore[no-untyped-def]
    """Reduce four rows of a min or max together, without `F`, which handles nan for each element.

    A comparison that is false returns its second operand, so a nan in `acc` stays there.  The four rows are tested for
    nan.
    """
    x0 = x[at:]
    x1 = x[at + step :]
    x2 = x[at + 2 * step :]
    x3 = x[at + 3 * step :]
    for j in range(len(acc)):
        a = x0[j]
        a1 = x1[j]
        b = x2[j]
        b1 = x3[j]
        lost = (a != a) | (a1 != a1) | (b != b) | (b1 != b1)
        a = BETTER(a, a1)
        b = BETTER(b, b1)
        a = BETTER(a, b)
        a = BETTER(a, acc[j])
        acc[j] = T(np.nan) if lost else a


def all_finite(acc):  # type: ignore[no-untyped-def]
    """Return whether no sum has overflowed."""
    odd = False
    for j in range(len(acc)):
        odd |= not math.isfinite(acc[j])
    return not odd
