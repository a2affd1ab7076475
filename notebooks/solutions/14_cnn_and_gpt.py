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
# # 14 · Solutions
#
# **14.1** The padded image has `side + 2 * padding` pixels per row. The first window begins at 0, and the last window
# must end inside the padded image. The number of parameters does not depend on the size of the image, but the number of
# multiply-adds does.

# %%
import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad.learning.grading import check


def conv_cost(inputs, outputs, kernel, stride, padding, side):
    size = (side + 2 * padding - kernel) // stride + 1
    weights = outputs * inputs * kernel**2
    return weights + outputs, size, weights * size**2


check("14.1", conv_cost)

# %% [markdown]
# **14.2** The mask comes before the softmax, so the remaining weights have the sum 1. If you set weights to 0 after the
# softmax, the sum is smaller.


# %%
def attention(q, k, v):
    length, width = q.shape
    scores = (q @ k.T) * width**-0.5
    later = mg.ones(length, length, dtype=mg.bool).triu(1)
    return scores.masked_fill(later, -1e9).softmax(-1) @ v


check("14.2", attention)

# %% [markdown]
# **14.3** The cumulative sums divide [0, 1) into intervals, one per index, each as long as its probability. A uniform
# number falls into an interval with exactly that probability. With `k = 1` the largest score always wins.


# %%
def draw(scores, temperature, k, u):
    p = np.exp((scores - scores.max()) / temperature)
    p[np.argsort(scores)[: len(scores) - k]] = 0.0
    return int(np.argmax(np.cumsum(p / p.sum()) > u))


check("14.3", draw)

# %% [markdown]
# **14.4** The gradient flows through the mean and the variance of the batch, because the output depends on them. It
# must not flow through the running values: they would keep the graphs of all earlier batches alive. A buffer is a part
# of `state_dict`, so the running values are saved with the network, but no optimizer changes them.


# %%
class BatchNorm(nn.Module):
    def __init__(self, size, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight, self.bias = nn.Parameter(mg.ones(size)), nn.Parameter(mg.zeros(size))
        self.register_buffer("running_mean", mg.zeros(size))
        self.register_buffer("running_var", mg.ones(size))

    def forward(self, x):
        mean, var = self.running_mean, self.running_var
        if self.training:
            n = len(x)
            mean = x.mean(0)
            var = ((x - mean) ** 2).mean(0)
            self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean.detach())
            self.running_var.mul_(1 - self.momentum).add_(self.momentum * n / (n - 1) * var.detach())
        return (x - mean) / (var + self.eps).sqrt() * self.weight + self.bias


check("14.4", BatchNorm)
