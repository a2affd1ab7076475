"""The scalar functions and reductions that lowered requests are composed of.

A function is its head and the formula that it returns; the few with a local name are written as `def`.
"""

# The bodies are data, which the specialiser reads; they have no type annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

from minigrad.core.reducer import Reducer
from minigrad.kernels.scalar import formula, scalar_of

IDENTITY = formula("identity(x)", "x")  # a copy
TIMES_I = formula("times_i(x)", "complex(-x.imag, x.real)")
NONZERO = formula("nonzero(x)", "x != 0")  # a cast to bool
EQUAL = formula("equal(a, b)", "a == b")
DIFFERENT = formula("different(a, b)", "a != b")  # nan differs from every number
CHOSEN = formula("chosen(condition, a, b)", "a if condition != 0 else b")
PRODUCT = formula("product(a, b)", "a * b")
NEGATIVE = formula("negative(x)", "-x")
QUOTIENT = formula("quotient(a, b)", "a / b")
DIFFERENCE = formula("difference(a, b)", "a - b")
SECOND = formula("second(a, b)", "b")
UNLESS = formula("unless(x, condition)", "0 if condition != 0 else x")
NEGATIVE_UNLESS = formula("negative_unless(x, condition)", "0 if condition != 0 else -x")
CONJUGATE = formula("conj_physical(x)", "x.conjugate()")
REAL_PART = formula("real_part(x)", "x.real")
MAGNITUDE = formula("magnitude(x)", "abs(x)")
SQUARE = formula("squared_size(x)", "abs(x) * abs(x)")
LESS_PRODUCT = formula("less_product(rest, a, b)", "rest - a * b")
LINE = formula("line(start, i, step)", "start + i * step")  # the number at index i of a range
BLEND = formula("blend(total, c, alpha, beta)", "alpha * total + beta * c")  # of a product and the added matrix
MEETING = formula("meeting(a, b, inside)", "a * b if inside != 0 else 0")  # the product of two elements, if both exist

# ---- indices ---------------------------------------------------------------------------------------------------------

FROM_FRONT = formula("from_front(i, size)", "i + size if i < 0 else i")  # an index counted from the front
# The row-major position of index i along the next dim, behind a position in the dims before.
BEHIND = formula("behind(before, i, size)", "before * size + (i + size if i < 0 else i)")
INSIDE = formula("inside(i, start, length)", "i >= start and i < start + length")
# The number of an index that selects a position, otherwise -1.
LAST_AT = formula("last_at(position, i, size, number)", "number if i == position or i + size == position else -1")
# Whether an element of a window replaces the best: it is larger, the first, or the first nan.
FIRST_OF = formula(
    "first_of(best, x, inside, empty)", "inside != 0 and (empty != 0 or x > best or (x != x and best == best))"
)

# ---- orders ----------------------------------------------------------------------------------------------------------


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


LESSER, GREATER = scalar_of(lesser), scalar_of(greater)
PRECEDES = formula("precedes(i, j)", "i < j")
EITHER_FROM = formula("either_from(i, j, end)", "i >= end or j >= end")
# Whether a pair of a sorting network is exchanged: its second element sorts before the first.  If one of them is
# padding (beyond), `earlier` decides.  falls: whether the block is in reverse order.
EXCHANGES = formula("exchanges(after, earlier, beyond, falls)", "(earlier if beyond else after) != falls")
IS_NUMBER = formula("is_number(x)", "1 if x == x else 0")
# A rank in the order of n elements, or that of the first nan if not all of them are numbers.
RANK_OR_NAN = formula("rank_or_nan(rank, present, n)", "rank if present == n else present")
LOWER_MIDDLE = formula("lower_middle(present)", "(present - 1) // 2 if present > 0 else 0")  # 0 for no elements

# ---- picks -----------------------------------------------------------------------------------------------------------

# The gradient of a picked element with respect to one element of its row.
PICKED_GRADIENT = formula(
    "picked_gradient(y, hit, ignored, dy, share)", "0 if ignored != 0 else (y - hit) * (dy * share)"
)

# ---- factors ---------------------------------------------------------------------------------------------------------

IS_ZERO = formula("is_zero(x)", "1 if x == 0 else 0")
NOT_FINITE = formula("not_finite(x)", "0 if x - x == 0 else 1")
NOT_POSITIVE = formula("not_positive(x)", "0 if x.real > 0 else 1")  # nan is not positive
OVER_ROOT = formula("over_root(x, pivot)", "x / math.sqrt(pivot.real)")
# If the pivot, which is the largest element of its column, is 0, all elements are 0.
OVER_PIVOT = formula("over_pivot(x, pivot)", "x / pivot if pivot != 0 else x")
# The sum of the magnitudes of both parts decides, as in LAPACK.
LARGER = formula("larger(best, x)", "abs(x.real) + abs(x.imag) > abs(best.real) + abs(best.imag)")
# The element of row i after the exchange of rows j and p: `first` came from row j, `other` from row p.
EXCHANGED = formula("exchanged(x, i, j, p, first, other)", "other if i == j else (first if i == p else x)")


def reflected(x, below):
    """Return the only nonzero element of a column after a Householder reflection, which is real.

    x: the first element of the column.
    below: the sum of squares of the other elements.
    If `below` is 0 and x is real, the column is not reflected and x is returned.  Otherwise the sign of the result is
    chosen so that no digits cancel.
    """
    length = math.sqrt(abs(x) * abs(x) + below.real)
    return x if below == 0 and x.imag == 0 else (-length if x.real >= 0 else length)


REFLECTED = scalar_of(reflected)
# An element of the vector of a reflection, whose first element is 1, and the factor, which is 0 for no reflection.
REFLECTION = formula("reflection(x, first, kept)", "x / (first - kept) if first != kept else 0")
REFLECTION_FACTOR = formula("reflection_factor(first, kept)", "(kept - first) / kept if first != kept else 0")
UPPER = formula("upper(x, i, j)", "x if i.real <= j.real else 0")  # an upper triangle
# A symmetric or Hermitian matrix is given by its upper triangle and a real diagonal.
SYMMETRIC = formula(
    "symmetric(x, mirrored, i, j)", "x if i.real < j.real else (x.real if i == j else mirrored.conjugate())"
)

# ---- rotations -------------------------------------------------------------------------------------------------------


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


ANGLE = scalar_of(rotation_angle, results=2)
WITH_PHASE = formula("with_phase(s, r)", "s * (r / abs(r)) if r != 0 else s")  # s times the phase of r
TURNED = formula("turned(x, y, c, s)", "c * x - s * y, s.conjugate() * x + c * y", results=2)
SCALED_ROOT = formula("scaled_root(x, size)", "math.sqrt(x) * size")
SIGNED = formula("signed(x, sign)", "-x if sign.real < 0 else x")

# ---- reductions ------------------------------------------------------------------------------------------------------

# exp(x - top), where top is the largest element of the row, and the logarithm of a sum of these, shifted back.  A top
# that is not finite counts as 0.
SHIFTED_EXP = formula("shifted_exp(x, top)", "math.exp(x - (top if math.isfinite(top) else 0))")
SHIFTED_LOG = formula("shifted_log(total, top)", "math.log(total) + (top if math.isfinite(top) else 0)")
TOTAL = formula("total(acc, x)", "acc + x")
HIGHEST = formula("highest(acc, x)", "x if x > acc or x != x else acc")  # nan wins
LOWEST = formula("lowest(acc, x)", "x if x < acc or x != x else acc")  # nan wins
PEAK = formula("peak(acc, x)", "x if x > acc else acc")  # nan is ignored

SUM = Reducer(TOTAL, ("zero",), "sum", TOTAL)
LARGEST = Reducer(HIGHEST, ("lowest",), "extreme", HIGHEST)
SMALLEST = Reducer(LOWEST, ("highest",), "extreme", LOWEST)
TOP = Reducer(PEAK, ("lowest",), "any", PEAK)
