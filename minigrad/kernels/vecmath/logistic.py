"""The logistic function 1/(1 + exp(-x)), with full relative accuracy for x far below 0.

It is e/(1 + e) for x < 0 and 1/(1 + e) otherwise, with e = exp(-|x|) as in `exponential`.  e is at most 1, so its power
of two can be computed in one step, if it is scaled up by the same factor as in `normal`.  The polynomial is scaled down
by this factor, so the product is correct also if e is subnormal, with one rounding.
"""

from minigrad.kernels.vecmath.exponential import EXP_32
from minigrad.kernels.vecmath.normal import LIFT_DOWN_32, LIFT_DOWN_64

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
