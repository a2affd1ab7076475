"""Answers to A2, stability."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import minigrad as mg


def _rows(x: Any, top: Any, after: Any = None) -> Any:
    """The logarithm of the sum of exp(x - top), and another top on it."""
    return ((x - top).exp().sum(1, keepdim=True).log() + (top if after is None else after)).squeeze(1)


def _contrary(x: Any, at: float = -0.7, safe: bool = True) -> Any:
    far = mg.where(x > at, -1.0, x) if safe else x
    return mg.where(x > at, (-x.expm1()).log(), (-far.exp()).log1p())


def _contrary_clamped(x: Any) -> Any:
    near = mg.where(x > -0.5, x, -0.5)
    far = mg.where(x > -0.5, -0.5, x)
    return mg.where(x > -0.5, (-near.expm1()).log(), (-far.exp()).log1p())


def _unit(x: Any, inner: bool = True, outer: bool = True) -> Any:
    squares = (x * x).sum(1, keepdim=True)
    zero = squares == 0.0
    found = x / (mg.where(zero, 1.0, squares) if inner else squares).sqrt()
    return mg.where(zero, 0.0, found) if outer else found


def _unit_by_a_mask(x: Any) -> Any:
    squares = (x * x).sum(1, keepdim=True)
    there = (squares > 0.0).to(x.dtype)
    return x * there / (squares + (1.0 - there)).sqrt()


def _unit_by_a_constant(x: Any) -> Any:
    return x / (x * x).sum(1, keepdim=True).detach().sqrt().clamp(1e-30)


def _merged(a: Any, b: Any) -> Any:
    if a[0] < b[0]:
        a, b = b, a
    return a if b[1] == 0 else (a[0], a[1] + b[1] * math.exp(b[0] - a[0]))


def _merged_without_care(a: Any, b: Any) -> Any:
    top = max(a[0], b[0])
    return top, a[1] * math.exp(a[0] - top) + b[1] * math.exp(b[0] - top)


def _merged_by_logarithm(a: Any, b: Any) -> Any:
    top = max(a[0], b[0])
    return top, math.log(a[1] * math.exp(a[0] - top) + b[1] * math.exp(b[0] - top)) if top > -math.inf else 0.0


RIGHT: dict[str, list[Any]] = {
    "A2.1": [
        lambda x: _rows(x, x.amax(1, keepdim=True)),
        lambda x: _rows(x, x.detach().amax(1, keepdim=True)),
        lambda x: (x - x.log_softmax(1))[:, 0],
    ],
    "A2.2": [_contrary, _contrary_clamped],
    "A2.3": [_unit, _unit_by_a_mask],
    "A2.4": [
        _merged,
        lambda a, b: (max(a[0], b[0]), sum(t * math.exp(m - max(a[0], b[0])) for m, t in (a, b) if t > 0.0)),
    ],
}
WRONG: dict[str, list[Any]] = {
    "A2.1": [
        lambda x: x.exp().sum(1).log(),
        lambda x: _rows(x, x.max()),
        lambda x: _rows(x, x.amax(1, keepdim=True), 0.0),
        lambda x: _rows(x, x.detach().amax(1, keepdim=True), x.amax(1, keepdim=True)),
        lambda x: (x - x.amax(1)).exp().sum(1).log() + x.amax(1),
        lambda x: x.amax(1),
    ],
    "A2.2": [
        lambda x: (1.0 - x.exp()).log(),
        lambda x: (-x.expm1()).log(),
        lambda x: (-x.exp()).log1p(),
        lambda x: _contrary(x, safe=False),
        lambda x: mg.where(x > -0.7, (-x).log(), -x.exp()),
        lambda x: (1.0 - x.exp() + 1e-12).log(),
        lambda x: mg.from_numpy(np.log(-np.expm1(x.detach().numpy()))),
    ],
    "A2.3": [
        lambda x: x / (x * x).sum(1, keepdim=True).sqrt(),
        lambda x: _unit(x, inner=False),
        lambda x: _unit(x, outer=False),
        lambda x: x / ((x * x).sum(1, keepdim=True) + 1e-12).sqrt(),
        lambda x: x / ((x * x).sum(1, keepdim=True).sqrt() + 1e-12),
        _unit_by_a_constant,
        lambda x: _unit(x.T).T,
    ],
    "A2.4": [
        lambda a, b: (max(a[0], b[0]), a[1] + b[1]),
        _merged_without_care,
        _merged_by_logarithm,
        lambda a, b: (a[0], a[1] + b[1] * math.exp(min(b[0] - a[0], 700.0))) if a[1] else b,
        lambda a, b: (max(a[0], b[0]), a[1] * math.exp(a[0]) + b[1] * math.exp(b[0])),
        lambda a, b: _merged(a, b)[1],
    ],
}
PRINTED = [
    "float32          -103.97  |           -87.34 |      88.72\n",
    ", inf, ",
    "#1  exp  [2.68812e+43, 9.88903e+42, 3.63797e+42]",
    "float32: the result is 100.40761, and 100.40761 in float64: off by ",
    "by_the_book       inf  gradient [nan, nan, nan]\nshifted       100.408  gradient [0.6652, 0.2447, 0.09]\n",
    "by_the_book      -inf  gradient [nan, nan, nan]\nshifted      -199.592  gradient [0.6652, 0.2447, 0.09]\n",
    "gradient of z: [0.6652, 0.2447, 0.09003]\n",
    "cross entropy 1000.0  gradient [[1.0, -1.0, 0.0]]\n",
    "is already nan or inf\n",
    "the incoming gradient there is 0, and 0 times a derivative that is nan or inf is nan",
    "detect_anomaly: 4 of 40 elements of the gradient of 'x' in log(40,) of ",
    "t = 0, cross_entropy right at [-20.0, 0.5]\nt = 0, fixed         right at [-200.0, -20.0, 0.5, 20.0, 200.0]\n",
    "t = 1, cross_entropy right at [-20.0, 0.5]\nt = 1, fixed         right at [-200.0, -20.0, 0.5, 20.0, 200.0]\n",
    "gradcheck: agrees",
    "by hand  gradient at 0: [nan, nan]\nx.norm() gradient at 0: [0.0, 0.0]\n",
    "log(1 + x): 0 and 1e-10\nexp(x) - 1: 0 and 1e-10\n",
    "gain 1.00: at the first layer 5e-06 times",
    "gain 2.00: at the first layer 3e+06 times",
    "float64: at best off by ",
]
