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
# # 13 · Solutions
#
# **13.1** `log_softmax` takes the largest score off before it exponentiates, so nothing overflows; `softmax` and then
# `log` would give the logarithm of 0. `gather` picks one a row, and its gradient goes back to that place alone.

# %%
import numpy as np

import minigrad as mg
from notebooks.grading import check


def cross_entropy(scores, truth):
    return -scores.log_softmax(1).gather(1, truth.unsqueeze(1)).mean()


check("13.1", cross_entropy)

# %% [markdown]
# **13.2** A constant gradient $g$ ends at the speed $g + 0.9g + 0.81g + \dots = 10g$, and not at infinity as in section
# 2: old gradients fade.


# %%
def momentum(weight, gradient, speed, rate):
    speed = 0.9 * speed + gradient
    return weight - rate * speed, speed


check("13.2", momentum)

# %% [markdown]
# **13.3** One factor for all keeps the direction of the step; clipping each tensor alone would turn it.


# %%
def clipped(gradients, limit):
    total = sum((g * g).sum().item() for g in gradients) ** 0.5
    factor = 1.0 if total <= limit else limit / total
    return [g * factor for g in gradients]


check("13.3", clipped)

# %% [markdown]
# **13.4** The mask comes before the softmax, so that what is left adds up to 1.


# %%
def attention(q, k, v):
    places, width = q.shape
    fits = (q @ k.T) * width**-0.5
    later = mg.tensor(np.triu(np.ones((places, places), bool), 1))
    return fits.masked_fill(later, -1e9).softmax(-1) @ v


check("13.4", attention)
