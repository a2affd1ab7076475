"""A training step with a running scale. `backward` raises an error about a saved value."""

import minigrad as mg

w = mg.Var([1.0, -2.0, 0.5], dtype="float64", name="w")


def loss_of(w):
    h = (w * 3.0).tanh()
    loss = (h * h).sum()
    h.mul_(0.9)  # the scale
    return loss + h.sum()
