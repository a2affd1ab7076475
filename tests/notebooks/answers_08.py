"""Answers to 08, forward mode."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg


def _divided_by_product(a: Any, b: Any) -> Any:
    c = a[0] / b[0]
    return [c, (a[1] - c * b[1]) / b[0]]


def _columns(f: Any, x: Any) -> Any:
    units = mg.eye(len(x), dtype="float64")
    return mg.stack([mg.func.jvp(f, (x,), (units[k],))[1] for k in range(len(x))]).T


def _rows_as_columns(f: Any, x: Any) -> Any:
    units = mg.eye(len(x), dtype="float64")
    return mg.stack([mg.func.jvp(f, (x,), (units[k],))[1] for k in range(len(x))])


def _first_column(f: Any, x: Any) -> Any:
    return mg.func.jvp(f, (x,), (mg.eye(len(x), dtype="float64")[0],))[1]


def _values(f: Any, x: Any) -> Any:
    units = mg.eye(len(x), dtype="float64")
    return mg.stack([mg.func.jvp(f, (x,), (units[k],))[0] for k in range(len(x))], 1)


def _forward_twice(f: Any, x: Any, v: Any) -> Any:
    def slope(x: Any) -> Any:
        return mg.func.jvp(f, (x,), (v,))[1]

    return mg.func.jvp(slope, (x,), (v,))[1]


def _second_quotient(f: Any, x: Any, v: Any) -> Any:
    h = 1e-4
    return (f(x + h * v) - 2.0 * f(x) + f(x - h * v)) / (h * h)


def _by_table(lines: Any, u: Any) -> Any:
    table = np.eye(len(u))
    for j, c, i in lines:
        table[j] += c * table[i]
    return u @ table


def _pulled(lines: Any, u: Any, add: bool = True, turned: bool = True, swapped: bool = True) -> Any:
    counts = np.array(u)
    for j, c, i in reversed(lines) if turned else lines:
        to, of = (i, j) if swapped else (j, i)
        counts[to] = (counts[to] if add else 0.0) + c * counts[of]
    return counts


RIGHT: dict[str, list[Any]] = {
    "08.1": [lambda a, b: (a[0] / b[0], (a[1] * b[0] - a[0] * b[1]) / b[0] ** 2), _divided_by_product],
    "08.2": [_columns, lambda f, x: mg.func.jacrev(f)(x)],
    "08.3": [lambda f, x, v: v @ mg.func.hvp(f, (x,), (v,)), _forward_twice],
    "08.4": [_pulled, _by_table],
}
WRONG: dict[str, list[Any]] = {
    "08.1": [
        lambda a, b: (a[0] / b[0], a[1] / b[1]),
        lambda a, b: (a[0] / b[0], (a[1] * b[0] + a[0] * b[1]) / b[0] ** 2),
        lambda a, b: (a[0] / b[0], (a[1] * b[0] - a[0] * b[1]) / b[0]),
        lambda a, b: (a[1] * b[0] - a[0] * b[1]) / b[0] ** 2,
        lambda a, b: (a[0] / b[0], a[1] / b[0]),
    ],
    "08.2": [
        _rows_as_columns,
        _first_column,
        _values,
        lambda f, x: mg.func.jvp(f, (x,), (mg.ones_like(x),))[1],
        mg.func.jacfwd,
    ],
    "08.3": [
        lambda f, x, v: mg.func.hvp(f, (x,), (v,)),
        lambda f, x, v: mg.func.jvp(f, (x,), (v,))[1],
        lambda f, x, v: mg.func.hvp(f, (x,), (v,)).sum(),
        lambda f, x, v: v @ mg.func.hessian(f)(x) @ v,
        _second_quotient,
    ],
    "08.4": [
        lambda lines, u: _pulled(lines, u, add=False),
        lambda lines, u: _pulled(lines, u, turned=False),
        lambda lines, u: _pulled(lines, u, swapped=False),
        lambda lines, u: _pulled(lines, u, turned=False, swapped=False),
        lambda lines, u: _pulled([(j, 1 / c, i) for j, c, i in lines], u),
        lambda lines, u: u,
    ],
}
PRINTED = [
    "10.0\n12.0 is 6x at 2\n2.0\n1.0\n12.0 is still 6x at 2\n",
    "forward in forward: 1.0\nreverse in reverse: 1.0\nreverse in forward: 1.0\n",
    "8 columns: (6, 8)   6 rows: (6, 8)",
    "line 6 = 1.00 * line 4 + 1.00 * line 5",
    "NOT <u, Jv> is -0.05251340305 forward and -0.02625670152 in reverse",
    "ok  <u, Jv> is -0.02625670152 in both modes",
]
