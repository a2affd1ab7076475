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
# # 01 · Derivatives by nudging
#
# If you nudge the input of a function a little, how much does its result change? This change, divided by the nudge, is
# approximately the derivative. This notebook computes derivatives with this method alone, and shows how far you can
# trust it. At the end, minigrad's own checker uses the same method. You need school calculus and Python; the notebook
# takes twenty minutes.
#
# **One idea:** a derivative is a ratio of two small changes. **One bug:** a nudge that is too small. **One check:** the
# slope of the error.

# %%
import cmath
import math

import matplotlib.pyplot as plt

import minigrad as mg

# %% [markdown]
# ## 1. Nudge it
#
# Take $f(x) = x^3 - 2x$ at $x = 2$. From school, $f'(x) = 3x^2 - 2$, which is 10 at $x = 2$. Nudge $x$ by 0.1:


# %%
def f(x):
    return x**3 - 2 * x


h = 0.1
print("f changes by", f(2 + h) - f(2), "so the ratio is", (f(2 + h) - f(2)) / h)

# %% [markdown]
# 10.61 is not 10. The nudge was large, and the slope changes between 2 and 2.1. A smaller nudge is better:

# %%
for h in (0.1, 0.01, 0.001, 0.0001):
    print(f"h = {h:<7} ratio = {(f(2 + h) - f(2)) / h:.8f}")

# %% [markdown]
# With a nudge ten times smaller, the error is ten times smaller. The reason is Taylor's series:
# $f(x + h) = f(x) + h f'(x) + \tfrac12 h^2 f''(x) + \dots$, so the ratio is $f'(x) + \tfrac12 h f''(x) + \dots$. Its
# error is proportional to $h$. Here $\tfrac12 f''(2) = 6$, so $h = 0.0001$ has an error of 0.0006. Now try much smaller
# nudges.
#
# ## 2. The bug: smaller is not better

# %%
for h in (1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 1e-16):
    print(f"h = {h:<7} ratio = {(f(2 + h) - f(2)) / h:.8f}")

# %% [markdown]
# ![the line through two points, for smaller and smaller h](../docs/pictures/01_nudging.svg)
#
# From `1e-10` on the ratio becomes worse, and at `1e-16` it is 0! The computer stores about 16 digits of a number. In
# floating-point arithmetic, `2 + 1e-16` is exactly `2`, so the result does not change. With `1e-12`, `f(2 + h)` and
# `f(2)` agree in about their first eleven digits. The difference has only the remaining digits, and these are rounded.
# Dividing by `h` makes this rounding error large: about `eps / h`. Here `eps = 2**-52`, also written $\varepsilon$, is
# the distance from 1 to the next larger number that the computer can store.
#
# So a difference quotient has two errors. The *truncation error* comes from the omitted terms of the series, and grows
# with `h`. The *rounding error* grows as `h` becomes smaller. Plot the sum of both errors:

# %%
steps = [10.0 ** (-k / 4) for k in range(2, 64)]


def one_sided(f, x, h):
    return (f(x + h) - f(x)) / h


errors = [abs(one_sided(f, 2.0, h) - 10.0) for h in steps]
plt.loglog(steps, errors, "o-", markersize=3)
plt.xlabel("nudge h")
plt.ylabel("error of the ratio")
plt.title("The V: truncation error on the right, rounding error on the left")
plt.show()

# %% [markdown]
# On the right, the error is a straight line of slope 1: a tenth of `h` has a tenth of the error. On the left, the error
# is larger for smaller `h`, and irregular. The bottom is near $h = \sqrt{\varepsilon} \approx 10^{-8}$, where about 8
# of the 16 digits are correct. A much smaller or a much larger `h` makes the ratio less exact.
#
# The ratio is called a *finite difference* or *difference quotient*. The ratio of section 1 uses only `x + h`, so it is
# *one-sided*.
#
# ## 3. Both sides
#
# Nudge to the right and to the left: $\frac{f(x + h) - f(x - h)}{2h}$, the *central difference*. In Taylor's series,
# the terms with $h^2$ are the same on both sides and cancel. The largest remaining term of the error is
# $\tfrac16 h^2 f'''(x)$.

# %%
central_errors = [abs((f(2 + h) - f(2 - h)) / (2 * h) - 10.0) or 1e-17 for h in steps]
plt.loglog(steps, errors, "o-", markersize=3, label="one side")
plt.loglog(steps, central_errors, "s-", markersize=3, label="both sides")
plt.xlabel("nudge h")
plt.ylabel("error of the ratio")
plt.legend()
plt.show()

# %% [markdown]
# The line is twice as steep, so the bottom of the curve is lower. The bottom is at a larger `h`, about
# $\varepsilon^{1/3}$, where 10 or 11 digits are correct.
#
# **The check.** You can test a formula for a finite difference by the slope of its error. Make `h` ten times smaller.
# If the error becomes ten times smaller, the formula has *order* 1; if it becomes a hundred times smaller, order 2.
# With a wrong formula, the error does not shrink: the curve is flat.

# %%
for name, ratio in (("one side", one_sided), ("both sides", lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h))):
    large, small = (abs(ratio(math.sin, 1.0, h) - math.cos(1.0)) for h in (1e-2, 1e-3))
    print(f"{name:10} order {math.log10(large / small):.2f}")

# %% [markdown]
# ## 4. A function with a corner
#
# `relu`, which is $\max(x, 0)$, has no derivative at 0. The slope is 1 on the right and 0 on the left. The central
# difference is 0.5, which is neither. If the slopes on the two sides differ, a checker must compare both sides
# separately. minigrad's checker does this. Such a corner is called a *kink*.
#
# A `mg.Var` is a tensor whose derivatives you want. The Var in the next cell stores three float64 numbers; float64 is
# the type of Python's `float`. Read only the last line of the report; notebook 04 explains the line above it.


# %%
def relu(x):
    return max(x, 0.0)


print("from the right", one_sided(relu, 0.0, 1e-6), " from the left", (relu(0.0) - relu(-1e-6)) / 1e-6)
print(mg.testing.gradcheck(mg.relu, mg.Var([-1.0, 0.0, 2.0], dtype=mg.float64)))

# %% [markdown]
# `mg.viz.curves` draws a function with its derivative. The derivative of `relu` jumps at 0, so its curve has two parts:

# %%
mg.viz.curves(mg.relu)

# %% [markdown]
# ## 5. The complex step: no subtraction
#
# The *complex step* works for analytic functions that are real on the real axis, such as `sin` and `exp`, but not for
# `abs` or for functions with comparisons. Nudge along the *imaginary* axis:
# $f(x + ih) = f(x) + ih f'(x) - \tfrac12 h^2 f''(x) - \dots$. The imaginary part is $h f'(x)$ with an error of order
# $h^3$. For $h < 10^{-8}$ this error is smaller than the rounding error. There is no subtraction, so no digits are
# lost, and `h` may be as small as floats allow, about `1e-300`.

# %%
h = 1e-200
print("exp'(1) =", math.exp(1.0))
print("by the complex step", cmath.exp(complex(1.0, h)).imag / h)

# %% [markdown]
# ## 6. The same method in minigrad
#
# A network has a million inputs, and each nudge needs a run of the whole network. For this reason the following
# notebooks compute derivatives with rules. But a rule can be wrong. A finite difference is never exact, but it does not
# use the rule, so it cannot contain the same mistake. `gradcheck` compares the gradient with central differences, and
# allows for their rounding error. If they differ, `gradcheck` tries other steps, because a wrong rule is wrong at every
# step. The code is in [quotients.py](../minigrad/testing/quotients.py).

# %%
point = mg.Var([0.5, 1.0, 2.0], dtype=mg.float64)
print(mg.testing.gradcheck(lambda x: (x * x * x - x * 2.0).sum(), point))

# %% [markdown]
# ## Exercises
#
# Write a function and run its cell; the cell reports whether it is right. `hint("01.1")` prints a hint, and a larger
# hint when you call it again. When you are done, compare with [our solutions](solutions/01_nudging.ipynb); each chapter
# has such a page.
#
# **01.1** Compute the central difference. `f` is a function of one float that returns a float; `x` and `h > 0` are
# floats. Return the central difference of `f` at `x` with the step `h`, as a float. The absolute and the relative
# tolerance are $10^{-9}$.

# %%
from minigrad.learning.grading import check, hint


def central(f, x, h):
    """Return the central difference of f at x."""
    return ...  # write it here


check("01.1", central)

# %% [markdown]
# **01.2** A central difference with step `h` has an error of about $c h^2$; with the step `h/2`, the error is a quarter
# of this. Combine the central differences with the steps `h` and `h/2` so that $c$ cancels. `f`, `x` and `h` are as in
# 01.1. Return the combination as a float, right to a relative error of $10^{-9}$. The combination differs from the
# derivative by an error of order $h^4$. (This is Richardson's method of 1911.)


# %%
def richardson(f, x, h):
    """Return a difference quotient of fourth order for the derivative of f at x."""
    return ...  # write it here


check("01.2", richardson)

# %% [markdown]
# **01.3** A finite difference of order $p$ has a truncation error of about $h^p$ and a rounding error of about
# $\varepsilon / h$. For which `h` are both errors about equal? This is close to the best step. `order` is 1, 2 or 4.
# Return `h` for float64, as a float. The grader accepts results between a quarter of the expected step and four times
# the expected step.


# %%
def best_step(order):
    """Return the step for which both errors are equal."""
    return ...  # write it here


check("01.3", best_step)

# %% [markdown]
# **01.4** Compute the derivative of `f` at `x` with the complex step. `f` is any analytic function that takes complex
# numbers and is real on the real axis, and `x` is a float. Return a float whose absolute error is at most
# $10^{-14} \cdot \max(1, |f'(x)|)$.


# %%
def complex_step(f, x):
    """Return the derivative of f at the real number x."""
    return ...  # write it here


check("01.4", complex_step)
