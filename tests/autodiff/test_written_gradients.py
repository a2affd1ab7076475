"""First and second derivatives of functions that write in place, against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import over

import minigrad as mg
from minigrad.testing import gradcheck, gradgradcheck

DTYPE: Any = {"dtype": "float64", "device": "reference"}
A = [[0.5, -1.25, 2.0], [1.5, 0.75, -0.5], [-2.0, 1.0, 0.25]]


def zeros(*shape: int) -> Any:
    return mg.zeros(*shape, **DTYPE)


def loop(x: Any, w: Any) -> Any:
    out, a = zeros(4), x[0, 0]
    for k in range(4):
        out[k] = a
        a = a * w[k % 3] + x[1, k % 3]
    return out


def overlapping(x: Any, w: Any) -> Any:
    y = x * w
    a, b = y[:2], y[1:]
    a.mul_(w)
    b.mul_(a.clone().sin())
    a[:, ::2].add_(b[:, ::2].clone() * w[0])
    return y * a.sum()


def masked(x: Any, w: Any) -> Any:
    y = x * x
    y[x > 0.6] = 0.0
    y[x < -0.4] = w[0] * w[1]
    return y * w


def transposed(x: Any, w: Any) -> Any:
    y = x * w
    y += y.T
    return y * y


def slices_of_slices(x: Any, w: Any) -> Any:
    y = x.sin()
    part = y[1:]
    part[:, 1:].mul_(w[1:])
    part[0][::2].add_(x[0][::2] * w[0])
    return part * part.T.sum() + y.sum()


def backwards(x: Any, w: Any) -> Any:
    y = x * 1.0
    y[::-1, ::-1].mul_(w)
    y[:, 2:0:-1] = x[:, :2] * w[0]
    return y * y


def several_kinds(x: Any, w: Any) -> Any:
    y = x * w
    y.reshape(-1)[::4].sin_()
    y.diagonal(1).copy_(w[:2] * w[1:])
    y.T[2] = w
    y.select(0, 1).unsqueeze(0).fill_(w[1] * w[2])
    mg.tanh(y[2], out=y[0])
    return y * y


def saved(x: Any, w: Any) -> Any:
    y = x * 1.0
    y.mul_(y)
    y.sin_().exp_()
    y[0].mul_(y[1])
    y[1:].tanh_()
    y[:, 1].sigmoid_()
    y.clamp_(min=w * 0.2)
    y.div_(w * w + 1.0)
    y.pow_(2.0)
    return y.sigmoid_()


def views_before(x: Any, w: Any) -> Any:
    y, b = x * w, zeros(3, 3)
    first, second = y[0], b[:, 1]
    y[:, 0] = w * w
    b[1:] = y[:2]
    second.add_(first)
    return first * second + b.sum() * y


def scalars(x: Any, w: Any) -> Any:
    s, total = x[0, 0] * w[0], mg.zeros((), **DTYPE)
    s.mul_(s)
    for k in range(3):
        total += x[k, k] * s
        total.mul_(w[k])
    return total * s


def casts(x: Any, w: Any) -> Any:
    b = mg.zeros(3, 3, dtype="float64", device="reference")
    b[0] = w.to(mg.float64)
    b[1:].copy_(x[:1])
    b[2, 1] = True
    b.masked_fill_(b > 1.4, w[2])
    return b * b


def rows(x: Any, w: Any) -> Any:
    y = x * 1.0
    for k, part in enumerate(y.unbind(0)):
        part.mul_(w[k])
    for part in y.split(2, 1):
        part.mul_(part)
    return y


def a_sorted_one(x: Any, w: Any) -> Any:
    v = mg.sort(x, 0).values
    u = v[:1]
    v.mul_(x)
    v[1:].add_(u.clone() * w)
    return u * v


def recurrent(x: Any, w: Any) -> Any:
    h, s = zeros(3, 3), x[0] * 1.0
    for t in range(3):
        s = (s.matmul(x) + w).tanh()
        h[t] = s
    h.relu_()
    return h.cumsum(0) * h.T


def elimination(x: Any, w: Any) -> Any:
    a = x + mg.tensor(np.eye(3) * 4.0, device="reference")
    for k in range(2):
        a[k + 1 :, k] = a[k + 1 :, k].clone() / a[k, k].clone()
        a[k + 1 :, k + 1 :] -= mg.outer(a[k + 1 :, k].clone(), a[k, k + 1 :].clone())
    return a * w


def permuted(x: Any, w: Any) -> Any:
    b = zeros(2, 3, 2).permute(2, 0, 1)
    b[...] = w[:2].reshape(2, 1, 1)
    b[:, :, 1].mul_(x[:2, :2])
    b[0].T[0] = w[0]
    return b.softmax(1)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    f.__name__: f
    for f in (loop, overlapping, masked, transposed, slices_of_slices, backwards, several_kinds, saved, views_before,
              scalars, casts, rows, a_sorted_one, recurrent, elimination, permuted)
}  # fmt: skip


@over("name", FUNCTIONS)
def test_a_function_that_writes_has_right_first_and_second_derivatives(name: str) -> None:
    inputs = [mg.Var(A, **DTYPE), mg.Var([0.75, -1.25, 1.5], **DTYPE)]
    assert gradcheck(FUNCTIONS[name], inputs)
    assert gradgradcheck(FUNCTIONS[name], inputs)


def test_a_third_derivative() -> None:
    x = mg.Var([2.0], **DTYPE)
    y = zeros(2)
    y[0] = x[0]
    y[1:].copy_(y[:1].clone() * x)
    y.mul_(y)  # x**2 + x**4
    g = y.sum()
    for wanted in (2 * 2 + 4 * 8, 2 + 12 * 4, 24 * 2):
        g = mg.grad(g.sum(), x, create_graph=True)
        assert g.tolist() == [wanted]
