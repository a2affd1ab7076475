"""Functions of complex numbers, composed of the functions of their real and imaginary parts.

`T` is the type of a part.  A complex number is a pair in registers, and memory has the real part before the imaginary
part, so LLVM vectorises a loop of these functions as it does a loop over pairs of floats.  The error is a few ulp of
the magnitude of the result; special values follow ISO C99, annex G.  The identities are those of M. Abramowitz and I.
Stegun, "Handbook of Mathematical Functions", 1964, chapter 4.  The inverse functions are those of T. E. Hull, T. F.
Fairgrieve and P. T. P. Tang, "Implementing the complex arcsine and arccosine functions using exception handling", ACM
Transactions on Mathematical Software 23(3), 1997.

A function that needs the sine and cosine of an imaginary part has a form `NAME_any` for parts beyond their range, which
`instance` derives from its text.
"""

import math

import numpy as np

HALF_TURN, QUARTER_TURN = 3.141592653589793, 1.5707963267948966
LN2, LN10 = 0.6931471805599453, 2.302585092994046
# Above this real part, exp is computed in two factors, because e**x may overflow although e**x * cos(y) does not.
SPLIT_FROM_32, SPLIT_FROM_64 = 80.0, 700.0
SPLIT_BY, SPLIT_FACTOR = 40.0, 2.3538526683701998e17
BIG_32, BIG_64 = 1e18, 1e150  # the squares of larger numbers may overflow
FLAT = 1e-8  # the height of an angle above a smaller part is the part times the derivative of the arc sine
NEAR_POLE = 1e-18  # next to 1, the square of a smaller imaginary part underflows
# The bits of an exponent; those whose difference from an exponent is that of a scale, below 1 after it; and the largest
# exponent for which this scale is not a subnormal number.
EXPONENT_BITS_32, SCALE_BITS_32, MOST_BITS_32, ONE_EXPONENT_32 = 0x7F800000, 0x7E800000, 0x7E000000, 0x00800000
EXPONENT_BITS_64, SCALE_BITS_64, MOST_BITS_64 = 0x7FF0000000000000, 0x7FD0000000000000, 0x7FC0000000000000
CROSSOVER = 0.6417  # Hull, Fairgrieve and Tang: below it, the arcsine of the quotient is accurate


def is_far_imag(z):
    """Return whether the imaginary part is beyond the range of sin and cos."""
    return is_far(z.imag)


def is_far_real(z):
    """Return whether the real part is beyond the range of sin and cos."""
    return is_far(z.real)


def is_far_power(a, b):
    """Return whether b * log(a) may have an imaginary part beyond the range of sin and cos."""
    return (abs(b.real) + abs(b.imag)) * 1024.0 > FAR


def cabs_32(z):
    """Return |z|; the power of 2 of the larger part is first removed, so that no square overflows."""
    x = abs(z.real)
    y = abs(z.imag)
    most = x if x > y else y
    bits = U(T(most).view(U) & EXPONENT_BITS)
    bits = bits if bits < MOST_BITS else MOST_BITS
    scale = U(SCALE_BITS - bits).view(T)
    back = U(bits + ONE_EXPONENT).view(T)
    c = x * scale
    d = y * scale
    r = math.sqrt(c * c + d * d) * back
    return INFINITY if (x == INFINITY) | (y == INFINITY) else r


def cabs_64(z):
    """Return |z| without overflow."""
    return hypot(z.real, z.imag)


def cdiv(a, b):
    """Return a / b; the power of 2 of the larger part of b is first removed, so that no square overflows."""
    x = abs(b.real)
    y = abs(b.imag)
    most = x if (x > y) | (x != x) else y
    bits = U(T(most).view(U) & EXPONENT_BITS)
    scale = U(SCALE_BITS - (bits if bits < MOST_BITS else MOST_BITS)).view(T)
    c = b.real * scale
    d = b.imag * scale
    # A scale above 1 would let large parts of a overflow; after the products, it is multiplied by the quotient.
    before = (scale < 1.0) | ((abs(a.real) < 1.0) & (abs(a.imag) < 1.0))
    p = a.real * (scale if before else 1.0)
    q = a.imag * (scale if before else 1.0)
    after = 1.0 if before else scale
    inverse = 1.0 / (c * c + d * d)
    real = (p * c + q * d) * inverse * after
    imag = (q * c - p * d) * inverse * after
    # A number divided by 0 is infinite in each part that is not 0, and a finite number divided by infinity is 0; as in
    # NumPy, a number whose parts are both infinite has no direction, and the quotient is nan.
    none = a.real * 0.0 + a.imag * 0.0
    endless = (most == INFINITY) & (x != y)
    real = a.real * INFINITY if most == 0.0 else (none if endless else real)
    imag = a.imag * INFINITY if most == 0.0 else (none if endless else imag)
    return complex(real, imag)


def exponential(x, y, s, c):
    """Return e**(x + i*y), given the sine and cosine of y; the imaginary part of a real number stays 0."""
    split = x > SPLIT_FROM
    e = exp(x - SPLIT_BY if split else x)
    more = SPLIT_FACTOR if split else 1.0
    c = (0.0 if x == -INFINITY else (1.0 if x == INFINITY else c)) if c != c else c
    s = 0.0 if (s != s) & (x == -INFINITY) else s
    return complex((e * c) * more, y if y == 0.0 else (e * s) * more)


def cexp(z):
    """Return e**z."""
    return exponential(z.real, z.imag, sin(z.imag), cos(z.imag))


def cexp2(z):
    """Return 2**z."""
    return cexp(complex(z.real * LN2, z.imag * LN2))


def less_one(z, s, c, half):
    """Return e**z - 1, given the sine and cosine of y and the sine of y/2, without cancellation for a small z."""
    w = exponential(z.real, z.imag, s, c)
    far = abs(z.real) > SPLIT_FROM  # there, the 1 is less than a rounding error, or all of the real part
    return complex(w.real - 1.0 if far else expm1(z.real) * c - 2.0 * half * half, w.imag)


def cexpm1(z):
    """Return e**z - 1."""
    return less_one(z, sin(z.imag), cos(z.imag), sin(z.imag * 0.5))


def magnitude_log_32(x, y):
    """Return log(sqrt(x**2 + y**2)), in float64, whose range has all squares of float32."""
    a = np.float64(x)
    b = np.float64(y)
    a = abs(a)
    b = abs(b)
    high = a if a > b else b
    low = b if a > b else a
    near = (high > HALF_64) & (high < TWO_64)
    above = (high - ONE_64) * (high + ONE_64) + low * low
    square = high * high + low * low
    square = INFINITY_64 if (a == INFINITY_64) | (b == INFINITY_64) else square
    return np.float32(HALF_64 * (log1p_64(above) if near else log_64(square)))


def magnitude_log_64(x, y):
    """Return log(sqrt(x**2 + y**2)); near 1, from the distance to 1."""
    a = abs(x)
    b = abs(y)
    high = a if a > b else b
    low = b if a > b else a
    near = (high > 0.5) & (high < 2.0)
    above = (high - 1.0) * (high + 1.0) + low * low
    huge = high > BIG
    far = log(hypot(x * 0.5, y * 0.5) if huge else hypot(x, y)) + (LN2 if huge else 0.0)
    return 0.5 * log1p(above) if near else far


def clog(z):
    """Return the logarithm with an imaginary part from -pi to pi."""
    return complex(magnitude_log(z.real, z.imag), atan2(z.imag, z.real))


def clog10(z):
    """Return the logarithm to base 10."""
    y = clog(z)
    return complex(y.real / LN10, y.imag / LN10)


def clog2(z):
    """Return the logarithm to base 2."""
    y = clog(z)
    return complex(y.real / LN2, y.imag / LN2)


def clog1p(z):
    """Return log(1 + z), without cancellation for a small z."""
    x = z.real
    y = z.imag
    near = abs(x) + abs(y) < 0.5
    small = 0.5 * log1p(x * (2.0 + x) + y * y)
    return complex(small if near else magnitude_log(1.0 + x, y), atan2(y, 1.0 + x))


def csqrt(z):
    """Return the root with a real part that is not negative."""
    x = abs(z.real)
    y = abs(z.imag)
    huge = (x > BIG) | (y > BIG)
    shrink = 0.0625 if huge else 1.0
    a = x * shrink
    h = math.sqrt((hypot(a, y * shrink) + a) * 0.5)
    other = 0.0 if h == 0.0 else (y * shrink) / (h + h)
    grow = 4.0 if huge else 1.0
    real = (h if z.real >= 0.0 else other) * grow
    imag = (other if z.real >= 0.0 else h) * grow
    real = INFINITY if y == INFINITY else (z.real if z.real != z.real else real)
    imag = INFINITY if y == INFINITY else (z.real if z.real != z.real else imag)
    return complex(real, math.copysign(imag, z.imag))


def cpow(a, b):
    """Return a**b = e**(b * log(a)); 0**0 is 1, and 0 to a power with a positive real part is 0."""
    power = cexp(b * clog(a))
    zero = (a.real == 0.0) & (a.imag == 0.0)
    real = 1.0 if (b.real == 0.0) & (b.imag == 0.0) else (0.0 if zero & (b.real > 0.0) else power.real)
    imag = 0.0 if ((b.real == 0.0) & (b.imag == 0.0)) | (zero & (b.real > 0.0)) else power.imag
    return complex(real, imag)


def clogistic(z):
    """Return 1 / (1 + e**-z); for a negative real part e**z / (1 + e**z), which does not overflow."""
    right = z.real >= 0.0
    e = cexp(complex(-z.real if right else z.real, -z.imag if right else z.imag))
    return cdiv(complex(1.0 if right else e.real, 0.0 if right else e.imag), complex(1.0 + e.real, e.imag))


# ---- hyperbolic and trigonometric functions --------------------------------------------------------------------------


def hyperbolic_sine(x, y, s, c):
    """Return sinh(x + i*y), given the sine and cosine of y."""
    c = 1.0 if (c != c) & ((x == 0.0) | (abs(x) == INFINITY)) else c
    return complex(sinh(x) * c, y if y == 0.0 else cosh(x) * s)


def hyperbolic_cosine(x, y, s, c):
    """Return cosh(x + i*y), given the sine and cosine of y."""
    real = cosh(x) * (1.0 if (c != c) & (abs(x) == INFINITY) else c)
    imag = x if (s != s) & (x == 0.0) else sinh(x) * s
    return complex(real, y * math.copysign(1.0, x) if y == 0.0 else imag)


def hyperbolic_tangent(x, y, s, c):
    """Return tanh(x + i*y), given the sine and cosine of y: both parts have the denominator cos(y)**2 + sinh(x)**2."""
    t = tanh(x)
    h = cosh(x)
    down = c * c + t * t * s * s
    far = abs(x) == INFINITY
    real = x if x == 0.0 else (t if far else t / down)
    imag = y if y == 0.0 else (math.copysign(0.0, s * c if s == s else y) if far else ((s / h) * (c / h)) / down)
    return complex(real, imag)


def csinh(z):
    """Return sinh(z)."""
    return hyperbolic_sine(z.real, z.imag, sin(z.imag), cos(z.imag))


def ccosh(z):
    """Return cosh(z)."""
    return hyperbolic_cosine(z.real, z.imag, sin(z.imag), cos(z.imag))


def ctanh(z):
    """Return tanh(z)."""
    return hyperbolic_tangent(z.real, z.imag, sin(z.imag), cos(z.imag))


def csin(z):
    """Return sin(z) = -i * sinh(i*z)."""
    w = hyperbolic_sine(-z.imag, z.real, sin(z.real), cos(z.real))
    return complex(w.imag, -w.real)


def ccos(z):
    """Return cos(z) = cosh(i*z)."""
    return hyperbolic_cosine(-z.imag, z.real, sin(z.real), cos(z.real))


def ctan(z):
    """Return tan(z) = -i * tanh(i*z)."""
    w = hyperbolic_tangent(-z.imag, z.real, sin(z.real), cos(z.real))
    return complex(w.imag, -w.real)


# ---- inverse functions -----------------------------------------------------------------------------------------------


def both_angles(x, y):
    """Return asin(x + i*y) + i*acos(x + i*y) of their real parts, for x and y that are not negative."""
    r = hypot(x + 1.0, y)
    s = hypot(x - 1.0, y)
    a = 0.5 * (r + s)
    b = x / a
    b = 1.0 if b > 1.0 else b
    inside = x <= 1.0
    inner = 0.5 * (a + x) * ((y / (r + x + 1.0)) * y + (s + (1.0 - x)))
    outer = 0.5 * ((a + x) / (r + x + 1.0) + (a + x) / (s + (x - 1.0)))
    opposite = math.sqrt(inner) if inside else y * math.sqrt(outer)
    steep = b > CROSSOVER
    far = (x > BIG) | (y > BIG)
    sine = atan2(x, y) if far else (atan2(x, opposite) if steep else asin(b))
    cosine = atan2(y, x) if far else (atan2(opposite, x) if steep else acos(b))
    return complex(0.0 if x == 0.0 else sine, QUARTER_TURN if x == 0.0 else cosine)


def height(x, y):
    """Return the imaginary part of asin(x + i*y), for x and y that are not negative."""
    r = hypot(x + 1.0, y)
    s = hypot(x - 1.0, y)
    a = 0.5 * (r + s)
    left = (y / (r + x + 1.0)) * y
    right = (y / (s + (1.0 - x))) * y if x < 1.0 else s + (x - 1.0)
    above = 0.5 * (left + right)
    near = log1p(above + math.sqrt(above * (a + 1.0)))
    far = (x > BIG) | (y > BIG)
    wide = (magnitude_log(x, y) if far else log(a)) + LN2
    most = a > BIG
    middle = log(a + math.sqrt(a * a - 1.0))
    h = near if a <= 1.5 else (wide if most | far else middle)
    flat = y < FLAT * (1.0 - x)  # the square of y is less than a rounding error here, or underflows
    return y / math.sqrt((1.0 - x) * (1.0 + x)) if flat else (wide if far else h)


def casin(z):
    """Return the arc sine, with a real part from -pi/2 to pi/2."""
    x = abs(z.real)
    y = abs(z.imag)
    return complex(math.copysign(both_angles(x, y).real, z.real), math.copysign(height(x, y), z.imag))


def cacos(z):
    """Return the arc cosine, with a real part from 0 to pi."""
    x = abs(z.real)
    y = abs(z.imag)
    turn = both_angles(x, y).imag
    left = math.copysign(1.0, z.real) < 0.0
    return complex(HALF_TURN - turn if left else turn, -math.copysign(height(x, y), z.imag))


def casinh(z):
    """Return the inverse hyperbolic sine, i * asin(-i*z)."""
    w = casin(complex(z.imag, -z.real))
    return complex(-w.imag, w.real)


def cacosh(z):
    """Return the inverse hyperbolic cosine, with a real part that is not negative."""
    w = cacos(z)
    return complex(abs(w.imag), math.copysign(w.real, z.imag))


def catanh(z):
    """Return the inverse hyperbolic tangent."""
    x = abs(z.real)
    y = z.imag
    most = x if x > abs(y) else abs(y)
    far = (most > BIG) | (abs(y) == INFINITY) | (x == INFINITY)
    a = x / most
    b = y / most
    tiny = 0.0 if (x == INFINITY) | (abs(y) == INFINITY) else (a / most) / (a * a + b * b)
    pole = (x == 1.0) & (abs(y) < NEAR_POLE)
    ratio = 2.0 / abs(y) if pole else (4.0 * x) / ((1.0 - x) * (1.0 - x) + y * y)
    real = (0.5 if pole else 0.25) * log1p(ratio)
    imag = 0.5 * atan2(2.0 * y, (1.0 - x) * (1.0 + x) - y * y)
    real = x if x == 0.0 else (tiny if far else real)
    lost = (y != y) | ((x != x) & (abs(y) < INFINITY))
    return complex(math.copysign(real, z.real), math.copysign(x + y if lost else QUARTER_TURN, y) if far else imag)


def catan(z):
    """Return the arc tangent, -i * atanh(i*z)."""
    w = catanh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


def cisnan(z):
    """Return whether a part is nan."""
    return (z.real != z.real) | (z.imag != z.imag)


def cisfinite(z):
    """Return whether both parts are finite."""
    return (abs(z.real) < INFINITY) & (abs(z.imag) < INFINITY)


def cisinf(z):
    """Return whether a part is infinite."""
    return (abs(z.real) == INFINITY) | (abs(z.imag) == INFINITY)
