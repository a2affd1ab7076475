"""A loss that divides by a size. Its scale should be learnt too. The loss decreases; the scale does not change."""

import minigrad as mg


def loss_of(w, scale):
    h = w * w * 3.0
    size = (h * scale).sum().item()
    return (h * h).sum() / size


w = mg.Var([1.0, -2.0, 0.5], dtype="float64", name="w")
scale = mg.Var([0.5, 1.0, 1.5], dtype="float64", name="scale")
