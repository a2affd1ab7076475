"""The scalar functions and reductions that lowered requests are made of."""

# The bodies are data, which the specialiser reads; they carry no types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

from minigrad.core.reducer import Reducer
from minigrad.kernels.scalar import parse


def identity(x):
    """A copy."""
    return x


def nonzero(x):
    """A cast to bool."""
    return x != 0


def equal(a, b):
    """Whether two numbers are the same."""
    return a == b


def chosen(condition, a, b):
    """One of two."""
    return a if condition != 0 else b


def product(a, b):
    """A product."""
    return a * b


def negative(x):
    """The negative."""
    return -x


def second(a, b):
    """The second of two."""
    return b


def from_front(i, size):
    """An index counted from the front."""
    return i + size if i < 0 else i


def behind(before, i, size):
    """A row-major position, from the position in the dims before and an index along the next dim, of this size."""
    return before * size + (i + size if i < 0 else i)


def quotient(a, b):
    """A quotient."""
    return a / b


def difference(a, b):
    """A difference."""
    return a - b


def line(start, i, step):
    """The number at place i of a range."""
    return start + i * step


def blend(total, c, alpha, beta):
    """Return alpha times the product plus beta times the added matrix."""
    return alpha * total + beta * c


def meeting(a, b, inside):
    """A product of two elements that meet, or 0 where one of them is not there."""
    return a * b if inside != 0 else 0


def lesser(a, b, earlier):
    """Return whether a sorts before b in ascending order: nan is the greatest, and of equals the earlier is first."""
    below = a < b or (b != b and a == a)
    above = b < a or (a != a and b == b)
    return below or (not above and earlier != 0)


def greater(a, b, earlier):
    """Return whether a sorts before b in descending order; of equals the earlier is first here too."""
    above = b < a or (a != a and b == b)
    below = a < b or (b != b and a == a)
    return above or (not below and earlier != 0)


def first_of(best, x, inside, empty):
    """Whether an element of a window takes the place of the best: larger, or the first, or the first nan."""
    return inside != 0 and (empty != 0 or x > best or (x != x and best == best))


def last_at(position, index, size, number):
    """Return the number of an index that names a position, otherwise -1."""
    return number if index == position or index + size == position else -1


def unless(x, condition):
    """x, or 0 where a condition holds."""
    return 0 if condition != 0 else x


def negative_unless(x, condition):
    """-x, or 0 where a condition holds."""
    return 0 if condition != 0 else -x


def picked_gradient(y, hit, ignored, dy, share):
    """The derivative of a picked element by each of its row."""
    return 0 if ignored != 0 else (y - hit) * (dy * share)


def is_zero(x):
    """Whether a pivot is 0."""
    return 1 if x == 0 else 0


def not_finite(x):
    """Whether a result is nan or infinite."""
    return 0 if x - x == 0 else 1


def over_root(x, pivot):
    """An element of a row over the root of its pivot."""
    return x / math.sqrt(pivot)


def not_positive(x):
    """Whether a pivot is not positive, which nan is not."""
    return 0 if x > 0 else 1


def larger(best, x):
    """Whether a number is farther from 0 than the best so far."""
    return abs(x) > abs(best)


def exchanged(x, i, j, p, first, other):
    """The element of row i after rows j and p have changed places: `first` came from row j, `other` from row p."""
    return other if i == j else (first if i == p else x)


def over_pivot(x, pivot):
    """An element of a column over its pivot; of a pivot of 0, which is the largest, all of them are 0."""
    return x / pivot if pivot != 0 else x


def less_product(rest, a, b):
    """A number less a product."""
    return rest - a * b


def magnitude(x):
    """An absolute value."""
    return abs(x)


def reflected(x, below):
    """Return the only nonzero element of a reflected column.

    x: the first element; `below`: the sum of squares of the others.

    If `below` is 0 there is no reflection.  Otherwise the sign avoids cancellation.
    """
    length = math.sqrt(x * x + below)
    return x if below == 0 else (-length if x >= 0 else length)


def reflection(x, first, kept):
    """An element of the vector of a reflection, whose first element is 1."""
    return x / (first - kept) if first != kept else 0


def reflection_factor(first, kept):
    """The factor of a reflection, or 0 for none."""
    return (kept - first) / kept if first != kept else 0


def upper(x, i, j):
    """An element of an upper triangle."""
    return x if i <= j else 0


def symmetric(x, mirrored, i, j):
    """An element of a symmetric matrix, of its upper triangle."""
    return x if i <= j else mirrored


def angle(p, q, r, order, close):
    """The cosine and the sine of the rotation that makes the symmetric matrix of p, r and q diagonal.

    order: 1 for p to become the smaller one, -1 for the larger, 0 for the smaller of the two angles.  close: the
    relative difference of two numbers that count as equal; rotations by rounding errors would undo others.
    Source: Golub and Van Loan, Matrix Computations, 4th edition, section 8.5.2.
    """
    ratio = (q - p) / (2 * r)
    steep = math.sqrt(ratio * ratio + 1)
    small = abs(r) <= close * math.sqrt(abs(p)) * math.sqrt(abs(q))
    t = 0 * p * r if small else (1 / (ratio + steep) if ratio >= 0 else 1 / (ratio - steep))
    c = 1 / math.sqrt(t * t + 1)
    across = order * (q - p + 2 * t * r) < -8 * close * (abs(p) + abs(q))
    return (t * c if across else c), (-c if across else t * c)


def turned(x, y, c, s):
    """A pair after a rotation."""
    return c * x - s * y, s * x + c * y


def scaled_root(x, size):
    """The root of a number, times a scale."""
    return math.sqrt(x) * size


def signed(x, sign):
    """A number, or minus it where another is negative."""
    return -x if sign < 0 else x


def total(acc, x):
    """One step of a sum."""
    return acc + x


def highest(acc, x):
    """One step towards the largest."""
    return x if x > acc or x != x else acc


def lowest(acc, x):
    """One step towards the smallest."""
    return x if x < acc or x != x else acc


def peak(acc, x):
    """One step towards the largest number, which nan is not."""
    return x if x > acc else acc


def shifted_exp(x, top):
    """exp(x), less the largest of its row if that is finite."""
    return math.exp(x - (top if math.isfinite(top) else 0))


def shifted_log(total, top):
    """The logarithm of a sum of these."""
    return math.log(total) + (top if math.isfinite(top) else 0)


IDENTITY = parse(identity)
SHIFTED_EXP = parse(shifted_exp)
SHIFTED_LOG = parse(shifted_log)
NONZERO = parse(nonzero)
EQUAL = parse(equal)
CHOSEN = parse(chosen)
PRODUCT, NEGATIVE = parse(product), parse(negative)
SECOND = parse(second)
FROM_FRONT = parse(from_front)
BEHIND = parse(behind)
QUOTIENT = parse(quotient)
DIFFERENCE = parse(difference)
LINE = parse(line)
BLEND = parse(blend)
MEETING = parse(meeting)
LESSER = parse(lesser)
GREATER = parse(greater)
FIRST_OF = parse(first_of)
UNLESS = parse(unless)
LAST_AT = parse(last_at)
NEGATIVE_UNLESS = parse(negative_unless)
PICKED_GRADIENT = parse(picked_gradient)
IS_ZERO = parse(is_zero)
NOT_FINITE = parse(not_finite)
OVER_ROOT = parse(over_root)
NOT_POSITIVE = parse(not_positive)
LARGER = parse(larger)
EXCHANGED = parse(exchanged)
OVER_PIVOT = parse(over_pivot)
LESS_PRODUCT = parse(less_product)
MAGNITUDE = parse(magnitude)
REFLECTED = parse(reflected)
REFLECTION = parse(reflection)
REFLECTION_FACTOR = parse(reflection_factor)
UPPER = parse(upper)
SYMMETRIC = parse(symmetric)
ANGLE = parse(angle, results=2)
TURNED = parse(turned, results=2)
SCALED_ROOT = parse(scaled_root)
SIGNED = parse(signed)
TOTAL = parse(total)
HIGHEST = parse(highest)
LOWEST = parse(lowest)
PEAK = parse(peak)

SUM = Reducer(TOTAL, ("zero",), "sum", TOTAL)
LARGEST = Reducer(HIGHEST, ("lowest",), "extreme", HIGHEST)
SMALLEST = Reducer(LOWEST, ("highest",), "extreme", LOWEST)
TOP = Reducer(PEAK, ("lowest",), "any", PEAK)
