"""pow and cbrt.

pow(x, y) is 2**(y*log2(x)), and the product must be known to 2**-24 or 2**-53 absolutely.  float32 does it in float64
registers.  float64 keeps log2(x) as the sum of a number of 26 bits and a rest, by s = f/(2 + f) in two parts and a
polynomial in s**2: the scheme of fdlibm's e_pow.c (Sun Microsystems, 1993), on one interval.  Halves of 26 bits
multiply exactly: T. J. Dekker, Numerische Mathematik 18, 1971.  The table of special cases is that of IEEE 754-2008
section 9.2.1.  cbrt iterates 1/cube root, which needs no division: Newton's method from a polynomial of 8 bits.
"""

import math

import numpy as np

LN2_26, LN2_26_REST = 0.6931471675634384, 1.2996506893889889e-08
# 2/(3*ln(2))
TWO_THIRDS_26, TWO_THIRDS_REST = 0.9617966860532761, 7.872699542894897e-09
ENOUGH = 1e25
POW_LOW, POW_HIGH = -1080.0, 1030.0
NARROW_LOW, NARROW_HIGH = -160.0, 140.0
THIRD = 0.3333333333333333

# log2(1 + f) / f, relative error 2**-35.1, and (2**r - 1) / r, error of 2**r 2**-28.9
LOG2_WIDE_64 = (
    1.4426950408667798, -0.7213475208578735, 0.48089836183783785, -0.36067367721240906, 0.2885372662351001,
    -0.24045301644482, 0.206175986687666, -0.18030446642385956, 0.15876503928745386, -0.14311217910104407,
    0.14473523123719315, -0.14302507781490786, 0.07759105265635736,
)  # fmt: skip
EXP2_WIDE_64 = (
    0.6931472062472475, 0.24022651084149668, 0.05550327807325967, 0.009618035958600904, 0.001340026270345256,
    0.00015467364972894892,
)  # fmt: skip
# (3*atanh(s)/s - 3 - s**2) / s**4 in s**2
POW_LOG = (
    0.600000000000034, 0.4285714285514466, 0.333333337806682, 0.2727267648465692, 0.23080138985332138,
    0.19885157303509826, 0.19795139733120037,
)  # fmt: skip
# (2**r - 1 - r*ln(2)) / r**2
POW_EXP = (
    0.24022650695910072, 0.055504108664822936, 0.009618129107628048, 0.0013333558146164316,
    0.0001540353039405841, 1.5252734037022652e-05, 1.3215486310732297e-06, 1.0177985498407719e-07,
    7.055065216305538e-09, 4.465566876693066e-10, 2.5515101934768297e-11,
)  # fmt: skip
# 1/cbrt(m) on [0.35, 2.83], relative error 2**-8.1
CBRT = (
    2.0185065134949554, -2.3910104039523716, 2.297267391338992, -1.2203593386200184, 0.3272527382214945,
    -0.03457635464592711,
)  # fmt: skip


def pow_edges(x, y, r):
    """x to the y, which is r for |x| where that is finite and not 0: the table of IEEE 754."""
    a = abs(x)
    r = r if a > 0.0 else (0.0 if y > 0.0 else INFINITY)
    r = r if a < INFINITY else (INFINITY if y > 0.0 else 0.0)
    whole = np.floor(y) == y
    half = 0.5 * y
    odd = whole and np.floor(half) != half
    r = r if x >= 0.0 or whole or a == INFINITY or a == 0.0 else NAN
    r = -r if odd and T(x).view(U) >= SIGN_BIT else r
    r = r if x == x and y == y else x + y
    return 1.0 if y == 0.0 or x == 1.0 else r


def pow_32(x, y):
    """x to the y, below 1 ulp."""
    a = np.float64(abs(x))
    bits = np.uint64(np.float64(a).view(np.uint64) + ROOT_SHIFT_64)
    k = np.uint64(np.uint64(bits >> MANTISSA_64) | WHOLE_BITS_64).view(np.float64) - WHOLE_BIAS_64
    f = np.uint64(np.uint64(bits & MANTISSA_BITS_64) + ROOT_BITS_64).view(np.float64) - ONE_64
    p = horner(f, LOG2_WIDE_64)
    # Beyond 1e25 the result is 0, 1 or infinite, and infinity times log2(1) would be nan.
    l = np.float64(min(max(y, -ENOUGH), ENOUGH)) * (k + f * p)
    l = min(max(l, NARROW_LOW_64), NARROW_HIGH_64)
    t = l + TO_WHOLE_64
    r = l - (t - TO_WHOLE_64)
    q = horner(r, EXP2_WIDE_64)
    power = np.uint64(np.uint64(np.float64(t).view(np.uint64) + BIAS_64) << MANTISSA_64).view(np.float64)
    return pow_edges(x, y, np.float32((q * r + ONE_64) * power))


def pow_64(x, y):
    """x to the y, below 1 ulp; exact where the result is a float64."""
    a = abs(x)
    small = a < SMALLEST_NORMAL
    bits = U(T(a * LIFT if small else a).view(U) + ROOT_SHIFT)
    k = U(U(bits >> MANTISSA) | WHOLE_BITS).view(T) - (WHOLE_BIAS + LIFTED if small else WHOLE_BIAS)
    f = U(U(bits & MANTISSA_BITS) + ROOT_BITS).view(T) - 1.0
    # s = f/(2 + f) = high + low
    d = 2.0 + f
    reciprocal = 1.0 / d
    s = f * reciprocal
    high = upper(s)
    top = upper(d)
    low = ((f - high * top) - high * (f - (top - 2.0))) * reciprocal
    # log(1 + f) = 2/3 * s * (3 + s**2 + rest) = 2/3 * (first + second)
    z = s * s
    p = horner(z, POW_LOG)
    square = high * high
    rest = z * z * p + low * (high + s)
    v = 3.0 + square + rest
    head = upper(v)
    rest = low * head + (rest - ((head - 3.0) - square)) * s
    t = high * head
    first = upper(t + rest)
    second = rest - (first - t)
    # log2(|x|) = head + rest
    t = TWO_THIRDS_26 * first
    v = TWO_THIRDS_REST * first + second * (TWO_THIRDS_26 + TWO_THIRDS_REST)
    head = upper((t + v) + k)
    rest = v - ((head - k) - t)
    # y * log2(|x|) = first + second, which is n + r and a tail.  Beyond 1e25 the result is 0, 1 or infinite.
    v = min(max(y, -ENOUGH), ENOUGH)
    top = upper(v)
    first = min(max(top * head, POW_LOW), POW_HIGH)
    second = min(max((v - top) * head + v * rest, -1.0), 1.0)
    t = first + TO_TWICE
    low = first - (t - TO_TWICE)
    r = low + second
    tail = second - (r - low)
    # 2**r = 1 + high + rest = head + rest
    q = horner(r, POW_EXP)
    top = upper(r)
    high = top * LN2_26
    rest = ((r - top) + tail) * LN2 + top * LN2_26_REST + r * r * q
    head = 1.0 + high
    v = head + ((high - (head - 1.0)) + rest)
    bits = T(t).view(U)
    half = U(bits >> U(1))
    v = v * U(half << MANTISSA).view(T) * U(U(bits - half) << MANTISSA).view(T)
    return pow_edges(x, y, v)


def cbrt(x):
    """Cube root, below 1 ulp."""
    a = abs(x)
    small = a < SMALLEST_NORMAL
    bits = U(T(a * LIFT if small else a).view(U) + ROOT_SHIFT)
    k = U(U(bits >> MANTISSA) | WHOLE_BITS).view(T) - (WHOLE_BIAS + LIFTED if small else WHOLE_BIAS)
    m = U(U(bits & MANTISSA_BITS) + ROOT_BITS).view(T)
    # k = 3n + a remainder of -1, 0 or 1, which m takes
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
