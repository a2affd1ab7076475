"""lgamma, the logarithm of |gamma(x)|.

From 7 on, it is Stirling's series.  Below 7, gamma(x + 1) = x*gamma(x) leads to [1.5, 2.5]: the result is the logarithm
of the factors plus a polynomial around 2, whose form preserves the zeros at 1 and 2.  float32 computes in float64
registers.  For negative arguments, `NAME_any` uses the reflection gamma(x)*gamma(1 - x) = pi/sin(pi*x), with the sine
of the distance to the nearest integer; a loop without such arguments runs without it.  Source: M. Abramowitz and I. A.
Stegun, "Handbook of Mathematical Functions", 1964, 6.1.15, 6.1.17 and 6.1.40; minimax fits by the algorithm of Remez.
"""

import numpy as np

STIRLING_FROM = 7.0
STIRLING_CONSTANT = 0.41893853320467274178  # log(2*pi)/2 - 1/2

# lgamma(2 + t) / t on |t| <= 1/2, relative error 2**-56.2
LGAMMA_64 = (
    0.42278433509846713, 0.3224670334241132, -0.06735230105319694, 0.02058080842778765, -0.007385551028753056,
    0.002890510330538716, -0.001192753909278657, 0.0005096695309834287, -0.00022315479801356095,
    9.945740674656787e-05, -4.49258691194821e-05, 2.0508285869870735e-05, -9.441428552399224e-06,
    4.368214694006698e-06, -2.0340469115156385e-06, 9.800945326435333e-07, -4.521237784056589e-07,
    1.5906759294321336e-07, -1.157812612410892e-07, 1.0050141869800846e-07,
)  # fmt: skip
# (sin(pi*w)/(pi*w) - 1) / w**2 in w**2 on |w| <= 1/2, relative error of the sine 2**-61.7
SINE_OF_TURN_64 = (
    -1.6449340668482264, 0.8117424252833401, -0.1907518241215014, 0.02614784780546343, -0.0023460808938003796,
    0.00014842783058101702, -6.972067667936343e-06, 2.449934203606037e-07,
)  # fmt: skip
# (lgamma(x) - (x - 1/2)*log(x) + x - log(2*pi)/2) * x in 1/x**2 from 7 on
STIRLING_64 = (
    0.08333333333333333, -0.002777777777759275, 0.0007936507795995431, -0.0005952339774803404,
    0.0008411666435039082, -0.0018741014049481301, 0.004738301156043415,
)  # fmt: skip


def is_below_zero(x):
    """Return whether an argument needs the reflection."""
    return x < 0.0


def lgamma_64(x):
    """Return log(gamma(x)) for x >= 0; the error is below 4 ulp."""
    # The polynomial is evaluated at t + 2.  factor is the ratio of gamma at t + 2 and at x.
    low = x < 1.5
    lower = x < 0.5
    t = x if lower else (x - 1.0 if low else x - 2.0)
    factor = (x * (x + 1.0) if lower else x) if low else 1.0
    t = t - 1.0 if t > 0.5 else t
    factor = factor * (t + 2.0) if x > 2.5 else factor
    t = t - 1.0 if t > 0.5 else t
    factor = factor * (t + 2.0) if x > 3.5 else factor
    t = t - 1.0 if t > 0.5 else t
    factor = factor * (t + 2.0) if x > 4.5 else factor
    t = t - 1.0 if t > 0.5 else t
    factor = factor * (t + 2.0) if x > 5.5 else factor
    t = t - 1.0 if t > 0.5 else t
    factor = factor * (t + 2.0) if x > 6.5 else factor
    far = x >= STIRLING_FROM
    l = log(x if far else factor)
    p = horner(t, LGAMMA)
    r = 1.0 / x
    z = r * r
    q = horner(z, STIRLING)
    y = (x - 0.5) * (l - 1.0) + (STIRLING_CONSTANT + r * q)
    return y if far else t * p + (-l if low else l)


def lgamma_32(x):
    """Return log(gamma(x)) for x >= 0; the error is below 1 ulp."""
    return np.float32(lgamma_64(np.float64(x)))


def lgamma_any_64(x):
    """Return log(|gamma(x)|) for any x.

    For x < 0, it is the difference of a logarithm of sin(pi*x) and lgamma(|x|), and the error is below 3 ulp of the
    larger of these two.  So the error is below 4 ulp of the result if the result is at least half as large.  Near the
    zeros, which are between the poles from -2 downwards, only the absolute error is bounded, by 3 ulp of lgamma(|x|).
    """
    below = x < 0.0
    a = abs(x)
    # gamma(x) * gamma(1 - x) = pi/sin(pi*x).  For a from 1/2 on, 1 + a would be rounded, so gamma(1 - x) is computed
    # as a*gamma(a).
    near = below & (a < 0.5)
    y = lgamma_64(1.0 + a if near else (a if below else x))
    # The distance to the nearest integer is exact.
    w = abs(x - np.rint(x))
    z = w * w
    p = horner(z, SINE_OF_TURN_64)
    sine = w + w * (z * p)
    reflected = -log_64(sine if near else a * sine) - y
    pole = (w == 0.0) | (a == INFINITY)
    return (INFINITY if pole else reflected) if below else y


def lgamma_any_32(x):
    """Return log(|gamma(x)|) for any x; the error is below 1 ulp, except near the zeros below 0.

    Near these zeros, the error of the float64 computation is added.
    """
    return np.float32(lgamma_any_64(np.float64(x)))
