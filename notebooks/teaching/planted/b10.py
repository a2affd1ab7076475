"""Two layers. The loss never changes, whatever the learning rate is."""

import minigrad as mg

x = mg.tensor([[0.5, -1.0], [2.0, 0.3], [-0.7, 1.1]], dtype="float64")
first = mg.Var([[1.0, -0.5], [0.4, 0.8]], dtype="float64", name="first")
second = mg.Var([[0.3], [-0.6]], dtype="float64", name="second")
bias = -10.0


def loss_of(first, second):
    h = (x @ first + bias).relu()
    return ((h @ second - 1.0) ** 2).mean()
