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
# What does a function do if you nudge its input? The answer, divided by the nudge, is the derivative. This notebook
# finds derivatives with this method alone, and shows how far you can trust it. At the end, minigrad's own checker uses
# the same method. You need school calculus and Python; it takes twenty minutes.
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
# Take $f(x) = x^3 - 2x$ at $x = 2$. From school, $f'(x) = 3x^2 - 2$, which is 10 there. A nudge of 0.1:


# %%
def f(x):
    return x**3 - 2 * x


h = 0.1
print("f changes by", f(2 + h) - f(2), "so the ratio is", (f(2 + h) - f(2)) / h)

# %% [markdown]
# 10.61 is not 10. The nudge was large, and on its way the slope changed. A smaller nudge does better:

# %%
for h in (0.1, 0.01, 0.001, 0.0001):
    print(f"h = {h:<7} ratio = {(f(2 + h) - f(2)) / h:.8f}")

# %% [markdown]
# Ten times smaller, ten times better. The reason is Taylor's:
# $f(x + h) = f(x) + h f'(x) + \tfrac12 h^2 f''(x) + \dots$, so the ratio is $f'(x) + \tfrac12 h f''(x) + \dots$: its
# error shrinks as $h$ does. Here $\tfrac12 f''(2) = 6$, and 0.0001 gives an error of 0.0006. Then let us take a really
# small one.
#
# ## 2. The bug: smaller is not better

# %%
for h in (1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 1e-16):
    print(f"h = {h:<7} ratio = {(f(2 + h) - f(2)) / h:.8f}")

# %% [markdown]
# From `1e-10` on it gets worse, and at `1e-16` the ratio is 0! The computer keeps about 16 digits of a number. `2 +
# 1e-16` *is* `2`, so nothing changed. With `1e-12`, `f(2 + h)` and `f(2)` agree in their first twelve digits; the
# difference keeps the last four, and those are rounded. Dividing by `h` makes that rounding large: it costs about `eps
# / h`. Here `eps = 2**-52`, also written $\varepsilon$, is the distance from 1 to the next number that the computer
# has.
#
# Two errors, then: *cutting off* the series, which grows with `h`, and *rounding off*, which shrinks with it. Draw
# them:

# %%
steps = [10.0 ** (-k / 4) for k in range(2, 64)]


def one_sided(f, x, h):
    return (f(x + h) - f(x)) / h


errors = [abs(one_sided(f, 2.0, h) - 10.0) for h in steps]
plt.loglog(steps, errors, "o-", markersize=3)
plt.xlabel("the nudge h")
plt.ylabel("error of the ratio")
plt.title("The V: cut off on the right, rounded off on the left")
plt.show()

# %% [markdown]
# On the right the error falls along a straight line of slope 1: one power of ten in `h` is one in the error. On the
# left it rises, raggedly. The bottom lies near $h = \sqrt{\varepsilon} \approx 10^{-8}$, and there you have 8 digits
# of 16. That is all that this ratio can give.
#
# ## 3. Both sides
#
# Nudge to the right and to the left: $\frac{f(x + h) - f(x - h)}{2h}$. In Taylor's series the terms with $h^2$ are the
# same on both sides and go; what is left of the error is $\tfrac16 h^2 f'''(x)$.

# %%
central_errors = [abs((f(2 + h) - f(2 - h)) / (2 * h) - 10.0) or 1e-17 for h in steps]
plt.loglog(steps, errors, "o-", markersize=3, label="one side")
plt.loglog(steps, central_errors, "s-", markersize=3, label="both sides")
plt.xlabel("the nudge h")
plt.ylabel("error of the ratio")
plt.legend()
plt.show()

# %% [markdown]
# The line is twice as steep, so the bottom is lower, at a larger `h`: about $\varepsilon^{1/3}$, with 10 or 11 digits.
#
# **The check.** If you receive a difference quotient from somebody, measure its slope: make `h` ten times smaller, and
# see by how much the error falls. Ten times is order one, a hundred times order two. With a wrong formula, the error
# does not shrink: the curve is flat.

# %%
for name, ratio in (("one side", one_sided), ("both sides", lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h))):
    large, small = (abs(ratio(math.sin, 1.0, h) - math.cos(1.0)) for h in (1e-2, 1e-3))
    print(f"{name:10} order {math.log10(large / small):.2f}")

# %% [markdown]
# ## 4. Where the function has a corner
#
# `relu`, which is $\max(x, 0)$, has no derivative at 0. The slope is 1 from the right and 0 from the left. The central
# quotient is 0.5, which is neither. Where a checker finds a difference, it must compare both sides separately.
# minigrad's checker does this, and it calls such a corner a *kink*.
#
# A `mg.Var` is a tensor whose derivatives you want. This one holds three float64 numbers; float64 is the type of
# Python's `float`. Read only the last line of the report; notebook 04 explains the line above it.


# %%
def relu(x):
    return max(x, 0.0)


print("from the right", one_sided(relu, 0.0, 1e-6), " from the left", (relu(0.0) - relu(-1e-6)) / 1e-6)
print(mg.testing.gradcheck(mg.relu, mg.Var([-1.0, 0.0, 2.0], dtype=mg.float64)))

# %% [markdown]
# `mg.viz.curves` draws a function with its derivative. The derivative of `relu` jumps, and no line joins its two ends:

# %%
mg.viz.curves(mg.relu)

# %% [markdown]
# ## 5. Without subtraction
#
# The next trick works for analytic functions of a complex number that are real on the real axis: `sin` and `exp`, but
# not `abs`, and no comparisons. Nudge along the *imaginary* axis: $f(x + ih) = f(x) + ih f'(x) - \tfrac12 h^2 f''(x) -
# \dots$. The imaginary part is $h f'(x)$ with an error of order $h^3$. For $h < 10^{-8}$ this error is below rounding.
# You subtract nothing, so no digits are lost, and `h` may be as small as floats allow, about `1e-300`.

# %%
h = 1e-200
print("exp'(1) =", math.exp(1.0))
print("by the complex step", cmath.exp(complex(1.0, h)).imag / h)

# %% [markdown]
# ## 6. The same method in minigrad
#
# A network has a million inputs, and each nudge needs a run of the whole network. That is why the rest of this path
# builds derivatives out of rules. But a rule can be wrong. A nudge is never exact, but it does not use the rule and
# cannot share its mistake. So `gradcheck` compares the gradient with central quotients, and allows for the rounding
# error of this step. Where they differ, `gradcheck` tries other steps, because a wrong rule is wrong at every step. You
# find it in [quotients.py](../minigrad/testing/quotients.py).

# %%
point = mg.Var([0.5, 1.0, 2.0], dtype=mg.float64)
print(mg.testing.gradcheck(lambda x: (x * x * x - x * 2.0).sum(), point))

# %% [markdown]
# ## Exercises
#
# Write a function and run its cell; the cell reports whether it is right. `hint("01.1")` prints a hint, and a larger
# hint when you call it again. When you are done, compare with [our solutions](solutions/01_nudging.ipynb); each chapter
# has such a page.

# %%
from minigrad.learning.grading import check, hint


def central(f, x, h):
    """The difference quotient of both sides."""
    return ...  # write it here


check("01.1", central)

# %% [markdown]
# **01.2** A central quotient with step `h` has an error of about $c h^2$; with `h/2` the error is a quarter of that.
# Combine the two quotients so that $c$ cancels. (This is Richardson's method of 1911.)


# %%
def richardson(f, x, h):
    """Of fourth order."""
    return ...  # write it here


check("01.2", richardson)

# %% [markdown]
# **01.3** A quotient is of *order* $p$ if its slope in the check above is $p$. Its cut-off error is about $h^p$, and
# its rounding error is about $\varepsilon / h$. At which `h` are both errors about equal? This is close to the best
# step. `order` is 1, 2 or 4. Return `h` as a float, for float64; a factor of 4 is allowed.


# %%
def best_step(order):
    """Where both errors are equal."""
    return ...  # write it here


check("01.3", best_step)

# %% [markdown]
# **01.4** The complex step, for any analytic `f` that takes complex numbers and is real on the real axis. `x` is a
# float; return a float that is right in all sixteen digits.


# %%
def complex_step(f, x):
    """The derivative of f at the real x."""
    return ...  # write it here


check("01.4", complex_step)
