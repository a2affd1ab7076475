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
# Training went well for an hour, and then the loss was `nan`. Somewhere a number grew too large for its dtype, or so
# small that it became 0. This appendix shows where that happens in the functions that everybody uses, and the stable
# formula for each of them. It takes twenty-five minutes. Read [A1](A1_precision.ipynb) first: there digits are lost,
# here entire numbers.
#
# **One idea:** an answer may be harmless while a piece of the formula is not; a stable form has no piece that is larger
# than it needs to be, and then its gradient is stable too. **One bug:** a loss that turns into `nan` because the model
# is *right*. **One check:** the gradient where it used to break, held to one that needs no logarithm.

# %%
import math

import numpy as np
import matplotlib.pyplot as plt

import minigrad as mg

F = mg.nn.functional

# %% [markdown]
# ## 1. The window of exp
#
# Nothing in a network grows as `exp` does. Each dtype has a window: above it there is `inf`, below it 0, and just above
# the 0 there are numbers that have lost some of their digits.

# %%
print("dtype     exp is 0 below  | few digits below |  inf above")
for dtype, top, low, fraction in (("float64", 1024, 1022, 52), ("float32", 128, 126, 23), ("float16", 16, 14, 10)):
    least = -(low + fraction + 1) * math.log(2)
    print(f"{dtype:8} {least:15.2f}  | {-low * math.log(2):16.2f} | {top * math.log(2):10.2f}")

x = mg.tensor([88.7, 88.8, -87.0, -104.0])
print(x.exp().tolist())

# %% [markdown]
# (bfloat16 has the window of float32.) What `inf` and 0 do next is worse: $\infty - \infty$, $\infty / \infty$ and
# $0 \cdot \infty$ are `nan`, "not a number", and whatever touches `nan` is `nan`.
#
# ## 2. The sum of exponentials, and its gradient
#
# Wherever a network decides between classes, there is $\log \sum_i e^{z_i}$ of its scores $z$. It is a smooth maximum:
# for scores of 100, 99 and 98 it is a little above 100. Not a large number. The microscope of A1 finds the piece that
# is:


# %%
def by_the_book(z):
    return z.exp().sum().log()


mg.viz.precision(by_the_book, [100.0, 99.0, 98.0], dtypes=["float32"])

# %% [markdown]
# Take the largest score $m$ out of the sum: $\log \sum_i e^{z_i} = m + \log \sum_i e^{z_i - m}$, for any $m$. Now every
# exponent is at most 0, one of them is 0, and the sum is between 1 and the number of classes.


# %%
def shifted(z):
    top = z.max()
    return top + (z - top).exp().sum().log()


print(mg.viz.precision(shifted, [100.0, 99.0, 98.0], dtypes=["float32"]))

# %% [markdown]
# The gradient of a formula is computed from its pieces. So look at what the way back gives, for large scores and for
# very negative ones:

# %%
for scores in ([100.0, 99.0, 98.0], [-200.0, -201.0, -202.0]):
    for f in (by_the_book, shifted):
        z = mg.Var(scores, name="z")
        value = f(z)
        value.backward()
        print(f"{f.__name__:11} {value.item():9.3f}  gradient {[round(g, 4) for g in z.grad.tolist()]}")

# %% [markdown]
# By the book, `exp` has the slope $\infty$, `log` has the slope $1/\infty$, and the chain rule multiplies them. The
# true gradient is tame: it is the *softmax*, $e^{z_i} / \sum_j e^{z_j}$, positive numbers that sum to 1. The stepper
# shows that with `mg.logsumexp`, which shifts, each number of the backward pass stays between 0 and 1:

# %%
print(mg.viz.step(mg.logsumexp(mg.Var([100.0, 99.0, 98.0], name="z"), 0)))

# %% [markdown]
# The loss of a classifier, the cross entropy, is $\log \sum_i e^{z_i} - z_k$ where $k$ is the right class. So its
# gradient is **softmax minus one-hot**: what the network thinks, minus what is true. Every element is between -1 and 1,
# whatever the scores. One op computes both ways without a large piece: the rule in
# [losses.py](../minigrad/ops/nn/losses.py) never sees a logarithm.

# %%
z = mg.Var([[1000.0, 0.0, -1000.0]], name="z")
loss = F.cross_entropy(z, mg.tensor([1]))
loss.backward()
print("cross entropy", loss.item(), " gradient", z.grad.tolist())

# %% [markdown]
# ## 3. The bug
#
# Two classes need one score $z$ only: the probability of "yes" is $p = \sigma(z) = 1 / (1 + e^{-z})$, and the loss is
# minus the logarithm of the probability of the truth $t$, which is 1 or 0. Here is a model with one weight, on forty
# points that are easy to tell apart: "yes" is what is positive.

# %%
x = mg.linspace(-4.0, 4.0, 40)
truth = (x > 0.0).float()


def cross_entropy(z, t):
    """-log p where t is 1, and -log(1 - p) where t is 0."""
    p = z.sigmoid()
    return -(t * p.log() + (1.0 - t) * (1.0 - p).log()).mean()


def train(loss, steps=120, rate=2.0):
    """The losses on the way."""
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
# The loss fell, as it should, and then there is `nan`. Nothing was wrong with the data or the rate. Ask the gradient,
# under `mg.debug()`, with a weight a little larger than the last good one:

# %%
print("the weight before:", round(train(cross_entropy, first)[0].item(), 2))
with mg.debug():
    w = mg.Var(5.0, name="w")
    print(w.explain_grad(cross_entropy(w * x, truth)))

# %% [markdown]
# For $z = 20$, $\sigma(z) = 0.999999998$. float32 has seven digits, so $p$ is 1, and $1 - p$ is 0: its logarithm is
# infinite. And where the truth is 1, that is multiplied by 0. So it breaks at a model that is sure *and right*. In a
# larger program you do not know which call to explain. Then let `mg.detect_anomaly()` watch the way back; it stops at
# the first rule that gives what is not finite:

# %%
try:
    with mg.detect_anomaly():
        cross_entropy(w * x, truth).backward()
except mg.GradientError as error:
    print(str(error).split("; its rule")[0])

# %% [markdown]
# A common workaround is `p.clamp(1e-7, 1 - 1e-7)`. Then the loss does not break, but the gradient outside the limits is
# 0: a point that the model predicts very wrongly does not count any more. The real fix is algebra. Put $p = \sigma(z)$
# into the loss. The exponentials and the logarithm cancel, and the remaining formula is
#
# $$\log(1 + e^{z}) - t z = \max(z, 0) + \log(1 + e^{-|z|}) - t z .$$
#
# The left form is called *softplus*, the right one is how it is computed: its exponent is never positive. Its slope is
# $\sigma(z) - t$: what the network thinks, minus what is true, once more.


# %%
def mended(z, t):
    """softplus(z) - t * z"""
    return (F.softplus(z) - t * z).mean()


w, better = train(mended)
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
# The slope is known without a logarithm. So compare it there, also where it used to break, and where the model is very
# wrong; and nudge the formula where nudging works.

# %%
scores = [-200.0, -20.0, 0.5, 20.0, 200.0]
for t in (0.0, 1.0):
    for loss in (cross_entropy, mended):
        z = mg.Var(scores, name="z")
        slope = 5.0 * mg.grad(loss(z, t), z).numpy()  # the mean divides by 5
        off = abs(slope - (z.detach().sigmoid().numpy() - t))
        print(f"t = {t:.0f}, {loss.__name__:13} right at", [s for s, each in zip(scores, off) if each < 1e-6])
print(mg.testing.gradcheck(lambda z: mended(z, 1.0), mg.Var([-3.0, 0.5, 4.0], dtype="float64")))

# %% [markdown]
# ## 4. A corner at 0
#
# The length of a vector is $\sqrt{x \cdot x}$. A root has an infinite slope at 0, and $x \cdot x$ has the slope 0
# there. So the length of a vector of zeros is 0, and its gradient is `nan`. It happens to whole rows of data: padding.

# %%
for name, length in (("by hand", lambda x: (x * x).sum().sqrt()), ("x.norm()", lambda x: x.norm())):
    zero = mg.Var([0.0, 0.0], name="x")
    length(zero).backward()
    print(f"{name:8} gradient at 0: {zero.grad.tolist()}")

# %% [markdown]
# A cone has no slope at its tip; 0 is one of its *subgradients*, and the one that does no harm, so that is what `norm`
# gives. How? As in section 5 of [notebook 03](03_seeing_the_graph.ipynb), by two `where`: the inner one lets the root
# see a 1 instead of the 0, the outer one puts the 0 back. It is `root` in
# [sums.py](../minigrad/ops/reduction/sums.py). One `where` around the result is not enough, since the way back goes
# through both branches, and $0 \cdot \infty$ is `nan`.
#
# ## 5. Small numbers beside 1
#
# The window of `exp` is one trap; the number 1 is the other. Beside a 1, whatever is below half an eps is gone.

# %%
tiny = mg.tensor(1e-10)
for name, wrong, right in (
    ("log(1 + x)", (1.0 + tiny).log(), tiny.log1p()),
    ("exp(x) - 1", tiny.exp() - 1.0, tiny.expm1()),
):
    print(f"{name}: {wrong.item():.7g} and {right.item():.7g}")

# %% [markdown]
# `log1p` and `expm1` take the small number before it meets the 1. Interest of many small periods, probabilities near
# 1, the softplus above: all of them contain one. Exercise A2.2 needs both.
#
# ## 6. A long chain
#
# A gradient is a product of slopes, one for each layer. Forty factors of 0.7 make a millionth, forty of 1.4 a million.
# Each layer here multiplies by a random matrix and sets negative values to 0. A sum of $n$ products with independent
# zero-mean weights of standard deviation $s$ has a mean square of $n s^2$ times that of the input. `relu` removes half
# of it. So $s = \sqrt{2 / n}$ keeps it constant (He and others, arXiv 1502.01852):


# %%
def layers(gain, n=64, depth=40):
    """The length of the gradient at each layer of a chain whose weights have deviation gain / sqrt(n)."""
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
# Read it from right to left, as the gradient goes. A start that is right does not stay right: so networks divide by the
# deviation again in each layer (`layer_norm`), add their input to their output, and *clip*: a gradient that is too long
# is made shorter, in its direction, which is exercise 13.3 of [notebook 13](13_training.ipynb).
#
# ## 7. A check has a dtype as well
#
# A difference quotient is a cancellation: $f(x + h) - f(x - h)$. In notebook 01 you saw the V in float64: a long nudge
# errs by the bend of the curve, a short one by rounding. In float32 it is another V.

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
plt.ylabel("error of the slope")
plt.legend()
plt.show()

# %% [markdown]
# In float32 some five digits of a slope can be checked, with a nudge of a hundredth; and a nudge of $10^{-6}$, which is
# good in float64, is off by percents. Check in float64, train in float32.
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
# `hint("A2.1")` gives a hint, and asked again a larger one.
#
# **A2.1** Compute `logsumexp` of each row of a matrix by hand: use `exp`, `log` and the shift that keeps them in their
# windows. The values of two rows may be thousands apart.

# %%
from minigrad.learning.grading import check, hint


def row_logsumexp(x):
    """(rows, columns) to (rows,)."""
    return ...  # write it here


check("A2.1", row_logsumexp)

# %% [markdown]
# **A2.2** If $x < 0$ is the logarithm of a probability, $\log(1 - e^x)$ is the log-probability of the complementary
# event. Compute it for a tensor, with its gradient, for $x$ from -80 to -0.0000000001. (Which term is small compared
# with 1?)


# %%
def log1mexp(x):
    """log(1 - exp(x)) for x < 0."""
    return ...  # write it here


check("A2.2", log1mexp)

# %% [markdown]
# **A2.3** Scale each row of a matrix to length 1. A row of zeros remains unchanged, and its gradient must be 0. Use
# `sum`, `sqrt` and `mg.where`, and do not use `norm`.


# %%
def unit_rows(x):
    """x, each row divided by its length."""
    return ...  # write it here


check("A2.3", unit_rows)

# %% [markdown]
# **A2.4** Some sums are too long for one look: attention over a whole book is computed piece by piece. Of each piece
# you have its largest score `top` and `total`, the sum of `exp(score - top)`. Give the same two numbers for two pieces
# together. They are Python floats, and an empty piece is `(-math.inf, 0.0)`.


# %%
def merged(a, b):
    """(top, total) of two pieces, each given as (top, total)."""
    return ...  # write it here


check("A2.4", merged)
