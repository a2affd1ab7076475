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
# # A2 · Solutions
#
# **A2.1** Each row is shifted by its own largest score. One for the whole matrix would not do: the row that lies 2000
# below it has only zeros left.

# %%
import math

import minigrad as mg
from minigrad.learning.grading import check


def row_logsumexp(x):
    top = x.amax(1, keepdim=True)
    return ((x - top).exp().sum(1, keepdim=True).log() + top).squeeze(1)


check("A2.1", row_logsumexp)

# %% [markdown]
# **A2.2** Near 0, $1 - e^x$ is small, and `expm1` gives it without a 1. Far from 0, $e^x$ is small beside the 1, and
# `log1p` takes it in. The border is where both are a half. Near 0 the far branch has $\log 0$ and a slope of $\infty$,
# so it is given something harmless there. (M. Mächler, "Accurately Computing log(1 - exp(-|a|))", 2012.)


# %%
def log1mexp(x):
    near = x > -math.log(2.0)
    far = mg.where(near, -1.0, x)
    return mg.where(near, (-x.expm1()).log(), (-far.exp()).log1p())


check("A2.2", log1mexp)

# %% [markdown]
# **A2.3** The inner `where` lets the root see a 1 in the place of a 0. Without the outer one the values would be right,
# since $0 / 1$ is 0, but the slope of $x / 1$ is 1 and not 0.


# %%
def unit_rows(x):
    squares = (x * x).sum(1, keepdim=True)
    zero = squares == 0.0
    return mg.where(zero, 0.0, x / mg.where(zero, 1.0, squares).sqrt())


check("A2.3", unit_rows)

# %% [markdown]
# **A2.4** A total with respect to one top becomes one with respect to another by the factor `exp(own - new)`, which is
# at most 1 if the new top is the larger one. Two empty pieces have no top at all, and $-\infty - (-\infty)$ is `nan`.
# Fast kernels for attention do this for each block of the keys (Dao and others, arXiv 2205.14135).


# %%
def merged(a, b):
    top = max(a[0], b[0])
    if top == -math.inf:
        return top, 0.0
    return top, a[1] * math.exp(a[0] - top) + b[1] * math.exp(b[0] - top)


check("A2.4", merged)
