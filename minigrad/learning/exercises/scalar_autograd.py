"""Exercises of notebook 02: a scalar autograd."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from minigrad.learning.grading import Exercises, Wrong, as_array, as_float, expect_close, expect_returned, tried

EXERCISES = Exercises()

Rule = tuple[float, tuple[float, ...]]
counter = itertools.count()


class Value:
    """A number and its computation, as in the notebook."""

    def __init__(self, data: float, parents: Sequence[Value] = (), slopes: Sequence[float] = ()) -> None:
        self.data, self.parents, self.slopes = data, parents, slopes
        self.id, self.grad = next(counter), 0.0

    def __add__(self, other: Value) -> Value:
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other: Value) -> Value:
        return Value(self.data * other.data, (self, other), (other.data, self.data))


def divide(a: float, b: float) -> Rule:
    """Return a / b and its derivatives."""
    return a / b, (1.0 / b, -a / (b * b))


def logistic(a: float) -> Rule:
    """Return 1 / (1 + exp(-a)) and its derivative; the exponential cannot overflow."""
    small = math.exp(-abs(a))
    y = (1.0 if a >= 0 else small) / (1.0 + small)
    return y, (y * (1.0 - y),)


def expect_rule(got: Any, want: Rule, what: str) -> None:
    """Raise Wrong unless a rule returned the expected value and slopes."""
    expect_returned(got, what)
    if not isinstance(got, (tuple, list)) or len(got) != 2 or not isinstance(got[1], (tuple, list)):
        comma = "; the comma in (slope,) makes a tuple" if len(want[1]) == 1 else ""
        raise Wrong(f"{what} should return a pair: the value, and a tuple of slopes; it returned {got!r}{comma}")
    if len(got[1]) != len(want[1]):
        raise Wrong(
            f"{what} returns {len(got[1])} slopes, but has {len(want[1])} operands: return one slope per operand"
        )
    expect_close(got[0], want[0], f"the value of {what}", 1e-12)
    for k, (mine, right) in enumerate(zip(got[1], want[1])):
        expect_close(mine, right, f"the slope of {what} with respect to operand {k + 1} of {len(want[1])}", 1e-9)


@EXERCISES(
    "02.1", divide, "Division: one slope for the numerator, one for the denominator.",
    "Keep b constant: how does a / b change with a? Then keep a constant.",
    "a / b is a times 1/b, and the derivative of 1/b is -1/b**2.",
    "Return a / b, (1 / b, -a / (b * b)).",
)  # fmt: skip
def grade_divide(answer: Any) -> None:
    """Test the value and both derivatives, for operands with different signs."""
    for a, b in ((3.0, 2.0), (-1.5, 4.0), (0.0, -0.5), (2.0, -3.0)):
        expect_rule(answer(a, b), divide(a, b), f"divide({a}, {b})")


@EXERCISES(
    "02.2", logistic, "The logistic function: its slope is y * (1 - y), so only its value must be saved.",
    "Write y for the value, and differentiate: can you get rid of the exponential?",
    "The slope is y * (1 - y). For a below 0, multiply both parts of the fraction by exp(a).",
    "With e = math.exp(-abs(a)), y is 1 / (1 + e) for a >= 0, otherwise e / (1 + e).",
)  # fmt: skip
def grade_logistic(answer: Any) -> None:
    """Test small numbers, and numbers for which exp overflows."""
    for a in (0.0, 1.5, -2.0, 30.0, -30.0, 1000.0, -1000.0):
        try:
            with np.errstate(over="raise"):
                got = answer(a)
        except (OverflowError, FloatingPointError):
            raise Wrong(
                f"logistic({a}) overflows: exp of a large positive number does, of a negative one never"
            ) from None
        expect_rule(got, logistic(a), f"logistic({a})")


def order(y: Any) -> list[Any]:
    """Return the Values under y; each follows all Values that use it."""
    uses: dict[Any, int] = {}
    todo = [y]
    seen = {y}
    while todo:
        for p in todo.pop().parents:
            uses[p] = uses.get(p, 0) + 1
            if p not in seen:
                seen.add(p)
                todo.append(p)
    ready, found = [y], []
    while ready:
        v = ready.pop()
        found.append(v)
        for p in v.parents:
            uses[p] -= 1
            if not uses[p]:
                ready.append(p)
    return found


def gradients(ys: Sequence[Any], weights: Sequence[float], xs: Sequence[Any]) -> list[float]:
    """Return the gradients of a weighted sum of results by one backward pass."""
    table: dict[int, float] = {}
    todo = list(ys)
    for y, w in zip(ys, weights):
        table[y.id] = table.get(y.id, 0.0) + w
    found: dict[int, Any] = {}
    while todo:
        v = todo.pop()
        if v.id not in found:
            found[v.id] = v
            todo.extend(v.parents)
    for key in sorted(found, reverse=True):
        for p, slope in zip(found[key].parents, found[key].slopes):
            table[p.id] = table.get(p.id, 0.0) + slope * table.get(key, 0.0)
    return [table.get(x.id, 0.0) for x in xs]


def graphs() -> Iterable[tuple[str, Value]]:
    """Return named graphs for which an order can be wrong."""
    x = Value(2.0)
    u = x * x
    yield "u = x * x; y = u * (u + x)", u * (u + x)
    u = x * x
    yield "u = x * x; y = (u + x) * u", (u + x) * u
    yield "y = x * x", x * x
    yield "a single leaf", Value(1.0)
    y = Value(1.1)
    for _ in range(12):
        y = y + y
    yield "y = y + y, 12 times", y
    a, b = Value(1.0), Value(2.0)
    left = right = a + b
    for _ in range(3):
        left, right = left * right + a, right + left
    yield "two ladders", left * right


@EXERCISES(
    "02.3", order, "An order by counting or by depth: a Value comes after all Values that use it.",
    "When may a Value be put into the list? When all Values that use it are in the list already.",
    "Either count the uses of each Value and take it when they are used up; or go down to the leaves first, and put a "
    "Value after all of its parents: that is the order backwards.",
    "def visit(v): if v is not in seen, add it, visit each parent, then append v to the list. Call visit(y) and "
    "return the list reversed.",
)  # fmt: skip
def grade_order(answer: Any) -> None:
    """Test that each Value is listed once, before its parents, without use of ids."""
    for name, y in graphs():
        every = order(y)
        for v in every:
            vars(v).pop("id", None)
        got = tried(answer, y, on=name)
        expect_returned(got, "order(y)")
        try:
            found = list(got)
            place = {v: k for k, v in enumerate(found)}
        except TypeError:
            raise Wrong(f"order(y) returns {type(got).__name__}, but a list of Values was expected") from None
        if len(found) != len(place):
            raise Wrong(
                f"for {name} the list has {len(found)} entries for {len(place)} Values: each must be listed once"
            )
        if set(place) != set(every):
            raise Wrong(
                f"for {name} the list has {len(place)} Values, but {len(every)} were expected: y and each Value that "
                f"y was computed from"
            )
        if found[0] is not y:
            raise Wrong(f"for {name} the list begins with another Value than y: is the list reversed?")
        for v in every:
            for p in v.parents:
                if place[p] < place[v]:
                    raise Wrong(
                        f"for {name} a Value at index {place[v]} comes after its own parent at index {place[p]}, which "
                        f"then passes its gradient on too early"
                    )


@EXERCISES(
    "02.4", gradients, "One backward pass is enough for several results, if it begins with a table of weights.",
    "`walk` began with the table {y.id: 1.0}. With what does it begin now?",
    "With the weight of each y. If a y appears twice, its weights add up. The gradients that a y receives from the "
    "other results are added to its weight.",
    "Fill the table with table[y.id] = table.get(y.id, 0.0) + w; visit all Values under any of the ys, the newest id "
    "first; return [table.get(x.id, 0.0) for x in xs].",
)  # fmt: skip
def grade_gradients(answer: Any) -> None:
    """Test one result, several, one twice, one that is computed from another, and an input that is not used."""
    for name, build, weights in ENDS:
        x, z, unused = Value(2.0), Value(-3.0), Value(1.0)
        ys, xs = build(x, z), [x, z, unused]
        got = tried(answer, ys, weights, xs, on=f"ys = {name}, and xs with a Value that nothing used")
        expect_returned(got, "gradients(ys, weights, xs)")
        want = gradients(ys, weights, xs)
        if as_array(got, "gradients").shape != (3,):
            raise Wrong("gradients(ys, weights, xs) should return one number for each of xs")
        for k, (mine, right) in enumerate(zip(got, want)):
            if not abs(as_float(mine, "a gradient") - right) <= 1e-9 * max(1.0, abs(right)):  # nan is wrong too
                raise Wrong(
                    f"with x = 2, z = -3, ys = {name} and weights {list(weights)}, the gradient with respect to "
                    f"{('x', 'z', 'a Value that nothing used')[k]} is {right:g}, and yours is {float(mine):g}"
                )


def _nested(x: Value, z: Value) -> list[Value]:
    u = x * x
    return [u, u * z]


def _same(x: Value, z: Value) -> list[Value]:
    u = x * z
    return [u, u]


Build = Callable[[Value, Value], list[Value]]
ENDS: tuple[tuple[str, Build, tuple[float, ...]], ...] = (
    ("[x * z]", lambda x, z: [x * z], (1.0,)),
    ("[x * z]", lambda x, z: [x * z], (0.5,)),
    ("[x * x, x + z]", lambda x, z: [x * x, x + z], (2.0, -1.0)),
    ("[u, u * z] of u = x * x", _nested, (3.0, 0.5)),
    ("[u * z, u] of u = x * x", lambda x, z: _nested(x, z)[::-1], (0.5, 3.0)),
    ("[u, u] of u = x * z", _same, (1.0, 4.0)),
    ("[x]", lambda x, z: [x], (7.0,)),
)
