"""Fourteen functions, each with a rule for its gradient; some rules are wrong, and notebook 04 asks which and why.

A rule takes the cotangent of the result and the operands, and returns one gradient per operand.  Functions and rules
are written in NumPy, with one to four lines each; `show(name)` prints a function and its rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
INDEX = np.array([0, 2, 2])
WRONG_IN = ("factor", "overwritten", "path", "reversed", "sign", "stale", "sum", "swapped", "transpose")


@dataclass(frozen=True)
class Patient:
    """A function f, a rule that returns the gradients of <g, f(...)>, and a point: the operands."""

    f: Callable[..., Array]
    rule: Callable[..., tuple[Array, ...]]
    operands: tuple[Array, ...]

    def operand(self, k: int) -> tuple[Callable[[Array], Array], Callable[[Array, Array], Array], Array]:
        """Return (f, rule, x) for operand k; the other operands are fixed."""

        def filled(x: Array) -> list[Array]:
            return [x if j == k else other for j, other in enumerate(self.operands)]

        return lambda x: self.f(*filled(x)), lambda g, x: self.rule(g, *filled(x))[k], self.operands[k]


def cube(x):
    return 1e-7 * x**3


def cube_rule(g, x):
    return (g * 1e-7 * x**2,)


def difference(a, b):
    return a - b


def difference_rule(g, a, b):
    return g, g


def product(a, b):
    return a @ b


def product_rule(g, a, b):
    return g @ b, a.T @ g


def add_bias(x, b):
    return x + b  # b is added to each row of x


def add_bias_rule(g, x, b):
    return g, g[0]


def ratio(a, b):
    return a / b


def ratio_rule(g, a, b):
    return -g * a / b**2, g / b


def roots(x):
    """Return the root by Newton's method, and the value one step before."""
    before = y = 0.6 * x + 0.45
    for _ in range(3):
        before, y = y, 0.5 * (y + x / y)
    return y, before


def root(x):
    return roots(x)[0]


def root_rule(g, x):
    _, y = roots(x)
    return (g / (2 * y),)


def pick(x):
    return x[INDEX]


def pick_rule(g, x):
    gradient = np.zeros_like(x)
    gradient[INDEX] = g
    return (gradient,)


def running_total(x):
    return np.cumsum(x)


def running_total_rule(g, x):
    return (np.cumsum(g),)


def centre(x):
    return x - x.mean()


def centre_rule(g, x):
    return (g,)


def swish(x):
    return x / (1 + np.exp(-x))


def swish_rule(g, x):
    s = 1 / (1 + np.exp(-x))
    return (g * s * (1 + x * (1 - s)),)


def relu(x):
    return np.maximum(x, 0.0)


def relu_rule(g, x):
    return (g * (x > 0),)


def log_softmax(x):
    moved = x - x.max()
    return moved - np.log(np.exp(moved).sum())


def log_softmax_rule(g, x):
    return (g - np.exp(log_softmax(x)) * g.sum(),)


def length(x):
    return np.sqrt((x * x).sum())


def length_rule(g, x):
    return (g * x / length(x),)


def energy(x):
    return 1e8 * x * x


def energy_rule(g, x):
    return (2e8 * g * x,)


_draw = np.random.default_rng(4).standard_normal
PATIENTS = {
    "add_bias": Patient(add_bias, add_bias_rule, (_draw((4, 3)), _draw(3))),
    "centre": Patient(centre, centre_rule, (_draw(4),)),
    "cube": Patient(cube, cube_rule, (np.array([0.5, -1.5, 2.0]),)),
    "difference": Patient(difference, difference_rule, (_draw(3), _draw(3))),
    "energy": Patient(energy, energy_rule, (_draw(3),)),
    "length": Patient(length, length_rule, (_draw(4),)),
    "log_softmax": Patient(log_softmax, log_softmax_rule, (_draw(4),)),
    "pick": Patient(pick, pick_rule, (_draw(4),)),
    "product": Patient(product, product_rule, (_draw((3, 3)), _draw((3, 3)))),
    "ratio": Patient(ratio, ratio_rule, (_draw(3), 1.5 + np.abs(_draw(3)))),
    "relu": Patient(relu, relu_rule, (np.array([-1.0, 0.0, 2.0]),)),
    "root": Patient(root, root_rule, (np.array([0.5, 1.7, 3.0]),)),
    "running_total": Patient(running_total, running_total_rule, (_draw(4),)),
    "swish": Patient(swish, swish_rule, (_draw(4),)),
}


def show(name: str) -> None:
    """Print a function and its rule."""
    patient = PATIENTS[name]
    parts: list[Any] = [roots] if name == "root" else []
    print("\n\n".join(inspect.getsource(part).rstrip() for part in (*parts, patient.f, patient.rule)))
