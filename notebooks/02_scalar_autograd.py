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
# Nudging needs two runs of the program for every input. This notebook builds numbers that remember the operation and
# the operands that they were computed from. With them, one run forward and one backward pass produce all derivatives of
# a program. You write this code, break it in three ways, fix it three times, and find the same three answers in
# minigrad. It takes twenty-five minutes.
#
# **One idea:** write down each step and its slope; then walk back. **Three bugs:** `=` where paths meet, no order, and
# a second walk that adds up. **One check:** nudging, from chapter 01.

# %%
import itertools
import math

import matplotlib.pyplot as plt

import minigrad as mg

# %% [markdown]
# ## 1. Two facts
#
# *In a chain, slopes multiply.* Take $u = x^2$ and $y = 5u$ at $x = 3$. The first step makes a nudge of $x$ 6 times as
# large, and the second makes it another 5 times as large: 30 times in all.
#
# *Where paths meet, slopes add.* Take $y = x^2 + 7x$. The nudge takes both paths: it becomes 6 times as large on one
# and 7 times as large on the other. At the end the two add up: 13.


# %%
def nudged(f, x, h=1e-6):
    """The derivative of f at x, by nudging both ways: notebook 01."""
    return (f(x + h) - f(x - h)) / (2 * h)


print("a chain      ", round(nudged(lambda x: 5 * x**2, 3.0), 6))
print("paths meeting", round(nudged(lambda x: x**2 + 7 * x, 3.0), 6))

# %% [markdown]
# That is the chain rule, all of it. The rest is bookkeeping, and bookkeeping is where the bugs are.
#
# ## 2. A number that remembers
#
# A `Value` holds a number. If it is a result, it also holds its *parents*, which are the Values that it was computed
# from, and one *slope* for each parent: how many times larger a nudge of that parent comes out.
#
# For `a + b` both slopes are 1. For `a * b` the slope with respect to `a` is `b`, and the slope with respect to `b` is
# `a`. Both are known while the program runs, so the program stores them at once.

# %%
counter = itertools.count()


class Value:
    """A number, and how it was computed."""

    def __init__(self, data, parents=(), slopes=()):
        self.data, self.parents, self.slopes = data, parents, slopes
        self.id = next(counter)  # the first Value is number 0: we shall need it
        self.grad = 0.0  # how many times larger a nudge of this Value comes out at the end

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __repr__(self):
        return f"Value({self.data})"


a, b, c = Value(2.0), Value(3.0), Value(4.0)
y = a * b + c
print(y, "came of", y.parents, "with slopes", y.slopes)
print(y.parents[0], "came of", y.parents[0].parents, "with slopes", y.parents[0].slopes)

# %% [markdown]
# Nobody asked for a graph, and there is one: the program ran, and left it behind.
#
# ## 3. Walk back
#
# A nudge of `y` changes `y` by the same amount, so `y.grad = 1`. Each Value passes its `grad`, multiplied by the slope,
# to its parents.


# %%
def backward(y):
    """From y to everything that it was computed from."""
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
# Right: $y = ab + c$ has the slopes $b = 3$, $a = 2$ and $1$. From now on, finite differences decide whether a result
# is right.


# %%
def check_at(f, x):
    """Compare the walk back with nudging."""
    start = Value(x)
    backward(f(start))
    want = nudged(lambda x: f(Value(x)).data, x)
    verdict = "right" if abs(start.grad - want) < 1e-6 * max(1.0, abs(want)) else "WRONG"
    print(f"{verdict}: backward says {start.grad:g}, nudging says {want:.6g}")


def chain(x):
    """(5x) * 7 + 1"""
    return Value(5.0) * x * Value(7.0) + Value(1.0)


check_at(chain, 2.0)

# %% [markdown]
# ## 4. The first bug: `=` where paths meet
#
# The smallest function in which an input is used twice:


# %%
def square(x):
    return x * x


check_at(square, 3.0)

# %% [markdown]
# Both parents of `x * x` are `x`. The walk visits `x` twice, and the second visit overwrote the gradient of the first.
# Where paths meet, slopes *add*. One character:


# %%
def backward(y):
    """From y to everything that it was computed from."""
    y.grad = 1.0
    todo = [y]
    while todo:
        v = todo.pop()
        for parent, slope in zip(v.parents, v.slopes):
            parent.grad += slope * v.grad  # += where there was =
            todo.append(parent)


check_at(chain, 2.0)
check_at(square, 3.0)

# %% [markdown]
# ## 5. The second bug: no order
#
# Now a step in the middle is used twice: $u = x^2$, $v = u + x$, $y = uv$.


# %%
def twice(x):
    u = x * x
    v = u + x
    return u * v


check_at(twice, 2.0)

# %% [markdown]
# Look at the picture. minigrad draws it from the same function; only `x` is another kind of number. (A `mg.Var` is
# minigrad's number that remembers.) The first `mul` is $u$, `add` is $v$, and the last `mul` is $y$. The next notebook
# explains the other lines in the boxes.

# %%
x = mg.Var(2.0, dtype=mg.float64)
mg.viz.graph(twice(x))

# %% [markdown]
# $u$ gets gradient from two sides: from $y$ at once, and from $v$ a step later. Print what each visit sees:

# %%
start = Value(2.0)
u = start * start
v = u + start
y = u * v
names = {start.id: "x", u.id: "u", v.id: "v", y.id: "y"}

y.grad, todo = 1.0, [y]
while todo:
    node = todo.pop()
    print(f"at {names[node.id]}, which has {node.grad:g}")
    for parent, slope in zip(node.parents, node.slopes):
        parent.grad += slope * node.grad
        todo.append(parent)

# %% [markdown]
# `u` was visited twice, and passed on its whole sum each time: 10, and 10 again, although it received 10 in all. A node
# may pass on its gradient only *once*, and only after *all* of its incoming gradients have arrived.
#
# Passing each path by itself would be right, and hopeless. A chain of $k$ steps `u + u` has $2^k$
# paths, and a walk along each of them makes $2^{k+1} - 1$ visits:


# %%
def visits(y):
    """How many visits the walk by paths makes."""
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
# The fix is an order in which each Value comes before its parents. This order has a long name, *topological order*, and
# here it is free: a result is always made after its operands. So number the Values as they are made (`id` does this),
# collect the Values under `y`, each of them once, and take the newest first.


# %%
def under(y):
    """Every Value that y was computed from, and y: the youngest first."""
    found, todo = {}, [y]
    while todo:
        v = todo.pop()
        if v.id not in found:
            found[v.id] = v
            todo.extend(v.parents)
    return sorted(found.values(), key=lambda v: v.id, reverse=True)


def backward(y):
    """From y to everything that it was computed from."""
    y.grad = 1.0
    for v in under(y):
        for parent, slope in zip(v.parents, v.slopes):
            parent.grad += slope * v.grad


for f in (chain, square, twice):
    check_at(f, 2.0)

# %% [markdown]
# ## 6. The third bug: a second walk adds up
#
# Walk back twice from the same `y`. Somebody logs a gradient, and somebody else asks for it again.

# %%
x = Value(2.0)
y = twice(x)
backward(y)
print("first", x.grad)
backward(y)
print("then ", x.grad)

# %% [markdown]
# 148 is neither 44 nor 2 · 44. The intermediate Values still stored their sums from the first backward pass, added to
# them, and passed them on again. The gradients of intermediate Values belong to one backward pass only, so keep them in
# a table and discard it at the end. Store the result only in the *leaves*, the Values that were not computed from
# others. Leaves accumulate on purpose: two backward passes give twice the gradient.


# %%
def walk(y):
    """The gradient of y in everything under it, by id."""
    table = {y.id: 1.0}
    for v in under(y):
        for parent, slope in zip(v.parents, v.slopes):
            table[parent.id] = table.get(parent.id, 0.0) + slope * table[v.id]
    return table


def backward(y):
    """Add the gradients of y to the `grad` of the leaves."""
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
print("after two walks", x.grad, "and the step in the middle keeps", y.parents[0].grad)

# %% [markdown]
# ## 7. More operations
#
# An operation is a function of numbers that returns its value and a slope for each operand. `op` makes an operation for
# Values from it, and converts plain numbers among the operands to Values.


# %%
def op(rule):
    """An operation on Values, from one on numbers that gives (value, slopes)."""

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
    """Everything at once."""
    u = (2.0 * x - 1.0).tanh()
    v = u * x - u * u
    return (1.0 - v).exp() * u + v


check_at(tangle, 0.7)

# %% [markdown]
# ## 8. minigrad does the same
#
# `tangle` does not mention Values, so it accepts a Var too. The steps, the slopes and the result are the same, except
# for the last digit, which rounding may change:

# %%
ours, theirs = Value(0.7), mg.Var(0.7, dtype=mg.float64)
backward(tangle(ours))
tangle(theirs).backward()
print("ours  ", ours.grad)
print("theirs", theirs.grad.item())
assert math.isclose(ours.grad, theirs.grad.item(), rel_tol=1e-12)

# %% [markdown]
# Open [engine.py](../minigrad/autodiff/engine.py) beside this page. You know your way about it:
#
# * `reachable` is our `under`: a stack, a dictionary by id, and `sorted(nodes, reverse=True)`;
# * `walk` has our `table`, so the steps in the middle keep nothing;
# * `accumulate` is our `+=`;
# * `backward` adds to `.grad` of the leaves, and only of them.
#
# There is one difference. A minigrad number is a whole array, so its slope is not a number but a *rule*: a function
# that takes the incoming gradient and returns the outgoing one. A rule runs during the backward pass, on operands that
# were saved for it: the "keeps" in the picture.
#
# ## 9. Enough to learn
#
# We fit a sine with the sum of three tanh curves. Each curve has a position, a width and a height, so `parameters` are
# nine Values. The loss is the mean square of the error, and each round takes a small step against the gradient.

# %%
points = [k / 2 for k in range(-6, 7)]
parameters = [Value(w) for w in (0.6, 1.0, -0.5, -0.8, 1.2, 0.4, 0.3, -0.7, 0.9)]


def curve(x):
    """Three times height * tanh(width * x + place)."""
    a, b, c, d, e, f, g, h, i = parameters
    return a * (b * x + c).tanh() + d * (e * x + f).tanh() + g * (h * x + i).tanh()


losses = []
for _ in range(400):
    misses = [curve(x) - math.sin(x) for x in points]
    loss = sum(m * m for m in misses) * (1 / len(points))
    for p in parameters:
        p.grad = 0.0  # or this round's gradient comes on top of all before it
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
# One walk back gave nine derivatives. With a million parameters it would still be one walk: that is why networks can be
# trained at all.
#
# ## Exercises
#
# Write, run, and let the cell tell you. `hint("02.1")` gives a hint, and asked again a larger one.
#
# **02.1** Division, as a rule for `op`: numbers in, value and slopes out. (When it is right, try
# `Value.__truediv__ = op(divide)` and `check_at(lambda x: (x * x) / (x + 1.0), 0.7)`.)

# %%
from minigrad.learning.grading import check, hint


def divide(a, b):
    """(value, (slope in a, slope in b))"""
    return ...  # write it here


check("02.1", divide)

# %% [markdown]
# **02.2** The logistic function $1 / (1 + e^{-a})$, as a rule. Its slope can be had from its value. It must not
# overflow at `a = -1000` or `a = 1000`.


# %%
def logistic(a):
    """(value, (slope,))"""
    return ...  # write it here


check("02.2", logistic)

# %% [markdown]
# **02.3** An order without ids. Return a list of `y` and all Values under it, each of them once, and each before its
# parents. Use only `parents`: the Values of the grader have no `id`.


# %%
def order(y):
    """A list of Values, from y to the leaves."""
    return ...  # write it here


check("02.3", order)

# %% [markdown]
# **02.4** Several results. Given results `ys` and a weight for each, find the gradient of $w_1 y_1 + w_2 y_2 + \dots$
# with respect to each of `xs`. Do not make new Values: the backward pass begins with the weights. One of the `ys` may
# have been computed from another, or appear twice.


# %%
def gradients(ys, weights, xs):
    """A list of numbers, one for each of xs."""
    return ...  # write it here


check("02.4", gradients)
