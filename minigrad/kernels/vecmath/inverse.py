"""asin, acos, atan and atan2.

For x above 1/2, asin(x) is pi/2 - 2*asin(sqrt((1 - x)/2)), so one polynomial on [0, 1/2] is enough for asin and acos.
atan2 maps the plane to the octant 0 <= a <= b.  If a/b is above 0.66, it subtracts pi/4 from the angle, so that the
polynomial is needed only up to 0.66.  atan is the angle of (1, x).  Both mappings are from S. L. Moshier, "Methods and
Programs for Mathematical Functions", 1989, chapter 5.  The polynomials are minimax fits of the relative error by the
algorithm of Remez.
"""

import math

import numpy as np

ANGLE_180_32, REST_180_32 = 3.1415927410125732, -8.742278000372485e-08
ANGLE_180_64, REST_180_64 = 3.141592653589793, 1.2246467991473532e-16
ANGLE_90_32, REST_90_32 = 1.5707963705062866, -4.3711390001862426e-08
ANGLE_90_64, REST_90_64 = 1.5707963267948966, 6.123233995736766e-17
ANGLE_45_32, REST_45_32 = 0.7853981852531433, -2.1855695000931213e-08
ANGLE_45_64, REST_45_64 = 0.7853981633974483, 3.061616997868383e-17
HUGE_32, HUGE_64 = 1e37, 1e307

# (asin(x) - x) / x**3 in x**2 on [0, 1/2], relative error of asin 2**-27.6 and 2**-55.8
ASIN_32 = (0.16666752, 0.07495334, 0.04546455, 0.024211599, 0.042108715)
ASIN_64 = (
    0.1666666666666676, 0.07499999999971219, 0.044642857174042185, 0.030381942740134213, 0.022372213983602316,
    0.017351631175968243, 0.01398058152359508, 0.011400920659621866, 0.010768792167113286, 0.003750217726508178,
    0.02160003330644811, -0.020846353997590893, 0.03253290326059907,
)  # fmt: skip
# (atan(t) - t) / t**3 in t**2 on [0, 0.66], relative error of atan about 2**-27 and 2**-57
ATAN_32 = (-0.33333322, 0.1999932, -0.14271478, 0.109684326, -0.08304237, 0.051589448, -0.017786961)
ATAN_64 = (
    -0.33333333333333237, 0.19999999999976245, -0.14285714283683237, 0.11111111023395417, -0.09090906834466818,
    0.07692269798514971, -0.06666227012500713, 0.05878697129194848, -0.05240845628161658, 0.04660456236818708,
    -0.04001330101904938, 0.031074828025303265, -0.01964634785701545, 0.008602852277487198,
    -0.0018880411662198608,
)  # fmt: skip


def asin(x):
    """Return the arc sine of x, nan outside [-1, 1]; the error is below 1.5 ulp."""
    a = abs(x)
    far = a > 0.5
    z = 0.5 - 0.5 * a if far else a * a
    s = np.sqrt(z) if far else a
    p = horner(z, ASIN)
    rest = s * (z * p)
    top = ANGLE_90 - 2.0 * s
    lost = (ANGLE_90 - top) - 2.0 * s
    y = top + (lost - (2.0 * rest - REST_90)) if far else s + rest
    return math.copysign(y, x)


def acos(x):
    """Return the arc cosine of x, nan outside [-1, 1]; the error is below 1.5 ulp."""
    a = abs(x)
    far = a > 0.5
    z = 0.5 - 0.5 * a if far else a * a
    s = np.sqrt(z) if far else x
    p = horner(z, ASIN)
    rest = s * (z * p)
    y = 2.0 * (s + rest)
    y = y if x > 0.0 else ANGLE_180 - (y - REST_180)
    return y if far else ANGLE_90 - (s + (rest - REST_90))


def angle(a, b):
    """Return the angle of the point (b, a) in the first quadrant, neither both 0 nor both infinite."""
    steep = a > b
    low = b if steep else a
    high = a if steep else b
    far = low > 0.66 * high
    t = (low - high if far else low) / (low + high if far else high)
    z = t * t
    p = horner(z, ATAN)
    rest = t * (z * p)
    y = ANGLE_45 + (t + (rest + REST_45)) if far else t + rest
    return ANGLE_90 - (y - REST_90) if steep else y


def atan(x):
    """Return the arc tangent of x; the error is below 1.5 ulp."""
    return math.copysign(angle(abs(x), 1.0), x)


def atan2(y, x):
    """Return the angle of the point (x, y); the error is below 2 ulp.

    For zeros and infinities, the result is that of IEEE 754-2008 section 9.2.1.
    """
    a = abs(y)
    b = abs(x)
    most = a if a > b else b
    same = a == INFINITY and b == INFINITY
    a = 1.0 if same else a
    b = 1.0 if same or most == 0.0 else b
    # Scale both sides.  Otherwise `low + high` in `angle` overflows for huge sides, and `0.66 * high` is inexact for
    # subnormal sides.
    scale = LIFT if most < SMALLEST_NORMAL + SMALLEST_NORMAL else 1.0
    scale = 0.25 if most > HUGE else scale
    r = angle(a * scale, b * scale)
    negative = T(x).view(U) >= SIGN_BIT
    r = ANGLE_180 - (r - REST_180) if negative else r
    return math.copysign(r, y)
