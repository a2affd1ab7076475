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
# **13.1** `log_softmax` subtracts the largest score before it computes exponentials, so the exponentials cannot
# overflow. `softmax` followed by `log` would compute the logarithm of 0. `gather` selects one element per row, and its
# gradient goes back to that element only.

# %%
import minigrad as mg
from minigrad import nn
from minigrad.learning.grading import check


def cross_entropy(scores, truth):
    return -scores.log_softmax(1).gather(1, truth.unsqueeze(1)).mean()


check("13.1", cross_entropy)

# %% [markdown]
# **13.2** Old gradients fade. With a constant gradient $g$ the speed approaches $g + 0.9g + 0.81g + \dots = 10g$. In
# section 2 the sum of the gradients grew without limit.


# %%
def momentum(weight, gradient, speed, rate):
    speed = 0.9 * speed + gradient
    return weight - rate * speed, speed


check("13.2", momentum)

# %% [markdown]
# **13.3** One factor for all tensors keeps the direction of the step. If each tensor had its own factor, the direction
# would change.


# %%
def clipped(gradients, limit):
    total = sum((g * g).sum().item() for g in gradients) ** 0.5
    factor = 1.0 if total <= limit else limit / total
    return [g * factor for g in gradients]


check("13.3", clipped)

# %% [markdown]
# **13.4** The assignment to `self.weight` registers the parameter, so `parameters()` and `state_dict()` contain it. A
# plain tensor would compute the same output, but no optimizer would change it.


# %%
class RMSNorm(nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(mg.ones(size))

    def forward(self, x):
        return x / ((x * x).mean(-1, keepdim=True) + self.eps).sqrt() * self.weight


check("13.4", RMSNorm)
