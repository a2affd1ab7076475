"""pow and cbrt.

pow(x, y) is exp(y*log(x)), and the absolute error of this product must be at most 2**-24 or 2**-53.  float32 computes
it in float64 registers, to base 2.  float64 represents log(x) as the sum of a number of 26 bits and a rest, using s =
f/(2 + f) in two parts and a polynomial in s**2: the scheme of fdlibm's e_pow.c (Sun Microsystems, 1993), on one
interval.  There s is multiplied by 2/3, so that the logarithm begins with 3 + 9/4*s**2, whose constants have few bits.
Products of two numbers of 26 bits are exact: T. J. Dekker, Numerische Mathematik 18, 1971.  The table of special cases
is that of IEEE 754-2008 section 9.2.1.  cbrt iterates the reciprocal of the cube root, which needs no division:
Newton's method from a polynomial with 8 correct bits.
"""

import math

import numpy as np

ENOUGH = 1e25
POW_LOW, POW_HIGH = -750.0, 712.0
TWO = 2.0
INFINITE_BITS_32, INFINITE_BITS_64 = 0x7F800000, 0x7FF0000000000000
UPPER_24 = 0xFFFFFFFFE0000000
NARROW_LOW, NARROW_HIGH = -160.0, 140.0
THIRD = 0.3333333333333333

# Coefficients of a polynomial in s**2 for log2(1 + f) / s with s = f/(2 + f), with a relative error of 2**-37.8, and of
# a polynomial in r for (2**r - 1) / r; the error of 2**r is 2**-28.9.
LOG2_WIDE_64 = (2.8853900817900864, 0.9617966733417975, 0.5770835849651513, 0.4116727189977767, 0.34073010658534336)
EXP2_WIDE_64 = (
    0.6931472062472475, 0.24022651084149668, 0.05550327807325967, 0.009618035958600904, 0.001340026270345256,
    0.00015467364972894892,
)  # fmt: skip
# Coefficients of the polynomial in s**2 that approximates (log(1 + f)/s - 3 - 9/4*s**2) / s**4, for s = f/(3 + 1.5*f).
# The relative error of log(1 + f) is 2**-66.3.
POW_LOG = (
    3.0375000000001715, 4.8816964283443065, 8.542968864465381, 15.726799582713658, 29.945631599591923,
    58.050776425821226, 130.0186928040713,
)  # fmt: skip
# 1/cbrt(m) on [0.35, 2.83], relative error 2**-8.1
CBRT = (
    2.0185065134949554, -2.3910104039523716, 2.297267391338992, -1.2203593386200184, 0.3272527382214945,
    -0.03457635464592711,
)  # fmt: skip


def is_usual(a):
    """Return whether a number is finite and above 0; it must not be negative."""
    return U(T(a).view(U) - U(1)) < U(INFINITE_BITS - U(1))


def bounded_exponent(y):
    """Return the exponent clipped to [-1e25, 1e25].

    Beyond these bounds a power is 0, 1 or infinite, but infinity times log(1) would be nan.
    """
    return min(max(y, -ENOUGH), ENOUGH)


def effective_exponent(a, v):
    """Return the bounded exponent v for a usual base.

    For a base of 0 or infinity, return an exponent that leads from any logarithm to 0 or infinity.
    """
    return v if is_usual(a) else math.copysign(ENOUGH, v)


def pow_edges(x, y, v, r):
    """Return r with the special cases of IEEE 754's pow.

    v is the bounded exponent, and r is |x| to the power of y.
    """
    # v modulo 2: 1 for an odd integer, 0 for an even integer; all large floats are even integers.
    pairs = 0.5 * v
    left = v - 2.0 * np.floor(pairs)
    r = U(T(r).view(U) ^ (U(T(x).view(U) & SIGN_BIT) if left == 1.0 else U(0))).view(T)
    r = NAN if (x < 0.0) & is_usual(abs(x)) & (left != 0.0) & (left != 1.0) else r
    r = r if (x == x) & (y == y) else NAN
    return 1.0 if (y == 0.0) | (x == 1.0) else r


def pow_32(x, y):
    """Return x to the power of y; the error is below 1 ulp."""
    a = np.float64(abs(x))
    bits = np.uint64(np.float64(a).view(np.uint64) + ROOT_SHIFT_64)
    k = np.uint64(np.uint64(bits >> MANTISSA_64) | WHOLE_BITS_64).view(np.float64) - WHOLE_BIAS_64
    f = np.uint64(np.uint64(bits & MANTISSA_BITS_64) + ROOT_BITS_64).view(np.float64) - ONE_64
    s = f / (TWO_64 + f)
    z = s * s
    p = horner(z, LOG2_WIDE_64)
    v = bounded_exponent(y)
    l = np.float64(effective_exponent(abs(x), v)) * (k + s * p)
    l = min(max(l, NARROW_LOW_64), NARROW_HIGH_64)
    t = l + TO_WHOLE_64
    r = l - (t - TO_WHOLE_64)
    q = horner(r, EXP2_WIDE_64)
    power = np.uint64(np.uint64(np.float64(t).view(np.uint64) + BIAS_64) << MANTISSA_64).view(np.float64)
    return pow_edges(x, y, v, np.float32((q * r + ONE_64) * power))


def pow_64(x, y):
    """Return x to the power of y; the error is below 2 ulp.

    The result is exact if the power is a float64.
    """
    a = abs(x)
    small = a < SMALLEST_NORMAL
    bits = U(T(a * LIFT if small else a).view(U) + ROOT_SHIFT)
    k = U(U(bits >> MANTISSA) | WHOLE_BITS).view(T) - (WHOLE_BIAS + LIFTED if small else WHOLE_BIAS)
    f = U(U(bits & MANTISSA_BITS) + ROOT_BITS).view(T) - 1.0
    # s = f/(3 + 1.5*f) = high + low; 1.5*f is exact
    more = 1.5 * f
    d = 3.0 + more
    reciprocal = 1.0 / d
    s = f * reciprocal
    high = U(T(s).view(U) & UPPER_24).view(T)
    top = upper(d)
    low = ((f - high * top) - high * (more - (top - 3.0))) * reciprocal
    # log(1 + f) = s * (3 + 2.25*s**2 + s**4*p) = first + second
    scaled = 2.25 * high
    square = high * scaled
    z = s * s
    p = horner(z, POW_LOG)
    head = upper(3.0 + square)
    rest = (z * z * p + low * (scaled + 2.25 * s)) + (square - (head - 3.0))
    first = high * head
    second = low * head + rest * s
    # log(|x|) = head + rest
    t = k * LN2_HI
    head = upper((first + second) + t)
    rest = (second - ((head - t) - first)) + k * LN2_LO
    # y * log(|x|) = first + second
    v = bounded_exponent(y)
    w = effective_exponent(a, v)
    top = upper(w)
    first = min(max(top * head, POW_LOW), POW_HIGH)
    second = min(max((w - top) * head + w * rest, -1.0), 1.0)
    # y * log(|x|) = n*ln(2) + high + low
    t = first * LOG2E + TO_TWICE
    n = t - TO_TWICE
    high = first - n * LN2_HI
    low = second - n * LN2_LO
    r = high + low
    q = horner(r, EXP)
    r = ((r * r * q + low) + high) + 1.0
    bits = T(t).view(U)
    half = U(bits >> U(1))
    r = r * U(half << MANTISSA).view(T) * U(U(bits - half) << MANTISSA).view(T)
    return pow_edges(x, y, v, r)


def cbrt(x):
    """Return the cube root of x; the error is below 1 ulp."""
    a = abs(x)
    small = a < SMALLEST_NORMAL
    bits = U(T(a * LIFT if small else a).view(U) + ROOT_SHIFT)
    k = U(U(bits >> MANTISSA) | WHOLE_BITS).view(T) - (WHOLE_BIAS + LIFTED if small else WHOLE_BIAS)
    m = U(U(bits & MANTISSA_BITS) + ROOT_BITS).view(T)
    # k = 3n + a remainder of -1, 0 or 1; m is multiplied by 2 to the power of the remainder.
    t = k * THIRD + TO_WHOLE
    n = t - TO_WHOLE
    k = k - 3.0 * n
    m = m * (2.0 if k > 0.0 else (0.5 if k < 0.0 else 1.0))
    y = horner(m, CBRT)
    y = y + y * (1.0 - m * (y * y * y)) * THIRD
    y = y + y * (1.0 - m * (y * y * y)) * THIRD
    y = y + y * (1.0 - m * (y * y * y)) * THIRD
    c = m * (y * y)
    c = c + (m - c * c * c) * (y * y * THIRD)
    c = c * U(U(T(t).view(U) + U(BIAS)) << MANTISSA).view(T)
    return x if a == 0.0 or not a < INFINITY else math.copysign(c, x)
