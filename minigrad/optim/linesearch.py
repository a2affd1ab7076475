"""A line search under the strong Wolfe conditions: bracket a minimum along a line, then narrow the bracket."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

LESS, FLATTER = 1e-4, 0.9  # c1 and c2 of the Wolfe conditions: how much the loss and its slope must decrease


class Point(NamedTuple):
    """A point on the line: how far away it is, and loss, gradient and derivative along the line there."""

    length: float
    loss: float
    gradient: Any
    descent: float


def cubic_minimum(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """Return where the cubic with the losses and derivatives of two points is least, within bounds or between them."""
    low, high = bounds if bounds is not None else (min(a.length, b.length), max(a.length, b.length))
    d1 = a.descent + b.descent - 3 * (a.loss - b.loss) / (a.length - b.length)
    square = d1**2 - a.descent * b.descent
    if not square >= 0:
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    near, far = (a, b) if a.length <= b.length else (b, a)
    part = (far.descent + d2 - d1) / (far.descent - near.descent + 2 * d2)
    return min(max(far.length - (far.length - near.length) * part, low), high)


def strong_wolfe(
    at: Callable[[float], tuple[float, Any, float]], length: float, start: tuple[float, Any, float], reach: float,
    tolerance: float, limit: int,
) -> tuple[Point, int]:  # fmt: skip
    """Find a point that fulfils the strong Wolfe conditions.

    Parameters
    ----------
    at : callable
        From a length to loss, gradient and derivative there.
    length : float
        The length that is tried first.
    start : tuple
        Loss, gradient and derivative at length 0.
    reach : float
        The largest magnitude of the direction.
    tolerance : float
        A bracket of less than this many elements' change is not narrowed.
    limit : int
        The largest number of evaluations after the first.

    Returns
    -------
    Point, int
        The best point, and how many evaluations there were.

    References
    ----------
    J. Nocedal and S. Wright, Numerical Optimization, algorithms 3.5 and 3.6.
    """
    origin = Point(0.0, *start)
    bracket, count, done = bracketed(at, length, origin, limit)
    if not done and len(bracket) > 1:
        return narrowed(at, bracket, origin, reach, tolerance, limit, count)
    return min(bracket, key=lambda point: point.loss), count


def bracketed(
    at: Callable[[float], tuple[float, Any, float]], length: float, origin: Point, limit: int
) -> tuple[list[Point], int, bool]:
    """Return one point that fulfils the conditions, or two with such a point between them; evaluations; and which."""
    before, here, count, tries = origin, Point(length, *at(length)), 1, 0
    while tries < limit:
        too_high = here.loss > origin.loss + LESS * here.length * origin.descent
        if too_high or (tries > 1 and here.loss >= before.loss):
            return [before, here], count, False
        if abs(here.descent) <= -FLATTER * origin.descent:
            return [here], count, True
        if here.descent >= 0:
            return [before, here], count, False
        bounds = here.length + 0.01 * (here.length - before.length), here.length * 10
        length = cubic_minimum(before, here, bounds)
        before, here = here, Point(length, *at(length))
        count, tries = count + 1, tries + 1
    return [origin, here], count, True


def narrowed(
    at: Callable[[float], tuple[float, Any, float]], bracket: list[Point], origin: Point, reach: float,
    tolerance: float, limit: int, count: int,
) -> tuple[Point, int]:  # fmt: skip
    """Narrow a bracket until a point fulfils the conditions, the bracket is small or the evaluations are used up."""
    stuck = False
    low, high = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    while count <= limit:
        if abs(bracket[1].length - bracket[0].length) * reach < tolerance:
            break
        length, stuck = inside(cubic_minimum(bracket[0], bracket[1]), bracket, stuck)
        here = Point(length, *at(length))
        count += 1
        if here.loss > origin.loss + LESS * length * origin.descent or here.loss >= bracket[low].loss:
            bracket[high] = here
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        fulfilled = abs(here.descent) <= -FLATTER * origin.descent
        if not fulfilled and here.descent * (bracket[high].length - bracket[low].length) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = here
        if fulfilled:
            break
    return bracket[low], count


def inside(length: float, bracket: list[Point], stuck: bool) -> tuple[float, bool]:
    """Return a length that is not too near to an end of the bracket twice in a row, and whether this one was."""
    least, most = sorted(point.length for point in bracket)
    margin = 0.1 * (most - least)
    if min(most - length, length - least) >= margin:
        return length, False
    if stuck or length >= most or length <= least:
        return (most - margin if abs(length - most) < abs(length - least) else least + margin), False
    return length, True
