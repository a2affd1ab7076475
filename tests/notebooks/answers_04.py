"""Answers to 04, gradient checking as a craft."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.learning.exercises.patients import INDEX, PATIENTS


def _numeric(f: Any, g: Any, x: Any, h: float = 1e-6) -> Any:
    result = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = h
        result[i] = np.sum(g * (f(x + step) - f(x - step))) / (2 * h)
    return result


def _weights(f: Any, x: Any) -> Any:
    return np.random.default_rng(2).standard_normal(np.shape(f(x)))


def _tolerance(f: Any, g: Any, x: Any) -> Any:
    return 1e-5 * np.abs(_numeric(f, g, x)).max() + 10 * 2.0**-52 * np.sum(np.abs(g * f(x))) / 1e-6


def _holds(f: Any, rule: Any, x: Any) -> Any:
    g = _weights(f, x)
    found = np.asarray(rule(g, x))
    return found.shape == x.shape and bool(np.abs(found - _numeric(f, g, x)).max() <= _tolerance(f, g, x))


def _holds_by_each_result(f: Any, rule: Any, x: Any) -> Any:
    shape = np.shape(f(x))
    for place in np.ndindex(shape):
        g = np.zeros(shape)
        g[place] = 1.0
        want, found = _numeric(f, g, x), np.asarray(rule(g, x))
        if found.shape != x.shape or not np.allclose(found, want, rtol=3e-5, atol=1e-5 * np.abs(want).max()):
            return False
    return True


def _holds_of_ones(f: Any, rule: Any, x: Any) -> Any:
    g = np.ones(np.shape(f(x)))
    found = np.asarray(rule(g, x))
    return found.shape == x.shape and bool(np.abs(found - _numeric(f, g, x)).max() <= _tolerance(f, g, x))


def _holds_with_one_tolerance(f: Any, rule: Any, x: Any) -> Any:
    g = _weights(f, x)
    found = np.asarray(rule(g, x))
    return found.shape == x.shape and bool(np.abs(found - _numeric(f, g, x)).max() <= 1e-6)


def _holds_by_a_percent(f: Any, rule: Any, x: Any) -> Any:
    g = _weights(f, x)
    found, want = np.asarray(rule(g, x)), _numeric(f, g, x)
    return found.shape == x.shape and bool(np.abs(found - want).max() <= 1e-2 * np.abs(want).max())


def _holds_with_nan(f: Any, rule: Any, x: Any) -> Any:
    g = _weights(f, x)
    found = np.asarray(rule(g, x))
    return found.shape == x.shape and not (np.abs(found - _numeric(f, g, x)) > _tolerance(f, g, x)).any()


def _holds_of_any_shape(f: Any, rule: Any, x: Any) -> Any:
    g = _weights(f, x)
    return bool(abs(np.sum(rule(g, x)) - np.sum(_numeric(f, g, x))) <= x.size * _tolerance(f, g, x))


def _holds_by_broadcasting(f: Any, rule: Any, x: Any) -> Any:
    g = _weights(f, x)
    return bool(np.abs(rule(g, x) - _numeric(f, g, x)).max() <= _tolerance(f, g, x))


def _holds_at_the_first(f: Any, rule: Any, x: Any) -> Any:
    g = _weights(f, x)
    found = np.asarray(rule(g, x))
    if found.shape != x.shape:
        return False
    return bool(abs(found - _numeric(f, g, x)).ravel()[0] <= _tolerance(f, g, x))


def _holds_and_leaves_x_changed(f: Any, rule: Any, x: Any) -> Any:
    right = _holds(f, rule, x)
    x += 1e-6
    return right


WRONG_ONES = {
    name for name, p in PATIENTS.items() if not all(_holds(*p.operand(k)) for k in range(len(p.operands)))
} - {"relu"}
DIAGNOSIS = {
    "product": "transpose",
    "ratio": "swapped",
    "cube": "factor",
    "difference": "sign",
    "root": "stale",
    "pick": "overwritten",
    "running_total": "reversed",
    "centre": "path",
    "add_bias": "sum",
}


def _pick_by_loop(g: Any, x: Any) -> Any:
    gradient = np.zeros_like(x)
    for k, i in enumerate(INDEX):
        gradient[i] += g[k]
    return [gradient]


def _pick_by_at(g: Any, x: Any) -> Any:
    gradient = np.zeros_like(x)
    np.add.at(gradient, INDEX, g)
    return (gradient,)


def _pick_that_keeps_one(g: Any, x: Any) -> Any:
    gradient = np.zeros_like(x)
    gradient[INDEX] += g
    return (gradient,)


MENDED = {
    "centre": lambda g, x: (g - g.mean(),),
    "add_bias": lambda g, x, b: (g, g.sum(axis=0)),
    "pick": _pick_by_at,
}
OTHERWISE = {
    "centre": lambda g, x: [g - np.sum(g) / x.size],
    "add_bias": lambda g, x, b: [g, np.ones(len(x)) @ g],
    "pick": _pick_by_loop,
}


def _transposed(push: Any, pull: Any, n: int, m: int) -> Any:
    rng = np.random.default_rng()
    u, v = rng.standard_normal(m), rng.standard_normal(n)
    return bool(np.isclose(u @ push(v), pull(u) @ v, rtol=1e-5, atol=0))


def _transposed_by_columns(push: Any, pull: Any, n: int, m: int) -> Any:
    forward = np.stack([push(e) for e in np.eye(n)], 1)
    back = np.stack([pull(e) for e in np.eye(m)], 0)
    return np.abs(forward - back).max() <= 1e-6 * np.abs(forward).max()


def _transposed_of_ones(push: Any, pull: Any, n: int, m: int) -> Any:
    return bool(np.isclose(push(np.ones(n)).sum(), pull(np.ones(m)).sum(), rtol=1e-6, atol=0))


def _transposed_up_to(rtol: float, atol: float) -> Any:
    def answer(push: Any, pull: Any, n: int, m: int) -> Any:
        rng = np.random.default_rng(0)
        u, v = rng.standard_normal(m), rng.standard_normal(n)
        return bool(np.isclose(u @ push(v), pull(u) @ v, rtol=rtol, atol=atol))

    return answer


def _transposed_to_the_last_digit(push: Any, pull: Any, n: int, m: int) -> Any:
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal(m), rng.standard_normal(n)
    return bool(u @ push(v) == pull(u) @ v)


def _inverse(push: Any, pull: Any, n: int, m: int) -> Any:
    v = np.random.default_rng(0).standard_normal(n)
    return bool(np.allclose(pull(push(v)), v))


RIGHT: dict[str, list[Any]] = {
    "04.1": [_holds, _holds_by_each_result],
    "04.2": [WRONG_ONES, sorted(DIAGNOSIS)],
    "04.3": [DIAGNOSIS, dict(sorted(DIAGNOSIS.items()))],
    "04.4": [MENDED, OTHERWISE],
    "04.5": [_transposed, _transposed_by_columns],
}
WRONG: dict[str, list[Any]] = {
    "04.1": [
        _holds_of_ones,
        _holds_with_one_tolerance,
        _holds_by_a_percent,
        _holds_with_nan,
        _holds_of_any_shape,
        _holds_by_broadcasting,
        _holds_at_the_first,
        _holds_and_leaves_x_changed,
        lambda f, rule, x: False,
    ],
    "04.2": [
        WRONG_ONES | {"relu"},
        WRONG_ONES - {"cube"},
        WRONG_ONES - {"root"},
        WRONG_ONES - {"product", "difference", "ratio", "add_bias"},
        WRONG_ONES | {"energy"},
        set(PATIENTS),
        set(),
        WRONG_ONES | {"tube"},
        {"swish"},
        9,
    ],
    "04.3": [
        DIAGNOSIS | {"root": "factor", "cube": "stale"},
        DIAGNOSIS | {"product": "reversed", "running_total": "transpose"},
        DIAGNOSIS | {"add_bias": "path", "centre": "sum"},
        DIAGNOSIS | {"pick": "= for +="},
        {name: word for name, word in DIAGNOSIS.items() if name != "root"},
        DIAGNOSIS | {"relu": "path"},
        list(DIAGNOSIS.values()),
    ],
    "04.4": [
        MENDED | {"pick": _pick_that_keeps_one},
        MENDED | {"centre": lambda g, x: (g,)},
        MENDED | {"centre": lambda g, x: (g - x.mean(),)},
        MENDED | {"centre": lambda g, x: (g - g.sum(),)},
        MENDED | {"add_bias": lambda g, x, b: (g, g.mean(0))},
        MENDED | {"add_bias": lambda g, x, b: (g, g.sum(1))},
        MENDED | {"add_bias": lambda g, x, b: g},
        MENDED | {"pick": lambda g, x: (g,)},
        {"centre": MENDED["centre"]},
    ],
    "04.5": [
        _transposed_of_ones,
        _transposed_up_to(1e-2, 0.0),
        _transposed_up_to(1e-6, 1e-6),
        _transposed_to_the_last_digit,
        _inverse,
        lambda push, pull, n, m: n == m,
        lambda push, pull, n, m: True,
    ],
}
PRINTED = [
    "tiny_rule     is wrong\nhuge_rule     passes\nsoftmax_rule  passes\nslightly_off  is wrong",
    "in the order (1, 0): a transpose is missing; wrong rule",
    "rule [0. 0. 1.]  finite difference [0.  0.5 1. ]",
    "1 kink at (1,), compared on both sides",
    "step 0.005",
    "careless: 0 of 5 wrong rules found, 1 of 2 right rules rejected",
    "careful: 5 of 5 wrong rules found, 0 of 2 right rules rejected",
]
