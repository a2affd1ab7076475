"""Functions with derivatives by hand, to be broken: one of each sort that users write."""

from __future__ import annotations

from typing import Any

import minigrad as mg


class Product(mg.Function):
    """a @ b, of matrices."""

    @staticmethod
    def forward(a, b):
        return a @ b

    @staticmethod
    def setup_context(ctx, inputs, output):
        a, b = inputs
        ctx.save_for_backward(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b.mT, a.mT @ g

    @staticmethod
    def jvp(ctx, da, db):
        a, b = ctx.saved_tensors
        return da @ b + a @ db


class Scaled(mg.Function):
    """The rows of x, each number times that of its column, plus an offset: w and c are broadcast."""

    @staticmethod
    def forward(x, w, c):
        return x * w - c

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], inputs[1])

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w, (g * x).sum(0), -g.sum(0, keepdim=True)


class Exponential(mg.Function):
    """exp, by what it gave: an output is kept."""

    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y

    @staticmethod
    def jvp(ctx, dx):
        (y,) = ctx.saved_tensors
        return dx * y


class Quotient(mg.Function):
    """a / b and a * b: two results."""

    @staticmethod
    def forward(a, b):
        return a / b, a * b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g, h):
        a, b = ctx.saved_tensors
        return g / b + h * b, h * a - g * a / b**2


class Softmax(mg.Function):
    """softmax along rows."""

    @staticmethod
    def forward(x):
        e = x.exp()
        return e / e.sum(1, keepdim=True)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(1, keepdim=True))


def smooth(x, k):
    """(k x**3, and what the rule keeps)."""
    return k * x**3, (x, k)


def smooth_back(kept, g):
    """The gradients in x and k."""
    x, k = kept
    return g * 3.0 * k * x**2, (g * x**3).sum_to(k.shape)


smoothed = mg.custom_vjp(lambda x, k: k * x**3)
smoothed.defvjp(smooth, smooth_back)

SAMPLES: tuple[tuple[Any, Any, tuple[tuple[int, ...], ...]], ...] = (
    (Product, lambda a, b: Product.apply(a, b), ((2, 2), (2, 2))),
    (Scaled, lambda x, w, c: Scaled.apply(x, w, c), ((3, 2), (2,), (1, 2))),
    (Exponential, lambda x: Exponential.apply(x), ((3,),)),
    (Quotient, lambda a, b: Quotient.apply(a, b), ((3,), (3,))),
    (Softmax, lambda x: Softmax.apply(x), ((2, 3),)),
)
CUSTOM = ((smooth, smooth_back, lambda x, k: smoothed(x, k), ((3,), (3,))),)
