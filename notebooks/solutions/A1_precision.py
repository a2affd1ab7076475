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
# **A1.1** From 1 to 2 the gaps are `2.0**-fraction`, and with each power of two they double. `frexp` writes a number as
# a fraction from a half to 1 and an exponent, so the power of two at or below it has an exponent that is one less.

# %%
import math

import minigrad as mg
from minigrad.learning.grading import check


def gap(x, fraction):
    return 2.0 ** (math.frexp(x)[1] - 1 - fraction)


check("A1.1", gap)

# %% [markdown]
# **A1.2** With $x = 2a$, the formula from school says $1 - \cos x = 2 \sin^2 (x/2)$. There is no difference left, so
# nothing cancels: where $x$ is small, so is the sine, with all of its digits.


# %%
def one_minus_cos(x):
    s = (x * 0.5).sin()
    return 2.0 * s * s


check("A1.2", one_minus_cos)

# %% [markdown]
# **A1.3** Kahan's sum, of 1965. `new` is what the addition gives; `total - new` is minus what it really added, and with
# `number` it gives what was lost. Both are exact, or nearly. The next number takes it along.


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
# **A1.4** The loss is scaled before the way back begins. The division comes after the cast: in float16 the unscaled
# gradient would underflow again.


# %%
def unscaled_gradient(loss, w, scale):
    return mg.grad(loss(w) * scale, w).to(mg.float32) / scale


check("A1.4", unscaled_gradient)
