"""Answers to 02, a scalar autograd."""

from __future__ import annotations

import math
from typing import Any


def _logistic_by_branches(a: Any) -> Any:
    if a < 0:
        y = math.exp(a) / (1 + math.exp(a))
    else:
        y = 1 / (1 + math.exp(-a))
    return y, [y * (1 - y)]


def _logistic_by_tanh(a: Any) -> Any:
    y = 0.5 * (1 + math.tanh(a / 2))
    return y, (y * (1 - y),)


def _logistic_that_overflows(a: Any) -> Any:
    y = 1 / (1 + math.exp(-a))
    return y, (y * (1 - y),)


def _order_by_depth(y: Any) -> Any:
    seen, found = set(), []

    def visit(v: Any) -> None:
        if v not in seen:
            seen.add(v)
            for p in v.parents:
                visit(p)
            found.append(v)

    visit(y)
    return reversed(found)


def _order_by_levels(y: Any) -> Any:
    level = {y: 0}
    todo = [y]
    while todo:
        v = todo.pop()
        for p in v.parents:
            if level.get(p, -1) < level[v] + 1:
                level[p] = level[v] + 1
                todo.append(p)
    return sorted(level, key=lambda v: level[v])


def _breadth_first(y: Any) -> Any:
    found = [y]
    for v in found:
        found += [p for p in v.parents if p not in found]
    return found


def _every_visit(y: Any) -> Any:
    found = [y]
    for v in found:
        found += v.parents
    return found


def _by_id(y: Any) -> Any:
    return sorted(_order_by_levels(y), key=lambda v: v.id, reverse=True)


def _under(ys: Any) -> Any:
    found, todo = {}, list(ys)
    while todo:
        v = todo.pop()
        if v.id not in found:
            found[v.id] = v
            todo.extend(v.parents)
    return sorted(found.values(), key=lambda v: v.id, reverse=True)


def _walk(ys: Any, table: Any, xs: Any) -> Any:
    for v in _under(ys):
        for p, slope in zip(v.parents, v.slopes):
            table[p.id] = table.get(p.id, 0.0) + slope * table[v.id]
    return [table.get(x.id, 0.0) for x in xs]


def _one_walk(ys: Any, weights: Any, xs: Any) -> Any:
    table: dict[int, float] = {}
    for y, w in zip(ys, weights):
        table[y.id] = table.get(y.id, 0.0) + w
    return _walk(ys, table, xs)


def _a_walk_each(ys: Any, weights: Any, xs: Any) -> Any:
    walks = [_walk([y], {y.id: w}, xs) for y, w in zip(ys, weights)]
    return [sum(column) for column in zip(*walks)]


def _weights_that_overwrite(ys: Any, weights: Any, xs: Any) -> Any:
    return _walk(ys, {y.id: w for y, w in zip(ys, weights)}, xs)


def _without_weights(ys: Any, weights: Any, xs: Any) -> Any:
    return _one_walk(ys, [1.0] * len(ys), xs)


def _only_the_last(ys: Any, weights: Any, xs: Any) -> Any:
    return _walk(ys[-1:], {ys[-1].id: weights[-1]}, xs)


def _one_after_the_other(ys: Any, weights: Any, xs: Any) -> Any:
    table: dict[int, float] = {}
    for y, w in zip(ys, weights):
        table[y.id] = table.get(y.id, 0.0) + w
        _walk([y], table, xs)
    return [table.get(x.id, 0.0) for x in xs]


def _missing_unused(ys: Any, weights: Any, xs: Any) -> Any:
    table: dict[int, float] = {}
    for y, w in zip(ys, weights):
        table[y.id] = table.get(y.id, 0.0) + w
    _walk(ys, table, xs)
    return [table[x.id] for x in xs if x.id in table]


RIGHT: dict[str, list[Any]] = {
    "02.1": [lambda a, b: (a / b, (1 / b, -a / (b * b))), lambda a, b: (a / b, [b**-1.0, -(a / b) / b])],
    "02.2": [_logistic_by_branches, _logistic_by_tanh],
    "02.3": [_order_by_depth, _order_by_levels],
    "02.4": [_one_walk, _a_walk_each],
}
WRONG: dict[str, list[Any]] = {
    "02.1": [
        lambda a, b: a / b,
        lambda a, b: (a / b, (1 / b, a / (b * b))),
        lambda a, b: (a / b, (b, a)),
        lambda a, b: (a / b, (1 / b, -1 / (b * b))),
        lambda a, b: (a / b, (-a / (b * b), 1 / b)),
        lambda a, b: (a / b, 1 / b, -a / (b * b)),
    ],
    "02.2": [
        _logistic_that_overflows,
        lambda a: _logistic_by_tanh(a)[0],
        lambda a: (_logistic_by_tanh(a)[0], (_logistic_by_tanh(a)[0],)),
        lambda a: (_logistic_by_tanh(a)[0], (1 - _logistic_by_tanh(a)[0] ** 2,)),
        lambda a: (math.tanh(a), (1 - math.tanh(a) ** 2,)),
        lambda a: _logistic_by_tanh(max(-20.0, min(20.0, a))),
    ],
    "02.3": [
        _breadth_first,
        _every_visit,
        _by_id,
        lambda y: list(_order_by_depth(y))[::-1],
        lambda y: list(_order_by_depth(y))[1:],
        lambda y: [y, *y.parents],
        lambda y: len(_order_by_levels(y)),
    ],
    "02.4": [
        _weights_that_overwrite,
        _without_weights,
        _only_the_last,
        _one_after_the_other,
        _missing_unused,
        lambda ys, weights, xs: sum(_one_walk(ys, weights, xs)),
    ],
}
PRINTED = [
    "WRONG: the backward pass returns 3, nudging 6",
    "WRONG: the backward pass returns 84, nudging 44",
    "visit v, gradient 4\nvisit x, gradient 4\nvisit u, gradient 10\n",
    "16 steps, 131071 visits",
    "right: the backward pass returns 44, nudging 44",
    "first pass  44.0\nsecond pass 148.0\n",
    "after two passes: x.grad is 88.0 and u.grad is 0.0",
]
