"""The mean loss over all batches, after training. Its value is right, but it needs more memory than training."""

import minigrad as mg

w = mg.Var(mg.ones(64), name="w")


def loss_of(x):
    return ((w * x).tanh() ** 2.0).mean()


def evaluated(count):
    """Return the mean loss over `count` batches."""
    total = mg.zeros(())
    for k in range(count):
        total = total + loss_of(mg.ones(32, 64) * k)
    return total / count
