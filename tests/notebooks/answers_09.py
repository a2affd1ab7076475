"""Answers to 09, derivatives of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg


def _by_quotient(f: Any, x: Any) -> Any:
    h = 1e-3
    return (f(x + h) - 2.0 * f(x) + f(x - h)) / (h * h)


def _penalty(critic: Any, x: Any, create: bool = True, power: int = 2) -> Any:
    slopes = mg.grad(critic(x).sum(), x, create_graph=create)
    return ((slopes.norm(dim=1) - 1.0) ** power).mean()


def _penalty_by_coordinates(critic: Any, x: Any) -> Any:
    slopes = mg.grad(critic(x).sum(), x, create_graph=True)
    return ((slopes - 1.0) ** 2).mean()


def _penalty_cut_off(critic: Any, x: Any) -> Any:
    slopes = mg.grad(critic(x).sum(), x, create_graph=True)
    return ((slopes.norm(dim=1) - 1.0) ** 2).mean().detach()


def _penalty_of_one_length(critic: Any, x: Any) -> Any:
    slopes = mg.grad(critic(x).sum(), x, create_graph=True)
    return (slopes.norm() - 1.0) ** 2


def _penalty_as_a_sum(critic: Any, x: Any) -> Any:
    slopes = mg.grad(critic(x).sum(), x, create_graph=True)
    return (((slopes * slopes).sum(1).sqrt() - 1.0) ** 2).sum()


def _newton(f: Any, x: Any, steps: int = 8, sign: float = 1.0, turned: bool = False, anew: bool = True) -> Any:
    table = mg.func.jacrev(f)(x).numpy()
    for _ in range(steps):
        table = mg.func.jacrev(f)(x).numpy() if anew else table
        step = np.linalg.solve(table.T if turned else table, f(x).numpy())
        x = x - sign * mg.from_numpy(step)
    return x


def _newton_inverted(f: Any, x: Any) -> Any:
    for _ in range(8):
        inverse = np.linalg.inv(mg.func.jacfwd(f)(x).numpy())
        x = mg.tensor(x.numpy() - inverse @ f(x).numpy(), dtype="float64")
    return x


def _slopes(g: Any, solve: Any, x: Any) -> Any:
    by_z, by_x = mg.func.grad(g, argnums=(0, 1))(solve(x), x)
    return by_z.item(), by_x.item()


def _implicit_by_grad(g: Any, solve: Any, x: Any) -> Any:
    z, at = mg.Var(solve(x)), mg.Var(x)
    by_z, by_x = mg.grad(g(z, at), [z, at])
    return -by_x / by_z


RIGHT: dict[str, list[Any]] = {
    "09.1": [
        lambda f, x: mg.grad(mg.grad(f(x), x, create_graph=True), x),
        lambda f, x: mg.func.grad(mg.func.grad(f))(x.detach()),
    ],
    "09.2": [
        _penalty,
        lambda critic, x: (((mg.grad(critic(x).sum(), x, create_graph=True) ** 2).sum(1).sqrt() - 1.0) ** 2).mean(),
    ],
    "09.3": [_newton, _newton_inverted],
    "09.4": [lambda g, solve, x: -_slopes(g, solve, x)[1] / _slopes(g, solve, x)[0], _implicit_by_grad],
}
WRONG: dict[str, list[Any]] = {
    "09.1": [
        lambda f, x: mg.grad(f(x), x),
        lambda f, x: mg.grad(mg.grad(f(x), x), x),
        lambda f, x: mg.grad(f(f(x)), x),
        lambda f, x: mg.grad(f(x), x) ** 2,
        _by_quotient,
    ],
    "09.2": [
        lambda critic, x: _penalty(critic, x, create=False),
        lambda critic, x: _penalty(critic, x, power=1),
        _penalty_by_coordinates,
        _penalty_cut_off,
        _penalty_of_one_length,
        _penalty_as_a_sum,
    ],
    "09.3": [
        lambda f, x: _newton(f, x, steps=1),
        lambda f, x: _newton(f, x, sign=-1.0),
        lambda f, x: _newton(f, x, turned=True),
        lambda f, x: _newton(f, x, anew=False),
        lambda f, x: x - f(x),
    ],
    "09.4": [
        lambda g, solve, x: _slopes(g, solve, x)[1] / _slopes(g, solve, x)[0],
        lambda g, solve, x: -_slopes(g, solve, x)[0] / _slopes(g, solve, x)[1],
        lambda g, solve, x: -_slopes(g, solve, x)[1],
        lambda g, solve, x: _slopes(g, solve, x)[1] / (1 - _slopes(g, solve, x)[0]),
        lambda g, solve, x: mg.func.grad(solve)(x),
    ],
}
PRINTED = [
    "3x^2 = [3.0, 12.0, 27.0]\n",
    "6x = [6.0, 12.0, 18.0]\n",
    "derivative 5:  129 ops, which save  17 kB\nderivative 6:  339 ops",
    "penalty at the start 2.202 and at the end 2427.711",
    "does the penalty require a gradient? False",
    "or is a gradient computed without create_graph=True",
    "penalty at the start 2.202 and at the end 0.023",
    "with_bug disagrees: gradcheck: the gradient of 'w1' is worst at ",
    "without_bug agrees with finite differences",
    "4.1e-01 from (1, 1)\nNewton, step 5: 3.0e-03 from (1, 1)\nNewton, step 6: 1.8e-06 from (1, 1)\n",
    "24 rounds: 71 ops are recorded\none round, at the solution: 2 ops are recorded\n",
    "largest distance from the sine: ",
    "gradcheck: True\ngradgradcheck: the gradient of 'x' is worst at ",
]
