# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 11 · Writing and testing your own op
#
# This notebook shows four ways to extend minigrad: a function of one element, a reduction, a `Function` with your own
# backward, and a Numba loop inside a `Function`. Each takes a few lines, and each is checked by finite differences
# (chapters 01 and 04). The notebook takes twenty-five minutes.
#
# **One idea:** an op is a function with a rule for its gradient; minigrad derives everything else. **One bug:** a rule
# that lacks a term. **One check:** `gradcheck`, in reverse and forward mode, and for second derivatives.

# %%
import math

import matplotlib.pyplot as plt

import minigrad as mg

# %% [markdown]
# ## 1. A function of one element
#
# The *bent identity* is $b(x) = \frac{\sqrt{x^2 + 1} - 1}{2} + x$. Its derivative is $\frac{x}{2\sqrt{x^2+1}} + 1$,
# which is close to $\tfrac12$ far to the left and close to $\tfrac32$ far to the right. You specify the function, the
# VJP rule, and the dtype of the result (`to_float`: integers become floats):


# %%
def bent_rule(g, x):
    """Return the incoming gradient times the derivative."""
    return g * (x / (2.0 * (x * x + 1.0).sqrt()) + 1.0)


@mg.elementwise(dtype=mg.rules.to_float, vjp=(bent_rule,), fuse=True)
def bent(x):
    """Return (sqrt(x*x + 1) - 1)/2 + x.  Gradient: g * (x / (2*sqrt(x*x + 1)) + 1)."""
    return (math.sqrt(x * x + 1) - 1) / 2 + x


x = mg.linspace(-4, 4, 101)
derivative = mg.func.vmap(mg.func.grad(bent))(x)
plt.plot(x, bent(x), label="bent(x)")
plt.plot(x, derivative, label="derivative")
plt.legend()
plt.show()

# %% [markdown]
# minigrad pastes the body of your function into a loop, and compiles this loop for each combination of dtypes and
# layouts at its first use. Broadcasting, strides, float16 and bfloat16, `vmap` and forward mode need no further code.
# `fuse=True` compiles the rule into one loop as well. It promises that the rule applies only elementwise ops to its
# arguments; without it, the rule runs op by op:

# %%
print("every second, backwards:", bent(mg.arange(6.0)[::2].flip(0)).tolist())
print("in float16:", bent(mg.tensor([1.0, 2.0], dtype="float16")))
value, change = mg.func.jvp(bent, (mg.tensor(1.0),), (mg.tensor(1.0),))
print("forward mode:", value.item(), change.item())

# %% [markdown]
# `mg.viz.kernel` shows the code of the op at every level: the function, the loop around it, and the number of elements
# that one instruction processes. In a notebook you can open LLVM's code and the assembly. The page also shows the
# kernel of the rule; because of `fuse=True`, the rule is one loop.

# %%
mg.viz.kernel(bent(mg.Var(x)))

# %% [markdown]
# ## 2. The check
#
# `gradcheck` compares the rule with finite differences, and forward mode with the rule. `gradgradcheck` compares second
# derivatives with finite differences of the gradient. The second derivative follows from the ops in `bent_rule`.

# %%
point = mg.Var([-2.0, -0.5, 0.0, 3.0], dtype=mg.float64)
print(mg.testing.gradcheck(bent, point))
print("second order:", bool(mg.testing.gradgradcheck(bent, point)))

# %% [markdown]
# ## 3. The bug
#
# Suppose that somebody copies the rule and forgets its last term. The values of the op are right, and a network with
# this op may even train a little.


# %%
@mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, x: g * x / (2.0 * (x * x + 1.0).sqrt()),))
def careless(x):
    """Return the bent identity; its rule lacks the 1."""
    return (math.sqrt(x * x + 1) - 1) / 2 + x


try:
    mg.testing.gradcheck(careless, point)
except mg.testing.GradcheckError as error:
    print(error)

# %% [markdown]
# The worst element is the third, where $x$ is 0: the rule returns 0, the finite difference is not 0. No factor converts
# 0 to the finite difference, so a *term* is missing. (The finite difference is not 1 because the incoming gradient is
# random; a gradient of ones can hide mistakes.) You can also read the two rules as formulas:

# %%
for op in (bent, careless):
    print(f"{op.op.name}: x receives", mg.viz.step(op(mg.Var(1.0))).frames[0].shares[0].text)

# %% [markdown]
# ## 4. The saved values
#
# The names of a rule's arguments specify which values are saved for the backward pass: an operand by its name, the
# result as `y`. If the derivative can be computed from the result, the operand need not be saved. The derivative of
# $e^x$ is the result itself:


# %%
@mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, y: g * y,))
def grow(x):
    """Return exp(x).  Gradient: g * y."""
    return math.exp(x)


v = mg.Var([0.0, 1.0])
for result in (bent(v), grow(v)):
    (saved,) = result.op.saved
    print(f"{result.op.name} saves", "its operand" if saved.tolist() == v.tolist() else "its result", saved.tolist())

# %% [markdown]
# Two operands need two rules. Broadcasting needs no code in the rules: if an operand was broadcast in the forward pass,
# the engine sums its gradient over the broadcast dims in the backward pass.


# %%
@mg.elementwise(
    dtype=mg.rules.to_float,
    vjp=(lambda g, x, centre: 2.0 * g * (x - centre), lambda g, x, centre: -2.0 * g * (x - centre)),
)
def squared_distance(x, centre):
    """Return (x - centre)**2."""
    return (x - centre) * (x - centre)


points, centre = mg.Var([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), mg.Var([2.0, 2.0])
grads = squared_distance(points, centre).sum().backward()
print("with respect to the points:", grads[points].tolist())
print("with respect to the centre:", grads[centre].tolist(), "which is the sum over three rows")

# %% [markdown]
# ## 5. A reduction
#
# A reduction is declared by a function of an accumulator and an element, and by an initial value (`identity`). Threads
# and vector registers compute partial results, so the declaration also has a function that combines two partial
# results. In this example the function adds, because each partial result is a sum.


# %%
def total(a, b):
    return a + b


@mg.reduction(
    dtype=mg.rules.widen,
    identity="zero",
    combine=total,
    vjp=(lambda g, x, *, in_shape, dims: 2.0 * x * with_dims(g, dims, in_shape),),
)
def energy(acc, x):
    """Return the sum of squares.  Gradient: 2 * g * x."""
    return acc + x * x


def with_dims(g, dims, shape):
    """Return g with a dim of size 1 for each reduced dim."""
    return g.reshape([1 if d in dims else n for d, n in enumerate(shape)])


matrix = mg.Var([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=mg.float64)
print("all:", energy(matrix).item(), " by rows:", energy(matrix, 1).tolist())
print("gradcheck by rows:", bool(mg.testing.gradcheck(lambda m: energy(m, 1), matrix)))

# %% [markdown]
# ## 6. A Function with your own backward
#
# Sometimes the gradient that you want is *not* the derivative. The derivative of rounding is 0 wherever it exists. To
# train through a rounding, you pass the gradient on as if rounding were the identity. This is the *straight-through
# estimator*. In a `mg.Function` you write both the forward and the backward pass.


# %%
class RoundThrough(mg.Function):
    """Round to integers; pass the gradient on unchanged."""

    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g


w = mg.Var([0.3, 1.7])
for _ in range(100):
    loss = (RoundThrough.apply(w) - mg.tensor([2.0, -1.0])).square().sum()
    loss.backward()
    w.set(w - 0.05 * w.grad)
    w.grad = None
print("after training:", w, "which rounds to", w.round().tolist())

# %% [markdown]
# With `round` alone, `w` would not have changed at all. `gradcheck` rejects the rule, as it should, because the rule is
# not the derivative.

# %%
try:
    mg.testing.gradcheck(RoundThrough.apply, mg.Var([0.3, 1.7], dtype=mg.float64))
except mg.testing.GradcheckError as error:
    print(str(error).splitlines()[0])

# %% [markdown]
# ## 7. A loop in Numba
#
# In $y_i = r\,y_{i-1} + x_i$, each element needs the previous result, so a function of one element cannot express it.
# Write the loop in Numba, and wrap it in a `Function`; [own_kernel.py](../examples/own_kernel.py) is a complete example
# in sixty lines. The backward pass is the same loop from the last element to the first. The reason: $y_i$ depends on
# $x_i$ and all earlier elements, so $\bar x_i$ depends on $\bar y_i$ and all later elements.

# %%
import numba
import numpy as np


@numba.njit
def leak(x, r):
    y = np.empty_like(x)
    for row in range(x.shape[0]):
        last = 0.0
        for i in range(x.shape[1]):
            last = r * last + x[row, i]
            y[row, i] = last
    return y


class Leak(mg.Function):
    """Compute a leaky sum along rows."""

    @staticmethod
    def forward(x, r):
        return mg.from_numpy(leak(x.detach().numpy(), r))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.r = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return Leak.apply(g.flip(1), ctx.r).flip(1), None


rows = mg.Var([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]], dtype=mg.float64)
print(Leak.apply(rows, 0.5).tolist())
print("first order:", bool(mg.testing.gradcheck(lambda x: Leak.apply(x, 0.5).sin(), rows)))
print("second order:", bool(mg.testing.gradgradcheck(lambda x: Leak.apply(x, 0.5).sin(), rows)))

# %% [markdown]
# An op inside minigrad needs one more entry: a row in the table from which the tests of the ops are generated.
# [add_an_op.md](../docs/add_an_op.md) describes the steps. The decorators are in
# [decorators.py](../minigrad/declare/decorators.py).
#
# ## Exercises
#
# **11.1** Write the VJP rule of $\log(\cosh x)$. `g` and `x` are tensors of the same shape; return the gradient with
# respect to `x`. The gradient must be finite for large `x` too. The absolute and the relative tolerance are $10^{-6}$.

# %%
from minigrad.learning.grading import check, hint


def log_cosh_rule(g, x):
    """Return the gradient of log(cosh(x)) with respect to x."""
    return ...  # write it here


check("11.1", log_cosh_rule)

# %% [markdown]
# **11.2** Write the VJP rules of $f(x, w) = w\,x^2 + w^3$, element by element. `g`, `x` and `w` are tensors of the same
# shape. Return a pair: the gradient with respect to `x`, and the gradient with respect to `w`. The absolute and the
# relative tolerance are $10^{-6}$.


# %%
def weighted_rules(g, x, w):
    """Return (gradient with respect to x, gradient with respect to w)."""
    return ...  # write it here


check("11.2", weighted_rules)

# %% [markdown]
# **11.3** Write the VJP rule of $\lVert x \rVert = \sqrt{\sum x_i^2}$ over all elements. `g` and the result `y` are
# scalar tensors, and `x` has any shape. Return the gradient with respect to `x`. At $x = 0$ there is no derivative;
# return 0 there, not `nan`. The absolute and the relative tolerance are $10^{-6}$.


# %%
def norm_rule(g, x, y):
    """Return the gradient of the norm with respect to x."""
    return ...  # write it here


check("11.3", norm_rule)

# %% [markdown]
# **11.4** Write a `mg.Function` that returns its operand unchanged, and limits each element of the gradient to the
# range from -1 to 1. Change `backward`: `g` is a tensor of any shape, and the result has the same shape. The absolute
# and the relative tolerance are $10^{-6}$.


# %%
class ClipGradient(mg.Function):
    """Return the operand; clip the gradient."""

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g  # change it here


check("11.4", ClipGradient)
