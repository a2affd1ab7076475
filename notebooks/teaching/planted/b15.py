"""A soft step, written by hand so that it keeps one tensor only. `gradcheck` is content. A gradient penalty that is
built on it does not train."""

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
