"""sinh, cosh, tanh and their inverses.

With x = n*ln(2) + r, sinh and cosh are sums of 2**n and 2**-n times sinh(r) and cosh(r), which are short polynomials.
This needs no division, and there is no cancellation near 0, because n is 0 there.  tanh is 1 - 2e/(1 + e) with e =
exp(-2x) where that loses no accuracy, otherwise a polynomial.  The inverses are logarithms of sums: log1p if the sum is
near 1, or log in float64 registers for float32; the forms are those of J.-M. Muller, "Elementary Functions", 3rd
edition 2016, chapter 2.  The polynomials are minimax fits by the algorithm of Remez.
"""

import math

import numpy as np

LN2 = 0.6931471805599453
# Above this value sinh is infinite, but 2**(n - 2) is still finite.
SINH_HIGH_32, SINH_HIGH_64 = 89.7, 710.8
NEGLIGIBLE = 60.0  # the n from which adding 2**-n does not change 2**n
TANH_SPLIT = 0.6
TANH_END_32, TANH_END_64 = 9.1, 19.1  # from here on, exp(-2x) is less than half of the last bit of 1
TWICE_LOG2E = 2.8853900817779268
# 1.5 * 2**(mantissa bits) + the bias of the exponent
TO_BIASED_32, TO_BIASED_64 = 12582912.0 + 127, 6755399441055744.0 + 1023

# (sinh(r) - r) / r**3 and (cosh(r) - 1) / r**2 in r**2 on |r| <= ln(2)/2, relative errors below 2**-26 and 2**-64
SINH_32 = (0.16666667, 0.008333192, 0.00019958467)
SINH_64 = (
    0.16666666666666666, 0.008333333333334216, 0.00019841269838321017, 2.7557323705490316e-06,
    2.504892838860267e-08, 1.6924204567517916e-10,
)  # fmt: skip
COSH_32 = (0.5, 0.041666456, 0.0013935767)
COSH_64 = (
    0.5, 0.041666666666666685, 0.0013888888888873307, 2.480158734911e-05, 2.7557251932529634e-07,
    2.0921725615385523e-09,
)  # fmt: skip
# (tanh(x) - x) / x**3 in x**2 on [0, 0.61]
TANH_32 = (-0.33333293, 0.1333175, -0.05376716, 0.020734597, -0.0058185225)
TANH_64 = (
    -0.33333333333333043, 0.13333333333287556, -0.053968253943251866, 0.021869487854808002,
    -0.008863224716726579, 0.0035920196963852486, -0.001455118771308692, 0.0005868516234744657,
    -0.00022967124377614673, 7.84340452689295e-05, -1.6719426998125013e-05,
)  # fmt: skip
# (atanh(x) - x) / x**3 in x**2 on [0, 1/2]
ATANH_32 = (0.33333302, 0.20002434, 0.14224337, 0.11810967, 0.051826924, 0.1760517)
ATANH_64 = (
    0.3333333333333328, 0.200000000000182, 0.14285714283450904, 0.11111111253877841, 0.09090903749029945,
    0.07692436887153536, 0.06664541263081628, 0.0590685961585482, 0.050621922331493735, 0.05935141460673823,
    -0.004589803044545757, 0.1732476515897448, -0.19386519569980268, 0.23979300546163332,
)  # fmt: skip


def sinh(x):
    """Return the hyperbolic sine of x; the error is below 2 ulp."""
    a = abs(x)
    a = SINH_HIGH if a > SINH_HIGH else a
    t = a * LOG2E + TO_WHOLE
    n = t - TO_WHOLE
    r = a - n * LN2_HI
    r = r - n * LN2_LO
    bits = T(t).view(U)
    up = U(U(bits + U(BIAS - U(2))) << MANTISSA).view(T)
    down = U(U(U(BIAS - U(2)) - bits) << MANTISSA).view(T) if n < NEGLIGIBLE else 0.0
    z = r * r
    p = horner(z, SINH)
    q = horner(z, COSH)
    odd = (up + down) * r
    y = ((up - down) + odd) + (odd * (z * p) + (up - down) * (z * q))
    return x if abs(x) < TINY else math.copysign(y + y, x)


def cosh(x):
    """Return the hyperbolic cosine of x; the error is below 1.5 ulp."""
    a = abs(x)
    a = SINH_HIGH if a > SINH_HIGH else a
    t = a * LOG2E + TO_WHOLE
    n = t - TO_WHOLE
    r = a - n * LN2_HI
    r = r - n * LN2_LO
    bits = T(t).view(U)
    up = U(U(bits + U(BIAS - U(2))) << MANTISSA).view(T)
    down = U(U(U(BIAS - U(2)) - bits) << MANTISSA).view(T) if n < NEGLIGIBLE else 0.0
    z = r * r
    p = horner(z, SINH)
    q = horner(z, COSH)
    y = ((up - down) * (r + r * (z * p)) + (up + down) * (z * q)) + (up + down)
    return y + y


def tanh(x):
    """Return the hyperbolic tangent of x; the error is below 1.5 ulp."""
    a = abs(x)
    z = a * a
    p = horner(z, TANH)
    # exp(-2a) as in `exp`, without its special cases: the result is 1 from TANH_END on
    w = TANH_END if a > TANH_END else a
    t = TO_BIASED - w * TWICE_LOG2E
    n = t - TO_BIASED
    r = -(w + w) - n * LN2_HI
    r = r - n * LN2_LO
    q = horner(r, EXP)
    e = ((q * (r * r) + r) + 1.0) * U(T(t).view(U) << MANTISSA).view(T)
    return math.copysign(a + a * (z * p) if a < TANH_SPLIT else 1.0 - (e + e) / (1.0 + e), x)


def asinh_32(x):
    """Return the inverse hyperbolic sine of x; the error is below 1 ulp."""
    a = np.float64(abs(x))
    y = np.float32(log_64(a + np.sqrt(a * a + ONE_64)))
    return x if abs(x) < TINY else math.copysign(y, x)


def asinh_64(x):
    """Return the inverse hyperbolic sine of x; the error is below 2 ulp."""
    a = abs(x)
    z = a * a
    y = log1p(a if a > MANY else a + z / (1.0 + np.sqrt(z + 1.0)))
    return math.copysign(y + LN2 if a > MANY else y, x)


def acosh_32(x):
    """Return the inverse hyperbolic cosine; nan below 1; the error is below 1 ulp."""
    z = np.float64(x)
    return np.float32(log_64(z + np.sqrt(z * z - ONE_64))) if x >= 1.0 else NAN


def acosh_64(x):
    """Return the inverse hyperbolic cosine; nan below 1; the error is below 2 ulp."""
    z = x - 1.0
    s = np.sqrt(2.0 * z + z * z)
    w = z + s
    # Add the rounding error of the sum, times the derivative of the logarithm.
    y = log1p(x if x > MANY else w) + (((s - w) + z) / (1.0 + w) if x < 3.0 else 0.0)
    y = y + LN2 if x > MANY else y
    return y if x >= 1.0 else NAN


def atanh(x):
    """Return the inverse hyperbolic tangent; the error is below 2 ulp.

    The result is nan outside [-1, 1].
    """
    a = abs(x)
    z = a * a
    p = horner(z, ATANH)
    y = 0.5 * log1p((a + a) / (1.0 - a))
    return math.copysign(a + a * (z * p) if a < 0.5 else y, x)
