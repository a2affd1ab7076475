"""A stack of three layers, built in a loop. It learns, but the first two weights do not change."""

import minigrad as mg

weights = [mg.Var([value, 1.0], dtype="float64", name=name) for value, name in ((0.5, "w0"), (0.8, "w1"), (1.2, "w2"))]
layers = [lambda x: (x * w).tanh() for w in weights]


def loss_of(x):
    for layer in layers:
        x = layer(x)
    return (x * x).sum()


x = mg.tensor([0.3, -0.7], dtype="float64")
