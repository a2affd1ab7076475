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
# In notebook 02 each operation multiplied its incoming gradient by a derivative and passed the product on. For tensors
# this derivative is a **Jacobian**: a matrix with one row per output and one column per input. It is never built. Each
# op has a rule that computes the product with the Jacobian directly. In this notebook you derive these rules, one op at
# a time, with index notation.
#
# **One idea:** the backward pass multiplies by the transposed Jacobian. **One bug:** a bias gradient of the wrong
# shape, with which training works far too well. **One check:** $\langle u, Jv \rangle = \langle J^\top u, v \rangle$.

# %%
import minigrad as mg

mg.manual_seed(0)


def normal(*shape):
    """Return random float64 values; float64 allows a small tolerance in the checks."""
    return mg.randn(*shape, dtype=mg.float64)


# %% [markdown]
# ## 1. A matrix that is never built
#
# Let $y = f(x)$ with a differentiable $f$, and let $L$ be a number that is computed from $y$. Write
# $\bar y_i = \partial L / \partial y_i$ for the **incoming gradient** (PyTorch: `grad_output`; JAX: *cotangent*). The
# chain rule gives the gradient of $x$:
#
# $$\bar x_j = \sum_i \bar y_i \, \frac{\partial y_i}{\partial x_j} = \sum_i \bar y_i J_{ij}, \qquad\text{so}\qquad
# \bar x = J^\top \bar y .$$
#
# This is a **vector-Jacobian product**, a *vjp*. For $y = e^x$ and three elements the Jacobian is small enough to
# print. `mg.func.jacrev` builds it row by row:

# %%
x = mg.tensor([0.0, 1.0, 2.0], dtype=mg.float64)
mg.func.jacrev(mg.exp)(x)

# %% [markdown]
# All entries except the diagonal are 0, because $y_i$ depends on $x_i$ only. For a million elements the Jacobian would
# have $10^{12}$ entries. The result that you want is $\bar x_j = \bar y_j e^{x_j}$: one multiplication per element.
# `mg.func.vjp` returns $y$ and the function that multiplies by $J^\top$. This function returns one gradient for each
# operand:

# %%
u = mg.tensor([1.0, 10.0, 100.0], dtype=mg.float64)
y, back = mg.func.vjp(mg.exp, x)
print("by the rule:  ", back(u)[0].tolist())
print("by the matrix:", (mg.func.jacrev(mg.exp)(x).T @ u).tolist())

# %% [markdown]
# ## 2. The check
#
# You will write rules below. How do you know that a rule is right? Perturb the input along a direction $v$, as in
# notebook 01: to first order, the output changes by $Jv$. Multiply this change by weights $u$ and sum. You can also
# multiply $u$ by $J^\top$ first, and then take the product with $v$:
#
# $$\langle u, Jv \rangle = \sum_i u_i \sum_j J_{ij} v_j = \sum_j \Big(\sum_i u_i J_{ij}\Big) v_j
# = \langle J^\top u, v \rangle .$$
#
# The two numbers are equal for all $u$ and $v$. The left side needs no backward rule; a difference quotient is enough.

# %%
v = normal(3)
h = 1e-6
move = (mg.exp(x + v * h) - mg.exp(x - v * h)) / (2 * h)
print("<u, Jv>  =", (u * move).sum().item())
print("<J'u, v> =", (back(u)[0] * v).sum().item())

# %% [markdown]
# The two numbers agree in about nine digits, which is the accuracy of a difference quotient. `mg.func.jvp` computes
# $Jv$ without finite differences; notebook 08 explains how. With `mg.func.jvp`, the check of a rule is a few lines.
# `rule` receives the incoming gradient, the output and the operands, and returns one gradient per operand.


# %%
def check_rule(f, rule, *xs):
    """Compare the shapes, then <u, Jv> with <J'u, v> for random u and v."""
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
# In the rules, `g` is the incoming gradient $\bar y$, as in minigrad's source. The second helper prints the rule that
# minigrad declares for an op. `mg.viz.step` runs the rule on placeholders that record each operation, so the printed
# formula is the code that runs.


# %%
def declared(y):
    """Print the VJP rules of the last op of y, as formulas."""
    for share in mg.viz.step(y).frames[0].shares:
        print(f"{share.operand} receives {share.text}")


declared(mg.Var(normal(2, 3)).exp())

# %% [markdown]
# A backward pass applies one rule after the other. In this animation, each incoming gradient `ȳ` becomes the gradients
# of the operands:
#
# ![the VJP rules of (a @ b).tanh().sum()](../docs/pictures/06_vjps.svg)
#
# ## 3. Element by element
#
# For $y_i = a_i b_i$ there are two Jacobians, and both are diagonal: $\partial y_i / \partial a_j$ is $b_i$ for $i = j$
# and 0 otherwise. So $\bar a_i = \bar y_i b_i$ and $\bar b_i = \bar y_i a_i$. The quotient $y_i = a_i / b_i$ (with
# $b_i \ne 0$) has the derivatives $1 / b_i$ and $-a_i / b_i^2$. minigrad computes the derivative with respect
# to $b_i$ as $-y_i / b_i$. Both formulas have equal values, but $b_i^2$ can overflow or underflow where $y_i / b_i$
# does not:

# %%
a, b = mg.Var(normal(2, 3)), mg.Var(normal(2, 3))
declared(a * b)
declared(a / b)
print(check_rule(lambda a, b: a * b, lambda g, y, a, b: [g * b, g * a], normal(2, 3), normal(2, 3)))
print(check_rule(lambda a, b: a / b, lambda g, y, a, b: [g / b, -g * a / (b * b)], normal(2, 3), normal(2, 3)))

# %% [markdown]
# ## 4. Broadcasting: many uses, one sum
#
# In $y_{ij} = a_{ij} + b_j$ the row $b$ is used once for each $i$. In notebook 02 a value that is used twice receives
# the sum of both gradients. The index notation leads to this sum too:
#
# $$\bar b_q = \sum_{ij} \bar y_{ij} \frac{\partial y_{ij}}{\partial b_q} = \sum_{ij} \bar y_{ij}\, \delta_{jq}
# = \sum_i \bar y_{iq} .$$
#
# ($\delta_{jq}$ is 1 for $j = q$ and 0 otherwise. It removes the sum over $j$ and replaces $j$ by $q$. You need no
# other trick in this notebook.) In words: if the forward pass repeats a value, the backward pass sums its gradients. In
# terms of strides: along a dimension of stride 0, all elements are one element, which receives the sum of their
# gradients.

# %%
row = mg.Var(normal(3))
declared(row.expand(2, 3))
print(check_rule(lambda b: b.expand(2, 3), lambda g, y, b: [g.sum(0)], normal(3)))

# %% [markdown]
# Every op that broadcasts needs this sum, so minigrad's rules leave it out. The declaration of `add` is
# `vjp=(lambda g: g, lambda g: g)`, and the engine sums the result of each rule to the shape of the operand. In the
# printed formula this is `to=(3,)`.

# %%
declared(mg.Var(normal(2, 3)) + row)
declared(mg.Var(normal(2, 3)) * row)

# %% [markdown]
# ## 5. sum and mean: broadcasting transposed
#
# $y_i = \sum_j x_{ij}$ has $\partial y_i / \partial x_{pq} = \delta_{ip}$, so $\bar x_{pq} = \bar y_p$: each element of
# row $p$ receives the gradient of the sum of this row. The backward pass of a sum is a broadcast, and the backward pass
# of a broadcast is a sum: their Jacobians are transposes of each other. The mean over $n$ elements divides by $n$ too.

# %%
x = mg.Var(normal(2, 4))
declared(x.sum(1))
declared(x.mean(1))
print(check_rule(lambda x: x.mean(1), lambda g, y, x: [(g / 4).reshape(2, 1).expand(2, 4)], normal(2, 4)))

# %% [markdown]
# ## 6. The matrix product: shapes are not enough
#
# $y_{ik} = \sum_j a_{ij} b_{jk}$. In $\partial y_{ik} / \partial a_{pq}$ only the term with $i = p$ and $j = q$ has
# $a_{pq}$ in it, with the factor $b_{qk}$:
#
# $$\bar a_{pq} = \sum_{ik} \bar y_{ik} \delta_{ip} b_{qk} = \sum_k \bar y_{pk} b_{qk} = (\bar y b^\top)_{pq} ,$$
#
# and a similar sum gives $\bar b = a^\top \bar y$. The shapes alone lead to these formulas too: there is no other
# product of $(2, 4)$ and $(3, 4)$ with the shape $(2, 3)$.

# %%
declared(mg.Var(normal(2, 3)) @ mg.Var(normal(3, 4)))
print(check_rule(lambda a, b: a @ b, lambda g, y, a, b: [g @ b.T, a.T @ g], normal(2, 3), normal(3, 4)))

# %% [markdown]
# But shapes do not always determine the formula. For square matrices $\bar y b$ has the right shape as well. The check
# finds the mistake:

# %%
print(check_rule(lambda a, b: a @ b, lambda g, y, a, b: [g @ b, a.T @ g], normal(3, 3), normal(3, 3)))

# %% [markdown]
# ## 7. Reading by index: add to the elements that were read
#
# An embedding reads rows of a table: $y_{kj} = x_{p_k j}$, where $p$ is a tensor of integers. Then
# $\partial y_{kj} / \partial x_{qr}$ is 1 where $q = p_k$ and $r = j$, and
#
# $$\bar x_{qr} = \sum_{k \,:\, p_k = q} \bar y_{kr} .$$
#
# For each read, *add* the incoming gradient to the row that was read. A row that was read twice receives two gradients.
# A row that was never read receives 0.

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
# The Jacobian is a full matrix, but the rule needs only two passes over a row: one for the sum, one for the rest. The
# rule needs only $y$, so the operand does not have to be saved.

# %%
x = mg.Var(normal(2, 4))
declared(x.softmax(1))
print(check_rule(lambda x: x.softmax(1), lambda g, y, x: [y * (g - (g * y).sum(1).reshape(2, 1))], normal(2, 4)))

# %% [markdown]
# An incoming gradient of ones is a bad test here. A row of a softmax sums to 1 for every `x`, so the gradient of the
# sum is 0. A rule that always returns zeros would pass a check with ones. With a random `u` it fails:

# %%
print(check_rule(lambda x: x.softmax(1), lambda g, y, x: [mg.zeros_like(x)], normal(2, 4)))

# %% [markdown]
# ## 9. The bug: one bias per example
#
# Now combine the rules in a linear model $y = xw + b$. It is trained on eight examples and tested on eight others, with
# the mean of the squared errors as the loss. We derive its gradient by hand. Let $t$ be the targets. With
# $\bar y = \tfrac2n (y - t)$, section 6 gives $\bar w = x^\top \bar y$. Addition passes its incoming gradient on
# unchanged, so $\bar b = \bar y$.

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
# Look at the first line of the output. The targets contain noise with standard deviation 0.3, which no linear model can
# predict. Yet the error is about $10^{-13}$ and still falling! On the other eight examples the error is large. Do you
# see why?

# %%
print("b has shape", b.shape)

# %% [markdown]
# The subtraction `b - g` broadcast: the shapes `(2,)` and `(8, 2)` resulted in `(8, 2)`. After the first step each
# example has its own bias, which can reproduce the noise of this example exactly. No line raised an error, because all
# data had eight examples. With five examples the addition fails:

# %%
try:
    test_inputs[:5] @ w + b
except mg.MinigradError as problem:
    print(problem)

# %% [markdown]
# The rule was wrong: $b$ is broadcast over the examples, so the backward pass must sum over them. The check finds this
# at once. But the check has to compare the shapes first: `(gradient * v).sum()` broadcasts too, and would hide the bug.

# %%
rules = {"g": lambda g: g, "g.sum(1)": lambda g: g.sum(1), "g.sum(0)": lambda g: g.sum(0)}
for name, rule in rules.items():
    print(f"{name:9}", check_rule(lambda b: inputs @ true_w + b, lambda g, y, b, rule=rule: [rule(g)], true_b))

# %%
w, b = train(lambda g: g.sum(0))
print(f"trained: error {error(w, b, inputs, targets):.2g}")
print(f"tested:  error {error(w, b, test_inputs, test_targets):.2g}")

# %% [markdown]
# **The fix:** with `g.sum(0)`, both errors are near the variance of the noise in two outputs, which is
# $2 \cdot 0.3^2 = 0.18$. (`g.sum(1)` has the wrong shape here. With as many examples as outputs it would have the right
# shape, and only its values would be wrong.) minigrad's engine sums broadcast gradients for you. If you assign values
# by hand, a Var accepts only its own shape:

# %%
bias = mg.Var(true_b, name="bias")
wrong = mg.ones(8, 2, dtype=mg.float64)
for attempt in (lambda: bias.set(bias - wrong), lambda: setattr(bias, "grad", wrong)):
    try:
        attempt()
    except mg.MinigradError as problem:
        print(problem)

# %% [markdown]
# ## 10. The rules in minigrad's source
#
# minigrad declares one rule per operand, next to the function. Start with the elementwise rules in
# [arithmetic.py](../minigrad/ops/pointwise/arithmetic.py). The matrix products are in
# [products.py](../minigrad/ops/linalg/products.py), the reads by index in
# [gathering.py](../minigrad/ops/indexing/gathering.py). The sum over broadcast dims is one function, `fitted` in
# [definition.py](../minigrad/autodiff/definition.py). Your check is one stage of `gradcheck`, as its report shows:

# %%
print(mg.testing.gradcheck(lambda a, b: (a @ b).softmax(1), (mg.Var(normal(2, 3)), mg.Var(normal(3, 4)))))

# %% [markdown]
# ## Exercises
#
# Write your answer, then run the cell: `check` reports the result. `hint("06.1")` prints a hint, and a larger one at
# each further call. All tensors are minigrad tensors in float64. Results are compared with a tolerance of `1e-9`. Do
# not use `backward` or `mg.grad`. The grader does not detect these calls, but with them you would learn nothing.
#
# **06.1** An operand of `shape` was broadcast, and `g` is the gradient of the broadcast result. Return the gradient of
# the operand, a tensor of `shape`. The absolute and the relative tolerance are $10^{-9}$.

# %%
from minigrad.learning.grading import check, hint


def summed_to(g, shape):
    """Return the gradient of an operand of `shape` that was broadcast to the shape of g."""
    return ...  # write it here


check("06.1", summed_to)

# %% [markdown]
# **06.2** Write the rule of $y_{ik} = \sum_j a_{ij} b_{kj}$, which is `a @ b.T`: a linear layer with one row of weights
# per output. `a` has shape (n, k), `b` has shape (m, k), and `g` has shape (n, m). Return a tuple: the gradient of `a`,
# and the gradient of `b`. The absolute and the relative tolerance are $10^{-9}$.


# %%
def linear_rule(g, a, b):
    """Return (gradient of a, gradient of b)."""
    return ...  # write it here


check("06.2", linear_rule)

# %% [markdown]
# **06.3** Write the rule of $y_k = x_{k\,p_k}$: one element is read from each row, in the column that `p` specifies.
# The loss of a classifier reads the probability of the right class in this way. `g` and `p` have one entry per row of
# `x`; `p` contains integers. Return the gradient of `x`, a tensor of `shape`. The absolute and the relative tolerance
# are $10^{-9}$.


# %%
def picked_rule(g, p, shape):
    """Return the gradient of x, which has `shape`; g and p have one entry per row."""
    return ...  # write it here


check("06.3", picked_rule)

# %% [markdown]
# **06.4** $y_i = x_i - \ln \sum_k e^{x_k}$, the logarithm of a softmax. Find $\partial y_i / \partial x_j$, then the
# rule. Your rule may use only `g` and $y$, not $x$. `g` and $y$ have shape (rows, n), and each row is one softmax.
# Return the gradient of `x`, of shape (rows, n). The absolute and the relative tolerance are $10^{-9}$.


# %%
def log_softmax_rule(g, y):
    """Return the gradient of x; g and y have shape (rows, n)."""
    return ...  # write it here


check("06.4", log_softmax_rule)

# %% [markdown]
# **06.5** Write the check itself: is `gradient` equal to $J^\top u$, where $J$ is the Jacobian of `f` at `x`? `f` has
# one operand, and `u` has the shape of `f(x)`. Use `mg.func.jvp`. Return True or False; a difference of `1e-8` counts
# as rounding. A `gradient` of a wrong shape must return False.


# %%
def is_vjp(f, x, u, gradient):
    """Return whether the shapes agree, and <u, Jv> equals <gradient, v>."""
    return ...  # write it here


check("06.5", is_vjp)
