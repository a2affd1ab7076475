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
# # A1 · Solutions
#
# **A1.1** Between 1 and 2 the gaps are `2.0**-fraction`, and they double with each power of two. `frexp` returns a
# fraction in [0.5, 1) and an exponent, so the largest power of two up to the number has this exponent minus 1.

# %%
import math

import minigrad as mg
from minigrad.learning.grading import check


def gap(x, fraction):
    return 2.0 ** (math.frexp(x)[1] - 1 - fraction)


check("A1.1", gap)

# %% [markdown]
# **A1.2** With $x = 2a$, a half-angle formula gives $1 - \cos x = 2 \sin^2 (x/2)$. The right side has no subtraction,
# so no digits cancel: where $x$ is small, the sine is small and has all of its digits.


# %%
def one_minus_cos(x):
    s = (x * 0.5).sin()
    return 2.0 * s * s


check("A1.2", one_minus_cos)

# %% [markdown]
# **A1.3** This is Kahan's summation (1965). `new` is the rounded sum. `new - total` is the part of `number` that was
# really added, so `number` plus `total - new` is the part that was lost. Both differences are exact, or nearly so. The
# lost part is added to the next number.


# %%
def careful_sum(numbers):
    total = lost = type(numbers[0])(0)
    for number in numbers:
        number = number + lost
        new = total + number
        lost = (total - new) + number
        total = new
    return total


check("A1.3", careful_sum)

# %% [markdown]
# **A1.4** Scale the loss before the backward pass. Divide the gradients after the cast: in float16 the unscaled
# gradients would underflow again.


# %%
def unscaled_gradient(loss, w, scale):
    return mg.grad(loss(w) * scale, w).to(mg.float32) / scale


check("A1.4", unscaled_gradient)
