"""Special functions: the gamma function and its relatives, Bessel functions, and the normal distribution.

The gamma function's derivatives: for x >= 0, a function is a sum of ten terms of its recurrence, plus its asymptotic
series at x + 10.  For x < 0, the reflection formula is used.  Source: Abramowitz and Stegun, Handbook of Mathematical
Functions, 6.3.7 and 6.3.18, 6.4.7 and 6.4.11, 23.2.9 (Euler-Maclaurin).

The modified Bessel functions are of the first kind.  Each is a polynomial in |x|/4 - 1 for |x| up to 8, and in
16/|x| - 1 for larger |x|.  The polynomials come from the Chebyshev series of Cephes for exp(-x)*I0(x) and
exp(-x)*I1(x)/x, and for exp(-x)*sqrt(x) times I0(x) and I1(x).  The coefficients were recomputed to 45 digits and
expanded in powers.  On [-1, 1] the expansion loses no accuracy, since the magnitudes of the coefficients add up to at
most 1.  Source: Moshier, Cephes Math Library 2.8, i0.c and i1.c.  The derivatives are those of the series, so no digit
is lost for large |x|.

`explog.py` has erf and erfc, and ndtr, which is the normal distribution function.
"""

from __future__ import annotations

import math
from typing import Annotated

from minigrad.core.roles import Number
from minigrad.declare.decorators import composed, elementwise, scalar
from minigrad.declare.names import SPECIAL
from minigrad.declare.rules import real_to_float, to_float
from minigrad.runtime.tensor import Tensor

# ---- the gamma function and the zeta function ------------------------------------------------------------------------


@elementwise(dtype=to_float, vjp=(lambda g, x: g * x.digamma(),))
def lgamma(x):
    """Return log(|gamma(x)|); inf at 0 and at negative integers.  Gradient: g*digamma(x)."""
    return math.lgamma(x)


@scalar
def digamma_above(x):
    """Return digamma(x) for x >= 0."""
    z = x + 10
    r = 1 / (z * z)
    far = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12))))))
    near = 1 / x + 1 / (x + 1) + 1 / (x + 2) + 1 / (x + 3) + 1 / (x + 4)
    more = 1 / (x + 5) + 1 / (x + 6) + 1 / (x + 7) + 1 / (x + 8) + 1 / (x + 9)
    return math.log(z) - 1 / 2 / z - far - (near + more)


@elementwise(dtype=to_float, vjp=(lambda g, x: g * trigamma(x),))
def digamma(x):
    """Return the derivative of lgamma; -inf at 0, inf at -0.0, and nan at negative integers.

    Gradient: g*polygamma(1, x).
    """
    turn = math.pi / math.tan(math.pi * (x - math.rint(x)))  # type: ignore[attr-defined]
    whole = x == math.rint(x)  # type: ignore[attr-defined]
    return digamma_above(x) if x >= 0 else math.nan if whole else digamma_above(1 - x) - turn


@scalar
def inverse_square(x):
    """Return x**-2."""
    return 1 / x / x


@scalar
def trigamma_above(x):
    """Return trigamma(x) for x >= 0."""
    z = x + 10
    r = 1 / (z * z)
    far = r / z * (1 / 6 - r * (1 / 30 - r * (1 / 42 - r * (1 / 30 - r * (5 / 66 - r * (691 / 2730 - r * (7 / 6)))))))
    near = inverse_square(x) + inverse_square(x + 1) + inverse_square(x + 2) + inverse_square(x + 3)
    more = inverse_square(x + 4) + inverse_square(x + 5) + inverse_square(x + 6) + inverse_square(x + 7)
    return 1 / z + r / 2 + far + (near + (more + inverse_square(x + 8) + inverse_square(x + 9)))


@scalar
def reflection(x):
    """Return (pi / sin(pi*x))**2."""
    quotient = math.pi / math.sin(math.pi * (x - math.rint(x)))  # type: ignore[attr-defined]
    return quotient * quotient


@elementwise(dtype=to_float, namespace=(), vjp="derived")
def trigamma(x):
    """Return the derivative of digamma; inf at 0 and at negative integers.  Gradient: g*polygamma(2, x)."""
    return trigamma_above(x) if x >= 0 else reflection(x) - trigamma_above(1 - x)


@scalar
def zeta_above(input, other):
    """Return the sum of (k + other)**-input over all k >= 0, for other > 0 and input > 1 (Euler-Maclaurin formula)."""
    z = other + 10
    r = 1 / (z * z)
    high = (input + 9) * (input + 10) * r * (691 / 1307674368000 - (input + 11) * (input + 12) * r / 74724249600)
    middle = (input + 5) * (input + 6) * r * (1 / 1209600 - (input + 7) * (input + 8) * r * (1 / 47900160 - high))
    low = 1 / 12 - (input + 1) * (input + 2) * r * (1 / 720 - (input + 3) * (input + 4) * r * (1 / 30240 - middle))
    far = z**-input * (z / (input - 1) + 1 / 2 + input / z * low)
    near = other**-input + (other + 1) ** -input + (other + 2) ** -input + (other + 3) ** -input
    more = (other + 4) ** -input + (other + 5) ** -input + (other + 6) ** -input + (other + 7) ** -input
    return near + more + (other + 8) ** -input + (other + 9) ** -input + far


@scalar
def zeta_below(input, other):
    """Return the sum of `zeta_above` for other < 0 and an integer input.

    The terms with a negative base k + other, whose sign is (-1)**input, are added separately.
    """
    part = other - math.floor(other)
    terms = zeta_above(input, 1 - part) - zeta_above(input, 1 - other)
    odd = input - 2 * math.floor(input / 2)
    return zeta_above(input, part) + (-terms if odd == 1 else terms)


@elementwise(
    dtype=to_float, namespace=SPECIAL, vjp=(None, lambda g, input, other: -(g * input) * zeta(input + 1.0, other))
)
def zeta(input, other):
    """Return the Hurwitz zeta function: the sum of (k + other)**-input over all k >= 0.

    The result is inf where input is 1, and nan where input is less than 1.  The result is also inf where `other` is 0
    or a negative integer.  For any other negative value of `other`, the result is nan unless input is an integer.
    Gradient: -g*input*zeta(input + 1, other) for other; the function is not differentiable with respect to input.
    """
    pole = input == 1 or (other <= 0 and other == math.floor(other))
    below = zeta_below(input, other) if input == math.floor(input) else math.nan
    return math.nan if input < 1 else math.inf if pole else zeta_above(input, other) if other > 0 else below


@composed(method=False)
def polygamma(n: Annotated[int, Number(0, whole=True, advice="pass n=0 for digamma")], input: Tensor) -> Tensor:
    """Return the n-th derivative of digamma.  Gradient: g*polygamma(n + 1, input).

    Raises ArgumentError for a negative n.
    """
    if n < 2:
        return trigamma(input) if n else digamma(input)
    return zeta(n + 1.0, input) * float(math.factorial(n) * (-1) ** (n + 1))


@composed(in_place=True)
def mvlgamma(input: Tensor, p: Annotated[int, Number(1, whole=True, advice="pass p=1 for lgamma")]) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension p.

    It is the sum of lgamma(input - k/2) over k from 0 to p - 1, plus p*(p - 1)/4*log(pi).
    Gradient: g times the sum of digamma(input - k/2) over k from 0 to p - 1.
    Raises ArgumentError if p is not positive.
    """
    total = lgamma(input) + p * (p - 1) / 4 * math.log(math.pi)
    for k in range(1, p):
        total = total + lgamma(input - k / 2)
    return total


# ---- modified Bessel functions of order 0 and 1 ----------------------------------------------------------------------


@scalar
def near_0(a):
    """Return exp(-a) * I0(a) for a up to 8."""
    z = a / 4 - 1
    p = ((4.470516727511741e-09 * z - 1.6316042856792757e-08) * z + 2.6265363151970112e-08) * z - 8.591406444264668e-08
    p = ((p * z + 3.675842926555429e-07) * z - 1.142045323881917e-06) * z + 3.2293390826404927e-06
    p = ((p * z - 9.183742586936203e-06) * z + 2.520232727107692e-05) * z - 6.556805964401791e-05
    p = ((p * z + 0.00016240542162878106) * z - 0.00038286526498299526) * z + 0.0008563152748272306
    p = ((p * z - 0.0018119030567637056) * z + 0.003617126448897043) * z - 0.006792394790940051
    p = ((p * z + 0.011960077907026221) * z - 0.019682655791721182) * z + 0.030177912022978357
    p = ((p * z - 0.0429859492954222) * z + 0.05677703201991695) * z - 0.06954119563168235
    p = ((p * z + 0.07927522590716347) * z - 0.08496338091541732) * z + 0.08734341617552313
    p = ((p * z - 0.08904344136077755) * z + 0.09451562853995103) * z - 0.11300432688620536
    return p * z + 0.2070019212239867


@scalar
def far_0(a):
    """Return exp(-a) * sqrt(a) * I0(a) for a >= 8."""
    z = 16 / a - 1
    p = ((9.36508689281819e-11 * z + 3.629355229718733e-11) * z - 6.633287112547084e-10) * z - 2.8033819978869995e-10
    p = ((p * z + 2.1968921378829006e-09) * z + 1.1050558794424347e-09) * z - 4.575553424534973e-09
    p = ((p * z - 3.1346276429240787e-09) * z + 6.560138746917057e-09) * z + 7.3359687108161536e-09
    p = ((p * z - 5.0381064879032845e-09) * z - 1.3326094405766387e-08) * z - 6.8493381882867694e-09
    p = ((p * z + 7.534355843803342e-09) * z + 2.1566251453104354e-08) * z + 3.932889375114634e-08
    p = ((p * z + 8.872034383314144e-08) * z + 2.973596046562712e-07) * z + 1.4838476651250266e-06
    p = ((p * z + 1.1143033800708978e-05) * z + 0.00013621607438984735) * z + 0.0033605519836677504
    return p * z + 0.4021765094450081


@scalar
def near_1(a):
    """Return exp(-a) * I1(a) / a for a up to 8."""
    z = a / 4 - 1
    p = ((-1.41695079121077e-09 * z + 5.2131237878886215e-09) * z - 8.984420960424589e-09) * z + 2.987385645901576e-08
    p = ((p * z - 1.2424759932738304e-07) * z + 3.9094375480236725e-07) * z - 1.1327072698408053e-06
    p = ((p * z + 3.2758438130588964e-06) * z - 9.136543922789093e-06) * z + 2.42486684188831e-05
    p = ((p * z - 6.142360299099794e-05) * z + 0.00014841259927108295) * z - 0.0003411760289073331
    p = ((p * z + 0.0007445158727006065) * z - 0.00153887456203039) * z + 0.003005761416447221
    p = ((p * z - 0.005534567847563678) * z + 0.009583962344356725) * z - 0.015571309243980052
    p = ((p * z + 0.02368601693352639) * z - 0.03367135552108536) * z + 0.04467457262306667
    p = ((p * z - 0.055280039226991644) * z + 0.06376740371333643) * z - 0.06848260620582691
    return ((p * z + 0.06805759990951268) * z - 0.061124338029666284) * z + 0.04468770987560883


@scalar
def far_1(a):
    """Return exp(-a) * sqrt(a) * I1(a) for a >= 8."""
    z = 16 / a - 1
    p = ((-9.752397204138195e-11 * z - 3.365431853180176e-11) * z + 6.917089294193807e-10) * z + 2.6340771095136483e-10
    p = ((p * z - 2.297004161885201e-09) * z - 1.0594544160443166e-09) * z + 4.810597405089944e-09
    p = ((p * z + 3.086886736722725e-09) * z - 6.983839624895866e-09) * z - 7.44444147719727e-09
    p = ((p * z + 5.59337010179061e-09) * z + 1.3958551001385955e-08) * z + 6.8401389977069586e-09
    p = ((p * z - 8.409182040442918e-09) * z - 2.339250374801858e-08) * z - 4.313196489977733e-08
    p = ((p * z - 1.000109565963654e-07) * z - 3.4838534380376333e-07) * z - 1.8349102358955385e-06
    p = ((p * z - 1.5038547209501858e-05) * z - 0.0002192357638317243) * z - 0.009749577193235635
    return p * z + 0.38939845902587233


@scalar
def scaled_0(x):
    """Return exp(-|x|) * I0(x)."""
    a = math.fabs(x)
    return near_0(a) if a <= 8 else far_0(a) / math.sqrt(a)


@scalar
def scaled_1(x):
    """Return exp(-|x|) * I1(x); every derivative at 0 is the one-sided derivative from above."""
    a = x if x >= 0 else -x
    return x * near_1(a) if a <= 8 else math.copysign(far_1(a) / math.sqrt(a), x)


@elementwise(dtype=real_to_float, namespace=SPECIAL, vjp="derived")
def i0e(x):
    """Return exp(-|x|) * I0(x), the Bessel function of `i0`.  Gradient: g*(i1e(x) - sign(x)*y), 0 at 0."""
    return scaled_0(x)


@elementwise(dtype=to_float, namespace=SPECIAL, vjp="derived")
def i1e(x):
    """Return exp(-|x|) * I1(x), the Bessel function of `i1`.  Gradient: g*(i0e(x) - y*(sign(x) + 1/x)), g/2 at 0."""
    return scaled_1(x)


@elementwise(dtype=real_to_float, vjp=(lambda g, x: g * i1(x),))
def i0(x):
    """Return the modified Bessel function I0: the mean of exp(x*cos(t)).  Gradient: g*i1(x)."""
    return math.exp(math.fabs(x)) * scaled_0(x)


@elementwise(dtype=to_float, namespace=SPECIAL, vjp="derived")
def i1(x):
    """Return the modified Bessel function I1, the derivative of I0.  Gradient: g*(i0(x) - y/x), g/2 at 0."""
    return math.exp(x if x >= 0 else -x) * scaled_1(x)


# ---- the inverses of erf and ndtr, and the logarithm of ndtr ---------------------------------------------------------


@scalar
def closer(y, a, c):
    """Return the result of one step of Halley's method from y.

    The step solves erf(y) = a for a < 0.5, and otherwise erfc(y) = c, because 1 - erf(y) would cancel.
    """
    root = math.exp(y * y / 2)
    u = (math.erf(y) - a if a < 0.5 else c - math.erfc(y)) * root * root * 0.8862269254527580
    return y - u / (1 + y * u)


@scalar
def inverse(a, c):
    """Return the y with erf(y) = a and erfc(y) = c = 1 - a, for a from 0 to 1.

    Two steps of Halley's method improve a quotient of polynomials, which is accurate to three digits.  Source of the
    quotient: Blair, Edwards and Johnson, Mathematics of Computation 30 (1976), 827-830, with PyTorch's coefficients.
    """
    z = math.sqrt(-math.log(c / 2))
    far = ((1.641345311 * z + 3.429567803) * z - 1.624906493) * z - 1.970840454
    s = a * a
    near = ((-0.140543331 * s + 0.914624893) * s - 1.645349621) * s + 0.886226899
    under = (((0.012229801 * s - 0.329097515) * s + 1.442710462) * s - 2.118377725) * s + 1
    first = a * near / under if a <= 0.7 else far / ((1.637067800 * z + 3.543889200) * z + 1)
    return math.inf if c == 0 else closer(closer(first, a, c), a, c)


@scalar
def short_inverse(x):
    """Return erfinv(x) for float32, with an error below 3 ulp.

    With w = -log(1 - x**2), erfinv(x)/x is a polynomial in w, and for w >= 5 in sqrt(w) - 3: M. Giles, "Approximating
    the erfinv function", GPU Computing Gems, 2011.  The polynomials are minimax fits of the relative error, 2**-27.4.
    """
    w = -math.log((1 - x) * (1 + x))
    end = (2.2103045e-07 - 8.791013e-09 * w) * w - 1.9764607e-06
    middle = ((end * w + 3.9832357e-06) * w + 4.4565219e-05) * w - 1.2748170e-04
    near = (((middle * w - 2.3342962e-03) * w + 1.1548654e-02) * w + 2.3201382e-01) * w + 8.8622689e-01
    s = math.sqrt(w) - 3
    last = (1.2896214e-04 * s - 3.1872411e-04) * s - 7.6614553e-05
    inner = ((last * s + 1.4958574e-03) * s - 3.5869910e-03) * s + 5.6831720e-03
    far = (((inner * s - 7.6394096e-03) * s + 9.4456840e-03) * s + 1.0016751e00) * s + 2.8329768e00
    return x * (near if w < 5 else far)


@elementwise(dtype=to_float, vjp=(lambda g, y: g * (y * y).exp() * (math.sqrt(math.pi) / 2.0),))
def erfinv(x):
    """Return the y with erf(y) = x; -inf at -1, inf at 1, and nan outside [-1, 1].

    Gradient: g*sqrt(pi)/2*exp(y**2).
    """
    full = math.copysign(inverse(math.fabs(x), 1 - math.fabs(x)), x)
    # In float32, 1 + 1e-10 is 1.  The compiler leaves out the value that a dtype does not need.
    return full if 1.0 + 1e-10 > 1.0 else short_inverse(x)


@elementwise(
    dtype=to_float, namespace=SPECIAL,
    vjp=(lambda g, y: g * (y * y * 0.5).exp() * math.sqrt(2.0 * math.pi),),
)  # fmt: skip
def ndtri(x):
    """Return the y with ndtr(y) = x; -inf at 0, inf at 1, and nan outside [0, 1].

    Gradient: g*sqrt(2*pi)*exp(y**2/2).
    """
    tail = x if x < 0.5 else 1 - x
    return (1.4142135623730951 if x >= 0.5 else -1.4142135623730951) * inverse(1 - 2 * tail, 2 * tail)


@scalar
def tail_fraction(t):
    """Return exp(-t**2/2) / sqrt(2*pi) / (1 - ndtr(t)) for t >= 12, by a continued fraction of ten levels."""
    return t + 1 / (t + 2 / (t + 3 / (t + 4 / (t + 5 / (t + 6 / (t + 7 / (t + 8 / (t + 9 / (t + 10 / t)))))))))


@elementwise(dtype=to_float, namespace=SPECIAL, vjp="derived")
def log_ndtr(x):
    """Return log(ndtr(x)) without underflow.

    For x < -12, it is computed from the continued fraction of the tail.  Source: Abramowitz and Stegun, 26.2.14.
    Gradient: g*exp(-x**2/2)/sqrt(2*pi)/ndtr(x), which is about -g*x far below 0.
    """
    tail = -x * x / 2 - 0.9189385332046727 - math.log(tail_fraction(-x))
    upper = math.log1p(-math.normal_cdf(-x))  # type: ignore[attr-defined]
    return tail if x < -12 else upper if x > 0 else math.log(math.normal_cdf(x))  # type: ignore[attr-defined]
