"""sin, cos and tan: an odd polynomial of the distance to a multiple of pi.

The multiple is the nearest one; for tan it is a multiple of pi/2.  Multiples are subtracted in parts that have so few
bits that the products are exact (W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980,
chapters 8 and 9); for float32 in float64 registers.  sin needs only one polynomial, on [-pi/2, pi/2], so no quadrant
has to be selected.  cos is the sine of a distance to an odd multiple of pi/2.  Beyond `FAR`, these parts do not have
enough bits: `NAME_any` calls the library there, and a loop without such arguments runs without it.  The polynomials are
minimax fits of the relative error by the algorithm of Remez.
"""

import numpy as np

FAR_32, FAR_64 = 1e6, 2e5
INVERSE_PI, TWO_OVER_PI = 0.3183098861837907, 0.6366197723675814
PI_HI, PI_LO = 3.1415926534682512, 1.2154201013012384e-10
HALF_PI_HI, HALF_PI_LO = 1.5707963267341256, 6.077100506506192e-11
PI_1, PI_2, PI_3 = 3.1415926535846666, 5.1266883031679116e-12, 2.1125998133974855e-23
HALF_PI_1, HALF_PI_2, HALF_PI_3 = 1.5707963267923333, 2.5633441515839558e-12, 1.0562999066987428e-23
SIGN_PLACE_32, SIGN_PLACE_64 = 31, 63

# (sin(r) - r) / r**3 in r**2 on |r| <= pi/2, relative error of the sine 2**-30.7 and 2**-61.5
SIN_32 = (-0.16666667, 0.008333348, -0.00019842605, 2.7600124e-06, -2.5029214e-08)
SIN_64 = (
    -0.16666666666666666, 0.008333333333333241, -0.00019841269841235738, 2.7557319217566463e-06,
    -2.5052107695064228e-08, 1.6058999559517743e-10, -7.645485544332625e-13, 2.7766016280616385e-15,
    -5.095469621063794e-18,
)  # fmt: skip
# (tan(r) - r) / r**3 in r**2 on |r| <= pi/4, relative error of the tangent 2**-25.7 and 2**-56.1
TAN_32 = (0.3333335, 0.13332683, 0.054057702, 0.02129337, 0.010807724, 0.00012391013, 0.00435993)
TAN_64 = (
    0.33333333333332776, 0.1333333333341368, 0.05396825392737267, 0.021869489588999928, 0.008863219468632704,
    0.0035922862346577664, 0.0014547754619558212, 0.0005949911776057637, 0.00022259496807475304,
    0.0001360878732011547, -2.5778754682818628e-05, 8.890381930343484e-05, -4.4586027569579875e-05,
    2.0794772261339876e-05,
)  # fmt: skip


def is_far(x):
    """Return whether the reduction does not have enough bits for an argument."""
    return abs(x) > FAR


def signed(y, flips, x):
    """Return y with its sign changed if the low bit of `flips` is set, and changed again if x is negative."""
    return U(T(y).view(U) ^ U(U(flips << SIGN_PLACE) ^ U(T(x).view(U) & SIGN_BIT))).view(T)


def clipped(y):
    """Return y clipped to [-1, 1], which rounding may have exceeded by one unit."""
    y = 1.0 if y > 1.0 else y
    return -1.0 if y < -1.0 else y


def turned(r, flips):
    """Return a float64 with its sign changed if the low bit of `flips`, a number near 1.5 * 2**52, is set."""
    sign = np.uint64(np.float64(flips).view(np.uint64) << SIGN_PLACE_64)
    return np.uint64(np.float64(r).view(np.uint64) ^ sign).view(np.float64)


def sine_of_32(r):
    """Return sin(r) for |r| <= pi/2; r is a float64."""
    s = np.float32(r)
    z = s * s
    p = horner(z, SIN)
    # For a zero, the factor in brackets is -0.  Adding 0 changes it to 0, so that the result has the sign of the zero.
    return clipped(s + s * (z * p + 0.0))


def sin_32(x):
    """Return the sine of x; the error is below 2 ulp up to `FAR`."""
    a = np.float64(x)
    t = a * INVERSE_PI_64 + TO_WHOLE_64
    n = t - TO_WHOLE_64
    return sine_of(turned((a - n * PI_HI_64) - n * PI_LO_64, t))


def cos_32(x):
    """Return the cosine of x; the error is below 2 ulp up to `FAR`."""
    a = np.float64(abs(x))
    t = (a * INVERSE_PI_64 + HALF_64) + TO_WHOLE_64
    n = (t - TO_WHOLE_64) - HALF_64
    return sine_of(turned((a - n * PI_HI_64) - n * PI_LO_64, t))


def tan_32(x):
    """Return the tangent of x; the error is below 2.5 ulp up to `FAR`."""
    a = np.float64(abs(x))
    t = a * TWO_OVER_PI_64 + TO_WHOLE_64
    n = t - TO_WHOLE_64
    r = np.float32((a - n * HALF_PI_HI_64) - n * HALF_PI_LO_64)
    z = r * r
    p = horner(z, TAN)
    y = r + r * (z * p)
    turns = U(U(np.float64(t).view(np.uint64)) & U(1))
    return signed(-1.0 / y if turns != U(0) else y, U(0), x)


def sine_of_64(a, n):
    """Return sin(a - n*pi) for |a - n*pi| <= pi/2; 2*n is an integer."""
    first = a - n * PI_1
    second = n * PI_2
    r = first - second
    rest = ((first - r) - second) - n * PI_3
    s = r + rest
    rest = (r - s) + rest
    z = s * s
    p = horner(z, SIN)
    return clipped(s + (s * (z * p) + rest * (1.0 - 0.5 * z)))


def sin_64(x):
    """Return the sine of x; the error is below 2 ulp up to `FAR`."""
    a = abs(x)
    t = a * INVERSE_PI + TO_WHOLE
    return signed(sine_of(a, t - TO_WHOLE), T(t).view(U), x)


def cos_64(x):
    """Return the cosine of x; the error is below 2 ulp up to `FAR`."""
    a = abs(x)
    t = (a * INVERSE_PI + 0.5) + TO_WHOLE
    return signed(sine_of(a, (t - TO_WHOLE) - 0.5), T(t).view(U), 1.0)


def tan_64(x):
    """Return the tangent of x; the error is below 2.5 ulp up to `FAR`."""
    a = abs(x)
    t = a * TWO_OVER_PI + TO_WHOLE
    n = t - TO_WHOLE
    first = a - n * HALF_PI_1
    second = n * HALF_PI_2
    r = first - second
    rest = ((first - r) - second) - n * HALF_PI_3
    s = r + rest
    rest = (r - s) + rest
    z = s * s
    p = horner(z, TAN)
    q = s * (z * p)
    y = s + (q + rest * (1.0 + z))
    turns = U(T(t).view(U) & U(1))
    return signed(-1.0 / y if turns != U(0) else y, U(0), x)


def sin_any(x):
    """Return the sine of any x."""
    return T(np.sin(np.float64(x))) if is_far(x) else sin(x)


def cos_any(x):
    """Return the cosine of any x."""
    return T(np.cos(np.float64(x))) if is_far(x) else cos(x)


def tan_any(x):
    """Return the tangent of any x."""
    return T(np.tan(np.float64(x))) if is_far(x) else tan(x)
