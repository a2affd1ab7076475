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
# # A2 · Stability
#
# Training went well for an hour, and then the loss was `nan`. Somewhere a number became too large for its dtype, or so
# small that it was rounded to 0. This appendix shows where that happens in common functions, and the stable formula for
# each of them. The appendix takes twenty-five minutes. Read [A1](A1_precision.ipynb) first: A1 is about lost digits,
# and this appendix is about numbers that are lost completely.
#
# **One idea:** an intermediate value can overflow although the result is small; in a stable formula, no intermediate
# value is larger than necessary, and then its gradient is stable too. **One bug:** a loss that becomes `nan` because
# the model is *right*. **One check:** the gradient where it was `nan`, compared with a formula without a logarithm.

# %%
import math

import numpy as np
import matplotlib.pyplot as plt

import minigrad as mg

F = mg.nn.functional

# %% [markdown]
# ## 1. The range of exp
#
# No other common function grows as fast as `exp`. For each dtype there is a range of arguments: above it, `exp` is
# `inf`; below it, `exp` is 0; and just above the lower end, the results have lost some of their digits.

# %%
print("dtype     exp is 0 below  | few digits below |  inf above")
for dtype, top, low, fraction in (("float64", 1024, 1022, 52), ("float32", 128, 126, 23), ("float16", 16, 14, 10)):
    least = -(low + fraction + 1) * math.log(2)
    print(f"{dtype:8} {least:15.2f}  | {-low * math.log(2):16.2f} | {top * math.log(2):10.2f}")

x = mg.tensor([88.7, 88.8, -87.0, -104.0])
print(x.exp().tolist())

# %% [markdown]
# (bfloat16 has about the same range as float32.) The consequences of `inf` and 0 are worse: $\infty - \infty$,
# $\infty / \infty$ and $0 \cdot \infty$ are `nan`, "not a number", and almost every operation on `nan` returns `nan`.
#
# ## 2. The sum of exponentials, and its gradient
#
# The loss of a network that chooses between classes contains $\log \sum_i e^{z_i}$ of its scores $z$ (*logsumexp*). It
# is a smooth maximum: for scores of 100, 99 and 98 it is a little above 100, which is not a large number. The precision
# view of A1 finds the intermediate value that is too large:


# %%
def by_the_book(z):
    return z.exp().sum().log()


mg.viz.precision(by_the_book, [100.0, 99.0, 98.0], dtypes=["float32"])

# %% [markdown]
# For any $m$, $\log \sum_i e^{z_i} = m + \log \sum_i e^{z_i - m}$. Choose the largest score as $m$. Then every exponent
# is at most 0, one of them is 0, and the sum is between 1 and the number of classes.


# %%
def shifted(z):
    top = z.max()
    return top + (z - top).exp().sum().log()


print(mg.viz.precision(shifted, [100.0, 99.0, 98.0], dtypes=["float32"]))

# %% [markdown]
# The backward pass uses the intermediate values of the formula. Compare the gradients for large scores and for very
# negative scores:

# %%
for scores in ([100.0, 99.0, 98.0], [-200.0, -201.0, -202.0]):
    for f in (by_the_book, shifted):
        z = mg.Var(scores, name="z")
        value = f(z)
        value.backward()
        print(f"{f.__name__:11} {value.item():9.3f}  gradient {[round(g, 4) for g in z.grad.tolist()]}")

# %% [markdown]
# In `by_the_book`, the derivative of `exp` is $\infty$ and the derivative of `log` is $1/\infty$; the chain rule
# multiplies them. The true gradient is harmless: it is the *softmax*, $e^{z_i} / \sum_j e^{z_j}$, positive numbers with
# the sum 1. `mg.logsumexp` shifts its input. The stepper shows that all gradients of its backward pass are between 0
# and 1:

# %%
print(mg.viz.step(mg.logsumexp(mg.Var([100.0, 99.0, 98.0], name="z"), 0)))

# %% [markdown]
# The loss of a classifier, the cross entropy, is $\log \sum_i e^{z_i} - z_k$, where $k$ is the right class. So its
# gradient is **softmax minus one-hot**: the predicted probabilities, minus 1 at the right class. Every element is
# between -1 and 1 for all scores. In minigrad, the cross entropy is one op. Its rule, in
# [losses.py](../minigrad/ops/nn/losses.py), computes this difference without a logarithm.

# %%
z = mg.Var([[1000.0, 0.0, -1000.0]], name="z")
loss = F.cross_entropy(z, mg.tensor([1]))
loss.backward()
print("cross entropy", loss.item(), " gradient", z.grad.tolist())

# %% [markdown]
# ## 3. The bug
#
# Two classes need only one score $z$: the probability of "yes" is $p = \sigma(z) = 1 / (1 + e^{-z})$. The label $t$ is
# 1 for "yes" and 0 for "no", and the loss is minus the logarithm of the probability of the label. Here is a model with
# one weight. Its data are forty points that are easy to classify: the label is "yes" for positive points.

# %%
x = mg.linspace(-4.0, 4.0, 40)
truth = (x > 0.0).float()


def cross_entropy(z, t):
    """Return the mean of -log p where t is 1, and of -log(1 - p) where t is 0."""
    p = z.sigmoid()
    return -(t * p.log() + (1.0 - t) * (1.0 - p).log()).mean()


def train(loss, steps=120, rate=2.0):
    """Return the trained weight, and the loss of each step."""
    w = mg.Var(0.1, name="w")
    history = []
    for _ in range(steps):
        value = loss(w * x, truth)
        history.append(value.item())
        w.set(w - rate * mg.grad(value, w))
    return w, history


w, history = train(cross_entropy)
first = next(k for k, value in enumerate(history) if math.isnan(value))
print("losses", [round(value, 4) for value in history[: first + 1 : max(1, first // 4)]], "nan at step", first)

# %% [markdown]
# The loss fell, as it should, and then it was `nan`. The data and the learning rate are fine. Call `explain_grad` under
# `mg.debug()`, with a weight a little larger than the last good one:

# %%
print("the weight before:", round(train(cross_entropy, first)[0].item(), 2))
with mg.debug():
    w = mg.Var(5.0, name="w")
    print(w.explain_grad(cross_entropy(w * x, truth)))

# %% [markdown]
# For $z = 20$, $\sigma(z) = 0.999999998$. float32 has seven digits, so $p$ is 1 and $1 - p$ is 0; the logarithm of 0 is
# infinite. Where the label is 1, this infinity is multiplied by 0, which is `nan`. So the loss fails when the model is
# certain *and right*. In a larger program you do not know which call to explain. Then run the backward pass under
# `mg.detect_anomaly()`; it raises an error at the first rule that returns `nan` or `inf`:

# %%
try:
    with mg.detect_anomaly():
        cross_entropy(w * x, truth).backward()
except mg.GradientError as error:
    print(str(error).split("; its rule")[0])

# %% [markdown]
# A common workaround is `p.clamp(1e-7, 1 - 1e-7)`. Then the loss does not break, but the gradient outside the limits is
# 0: a point that the model predicts very wrongly does not count any more. The real fix is algebra. Substitute
# $p = \sigma(z)$ in the loss. The exponentials and the logarithm cancel, and the remaining formula is
#
# $$\log(1 + e^{z}) - t z = \max(z, 0) + \log(1 + e^{-|z|}) - t z .$$
#
# The term $\log(1 + e^{z})$ is called *softplus*. The right-hand side is the stable way to compute it, because its
# exponent is never positive. The derivative is $\sigma(z) - t$: again the predicted probability minus the label.


# %%
def fixed(z, t):
    """softplus(z) - t * z"""
    return (F.softplus(z) - t * z).mean()


w, better = train(fixed)
plt.semilogy(history, "o", markersize=4, label="log of sigmoid")
plt.semilogy(better, label="softplus")
plt.xlabel("step")
plt.ylabel("loss")
plt.legend()
plt.show()
print("the loss after", len(better), "steps:", round(better[-1], 4))

# %% [markdown]
# ### The check
#
# The derivative $\sigma(z) - t$ contains no logarithm. Compare it with the gradient of both losses, also where the
# first loss was `nan`, and where the model is very wrong. Where finite differences are accurate, run `gradcheck` too.

# %%
scores = [-200.0, -20.0, 0.5, 20.0, 200.0]
for t in (0.0, 1.0):
    for loss in (cross_entropy, fixed):
        z = mg.Var(scores, name="z")
        slope = 5.0 * mg.grad(loss(z, t), z).numpy()  # the mean divides by 5
        off = abs(slope - (z.detach().sigmoid().numpy() - t))
        print(f"t = {t:.0f}, {loss.__name__:13} right at", [s for s, each in zip(scores, off) if each < 1e-6])
print(mg.testing.gradcheck(lambda z: fixed(z, 1.0), mg.Var([-3.0, 0.5, 4.0], dtype="float64")))

# %% [markdown]
# ## 4. The norm at 0
#
# The length (*norm*) of a vector is $\sqrt{x \cdot x}$. At 0, the derivative of the root is infinite, and the
# derivative of $x \cdot x$ is 0. The chain rule multiplies infinity by 0, so the gradient of this formula at a vector
# of zeros is `nan`, although the norm itself is 0. Vectors of zeros are common in practice: rows of zeros are used as
# padding.

# %%
for name, length in (("by hand", lambda x: (x * x).sum().sqrt()), ("x.norm()", lambda x: x.norm())):
    zero = mg.Var([0.0, 0.0], name="x")
    length(zero).backward()
    print(f"{name:8} gradient at 0: {zero.grad.tolist()}")

# %% [markdown]
# The norm has no derivative at 0. A *subgradient* is the slope of a plane that touches the function there from below; 0
# is the smallest one, so the gradient of `norm` at 0 is 0. The method is described in section 5 of [notebook
# 03](03_seeing_the_graph.ipynb), with two `where`: the inner `where` replaces the operand 0 of the root by 1, and the
# outer `where` sets the result back to 0. The code is `root` in [sums.py](../minigrad/ops/reduction/sums.py). One
# `where` around the result is not enough, since the backward pass goes through both branches, and $0 \cdot \infty$ is
# `nan`.
#
# ## 5. Small numbers added to 1
#
# If you add a number smaller than half an eps to 1, the result is exactly 1: the small number is lost.

# %%
tiny = mg.tensor(1e-10)
for name, wrong, right in (
    ("log(1 + x)", (1.0 + tiny).log(), tiny.log1p()),
    ("exp(x) - 1", tiny.exp() - 1.0, tiny.expm1()),
):
    print(f"{name}: {wrong.item():.7g} and {right.item():.7g}")

# %% [markdown]
# `log1p(x)` computes $\log(1 + x)$ and `expm1(x)` computes $e^x - 1$ without adding 1 to a small number. They are
# useful for interest over many short periods, for probabilities near 1, and for the softplus above. Exercise A2.2 needs
# both.
#
# ## 6. A long chain
#
# In a deep network, a gradient is a product of derivatives, one for each layer. The product of forty factors of 0.7 is
# about a millionth, and the product of forty factors of 1.4 is about 700,000. Each layer here multiplies by a random
# matrix and sets negative values to 0. A sum of $n$ products with independent zero-mean weights of standard deviation
# $s$ has a mean square of $n s^2$ times the mean square of the input. `relu` removes half of the mean square. So
# $s = \sqrt{2 / n}$ keeps the mean square constant (He and others, arXiv 1502.01852):


# %%
def layers(gain, n=64, depth=40):
    """Return the norm of the gradient at each layer; the weights have the standard deviation gain / sqrt(n)."""
    mg.manual_seed(0)
    h, seen = mg.randn(16, n, requires_grad=True), []
    for _ in range(depth):
        h = (h @ (mg.randn(n, n) * (gain / math.sqrt(n)))).relu()
        seen.append(h)
    return [g.norm().item() for g in mg.grad(h.norm(), seen)]


for gain, name in ((1.0, "1"), (math.sqrt(2), "the root of 2"), (2.0, "2")):
    lengths = layers(gain)
    plt.semilogy(range(1, 41), lengths, label=f"gain {name}")
    print(f"gain {gain:.2f}: at the first layer {lengths[0]:.0e} times that at the last")
plt.xlabel("layer")
plt.ylabel("length of the gradient")
plt.legend()
plt.show()

# %% [markdown]
# Read the plot from right to left, in the direction of the backward pass. Training changes the weights, so a good start
# is not enough. Networks therefore divide by the standard deviation in each layer (`layer_norm`), and add the input of
# a layer to its output (*residual connection*). Training programs also *clip* the gradient: if its norm is too large,
# they scale it down. You write such a clipping in exercise 13.3 of [notebook 13](13_training.ipynb).
#
# ## 7. The dtype of a gradient check
#
# In a finite difference, $f(x + h) - f(x - h)$ is a cancellation. In notebook 01 you saw the V of its error in float64:
# a large step has a truncation error, a small step a rounding error. In float32, the V is at another position.

# %%
steps = 10.0 ** np.arange(-12, 0, 0.25)
for dtype in ("float64", "float32"):
    errors = []
    for h in steps:
        above, below = (mg.tensor(0.7 + s * h, dtype=dtype).tanh().item() for s in (1, -1))
        errors.append(abs((above - below) / (2 * h) - (1 - math.tanh(0.7) ** 2)) + 1e-17)
    plt.loglog(steps, errors, label=dtype)
    print(f"{dtype}: at best off by {min(errors):.0e}, at h = {steps[int(np.argmin(errors))]:.0e}")
plt.xlabel("h")
plt.ylabel("error of the derivative")
plt.legend()
plt.show()

# %% [markdown]
# In float32, you can check about five digits of a derivative, with a step of a hundredth. A step of $10^{-6}$, which is
# good in float64, has an error of several percent. Check in float64, train in float32.
#
# | instead of | write | for |
# |---|---|---|
# | `x.exp().sum().log()` | `mg.logsumexp(x, 0)` | `exp` of 89 |
# | `x.softmax(1).log()` | `x.log_softmax(1)` | a probability of 0 |
# | `-p.log()` of a sigmoid | `softplus(-z)` | a $p$ of 1 or 0 |
# | `(x * x).sum().sqrt()` | `x.norm()` | a row of zeros |
# | `(1 + x).log()`, `x.exp() - 1` | `x.log1p()`, `x.expm1()` | small `x` |
#
# ## Exercises
#
# `hint("A2.1")` prints a hint; a second call prints a larger one.
#
# **A2.1** Compute the logsumexp of each row of a tensor `x` of shape (rows, columns); return a tensor of shape (rows,).
# The absolute and the relative tolerance are $10^{-5}$, for values and gradients. Use `exp` and `log`, and shift each
# row so that `exp` does not overflow. The values of two rows may differ by thousands. Do not call `mg.logsumexp`.

# %%
from minigrad.learning.grading import check, hint


def row_logsumexp(x):
    """Return the logsumexp of each row."""
    return ...  # write it here


check("A2.1", row_logsumexp)

# %% [markdown]
# **A2.2** If $x < 0$ is the logarithm of a probability, $\log(1 - e^x)$ is the log-probability of the complementary
# event. `x` is a float32 or float64 tensor of any shape, with elements from -80 to $-10^{-10}$. Return $\log(1 - e^x)$
# for each element, as a tensor of the same shape and dtype; the result must be differentiable. The relative error of
# the value and of the derivative must be at most $2^{-19}$ in float32 and $2^{-46}$ in float64. (Which term is small
# compared with 1?)


# %%
def log1mexp(x):
    """Return log(1 - exp(x)) for x < 0."""
    return ...  # write it here


check("A2.2", log1mexp)

# %% [markdown]
# **A2.3** Scale each row of a tensor `x` of shape (rows, columns) to norm 1; return a tensor of the same shape. `x` has
# the dtype float64. A row of zeros remains unchanged, and its gradient must be 0. The absolute and the relative
# tolerance are $10^{-9}$, for values and gradients. Use `sum`, `sqrt` and `mg.where`, and do not use `norm`.


# %%
def unit_rows(x):
    """Return x with each row divided by its norm."""
    return ...  # write it here


check("A2.3", unit_rows)

# %% [markdown]
# **A2.4** Some sums have too many terms to compute at once: attention over a whole book is computed part by part. A
# part is described by a pair of Python floats: its largest score `top`, and `total`, the sum of `exp(score - top)`.
# Return such a pair for two parts together, with a relative error of `total` of at most $10^{-12}$. An empty part is
# `(-math.inf, 0.0)`.


# %%
def merged(a, b):
    """Return (top, total) of two parts together; each part is a pair (top, total)."""
    return ...  # write it here


check("A2.4", merged)
