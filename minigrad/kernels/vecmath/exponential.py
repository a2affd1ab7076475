"""exp, exp2, expm1, and two functions of exp: the normal distribution function and the logistic function.

x = n*ln(2) + r with a small r, a polynomial in r, and powers of two made from bits.  The scheme is that of W. J. Cody
and W. Waite, "Software Manual for the Elementary Functions", 1980, chapter 6: ln(2) has two parts, and the first has so
few bits that its product with n is exact.  The polynomials are minimax fits on |r| <= ln(2)/2 by the algorithm of
Remez.  n is found by adding 1.5 * 2**(mantissa bits): the sum is rounded to an integer, which is in its low bits; J.-M.
Muller et al., "Handbook of Floating-Point Arithmetic", 2nd edition 2018, section 10.2.

The normal distribution function has full relative accuracy in its lower tail.  For t >= 0, Phi(-t) is exp(-t**2/2)
times a smooth function that decreases from 1/2 like 1/t.  Here this function is a quotient of two polynomials with only
positive coefficients, so there is no cancellation, and one division is enough.  t**2/2 has two parts: the first is
exact, and the second is added to the reduced argument of exp.  A rounding of t**2 would instead cost an error of t**2/2
units.  The quotients are minimax fits of the relative error by the algorithm of Remez, with the value 1/2 at 0.

The logistic function 1/(1 + exp(-x)) has full relative accuracy for x far below 0.  It is e/(1 + e) for x < 0 and
1/(1 + e) otherwise, with e = exp(-|x|).  e is at most 1, so its power of two can be computed in one step, if it is
scaled up by the same factor as in the normal distribution.  The polynomial is scaled down by this factor, so the
product is correct also if e is subnormal, with one rounding.
"""

LOG2E = 1.4426950408889634
LN2_HI_32, LN2_LO_32 = 0.693145751953125, 1.42860682030941723212e-6
LN2_HI_64, LN2_LO_64 = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# 1.5 * 2**(mantissa bits).  With twice the bias of the exponent added, half of the low bits is a biased exponent.
TO_WHOLE_32, TO_WHOLE_64 = 12582912.0, 6755399441055744.0
TO_TWICE_32, TO_TWICE_64 = 12582912.0 + 254, 6755399441055744.0 + 2046
HALF, ONE = 0.5, 1.0
MANTISSA_32, MANTISSA_64 = 23, 52
BIAS_32, BIAS_64 = 127, 1023
SIGN_BIT_32, SIGN_BIT_64 = 0x80000000, 0x8000000000000000
# Below LOW, exp is 0; above HIGH, it is infinite.  Both are slightly outside of the range, so that the last product
# decides.
EXP_LOW_32, EXP_HIGH_32 = -104.5, 89.0
EXP_LOW_64, EXP_HIGH_64 = -746.0, 710.0
EXP2_LOW_32, EXP2_HIGH_32 = -151.0, 129.0
EXP2_LOW_64, EXP2_HIGH_64 = -1076.0, 1025.0
# Below LOW, expm1 is -1.  If |x| is below TINY, expm1, sinh and similar functions return x.
EXPM1_LOW_32, EXPM1_LOW_64 = -20.0, -40.0
TINY_32, TINY_64 = 6e-8, 1e-16

# (exp(r) - 1 - r) / r**2, relative error of expm1 2**-26.1 and 2**-61.5
EXP_32 = (0.49999997, 0.16666542, 0.041667525, 0.008366683, 0.0013862448)
EXP_64 = (
    0.5, 0.16666666666666677, 0.0416666666666666, 0.008333333333321457, 0.0013888888888928333,
    0.00019841269886509185, 2.4801587227586234e-05, 2.7557243859677093e-06, 2.755736187403984e-07,
    2.5109150430374226e-08, 2.0886630175727484e-09,
)  # fmt: skip

# (2**r - 1) / r on |r| <= 1/2, relative error of 2**r 2**-28.2 and 2**-59.4
EXP2_32 = (0.6931472, 0.2402265, 0.05550358, 0.009618077, 0.0013391643, 0.00015456358)
EXP2_64 = (
    0.6931471805599453, 0.24022650695910072, 0.055504108664822936, 0.009618129107628048, 0.0013333558146164316,
    0.0001540353039405841, 1.5252734037022652e-05, 1.3215486310732297e-06, 1.0177985498407719e-07,
    7.055065216305538e-09, 4.465566876693066e-10, 2.5515101934768297e-11,
)  # fmt: skip


def exp(x):
    """Return e to the power of x; the error is below 1 ulp."""
    # Selects in this order preserve nan.  The zero is selected instead of computed, because a product that underflows
    # takes 150 cycles on Intel's processors.
    z = 0.0 if x < EXP_LOW else x
    z = EXP_HIGH if z > EXP_HIGH else z
    t = z * LOG2E + TO_TWICE
    n = t - TO_TWICE
    r = z - n * LN2_HI
    r = r - n * LN2_LO
    p = horner(r, EXP)
    y = (p * (r * r) + r) + 1.0
    # 2**n is two factors, so that subnormal results are correct.
    bits = T(t).view(U)
    half = U(bits >> U(1))
    y = y * U(half << MANTISSA).view(T) * U(U(bits - half) << MANTISSA).view(T)
    return 0.0 if x < EXP_LOW else y


def exp2(x):
    """Return 2**x; the error is below 1 ulp, and integers x are exact."""
    z = 0.0 if x < EXP2_LOW else x
    z = EXP2_HIGH if z > EXP2_HIGH else z
    t = z + TO_TWICE
    r = z - (t - TO_TWICE)
    p = horner(r, EXP2)
    y = p * r + 1.0
    bits = T(t).view(U)
    half = U(bits >> U(1))
    y = y * U(half << MANTISSA).view(T) * U(U(bits - half) << MANTISSA).view(T)
    return 0.0 if x < EXP2_LOW else y


def expm1(x):
    """Return exp(x) - 1; the error is below 1.5 ulp.

    It is 2**n * expm1(r) + (2**n - 1), which is computed with half of 2**n and then doubled, so that 2**n does not
    overflow.
    """
    z = EXPM1_LOW if x < EXPM1_LOW else x
    z = EXP_HIGH if z > EXP_HIGH else z
    t = z * LOG2E + TO_WHOLE
    n = t - TO_WHOLE
    r = z - n * LN2_HI
    r = r - n * LN2_LO
    p = horner(r, EXP)
    q = p * (r * r) + r
    power = U(U(T(t).view(U) + U(BIAS - U(1))) << MANTISSA).view(T)
    y = power * q + (power - 0.5)
    # Doubling overflows exactly where exp(x) - 1 overflows.  For tiny x, the result is x itself, also -0.
    return x if abs(x) < TINY else y + y


NORMAL_END_32, NORMAL_END_64 = 14.4, 39.0  # bounds from which the tail rounds to 0, in float32 and in float64
# The first polynomial contains the factor 2**-64 or 2**-600, and the power of two, which is computed in one step, is
# larger by this factor, so it is never subnormal.  The bias of the power is added to the 1.5 * 2**(mantissa bits) that
# rounds a number to an integer.
TO_LIFTED_32, TO_LIFTED_64 = 12582912.0 + 127 + 64, 6755399441055744.0 + 1023 + 600
HALF_LOG2E = LOG2E / 2
TWICE_LN2_HI_32, TWICE_LN2_LO_32 = 2 * LN2_HI_32, 2 * LN2_LO_32
TWICE_LN2_HI_64, TWICE_LN2_LO_64 = 2 * LN2_HI_64, 2 * LN2_LO_64
# (exp(-r/2) - 1) / r
EXP_HALF_32 = (-0.5, *(c * (-0.5) ** k for k, c in enumerate(EXP_32, 2)))
EXP_HALF_64 = (-0.5, *(c * (-0.5) ** k for k, c in enumerate(EXP_64, 2)))
LIFT_DOWN_32, LIFT_DOWN_64 = 2.0**-64, 2.0**-600

# exp(t**2/2) * Phi(-t) = TAIL_TOP(t) / TAIL_BELOW(t), relative error 2**-27 on [0, 14.4] and 2**-57 on [0, 39]
TAIL_TOP_32 = tuple(LIFT_DOWN_32 * c for c in (0.9340669, 0.81711394, 0.3410144, 0.07545804, 0.0076187276))
TAIL_BELOW_32 = (1.8681338, 3.1247835, 2.2411711, 0.87360674, 0.18915768, 0.019097086)
TAIL_TOP_64 = tuple(LIFT_DOWN_64 * c for c in (
    0.5, 0.827716554832183, 0.6792797252508751, 0.3570876556066532, 0.13191846213030017, 0.03562376407428413,
    0.007111971866036076, 0.001037774874389378, 0.00010633222983938763, 6.956963250068385e-06, 2.2343929582476911e-07,
))  # fmt: skip
TAIL_BELOW_64 = (
    1.0, 2.4533176704672317, 2.8160237425123995, 2.000339863252358, 0.9793534435880719, 0.34797013964765333,
    0.09186197337358759, 0.018092484973973404, 0.0026187543638406465, 0.00026709545307334855, 1.743852078822039e-05,
    5.600792565778767e-07,
)  # fmt: skip


def normal_cdf(x):
    """Return the probability that a normally distributed number is at most x.

    The error is below 6 ulp in float32 and 7 ulp in float64, and below 2 ulp for x > 0.
    """
    t = abs(x)
    t = NORMAL_END if t > NORMAL_END else t
    high = upper(t)
    z = high * high
    k = TO_LIFTED - z * HALF_LOG2E
    n = k - TO_LIFTED
    # exp(-t**2/2) = 2**n * exp(-r/2); the low part of t**2 is added last.
    r = z + n * TWICE_LN2_HI
    r = r + n * TWICE_LN2_LO
    r = r + (t - high) * (t + high)
    y = horner(r, EXP_HALF)
    top = horner(t, TAIL_TOP)
    below = horner(t, TAIL_BELOW)
    q = top / below
    y = (q + q * (r * y)) * U(T(k).view(U) << MANTISSA).view(T)
    return 1.0 - y if x > 0.0 else y


# exp(r), relative error 2**-26.1 and 2**-57.9: a minimax fit on |r| <= ln(2)/2 by the algorithm of Remez
EXP_LIFTED_32 = tuple(LIFT_DOWN_32 * c for c in (1.0, 1.0, *EXP_32))
EXP_LIFTED_64 = tuple(LIFT_DOWN_64 * c for c in (
    1.0, 1.0, 0.5000000000000011, 0.16666666666666413, 0.041666666666530156, 0.008333333333494463,
    0.0013888888943630851, 0.00019841269506570937, 2.4801493098118198e-05, 2.7557586385125433e-06,
    2.763024865066372e-07, 2.500005688944574e-08,
))  # fmt: skip


def logistic(x):
    """Return 1/(1 + exp(-x)); the error is below 2.5 ulp."""
    z = -abs(x)
    # If e is 0, it is selected instead of computed, as in `exp`, because a product that underflows is slow.
    far = z < EXP_LOW
    z = 0.0 if far else z
    t = z * LOG2E + TO_LIFTED
    n = t - TO_LIFTED
    r = z - n * LN2_HI
    r = r - n * LN2_LO
    y = horner(r, EXP_LIFTED)
    e = y * U(T(t).view(U) << MANTISSA).view(T)
    e = 0.0 if far else e
    return (e if x < 0.0 else 1.0) / (1.0 + e)
