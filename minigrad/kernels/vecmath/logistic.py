"""The logistic function 1/(1 + exp(-x)), with full relative accuracy for x far below 0.

It is e/(1 + e) for x < 0 and 1/(1 + e) above, with e = exp(-|x|) as in `exponential`.  e is at most 1, so its power of
two can be made in one step, larger than it is by the factor that `normal` takes too; the product with the inverse of
that factor then gives subnormal e with one rounding.
"""


def logistic(x):
    """1/(1 + exp(-x)), below 2.5 ulp."""
    z = -abs(x)
    z = EXP_LOW if z < EXP_LOW else z
    t = z * LOG2E + TO_LIFTED
    n = t - TO_LIFTED
    r = z - n * LN2_HI
    r = r - n * LN2_LO
    p = horner(r, EXP)
    y = (p * (r * r) + r) + 1.0
    e = y * U(T(t).view(U) << MANTISSA).view(T) * LIFT_DOWN
    return (e if x < 0.0 else 1.0) / (1.0 + e)
