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
# # 11 · Writing your own op, and proving it
#
# This notebook shows four ways to extend minigrad: a function of one element, a reduction, a `Function` with your own
# backward, and a Numba loop inside a `Function`. Each takes a few lines, and each is checked by finite differences
# (chapters 01 and 04). It takes twenty-five minutes.
#
# **One idea:** an op is a function and a rule for its gradient; all else follows. **One bug:** a rule that has lost a
# term. **One check:** `gradcheck`, in both modes and to the second order.

# %%
import math

import matplotlib.pyplot as plt

import minigrad as mg

# %% [markdown]
# ## 1. A function of one element
#
# The *bent identity* is $b(x) = \frac{\sqrt{x^2 + 1} - 1}{2} + x$: nearly $x/2$ far to the left, nearly $3x/2$ far to
# the right. Its slope is $\frac{x}{2\sqrt{x^2+1}} + 1$. You say the function, the rule, and in which dtype it
# computes:


# %%
def bent_rule(g, x):
    """The incoming gradient times the slope."""
    return g * (x / (2.0 * (x * x + 1.0).sqrt()) + 1.0)


@mg.elementwise(dtype=mg.rules.to_float, vjp=(bent_rule,), fuse=True)
def bent(x):
    """(sqrt(x*x + 1) - 1)/2 + x.  Gradient: x / (2*sqrt(x*x + 1)) + 1."""
    return (math.sqrt(x * x + 1) - 1) / 2 + x


x = mg.linspace(-4, 4, 101)
slope = mg.func.vmap(mg.func.grad(bent))(x)
plt.plot(x, bent(x), label="bent(x)")
plt.plot(x, slope, label="its slope")
plt.legend()
plt.show()

# %% [markdown]
# The body is a loop body now. It was compiled for these operands, and will be compiled for others. Broadcasting,
# strides, float16 and bfloat16, batches and forward mode work without another line. `fuse=True` compiles the rule into
# one loop as well. It promises that the rule only applies elementwise ops to its arguments; without it, the rule runs
# op by op:

# %%
print("every second, backwards:", bent(mg.arange(6.0)[::2].flip(0)).tolist())
print("in float16:", bent(mg.tensor([1.0, 2.0], dtype="float16")))
value, change = mg.func.jvp(bent, (mg.tensor(1.0),), (mg.tensor(1.0),))
print("forward mode:", value.item(), change.item())

# %% [markdown]
# `mg.viz.kernel` shows the op down to the machine: the function, the loop around it, and how wide its arithmetic is. In
# a notebook you can open LLVM's text and the assembly below. The backward pass is shown in the same way; `fuse=True`
# made one loop of its rule.

# %%
mg.viz.kernel(bent(mg.Var(x)))

# %% [markdown]
# ## 2. The proof
#
# `gradcheck` holds the rule to difference quotients, and forward mode to the rule. `gradgradcheck` does the same for
# the gradient, which is a function as good as any: its rule follows from the ops in `bent_rule`.

# %%
point = mg.Var([-2.0, -0.5, 0.0, 3.0], dtype=mg.float64)
print(mg.testing.gradcheck(bent, point))
print("second order:", bool(mg.testing.gradgradcheck(bent, point)))

# %% [markdown]
# ## 3. The bug
#
# Somebody copies the rule and loses its last term. The function is fine, it even trains a little.


# %%
@mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, x: g * x / (2.0 * (x * x + 1.0).sqrt()),))
def careless(x):
    """The bent identity, with a rule that has lost the 1."""
    return (math.sqrt(x * x + 1) - 1) / 2 + x


try:
    mg.testing.gradcheck(careless, point)
except mg.testing.GradcheckError as error:
    print(error)

# %% [markdown]
# The worst element is the third, where $x$ is 0: the rule says 0, the nudge does not. No factor makes one of the other,
# so a *term* is missing. (The number is not 1 because the incoming gradient is drawn at random; a gradient of ones can
# hide mistakes.) You can also read the two rules as formulas:

# %%
for op in (bent, careless):
    print(op.op.name, "gives x", mg.viz.step(op(mg.Var(1.0))).frames[0].shares[0].text)

# %% [markdown]
# ## 4. The saved values
#
# The names of a rule's arguments say what is kept until backward: an operand by its name, the result as `y`. If the
# slope can be said by the result, the operand need not be kept. $e^x$ is its own slope:


# %%
@mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, y: g * y,))
def grow(x):
    """exp(x).  Gradient: g*y."""
    return math.exp(x)


v = mg.Var([0.0, 1.0])
for result in (bent(v), grow(v)):
    (kept,) = result.op.saved
    print(f"{result.op.name} keeps", "its operand" if kept.tolist() == v.tolist() else "its result", kept.tolist())

# %% [markdown]
# Two operands need two rules, and broadcasting needs none: what was stretched on the way forward is summed on the way
# back by the engine.


# %%
@mg.elementwise(
    dtype=mg.rules.to_float,
    vjp=(lambda g, x, centre: 2.0 * g * (x - centre), lambda g, x, centre: -2.0 * g * (x - centre)),
)
def squared_distance(x, centre):
    """(x - centre)**2."""
    return (x - centre) * (x - centre)


points, centre = mg.Var([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), mg.Var([2.0, 2.0])
grads = squared_distance(points, centre).sum().backward()
print("to the points:", grads[points].tolist())
print("to the centre:", grads[centre].tolist(), "which is the sum over three rows")

# %% [markdown]
# ## 5. A fold
#
# A reduction is a function of an accumulator and an element, with the number that it starts from. Threads and vector
# registers make partial results, so it also says how two of them become one: here by adding, since each is a sum.


# %%
def total(a, b):
    return a + b


@mg.reduction(
    dtype=mg.rules.widen,
    identity="zero",
    combine=total,
    vjp=(lambda g, x, *, in_shape, dims: 2.0 * x * mg.ones(in_shape, dtype=x.dtype) * unfolded(g, dims, in_shape),),
)
def energy(acc, x):
    """The sum of squares.  Gradient: 2*g*x."""
    return acc + x * x


def unfolded(g, dims, shape):
    """g, whose folded dims are gone, with dims of size 1 in their place."""
    return g.reshape([1 if d in dims else n for d, n in enumerate(shape)])


matrix = mg.Var([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=mg.float64)
print("all:", energy(matrix).item(), " by rows:", energy(matrix, 1).tolist())
print("proved over rows:", bool(mg.testing.gradcheck(lambda m: energy(m, 1), matrix)))

# %% [markdown]
# ## 6. A Function: the backward is yours
#
# Sometimes the gradient that you want is *not* the derivative. The derivative of rounding is 0 wherever it exists. To
# train through it, you pass the gradient as if rounding were the identity: the *straight-through estimator*. In a
# `mg.Function` you write both directions.


# %%
class RoundThrough(mg.Function):
    """Rounds; the gradient passes."""

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
# With `round` alone, `w` would not have moved at all. The check rejects the rule, as it should: it is not a derivative.

# %%
try:
    mg.testing.gradcheck(RoundThrough.apply, mg.Var([0.3, 1.7], dtype=mg.float64))
except mg.testing.GradcheckError as error:
    print(str(error).splitlines()[0])

# %% [markdown]
# ## 7. A loop in Numba
#
# $y_i = r\,y_{i-1} + x_i$: each element needs the one before, which no function of one element can say. Write the loop
# in Numba, and wrap it: [own_kernel.py](../examples/own_kernel.py) is the whole story, in sixty lines. Its backward is
# the same loop from the other end, because the transpose of "each needs those before" is "each needs those behind".

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
    """A leaky sum along rows."""

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
# Where an op belongs to minigrad itself, one more place knows it: a row in the table of ops, from which its tests come.
# [add_an_op.md](../docs/add_an_op.md) says how, and [declare.py](../minigrad/declare/decorators.py) is what read your
# declarations.
#
# ## Exercises

# %%
from minigrad.learning.grading import check, hint


def log_cosh_rule(g, x):
    """The rule of log(cosh(x))."""
    return ...  # write it here


check("11.1", log_cosh_rule)

# %% [markdown]
# **11.2** $f(x, w) = w\,x^2 + w^3$. Return both gradients, of `x` and of `w`.


# %%
def weighted_rules(g, x, w):
    """(gradient of x, gradient of w)."""
    return ...  # write it here


check("11.2", weighted_rules)

# %% [markdown]
# **11.3** The rule of $\lVert x \rVert = \sqrt{\sum x_i^2}$ over all elements, from `g`, `x` and the result `y`. At
# $x = 0$ there is no slope; give 0, not nan.


# %%
def norm_rule(g, x, y):
    """g is a scalar, x any shape."""
    return ...  # write it here


check("11.3", norm_rule)

# %% [markdown]
# **11.4** A `mg.Function` that gives its operand as it is, and lets no element of the gradient be larger than 1 or
# smaller than -1.


# %%
class ClipGradient(mg.Function):
    """The identity; the gradient is clipped."""

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
