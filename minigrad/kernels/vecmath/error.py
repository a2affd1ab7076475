"""erf and erfc.

Below 1, erf is a polynomial in x**2.  Above 1, it is 1 - 2**-p(x): the base-2 logarithm of erfc is so smooth that one
polynomial p is enough, and the error of p has little effect where erfc is small.  For x >= 0, erfc(x) is exp(-x**2)
times a function that decreases like 1/x.  This function is a polynomial in t = (x - k)/(x + k), which maps [0, inf) to
[-1, 1): M. M. Shepherd and J. G. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x**2) erfc x", Mathematics of
Computation 36, 1981.  x**2 is computed in two parts.  The polynomials are minimax fits of the relative error by the
algorithm of Remez.
"""

import math

import numpy as np

ERF_HIGH_32, ERF_HIGH_64 = 4.0, 6.0  # bounds from which erf rounds to 1, in float32 and in float64
ERFC_HIGH_32, ERFC_HIGH_64 = 10.1, 27.3  # bounds from which erfc rounds to 0, in float32 and in float64
CENTRE_32, CENTRE_64 = 2.0, 4.0
UPPER_BITS_32, UPPER_BITS_64 = 0xFFFFF000, 0xFFFFFFFFF8000000

# erf(x)/x - 1 in x**2 on [0, 1]
ERF_32 = (0.12837917, -0.37612626, 0.112835824, -0.026853643, 0.0051879627, -0.0008006793, 7.842288e-05)
ERF_64 = (
    0.1283791670955126, -0.37612638903183876, 0.11283791670958743, -0.02686617064561954, 0.005223977629095633,
    -0.0008548327189604628, 0.00012055337777723718, -1.4925738501860114e-05, 1.6463087054427756e-06,
    -1.6370637841965e-07, 1.478654530482318e-08, -1.183057819918123e-09, 6.68480984253562e-11,
)  # fmt: skip
# -log2(erfc(x)) on [1, 4.05] and [1, 6]
LOG_ERFC_32 = (0.00049273943, 1.626047, 0.9206445, 0.14875709, -0.03150944, 0.004253838, -0.00026905417)
LOG_ERFC_64 = (
    7.255142412034743e-07, 1.6278997025296784, 0.9184826080658108, 0.14816973457667945, -0.027397022265536707,
    -0.0005924277340760766, 0.002764134193959282, -0.0011118068313850738, 0.00019483360808069395,
    2.9243397256807925e-05, -3.2929431634510275e-05, 1.2505773019348866e-05, -3.081710432000921e-06,
    5.38703709558885e-07, -6.699841376312616e-08, 5.6787467420761915e-09, -2.952212478904174e-10,
    7.116698576227649e-12,
)  # fmt: skip
# (1 + 2x) * exp(x**2) * erfc(x) in t = (x - k)/(x + k)
ERFCX_32 = (
    1.2769784, -0.092763916, -0.16603088, 0.16405378, -0.05420844, -0.008049805, 0.008646074, 0.0012891834,
    -0.0012556893, -0.00038048095, 1.9338135e-05,
)  # fmt: skip
ERFCX_64 = (
    1.2329951186255526, -0.13962111684056255, 0.015379652102613715, 0.06809705425469613, -0.10103906603606791,
    0.09373283499827134, -0.06633036581651734, 0.037167515537955186, -0.016197734014144583,
    0.005031969982313462, -0.0007577735604781561, -0.00019925677606959702, 0.00015062276597981803,
    -2.4398673200849672e-05, -1.1224889996901949e-05, 5.707733997485369e-06, 2.986333064047062e-07,
    -8.209598439344403e-07, 6.97893972499759e-08, 1.0404888433120338e-07, -1.568747768646073e-08,
    -9.623403820908179e-09, 2.077252929888185e-09, -1.6061411804575745e-10, -4.669970253051176e-10,
)  # fmt: skip


def upper(x):
    """Return x with the lower half of its mantissa cleared: products of two such numbers are exact."""
    return U(T(x).view(U) & UPPER_BITS).view(T)


def erf(x):
    """Return the error function of x; the error is below 1.5 ulp."""
    a = abs(x)
    a = ERF_HIGH if a > ERF_HIGH else a
    z = a * a
    p = horner(z, ERF)
    q = horner(a, LOG_ERFC)
    # Compute exp2(-q), which neither overflows nor becomes subnormal.
    k = TO_WHOLE - q
    r = (TO_WHOLE - k) - q
    y = horner(r, EXP2)
    power = U(U(T(k).view(U) + BIAS) << MANTISSA).view(T)
    return math.copysign(a + a * p if a < 1.0 else 1.0 - (y * r + 1.0) * power, x)


def erfc_32(x):
    """Return 1 - erf(x); the error is below 2 ulp.

    The last products are computed in float64, where rounding errors do not matter.
    """
    a = abs(x)
    a = ERFC_HIGH if a > ERFC_HIGH else a
    t = (a - CENTRE) / (a + CENTRE)
    p = horner(t, ERFCX)
    # a**2 is exact in float64.
    wide = np.float64(a)
    z = wide * wide
    k = TO_WHOLE_64 - z * LOG2E_64
    n = k - TO_WHOLE_64
    r = np.float32(-z - n * LN2_64)
    q = horner(r, EXP)
    power = np.uint64(np.uint64(np.float64(k).view(np.uint64) + BIAS_64) << MANTISSA_64).view(np.float64)
    y = (np.float64(q * (r * r) + r) + ONE_64) * (np.float64(p) / (ONE_64 + (wide + wide))) * power
    z = a * a
    p = horner(z, ERF)
    y = (1.0 - a) - a * p if a < 0.625 else np.float32(y)
    return 2.0 - y if x < 0.0 else y


def erfc_64(x):
    """Return 1 - erf(x); the error is below 2 ulp, because the largest rounding errors are corrected at the end."""
    a = abs(x)
    a = ERFC_HIGH if a > ERFC_HIGH else a
    t = (a - CENTRE) / (a + CENTRE)
    p = horner(t, ERFCX)
    d = 1.0 + (a + a)
    factor = p / d
    # a**2 = z + low, with twice the precision
    z = a * a
    high = upper(a)
    rest = a - high
    low = ((high * high - z) + 2.0 * high * rest) + rest * rest
    t = TO_TWICE - z * LOG2E
    n = t - TO_TWICE
    r = -z - n * LN2_HI
    v = n * LN2_LO + low
    top = r - v
    v = (r - top) - v
    p = horner(top, EXP)
    rest = p * (top * top) + top
    y = 1.0 + rest
    # The errors of three roundings: of 1 + rest, of r, and of d (which matters only for a above 1/2)
    rest = (rest - (y - 1.0)) + v - y * ((1.0 - (d - (a + a))) / d)
    y = y * factor + rest * factor
    bits = T(t).view(U)
    half = U(bits >> U(1))
    y = y * U(half << MANTISSA).view(T) * U(U(bits - half) << MANTISSA).view(T)
    p = horner(z, ERF)
    y = (1.0 - a) - a * p if a < 0.625 else y
    return 2.0 - y if x < 0.0 else y
