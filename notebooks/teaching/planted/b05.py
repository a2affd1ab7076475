"""A loss that divides by a size, whose scale is to be learnt too. The loss falls; the scale stays what it was."""

import minigrad as mg


def loss_of(w, scale):
    h = w * w * 3.0
    size = (h * scale).sum().item()
    return (h * h).sum() / size


w = mg.Var([1.0, -2.0, 0.5], dtype="float64", name="w")
scale = mg.Var([0.5, 1.0, 1.5], dtype="float64", name="scale")
