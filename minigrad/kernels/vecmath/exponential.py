"""exp, exp2 and expm1: x = n*ln(2) + r with a small r, a polynomial in r, and powers of two made from bits.

The scheme is that of W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980, chapter 6: ln(2)
has two parts, and the first has so few bits that its product with n is exact.  The polynomials are minimax fits on |r|
<= ln(2)/2 by the algorithm of Remez.  n is found by adding 1.5 * 2**(mantissa bits): the sum is rounded to an integer,
which is in its low bits; J.-M. Muller et al., "Handbook of Floating-Point Arithmetic", 2nd edition 2018, section 10.2.
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
EXP_32 = (
    0.49999997, 0.16666542, 0.041667525, 0.008366683, 0.0013862448,
)  # fmt: skip
EXP_64 = (
    0.5, 0.16666666666666677, 0.0416666666666666, 0.008333333333321457, 0.0013888888888928333,
    0.00019841269886509185, 2.4801587227586234e-05, 2.7557243859677093e-06, 2.755736187403984e-07,
    2.5109150430374226e-08, 2.0886630175727484e-09,
)  # fmt: skip

# (2**r - 1) / r on |r| <= 1/2, relative error of 2**r 2**-28.2 and 2**-59.4
EXP2_32 = (
    0.6931472, 0.2402265, 0.05550358, 0.009618077, 0.0013391643, 0.00015456358,
)  # fmt: skip
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
