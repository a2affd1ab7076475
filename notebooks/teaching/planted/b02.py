"""A layer with a bias, written by hand. Its weights learn. Its bias learns very slowly, and more slowly with larger
batches."""

import minigrad as mg


class Layer(mg.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight + bias

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g @ weight.T, x.T @ g, g.mean(0)


def layer(x, weight, bias):
    return Layer.apply(x, weight, bias)


x = mg.Var([[0.5, -1.0], [2.0, 0.3], [-0.7, 1.1], [0.2, 0.9]], dtype="float64", name="x")
weight = mg.Var([[1.0, -0.5, 0.2], [0.4, 0.8, -1.2]], dtype="float64", name="weight")
bias = mg.Var([0.1, -0.2, 0.3], dtype="float64", name="bias")
