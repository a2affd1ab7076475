"""Fit a network to an equation instead of data: y'' + y = 0 with y(0) = 0 and y'(0) = 1, whose solution is the sine.

    python examples/ode_fit.py

The network is a function of one number t.  `mg.func.jvp`, nested once, computes its first and second derivatives with
respect to t, and `mg.func.vmap` does so for all points together.  The loss is the mean square of y'' + y.  Its gradient
with respect to the weights is a third derivative, by reverse mode over two forward modes.  The optimizer is Adam.
"""

import math
from collections.abc import Callable

import minigrad as mg

WIDTH, POINTS, STEPS, RATE = 16, 24, 1500, 0.02
Weights = dict[str, mg.Tensor]


def new_network() -> Weights:
    """Return the weights of one hidden layer, whose tanh is smooth, so that second derivatives exist."""
    start = mg.randn(WIDTH, dtype="float64")
    return {"a": start, "b": mg.randn(WIDTH, dtype="float64"), "c": 0.1 * mg.randn(WIDTH, dtype="float64")}


def solution(network: Weights, t: mg.Tensor) -> mg.Tensor:
    """Return y(t) = t + t^2 net(t), for which y(0) = 0 and y'(0) = 1, whatever the weights are."""
    return t + t * t * (network["c"] * mg.tanh(network["a"] * t + network["b"])).sum()


def along(function: Callable[[mg.Tensor], mg.Tensor], t: mg.Tensor) -> tuple[mg.Tensor, mg.Tensor]:
    """Return the value of a function of t, and its derivative."""
    return mg.func.jvp(function, (t,), (mg.ones_like(t),))


def left_over(network: Weights, t: mg.Tensor) -> mg.Tensor:
    """Return y'' + y at one point, which is 0 for a solution."""
    y = lambda s: solution(network, s)  # noqa: E731
    return along(lambda s: along(y, s)[1], t)[1] + y(t)


def loss(network: Weights, points: mg.Tensor) -> mg.Tensor:
    """Return the mean square of y'' + y over the points."""
    rest = mg.func.vmap(left_over, in_dims=(None, 0))(network, points)
    return (rest * rest).mean()


def main() -> None:
    """Train the network, and compare it with the sine, which it has never seen."""
    mg.manual_seed(0)
    points = mg.linspace(0.0, math.pi, POINTS, dtype="float64")
    network = new_network()
    means = {name: (mg.zeros_like(w), mg.zeros_like(w)) for name, w in network.items()}
    descend = mg.func.value_and_grad(loss)
    for k in range(1, STEPS + 1):
        value, slopes = descend(network, points)
        for name, g in slopes.items():
            first, second = means[name]
            first, second = 0.9 * first + 0.1 * g, 0.99 * second + 0.01 * g * g
            means[name] = first, second
            move = (first / (1 - 0.9**k)) / ((second / (1 - 0.99**k)).sqrt() + 1e-8)
            network[name] = network[name] - RATE * (1 - k / (STEPS + 1)) * move
        if k == 1 or k % 300 == 0:
            print(f"step {k:4}: mean square of y'' + y = {value.item():.2e}")
    found = mg.func.vmap(solution, in_dims=(None, 0))(network, points)
    worst = (found - points.sin()).abs().max().item()
    print(f"largest distance from sin(t) on [0, pi]: {worst:.1e}")


if __name__ == "__main__":
    main()
