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
# # 06 · Solutions
#
# **06.1** New dimensions are on the left of the shape of `g`. Expanded dimensions have size 1 in `shape`. With
# `keepdim=True` the sums do not renumber the dimensions; `reshape` then removes the new dimensions.

# %%
import minigrad as mg
from minigrad.learning.grading import check


def summed_to(g, shape):
    new = g.ndim - len(shape)
    dims = [*range(new), *(new + d for d, n in enumerate(shape) if n == 1 and g.shape[new + d] > 1)]
    return (g.sum(dims, keepdim=True) if dims else g).reshape(shape)


check("06.1", summed_to)

# %% [markdown]
# **06.2** $\bar a_{pq} = \sum_{ik} \bar y_{ik} \delta_{ip} b_{kq} = (\bar y b)_{pq}$ and
# $\bar b_{pq} = \sum_{ik} \bar y_{ik} \delta_{kp} a_{iq} = (\bar y^\top a)_{pq}$.


# %%
def linear_rule(g, a, b):
    return g @ b, g.T @ a


check("06.2", linear_rule)

# %% [markdown]
# **06.3** Each gradient goes to the element that was read; all other elements are 0. Each row is read once, so no two
# gradients meet. `scatter_add` adds, so the rule would also be right if two gradients went to one element.


# %%
def picked_rule(g, p, shape):
    return mg.zeros(*shape, dtype=g.dtype).scatter_add(1, p.reshape(-1, 1), g.reshape(-1, 1))


check("06.3", picked_rule)

# %% [markdown]
# **06.4** $\partial y_i / \partial x_j = \delta_{ij} - e^{y_j}$, since $e^{y_j}$ is the softmax. Multiplied by
# $\bar y_i$ and summed over $i$: $\bar x_j = \bar y_j - e^{y_j} \sum_i \bar y_i$.


# %%
def log_softmax_rule(g, y):
    return g - y.exp() * g.sum(1, keepdim=True)


check("06.4", log_softmax_rule)

# %% [markdown]
# **06.5** Compare the shapes first, since `gradient * v` would broadcast. The direction `v` is random: with ones, a
# gradient whose elements are in the wrong order would pass.


# %%
def is_vjp(f, x, u, gradient):
    if gradient.shape != x.shape:
        return False
    v = mg.randn_like(x)
    _, move = mg.func.jvp(f, (x,), (v,))
    return abs((u * move).sum().item() - (gradient * v).sum().item()) < 1e-8


check("06.5", is_vjp)
