"""A soft step, written by hand so that it saves only one tensor. `gradcheck` passes. A gradient penalty that uses it
does not train."""

import minigrad as mg


class Step(mg.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.tanh()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        slope = (1.0 - y * y).detach()
        return g * slope


def step(x):
    return Step.apply(x)


point = mg.Var([-1.0, 0.2, 0.7], dtype="float64", name="x")
