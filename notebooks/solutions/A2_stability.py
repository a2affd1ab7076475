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
# **A2.1** Subtract from each row its own largest score. The largest score of the whole matrix would be wrong: all
# exponentials of a row that is 2000 smaller underflow to 0.

# %%
import math

import minigrad as mg
from minigrad.learning.grading import check


def row_logsumexp(x):
    top = x.amax(1, keepdim=True)
    return ((x - top).exp().sum(1, keepdim=True).log() + top).squeeze(1)


check("A2.1", row_logsumexp)

# %% [markdown]
# **A2.2** Near 0, $1 - e^x$ is small, and `expm1` computes it without a cancellation. Far from 0, $e^x$ is small
# compared with 1, and `log1p` is accurate. The branches change where both terms are 0.5. Near 0 the other branch
# computes $\log 0$ with an infinite derivative, so the inner `where` passes a harmless value to it. (M. Mächler,
# "Accurately Computing log(1 - exp(-|a|))", 2012.)


# %%
def log1mexp(x):
    near = x > -math.log(2.0)
    far = mg.where(near, -1.0, x)
    return mg.where(near, (-x.expm1()).log(), (-far.exp()).log1p())


check("A2.2", log1mexp)

# %% [markdown]
# **A2.3** The inner `where` replaces a 0 under the root with a 1. Without the outer `where` the values would be right,
# since $0 / 1$ is 0. But the derivative of $x / 1$ is 1 instead of 0.


# %%
def unit_rows(x):
    squares = (x * x).sum(1, keepdim=True)
    zero = squares == 0.0
    return mg.where(zero, 0.0, x / mg.where(zero, 1.0, squares).sqrt())


check("A2.3", unit_rows)

# %% [markdown]
# **A2.4** The factor `exp(own - new)` converts a sum relative to one maximum into a sum relative to another. The factor
# is at most 1, because the new maximum is at least as large as the old one. The maximum of an empty part is $-\infty$,
# and $-\infty - (-\infty)$ is `nan`, so two empty parts need a special case. Fast attention kernels merge blocks of
# keys in this way (Dao and others, arXiv 2205.14135).


# %%
def merged(a, b):
    top = max(a[0], b[0])
    if top == -math.inf:
        return top, 0.0
    return top, a[1] * math.exp(a[0] - top) + b[1] * math.exp(b[0] - top)


check("A2.4", merged)
