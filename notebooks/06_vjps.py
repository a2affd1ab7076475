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
# # 06 · Vector-Jacobian products
#
# In notebook 02 each operation handed its gradient on, multiplied by a slope. With tensors a slope is a Jacobian: a
# matrix with a row for each output and a column for each input. Nobody builds it. Each op has a rule that multiplies by
# it without having it, and here you derive these rules, one op at a time, with indices and nothing else.
#
# **One idea:** the way back multiplies by the transposed Jacobian. **One bug:** a bias gradient of the wrong shape,
# with which training works far too well. **One check:** $\langle u, Jv \rangle = \langle J^\top u, v \rangle$.

# %%
import minigrad as mg

mg.manual_seed(0)


def normal(*shape):
    """Random numbers, in float64 so that checks are sharp."""
    return mg.randn(*shape, dtype=mg.float64)


# %% [markdown]
# ## 1. A matrix that nobody builds
#
# Let $y = f(x)$, and let $L$ be a number that is computed from $y$. Write $\bar y_i = \partial L / \partial y_i$: what
# arrives on the way back. The chain rule says what goes on:
#
# $$\bar x_j = \sum_i \bar y_i \, \frac{\partial y_i}{\partial x_j} = \sum_i \bar y_i J_{ij}, \qquad\text{so}\qquad
# \bar x = J^\top \bar y .$$
#
# This is a **vector-Jacobian product**, a *vjp*. For $y = e^x$ and three elements the Jacobian can be looked at;
# `mg.func.jacrev` builds it row by row:

# %%
x = mg.tensor([0.0, 1.0, 2.0], dtype=mg.float64)
mg.func.jacrev(mg.exp)(x)

# %% [markdown]
# All entries except the diagonal are 0, because $y_i$ depends on $x_i$ only. For a million elements the Jacobian would
# have a million million entries. The result that we want is $\bar x_j = \bar y_j e^{x_j}$: one multiplication per
# element. `mg.func.vjp` returns $y$ and the function that multiplies by $J^\top$. This function returns one gradient
# for each operand:

# %%
u = mg.tensor([1.0, 10.0, 100.0], dtype=mg.float64)
y, back = mg.func.vjp(mg.exp, x)
print("by the rule:  ", back(u)[0].tolist())
print("by the matrix:", (mg.func.jacrev(mg.exp)(x).T @ u).tolist())

# %% [markdown]
# ## 2. The check
#
# You will write rules below; how do you know that one is right? Nudge the input along a direction $v$, as in notebook
# 01: the output moves along $Jv$. Then measure that move with weights $u$. Or carry $u$ back first, and measure $v$:
#
# $$\langle u, Jv \rangle = \sum_i u_i \sum_j J_{ij} v_j = \sum_j \Big(\sum_i u_i J_{ij}\Big) v_j
# = \langle J^\top u, v \rangle .$$
#
# Both are one number, for any $u$ and $v$. The left side needs no backward rule; a difference quotient is enough.

# %%
v = normal(3)
h = 1e-6
move = (mg.exp(x + v * h) - mg.exp(x - v * h)) / (2 * h)
print("<u, Jv>  =", (u * move).sum().item())
print("<J'u, v> =", (back(u)[0] * v).sum().item())

# %% [markdown]
# Nine digits or so, which is what a quotient gives. `mg.func.jvp` gives $Jv$ without nudging; notebook 08 is about how.
# With it, the check of a rule is a few lines. `rule` takes what arrives, the output and the operands, and gives a
# gradient for each operand.


# %%
def check_rule(f, rule, *xs):
    """Compare <u, Jv> with <J'u, v> at random u and v, after the shapes."""
    vs = tuple(normal(*x.shape) for x in xs)
    y, move = mg.func.jvp(f, xs, vs)
    u = normal(*y.shape)
    gradients = rule(u, y, *xs)
    for k, (gradient, x) in enumerate(zip(gradients, xs)):
        if gradient.shape != x.shape:
            return f"WRONG: operand {k} has shape {x.shape}, its gradient {gradient.shape}"
    left = (u * move).sum().item()
    right = sum((gradient * v).sum().item() for gradient, v in zip(gradients, vs))
    return f"{'right' if abs(left - right) < 1e-9 else 'WRONG'}: {left:.12f} and {right:.12f}"


print(check_rule(mg.exp, lambda g, y, x: [g * y], normal(2, 3)))
print(check_rule(mg.exp, lambda g, y, x: [g * x], normal(2, 3)))

# %% [markdown]
# In the rules `g` is what arrives, $\bar y$: so minigrad calls it as well. A second helper shows how minigrad declares
# its rule. `mg.viz.step` runs it on values that write down what is done to them; nothing is kept by hand.


# %%
def declared(y):
    """The rules of the last op of y, as formulas."""
    for share in mg.viz.step(y).frames[0].shares:
        print(f"{share.operand} gets {share.text}")


declared(mg.Var(normal(2, 3)).exp())

# %% [markdown]
# ## 3. Element by element
#
# For $y_i = a_i b_i$ there are two Jacobians, and both are diagonal: $\partial y_i / \partial a_j$ is $b_i$ for $i = j$
# and 0 otherwise. So $\bar a_i = \bar y_i b_i$ and $\bar b_i = \bar y_i a_i$. A quotient $y_i = a_i / b_i$ has the
# slopes $1 / b_i$ and $-a_i / b_i^2$. minigrad writes the second as $-y_i / b_i$, which is the same and stays in range
# where $b_i^2$ does not:

# %%
a, b = mg.Var(normal(2, 3)), mg.Var(normal(2, 3))
declared(a * b)
declared(a / b)
print(check_rule(lambda a, b: a * b, lambda g, y, a, b: [g * b, g * a], normal(2, 3), normal(2, 3)))
print(check_rule(lambda a, b: a / b, lambda g, y, a, b: [g / b, -g * a / (b * b)], normal(2, 3), normal(2, 3)))

# %% [markdown]
# ## 4. Broadcasting: many uses, one sum
#
# In $y_{ij} = a_{ij} + b_j$ the row $b$ is used once for each $i$. In notebook 02 a value that is used twice gets the
# sum of both gradients, and the indices say the same:
#
# $$\bar b_q = \sum_{ij} \bar y_{ij} \frac{\partial y_{ij}}{\partial b_q} = \sum_{ij} \bar y_{ij}\, \delta_{jq}
# = \sum_i \bar y_{iq} .$$
#
# ($\delta_{jq}$ is 1 for $j = q$ and 0 otherwise. It removes the sum over $j$ and replaces $j$ by $q$. You need no
# other trick in this notebook.) In words: if the forward pass repeats a value, the backward pass sums its gradients. In
# strides: along a dim of stride 0 all elements are one element, which receives the sum of their gradients.

# %%
row = mg.Var(normal(3))
declared(row.expand(2, 3))
print(check_rule(lambda b: b.expand(2, 3), lambda g, y, b: [g.sum(0)], normal(3)))

# %% [markdown]
# This holds for each op that broadcasts, so minigrad's rules do not say it. The declaration of `add` is
# `vjp=(lambda g: g, lambda g: g)`, and the engine sums what comes out in the shape of the operand: `to=(3,)`.

# %%
declared(mg.Var(normal(2, 3)) + row)
declared(mg.Var(normal(2, 3)) * row)

# %% [markdown]
# ## 5. sum and mean: the other way round
#
# $y_i = \sum_j x_{ij}$ has $\partial y_i / \partial x_{pq} = \delta_{ip}$, so $\bar x_{pq} = \bar y_p$: each element of
# row $p$ gets what came to the sum of that row. The way back of a sum spreads, as that of spreading sums; their
# Jacobians are each other's transpose. A mean over $n$ divides by $n$.

# %%
x = mg.Var(normal(2, 4))
declared(x.sum(1))
declared(x.mean(1))
print(check_rule(lambda x: x.mean(1), lambda g, y, x: [(g / 4).reshape(2, 1).expand(2, 4)], normal(2, 4)))

# %% [markdown]
# ## 6. The matrix product
#
# $y_{ik} = \sum_j a_{ij} b_{jk}$. In $\partial y_{ik} / \partial a_{pq}$ only the term with $i = p$ and $j = q$ has
# $a_{pq}$ in it, with the factor $b_{qk}$:
#
# $$\bar a_{pq} = \sum_{ik} \bar y_{ik} \delta_{ip} b_{qk} = \sum_k \bar y_{pk} b_{qk} = (\bar y b^\top)_{pq} ,$$
#
# and in the same way $\bar b = a^\top \bar y$. The shapes lead to the same formula: there is no other product of
# $(2, 4)$ and $(3, 4)$ with the shape $(2, 3)$.

# %%
declared(mg.Var(normal(2, 3)) @ mg.Var(normal(3, 4)))
print(check_rule(lambda a, b: a @ b, lambda g, y, a, b: [g @ b.T, a.T @ g], normal(2, 3), normal(3, 4)))

# %% [markdown]
# But shapes do not always tell. For square matrices $\bar y b$ fits as well; the check knows better:

# %%
print(check_rule(lambda a, b: a @ b, lambda g, y, a, b: [g @ b, a.T @ g], normal(3, 3), normal(3, 3)))

# %% [markdown]
# ## 7. Reading by index: scatter it back
#
# An embedding reads rows of a table: $y_{kj} = x_{p_k j}$, where $p$ is a tensor of integers. Then
# $\partial y_{kj} / \partial x_{qr}$ is 1 where $q = p_k$ and $r = j$, and
#
# $$\bar x_{qr} = \sum_{k \,:\, p_k = q} \bar y_{kr} .$$
#
# Go through the reads, and *add* each gradient where its value was read. A row that was read twice gets two, one that
# was never read gets 0.

# %%
p = mg.tensor([2, 0, 2, 2])
table = mg.Var(normal(4, 3))
declared(table[p])
print(mg.grad(table[p], table).tolist())

# %% [markdown]
# The incoming gradient is ones. Row 2 was read three times, rows 1 and 3 never. `index_add(dim, index, source)` adds.
# If you *assign* instead of adding, only the last of the three gradients survives. As long as no index repeats, the bug
# is invisible.


# %%
def by_adding(g, y, x):
    return [mg.zeros_like(x).index_add(0, p, g)]


def by_writing(g, y, x):
    return [mg.zeros_like(x).index_copy(0, p, g)]


print("add:  ", check_rule(lambda x: x[p], by_adding, normal(4, 3)))
print("write:", check_rule(lambda x: x[p], by_writing, normal(4, 3)))

# %% [markdown]
# ## 8. softmax: each output depends on each input
#
# $y_i = e^{x_i} / \sum_k e^{x_k}$. The quotient rule gives $\partial y_i / \partial x_j = y_i (\delta_{ij} - y_j)$, and
#
# $$\bar x_j = \sum_i \bar y_i\, y_i (\delta_{ij} - y_j) = y_j \Big( \bar y_j - \sum_i \bar y_i y_i \Big) .$$
#
# A full matrix, and yet two passes over a row: one for the sum, one for the rest. And all that is needed is $y$; the
# operand may be forgotten.

# %%
x = mg.Var(normal(2, 4))
declared(x.softmax(1))
print(check_rule(lambda x: x.softmax(1), lambda g, y, x: [y * (g - (g * y).sum(1).reshape(2, 1))], normal(2, 4)))

# %% [markdown]
# Note what a cotangent of ones gives. A row of a softmax sums to 1, whatever you do to `x`, so the gradient of the sum
# is 0. A rule that returned zeros would pass a check with ones; that is why `u` is random.

# %%
print(check_rule(lambda x: x.softmax(1), lambda g, y, x: [mg.zeros_like(x)], normal(2, 4)))

# %% [markdown]
# ## 9. The bug: a bias for everyone
#
# Now put rules together. There is a linear model $y = xw + b$, with eight examples to learn from, eight others to test
# on, and a mean square error. We derive its gradient by hand. With $\bar y = \tfrac2n (y - t)$, section 6 gives
# $\bar w = x^\top \bar y$. Addition passes its incoming gradient on unchanged, so $\bar b = \bar y$.

# %%
n = 8
true_w = mg.tensor([[2.0, -1.0], [0.0, 3.0], [1.0, 1.0]], dtype=mg.float64)
true_b = mg.tensor([1.0, -2.0], dtype=mg.float64)
inputs, test_inputs = normal(n, 3), normal(n, 3)
targets = inputs @ true_w + true_b + normal(n, 2) * 0.3
test_targets = test_inputs @ true_w + true_b + normal(n, 2) * 0.3


def error(w, b, x, t):
    return (((x @ w + b) - t) ** 2).sum().item() / n


def train(bias_rule):
    w, b = mg.zeros(3, 2, dtype=mg.float64), mg.zeros(2, dtype=mg.float64)
    for _ in range(300):
        g = (inputs @ w + b - targets) * (2 / n)
        w = w - (inputs.T @ g) * 0.2
        b = b - bias_rule(g) * 0.2
    return w, b


w, b = train(lambda g: g)
print(f"trained: error {error(w, b, inputs, targets):.2g}")
print(f"tested:  error {error(w, b, test_inputs, test_targets):.2g}")

# %% [markdown]
# Look at the first line. The targets contain noise of 0.3, which no linear model can predict. Yet the error is about
# $10^{-13}$ and still falling! On the other eight examples it is large. Do you see why?

# %%
print("b has shape", b.shape)

# %% [markdown]
# `b - g` broadcast: `(2,)` and `(8, 2)` made `(8, 2)`. Since the first step each example has had a bias of its own, and
# has learnt its noise by heart. No line failed. On five examples it would:

# %%
try:
    test_inputs[:5] @ w + b
except mg.MinigradError as problem:
    print(problem)

# %% [markdown]
# The rule was wrong: $b$ is broadcast over the examples, so the backward pass must sum over them. The check finds this
# at once. It has to compare the shapes first: `(gradient * v).sum()` broadcasts too, and would hide the bug that it
# should find.

# %%
rules = {"g": lambda g: g, "g.sum(1)": lambda g: g.sum(1), "g.sum(0)": lambda g: g.sum(0)}
for name, rule in rules.items():
    print(f"{name:9}", check_rule(lambda b: inputs @ true_w + b, lambda g, y, b, rule=rule: [rule(g)], true_b))

# %%
w, b = train(lambda g: g.sum(0))
print(f"trained: error {error(w, b, inputs, targets):.2g}")
print(f"tested:  error {error(w, b, test_inputs, test_targets):.2g}")

# %% [markdown]
# **Mended**: the error that is left is about that of the noise. (`g.sum(1)` has the wrong shape here; with as many
# examples as outputs it would have had the right one, and only the numbers would have told.) minigrad's engine
# sums by itself; and where you set things by hand, a Var takes no other shape:

# %%
bias = mg.Var(true_b, name="bias")
wrong = mg.ones(8, 2, dtype=mg.float64)
for attempt in (lambda: bias.set(bias - wrong), lambda: setattr(bias, "grad", wrong)):
    try:
        attempt()
    except mg.MinigradError as problem:
        print(problem)

# %% [markdown]
# ## 10. Where minigrad has them
#
# minigrad declares one rule per operand, next to the function. Element by element:
# [arithmetic.py](../minigrad/ops/pointwise/arithmetic.py), the first file to read. The products are in
# [products.py](../minigrad/ops/linalg/products.py), the reads by index in
# [gathering.py](../minigrad/ops/indexing/gathering.py). The sum over broadcast dims is one function, `fitted` in
# [definition.py](../minigrad/autodiff/definition.py). Your check is also one of `gradcheck`'s stages. Its report says
# so:

# %%
print(mg.testing.gradcheck(lambda a, b: (a @ b).softmax(1), (mg.Var(normal(2, 3)), mg.Var(normal(3, 4)))))

# %% [markdown]
# ## Exercises
#
# Write, run, and let the cell tell you. `hint("06.1")` gives a hint, and asked again a larger one. All tensors are
# minigrad's, in float64. Use no `backward` and no `mg.grad`; the grader could not tell, but you would have learnt
# nothing.

# %%
from minigrad.learning.grading import check, hint


def summed_to(g, shape):
    """The gradient of an operand of `shape` that was broadcast to the shape of g."""
    return ...  # write it here


check("06.1", summed_to)

# %% [markdown]
# **06.2** The rule of $y_{ik} = \sum_j a_{ij} b_{kj}$, which is `a @ b.T`: a linear layer with its weights in rows.


# %%
def linear_rule(g, a, b):
    """The gradients of a and of b, as a tuple."""
    return ...  # write it here


check("06.2", linear_rule)

# %% [markdown]
# **06.3** The rule of $y_k = x_{k\,p_k}$: one element is read from each row, at the column that `p` says. So the loss
# of a classifier reads the probability of the right class.


# %%
def picked_rule(g, p, shape):
    """The gradient of x, which has `shape`; g and p have one entry for each row."""
    return ...  # write it here


check("06.3", picked_rule)

# %% [markdown]
# **06.4** $y_i = x_i - \ln \sum_k e^{x_k}$, the logarithm of a softmax. Find $\partial y_i / \partial x_j$, then the
# rule. Say it with $y$ alone. Rows lie along dim 1.


# %%
def log_softmax_rule(g, y):
    """The gradient of x; g and y have shape (rows, n)."""
    return ...  # write it here


check("06.4", log_softmax_rule)

# %% [markdown]
# **06.5** Write the check itself: is `gradient` what `u` becomes on the way back through `f` at `x`? Only one operand,
# and you get `mg.func.jvp`. Return True or False.


# %%
def is_vjp(f, x, u, gradient):
    """Whether <u, Jv> is <gradient, v>, and the shapes agree."""
    return ...  # write it here


check("06.5", is_vjp)
