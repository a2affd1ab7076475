"""Helpers of reductions for several elements at once: neighbours in registers, and rows four or eight at a time.

They belong to `reduction.py`, and are pasted above a kernel that needs them; the free names are those of that file.
`BETTER` is the larger or the smaller of two; it returns the second where the comparison is false.
"""

import math

import numpy as np


def stretch(x, acc, one):  # type: ignore[no-untyped-def]
    """A reduction of neighbours into one accumulator.  It is compiled with leave to re-associate, and so vectorises in
    registers; the order depends on the number of elements alone.

    A sum of converted elements multiplies them by `one`, which the compiler does not know: conversions and lone
    additions wait for the same units of a processor, and an addition that is part of a product has others.  A SHORT sum
    adds a few elements before it converts; where that overflows it is done again without.
    """
    if SHORT:
        total = short_sum(x)
        if math.isfinite(total):
            return ACC(acc + total)
    for j in range(len(x)):
        acc = ACC(F(acc, LOAD_0(x[j])))
    return acc


def order_key(x):  # type: ignore[no-untyped-def]
    """A float as an unsigned integer of the same order: the largest integer can be found in any order, in vector
    registers, and the largest float cannot, for a comparison with nan is false.  As signed integers nan lie beyond both
    infinities; a shift turns the circle so that all of them come to the end that wins."""
    bits = T(x).view(SIGNED)
    ordered = SIGNED(bits ^ SIGNED(SIGNED(bits >> SIGNED(KEY_BITS - 1)) & HIGHEST))
    return ACC(ACC(ordered) + SHIFT)


def from_order_key(key):  # type: ignore[no-untyped-def]
    """The float of an order key."""
    ordered = SIGNED(ACC(key - SHIFT))
    return SIGNED(ordered ^ SIGNED(SIGNED(ordered >> SIGNED(KEY_BITS - 1)) & HIGHEST)).view(T)


def best_of_four(acc, x, at, step):  # type: ignore[no-untyped-def]
    """Four rows of an extreme at once, in place of F, which makes sure of nan element by element.

    A comparison that is false keeps its second operand, so a nan in `acc` stays there; any other is looked for.
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


def add_eight(acc, part, x, at, step):  # type: ignore[no-untyped-def]
    """Eight rows of float32 onto a row of `acc`, widened once: in three additions for each element, so the error is at
    most 3 * 2**-24 of the sum of magnitudes.  Where that overflows, an element of `acc` is not finite from then on.

    Two loops, of which the first knows float32 only and has twice as many in a vector.
    """
    x0 = x[at:]
    x1 = x[at + step :]
    x2 = x[at + 2 * step :]
    x3 = x[at + 3 * step :]
    for j in range(len(acc)):
        part[j] = (x0[j] + x1[j]) + (x2[j] + x3[j])
    x0 = x[at + 4 * step :]
    x1 = x[at + 5 * step :]
    x2 = x[at + 6 * step :]
    x3 = x[at + 7 * step :]
    for j in range(len(acc)):
        four = (x0[j] + x1[j]) + (x2[j] + x3[j])
        acc[j] += T(part[j] + four)


def all_finite(acc):  # type: ignore[no-untyped-def]
    """Whether no sum has overflowed."""
    odd = False
    for j in range(len(acc)):
        odd |= not math.isfinite(acc[j])
    return not odd
