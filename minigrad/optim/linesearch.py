"""A line search for the strong Wolfe conditions: bracket a minimum along a line, then narrow the bracket."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

LESS, FLATTER = 1e-4, 0.9  # c1 and c2 of the Wolfe conditions: sufficient decrease of the loss and of its derivative


class Point(NamedTuple):
    """A point on the line: its distance from the start, with the loss, gradient and directional derivative there."""

    length: float
    loss: float
    gradient: Any
    descent: float


def cubic_minimum(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """Return the minimizer, within bounds, of the cubic that fits losses and derivatives of two points.

    By default, the bounds are the two points.  A line, which has no minimizer, yields the middle of the bounds.
    """
    low, high = bounds if bounds is not None else (min(a.length, b.length), max(a.length, b.length))
    d1 = a.descent + b.descent - 3 * (a.loss - b.loss) / (a.length - b.length)
    square = d1**2 - a.descent * b.descent
    if not square >= 0:
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    near, far = (a, b) if a.length <= b.length else (b, a)
    bend = far.descent - near.descent + 2 * d2
    if not bend:
        return (low + high) / 2.0
    part = (far.descent + d2 - d1) / bend
    return min(max(far.length - (far.length - near.length) * part, low), high)


def strong_wolfe(
    at: Callable[[float], tuple[float, Any, float]], length: float, start: tuple[float, Any, float], reach: float,
    tolerance: float, limit: int,
) -> tuple[Point, int]:  # fmt: skip
    """Find a step length that satisfies the strong Wolfe conditions.

    at (callable): Function that maps a step length to the loss, the gradient and the directional derivative at the end
    of the step.
    length: Length to try first.
    start (tuple): Loss, gradient and directional derivative at length 0.
    reach: Largest magnitude of an element of the direction.
    tolerance: The interval that contains the result is not narrowed further if its length times `reach` is less than
    this value.
    limit: Maximum number of evaluations after the first.

    Returns (Point, int): The best point, and the number of evaluations.

    Source: J. Nocedal and S. Wright, Numerical Optimization, algorithms 3.5 and 3.6.
    """
    origin = Point(0.0, *start)
    bracket, count, done = bracketed(at, length, origin, limit)
    if not done and len(bracket) > 1:
        return narrowed(at, bracket, origin, reach, tolerance, limit, count)
    return min(bracket, key=lambda point: point.loss), count


def bracketed(
    at: Callable[[float], tuple[float, Any, float]], length: float, origin: Point, limit: int
) -> tuple[list[Point], int, bool]:
    """Return points, the number of evaluations, and whether the search is finished.

    The result is one point that satisfies the conditions, or two points that bracket such a point.
    """
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
    """Narrow a bracket until a point satisfies the conditions, the bracket is small, or `limit` is reached."""
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
    """Return a length that is not near an end of the bracket twice in a row, and whether it is near an end now."""
    least, most = sorted(point.length for point in bracket)
    margin = 0.1 * (most - least)
    if min(most - length, length - least) >= margin:
        return length, False
    if stuck or length >= most or length <= least:
        return (most - margin if abs(length - most) < abs(length - least) else least + margin), False
    return length, True
