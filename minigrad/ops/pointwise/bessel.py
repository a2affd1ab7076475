"""Modified Bessel functions of the first kind, of order 0 and 1, and the same functions times exp(-|x|).

Each function is a polynomial in |x|/4 - 1 for |x| up to 8, and in 16/|x| - 1 for larger |x|.  The polynomials come from
the Chebyshev series of Cephes for exp(-x)*I0(x) and exp(-x)*I1(x)/x, and for exp(-x)*sqrt(x) times I0(x) and I1(x).
The coefficients were recomputed to 45 digits and expanded in powers.  On [-1, 1] the expansion loses no accuracy, since
the magnitudes of the coefficients add up to at most 1.  Source: Moshier, Cephes Math Library 2.8, i0.c and i1.c.  The
derivatives are those of the series, so no digit is lost for large |x|.
"""

# The bodies of scalar functions are data, which the specialiser reads; they carry no types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

from minigrad.declare.decorators import elementwise, scalar
from minigrad.declare.names import SPECIAL
from minigrad.declare.rules import to_float


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


@elementwise(dtype=to_float, namespace=SPECIAL, vjp="derived")
def i0e(x):
    """Return exp(-|x|) * I0(x), the Bessel function of `i0`.  Gradient: g*(i1e(x) - sign(x)*y), 0 at 0."""
    return scaled_0(x)


@elementwise(dtype=to_float, namespace=SPECIAL, vjp="derived")
def i1e(x):
    """Return exp(-|x|) * I1(x), the Bessel function of `i1`.  Gradient: g*(i0e(x) - y*(sign(x) + 1/x)), g/2 at 0."""
    return scaled_1(x)


@elementwise(dtype=to_float, vjp=(lambda g, x: g * i1(x),))
def i0(x):
    """Return the modified Bessel function I0: the mean of exp(x*cos(t)).  Gradient: g*i1(x)."""
    return math.exp(math.fabs(x)) * scaled_0(x)


@elementwise(dtype=to_float, namespace=SPECIAL, vjp="derived")
def i1(x):
    """Return the modified Bessel function I1, the derivative of I0.  Gradient: g*(i0(x) - y/x), g/2 at 0."""
    return math.exp(x if x >= 0 else -x) * scaled_1(x)
