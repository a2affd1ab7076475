"""Answers to 06, vector-Jacobian products."""

from __future__ import annotations

from typing import Any

import minigrad as mg


def _summed_one_by_one(g: Any, shape: Any) -> Any:
    while g.ndim > len(shape):
        g = g.sum(0)
    for d, n in enumerate(shape):
        if n == 1:
            g = g.sum(d, keepdim=True)
    return g


def _new_dims_only(g: Any, shape: Any) -> Any:
    while g.ndim > len(shape):
        g = g.sum(0)
    return g


def _stretched_dims_only(g: Any, shape: Any) -> Any:
    return g.sum([d for d, n in enumerate(shape) if n == 1], keepdim=True) if 1 in shape else g


def _means(g: Any, shape: Any) -> Any:
    while g.ndim > len(shape):
        g = g.mean(0)
    for d, n in enumerate(shape):
        if n == 1:
            g = g.mean(d, keepdim=True)
    return g


def _without_keepdim(g: Any, shape: Any) -> Any:
    while g.ndim > len(shape):
        g = g.sum(0)
    for d, n in enumerate(shape):
        if n == 1:
            g = g.sum(d)
    return g


def _picked_by_loop(g: Any, p: Any, shape: Any) -> Any:
    rows = [[0.0] * shape[1] for _ in range(shape[0])]
    for k, column in enumerate(p.tolist()):
        rows[k][column] = g[k].item()
    return mg.tensor(rows, dtype=mg.float64)


def _picked_by_columns(g: Any, p: Any, shape: Any) -> Any:
    rows = mg.zeros(*shape, dtype=mg.float64)
    for k, column in enumerate(p.tolist()):
        rows[:, column] = g[k].item()
    return rows


def _one_hot(g: Any, p: Any, shape: Any) -> Any:
    return _picked_by_loop(g * 0.0 + 1.0, p, shape)


def _everywhere(g: Any, p: Any, shape: Any) -> Any:
    return g.reshape(-1, 1).expand(*shape)


def _first_columns(g: Any, p: Any, shape: Any) -> Any:
    return _picked_by_loop(g, p * 0, shape)


def _picked_itself(g: Any, p: Any, shape: Any) -> Any:
    return g


def _numbers(f: Any, x: Any, u: Any, gradient: Any, v: Any) -> Any:
    _, move = mg.func.jvp(f, (x,), (v,))
    return (u * move).sum().item(), (gradient * v).sum().item()


def _vjp_by_jvp(f: Any, x: Any, u: Any, gradient: Any) -> Any:
    left, right = _numbers(f, x, u, gradient, mg.randn_like(x))
    return gradient.shape == x.shape and abs(left - right) < 1e-8


def _vjp_by_nudging(f: Any, x: Any, u: Any, gradient: Any) -> Any:
    if gradient.shape != x.shape:
        return False
    v, h = mg.randn_like(x), 1e-5
    move = (f(x + v * h) - f(x - v * h)) / (2 * h)
    return abs(((u * move).sum() - (gradient * v).sum()).item()) < 1e-6


def _vjp_without_shapes(f: Any, x: Any, u: Any, gradient: Any) -> Any:
    left, right = _numbers(f, x, u, gradient, mg.randn_like(x))
    return abs(left - right) < 1e-8


def _vjp_with_ones(f: Any, x: Any, u: Any, gradient: Any) -> Any:
    left, right = _numbers(f, x, u, gradient, mg.ones_like(x))
    return gradient.shape == x.shape and abs(left - right) < 1e-8


def _vjp_without_sign(f: Any, x: Any, u: Any, gradient: Any) -> Any:
    left, right = _numbers(f, x, u, gradient, mg.randn_like(x))
    return gradient.shape == x.shape and abs(abs(left) - abs(right)) < 1e-8


def _vjp_one_way(f: Any, x: Any, u: Any, gradient: Any) -> Any:
    left, right = _numbers(f, x, u, gradient, mg.randn_like(x))
    return gradient.shape == x.shape and left - right < 1e-8


def _vjp_by_shape(f: Any, x: Any, u: Any, gradient: Any) -> Any:
    return gradient.shape == x.shape


def _vjp_turned_round(f: Any, x: Any, u: Any, gradient: Any) -> Any:
    return not _vjp_by_jvp(f, x, u, gradient)


def _log_softmax_by_rows(g: Any, y: Any) -> Any:
    softmax = y.exp()
    return mg.stack([g[k] - softmax[k] * g[k].sum() for k in range(g.shape[0])])


RIGHT: dict[str, list[Any]] = {
    "06.1": [_summed_one_by_one, lambda g, shape: g.sum_to(shape)],
    "06.2": [lambda g, a, b: (g @ b, g.T @ a), lambda g, a, b: [(b.T @ g.T).T, (a.T @ g).T]],
    "06.3": [_picked_by_loop, lambda g, p, shape: (mg.arange(shape[1]) == p.reshape(-1, 1)) * g.reshape(-1, 1)],
    "06.4": [_log_softmax_by_rows, lambda g, y: g - y.exp() * g.sum(1, keepdim=True)],
    "06.5": [_vjp_by_jvp, _vjp_by_nudging],
}
WRONG: dict[str, list[Any]] = {
    "06.1": [
        _new_dims_only,
        _stretched_dims_only,
        _means,
        _without_keepdim,
        lambda g, shape: g,
        lambda g, shape: g.sum(0),
        lambda g, shape: g.sum(),
    ],
    "06.2": [
        lambda g, a, b: (g @ b.T, a.T @ g),
        lambda g, a, b: (g @ b, a.T @ g),
        lambda g, a, b: (g.T @ a, g @ b),
        lambda g, a, b: (g @ b, -(g.T @ a)),
        lambda g, a, b: g @ b,
        lambda g, a, b: (g * b, g * a),
    ],
    "06.3": [
        _one_hot,
        _everywhere,
        _first_columns,
        _picked_by_columns,
        _picked_itself,
        lambda g, p, shape: _picked_by_loop(g, p, shape).T,
    ],
    "06.4": [
        lambda g, y: g - y.exp(),
        lambda g, y: g - y * g.sum(1, keepdim=True),
        lambda g, y: g * (1.0 - y.exp()),
        lambda g, y: g - y.exp() * g.sum(),
        lambda g, y: y.exp() * (g - (g * y.exp()).sum(1, keepdim=True)),
        lambda g, y: g - y.exp() * g.sum(1),
        lambda g, y: g + y.exp() * g.sum(1, keepdim=True),
    ],
    "06.5": [
        _vjp_without_shapes,
        _vjp_with_ones,
        _vjp_without_sign,
        _vjp_one_way,
        _vjp_by_shape,
        _vjp_turned_round,
        lambda f, x, u, gradient: True,
    ],
}
PRINTED = [
    "<u, Jv>  = -97.316523",
    "<J'u, v> = -97.316523",
    "x receives \u0233 \u00b7 y\ninput receives \u0233 \u00b7 other\nother receives \u0233 \u00b7 input\n",
    "input receives \u0233 / other",
    "other receives sum(\u0233, to=(3,))",
    "input receives \u0233 @ other\u1d40\nother receives input\u1d40 @ \u0233\nright: ",
    "[[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [3.0, 3.0, 3.0], [0.0, 0.0, 0.0]]\nadd:   right",
    "write: WRONG",
    "b has shape (8, 2)\nadd: float64(5, 2) and float64(8, 2) do not broadcast",
    "g         WRONG: operand 0 has shape (2,), its gradient (8, 2)\ng.sum(1)  WRONG: ",
    "g.sum(0)  right",
    "the value must have the shape of the Var",
    "in both modes",
]
