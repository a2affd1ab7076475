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
# # 02 · A scalar autograd in a hundred lines
#
# Nudging needs two runs of the program for every input. This notebook builds numbers that store the operands from which
# they were computed. With them, one *forward pass* (running the program) and one *backward pass* (from the result to
# the inputs) compute all derivatives of a program. You write this code, meet three bugs, fix each of them, and find
# these three fixes in minigrad's engine. The notebook takes twenty-five minutes.
#
# **One idea:** record each step with its slope, then go through the steps in reverse order. **Three bugs:** `=` where
# paths meet, a wrong order, and a second backward pass that adds to the first. **One check:** nudging, from chapter 01.

# %%
import itertools
import math

import matplotlib.pyplot as plt

import minigrad as mg

# %% [markdown]
# ## 1. Two facts
#
# *In a chain, slopes multiply.* Take $u = x^2$ and $y = 5u$ at $x = 3$. The first step makes a nudge of $x$ 6 times as
# large, and the second step makes it 5 times as large again: 30 times in total.
#
# *Where paths meet, slopes add.* Take $y = x^2 + 7x$, again at $x = 3$. The nudge takes both paths. On one path it
# becomes 6 times as large, on the other path 7 times as large. At the end the two changes add up to 13 times the nudge.


# %%
def nudged(f, x, h=1e-6):
    """Return the derivative of f at x, by a central difference as in notebook 01."""
    return (f(x + h) - f(x - h)) / (2 * h)


print("a chain      ", round(nudged(lambda x: 5 * x**2, 3.0), 6))
print("paths meeting", round(nudged(lambda x: x**2 + 7 * x, 3.0), 6))

# %% [markdown]
# These two facts are the *chain rule*. The rest is bookkeeping, and the bugs are in the bookkeeping.
#
# ## 2. A number that remembers
#
# A `Value` stores a number. If the Value is a result, it also stores its *parents*, the Values from which it was
# computed, and one *slope* for each parent: the derivative of the result with respect to that parent.
#
# For `a + b` both slopes are 1. For `a * b` the slope with respect to `a` is `b`, and the slope with respect to `b` is
# `a`. Both slopes are known while the program runs, so the program stores them at once.

# %%
counter = itertools.count()


class Value:
    """A number with the Values that it was computed from."""

    def __init__(self, data, parents=(), slopes=()):
        self.data, self.parents, self.slopes = data, parents, slopes
        self.id = next(counter)  # 0 for the first Value; section 5 needs it
        self.grad = 0.0  # the derivative of the final result with respect to this Value

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __repr__(self):
        return f"Value({self.data})"


a, b, c = Value(2.0), Value(3.0), Value(4.0)
y = a * b + c
print(y, "has the parents", y.parents, "with slopes", y.slopes)
print(y.parents[0], "has the parents", y.parents[0].parents, "with slopes", y.parents[0].slopes)

# %% [markdown]
# The Values and their parents form a *graph*. You wrote no code that builds this graph: running the program recorded
# the graph.
#
# ## 3. The backward pass
#
# A nudge of `y` changes `y` by the same amount, so `y.grad = 1`. Each Value multiplies its `grad` by the slope of each
# parent and passes the product to that parent. The `grad` of a Value is called its *gradient*.


# %%
def backward(y):
    """Pass gradients from y to all Values that it was computed from."""
    y.grad = 1.0
    todo = [y]
    while todo:
        v = todo.pop()
        for parent, slope in zip(v.parents, v.slopes):
            parent.grad = slope * v.grad
            todo.append(parent)


backward(y)
print("gradients of a, b, c:", a.grad, b.grad, c.grad)

# %% [markdown]
# These gradients are right: $y = ab + c$ has the slopes $b = 3$, $a = 2$ and $1$. From now on, finite differences
# decide whether a result is right.


# %%
def check_at(f, x):
    """Compare the backward pass with nudging."""
    start = Value(x)
    backward(f(start))
    want = nudged(lambda x: f(Value(x)).data, x)
    verdict = "right" if abs(start.grad - want) < 1e-6 * max(1.0, abs(want)) else "WRONG"
    print(f"{verdict}: the backward pass returns {start.grad:g}, nudging {want:.6g}")


def chain(x):
    """(5x) * 7 + 1"""
    return Value(5.0) * x * Value(7.0) + Value(1.0)


check_at(chain, 2.0)

# %% [markdown]
# ## 4. The first bug: `=` where paths meet
#
# Take the smallest function in which an input is used twice:


# %%
def square(x):
    return x * x


check_at(square, 3.0)

# %% [markdown]
# Both parents of `x * x` are `x`. `backward` sets `x.grad` twice, and the second assignment overwrites the first. Where
# paths meet, slopes *add*. The fix is one character:


# %%
def backward(y):
    """Pass gradients from y to all Values that it was computed from."""
    y.grad = 1.0
    todo = [y]
    while todo:
        v = todo.pop()
        for parent, slope in zip(v.parents, v.slopes):
            parent.grad += slope * v.grad  # += instead of =
            todo.append(parent)


check_at(chain, 2.0)
check_at(square, 3.0)

# %% [markdown]
# ## 5. The second bug: a wrong order
#
# Now an intermediate value is used twice: $u = x^2$, $v = u + x$, $y = uv$.


# %%
def twice(x):
    u = x * x
    v = u + x
    return u * v


check_at(twice, 2.0)

# %% [markdown]
# Look at the picture. minigrad draws it from the same function; only `x` has another type. (A `mg.Var` is minigrad's
# counterpart of an input `Value`.) The first `mul` is $u$, `add` is $v$, and the last `mul` is $y$. The next notebook
# explains the other lines in the boxes.

# %%
x = mg.Var(2.0, dtype=mg.float64)
mg.viz.graph(twice(x))

# %% [markdown]
# The animation shows the backward pass of minigrad for the same function:
#
# ![the backward pass, node by node](../docs/pictures/02_scalar_autograd.svg)
#
# $u$ receives a gradient on two paths: directly from $y$, and from $v$ one step later. Print the gradient of each node
# at each visit:

# %%
start = Value(2.0)
u = start * start
v = u + start
y = u * v
names = {start.id: "x", u.id: "u", v.id: "v", y.id: "y"}

y.grad, todo = 1.0, [y]
while todo:
    node = todo.pop()
    print(f"visit {names[node.id]}, gradient {node.grad:g}")
    for parent, slope in zip(node.parents, node.slopes):
        parent.grad += slope * node.grad
        todo.append(parent)

# %% [markdown]
# `u` was visited twice, and passed on its whole sum each time: 10, and 10 again, although it received 10 in total. A
# node may pass on its gradient only *once*, and only after it has received *all* of its incoming gradients.
#
# Following each path separately would be correct, but far too slow. A chain of $k$ steps `u + u` has $2^k$ paths.
# Following each of them takes $2^{k+1} - 1$ visits:


# %%
def visits(y):
    """Return the number of visits if each path is followed separately."""
    todo, count = [y], 0
    while todo:
        todo.extend(todo.pop().parents)
        count += 1
    return count


for k in (2, 4, 8, 16):
    u = Value(1.0)
    for _ in range(k):
        u = u + u
    print(f"{k:2} steps, {visits(u):6} visits")

# %% [markdown]
# The fix is an order in which each Value comes before its parents. This order is called a *(reverse) topological
# order*. This order costs no extra work, because a result is always created after its operands. So number the Values as
# they are created (`id` does this). Collect `y` and all Values from which it was computed, each of them once, and take
# the newest first.


# %%
def under(y):
    """Return y and every Value that it was computed from, the newest first."""
    found, todo = {}, [y]
    while todo:
        v = todo.pop()
        if v.id not in found:
            found[v.id] = v
            todo.extend(v.parents)
    return sorted(found.values(), key=lambda v: v.id, reverse=True)


def backward(y):
    """Pass gradients from y to all Values that it was computed from."""
    y.grad = 1.0
    for v in under(y):
        for parent, slope in zip(v.parents, v.slopes):
            parent.grad += slope * v.grad


for f in (chain, square, twice):
    check_at(f, 2.0)

# %% [markdown]
# ## 6. The third bug: a second backward pass
#
# Run the backward pass twice from the same `y`: for example, one part of a program logs a gradient, and another part
# computes it again.

# %%
x = Value(2.0)
y = twice(x)
backward(y)
print("first pass ", x.grad)
backward(y)
print("second pass", x.grad)

# %% [markdown]
# 148 is neither 44 nor 2 · 44. The intermediate Values still stored their sums from the first backward pass. The second
# pass added to these sums and passed them on again. The gradients of intermediate Values belong to one backward pass
# only, so keep them in a table and discard it at the end. Store the result only in the *leaves*, the Values that were
# not computed from others. Leaves accumulate on purpose: after two backward passes, they contain twice the gradient.


# %%
def walk(y):
    """Return the gradients of y with respect to each Value under it, by id."""
    table = {y.id: 1.0}
    for v in under(y):
        for parent, slope in zip(v.parents, v.slopes):
            table[parent.id] = table.get(parent.id, 0.0) + slope * table[v.id]
    return table


def backward(y):
    """Add the gradient of y with respect to each leaf to its `grad`."""
    table = walk(y)
    for v in under(y):
        if not v.parents:
            v.grad += table[v.id]


for f in (chain, square, twice):
    check_at(f, 2.0)

x = Value(2.0)
y = twice(x)
backward(y)
backward(y)
print("after two passes: x.grad is", x.grad, "and u.grad is", y.parents[0].grad)

# %% [markdown]
# ## 7. More operations
#
# To add an operation, write a function of numbers that returns its value and a slope for each operand. `op` converts
# this function to an operation on Values; plain numbers among the operands become Values too.


# %%
def op(rule):
    """Return an operation on Values; rule: a function of numbers that returns (value, slopes)."""

    def call(*operands):
        parents = [x if isinstance(x, Value) else Value(x) for x in operands]
        value, slopes = rule(*[p.data for p in parents])
        return Value(value, parents, slopes)

    return call


def tanh(a):
    y = math.tanh(a)
    return y, (1.0 - y * y,)


Value.__add__ = Value.__radd__ = op(lambda a, b: (a + b, (1.0, 1.0)))
Value.__mul__ = Value.__rmul__ = op(lambda a, b: (a * b, (b, a)))
Value.__sub__ = op(lambda a, b: (a - b, (1.0, -1.0)))
Value.__rsub__ = op(lambda a, b: (b - a, (-1.0, 1.0)))
Value.__neg__ = op(lambda a: (-a, (-1.0,)))
Value.exp = op(lambda a: (math.exp(a), (math.exp(a),)))
Value.tanh = op(tanh)


def tangle(x):
    """Use all operations in one function."""
    u = (2.0 * x - 1.0).tanh()
    v = u * x - u * u
    return (1.0 - v).exp() * u + v


check_at(tangle, 0.7)

# %% [markdown]
# ## 8. minigrad does the same
#
# `tangle` does not mention Values, so it accepts a Var too. minigrad computes the same steps and the same slopes. The
# result is equal too, except for the last digit, which rounding may change:

# %%
ours, theirs = Value(0.7), mg.Var(0.7, dtype=mg.float64)
backward(tangle(ours))
tangle(theirs).backward()
print("ours  ", ours.grad)
print("theirs", theirs.grad.item())
assert math.isclose(ours.grad, theirs.grad.item(), rel_tol=1e-12)

# %% [markdown]
# Open [engine.py](../minigrad/autodiff/engine.py) next to this page. You will recognize its parts:
#
# * `reachable` is our `under`: a stack, a dictionary by id, and `sorted(nodes, reverse=True)`;
# * `walk` has our `table`, so intermediate nodes store no gradients;
# * `accumulate` is our `+=`;
# * `backward` adds to `.grad` of the leaves, and only of the leaves.
#
# There is one difference. A minigrad value is a whole array, so its slope is not a number. Instead, each op has a *VJP
# rule*: a function that takes the incoming gradient and returns the outgoing one. A rule runs during the backward pass,
# on values that were saved for it. The picture lists the saved values after "saves".
#
# ## 9. Enough to learn
#
# We fit a sine with the sum of three tanh curves. Each curve has a height, a width and a position, so `parameters` are
# nine Values. The loss is the mean of the squared errors, and each round takes a small step against the gradient
# (*gradient descent*).

# %%
points = [k / 2 for k in range(-6, 7)]
parameters = [Value(w) for w in (0.6, 1.0, -0.5, -0.8, 1.2, 0.4, 0.3, -0.7, 0.9)]


def curve(x):
    """Return the sum of three curves height * tanh(width * x + position)."""
    a, b, c, d, e, f, g, h, i = parameters
    return a * (b * x + c).tanh() + d * (e * x + f).tanh() + g * (h * x + i).tanh()


losses = []
for _ in range(400):
    errors = [curve(x) - math.sin(x) for x in points]
    loss = sum(e * e for e in errors) * (1 / len(points))
    for p in parameters:
        p.grad = 0.0  # otherwise this round's gradient is added to all earlier ones
    backward(loss)
    for p in parameters:
        p.data -= 0.3 * p.grad
    losses.append(loss.data)

print(f"loss {losses[0]:.3f}, then {losses[-1]:.4f}, with {len(under(loss))} Values in each graph")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3))
left.semilogy(losses)
left.set(xlabel="round", ylabel="loss")
right.plot(points, [math.sin(x) for x in points], "o", label="sine")
right.plot(points, [curve(x).data for x in points], label="three tanh")
right.legend()
plt.show()

# %% [markdown]
# Each backward pass computed nine derivatives. With a million parameters there would still be one pass per round. For
# this reason, large networks can be trained.
#
# ## Exercises
#
# Write your answer and run the cell: `check` prints the result. `hint("02.1")` prints a hint; a second call prints a
# larger one.
#
# **02.1** Write division as a rule for `op`. The arguments are the floats $a$ and $b \ne 0$. Return a pair: $a / b$,
# and a tuple of its two slopes. The absolute and the relative tolerance are $10^{-12}$ for the value and $10^{-9}$ for
# the slopes. (When your rule is right, try `Value.__truediv__ = op(divide)` and
# `check_at(lambda x: (x * x) / (x + 1.0), 0.7)`.)

# %%
from minigrad.learning.grading import check, hint


def divide(a, b):
    """Return (value, (slope with respect to a, slope with respect to b))."""
    return ...  # write it here


check("02.1", divide)

# %% [markdown]
# **02.2** Write the logistic function $1 / (1 + e^{-a})$ as a rule for `op`. The argument $a$ is a float. Return a
# pair: the value, and a tuple with the slope, which you can compute from the value. The absolute and the relative
# tolerance are $10^{-12}$ for the value and $10^{-9}$ for the slope. The function must not overflow at `a = -1000` or
# `a = 1000`.


# %%
def logistic(a):
    """Return (value, (slope,))."""
    return ...  # write it here


check("02.2", logistic)

# %% [markdown]
# **02.3** Find the order without ids. `y` is a Value. Return a list of `y` and all Values from which `y` was computed.
# Each Value appears once, and before its parents. Use only `parents`: the Values of the grader have no `id`.


# %%
def order(y):
    """Return a list of Values, from y to the leaves."""
    return ...  # write it here


check("02.3", order)

# %% [markdown]
# **02.4** Compute gradients of several results. `ys` is a list of Values, `weights` is a list with one float per
# result, and `xs` is a list of Values. Return a list of numbers: the gradient of $w_1 y_1 + w_2 y_2 + \dots$ with
# respect to each of `xs`, with an absolute or relative error of at most $10^{-9}$. Do not create new Values: start the
# backward pass with the weights. One of the `ys` may have been computed from another, or appear twice.


# %%
def gradients(ys, weights, xs):
    """Return a list of numbers, one for each of xs."""
    return ...  # write it here


check("02.4", gradients)
