"""The scalar functions and reductions that lowered requests are composed of."""

# The bodies are data, which the specialiser reads; they have no type annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

from minigrad.core.reducer import Reducer
from minigrad.kernels.scalar import scalar_of


def identity(x):
    """Return x: a copy."""
    return x


def times_i(x):
    """Return i*x."""
    return complex(-x.imag, x.real)


def nonzero(x):
    """Return whether x is not 0: a cast to bool."""
    return x != 0


def equal(a, b):
    """Return whether two numbers are equal."""
    return a == b


def different(a, b):
    """Return whether two numbers differ; nan differs from every number."""
    return a != b


def chosen(condition, a, b):
    """Return a if a condition holds, otherwise b."""
    return a if condition != 0 else b


def product(a, b):
    """Return a product."""
    return a * b


def negative(x):
    """Return the negative of x."""
    return -x


def second(a, b):
    """Return the second of two numbers."""
    return b


def from_front(i, size):
    """Return an index counted from the front."""
    return i + size if i < 0 else i


def behind(before, i, size):
    """Return a row-major position.

    before: the position in the dims before. i: an index along the next dim, which has this size.
    """
    return before * size + (i + size if i < 0 else i)


def quotient(a, b):
    """Return a quotient."""
    return a / b


def difference(a, b):
    """Return a difference."""
    return a - b


def line(start, i, step):
    """Return the number at index i of a range."""
    return start + i * step


def blend(total, c, alpha, beta):
    """Return alpha times the product plus beta times the added matrix."""
    return alpha * total + beta * c


def meeting(a, b, inside):
    """Return the product of two elements, or 0 if one of them does not exist."""
    return a * b if inside != 0 else 0


def lesser(a, b, earlier):
    """Return whether a sorts before b in ascending order.

    nan is the greatest; of equal elements the earlier is first.
    """
    below = a < b or (b != b and a == a)
    above = b < a or (a != a and b == b)
    return below or (not above and earlier != 0)


def greater(a, b, earlier):
    """Return whether a sorts before b in descending order; of equal elements, the earlier is first here too."""
    above = b < a or (a != a and b == b)
    below = a < b or (b != b and a == a)
    return above or (not below and earlier != 0)


def precedes(i, j):
    """Return whether i is less than j."""
    return i < j


def either_from(i, j, end):
    """Return whether one of two indices is at least `end`."""
    return i >= end or j >= end


def exchanges(after, earlier, beyond, falls):
    """Return whether a pair of a sorting network is exchanged: its second element sorts before the first.

    earlier: what decides instead if one of them is padding (`beyond`).  falls: whether the block is in reverse order.
    """
    return (earlier if beyond else after) != falls


def first_of(best, x, inside, empty):
    """Return whether an element of a window replaces the best: it is larger, the first, or the first nan."""
    return inside != 0 and (empty != 0 or x > best or (x != x and best == best))


def last_at(position, index, size, number):
    """Return the number of an index that selects a position, otherwise -1."""
    return number if index == position or index + size == position else -1


def unless(x, condition):
    """Return x, or 0 if a condition holds."""
    return 0 if condition != 0 else x


def negative_unless(x, condition):
    """Return -x, or 0 if a condition holds."""
    return 0 if condition != 0 else -x


def picked_gradient(y, hit, ignored, dy, share):
    """Return the gradient of a picked element with respect to one element of its row."""
    return 0 if ignored != 0 else (y - hit) * (dy * share)


def is_zero(x):
    """Return 1 if a pivot is 0, otherwise 0."""
    return 1 if x == 0 else 0


def not_finite(x):
    """Return 1 for a result of nan or infinity, otherwise 0."""
    return 0 if x - x == 0 else 1


def over_root(x, pivot):
    """Return an element of a row divided by the square root of its pivot, which is real."""
    return x / math.sqrt(pivot.real)


def not_positive(x):
    """Return 1 if a pivot, which is real, is not positive, otherwise 0; nan is not positive."""
    return 0 if x.real > 0 else 1


def conj_physical(x):
    """Return the conjugate of x."""
    return x.conjugate()


def real_part(x):
    """Return the real part of x."""
    return x.real


def larger(best, x):
    """Return whether a number has a larger sum of the magnitudes of its parts than the best so far, as in LAPACK."""
    return abs(x.real) + abs(x.imag) > abs(best.real) + abs(best.imag)


def exchanged(x, i, j, p, first, other):
    """Return the element of row i after the exchange of rows j and p.

    `first` came from row j, `other` from row p.
    """
    return other if i == j else (first if i == p else x)


def over_pivot(x, pivot):
    """Return an element of a column divided by its pivot.

    If the pivot, which is the largest, is 0, all elements are 0.
    """
    return x / pivot if pivot != 0 else x


def less_product(rest, a, b):
    """Return a number minus a product."""
    return rest - a * b


def magnitude(x):
    """Return an absolute value."""
    return abs(x)


def squared_size(x):
    """Return the square of an absolute value."""
    return abs(x) * abs(x)


def reflected(x, below):
    """Return the only nonzero element of a column after a Householder reflection, which is real.

    x: the first element of the column.
    below: the sum of squares of the other elements.
    If `below` is 0 and x is real, the column is not reflected and x is returned.  Otherwise the sign of the result is
    chosen so that no digits cancel.
    """
    length = math.sqrt(abs(x) * abs(x) + below.real)
    return x if below == 0 and x.imag == 0 else (-length if x.real >= 0 else length)


def reflection(x, first, kept):
    """Return an element of the vector of a reflection, whose first element is 1."""
    return x / (first - kept) if first != kept else 0


def reflection_factor(first, kept):
    """Return the factor of a reflection, or 0 for no reflection."""
    return (kept - first) / kept if first != kept else 0


def upper(x, i, j):
    """Return x in an upper triangle, otherwise 0."""
    return x if i.real <= j.real else 0


def symmetric(x, mirrored, i, j):
    """Return an element of a symmetric or Hermitian matrix, given by its upper triangle and a real diagonal."""
    return x if i.real < j.real else (x.real if i == j else mirrored.conjugate())


def rotation_angle(p, q, r, order, close):
    """Return the cosine and the sine of the rotation that diagonalises the symmetric matrix of p, r and q.

    order: 1 if p must become the smaller diagonal element, -1 for the larger, 0 for the smaller of the two angles.
    close: the relative difference of two numbers that count as equal; rotations caused by rounding errors would undo
    other rotations.
    Source: Golub and Van Loan, Matrix Computations, 4th edition, section 8.5.2.
    """
    ratio = (q - p) / (2 * r)
    steep = math.sqrt(ratio * ratio + 1)
    small = abs(r) <= close * math.sqrt(abs(p)) * math.sqrt(abs(q))
    t = 0 * p * r if small else (1 / (ratio + steep) if ratio >= 0 else 1 / (ratio - steep))
    c = 1 / math.sqrt(t * t + 1)
    across = order * (q - p + 2 * t * r) < -8 * close * (abs(p) + abs(q))
    return (t * c if across else c), (-c if across else t * c)


def with_phase(s, r):
    """Return s times the phase of r."""
    return s * (r / abs(r)) if r != 0 else s


def turned(x, y, c, s):
    """Return a pair of numbers after a rotation."""
    return c * x - s * y, s.conjugate() * x + c * y


def inside(i, start, length):
    """Return whether an index is in a range."""
    return i >= start and i < start + length


def is_number(x):
    """Return 1 for a number, and 0 for nan."""
    return 1 if x == x else 0


def rank_or_nan(rank, present, n):
    """Return a rank in the order of n elements, or that of the first nan if not all of them are numbers."""
    return rank if present == n else present


def lower_middle(present):
    """Return the rank of the lower middle of some elements, or 0 if there are none."""
    return (present - 1) // 2 if present > 0 else 0


def scaled_root(x, size):
    """Return the square root of a number, times a scale."""
    return math.sqrt(x) * size


def signed(x, sign):
    """Return x, or -x if `sign`, which is real, is negative."""
    return -x if sign.real < 0 else x


def total(acc, x):
    """Add an element to a sum."""
    return acc + x


def highest(acc, x):
    """Return the larger of two numbers, or nan if one is nan."""
    return x if x > acc or x != x else acc


def lowest(acc, x):
    """Return the smaller of two numbers, or nan if one is nan."""
    return x if x < acc or x != x else acc


def peak(acc, x):
    """Return the larger of two numbers; a nan is ignored."""
    return x if x > acc else acc


def shifted_exp(x, top):
    """Return exp(x - top), where top is the largest element of the row.

    A top that is not finite counts as 0.
    """
    return math.exp(x - (top if math.isfinite(top) else 0))


def shifted_log(total, top):
    """Return the logarithm of a sum of shifted exponentials, shifted back."""
    return math.log(total) + (top if math.isfinite(top) else 0)


IDENTITY, TIMES_I = scalar_of(identity), scalar_of(times_i)
SHIFTED_EXP = scalar_of(shifted_exp)
SHIFTED_LOG = scalar_of(shifted_log)
NONZERO = scalar_of(nonzero)
EQUAL, DIFFERENT = scalar_of(equal), scalar_of(different)
CHOSEN = scalar_of(chosen)
PRODUCT, NEGATIVE = scalar_of(product), scalar_of(negative)
SECOND = scalar_of(second)
FROM_FRONT = scalar_of(from_front)
BEHIND = scalar_of(behind)
QUOTIENT = scalar_of(quotient)
DIFFERENCE = scalar_of(difference)
LINE = scalar_of(line)
BLEND = scalar_of(blend)
MEETING = scalar_of(meeting)
LESSER = scalar_of(lesser)
GREATER = scalar_of(greater)
PRECEDES, EITHER_FROM = scalar_of(precedes), scalar_of(either_from)
EXCHANGES = scalar_of(exchanges)
FIRST_OF = scalar_of(first_of)
UNLESS = scalar_of(unless)
LAST_AT = scalar_of(last_at)
NEGATIVE_UNLESS = scalar_of(negative_unless)
PICKED_GRADIENT = scalar_of(picked_gradient)
IS_ZERO = scalar_of(is_zero)
NOT_FINITE = scalar_of(not_finite)
OVER_ROOT = scalar_of(over_root)
NOT_POSITIVE = scalar_of(not_positive)
LARGER = scalar_of(larger)
EXCHANGED = scalar_of(exchanged)
OVER_PIVOT = scalar_of(over_pivot)
LESS_PRODUCT = scalar_of(less_product)
MAGNITUDE, SQUARE = scalar_of(magnitude), scalar_of(squared_size)
CONJUGATE, REAL_PART = scalar_of(conj_physical), scalar_of(real_part)
REFLECTED = scalar_of(reflected)
REFLECTION = scalar_of(reflection)
REFLECTION_FACTOR = scalar_of(reflection_factor)
UPPER = scalar_of(upper)
SYMMETRIC = scalar_of(symmetric)
ANGLE, WITH_PHASE = scalar_of(rotation_angle, results=2), scalar_of(with_phase)
TURNED = scalar_of(turned, results=2)
INSIDE = scalar_of(inside)
IS_NUMBER, RANK_OR_NAN, LOWER_MIDDLE = scalar_of(is_number), scalar_of(rank_or_nan), scalar_of(lower_middle)
SCALED_ROOT = scalar_of(scaled_root)
SIGNED = scalar_of(signed)
TOTAL = scalar_of(total)
HIGHEST = scalar_of(highest)
LOWEST = scalar_of(lowest)
PEAK = scalar_of(peak)

SUM = Reducer(TOTAL, ("zero",), "sum", TOTAL)
LARGEST = Reducer(HIGHEST, ("lowest",), "extreme", HIGHEST)
SMALLEST = Reducer(LOWEST, ("highest",), "extreme", LOWEST)
TOP = Reducer(PEAK, ("lowest",), "any", PEAK)
