"""The normal distribution function, with full relative accuracy in its lower tail.

For t >= 0, Phi(-t) is exp(-t**2/2) times a smooth function that decreases from 1/2 like 1/t.  Here this function is a
quotient of two polynomials with only positive coefficients, so there is no cancellation, and one division is enough.
t**2/2 has two parts: the first is exact, and the second is added to the reduced argument of exp.  A rounding of t**2
would instead cost an error of t**2/2 units.  The quotients are minimax fits of the relative error by the algorithm of
Remez, with the value 1/2 at 0.
"""

from minigrad.kernels.vecmath.exponential import EXP_32, EXP_64, LN2_HI_32, LN2_HI_64, LN2_LO_32, LN2_LO_64, LOG2E

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
TAIL_TOP_32 = tuple(LIFT_DOWN_32 * c for c in (
    0.9340669, 0.81711394, 0.3410144, 0.07545804, 0.0076187276,
))  # fmt: skip
TAIL_BELOW_32 = (
    1.8681338, 3.1247835, 2.2411711, 0.87360674, 0.18915768, 0.019097086,
)  # fmt: skip
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
