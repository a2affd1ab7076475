"""log, log2, log10 and log1p: x = 2**k * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).

log(1 + f) is f plus a small rest, and only the rest has rounding errors.  For float32, the rest is a polynomial in f, a
minimax fit by the algorithm of Remez.  For float64, it is computed from s = f/(2 + f) and a polynomial in s**2, which
needs a division but only a third of the terms: the scheme of fdlibm's e_log.c (Sun Microsystems, 1993).  log1p computes
f from x, 2**-k and 2**-k - 1 with one rounding.
"""

# The bits of sqrt(1/2), and the integer that changes them to the bits of 1 when it is added.
ROOT_BITS_32, ROOT_BITS_64 = 0x3F3504F3, 0x3FE6A09E667F3BCD
ROOT_SHIFT_32, ROOT_SHIFT_64 = 0x3F800000 - 0x3F3504F3, 0x3FF0000000000000 - 0x3FE6A09E667F3BCD
MANTISSA_BITS_32, MANTISSA_BITS_64 = 0x7FFFFF, 0xFFFFFFFFFFFFF
# 2**(mantissa bits) as bits: with a small integer in its low bits, it is 2**(mantissa bits) plus this integer.
WHOLE_BITS_32, WHOLE_BITS_64 = 0x4B000000, 0x4330000000000000
WHOLE_BIAS_32, WHOLE_BIAS_64 = 8388608.0 + 127, 4503599627370496.0 + 1023
# (2 * bias) << (mantissa bits): minus a biased exponent, it is the biased exponent of the reciprocal.
TWO_BIASES_32, TWO_BIASES_64 = 0x7F000000, 0x7FE0000000000000
SMALLEST_NORMAL_32, SMALLEST_NORMAL_64 = 1.1754943508222875e-38, 2.2250738585072014e-308
LIFT_32, LIFT_64 = 8388608.0, 18014398509481984.0
LIFTED_32, LIFTED_64 = 23.0, 54.0
INFINITY, NAN = float("inf"), float("nan")
MANY = 1e18  # a number so large that adding 1 does not change it
LOG2E_REST = 0.44269504088896340736  # 1/ln(2) - 1, which is log2(e) without its integer part
# 1/ln(10) = 7/16 - 0.0032...; the first part of log10(2) has so few bits that its product with k is exact.
LOG10E, LOG10E_REST = 0.4342944819032518, -0.0032055180967481725
LOG10_2_HI_32, LOG10_2_LO_32 = 3.0102920532226562e-01, 7.9034151667e-07
LOG10_2_HI_64, LOG10_2_LO_64 = 3.01029995663611771306e-01, 3.69423907715893078616e-13

# (log(1+f) - f + f**2/2) / f**3, relative error of log(1+f) 2**-27.2
LOG_32 = (0.3333333, -0.25000843, 0.20001034, -0.16622466, 0.14207241, -0.13174821, 0.1272441, -0.07546305)
# (log(1+f) - 2s) / s**3 with s = f/(2+f), in s**2; relative error of log(1+f) 2**-59.5
LOG_64 = (
    0.6666666666666734, 0.39999999999417024, 0.2857142874190224, 0.22222198620121777, 0.1818356201239268,
    0.15314106913284556, 0.1479541143974853,
)  # fmt: skip


def log_rest_32(f):
    """Return log(1 + f) - f."""
    p = horner(f, LOG)
    z = f * f
    return z * (f * p) - 0.5 * z


def log_rest_64(f):
    """Return log(1 + f) - f."""
    s = f / (2.0 + f)
    z = s * s
    p = horner(z, LOG)
    half = 0.5 * f * f
    return s * (half + z * p) - half


def log_edges(x, y):
    """Return y, which is a logarithm of x, with the special cases of x.

    The result is -inf at 0 and nan below 0; inf and nan stay.
    """
    y = y if x > 0.0 else (-INFINITY if x == 0.0 else NAN)
    return y if x < INFINITY else x


def log(x):
    """Return the natural logarithm of x; the error is below 1 ulp."""
    small = x < SMALLEST_NORMAL
    bits = U(T(x * LIFT if small else x).view(U) + ROOT_SHIFT)
    k = U(U(bits >> MANTISSA) | WHOLE_BITS).view(T) - (WHOLE_BIAS + LIFTED if small else WHOLE_BIAS)
    f = U(U(bits & MANTISSA_BITS) + ROOT_BITS).view(T) - 1.0
    return log_edges(x, k * LN2_HI + (f + (log_rest(f) + k * LN2_LO)))


def log2(x):
    """Return the logarithm to base 2; the error is below 1.5 ulp.

    The logarithms of powers of two are exact.
    """
    small = x < SMALLEST_NORMAL
    bits = U(T(x * LIFT if small else x).view(U) + ROOT_SHIFT)
    k = U(U(bits >> MANTISSA) | WHOLE_BITS).view(T) - (WHOLE_BIAS + LIFTED if small else WHOLE_BIAS)
    f = U(U(bits & MANTISSA_BITS) + ROOT_BITS).view(T) - 1.0
    rest = log_rest(f)
    return log_edges(x, k + (f + ((f + rest) * LOG2E_REST + rest)))


def log10(x):
    """Return the logarithm to base 10; the error is below 2 ulp."""
    small = x < SMALLEST_NORMAL
    bits = U(T(x * LIFT if small else x).view(U) + ROOT_SHIFT)
    k = U(U(bits >> MANTISSA) | WHOLE_BITS).view(T) - (WHOLE_BIAS + LIFTED if small else WHOLE_BIAS)
    f = U(U(bits & MANTISSA_BITS) + ROOT_BITS).view(T) - 1.0
    rest = log_rest(f) * LOG10E + f * LOG10E_REST
    return log_edges(x, k * LOG10_2_HI + (f * 0.4375 + (rest + k * LOG10_2_LO)))


def log1p(x):
    """Return log(1 + x); the error is below 1.5 ulp."""
    z = x + 1.0
    bits = U(T(z).view(U) + ROOT_SHIFT)
    k = U(U(bits >> MANTISSA) | WHOLE_BITS).view(T) - WHOLE_BIAS
    scale = U(TWO_BIASES - U(U(bits >> MANTISSA) << MANTISSA)).view(T)
    f = x * scale + (scale - 1.0)
    f = U(U(bits & MANTISSA_BITS) + ROOT_BITS).view(T) - 1.0 if z > MANY else f
    y = k * LN2_HI + (f + (log_rest(f) + k * LN2_LO))
    return x if abs(x) < TINY else log_edges(z, y)
